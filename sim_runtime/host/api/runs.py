"""The routes of runs: creating, looking, watching, and what reaches a run from outside."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sim_runtime.history.encoding import time_text
from sim_runtime.host.accepting import Intent, Refusal, Writer, accept
from sim_runtime.host.api.requests import (
    MAX_KEY,
    VERSION,
    VERSION_HEADER,
    body_of,
    invalid,
    not_found,
    query_of,
    reply,
    text_in,
    whole,
)
from sim_runtime.host.claims import put_in_inbox
from sim_runtime.host.events import EVENT_LOG_VERSION, SCHEMA_VERSION, TERMINAL
from sim_runtime.host.ledger import TENANT, effects_of
from sim_runtime.host.store import HostStore

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

SUBJECT: Final = "host-key"
POLL_DEFAULT: Final = 30
POLL_RANGE: Final = (1, 60)
#: Events in one reply; a reader goes on with ``afterSequence``.
MAX_EVENTS: Final = 10_000
MAX_WATCHERS: Final = 512
_STEP_SECONDS: Final = 0.05
_KEEPALIVE_SECONDS: Final = 15.0
#: How long a request that reaches a run waits to learn what came of it.
_OUTCOME_SECONDS: Final = 10.0
_OVER: Final = "the run is over"


class Runs:
    """The routes; ``read`` is a connection that only this thread uses."""

    def __init__(self, read: HostStore, writer: Writer) -> None:
        self._read = read
        self._writer = writer
        self._watchers = 0
        #: The process ends: whoever waits is told what is known at once.
        self.ending = False

    # ---- creating -------------------------------------------------------------------------------

    async def create(self, request: Request) -> Response:
        """Accept a run. It is durable, and so is the intent to do it, when this replies."""
        body = await body_of(request, ("workflowId", "inputs", "trigger", "dryRun", "seed"), ("workflowId",))
        workflow = text_in(body, "workflowId")
        if not isinstance(body.get("inputs", {}), dict):
            raise invalid("`inputs` is an object")
        if not isinstance(body.get("dryRun", False), bool):
            raise invalid("`dryRun` is true or false")
        if "seed" in body and type(body["seed"]) is not int:
            raise invalid("`seed` is a whole number")
        key = request.headers.get("Idempotency-Key")
        if key is not None and not 0 < len(key) <= MAX_KEY:
            raise invalid(f"an `Idempotency-Key` has 1 to {MAX_KEY} characters")
        given: Json = {name: body[name] for name in ("inputs", "trigger", "dryRun", "seed") if name in body}
        intent = Intent(workflow, given, request_key=key)
        run = await self._writer.written(lambda store: accept(store, intent))
        route = f"/runs/{run.replace('/', '%2F')}"
        created = {"runId": run, "status": "pending", "eventsUrl": f"{route}/events", "statusUrl": route}
        return reply(201, created, {"Location": route})

    # ---- looking --------------------------------------------------------------------------------

    def _row(self, run: str) -> tuple[Any, ...]:
        row = self._read.one(
            "select workflow, status, error, summary, accepted_at, ended_at, deaths from host_runs where id = ?", run
        )
        if row is None:
            raise not_found("there is no such run")
        return row

    async def show(self, _request: Request, run: str) -> Response:
        """A snapshot of a run."""
        workflow, status, error, summary, accepted_at, ended_at, deaths = self._row(run)
        body: Json = {
            "runId": run,
            "workflowId": workflow,
            "status": status,
            "owner": {"tenant": TENANT, "subject": SUBJECT},
            "eventLogSchemaVersion": EVENT_LOG_VERSION,
            "createdAt": time_text(accepted_at),
            "attempts": deaths + 1,
            "workfile": json.loads(summary) if summary is not None else {"status": "new"},
        }
        if ended_at is not None:
            body["endedAt"] = time_text(ended_at)
        if error is not None:
            body["error"] = json.loads(error)
        return reply(200, body)

    async def effects(self, _request: Request, run: str) -> Response:
        """The effects of a run."""
        self._row(run)
        found = effects_of(self._read, run)
        return reply(200, {"runId": run, "effects": [{**each, "at": time_text(each["at"])} for each in found]})

    # ---- watching -------------------------------------------------------------------------------

    def _log(self, run: str, after: int) -> tuple[str, list[Json]]:
        """Status and the events after a place, as they are together at one moment."""
        self._read.change("begin")
        try:
            status = str(self._row(run)[1])
            rows = self._read.all(
                "select sequence, type, at, body from host_events where run = ? and sequence > ? order by sequence"
                " limit ?",
                *(run, after, MAX_EVENTS),
            )
        finally:
            self._read.change("commit")
        return status, [_event(run, *row) for row in rows]

    async def poll(self, request: Request, run: str) -> Response:
        """The events after ``afterSequence``: at once when there are some or the run is over, else when one comes."""
        query = query_of(request)
        after = whole(query.get("afterSequence"), -1, "afterSequence")
        seconds = min(max(whole(query.get("timeout"), POLL_DEFAULT, "timeout"), POLL_RANGE[0]), POLL_RANGE[1])
        deadline = time.monotonic() + seconds
        with self._watching():
            status, events = self._log(run, after)
            while not events and status not in TERMINAL and time.monotonic() < deadline and not self.ending:
                await asyncio.sleep(_STEP_SECONDS)
                status, events = self._log(run, after)
        last = events[-1]["sequence"] if events else max(after, -1)
        body = {
            "runId": run,
            "events": events,
            "lastSequence": last,
            "status": status,
            "isTerminal": status in TERMINAL,
        }
        return reply(200, body)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        if self._watchers >= MAX_WATCHERS:
            raise Refusal(429, "rate_limited", f"{MAX_WATCHERS} requests wait for events already: come back later")
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    async def stream(self, request: Request, run: str) -> Response:
        """The events as they come, as server-sent events; it ends with the run."""
        query = query_of(request)
        told = request.headers.get("Last-Event-ID") or query.get("afterSequence")
        after = whole(told, -1, "Last-Event-ID")
        self._row(run)
        if self._watchers >= MAX_WATCHERS:
            raise Refusal(429, "rate_limited", f"{MAX_WATCHERS} requests wait for events already: come back later")
        headers = {VERSION_HEADER: VERSION, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._chunks(run, after), 200, headers, "text/event-stream")

    async def _chunks(self, run: str, after: int) -> AsyncIterator[bytes]:
        quiet_since = time.monotonic()
        with self._watching():
            while True:
                status, events = self._log(run, after)
                for event in events:
                    after = event["sequence"]
                    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
                    yield f"id: {after}\nevent: {event['type']}\ndata: {data}\n\n".encode()
                if events:
                    quiet_since = time.monotonic()
                elif status in TERMINAL or self.ending:
                    return
                elif time.monotonic() - quiet_since > _KEEPALIVE_SECONDS:
                    quiet_since = time.monotonic()
                    yield b": still here\n\n"
                if len(events) < MAX_EVENTS:
                    await asyncio.sleep(_STEP_SECONDS)

    # ---- from outside ---------------------------------------------------------------------------

    async def event(self, request: Request, run: str) -> Response:
        """Deliver an event. Replies when the run accepted or refused it; 202 when that is not known yet, for then it
        is kept and offered as soon as the run is looked at."""
        body = await body_of(request, ("trigger", "payload", "id"), ("trigger",))
        trigger = text_in(body, "trigger")
        delivery = text_in(body, "id") if "id" in body else f"delivery-{secrets.token_hex(12)}"
        message = {"trigger": trigger, "delivery": delivery, "payload": body.get("payload")}
        accepted, reason = await self._put(run, "event", message)
        told: Json = {"runId": run, "id": delivery, "accepted": accepted}
        if reason:
            told["reason"] = reason
        return reply(202 if accepted is None else 200, told)

    async def decide(self, request: Request, run: str) -> Response:
        """An operator's decision on a hold."""
        body = await body_of(request, ("on", "actor", "decide"), ("on", "actor", "decide"))
        if not isinstance(body["on"], str):
            raise invalid('`on` is the path of the hold; `""` is the root scope')
        message = {"on": body["on"], "actor": text_in(body, "actor"), **decision_of(body["decide"])}
        return self._told(run, *await self._put(run, "decision", message))

    async def cancel(self, request: Request, run: str) -> Response:
        """Cancel a run."""
        body = await body_of(request, ("reason",), ())
        return self._told(run, *await self._put(run, "cancel", {"reason": body.get("reason")}))

    def _told(self, run: str, accepted: bool | None, reason: str) -> Response:
        if accepted is False:
            raise Refusal(409, "conflict", reason)
        return reply(202 if accepted is None else 200, {"runId": run, "accepted": accepted})

    async def _put(self, run: str, kind: str, message: Json) -> tuple[bool | None, str]:
        if self._row(run)[5] is not None:
            return False, _OVER
        put: Callable[[HostStore], int] = lambda store: put_in_inbox(store, run, kind, message)  # noqa: E731
        number = await self._writer.written(put)
        deadline = time.monotonic() + _OUTCOME_SECONDS
        while time.monotonic() < deadline and not self.ending:
            row = self._read.one("select outcome from host_inbox where id = ?", number)
            if row is not None and row[0] is not None:
                outcome = json.loads(row[0])
                return outcome["accepted"], outcome["reason"]
            if self._row(run)[5] is not None:
                return False, _OVER
            await asyncio.sleep(_STEP_SECONDS / 5)
        return None, ""


def _event(run: str, sequence: int, type_: str, at: int, body: str) -> Json:
    told = json.loads(body)
    event: Json = {
        "eventId": f"{run}#{sequence}",
        "runId": run,
        "type": type_,
        "payload": told["payload"],
        "timestamp": time_text(at),
        "sequence": sequence,
        "schemaVersion": SCHEMA_VERSION,
    }
    if told["nodeId"] is not None:
        event["nodeId"] = told["nodeId"]
    return event


def decision_of(given: Any) -> Json:
    """What an operator decided, as in a scenario file. Raises ``Refusal``."""
    if given in ("reissue", "authorize_recovery"):
        return {"kind": given}
    if isinstance(given, dict) and list(given) == ["succeed"]:
        return {"kind": "succeed", "result": given["succeed"]}
    if isinstance(given, dict) and list(given) == ["fail"] and isinstance(given["fail"], dict):
        failure = given["fail"]
        unknown = [each for each in failure if each not in ("code", "message", "details", "retryable")]
        kinds = isinstance(failure.get("message", ""), str) and isinstance(failure.get("retryable", False), bool)
        if not unknown and kinds:
            return {"kind": "fail", **failure, "code": text_in(failure, "code")}
    raise invalid(
        "`decide` is `reissue`, `authorize_recovery`, `{succeed: RESULT}` or `{fail: {code, message, details, "
        "retryable}}`"
    )
