"""The API of the host as an ASGI application: which request goes where, and what guards it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sim_runtime.driver.store import StoreError
from sim_runtime.host.accepting import ENDING, Refusal, Writer
from sim_runtime.host.api import discovery
from sim_runtime.host.api.discovery import Discovery
from sim_runtime.host.api.requests import Rate, check_key, check_version, not_found, path_of, refused, run_id
from sim_runtime.host.api.runs import Runs
from sim_runtime.host.api.seam import Seam
from sim_runtime.host.store import HostStore

Handler = Callable[..., Awaitable[Response]]

SEAM: Final = ["host", "durability"]
#: The operator reads of a store that cannot be used once in so many seconds.
REMIND_SECONDS: Final = 30.0


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
        self._told, self._told_at = "", 0.0
        self._read = HostStore(settings.store, read_only=True)
        self._rate = Rate(settings.rate)
        self.writer = Writer(settings.store)
        self._discovery = Discovery(self._read, list(settings.signing_keys), settings.build)
        self._runs = runs = Runs(self._read, self.writer)
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

    def end(self) -> None:
        """The process ends: requests that wait are answered with what is known."""
        self._runs.ending = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._reply(request)
        try:
            await response(scope, receive, send)
        except (ClientDisconnect, ConnectionError):
            return
        except asyncio.CancelledError:
            if not self._runs.ending:
                raise
        except Exception as error:  # noqa: BLE001 - the reply has begun already: all that is left is to break it off
            self._tell(request, error)

    async def _reply(self, request: Request) -> Response:
        try:
            return await self._respond(request)
        except Refusal as refusal:
            return refused(refusal)
        except StoreError as error:
            self._tell_of_store(str(error))
            return refused(Refusal(503, "store_unavailable", "the store cannot be used; nothing was accepted"))
        except asyncio.CancelledError:
            # What takes too long is cut off at the end, such as a body that does not come.
            if not self._runs.ending:
                raise
            return refused(Refusal(503, "store_unavailable", ENDING))
        except Exception as error:  # noqa: BLE001 - a fault of ours is told as one, without its inside
            self._tell(request, error)
            return refused(Refusal(500, "internal_error", "this is a fault of the host; its log says more"))

    def _tell_of_store(self, message: str) -> None:
        """Not with every request that is refused."""
        now = time.monotonic()
        if message != self._told or now - self._told_at > REMIND_SECONDS:
            self._told, self._told_at = message, now
            self._log(message)

    def _tell(self, request: Request, error: Exception) -> None:
        self._log(f"{request.method} {request.url.path}: {type(error).__name__}: {error}")

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
