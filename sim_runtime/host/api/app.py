"""The API of the host as an ASGI application: which request goes where, and what guards it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sim_runtime.driver.store import StoreError
from sim_runtime.host.accepting import Refusal, Writer
from sim_runtime.host.api import discovery
from sim_runtime.host.api.discovery import Discovery
from sim_runtime.host.api.requests import Rate, check_key, check_version, not_found, path_of, refused, run_id
from sim_runtime.host.api.runs import Runs
from sim_runtime.host.api.seam import Seam
from sim_runtime.host.store import HostStore

Handler = Callable[..., Awaitable[Response]]

SEAM: Final = ["host", "durability"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the supervisor tells its API process."""

    store: str
    key: str = field(repr=False)
    build: str
    rate: float | None
    exercises: bool
    allow_private: bool
    signing_keys: tuple[dict[str, Any], ...] = ()


class Api:
    """One per process."""

    def __init__(self, settings: Settings, token: str, log: Callable[[str], None]) -> None:
        self._key = settings.key.encode()
        self._log = log
        self._read = HostStore(settings.store, read_only=True)
        self._rate = Rate(settings.rate)
        self.writer = Writer(settings.store)
        self._discovery = Discovery(self._read, list(settings.signing_keys), settings.build)
        runs = Runs(self._read, self.writer)
        self._collection: dict[str, Handler] = {"POST": runs.create}
        self._of_run: dict[tuple[str, ...], dict[str, Handler]] = {
            (): {"GET": runs.show},
            ("events", "poll"): {"GET": runs.poll},
            ("events",): {"GET": runs.stream, "POST": runs.event},
            ("effects",): {"GET": runs.effects},
            ("decisions",): {"POST": runs.decide},
            ("cancel",): {"POST": runs.cancel},
        }
        self._seam: dict[str, dict[str, Handler]] = {}
        if settings.exercises:
            seam = Seam(self._read, self.writer, token, allow_private=settings.allow_private)
            self._seam = {
                "kill": {"GET": seam.probe, "POST": seam.fire},
                "bound": {"GET": seam.bound},
                "incarnations": {"GET": seam.incarnations},
            }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except Refusal as refusal:
            response = refused(refusal)
        except StoreError as error:
            self._log(str(error))
            response = refused(Refusal(503, "store_unavailable", "the store cannot be used; nothing was accepted"))
        except Exception as error:  # noqa: BLE001 - a fault of ours is told as one, without its inside
            self._log(f"{request.method} {request.url.path}: {type(error).__name__}: {error}")
            response = refused(Refusal(500, "internal_error", "this is a fault of the host; its log says more"))
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path = path_of(request)
        if path[:2] == SEAM and not self._seam:
            raise not_found()
        check_version(request)
        if path in ([".well-known", "openwop"], ["health"]):
            if request.method not in ("GET", "HEAD"):
                raise _no_method(("GET", "HEAD"))
            return discovery.health(self._read) if path == ["health"] else self._discovery.reply(request)
        check_key(request, self._key)
        self._rate.check()
        if path[:2] == SEAM:
            table = self._seam.get("/".join(path[2:]))
            return await _handler(table, request)(request)
        if path == ["runs"]:
            return await _handler(self._collection, request)(request)
        if len(path) >= 2 and path[0] == "runs":
            return await _handler(self._of_run.get(tuple(path[2:])), request)(request, run_id(path[1]))
        raise not_found()


def _handler(table: dict[str, Handler] | None, request: Request) -> Handler:
    if table is None:
        raise not_found()
    found = table.get(request.method)
    if found is None:
        raise _no_method(tuple(table))
    return found


def _no_method(allowed: tuple[str, ...]) -> Refusal:
    return Refusal(405, "method_not_allowed", f"this route takes {' and '.join(allowed)}")
