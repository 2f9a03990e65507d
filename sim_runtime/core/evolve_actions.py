"""What the records of actions, retries and reconciliation make of a state; a part of ``evolve``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim_runtime.core.evolve_prior import forget_prior
from sim_runtime.core.frames import Attempt, Failure, Frame, State, key_name
from sim_runtime.core.tree import update
from sim_runtime.history.paths import Address
from sim_runtime.history.records import Record


def _prepared(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        before: Attempt | None = frame.info
        frame.phase = "prepared"
        frame.failure = None
        frame.info = Attempt(
            data["action"],
            data["effect"],
            data["idempotency"],
            data["arguments"],
            data["connection"],
            data["key"],
            data.get("timeout"),
            data["attempt"],
            unsure=before.unsure if before is not None else False,
            reconciles=before.reconciles if before is not None else 0,
        )

    update(state, address, record.seq, change)
    base = data.get("base")
    if base is not None and record.id not in state.bases:
        state.bases = state.bases.set(record.id, base)


def _suppressed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "answered"
        frame.value = data["result"]
        frame.info = Attempt(
            data["action"],
            "write",
            "none",
            data["arguments"],
            data["connection"],
            data["key"],
            None,
            1,
            success=record.seq,
            suppressed=True,
        )

    update(state, address, record.seq, change)


def _dispatched(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "dispatched"
        frame.failure = None
        frame.info = frame.info._replace(
            dispatched=record.seq, reissue=data["reissue"], deadline=data.get("deadline"), due=None
        )

    update(state, address, record.seq, change)
    forget_prior(state, record.id)
    frame = state.frame(address)
    if frame is not None and frame.info.key is not None:
        name = key_name(frame.info.action, frame.info.key)
        if name not in state.keys:
            state.keys = state.keys.set(name, frame.info.arguments, state.making)


def _answered(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "answered"
        frame.value = record.data["result"]
        frame.info = frame.info._replace(success=record.seq, deadline=None)

    update(state, address, record.seq, change)


def _attempt_failed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "attempt_failed"
        frame.failure = Failure(
            data["code"],
            data["message"],
            data["details"],
            record.id,
            data["retryable"],
            data.get("retry_after"),
            record.seq,
        )
        unsure = frame.info.unsure or data["effect"] != "none"
        frame.info = frame.info._replace(deadline=None, unsure=unsure)

    update(state, address, record.seq, change)


def _ambiguous(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "ambiguous"
        frame.failure = Failure(record.data["code"], "", None, record.id, seq=record.seq)
        frame.info = frame.info._replace(deadline=None)

    update(state, address, record.seq, change)


def _retry(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "retry"
        frame.failure = None
        frame.info = frame.info._replace(due=record.data["deadline"])

    update(state, address, record.seq, change)


def _reconcile(state: State, record: Record, address: Address) -> None:
    number = record.data["number"]

    def change(frame: Frame) -> None:
        frame.phase = "reconciling"
        frame.info = frame.info._replace(reconciles=number)
        frame.children = {**frame.children, f"(reconcile)#{number}": Frame("list", "running")}

    update(state, address, record.seq, change)


def _reconciled(state: State, record: Record, address: Address) -> None:
    outcome = record.data["outcome"]

    def change(frame: Frame) -> None:
        if outcome == "succeeded":
            frame.phase = "answered"
            frame.value = record.data["result"]
            frame.failure = None
            frame.info = frame.info._replace(success=record.seq)
        elif outcome == "no_effect":
            code = frame.failure.code if frame.failure is not None else ""
            frame.phase = "attempt_failed"
            frame.failure = Failure(code, no_effect_message(code), {}, record.id, True, seq=record.seq)
        else:
            frame.phase = "unresolved"

    update(state, address, record.seq, change)


def no_effect_message(code: str) -> str:
    """What is said of an ambiguous attempt that had no effect."""
    return f"the outcome was not known (`{code}`), and it was established that nothing took effect"


ACTION_HANDLERS: Final[dict[str, Callable[[State, Record, Address], None]]] = {
    "action.prepared": _prepared,
    "action.suppressed": _suppressed,
    "action.dispatched": _dispatched,
    "action.succeeded": _answered,
    "action.failed": _attempt_failed,
    "action.ambiguous": _ambiguous,
    "retry.scheduled": _retry,
    "reconcile.started": _reconcile,
    "reconcile.decided": _reconciled,
}
