"""What a successor run takes over from a history, what it does not, and what that means outside.

Boundaries are taken over as long as deciding anew on the other definition meets them. The first one that it does not
meet is invalidated, with everything that depends on it: what stands after it in the same branch, and after the join.
What other branches of a ``wf.parallel`` (or concurrent iterations) did may still be taken over, call by call, when the
very same call comes up. Superseded entries never are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import State
from sim_runtime.core.places import step_of
from sim_runtime.core.prior import is_contained
from sim_runtime.history.load import History
from sim_runtime.history.paths import UNDO, Address, address_of
from sim_runtime.history.records import Record
from sim_runtime.replay.calls import (
    Place,
    RecordedCall,
    calls_of,
    effects_of,
    ended_keys,
    outcomes_after,
    superseded_by,
)
from sim_runtime.replay.divergence import Divergence
from sim_runtime.replay.evaluation import Evaluation

Json: TypeAlias = Any

#: Records that are offered again to a branch that is taken over.
_OFFERED: Final = frozenset({"event.accepted", "operator.decided"})


@dataclass(slots=True)
class Plan:
    """What becomes of every recorded boundary. ``reused`` are source records, ``calls`` and ``outcomes`` what may be
    taken over later, ``offered`` events and decisions of independent branches; ``effects`` is the data of
    ``boundary.invalidated``, as are ``compensated`` and ``keys``; ``orphans`` are the identities that hold the run at
    once."""

    reused: list[Record]
    divergence: Divergence | None = None
    discarded: list[int] = field(default_factory=list)
    effects: list[dict[str, Json]] = field(default_factory=list)
    compensated: dict[str, int] = field(default_factory=dict)
    keys: list[dict[str, Json]] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    calls: dict[Place, RecordedCall] = field(default_factory=dict)
    outcomes: dict[str, Record] = field(default_factory=dict)
    offered: list[Record] = field(default_factory=list)

    @property
    def invalidated(self) -> dict[str, Json] | None:
        """The ``invalidated`` of the interfaces page."""
        if self.divergence is None:
            return None
        record = self.divergence.recorded
        return {"seq": record.seq, "kind": record.kind, "path": record.path, "cause": self.divergence.cause}


def plan_of(history: History, evaluation: Evaluation, definition: Definition, end: State) -> Plan:
    """The plan of a continuation, from what evaluation came to; ``end`` is the state at the history's end."""
    records = history.records
    usable = len(evaluation.records)
    prefix, suffix = records[:usable], records[usable:]
    gone = superseded_by(prefix)
    plan = Plan([each for each in prefix if each.boundary and each.seq not in gone], evaluation.divergence)
    divergence = evaluation.divergence
    if divergence is None:
        return plan
    gone = superseded_by(suffix)
    places = _Places(definition, divergence)
    kept = {each.seq for each in suffix if each.seq not in gone and places.is_independent(each.id)}
    first = suffix[0].seq
    plan.calls = {
        call.place: call for call in calls_of(records) if call.dispatched.seq >= first and _is_kept(call, kept)
    }
    answered = outcomes_after(suffix)
    plan.outcomes = {
        id_: each for id_, each in answered.items() if each.seq not in gone and each.seq != divergence.recorded.seq
    }
    plan.offered = [each for each in suffix if each.kind in _OFFERED and each.seq in kept and "scope" not in each.data]
    taken = {each.seq for each in (*plan.outcomes.values(), *plan.offered)}
    for call in plan.calls.values():
        taken.update(each.seq for each in (call.prepared, call.dispatched, call.outcome) if each is not None)
    plan.discarded = [each.seq for each in suffix if each.seq not in taken]
    _add_effects(plan, records, first)
    _add_keys(plan, records, first, evaluation.state, end)
    plan.orphans = [each["id"] for each in plan.effects if not is_contained(definition, each["id"])]
    return plan


def _is_kept(call: RecordedCall, kept: set[int]) -> bool:
    return call.dispatched.seq in kept and (call.outcome is None or call.outcome.seq in kept)


def _add_effects(plan: Plan, records: list[Record], first: int) -> None:
    """The effects that may stand of what was sent in the suffix. An inherently idempotent action is always safe; an
    undo is not, as what it undid counts as done in what is taken over."""
    for id_, effect in effects_of(records, first).items():
        data = effect.prepared.data
        if data["idempotency"] == "inherent" and not id_.endswith(UNDO):
            continue
        places = [(e.id, e.generation, e.data.get("attempt", 0), e.data["reissue"]) for e in effect.sent]
        plan.effects.append(
            {
                "id": id_,
                "action": data["action"],
                "idempotency": data["idempotency"],
                "arguments": data["arguments"],
                "connection": data["connection"],
                "key": data["key"],
                "timeout": data.get("timeout"),
                "generation": effect.prepared.generation,
                "number": data.get("number", 0),
                "happened": effect.happened,
                "reusable": all(each in plan.calls for each in places),
            }
        )


def _add_keys(plan: Plan, records: list[Record], first: int, kept: State, end: State) -> None:
    """What keys must not be mistaken for in the lineage (language page, Idempotency keys): how often actions were
    compensated, and what was sent under which key."""
    plan.compensated = {
        id_: count for id_, count in end.compensated.items() if count > (kept.compensated.get(id_) or 0)
    }
    ended = ended_keys(records, first)
    for name, arguments in end.keys.items():
        if name not in kept.keys or name in ended:
            action, _, key = name.partition(" ")
            plan.keys.append({"action": action, "key": key, "arguments": arguments, "ended": name in ended})


class _Places:
    """Tells which places do not depend on where evaluation left the history."""

    __slots__ = ("definition", "left")

    def __init__(self, definition: Definition, divergence: Divergence) -> None:
        self.definition = definition
        recorded, evaluated = divergence.recorded.id, divergence.evaluated
        left = {recorded, evaluated.id if evaluated is not None else recorded}
        if divergence.cause == "unrecorded" and evaluated is not None:
            left.discard(recorded)  # what is recorded there only comes later
            left.add(evaluated.id)
        elif divergence.cause == "path":
            left = {recorded}  # what comes in its place comes sooner
        self.left = [address_of(each) for each in sorted(left)]

    def is_independent(self, id_: str) -> bool:
        """Whether a place stands in another branch, or another concurrent iteration."""
        return all(self._beside(address_of(id_), each) for each in self.left)

    def _beside(self, at: Address, left: Address) -> bool:
        for depth in range(min(len(at), len(left))):
            if at[depth] != left[depth]:
                step = step_of(self.definition, at[:depth])
                if step is None:
                    return False
                return step.kind == "wf.parallel" or (step.kind == "wf.for_each" and step.concurrency > 1)
        return False
