"""Writes a way that a run can go as a scenario file, makes sure that it is played exactly so, and makes it shorter."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.language.durations import format_duration
from analyzer.model.problems import Problems
from analyzer.shown import relative_path
from analyzer.workspace.documents import Document
from sim_runtime.driver.protocol import CrashPoint, Decision, ScriptedEvent
from sim_runtime.explore.branch import CANCELLED, MAX_RECORDS, Branch, Deviation
from sim_runtime.explore.ends import End
from sim_runtime.explore.plan import Plan, plan_of
from sim_runtime.explore.retrace import NotRetraced, Retraced, retrace
from sim_runtime.explore.search import Search
from sim_runtime.explore.units import Stop
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import Record
from sim_runtime.simulation import CannotSimulate, Prepared, Simulation
from sim_runtime.world.reading import read_scenario
from sim_runtime.world.scenario import DEFAULT_SEED, DEFAULT_START_US, Scenario, ScriptedAnswer

Json: TypeAlias = Any
Parts: TypeAlias = dict[str, Json]

MAX_TRIALS: Final = 80
_ORDER: Final = (
    "workfile", "start", "seed", "until", "dry_run", "inputs", "trigger", "actions", "events", "crashes", "operator",
    "cancel", "expect",
)  # fmt: skip


@dataclass(slots=True)
class Written:
    """A scenario that was played and came out as foretold. ``parts`` are its keys but ``workfile``."""

    parts: Parts
    end: End
    records: int


def scenario_for(search: Search, chain: Sequence[Deviation]) -> Written | None:
    """The scenario of a chain of deviations; None when playing it does not give the same history."""
    try:
        found = retrace(search, chain)
    except (NotRetraced, Stop):
        return None
    for by_seq in (False, True):
        parts = parts_of(search.plan, found.branch, by_seq)
        played = play(search.plan.prepared, parts, found.branch.trail.count)
        if played is not None and _same(played, found):
            return Written(parts, found.end, found.branch.trail.count)
    return None


def play(prepared: Prepared, parts: Parts, limit: int) -> list[Record] | None:
    """The history of a scenario, None when it cannot be played, or writes more records than ``limit``."""
    simulation = simulated(prepared, parts, limit)
    return None if simulation is None or simulation.unfired else list(simulation.run.records)


def simulated(prepared: Prepared, parts: Parts, limit: int = MAX_RECORDS) -> Simulation | None:
    """A scenario played to its end, None when it cannot be played, or writes more records than ``limit``."""
    scenario = scenario_of(prepared, parts)
    if scenario is None:
        return None
    again = Prepared(prepared.project, prepared.workflow, prepared.definition, scenario)
    try:
        simulation = again.simulation()
        simulation.run.limit = limit
        return simulation.finish()
    except CannotSimulate:
        return None


def scenario_of(prepared: Prepared, parts: Parts) -> Scenario | None:
    """A scenario from its keys; None when it is not well formed."""
    text = json.dumps({"workfile": prepared.workflow.path, **parts}, ensure_ascii=False)
    problems = Problems()
    found = read_scenario(Document(prepared.workflow.path, text.encode("utf-8", "surrogatepass")), problems)
    return None if problems.items else found


def _same(played: list[Record], found: Retraced) -> bool:
    told = [(each.kind, each.id, each.at, each.generation) for each in found.branch.records]
    return [(each.kind, each.id, each.at, each.generation) for each in played] == told


# ---- from a run to a scenario -------------------------------------------------------------------


def parts_of(plan: Plan, branch: Branch, by_seq: bool) -> Parts:
    """The keys of the scenario that plays a run. ``by_seq``: crash points are written by their record's number."""
    prepared, script = plan.prepared, branch.script
    scenario = prepared.scenario
    parts: Parts = {}
    if branch.start_us != DEFAULT_START_US:
        parts["start"] = time_text(branch.start_us)
    seed = scenario.seed if prepared.changes.seed is None else prepared.changes.seed
    if seed != DEFAULT_SEED:
        parts["seed"] = seed
    if script.until_us is not None:
        parts["until"] = format_duration(script.until_us)
    if scenario.dry_run or prepared.changes.dry_run:
        parts["dry_run"] = True
    if plan.inputs:
        parts["inputs"] = plan.inputs
    if plan.trigger is not None:
        parts["trigger"] = plan.trigger
    actions = _answers(plan, branch)
    if actions:
        parts["actions"] = actions
    chain = branch.deviations.chain() if branch.deviations is not None else []
    events = [*map(_event, script.events), *_explored_events(chain)]
    if events:
        parts["events"] = events
    acted = [each for each in script.crashes if not any(each is left for left in branch.crash_points_left)]
    crashes = [*map(_crash_point, acted), *_crashes(plan, branch, chain, by_seq)]
    if crashes:
        parts["crashes"] = crashes
    operator = [_decision(each.decision, each.at_us) for each in script.decisions]
    operator.extend(_decision(each.what.decision, None) for each in chain if each.kind == "decision")
    if operator:
        parts["operator"] = operator
    if script.cancel_at_us is not None:
        parts["cancel"] = {"at": format_duration(script.cancel_at_us), "reason": script.cancel_reason}
    for each in chain:
        if each.kind == "cancel":
            parts["cancel"] = {"at": format_duration(each.what - branch.start_us), "reason": CANCELLED}
    return parts


def _answers(plan: Plan, branch: Branch) -> dict[str, Json]:
    """The answers of every path at which one was chosen; where a scenario has answers, of every path."""
    by_path: dict[str, list[ScriptedAnswer]] = {}
    chosen: dict[str, bool] = {}
    given = branch.world.given
    while given is not None:
        by_path.setdefault(given.path, []).append(given.answer)
        chosen[given.path] = chosen.get(given.path, False) or given.chosen
        given = given.before
    scripted = bool(plan.prepared.scenario.actions)
    paths = sorted(path for path in by_path if scripted or chosen[path])
    return {path: [_answer(each) for each in reversed(by_path[path])] for path in paths}


def _answer(answer: ScriptedAnswer) -> Json:
    if answer.kind == "succeed":
        told: Json = {"succeed": answer.result}
    elif answer.kind == "ambiguous":
        told = {"ambiguous": {"code": answer.code, "effect": "happened" if answer.happened else "lost"}}
    else:
        fail: dict[str, Json] = {"code": answer.code}
        for name in ("message", "details", "retryable"):
            value = getattr(answer, name)
            if value not in (None, ""):
                fail[name] = value
        if answer.retry_after_us is not None:
            fail["retry_after"] = format_duration(answer.retry_after_us)
        told = {"fail": fail}
    if answer.latency_us:
        told["latency"] = format_duration(answer.latency_us)
    return told


def _event(event: ScriptedEvent) -> Json:
    told: dict[str, Json] = {}
    if event.at_us is not None:
        told["at"] = format_duration(event.at_us)
    else:
        told["after"] = event.after
        if event.by_us:
            told["by"] = format_duration(event.by_us)
    told["deliver"] = event.trigger
    if event.delivery is not None:
        told["id"] = event.delivery
    told["payload"] = event.payload
    return told


def _explored_events(chain: list[Deviation]) -> Iterator[Json]:
    for deviation in chain:
        for event in getattr(deviation.what, "events", ()):
            yield _event(event)


def _crash_point(point: CrashPoint) -> Json:
    told: dict[str, Json] = {}
    if point.seq is not None:
        told["seq"] = point.seq
    if point.kind is not None:
        told["record"] = point.kind
    if point.path is not None:
        told["path"] = point.path
    if point.nth != 1:
        told["nth"] = point.nth
    return {point.when: told, **({"down": format_duration(point.down_us)} if point.down_us else {})}


def _crashes(plan: Plan, branch: Branch, chain: list[Deviation], by_seq: bool) -> Iterator[Json]:
    written = list(branch.records)
    lost: list[tuple[str, str]] = []
    for deviation in chain:
        if deviation.kind != "crash":
            continue
        point, record = deviation.what
        name = (record.kind, record.path)
        count = sum((each.kind, each.path) == name for each in written if each.seq < record.seq)
        nth = count + 1 + (lost.count(name) if point == "before" else 0)
        if point == "before":
            lost.append(name)
        down = plan.bounds.down_us
        if by_seq:
            yield _crash_point(CrashPoint(point, seq=record.seq, down_us=down))
        else:
            yield _crash_point(CrashPoint(point, record.kind, record.path, nth, down_us=down))


def _decision(decision: Decision, at_us: int | None) -> Json:
    told: dict[str, Json] = {"on": shown_path(decision.on), "actor": decision.actor}
    if decision.kind == "succeed":
        told["decide"] = {"succeed": decision.result}
    elif decision.kind == "fail":
        fail: dict[str, Json] = {"code": decision.code}
        for name in ("message", "details"):
            value = getattr(decision, name)
            if value not in (None, ""):
                fail[name] = value
        if decision.retryable:
            fail["retryable"] = True
        told["decide"] = {"fail": fail}
    else:
        told["decide"] = decision.kind
    if at_us is not None:
        told["at"] = format_duration(at_us)
    return told


# ---- shorter ------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """What a scenario comes to, the rules that it breaks, as (kind, path), and how many records it writes."""

    end: End
    broken: list[tuple[str, str]]
    records: int


def judged(search: Search, parts: Parts) -> Judged | None:
    """Play a scenario and judge it; None when it cannot be played in the time that ``search`` has left."""
    plan = search.plan
    scenario = scenario_of(plan.prepared, parts)
    if scenario is None:
        return None
    prepared = plan.prepared
    plan = plan_of(Prepared(prepared.project, prepared.workflow, prepared.definition, scenario), plan.bounds)
    again = Search(plan, plan.start())
    again.deadline = search.deadline
    try:
        found = retrace(again, ())
    except (NotRetraced, Stop):
        return None
    if found.branch.crash_points_left:
        return None
    broken = [(each.kind, each.path) for each in found.violations]
    return Judged(found.end, broken, found.branch.trail.count)


def shrunk(parts: Parts, still: Callable[[Parts], bool]) -> Parts:
    """The scenario without whatever it does not need for ``still`` to hold."""
    trials = 0
    changed = True
    while changed and trials < MAX_TRIALS:
        changed = False
        for smaller in _smaller(parts):
            trials += 1
            if still(smaller):
                parts, changed = smaller, True
                break
            if trials == MAX_TRIALS:
                break
    return parts


def _smaller(parts: Parts) -> Iterator[Parts]:
    for name in ("crashes", "events", "operator"):
        entries = parts.get(name, [])
        for place in range(len(entries)):
            yield _with(parts, name, [*entries[:place], *entries[place + 1 :]])
    if "cancel" in parts:
        yield _with(parts, "cancel", None)
    actions = parts.get("actions", {})
    for path, answers in actions.items():
        yield _with(parts, "actions", {name: each for name, each in actions.items() if name != path})
        if len(answers) > 1:
            for shorter in (answers[: len(answers) // 2], answers[:-1], answers[1:]):
                yield _with(parts, "actions", {**actions, path: shorter})


def _with(parts: Parts, name: str, value: Json) -> Parts:
    changed = {key: each for key, each in parts.items() if key != name}
    if value:
        changed[name] = value
    return changed


# ---- the file -----------------------------------------------------------------------------------


def text_of(plan: Plan, parts: Parts, end: End, said: Sequence[str], path: str) -> str:
    """The scenario file, as it stands at ``path``; ``said`` are the comment lines at its head."""
    from analyzer.formatting import format_text

    workfile = relative_path(plan.prepared.workflow.path, os.path.dirname(path))  # noqa: PTH120
    expect: Parts = {"status": end.status}
    if parts.get("crashes"):
        expect["crashes"] = len(parts["crashes"])
    whole = {"workfile": workfile, **parts, "expect": expect}
    lines = [f"# {line}" for line in said]
    for name in _ORDER:
        if name in whole:
            lines.extend(_lines(name, whole[name]))
    return format_text("\n".join(lines) + "\n")


def _lines(name: str, value: Json) -> list[str]:
    if isinstance(value, list):
        return [f"{name}:", *(f"  - {_flow(each)}" for each in value)]
    if name == "actions":
        lines = ["actions:"]
        for path, answers in value.items():
            lines.append(f"  {_flow(path)}:")
            lines.extend(f"    - {_flow(each)}" for each in answers)
        return lines
    return [f"{name}: {_flow(value)}"]


def _flow(value: Json) -> str:
    """A value in flow style; plain words stay without quotes."""
    if isinstance(value, dict):
        if not value:
            return "{}"
        return "{ " + ", ".join(f"{_flow(name)}: {_flow(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _plain(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> bool:
    words = text.replace("_", "").replace(".", "").replace("-", "").replace("/", "")
    return (
        words.isalnum()
        and text[0].isalpha()
        and words.isascii()
        and text not in ("true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL")
    )
