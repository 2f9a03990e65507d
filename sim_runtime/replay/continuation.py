"""Continuation from history: the same run on its pins, or a successor run on another definition.

Evaluation goes from the beginning, takes recorded boundaries over as long as they are compatible, and switches to live
execution after them (profile: Continuation from History). The history that it comes from is never changed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.expressions.times import time_zone_version
from sim_runtime.core.fitting import json_of
from sim_runtime.core.prior import DECISIONS
from sim_runtime.driver.run import LimitReached
from sim_runtime.history.chain import Chain, export_lines
from sim_runtime.history.header import Header
from sim_runtime.history.load import History
from sim_runtime.history.records import Record
from sim_runtime.history.refusal import Refusal, Refused
from sim_runtime.replay.calls import superseded_by
from sim_runtime.replay.continued import ContinuedRun, notes_of
from sim_runtime.replay.definitions import Chosen, Definitions
from sim_runtime.replay.divergence import ABSENT, Divergence
from sim_runtime.replay.evaluation import Evaluation, evaluate, refuse_withheld
from sim_runtime.replay.plan import Plan, plan_of
from sim_runtime.replay.reading import refusal_at, validate
from sim_runtime.replay.versions import first_invalid
from sim_runtime.samples import NoSample
from sim_runtime.world.connectors import UNKNOWN, CannotAnswer, PastCall, SimulatedWorld, actions_of
from sim_runtime.world.scenario import Scenario

if TYPE_CHECKING:
    from sim_runtime.core.frames import State
    from sim_runtime.simulation import Prepared

Json: TypeAlias = Any

#: Statuses of a continuation that went well: it came to its end, or waits for something outside.
GOOD: Final = frozenset({"succeeded", "stopped", "suspended", "running"})


class CannotContinue(Exception):
    """The simulation from there on cannot be carried out; the message is one line."""


@dataclass(slots=True)
class Continuation:
    """A run under way that goes on from ``history``; ``header`` is that of its own history."""

    history: History
    header: Header
    run: ContinuedRun
    plan: Plan
    chosen: Chosen

    def finish(self) -> Continuation:
        """Go on until the outcome, until nothing can act, or until the scenario's end. Raises ``CannotContinue``."""
        try:
            self.run.finish()
        except (CannotAnswer, LimitReached, NoSample) as error:
            raise CannotContinue(str(error)) from None
        return self

    @property
    def reused(self) -> list[Record]:
        """The boundaries of the history that were taken over, in order."""
        return sorted((*self.plan.reused, *self.run.taken), key=lambda each: each.seq)

    @property
    def written(self) -> int:
        """How many records the continuation has written by itself."""
        return len(self.run.records) - self.run.given

    @property
    def discarded(self) -> list[int]:
        """The records of the history that are no part of this run."""
        return list(self.plan.discarded)

    def json(self) -> dict[str, Json]:
        """The JSON of ``workfile history continue``."""
        from sim_runtime.simulation import REPORT_KEYS

        report = self.run.report()
        digest = Chain(self.header).extend(self.run.records)
        report["history"] = {"records": len(self.run.records), "digest": f"sha256:{digest}"}
        return {
            "version": report["version"],
            "operation": "continue",
            **{key: report[key] for key in REPORT_KEYS[1:]},
            "lineage": self.header.lineage,
            "reused": [{"seq": each.seq, "kind": each.kind, "path": each.path} for each in self.reused],
            "invalidated": self.plan.invalidated,
            "discarded": self.discarded,
        }

    def lines(self) -> Iterator[str]:
        """The continued history as the lines of a file."""
        return export_lines(self.header, self.run.records)


def continue_(history: History, other: Prepared | None = None, scenario: Scenario | str | None = None) -> Continuation:
    """Go on from a history: the same run, or with another Workfile a successor run. Nothing of it is done yet.

    Args:
        history: A history as ``replay.read`` gives it.
        other: A Workfile that stands for the one of its name.
        scenario: The outside world from there on, or its file; its times count from the end of what is taken over.

    Raises:
        Refused: the history, or the definition that it pinned, cannot be used.
        CannotSimulate: the scenario's file cannot be used.
    """
    chosen = Definitions(other).of(history.header)
    end = validate(history)
    refuse_withheld(history)
    made = _same_run(history, chosen, end) if chosen.is_pinned else _successor(history, chosen, end)
    header, past, plan, held = made
    if isinstance(scenario, str):
        from sim_runtime.replay.live import live_scenario

        scenario = live_scenario(scenario, past[-1].at, chosen, [*plan.orphans, *held])
    scenario = scenario or Scenario()
    world = SimulatedWorld(actions_of(chosen.workflow), scenario.actions)
    remind(world, history.records)
    run = ContinuedRun(chosen.definition, world, past, scenario.script(), plan, header.run)
    return Continuation(history, header, run, plan, chosen)


#: The header, the records before, the plan, and the actions that the run is held for and that stand nowhere in it.
Made: TypeAlias = tuple[Header, list[Record], Plan, list[str]]


def _same_run(history: History, chosen: Chosen, end: State) -> Made:
    pinned = history.header.pins["timezone"]
    if pinned != time_zone_version():
        message = f"it is pinned to the time zone data {pinned!s:.40}, and this release has {time_zone_version()}"
        words = f"The run cannot go on: {message}. Continue it as a successor run with `--definition`."
        raise Refused(Refusal("unsupported_definition", "header", words, ("timezone",)))
    evaluation = evaluate(history, chosen)
    if evaluation.divergence is not None:
        message = "deciding it anew on its own pinned definition comes out differently"
        raise Refused(refusal_at(evaluation.divergence.recorded, "inconsistent", message))
    plan = plan_of(history, evaluation, chosen.definition, end)
    return history.header, history.records, plan, list(evaluation.state.orphans)


# ---- successor runs -----------------------------------------------------------------------------


def successor_id(history: History, pins: dict[str, Json]) -> str:
    """The id of the successor of a history on a definition: the same for the same two."""
    text = f"{history.header.run}\n{history.digest}\n{pins['definition']}\n{sorted(pins['children'].items())}"
    return f"run-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _successor(history: History, chosen: Chosen, end: State) -> Made:
    run_id = successor_id(history, chosen.pins)
    evaluation = _evaluated(history, chosen, run_id)
    plan = plan_of(history, evaluation, chosen.definition, end)
    past = [*evaluation.records, *_decisions(plan, evaluation)]
    used = plan.reused[-1].seq if plan.reused else 0
    lineage = {"run": history.header.run, "seq": used}
    header = Header(run_id, history.header.workflow, chosen.pins, lineage)
    return header, past, plan, list(evaluation.state.orphans)


def _evaluated(history: History, chosen: Chosen, run_id: str) -> Evaluation:
    """What of the history is met by the other definition, as far as it can be taken over."""
    records = history.records
    evaluation = evaluate(history, chosen, run_id)
    met = len(evaluation.records)
    if evaluation.divergence is not None and met < next(at + 1 for at, each in enumerate(records) if each.boundary):
        return _begun(history, chosen, run_id, evaluation.divergence)
    cut, divergence = usable_part(history, chosen, met, evaluation.divergence)
    if divergence is None or cut == met:
        evaluation.divergence = divergence
        return evaluation
    kept = History(history.header, records[:cut], history.digests[:cut])
    again = evaluate(kept, chosen, run_id)
    again.divergence = divergence
    return again


def usable_part(
    history: History, chosen: Chosen, met: int, divergence: Divergence | None
) -> tuple[int, Divergence | None]:
    """How many of the first ``met`` records a successor takes over, and the first that is invalid.

    What was read from a connector, or from time zone data, of another version is not taken over, whatever comes out.
    Superseded entries are never reused: where the recovery that superseded them is not taken over, neither are they,
    nor what comes after the first of them. That may leave out another recovery in turn.
    """
    records = history.records
    first_left = first_invalid(history, chosen, divergence)
    if first_left is not None and first_left is not divergence:
        met, divergence = _boundary_before(records, first_left.recorded.seq), first_left
    while divergence is not None:
        first = min((seq for seq in superseded_by(records[met:]) if seq <= met), default=None)
        before = met if first is None else _boundary_before(records, first)
        if first is None or before == met:
            break
        met, divergence = before, Divergence(records[first - 1], None, ABSENT)
    return met, divergence


def _boundary_before(records: list[Record], seq: int) -> int:
    """The last boundary before a record; a run has begun at the first one, which is always taken over."""
    return next((at for at in range(seq - 1, 0, -1) if records[at - 1].boundary), 0) or next(
        at + 1 for at, each in enumerate(records) if each.boundary
    )


def _begun(history: History, chosen: Chosen, run_id: str, divergence: Divergence) -> Evaluation:
    """Not even the start is met (the inputs do not fit): the successor starts by itself."""
    from sim_runtime.core.decide import transact
    from sim_runtime.core.frames import EMPTY
    from sim_runtime.replay.inputs import input_of

    records, state = transact(EMPTY, chosen.definition, input_of(EMPTY, history.records[0], run_id))
    return Evaluation(state, records, divergence, records)


def _decisions(plan: Plan, evaluation: Evaluation) -> list[Record]:
    """The transaction in which a successor writes down what it takes over, what not, and what holds it."""
    state: State = evaluation.state
    found = notes_of(plan.reused, state.seq, state.at, state.generation)
    divergence = plan.divergence

    def add(kind: str, id_: str, data: dict[str, Json]) -> None:
        found.append(Record(state.seq + len(found) + 1, state.at, kind, id_, state.generation, data))

    if divergence is not None:
        recorded = divergence.recorded
        data: dict[str, Json] = {"source": recorded.seq, "of": recorded.kind, "cause": divergence.cause}
        data |= {"discarded": plan.discarded, "effects": plan.effects}
        counted = {"compensated": plan.compensated, "keys": plan.keys}
        add("boundary.invalidated", recorded.id, data | {name: each for name, each in counted.items() if each})
    for id_ in plan.orphans if not state.over else ():
        add("hold.entered", id_, {"reason": "unsafe_continuation", "allowed": DECISIONS})
    if state.status in ("suspended", "held") and plan.orphans:
        add("run.resumed", "", {})
    if found:
        found[-1].boundary = True
    return found


def _is_answer(record: Record) -> bool:
    """Whether the outside answered a call there; a call that was interrupted is answered when it is made again."""
    data = record.data
    if record.kind.partition(".")[0] not in ("action", "compensation") or data.get("effect") == "possible":
        return False
    return record.kind.endswith(("succeeded", "failed", "ambiguous")) and data.get("code") != "interrupted"


def remind(world: SimulatedWorld, records: list[Record]) -> None:
    """Let the simulated outside know of the calls and effects that the history tells of."""
    prepared: dict[str, Record] = {}
    answered = Counter(each.path for each in records if _is_answer(each))
    for path, times in answered.items():
        world.count_calls(path, times)
    for record in records:
        if record.kind in ("action.prepared", "compensation.prepared"):
            prepared[record.id] = record
        elif record.kind == "action.succeeded" and record.id in prepared:
            if prepared[record.id].data["effect"] == "write":
                world.remember(_made(prepared[record.id]), json_of(record.data["result"]))
        elif record.kind == "compensation.succeeded" and record.id in prepared:
            undo, undone = prepared[record.id], prepared.get(record.data["of"])
            if undo.data["effect"] == "write" and undone is not None:
                world.remember_undo(_made(undone), _made(undo), json_of(record.data["result"]))
        elif record.kind == "boundary.invalidated":
            for each in record.data["effects"]:
                told = Record(record.seq, record.at, "action.prepared", each["id"], each["generation"], each)
                if each.get("happened", False):
                    world.remember(_made(told), UNKNOWN)


def _made(prepared: Record) -> PastCall:
    data = prepared.data
    return PastCall(data["action"], data["idempotency"], data["key"], json_of(data["arguments"]), prepared.path)


__all__ = ["GOOD", "CannotContinue", "Continuation", "continue_", "successor_id"]
