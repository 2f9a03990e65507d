# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""A laboratory for the runtime: Workfiles as text, a scripted outside world with a ledger of its own, and the checks that
hold for every run whatever it does."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from analyzer.check import check_file, engine_for
from analyzer.model.nodes import Workflow
from analyzer.workspace.project import Project, project_for
from sim_runtime.core.compiling import definition_of
from sim_runtime.core.definition import Definition
from sim_runtime.core.evolve import fold
from sim_runtime.core.looking import holds
from sim_runtime.driver.protocol import (
    Answer,
    Call,
    CrashPoint,
    Decision,
    Effect,
    Script,
    ScriptedDecision,
    ScriptedEvent,
)
from sim_runtime.driver.run import Run
from sim_runtime.driver.store import Store
from sim_runtime.history.encoding import record_json, record_of
from sim_runtime.history.records import ENDS, KINDS, Record

S = 1_000_000
M = 60 * S
H = 60 * M
D = 24 * H

MANIFEST = """
connector: lab
version: 1.0.0
actions:
  get: { effect: read, input: { type: object }, output: { value: string }, errors: { busy: { retryable: true } } }
  look: { effect: read, input: { type: object }, output: { found: boolean, value: string }, errors: { busy: { retryable: true } } }
  when: { effect: read, input: { type: object }, output: { at: timestamp, "note?": string } }
  send: { effect: write, idempotency: none, input: { type: object }, output: { value: string }, errors: { busy: { retryable: true }, broken: { retryable: false } } }
  put: { effect: write, idempotency: inherent, input: { type: object }, output: { value: string }, errors: { busy: { retryable: true }, broken: { retryable: false } } }
  pay: { effect: write, idempotency: keyed, input: { type: object }, output: { value: string }, errors: { busy: { retryable: true }, broken: { retryable: false } } }
  void: { effect: write, idempotency: none, input: { type: object } }
  strict: { effect: write, idempotency: inherent, input: { type: object, properties: { n: { type: integer, maximum: 5 } }, required: [n], additionalProperties: false } }
  drop: { effect: write, idempotency: inherent, input: { type: object } }
  refund: { effect: write, idempotency: keyed, input: { type: object } }
  scrap: { effect: write, idempotency: none, input: { type: object }, output: { value: string } }
triggers:
  ping:
    source: external
    configuration: { type: object, properties: { room: { type: string } }, additionalProperties: false }
    payload: { type: object, properties: { id: { type: string }, note: { type: string }, at: { type: string, format: date-time } }, required: [id] }
    correlate_on: [id]
"""


# ---- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scripted:
    """An answer, and whether the call took effect outside."""

    answer: Answer
    happened: bool


def ok(value: Any = None, latency: int = 0) -> Scripted:
    """A success; ``value`` None is what the action gives by default, a text is put into ``value``."""
    result = {"value": value} if isinstance(value, str) else value
    return Scripted(Answer("success", result, latency_us=latency), True)


def fail(code: str = "broken", retryable: bool | None = None, latency: int = 0, **more: Any) -> Scripted:
    """A definite failure."""
    return Scripted(Answer("failure", code=code, retryable=retryable, latency_us=latency, **more), False)


def unknown(code: str = "lost", happened: bool = True, latency: int = 0) -> Scripted:
    """An ambiguous answer."""
    return Scripted(Answer("ambiguous", code=code, latency_us=latency), happened)


def never(happened: bool = True) -> Scripted:
    """No answer ever comes."""
    return Scripted(Answer("none"), happened)


class Outside:
    """Answers by step path or action, in order, the last one again and again; counts what really happened."""

    def __init__(self, answers: Mapping[str, Sequence[Scripted]] | None = None) -> None:
        self.answers = {key: list(each) for key, each in (answers or {}).items()}
        self.used: dict[str, int] = {}
        self.calls: list[Call] = []
        self.ledger: dict[tuple[str, str, str | None], list[int]] = {}
        self.done: dict[str, Any] = {}

    def fork(self) -> Outside:
        copy = Outside(self.answers)
        copy.used = dict(self.used)
        copy.calls = list(self.calls)
        copy.ledger = {key: list(each) for key, each in self.ledger.items()}
        copy.done = dict(self.done)
        return copy

    def dispatch(self, call: Call) -> Answer:
        self.calls.append(call)
        line = self.ledger.setdefault((call.action, call.path, call.key), [0, 0])
        line[1] += 1
        identity = self._identity(call)
        if identity is not None and identity in self.done and self.done[identity] is not None:
            return self.done[identity]  # type: ignore[no-any-return]
        scripted = self._next(call)
        answer = scripted.answer
        if answer.kind == "success" and answer.result is None:
            answer = replace(answer, result=self._default(call))
        if scripted.happened and call.effect == "write":
            if identity is None or identity not in self.done:
                line[0] += 1
            if identity is not None:
                self.done[identity] = answer if answer.kind == "success" else None
            if call.undoes is not None:
                before = call.undoes
                self.done.pop(f"{before.action} {before.key}", None)
                self.done.pop(f"{before.action} {json.dumps(before.arguments, sort_keys=True)}", None)
        return answer

    @staticmethod
    def _identity(call: Call) -> str | None:
        if call.idempotency == "keyed":
            return f"{call.action} {call.key}"
        if call.idempotency == "inherent":
            return f"{call.action} {json.dumps(call.arguments, sort_keys=True)}"
        return None

    def _next(self, call: Call) -> Scripted:
        for key in (call.path, call.action):
            scripted = self.answers.get(key)
            if scripted:
                place = self.used.get(key, 0)
                self.used[key] = place + 1
                return scripted[min(place, len(scripted) - 1)]
        return ok()

    @staticmethod
    def _default(call: Call) -> Any:
        if call.action == "lab.look":
            return {"found": True, "value": call.path}
        if call.action == "lab.when":
            return {"at": "2026-01-01T10:00:00Z"}
        return {"value": call.path}

    def effects(self) -> list[Effect]:
        return [
            Effect(action, key, path, count, invocations)
            for (action, path, key), (count, invocations) in self.ledger.items()
        ]

    def count(self, action: str) -> int:
        """How often an action took effect."""
        return sum(line[0] for (name, _, _), line in self.ledger.items() if name == action)

    def invoked(self, action: str) -> int:
        """How often it was called."""
        return sum(line[1] for (name, _, _), line in self.ledger.items() if name == action)


# ---- Workfiles and runs -------------------------------------------------------------------------


@lru_cache(maxsize=512)
def loaded(text: str, *children: str) -> tuple[Workflow, Project]:
    """A Workfile without its first two lines, checked and resolved; ``children`` are further Workfiles, whole."""
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    (folder / "connectors").mkdir()
    (folder / "connectors" / "lab.connector.yaml").write_text(MANIFEST)
    (folder / "workfile.toml").write_text('[connections.lab]\nnames = ["main", "spare"]\ndefault = "main"\n')
    for number, child in enumerate(children):
        (folder / f"child{number}.workfile.yaml").write_text('workfile: "1.0"\n' + dedent(child))
    path = folder / "test.workfile.yaml"
    path.write_text('workfile: "1.0"\nname: test\n' + dedent(text))
    project = project_for(str(path))
    errors = [each for each in check_file(project, str(path)).findings if each.severity == "error"]
    assert not errors, [f"{each.range.start_line}: {each.rule}: {each.message}" for each in errors]
    workflow = engine_for(project).typed(str(path))
    assert workflow is not None
    shutil.rmtree(folder)
    return workflow, project


def workflow_of(text: str, *children: str) -> Workflow:
    """The resolved Workfile."""
    return loaded(text, *children)[0]


@lru_cache(maxsize=512)
def definition(text: str, *children: str) -> Definition:
    """The definition of a Workfile."""
    return definition_of(*loaded(text, *children))


def make(
    text: str,
    answers: Mapping[str, Sequence[Scripted]] | None = None,
    *,
    children: Sequence[str] = (),
    inputs: dict[str, Any] | None = None,
    store: Store | None = None,
    **options: Any,
) -> Run:
    """A run of which nothing is done."""
    script = Script(
        events=tuple(options.pop("events", ())),
        decisions=tuple(options.pop("decisions", ())),
        crashes=tuple(options.pop("crashes", ())),
        cancel_at_us=options.pop("cancel_at", None),
        cancel_reason=options.pop("cancel_reason", None),
        until_us=options.pop("until", None),
    )
    options.setdefault("limit", 20_000)
    world = Outside(answers)
    return Run(definition(text, *children), world, inputs=inputs, script=script, store=store, **options)


def run(text: str, answers: Mapping[str, Sequence[Scripted]] | None = None, **options: Any) -> Run:
    """A run gone on as far as it can, with all checks done."""
    return check(make(text, answers, **options).finish())


def outside(run: Run) -> Outside:
    """The world of a run."""
    assert isinstance(run.world, Outside)
    return run.world


def check(run: Run) -> Run:
    """What holds for every run: history folds to the live state, reads back exactly, and is well formed."""
    records = run.records
    assert fold(records) == run.state
    for record in records:
        written = record_json(record)
        again = record_of(json.loads(json.dumps(written)))
        assert again == record, (again, record)
        fields = KINDS[record.kind].fields
        assert record.data.keys() <= fields.keys() | {"run"}, record
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [record.at for record in records] == sorted(record.at for record in records)
    assert all(record.boundary for record in records if record.kind in ENDS)
    assert not records or records[-1].boundary
    ends = [place for place, record in enumerate(records) if record.kind == "run.finished" and record.id == ""]
    if ends:
        assert {record.kind for record in records[ends[0] + 1 :]} <= {"late_result.recorded"}
        assert run.state.root is not None
        assert run.state.root.open == 0, "something stays open after the end"
    opened = assert_paired(records, bool(ends))
    root = run.state.root
    assert root is None or bool(ends) or (root.open, root.held) == (opened, len(holds(run.state)))
    json.dumps(run.report())
    return run


def assert_paired(records: Sequence[Record], over: bool) -> int:
    """Timers, subscriptions and child runs come to an end once each; when the run is over, all have. How many run."""
    running: dict[tuple[str, str], int] = {}
    children = 0
    for record in records:
        name = record.data.get("timer", "") if record.kind.startswith("timer") else ""
        place = (record.id, name)
        children += {"child.started": 1, "child.finished": -1}.get(record.kind, 0)
        if record.kind in ("timer.set", "subscription.opened"):
            assert not running.get(place), record
            running[place] = 1
        elif record.kind in ("timer.fired", "timer.released", "subscription.released") and name != "retry":
            assert running.get(place) == 1, record
            running[place] = 0
    opened = children + sum(running.values())
    assert not over or not opened
    return opened


# ---- looking at what happened -------------------------------------------------------------------


def trace(run: Run, *kinds: str) -> list[str]:
    """``kind path`` of the records, of those kinds only (a prefix counts)."""
    return [f"{each.kind} {each.path}".strip() for each in run.records if not kinds or each.kind.startswith(kinds)]


def first(run: Run, kind: str, path: str | None = None, nth: int = 1) -> Record:
    """The nth record of a kind at a path."""
    found = [each for each in run.records if each.kind == kind and (path is None or each.path == path)]
    assert len(found) >= nth, f"no {kind} at {path}: {trace(run)}"
    return found[nth - 1]


def calls(run: Run) -> list[str]:
    """The paths of the calls, in order."""
    return [call["path"] for call in run.calls]


def event(payload: dict[str, Any], at: int | None = None, **more: Any) -> ScriptedEvent:
    """A ping."""
    return ScriptedEvent("lab.ping", payload, at_us=at, **more)


def succeed(on: str, result: Any = None, at: int | None = None, actor: str = "dana") -> ScriptedDecision:
    """An operator says that it succeeded."""
    value = {"value": result} if isinstance(result, str) else result
    return ScriptedDecision(Decision(on, actor, "succeed", result=value), at)


def give_up(on: str, code: str = "no_effect", at: int | None = None, retryable: bool = False) -> ScriptedDecision:
    """An operator says that it failed."""
    return ScriptedDecision(Decision(on, "dana", "fail", code=code, retryable=retryable), at)


def reissue(on: str, at: int | None = None) -> ScriptedDecision:
    """An operator has it sent again."""
    return ScriptedDecision(Decision(on, "dana", "reissue"), at)


def authorize(on: str, at: int | None = None, actor: str = "dana") -> ScriptedDecision:
    """An operator allows one recovery."""
    return ScriptedDecision(Decision(on, actor, "authorize_recovery"), at)


def after(kind: str, path: str | None = None, nth: int = 1, down: int = 0) -> CrashPoint:
    """A crash after a record."""
    return CrashPoint("after", kind, path, nth, down_us=down)


def before(kind: str, path: str | None = None, nth: int = 1, down: int = 0) -> CrashPoint:
    """A crash before a record."""
    return CrashPoint("before", kind, path, nth, down_us=down)
