"""The rules that every history keeps (durable execution profile), judged record by record and by what really took place
outside. It knows records and the ledger only; nothing of it is shared with the interpreter that it judges.

A rule that is broken is a ``Violation``; ``RULES`` says in a sentence what each means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sim_runtime.history.paths import UNDO, is_below, shown_path
from sim_runtime.history.records import ACTION_RESULTS, UNDO_RESULTS, Record

Told: TypeAlias = Any

MAX_REISSUES: Final = 3

RULES: Final[dict[str, str]] = {
    "effect-twice": "An effect took place twice that the profile lets happen once.",
    "effect-lost": "A success was recorded for an effect that never took place.",
    "completed-again": "An action that had definitely completed was dispatched again in its generation.",
    "not-prepared": "A call left without a durable intent.",
    "key-changed": "An idempotency key was not the same for every attempt, reissue and redo.",
    "key-kept": "A redo after compensation was sent under the key of the compensated call.",
    "too-many-attempts": "A call was tried more often than its retry policy or the bound of reissues allows.",
    "result-after-supersession": "A result was bound for a call that was superseded, answered before, or never left.",
    "late-result-used": "An answer that came too late, or to another dispatch, was used.",
    "event-twice": "One delivery was accepted twice by the same wait.",
    "bound-twice": "A step's binding was created twice in one generation.",
    "timer-twice": "A timer fired without running: it had fired, or was released.",
    "timer-early": "A timer fired before its deadline.",
    "released-before-selection": "A wait's subscription or timer was released before its selection was recorded.",
    "wrong-selection": "A wait was completed by what the profile does not select.",
    "compensation-order": "Compensations were not those of the superseded successes in reverse completion order.",
    "compensation-skipped": "Work was redone before every compensation had definitely succeeded.",
    "recovery-early": "Compensation or re-execution began before the recovery's delay had passed.",
    "recovery-limit": "A recovery scope was activated more often than its `stop_after` allows.",
    "recovery-unrecorded": "History was superseded without a recorded recovery decision.",
    "generation-wrong": "A generation began that no recovery decision had announced.",
    "hold-ignored": "Work went on at a hold before anybody had decided.",
    "retry-early": "An attempt began before its retry delay had passed.",
    "cancel-ignored": "Work went on, or was undone, after the run's cancellation was decided.",
    "not-released": "A cancelled run ended with a subscription or a timer that was not released.",
    "after-the-end": "Something other than a late result was recorded after the run's end.",
    "fold-differs": "The state in memory was not the fold of the history.",
    "stuck": "The run came to rest without an outcome, a hold or anything that it waits for.",
    "crash-changes-outcome": "A crash changed the outcome, bindings or effects, and no policy for ambiguity said so.",
    "internal-error": "The runtime broke down.",
}


class Violation(NamedTuple):
    """A rule that was broken, at a shown step path."""

    kind: str
    path: str
    message: str


class Policy(NamedTuple):
    """What the Workfile says of the step at an identity: whether it declares ``undo``, and how many attempts it has."""

    undo: bool
    attempts: int


class Limits(NamedTuple):
    """What a recovery scope's ``stop_after`` says."""

    failures: int
    within_us: int


_TABLES: Final = (
    "accepted",
    "activations",
    "attempts",
    "bound",
    "compensated",
    "deadlines",
    "decided",
    "done",
    "holds",
    "keys",
    "open",
    "out",
    "prepared",
    "queues",
    "retries",
    "timers",
    "took",
    "undone",
)
_ALL: Final = frozenset(_TABLES)

#: What recovery supersedes, by identity.
_OF_A_GENERATION: Final = ("accepted", "attempts", "bound", "done", "open", "out", "prepared", "retries")


class Monitor:
    """Judges one run; copies share their tables until one of them changes. ``acted``: in the last transaction a policy
    for ambiguity had its say, so that a crash may show in what the run comes to."""

    __slots__ = (*_TABLES, "_limits", "_policy", "_shared", "acted", "broken", "cancelled", "ended")

    accepted: dict[str, tuple[tuple[str, int], ...]]
    activations: dict[str, tuple[int, ...]]
    attempts: dict[str, str]
    bound: dict[str, int]
    compensated: dict[str, int]
    deadlines: dict[str, int]
    decided: dict[str, bool]
    done: dict[str, int]
    holds: dict[str, int]
    keys: dict[str, tuple[int, str]]
    open: dict[str, str]
    out: dict[str, int]
    prepared: dict[str, int]
    queues: dict[str, tuple[tuple[str, ...], int, int, tuple[str, ...] | None]]
    retries: dict[str, int]
    timers: dict[tuple[str, str], int]
    took: dict[str, bool]
    undone: dict[str, bool]

    def __init__(self, policy: Callable[[str], Policy], limits: Callable[[str], Limits | None]) -> None:
        self._policy = policy
        self._limits = limits
        self._shared: frozenset[str] = frozenset()
        self.acted = False
        self.ended = False
        self.cancelled: tuple[str, ...] = ()
        self.broken: tuple[Violation, ...] = ()
        for name in _TABLES:
            setattr(self, name, {})

    def fork(self) -> Monitor:
        """A copy that goes its own way."""
        copy: Monitor = object.__new__(Monitor)
        for name in Monitor.__slots__:
            setattr(copy, name, getattr(self, name))
        self._shared = copy._shared = _ALL
        return copy

    def _own(self, name: str) -> dict[Any, Any]:
        """A table that may be changed."""
        table: dict[Any, Any]
        if name in self._shared:
            self._shared = self._shared - {name}
            table = dict(getattr(self, name))
            setattr(self, name, table)
            return table
        table = getattr(self, name)
        return table

    def found(self, violation: Violation) -> None:
        """A rule is broken."""
        if violation not in self.broken:
            self.broken = (*self.broken, violation)

    def _bad(self, kind: str, record: Record, message: str) -> None:
        self.found(Violation(kind, record.path, message))

    def take(self) -> tuple[Violation, ...]:
        """What was broken since this was asked last."""
        found, self.broken = self.broken, ()
        return found

    def read(self, records: Sequence[Record]) -> None:
        """Judge the records of a transaction."""
        self.acted = False
        for record in records:
            if self.ended and record.kind != "late_result.recorded":
                self._bad("after-the-end", record, f"`{record.kind}` was recorded after the run's end")
            if self.cancelled and record.kind in _WORK and any(is_below(record.id, each) for each in self.cancelled):
                self._bad("cancel-ignored", record, f"`{record.kind}` was recorded after the cancellation")
            handler = _HANDLERS.get(record.kind)
            if handler is not None:
                handler(self, record)

    def answered(self, dispatch: int, record: Record) -> None:
        """Judge what an answer to a dispatch was written down as."""
        if record.kind in _RESULTS and self.out.get(record.id) != dispatch:
            self._bad("late-result-used", record, f"the answer to the dispatch of record {dispatch} is not waited for")

    # ---- the ledger ---------------------------------------------------------------------------------

    def told(self, told: Told, record: Record) -> None:
        """Judge what a call did outside."""
        call = told.call
        if call.effect != "write":
            return
        name = call.id if call.undoes is None else f"{call.id} {self.compensated.get(call.id[: -len(UNDO) - 1], 0)}"
        if told.effect or told.known:
            self._own("took")[name] = True
        if not told.effect:
            return
        if call.undoes is not None:
            if name in self.undone:
                self._bad("effect-twice", record, f"`{call.action}` took effect twice for one compensation")
            self._own("undone")[name] = True
            return
        if told.standing > 1:
            self._bad("effect-twice", record, f"`{call.action}` took effect twice")

    # ---- calls --------------------------------------------------------------------------------------

    def _prepared(self, record: Record) -> None:
        id_, data = record.id, record.data
        attempt = data["attempt"]
        policy = self._policy(id_)
        if attempt > policy.attempts:
            self._bad("too-many-attempts", record, f"attempt {attempt} of {policy.attempts}")
        if record.at < self._own("retries").pop(id_, record.at):
            self._bad("retry-early", record, f"attempt {attempt} began before its delay had passed")
        if id_ in self.holds:
            self._bad("hold-ignored", record, "a call was prepared while nobody had decided at the hold here")
        self._own("prepared")[id_] = attempt
        self._key(record, self.compensated.get(id_, 0))

    def _key(self, record: Record, count: int) -> None:
        """Judge the key of a call before which ``count`` compensations were done."""
        id_, key = record.id, record.data["key"]
        if key is None:
            return
        before = self.keys.get(id_)
        if before is not None and before[0] == count and before[1] != key:
            self._bad("key-changed", record, f"the key was `{before[1]}` and is `{key}` now")
        elif before is not None and before[0] != count and before[1] == key:
            self._bad("key-kept", record, f"the key is still `{key}` after a compensation")
        self._own("keys")[id_] = (count, key)

    def _dispatched(self, record: Record) -> None:
        id_, data = record.id, record.data
        if self.prepared.get(id_) != data["attempt"]:
            self._bad("not-prepared", record, f"attempt {data['attempt']} left without a durable intent")
        if id_ in self.done:
            self._bad("completed-again", record, "it had completed, and was dispatched again")
        if data["reissue"] > MAX_REISSUES and id_ not in self.decided:
            self._bad("too-many-attempts", record, f"reissue {data['reissue']} of an attempt")
        if id_ in self.holds:
            self._bad("hold-ignored", record, "a call left while nobody had decided at the hold here")
        self._own("out")[id_] = record.seq

    def _succeeded(self, record: Record) -> None:
        id_ = record.id
        if self._own("out").pop(id_, None) is None:
            self._bad("result-after-supersession", record, "a result was bound that no call waits for")
        self._complete(record)
        if not self.took.get(id_) and self._is_write(id_):
            self._bad("effect-lost", record, "it was recorded as done and never took effect")

    def _is_write(self, id_: str) -> bool:
        return self.attempts.get(id_) == "write"

    def _complete(self, record: Record) -> None:
        if record.id in self.done:
            self._bad("result-after-supersession", record, "its success was recorded twice in one generation")
        self._own("done")[record.id] = record.seq

    def _failed(self, record: Record) -> None:
        self._own("out").pop(record.id, None)
        if record.data["effect"] == "possible":
            self.acted = True

    def _ambiguous(self, record: Record) -> None:
        self._own("out").pop(record.id, None)

    def _retry(self, record: Record) -> None:
        self._own("retries")[record.id] = record.data["deadline"]

    def _reconciled(self, record: Record) -> None:
        self.acted = True
        if record.data["outcome"] == "succeeded":
            self._complete(record)
            if not self.took.get(record.id):
                self._bad("effect-lost", record, "its probe established a success, and it never took effect")

    # ---- steps --------------------------------------------------------------------------------------

    def _step_succeeded(self, record: Record) -> None:
        if record.id in self.bound:
            self._bad("bound-twice", record, "its binding was created twice in one generation")
        self._own("bound")[record.id] = record.seq

    def _step_failed(self, record: Record) -> None:
        if record.data["disposition"] == "abort":
            self.acted = True
        self._own("open").pop(record.id, None)

    # ---- timers and events --------------------------------------------------------------------------

    def _timer_set(self, record: Record) -> None:
        self._own("timers")[record.id, record.data["timer"]] = record.data["deadline"]
        if record.data["timer"] == "wait":
            self._own("deadlines")[record.id] = record.data["deadline"]

    def _timer_fired(self, record: Record) -> None:
        name, deadline = record.data["timer"], record.data["deadline"]
        if name == "retry":
            known = self.retries.get(record.id)
        else:
            known = self._own("timers").pop((record.id, name), None)
        if known is None:
            self._bad("timer-twice", record, f"the timer `{name}` fired, and it did not run")
        if record.at < deadline or (known is not None and record.at < known):
            self._bad("timer-early", record, f"the timer `{name}` fired before its deadline")

    def _timer_released(self, record: Record) -> None:
        self._own("timers").pop((record.id, record.data["timer"]), None)
        if record.data["timer"] == "wait" and record.id in self.open:
            self._own("open")[record.id] = "released"

    def _opened(self, record: Record) -> None:
        self._own("open")[record.id] = "open"
        self._own("accepted").pop(record.id, None)

    def _event(self, record: Record) -> None:
        known, delivery = self.accepted.get(record.id, ()), record.data["delivery"]
        if any(delivery == each for each, _ in known):
            self._bad("event-twice", record, f"the delivery `{delivery}` was accepted twice")
        self._own("accepted")[record.id] = (*known, (delivery, record.at))

    def _selected(self, record: Record) -> None:
        if self.open.get(record.id) != "open":
            self._bad(
                "released-before-selection", record, "its subscription or timer was released before the selection"
            )
        events = self.accepted.get(record.id, ())
        deadline = self.deadlines.get(record.id)
        in_time = [each for each in events if deadline is None or each[1] <= deadline]
        if record.data["status"] == "received":
            if not in_time or in_time[0][0] != record.data.get("delivery"):
                self._bad("wrong-selection", record, "it was completed by an event that is not the first one in time")
        elif in_time:
            self._bad("wrong-selection", record, "it timed out although an event had come in time")

    def _subscription_released(self, record: Record) -> None:
        if record.id in self.open:
            self._own("open")[record.id] = "released"

    # ---- holds --------------------------------------------------------------------------------------

    def _hold(self, record: Record) -> None:
        self._own("holds")[record.id] = record.at
        if record.data["reason"] != "recovery_limit":
            self.acted = True

    def _decided(self, record: Record) -> None:
        self._own("holds").pop(record.id, None)
        self._own("decided")[record.id] = True
        if record.data["decision"] == "succeed":
            if "scope" in record.data:
                self._undo_done(record, record.id[: -len(UNDO) - 1])
            else:
                self._complete(record)

    # ---- recovery -----------------------------------------------------------------------------------

    def _recovery(self, record: Record) -> None:
        data, id_ = record.data, record.id
        limits = self._limits(id_)
        if "authorized_by" not in data and limits is not None:
            times = (*self.activations.get(id_, ()), data["time"])
            recent = [at for at in times if data["time"] - limits.within_us < at]
            if len(recent) > limits.failures:
                self._bad("recovery-limit", record, f"activation {len(recent)} of {limits.failures} in the interval")
            self._own("activations")[id_] = tuple(recent)
        self._own("queues")[id_] = (tuple(data["set"]), data["since"] + data["delay"], data["next_generation"], None)

    def _superseded(self, record: Record) -> None:
        known = self.queues.get(record.id)
        if known is None:
            self._bad("recovery-unrecorded", record, "history was superseded without a recovery decision")
            return
        redo, due, generation, _ = known
        if record.at < due:
            self._bad("recovery-early", record, "compensation began before the delay had passed")
        expected = [
            id_
            for id_, _ in sorted(self.done.items(), key=lambda pair: pair[1], reverse=True)
            if any(is_below(id_, each) for each in redo) and self._policy(id_).undo
        ]
        if list(record.data["undo"]) != expected:
            listed = ", ".join(f"`{shown_path(each)}`" for each in expected) or "none"
            self._bad("compensation-order", record, f"to be compensated, in this order: {listed}")
        for table in _OF_A_GENERATION:
            entries = self._own(table)
            for id_ in [each for each in entries if any(is_below(each, above) for above in redo)]:
                del entries[id_]
        for name in [each for each in self.timers if any(is_below(each[0], above) for above in redo)]:
            del self._own("timers")[name]
        self._own("queues")[record.id] = (redo, due, generation, tuple(record.data["undo"]))

    def _undo_prepared(self, record: Record) -> None:
        scope, of = record.data["scope"], record.data["of"]
        known = self.queues.get(scope)
        if known is None or not known[3] or known[3][0] != of:
            self._bad("compensation-order", record, f"it is not the turn of `{shown_path(of)}`")
        count = self._own("prepared")[record.id] = self.compensated.get(of, 0)
        self._key(record, count)

    def _undo_dispatched(self, record: Record) -> None:
        of = record.data["of"]
        if self.prepared.get(record.id) != self.compensated.get(of, 0):
            self._bad("not-prepared", record, "the compensation left without a durable intent")
        if record.id in self.holds:
            self._bad("hold-ignored", record, "a compensation left while nobody had decided at the hold here")
        self._own("out")[record.id] = record.seq

    def _undo_succeeded(self, record: Record) -> None:
        of = record.data["of"]
        out = self._own("out").pop(record.id, None)
        if out is not None and not self.took.get(f"{record.id} {self.compensated.get(of, 0)}"):
            self._bad("effect-lost", record, "the compensation was recorded as done and never took effect")
        self._undo_done(record, of)

    def _undo_done(self, record: Record, of: str) -> None:
        scope = record.data["scope"]
        known = self.queues.get(scope)
        if known is not None and known[3] and known[3][0] == of:
            self._own("queues")[scope] = (*known[:3], known[3][1:])
        elif known is not None:
            self._bad("compensation-order", record, f"it was not the turn of `{shown_path(of)}`")
        self._own("compensated")[of] = self.compensated.get(of, 0) + 1
        self._own("took").pop(of, None)
        self._own("prepared").pop(record.id, None)

    def _undo_failed(self, record: Record) -> None:
        self._own("out").pop(record.id, None)

    def _undo_ambiguous(self, record: Record) -> None:
        self._own("out").pop(record.id, None)

    def _generation(self, record: Record) -> None:
        known = self._own("queues").pop(record.id, None)
        if known is None or known[2] != record.data["started"]:
            self._bad("generation-wrong", record, f"generation {record.data['started']} was not announced")
        elif known[3] is None:
            self._bad("compensation-skipped", record, "work is redone before the old work was superseded")
        elif known[3]:
            self._bad("compensation-skipped", record, f"`{shown_path(known[3][0])}` was not compensated yet")

    def _finished(self, record: Record) -> None:
        if record.id == "":
            self.ended = True
        if record.id in self.cancelled:
            self.cancelled = tuple(each for each in self.cancelled if each != record.id)
            left = [id_ for id_, how in self.open.items() if how == "open" and is_below(id_, record.id)]
            left.extend(id_ for id_, _ in self.timers if is_below(id_, record.id))
            if left:
                self._bad("not-released", record, f"it was cancelled, and `{shown_path(left[0])}` still waits")

    def _cancelled(self, record: Record) -> None:
        self.cancelled = (*self.cancelled, record.id)

    def _effect(self, record: Record) -> None:
        self._own("attempts")[record.id] = record.data["effect"]
        self._prepared(record)


_RESULTS: Final = frozenset({*ACTION_RESULTS, *UNDO_RESULTS})
#: What a run does not begin any more once its cancellation was decided.
_WORK: Final = frozenset(
    {
        "action.dispatched",
        "action.prepared",
        "compensation.dispatched",
        "compensation.prepared",
        "generation.started",
        "history.superseded",
        "recovery.decided",
        "retry.scheduled",
        "state.entered",
        "step.started",
        "subscription.opened",
        "timer.set",
    }
)

_HANDLERS: Final[dict[str, Callable[[Monitor, Record], None]]] = {
    "action.prepared": Monitor._effect,
    "action.dispatched": Monitor._dispatched,
    "action.succeeded": Monitor._succeeded,
    "action.failed": Monitor._failed,
    "action.ambiguous": Monitor._ambiguous,
    "retry.scheduled": Monitor._retry,
    "reconcile.decided": Monitor._reconciled,
    "step.succeeded": Monitor._step_succeeded,
    "step.failed": Monitor._step_failed,
    "timer.set": Monitor._timer_set,
    "timer.fired": Monitor._timer_fired,
    "timer.released": Monitor._timer_released,
    "subscription.opened": Monitor._opened,
    "event.accepted": Monitor._event,
    "wait.selected": Monitor._selected,
    "subscription.released": Monitor._subscription_released,
    "hold.entered": Monitor._hold,
    "operator.decided": Monitor._decided,
    "recovery.decided": Monitor._recovery,
    "history.superseded": Monitor._superseded,
    "compensation.prepared": Monitor._undo_prepared,
    "compensation.dispatched": Monitor._undo_dispatched,
    "compensation.succeeded": Monitor._undo_succeeded,
    "compensation.failed": Monitor._undo_failed,
    "compensation.ambiguous": Monitor._undo_ambiguous,
    "generation.started": Monitor._generation,
    "cancel.decided": Monitor._cancelled,
    "run.finished": Monitor._finished,
}
