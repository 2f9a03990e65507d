"""The seam of the durability exercises. It exists only with the flag that is read at boot."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, Final

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from sim_runtime.history.canonical import digest_of
from sim_runtime.host.accepting import Intent, Refusal, Writer, accept, let_go
from sim_runtime.host.api.requests import body_of, invalid, not_found, reply, text_in
from sim_runtime.host.catalogue import EFFECT
from sim_runtime.host.claims import WORKER, live_tokens
from sim_runtime.host.ledger import TENANT
from sim_runtime.host.outgoing import EgressRefused, target_of
from sim_runtime.host.store import HostStore
from sim_runtime.host.timing import ACCEPTED, CLAIMED, CLASSES, MAX_ATTEMPTS, RecoveryClass

AFTER_ACCEPT: Final = "after-accept"
DURING_EXECUTION: Final = "during-execution"
DUPLICATE: Final = "duplicate-delivery"
PEER: Final = "peer-resume"
MODES: Final = (AFTER_ACCEPT, DURING_EXECUTION, DUPLICATE, PEER)
#: How long a reply may take to leave before its process kills itself.
_FLUSH_SECONDS: Final = 0.1

RELAXED: Final = {
    "obligation": "effects.egress-guard",
    "durability": "deployment",
    "reason": "started with --allow-private-effects: effects may go to this machine and to private networks",
}


class Seam:
    """Routes under ``/host/durability``."""

    def __init__(self, read: HostStore, writer: Writer, token: str, *, allow_private: bool) -> None:
        self._read = read
        self._writer = writer
        self._token = token
        self._allow_private = allow_private

    @property
    def _relaxations(self) -> list[dict[str, str]]:
        return [RELAXED] if self._allow_private else []

    async def probe(self, _request: Request) -> Response:
        """That the seam is there; fires nothing."""
        return reply(200, {"modes": list(MODES), "relaxations": self._relaxations})

    async def bound(self, _request: Request) -> Response:
        """The recovery bounds, each the sum of its terms."""
        body = {
            "classes": [each.as_json() for each in CLASSES],
            "attempts": MAX_ATTEMPTS,
            "relaxations": self._relaxations,
        }
        return reply(200, body)

    async def incarnations(self, _request: Request) -> Response:
        """The live workers, and every death since the supervisor's start."""
        deaths = self._read.all("select token, signal, role from host_deaths order by id")
        body = {
            "instances": [{"token": token} for token in live_tokens(self._read, WORKER)],
            "deaths": [{"token": token, "signal": number, "role": role} for token, number, role in deaths],
        }
        return reply(200, body)

    async def fire(self, request: Request) -> Response:
        """Stage an exercise. Raises ``Refusal``."""
        body = await body_of(request, ("mode", "workflowId", "effectUrl"), ("mode",))
        mode = body["mode"]
        if mode not in MODES:
            raise invalid(f"`mode` is one of {', '.join(f'`{each}`' for each in MODES)}")
        if mode == DUPLICATE:
            if "effectUrl" not in body:
                raise invalid("`effectUrl` is missing")
            return await self._duplicate(text_in(body, "effectUrl", 2_000))
        if "workflowId" not in body:
            raise invalid("`workflowId` is missing")
        workflow = text_in(body, "workflowId")
        if self._read.one("select 1 from host_catalogue where workflow = ?", workflow) is None:
            raise not_found(f"there is no workflow `{workflow[:80]}`")
        if mode == AFTER_ACCEPT:
            return await self._after_accept(workflow)
        return await self._during_execution(workflow, mode)

    async def _accept(self, intent: Intent) -> str:
        return await self._writer.written(lambda store: accept(store, intent))

    async def _after_accept(self, workflow: str) -> Response:
        """Accepted, and held back by this process, which dies: nobody may do it before."""
        run = await self._accept(Intent(workflow, {}, exercise=AFTER_ACCEPT, held_by=self._token))
        response = _fired(run, AFTER_ACCEPT, ACCEPTED)
        response.background = BackgroundTask(_die)
        return response

    async def _during_execution(self, workflow: str, mode: str) -> Response:
        """The worker dies that holds the claim; the run is dispatched when the reply has left."""
        wanted = None
        if mode == PEER:
            live = live_tokens(self._read, WORKER)
            if len(live) < 2:
                raise Refusal(409, "precondition_unmet", f"two live workers are needed, and {len(live)} is live")
            wanted = live[0]
        run = await self._accept(Intent(workflow, {}, exercise=mode, held_by=self._token, wanted=wanted))
        more = {"acceptor": wanted} if wanted is not None else {}
        response = _fired(run, mode, CLAIMED, more)
        response.background = BackgroundTask(self._dispatch, run)
        return response

    async def _dispatch(self, run: str) -> None:
        await self._writer.written(lambda store: let_go(store, run, self._token))

    async def _duplicate(self, url: str) -> Response:
        try:
            await asyncio.to_thread(target_of, url, allow_private=self._allow_private)
        except EgressRefused as refused:
            raise invalid(f"`effectUrl` may not be called: {refused}") from None
        except OSError as error:
            raise invalid(f"`effectUrl` cannot be reached: {error}") from None
        # From the business content alone: the same effect of another run is the same effect.
        identity = digest_of([TENANT, EFFECT, "effect", {"url": url}])
        given = {"inputs": {"url": url, "identity": identity}}
        run = await self._accept(Intent(EFFECT, given, exercise=DUPLICATE, deliveries=2))
        return reply(202, {"runId": run, "mode": DUPLICATE, "deliveries": 2})


def _fired(run: str, mode: str, recovery: RecoveryClass, more: dict[str, Any] | None = None) -> Response:
    told = {"runId": run, "mode": mode, "recoveryClass": recovery.name, "recoveryBoundMs": recovery.bound_ms}
    return reply(202, {**told, **(more or {})})


async def _die() -> None:
    await asyncio.sleep(_FLUSH_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
