"""The record kinds of a history and their data: one table, from which ``docs/history.md`` is generated.

A record is what one decision of the runtime wrote down. History is the only memory of a run: it is folded into the
state (``sim_runtime.core.evolve``), so whatever later work depends on is in some record's data (profile: Abstract Run
History).

In memory, ``at`` and every field of type ``time`` are integer microseconds since 1970-01-01T00:00:00Z, fields of type
``duration`` integer microseconds, and fields of type ``value`` hold values of ``analyzer.expressions.values``
(timestamps, durations and marks of dry runs included). ``sim_runtime.history.encoding`` writes and reads JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sim_runtime.history.paths import shown_path

FORMAT: Final = "workfile-history/1"
STANDARD_VERSION: Final = "1.0"


class Record:
    """One record; a value, nothing changes it after the transaction that it belongs to was made.

    ``id`` is the identity: the step path with state entry numbers and reconcile numbers (``waiting#2.ask``); ``path``
    is what people see of it. ``boundary`` marks the last record of a transaction.
    """

    __slots__ = ("at", "boundary", "data", "generation", "id", "kind", "seq")

    def __init__(
        self, seq: int, at: int, kind: str, id_: str, generation: int, data: dict[str, Any], boundary: bool = False
    ) -> None:
        self.seq = seq
        self.at = at
        self.kind = kind
        self.id = id_
        self.generation = generation
        self.data = data
        self.boundary = boundary

    @property
    def path(self) -> str:
        """The shown step path; ``""`` for the run itself."""
        return shown_path(self.id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.seq == other.seq
            and self.at == other.at
            and self.kind == other.kind
            and self.id == other.id
            and self.generation == other.generation
            and self.data == other.data
            and self.boundary == other.boundary
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        end = "*" if self.boundary else ""
        return f"<{self.seq} {self.kind}{end} {self.id!r} {self.data!r}>"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record's data. ``type`` is ``text``, ``text or null``, ``integer``, ``boolean``, ``time``,
    ``duration``, ``list``, ``map`` (plain JSON) or ``value`` (a value of the workflow). Optional fields are left out
    when there is nothing."""

    type: str
    doc: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A record kind. ``ends``: it always ends its transaction, so that it is a durable boundary."""

    doc: str
    fields: dict[str, Field]
    ends: bool = False


def _text(doc: str) -> Field:
    return Field("text", doc)


def _text_or_null(doc: str) -> Field:
    return Field("text or null", doc)


def _integer(doc: str) -> Field:
    return Field("integer", doc)


def _time(doc: str) -> Field:
    return Field("time", doc)


def _value(doc: str) -> Field:
    return Field("value", doc)


def _maybe(type_: str, doc: str) -> Field:
    return Field(type_, doc, optional=True)


#: Fields that any record's data may have.
COMMON_FIELDS: Final[dict[str, Field]] = {
    "id": _maybe("text", "The identity, where state entry or reconcile numbers make it differ from `path`."),
    "run": _maybe("text", "The child run's id, on records of a child run."),
    "kinds": _maybe("map", "JSON pointers into `data` of values that are a `timestamp`, a `duration` or `suppressed`."),
}

_FAILURE: Final[dict[str, Field]] = {
    "code": _text("The stable code."),
    "message": _text("What happened, for people."),
    "details": _value("Details, as the action, the expression or the operator gave them."),
}

_UNDO: Final[dict[str, Field]] = {
    "scope": _text("The identity of the recovery scope."),
    "of": _text("The identity of the compensated step."),
}

#: Why a continuation does not take a boundary over.
INVALIDATIONS: Final = ("path", "arguments", "unrecorded", "result", "fault", "decision", "pins", "absent")

KINDS: Final[dict[str, Kind]] = {
    # ---- the run ------------------------------------------------------------------------------------------------
    "run.accepted": Kind(
        "The run exists: its identity and everything that it was started with.",
        {
            "run_id": _text("The run's id."),
            "workflow": _text("The workflow identity, stable over the life of the run."),
            "standard_version": _text("The version of the Standard."),
            "inputs": _value("The inputs, as given."),
            "trigger": _value("The payload of the root trigger, or null."),
            "seed": _integer("What jitter is drawn from."),
            "dry_run": Field("boolean", "Whether writes are suppressed."),
            "key_run": _text("The lineage's first run id, which derived idempotency keys begin with."),
        },
    ),
    "run.started": Kind(
        "Inputs and trigger data are valid; the first step may run.",
        {"started_at": _time("What `run.started_at` reads.")},
        ends=True,
    ),
    "run.suspended": Kind(
        "Nothing is runnable; timers, events, children, retries or delays are waited for.", {}, ends=True
    ),
    "run.held": Kind(
        "Nothing is runnable and a hold stands.", {"holds": Field("list", "The paths of the holds.")}, ends=True
    ),
    "run.resumed": Kind("A suspended or held run has something to do again.", {}, ends=True),
    "run.finished": Kind(
        "The terminal outcome. Of a child run it stands at the call's path.",
        {
            "outcome": _text("`succeeded`, `failed`, `stopped`, `aborted` or `cancelled`."),
            "result": _maybe("value", "The workflow result, or the result of `wf.stop`."),
            "failure": _maybe("value", "`{code, message, details, path}` of a failed or aborted run."),
            "stop": _maybe("value", "`{path, reason}` of a stopped run."),
            "cancel": _maybe("value", "`{reason}` of a cancelled run."),
        },
        ends=True,
    ),
    # ---- steps --------------------------------------------------------------------------------------------------
    "step.started": Kind(
        "A step, a branch of `wf.parallel` or an iteration of `wf.for_each` began.",
        {
            "step": _text("`action`, a construct's name, `branch` or `iteration`."),
            "guard": _maybe("boolean", "The outcome of `when`, where there is one."),
            "index": _maybe("integer", "The position of an iteration."),
        },
    ),
    "step.skipped": Kind("The guard was false; the step binds null.", {"guard": Field("boolean", "Always false.")}),
    "step.succeeded": Kind(
        "The step is done and its binding exists. Bindings of scopes are made of their steps' and are not repeated.",
        {
            "value": _maybe("value", "What the step binds, where no other record says it."),
            "ends": _maybe("map", "Of `wf.stop`: how the run ends, `{outcome, reason}`; `value` is its result."),
        },
    ),
    "step.failed": Kind(
        "A definite failure past retry and handlers.",
        {
            **_FAILURE,
            "failed": _text("The identity of the failed step: this one, or the one inside from which it came."),
            "disposition": _text(
                "`raise` (goes to the enclosing construct), `continue` (consumed, binds null), `abort`, `end`, `stop` "
                "(ends the run as aborted, failed, stopped); of a recovery scope that gave up `limit` (it fails) or "
                "`escalate`."
            ),
        },
    ),
    "branch.selected": Kind(
        "A condition was evaluated.",
        {
            "branch": _text_or_null("The path segment of the branch, such as `(then)`; null when none is taken."),
            "on": _value("The value of the condition."),
        },
    ),
    "iterations.planned": Kind(
        "The list was evaluated.",
        {"items": _value("The elements."), "concurrency": _integer("How many iterations may be in progress at once.")},
    ),
    "handler.entered": Kind(
        "A handler of `catch` took the failure.",
        {
            "handler": _integer("Its position."),
            "error": _value("What `error` reads: `{code, message, details, step}`."),
        },
    ),
    # ---- actions ------------------------------------------------------------------------------------------------
    "action.prepared": Kind(
        "The durable intent: everything that is fixed before dispatch.",
        {
            "action": _text("`connector.action`."),
            "effect": _text("`read` or `write`."),
            "idempotency": _text("`none`, `inherent` or `keyed`."),
            "arguments": _value("The evaluated arguments."),
            "connection": _text_or_null("The connection, or null."),
            "attempt": _integer("From 1, and from 1 again in a redo."),
            "key": _text_or_null("The idempotency key of a keyed action, or null."),
            "base": _maybe("text", "The explicit key before the number of compensations became part of it."),
            "timeout": _maybe("duration", "How long an attempt may take from its dispatch."),
        },
        ends=True,
    ),
    "action.suppressed": Kind(
        "A dry run: the write was not sent.",
        {
            "action": _text("`connector.action`."),
            "arguments": _value("The evaluated arguments."),
            "connection": _text_or_null("The connection, or null."),
            "key": _text_or_null("The key that it would have had, or null."),
            "result": _value("The marked placeholder."),
        },
        ends=True,
    ),
    "action.dispatched": Kind(
        "The call left, and arrived.",
        {
            "attempt": _integer("The attempt."),
            "reissue": _integer("0, or which reissue of the attempt this is."),
            "deadline": _maybe("time", "When the attempt times out; an answer at that instant is in time."),
        },
        ends=True,
    ),
    "action.succeeded": Kind(
        "A definite success.",
        {"attempt": _integer("The attempt."), "result": _value("The result, which fits the declared output.")},
        ends=True,
    ),
    "action.failed": Kind(
        "A definite failure of an attempt.",
        {
            "attempt": _integer("The attempt."),
            **_FAILURE,
            "retryable": Field("boolean", "Whether another attempt may succeed."),
            "retry_after": _maybe("duration", "The delay that the server asked for."),
            "effect": _text(
                "`none`; `possible` when an ambiguous attempt was made a failure; `happened` (`output.invalid`)."
            ),
        },
        ends=True,
    ),
    "action.ambiguous": Kind(
        "The attempt established neither success nor failure.",
        {"attempt": _integer("The attempt."), "code": _text("`interrupted`, `timeout`, or what the connector said.")},
        ends=True,
    ),
    "retry.scheduled": Kind(
        "Another attempt follows.",
        {
            "attempt": _integer("The next attempt."),
            "delay": Field("duration", "How long it waits."),
            "source": _text("`policy`, or `server` when `retry_after` was larger."),
            "deadline": _time("When it is made."),
        },
    ),
    "late_result.recorded": Kind(
        "An answer that nothing waits for any more; it is never used.",
        {
            "dispatch": _integer("The sequence number of the dispatch."),
            "answer": _text("`success`, `failure` or `ambiguous`."),
            "result": _maybe("value", "The result of a success."),
            "code": _maybe("text", "The code of a failure or ambiguity."),
        },
        ends=True,
    ),
    # ---- timers and events --------------------------------------------------------------------------------------
    "timer.set": Kind(
        "A durable timer runs.",
        {
            "timer": _text("`wait`, `timeout`, `delay`, or `state:NAME`."),
            "deadline": _time("When it elapses."),
            "to": _maybe("text", "The state that a state timer leads to."),
        },
    ),
    "timer.fired": Kind(
        "A timer elapsed; each fires once.",
        {"timer": _text("As in `timer.set`, or `retry`."), "deadline": _time("When it was due.")},
        ends=True,
    ),
    "timer.released": Kind("A timer is not needed any more.", {"timer": _text("As in `timer.set`.")}),
    "subscription.opened": Kind(
        "A wait takes events from here on.",
        {
            "trigger": _text("`connector.trigger`."),
            "configuration": _value("The evaluated configuration."),
            "match": _value("The evaluated correlation values."),
            "connection": _text_or_null("The connection, or null."),
        },
    ),
    "event.accepted": Kind(
        "An event was acknowledged and is kept for this wait.",
        {
            "trigger": _text("`connector.trigger`."),
            "delivery": _text("The delivery identity."),
            "payload": _value("The payload."),
        },
        ends=True,
    ),
    "event.refused": Kind(
        "An event was not accepted.",
        {
            "trigger": _text("`connector.trigger`."),
            "delivery": _text("The delivery identity."),
            "reason": _text("`duplicate`, `unmatched` or `invalid`."),
        },
    ),
    "wait.selected": Kind(
        "What completed the wait.",
        {
            "status": _text("`received` or `timeout`."),
            "delivery": _maybe("text", "The delivery identity of the event."),
        },
    ),
    "subscription.released": Kind("The wait takes no more events.", {}),
    # ---- states -------------------------------------------------------------------------------------------------
    "state.entered": Kind(
        "A state was entered.",
        {"state": _text("The state."), "entry": _integer("Its entry number, from 1.")},
        ends=True,
    ),
    "route.selected": Kind(
        "A state was left by a route.",
        {"route": _integer("The position of the route."), "to": _text("The next state.")},
    ),
    # ---- children -----------------------------------------------------------------------------------------------
    "child.started": Kind(
        "A child run is linked to its call.",
        {
            "child": _text("The child's run id."),
            "workflow": _text("Its workflow."),
            "inputs": _value("Its inputs."),
        },
    ),
    "child.finished": Kind(
        "The child run ended, and the call knows.",
        {
            "child": _text("The child's run id."),
            "outcome": _text("As in `run.finished`."),
            "result": _maybe("value", "The child's result."),
            "failure": _maybe("value", "`{code, message, details}` for the caller."),
        },
    ),
    "child.cancel_requested": Kind("Cancellation was passed on to a child.", {"child": _text("The child's run id.")}),
    # ---- ambiguity ----------------------------------------------------------------------------------------------
    "reconcile.started": Kind(
        "The probe scope of an ambiguous attempt began.",
        {
            "attempt": _integer("The ambiguous attempt."),
            "number": _integer("Which reconciliation of the step, from 1."),
        },
    ),
    "reconcile.decided": Kind(
        "What the probes established.",
        {
            "number": _integer("As in `reconcile.started`."),
            "outcome": _text(
                "`succeeded`, `no_effect`, or `unresolved` (a failed probe, a fault, a result that does not fit)."
            ),
            "result": _maybe("value", "The result of the action."),
            "reason": _maybe("text", "Why it is unresolved."),
        },
        ends=True,
    ),
    "hold.entered": Kind(
        "The run needs a decision here.",
        {
            "reason": _text(
                "`ambiguous`, `recovery_limit`, `undo_failed`, `undo_ambiguous`, `reissue`, `unsafe_continuation`."
            ),
            "code": _maybe("text or null", "The code that led to it."),
            "allowed": Field("list", "What an operator may decide."),
            "scope": _maybe("text", "Of an undo: the identity of the recovery scope."),
        },
    ),
    "operator.decided": Kind(
        "An operator's decision, before it takes effect.",
        {
            "actor": _text("Who decided."),
            "decision": _text("`succeed`, `fail`, `reissue` or `authorize_recovery`."),
            "result": _maybe("value", "The result of `succeed`."),
            "failure": _maybe("value", "`{code, message, details, retryable}` of `fail`."),
            "scope": _maybe("text", "Of an undo: the identity of the recovery scope."),
        },
        ends=True,
    ),
    # ---- recovery -----------------------------------------------------------------------------------------------
    "recovery.decided": Kind(
        "A recovery activation of a scope begins.",
        {
            **_FAILURE,
            "failed": _text("The identity of the failed step."),
            "time": _time("The time input of the decision."),
            "redo": _text("`this_step`, `this_and_after` or `whole_group`."),
            "set": Field("list", "The identities that are superseded, with everything below them."),
            "next_generation": _integer("The resulting generation."),
            "delay": Field("duration", "The declared delay before compensation."),
            "since": _time("When the delay began: the decision's instant, or that of an operator's authorization."),
            "authorized_by": _maybe("text", "The actor, when an operator authorized it; it then does not count."),
        },
        ends=True,
    ),
    "history.superseded": Kind(
        "The selected suffix of active history is superseded.",
        {
            "records": Field("list", "The sequence numbers of the superseded records."),
            "undo": Field("list", "The identities of the actions to compensate, in order."),
            "unsure": Field("list", "The identities of actions that must not be sent again without a decision."),
        },
    ),
    "compensation.prepared": Kind(
        "The durable intent to compensate.",
        {
            **_UNDO,
            "action": _text("The undo action."),
            "effect": _text("`read` or `write`."),
            "idempotency": _text("`none`, `inherent` or `keyed`."),
            "arguments": _value("The arguments, evaluated from the source generation."),
            "connection": _text_or_null("The connection, or null."),
            "key": _text_or_null("The key of a keyed undo, or null."),
            "number": _integer("Which compensation of the step this is, from 1."),
        },
        ends=True,
    ),
    "compensation.dispatched": Kind(
        "The undo left, and arrived.", {**_UNDO, "reissue": _integer("0, or which reissue this is.")}, ends=True
    ),
    "compensation.succeeded": Kind(
        "The undo took effect (of a suppressed action: there was nothing to undo).",
        {**_UNDO, "result": _value("Its result.")},
        ends=True,
    ),
    "compensation.failed": Kind("The undo definitely failed.", {**_UNDO, **_FAILURE}, ends=True),
    "compensation.ambiguous": Kind(
        "It is not known whether the undo took effect.",
        {**_UNDO, "code": _text("As in `action.ambiguous`.")},
        ends=True,
    ),
    "generation.started": Kind(
        "Work goes on from the preceding boundary in a new generation.",
        {"started": _integer("The generation.")},
        ends=True,
    ),
    # ---- cancellation -------------------------------------------------------------------------------------------
    "cancel.decided": Kind(
        "The run is being cancelled.", {"reason": Field("value", "Any reason, or null.")}, ends=True
    ),
    # ---- continuation -------------------------------------------------------------------------------------------
    "boundary.reused": Kind(
        "A continuation took a recorded boundary over.",
        {"source": _integer("Its sequence number in the source history."), "of": _text("Its kind.")},
    ),
    "boundary.invalidated": Kind(
        "A continuation could not take a recorded boundary over.",
        {
            "source": _integer("Its sequence number in the source history."),
            "of": _text("Its kind."),
            "cause": _text(f"Why: {', '.join(f'`{each}`' for each in INVALIDATIONS[:-1])} or `{INVALIDATIONS[-1]}`."),
            "discarded": Field("list", "The sequence numbers that it takes with it."),
            "effects": _value(
                "The actions whose effect may stand outside: `{id, action, idempotency, arguments, connection, key, "
                "timeout, generation, number, happened, reusable}`, `timeout` in microseconds, `number` of an undo "
                "that of the compensation, else 0, `happened` whether that is known."
            ),
            "compensated": _maybe(
                "map", "How often actions were compensated, where more often than in what is taken over, by identity."
            ),
            "keys": _maybe(
                "value",
                "Keys that were sent, and not in what is taken over: `{action, key, arguments, ended}`; `ended`: the "
                "effect under the key was compensated.",
            ),
        },
    ),
}

ENDS: Final = frozenset(name for name, kind in KINDS.items() if kind.ends)
#: How an attempt, and an undo, may come out.
ACTION_RESULTS: Final = ("action.succeeded", "action.failed", "action.ambiguous")
UNDO_RESULTS: Final = ("compensation.succeeded", "compensation.failed", "compensation.ambiguous")
OUTCOMES: Final = ("succeeded", "failed", "stopped", "aborted", "cancelled")
HOLD_REASONS: Final = ("ambiguous", "recovery_limit", "undo_failed", "undo_ambiguous", "reissue", "unsafe_continuation")
REDO: Final = ("this_step", "this_and_after", "whole_group")
DECISIONS: Final = frozenset({"succeed", "fail", "reissue", "authorize_recovery"})
