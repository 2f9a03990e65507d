"""Tries every execution of a small Workfile: all outcomes of actions and waits, every way a guard can go.

It walks the model and knows only what the language page says of each construct. ``Notes`` collects what was met.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from analyzer.expressions.faults import Fault
from analyzer.expressions.parser import parse_template
from analyzer.expressions.reports import Site
from analyzer.expressions.values import to_text
from analyzer.model.nodes import Handler, State, Step, StepList, Workflow
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence
from analyzer.syntax.source import Source
from tests.typing.evaluator import POISON, Env, Notes, Parts, evaluate_here
from tests.typing.shapes import ACTIONS, INPUTS, PAYLOAD, Shape, record, values_of

CODES = ("busy", "broken", "other")
ERROR = {"code": "c", "message": "m", "details": {}, "step": "s"}
Envs = list[Env]


@dataclass
class Ends:
    """How a list or a step can end: going on in ``envs`` (for a step: with one of ``values``), failing, ending the run.

    Under free guards nothing ties the values to the environments: what a guard tests says nothing of what it guards.
    """

    envs: Envs = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    fails: bool = False
    ends: bool = False

    def add(self, envs: Envs, values: Iterable[Any]) -> None:
        """One more way to go on."""
        self.envs.extend(envs)
        self.values.extend(values)


class TooManyExecutions(Exception):
    """More executions than are worth trying."""


class Executor:
    """Runs one Workfile in all ways; ``limit`` bounds the steps tried, times the environments they are tried in.

    With real guards each start is followed on its own, and every test has its value. With free guards the set of all
    environments is followed, and a test that is not about null or a wait's status goes both ways in each of them.
    Raises ``TooManyExecutions``.
    """

    def __init__(self, workflow: Workflow, source: Source, free: bool, limit: int, loose: bool = False) -> None:
        self.workflow = workflow
        self.source = source
        self.free = free
        self.limit = self.most = limit
        self.notes = Notes(free, loose)
        self.bindings: dict[int, list[Any]] = {}
        self.faulted: set[int] = set()
        self.stepping: list[Step] = []
        self.mentioned, self.last = _mentioned(workflow)

    def run(self) -> None:
        """Every execution, from every start."""
        names = [f"{name}?" if decl.optional else name for name, decl in self.workflow.inputs.items()]
        shape = record(**{name.replace("?", "_"): INPUTS[name] for name in names})
        envs: Envs = [{"inputs": inputs, "run": RUN} for inputs in values_of(shape, self.mentioned, self.free)]
        if self.workflow.states is not None:
            self.machine(envs)
            return
        assert self.workflow.steps is not None
        for step in self.workflow.steps.steps:
            later = [name for name in envs[0] if self.last.get(name, -1) > step.entry.key.start] if envs else []
            if self.last.get(step.id, -1) > step.entry.key.start:
                later.append(step.id)
            envs = _distinct([{name: env[name] for name in later} for env in self.step(step, envs, Ends())])
        if self.workflow.result is not None:
            for env in envs:
                self.value(self.workflow.result.value, env)

    def machine(self, envs: Envs) -> None:
        """Every execution of a state machine: timers can leave a state at any boundary, an entry binds steps anew."""
        states = self.workflow.states or {}
        unbound = dict.fromkeys(step.id for state in states.values() for step in state.all_steps)
        pending = [(self.workflow.initial or "", {**unbound, **env}) for env in envs]
        seen = set()
        while pending:
            name, env = pending.pop()
            state = states[name]
            env = {**env, **dict.fromkeys(step.id for step in state.all_steps)}
            if (name, repr(env)) in seen:
                continue
            seen.add((name, repr(env)))
            here, boundaries = [env], [env]
            for step in state.all_steps:
                here = _distinct(self.step(step, here, Ends()))
                boundaries += here
            pending += [(timer.to or "", each) for timer in state.timers for each in boundaries]
            for each in here:
                if state.final and self.workflow.result is not None:
                    self.value(self.workflow.result.value, each)
                pending += self.routes(state, each)

    def routes(self, state: State, env: Env) -> list[tuple[str, Env]]:
        """Where a state leads with these bindings: the first route that holds; a fault is a failure of the state."""
        for route in state.routes:
            held = True if route.when is None else self.truths(route.when, env)[0]
            if held is POISON:
                break
            if held:
                return [(route.to or "", env)]
        return []

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
        texts = [
            [part]
            if isinstance(part, str)
            else [self._text(each, parts_of, part) for each in parts_of.values(part.expr)]
            for part in template.parts
        ]
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
        if parts.is_free(expr) or (self.free and POISON in found):
            found = [True, False, *([POISON] if POISON in found else [])]
        self._faults(found)
        return [value for value in (True, False, POISON) if value in found]

    # -- steps

    def list(self, steps: StepList, envs: Envs) -> Ends:
        """Every way through a list; its names are in the environments that are left."""
        result = Ends()
        for step in steps.steps:
            envs = _distinct(self.step(step, envs, result))
        result.envs = envs
        return result

    def step(self, step: Step, envs: Envs, around: Ends) -> Envs:
        """The environments after a step; that it can fail, or end the run, is told to what is around it."""
        self.limit -= 2 + len(envs)
        if self.limit < 0:
            raise TooManyExecutions
        after: Envs = []
        for each in [envs] if self.free else [[env] for env in envs]:
            if not each:
                continue
            done = self.outcomes(step, each)
            around.fails = around.fails or done.fails
            around.ends = around.ends or done.ends
            self.bound(len(done.values), len(done.envs))
            values = _distinct(done.values)
            self.bindings.setdefault(id(step), []).extend(values)
            after.extend({**env, step.id: value} for env in _distinct(done.envs) for value in values)
        return after

    def bound(self, *sizes: int) -> None:
        """Give up where combining that many choices would take too long."""
        if math.prod(sizes) > self.most:
            raise TooManyExecutions

    def outcomes(self, step: Step, envs: Envs) -> Ends:
        """Every way a step can end."""
        self.stepping.append(step)
        held, skipped, faults = envs, [], False
        if "when" in step.keys:
            held, skipped, faults = self.split(step.keys["when"].value, envs)
        done = Ends()
        if held:
            done = getattr(self, "_" + step.kind.replace("wf.", "").replace("action", "act"))(step, held)
        self.stepping.pop()
        if done.fails or faults:
            done.fails = False
            self._failed(step, envs if faults else held, done)
        if skipped:
            done.add(skipped, [None])
        return done

    def split(self, node: Node, envs: Envs) -> tuple[Envs, Envs, bool]:
        """The environments where a condition holds, those where it does not, and whether it can fault."""
        truths = [self.truths(node, env) for env in envs]
        ways = [[env for env, each in zip(envs, truths, strict=True) if truth in each] for truth in (True, False)]
        return ways[0], ways[1], any(POISON in each for each in truths)

    def _failed(self, step: Step, envs: Envs, done: Ends) -> None:
        """Handlers in order, then `on_fail`."""
        left = {*CODES}
        uncaught = False
        for handler in step.handlers:
            codes = left if handler.codes is None else left & {str(code.value) for code in handler.codes}
            if codes:
                uncaught = self._handler(handler, envs, done) or uncaught
            left -= codes
        if left or uncaught:
            if step.on_fail == "continue":
                done.add(envs, [None])
            elif step.on_fail == "abort":
                done.ends = True
            else:
                done.fails = True

    def _handler(self, handler: Handler, envs: Envs, done: Ends) -> bool:
        """A handler's outcomes; whether it can fail itself."""
        inner = [{**env, "error": ERROR} for env in envs]
        ends = self.list(handler.steps, inner) if handler.steps is not None else Ends(inner)
        done.ends = done.ends or ends.ends
        fails = ends.fails
        for env in ends.envs:
            found = [None] if handler.result is None else self.value(handler.result, env)
            fails = fails or POISON in found
            values = [value for value in found if value is not POISON]
            if values:
                done.add(_outer([env], envs), values)
        return fails

    def _act(self, step: Step, envs: Envs) -> Ends:
        assert step.call is not None
        output, arguments = ACTIONS[step.call.name]
        shape = Shape("record", fields=tuple((name, each, False) for name, each in arguments.items()))
        given = [self.given(step.call.arguments, shape, env) for env in envs]
        if not self.free and given == [[POISON]]:
            return Ends(fails=True)
        return Ends(envs, [None] if output is None else values_of(output, self.mentioned, self.free), fails=True)

    def _let(self, step: Step, envs: Envs) -> Ends:
        assert step.subject is not None
        found = [value for env in envs for value in self.value(step.subject.value, env)]
        done = Ends(fails=POISON in found or self._may_fault(step))
        values = found if self.free else [value for value in found if value is not POISON]
        if values:
            done.add(envs, values)
        return done

    def _may_fault(self, step: Step) -> bool:
        """Under free guards the analyzer's word that an expression may fault is taken; it is judged with real ones."""
        return self.free and step.may_fault

    def _stop(self, step: Step, envs: Envs) -> Ends:
        assert step.subject is not None
        found = [value for env in envs for value in self.value(step.subject.value, env)]
        return Ends(fails=POISON in found or self._may_fault(step), ends=True)

    _fail = _stop

    def _if(self, step: Step, envs: Envs) -> Ends:
        assert step.subject is not None
        held, failed, faults = self.split(step.subject.value, envs)
        ways = [(step.list_of("then"), held), (step.list_of("else"), failed)]
        return self._branches(step, ways, faults or self._may_fault(step))

    def _switch(self, step: Step, envs: Envs) -> Ends:
        assert step.subject is not None
        cases = {each.label: each for each in step.lists if each.role == "case"}
        free = self.free and "status" not in self.source.text[step.subject.value.start : step.subject.value.end]
        taken: dict[str, Envs] = {}
        others: Envs = []
        faults = self._may_fault(step)
        for env in envs:
            for value in self.value(step.subject.value, env):
                faults = faults or value is POISON
                for label in [*cases] if free and value is not None else [value]:
                    if label in cases:
                        taken.setdefault(label, []).append(env)
                    elif value is not POISON:
                        others.append(env)
                if (free and len(cases) < 2) or (self.free and value is POISON):
                    others.append(env)
        ways: list[tuple[StepList | None, Envs]] = [(cases[label], each) for label, each in taken.items()]
        return self._branches(step, [*ways, (step.list_of("default"), others)], faults)

    def _branches(self, step: Step, ways: list[tuple[StepList | None, Envs]], fails: bool) -> Ends:
        ids = {each.id: None for steps in step.lists for each in steps.steps}
        done = Ends(fails=fails)
        for way, envs in ways:
            ends = self.list(way, envs) if way is not None else Ends(envs)
            done.add(_outer(ends.envs, envs), ({**ids, **names} for names in _names(way, ends.envs)))
            done.fails = done.fails or ends.fails
            done.ends = done.ends or ends.ends
        return done

    def _group(self, step: Step, envs: Envs) -> Ends:
        ends = self.list(step.lists[0], envs)
        ends.values = _names(step.lists[0], ends.envs)
        ends.envs = _outer(ends.envs, envs)
        return ends

    def _parallel(self, step: Step, envs: Envs) -> Ends:
        tolerant = step.on_branch_fail == "continue"
        done = Ends(envs)
        choices = []
        for each in step.lists:
            ends = self.list(each, envs)
            values: list[Any] = _names(each, ends.envs)
            left = _outer(ends.envs, envs)
            if ends.fails and tolerant:
                values, left = [*values, None], envs
            done.fails = done.fails or (ends.fails and not tolerant)
            done.ends = done.ends or ends.ends
            done.envs = [env for env in done.envs if env in left]
            choices.append(values)
        self.bound(*map(len, choices))
        labels = [each.label for each in step.lists]
        done.values = [dict(zip(labels, each, strict=True)) for each in itertools.product(*choices)]
        return done

    def _for_each(self, step: Step, envs: Envs) -> Ends:
        assert step.subject is not None
        node = step.subject.value
        done = Ends(fails=self._may_fault(step))
        lists = [(env, items) for env in envs for items in self.value(node, env)]
        for _, items in lists:
            if items is None:
                self.notes.nulls.add(("nullable-value", node.start, node.end))
                self.faulted.add(id(step))
            done.fails = done.fails or items is None or items is POISON
        if self.free:
            self._free_iterations(step, lists, done)
        else:
            for env, items in lists:
                if items is not None and items is not POISON:
                    choices = self._iterations(step, env, items, done)
                    self.bound(*map(len, choices))
                    done.add([env], map(list, itertools.product(*choices)))
        return done

    def _iterations(self, step: Step, env: Env, items: list[Any], done: Ends) -> list[list[Any]]:
        """What each iteration can bind; none for one that always ends the run or fails."""
        choices = []
        for index, item in enumerate(items):
            ends = self.list(step.lists[0], [{**env, step.loop_name: item, "index": index}])
            choices.append(self._elements(step, ends, done))
        return choices

    def _elements(self, step: Step, ends: Ends, done: Ends) -> list[Any]:
        done.ends = done.ends or ends.ends
        tolerant = step.on_iteration_fail == "continue"
        done.fails = done.fails or (ends.fails and not tolerant)
        return [*_names(step.lists[0], ends.envs), *([None] if ends.fails and tolerant else [])]

    def _free_iterations(self, step: Step, lists: list[tuple[Env, Any]], done: Ends) -> None:
        inner: Envs = []
        starts: Envs = []
        for env, items in lists:
            if items is None or items is POISON:
                items = [POISON]
            if not items:
                done.add([env], [[]])
            else:
                starts.append(env)
            inner.extend({**env, step.loop_name: item, "index": 0} for item in items)
        ends = self.list(step.lists[0], _distinct(inner))
        elements = self._elements(step, ends, done)
        literal = isinstance(step.subject.value, Sequence) if step.subject is not None else False
        left = starts if None in elements or not literal else _outer(ends.envs, starts)
        if elements:
            done.add(left, ([element] for element in elements))

    def _wait_for(self, step: Step, envs: Envs) -> Ends:
        match = step.keys["match"].value
        found = [self.given(match, record(key=PAYLOAD.field("key")), env) for env in envs]
        if not self.free and found == [[POISON]]:
            return Ends(fails=True)
        ends = self.list(step.lists[0], envs) if step.lists else Ends(envs)
        bound = _names(step.lists[0], ends.envs) if step.lists else [{}]
        done = Ends(_outer(ends.envs, envs), fails=ends.fails, ends=ends.ends)
        done.fails = done.fails or "{{" in self.source.text[match.start : match.end]
        events = values_of(PAYLOAD, self.mentioned, self.free)
        for names in bound:
            done.values.extend({**names, "status": "received", "event": event} for event in events)
            done.values.append({**names, "status": "timeout", "event": None})
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


def _names(steps: StepList | None, envs: Envs) -> list[Any]:
    """What the steps of a list bind in each of the environments."""
    ids = [step.id for step in steps.steps] if steps is not None else []
    return _distinct({name: env[name] for name in ids} for env in envs)


def _outer(envs: Envs, before: Envs) -> Envs:
    """The environments without what a list has bound."""
    return _distinct({name: env[name] for name in before[0]} for env in envs) if envs else []


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
