"""Tries every execution of a small Workfile: all outcomes of actions and waits, every way a guard can go.

It walks the model and knows only what the language page says of each construct. ``Notes`` collects what was met.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from analyzer.expressions.faults import Fault
from analyzer.expressions.parser import parse_template
from analyzer.expressions.typing import Site
from analyzer.expressions.values import to_text
from analyzer.language.durations import parse_duration
from analyzer.model.nodes import Handler, Step, StepList, Workflow
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence
from analyzer.syntax.source import Source
from tests.typing.evaluator import POISON, Env, Notes, Parts, evaluate_here
from tests.typing.shapes import ACTIONS, INPUTS, PAYLOAD, Shape, record, values_of

CODES = ("busy", "broken", "other")
ERROR = {"code": "c", "message": "m", "details": {}, "step": "s"}


@dataclass
class Ends:
    """How a list can end: with bindings, by a failure, or with the run's end."""

    bound: list[Env] = field(default_factory=list)
    fails: bool = False
    ends: bool = False


@dataclass
class Done:
    """How a step can end: with a value for its binding, by a failure (past its handlers), or with the run's end."""

    values: list[Any] = field(default_factory=list)
    fails: bool = False
    ends: bool = False


class TooManyExecutions(Exception):
    """More executions than are worth trying."""


class Executor:
    """Runs one Workfile in all ways, up to ``limit`` steps in all. Raises ``TooManyExecutions`` past it."""

    def __init__(self, workflow: Workflow, source: Source, free: bool, limit: int) -> None:
        self.workflow = workflow
        self.source = source
        self.free = free
        self.limit = limit
        self.notes = Notes(free)
        self.bindings: dict[int, list[Any]] = {}
        self.faulted: set[int] = set()
        self.stepping: list[Step] = []
        self.mentioned, self.last = _mentioned(workflow)

    def run(self) -> None:
        """Every execution, from every start."""
        names = [f"{name}?" if decl.optional else name for name, decl in self.workflow.inputs.items()]
        shape = record(**{name.replace("?", "_"): INPUTS[name] for name in names})
        envs = [{"inputs": inputs, "run": RUN} for inputs in values_of(shape, self.mentioned, self.free)]
        assert self.workflow.steps is not None
        for step in self.workflow.steps.steps:
            following: dict[str, Env] = {}
            for env in envs:
                for value in self.step(step, env).values:
                    after = {**env, step.id: value}
                    kept = {name: each for name, each in after.items() if self.last.get(name, -1) > step.entry.key.start}
                    following[repr(kept)] = kept
            envs = list(following.values())
        if self.workflow.result is not None:
            for env in envs:
                self.value(self.workflow.result.value, env)

    # -- values

    def value(self, node: Node, env: Env) -> list[Any]:
        """What a YAML value can be; POISON for a fault."""
        if isinstance(node, Mapping):
            keys = [entry.key.value for entry in node.entries if isinstance(entry.key, Scalar)]
            parts = [self.value(entry.value, env) for entry in node.entries]
            return [_solid(dict(zip(keys, each, strict=True))) for each in itertools.product(*parts)]
        if isinstance(node, Sequence):
            return [_solid([*each]) for each in itertools.product(*(self.value(item, env) for item in node.items))]
        assert isinstance(node, Scalar)
        if not isinstance(node.value, str) or "{{" not in node.value:
            return [node.value]
        template = parse_template(node.value)
        assert not template.problems, node.value
        parts_of = Parts(self.notes, Site(self.source, node), env)
        if template.whole:
            expr = template.interpolations[0].expr
            found = parts_of.values(expr)
            if not self.free:
                assert found == [evaluate_here(expr, env)], f"{node.value}: {found}, {evaluate_here(expr, env)}"
            self._faults(found)
            return found
        texts: list[list[Any]] = []
        for part in template.parts:
            texts.append([part] if isinstance(part, str) else [self._text(each, parts_of, part) for each in parts_of.values(part.expr)])
        found = ["".join(each) if POISON not in each else POISON for each in itertools.product(*texts)]
        self._faults(found)
        return found

    def _text(self, value: Any, parts: Parts, part: Any) -> Any:
        if value is None:
            parts.null("nullable-value", part.expr.start, part.expr.end)
        try:
            return POISON if value is POISON or value is None else to_text(value)
        except Fault:
            return POISON

    def _faults(self, found: Iterable[Any]) -> None:
        if POISON in found and self.stepping:
            self.faulted.add(id(self.stepping[-1]))

    def given(self, node: Node, shape: Shape, env: Env) -> list[Any]:
        """A value for a place that takes a shape: null where it does not fit is noted, and a fault."""
        if isinstance(node, Mapping) and shape.kind == "record":
            fields = {entry.key.value: entry.value for entry in node.entries if isinstance(entry.key, Scalar)}
            parts = [self.given(value, shape.field(str(name)), env) for name, value in fields.items()]
            return [_solid(dict(zip(fields, each, strict=True))) for each in itertools.product(*parts)]
        found = self.value(node, env)
        result = []
        for value in found:
            if value is not POISON and not _fits(value, shape):
                self.notes.nulls.add(("nullable-value", node.start, node.end))
                self._faults([POISON])
                result.append(POISON)
            else:
                result.append(value)
        return result

    def truths(self, node: Node, env: Env) -> list[Any]:
        """How a condition can come out; POISON for a fault."""
        assert isinstance(node, Scalar)
        template = parse_template(node.text)
        parts = Parts(self.notes, Site(self.source, node), env)
        expr = template.interpolations[0].expr
        found = parts.values(expr)
        if not self.free:
            assert found == [evaluate_here(expr, env)]
        if any(value is None for value in found):
            self.notes.nulls.add(("nullable-value", node.start, node.end))
        found = [POISON if value is None else value for value in found]
        if self.free:
            from tests.typing.evaluator import _about_null

            if POISON in found or not _about_null(expr):
                found = [True, False, *([POISON] if POISON in found else [])]
        self._faults(found)
        return [value for value in (True, False, POISON) if value in found]

    # -- steps

    def list(self, steps: StepList, env: Env) -> Ends:
        """Every way through a list."""
        result = Ends()
        ways: list[Env] = [{}]
        for step in steps.steps:
            following: dict[str, Env] = {}
            for way in ways:
                done = self.step(step, {**env, **way})
                result.fails = result.fails or done.fails
                result.ends = result.ends or done.ends
                for value in done.values:
                    bound = {**way, step.id: value}
                    following[repr(bound)] = bound
            ways = list(following.values())
        result.bound = ways
        return result

    def step(self, step: Step, env: Env) -> Done:
        """Every way a step can end."""
        self.limit -= 1
        if self.limit < 0:
            raise TooManyExecutions
        self.stepping.append(step)
        done = Done()
        truths = self.truths(step.keys["when"].value, env) if "when" in step.keys else [True]
        failed = POISON in truths
        if True in truths or (failed and self.free):
            body: Done = getattr(self, "_" + step.kind.replace("wf.", "").replace("action", "act"))(step, env)
            done.values.extend(body.values)
            done.ends = body.ends
            failed = failed or body.fails
        self.stepping.pop()
        if failed:
            self._failed(step, env, done)
        if False in truths:
            done.values.append(None)
        done.values = _distinct(done.values)
        self.bindings.setdefault(id(step), []).extend(done.values)
        return done

    def _failed(self, step: Step, env: Env, done: Done) -> None:
        """Handlers in order, then `on_fail`."""
        left = {*CODES}
        uncaught = False
        for handler in step.handlers:
            codes = left if handler.codes is None else left & {str(code.value) for code in handler.codes}
            if codes:
                uncaught = self._handler(handler, env, done) or uncaught
            left -= codes
        if left or uncaught:
            if step.on_fail == "continue":
                done.values.append(None)
            elif step.on_fail == "abort":
                done.ends = True
            else:
                done.fails = True

    def _handler(self, handler: Handler, env: Env, done: Done) -> bool:
        """A handler's outcomes; whether it can fail itself."""
        inner = {**env, "error": ERROR}
        ends = self.list(handler.steps, inner) if handler.steps is not None else Ends([{}])
        done.ends = done.ends or ends.ends
        fails = ends.fails
        for bound in ends.bound:
            found = [None] if handler.result is None else self.value(handler.result, {**inner, **bound})
            done.values.extend(value for value in found if value is not POISON)
            fails = fails or POISON in found
        return fails

    def _act(self, step: Step, env: Env) -> Done:
        assert step.call is not None
        output, arguments = ACTIONS[step.call.name]
        shape = Shape("record", fields=tuple((name, each, False) for name, each in arguments.items()))
        given = self.given(step.call.arguments, shape, env)
        if not self.free and set(map(str, given)) == {"POISON"}:
            return Done(fails=True)
        return Done([None] if output is None else values_of(output, self.mentioned, self.free), fails=True)

    def _let(self, step: Step, env: Env) -> Done:
        assert step.subject is not None
        found = self.value(step.subject.value, env)
        fails = POISON in found or (self.free and step.may_fault)
        return Done(found if self.free else [value for value in found if value is not POISON], fails)

    def _stop(self, step: Step, env: Env) -> Done:
        assert step.subject is not None
        found = self.value(step.subject.value, env)
        return Done(fails=POISON in found, ends=True)

    _fail = _stop

    def _if(self, step: Step, env: Env) -> Done:
        assert step.subject is not None
        truths = self.truths(step.subject.value, env)
        fails = POISON in truths or (self.free and self._own_fault(step))
        ways = [step.list_of("then" if truth else "else") for truth in truths if truth is not POISON]
        return self._branches(step, ways, env, fails)

    def _switch(self, step: Step, env: Env) -> Done:
        assert step.subject is not None
        found = self.value(step.subject.value, env)
        fails = POISON in found or (self.free and self._own_fault(step))
        cases = {each.label: each for each in step.lists if each.role == "case"}
        default = step.list_of("default")
        ways: list[StepList | None] = []
        for value in found:
            if value is POISON and not self.free:
                continue
            if self.free and "status" not in str(step.subject.value.text):  # type: ignore[attr-defined]
                ways.extend(cases.values())
                if value is None or value is POISON or len(cases) < 2:
                    ways.append(default)
            else:
                ways.append(cases.get(value, default))
        return self._branches(step, ways, env, fails)

    def _own_fault(self, step: Step) -> bool:
        """What the analyzer says of the construct's own expressions: judged by its own test."""
        return step.may_fault

    def _branches(self, step: Step, ways: Iterable[StepList | None], env: Env, fails: bool) -> Done:
        ids = {each.id: None for steps in step.lists for each in steps.steps}
        done = Done(fails=fails)
        for way in ways:
            ends = self.list(way, env) if way is not None else Ends([{}])
            done.values.extend({**ids, **bound} for bound in ends.bound)
            done.fails = done.fails or ends.fails
            done.ends = done.ends or ends.ends
        return done

    def _group(self, step: Step, env: Env) -> Done:
        ends = self.list(step.lists[0], env)
        return Done([*ends.bound], ends.fails, ends.ends)

    def _parallel(self, step: Step, env: Env) -> Done:
        branches = [self.list(each, env) for each in step.lists]
        fails = any(each.fails for each in branches)
        ends = any(each.ends for each in branches)
        if step.on_branch_fail == "continue":
            choices = [[*each.bound, *([None] if each.fails else [])] for each in branches]
            fails = False
        else:
            choices = [[*each.bound] for each in branches]
        labels = [each.label for each in step.lists]
        return Done([dict(zip(labels, each, strict=True)) for each in itertools.product(*choices)], fails, ends)

    def _for_each(self, step: Step, env: Env) -> Done:
        assert step.subject is not None
        done = Done(fails=self.free and self._own_fault(step))
        tolerant = step.on_iteration_fail == "continue"
        for items in self.value(step.subject.value, env):
            if items is None:
                self.notes.nulls.add(("nullable-value", step.subject.value.start, step.subject.value.end))
                self.faulted.add(id(step))
            if items is None or items is POISON:
                done.fails = True
                if self.free:
                    self.list(step.lists[0], {**env, step.loop_name: POISON, "index": 0})
                continue
            choices = []
            for index, item in enumerate(items):
                ends = self.list(step.lists[0], {**env, step.loop_name: item, "index": index})
                done.ends = done.ends or ends.ends
                done.fails = done.fails or (ends.fails and not tolerant)
                choices.append(_distinct([*ends.bound, *([None] if ends.fails and tolerant else [])]))
            done.values.extend([*each] for each in itertools.product(*choices))
        return done

    def _wait_for(self, step: Step, env: Env) -> Done:
        match = step.keys["match"].value
        found = self.given(match, record(key=PAYLOAD.field("key")), env)
        fails = "{{" in self.source.text[match.start : match.end]
        if not self.free and POISON in found:
            return Done(fails=True)
        ends = self.list(step.lists[0], env) if step.lists else Ends([{}])
        done = Done(fails=fails or ends.fails, ends=ends.ends)
        for bound in ends.bound:
            for event in values_of(PAYLOAD, self.mentioned, self.free):
                done.values.append({**bound, "status": "received", "event": event})
            done.values.append({**bound, "status": "timeout", "event": None})
        return done


RUN = {"id": "r", "workflow": "generated", "started_at": "2026-01-01T00:00:00Z"}


def _fits(value: Any, shape: Shape) -> bool:
    if value is None:
        return shape.nullable or shape.kind == "any"
    if shape.kind == "record" and isinstance(value, dict):
        return all(_fits(value.get(name), shape.field(name)) for name, _, _ in shape.fields)
    return True


def _solid(value: Any) -> Any:
    parts = value.values() if isinstance(value, dict) else value
    return POISON if any(part is POISON for part in parts) else value


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({repr(value): value for value in values}.values())


def _mentioned(workflow: Workflow) -> tuple[frozenset[str], dict[str, int]]:
    """The names in expressions, and where each is mentioned last."""
    import re

    from analyzer.syntax.nodes import walk

    last: dict[str, int] = {}
    for node in walk(workflow.root):
        if isinstance(node, Scalar) and isinstance(node.value, str) and "{{" in node.value:
            for name in re.findall(r"[a-z_][a-z_0-9]*", node.value):
                last[name] = max(last.get(name, -1), node.start)
    return frozenset(last), last


assert parse_duration("1h")
