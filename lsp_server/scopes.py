"""What can be read where: the scope of every expression of a Workfile, recorded while it is typed once more."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.expressions.ast import Binary, Expr, Interpolation
from analyzer.expressions.parser import parse_template
from analyzer.expressions.scope import Binding, Env, Facts
from analyzer.expressions.types import ANY, Type
from analyzer.expressions.typing import ExpressionTyper
from analyzer.expressions.walk import children
from analyzer.incremental.parts import Part, Parts
from analyzer.incremental.splice import last_before
from analyzer.model.nodes import Handler, State, Step, Workflow
from analyzer.model.problems import Problems
from analyzer.model.typing import ERROR_TYPE, WorkflowTyper
from analyzer.model.values import ValueTyper
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.source import Source

Body = tuple[Type, Facts | None]


class _Recorder(ExpressionTyper):
    """Types expressions and remembers the scope of each scalar."""

    __slots__ = ("seen",)

    seen: dict[int, tuple[Scalar, Env]]

    def scalar_type(self, scalar: Scalar, env: Env, wanted: Type | None = None) -> Type:
        self.seen[id(scalar)] = (scalar, env)
        return super().scalar_type(scalar, env, wanted)


class RecordingTyper(WorkflowTyper):
    """Types a Workfile and remembers scopes: of scalars, ``before`` each step and ``inside`` it."""

    def __init__(self, workflow: Workflow, source: Source) -> None:
        self.seen: dict[int, tuple[Scalar, Env]] = {}
        self.before: dict[Step, Env] = {}
        self.inside: dict[Step, Env] = {}
        self.raw: dict[Step, Type] = {}
        self.handlers: dict[int, Env] = {}
        self.final: Env | None = None
        super().__init__(workflow, source, Problems())

    def _use(self, problems: Problems) -> None:
        self.problems = problems
        recorder = _Recorder(self.source, problems, self._unknown_name, self.reads.add)
        recorder.seen = self.seen
        self.expressions = recorder
        self.values = ValueTyper(recorder)

    def step(self, step: Step, env: Env) -> Facts | None:
        """Type one step."""
        self.before[step] = env
        return super().step(step, env)

    def handler(self, step: Step, handler: Handler, raw: Type, env: Env) -> Body:
        """Type a handler."""
        result = super().handler(step, handler, raw, env)
        names: dict[str, Binding] = {"error": Binding("error", ERROR_TYPE, handler.node)}
        for inner in handler.steps.steps if handler.steps is not None else ():
            if inner.binding is not None:
                names[inner.id] = Binding(inner.id, inner.binding, inner.id_node, inner)
        self.handlers[id(handler.node)] = env.child(names)
        return result

    def _body(self, step: Step, env: Env) -> Body:
        self.inside[step] = env
        raw, facts = super()._body(step, env)
        self.raw[step] = raw
        return raw, facts

    def _result(self, env: Env) -> None:
        self.final = env
        super()._result(env)


class _RootTyper(RecordingTyper):
    """Types what stands beside the root's list of steps, whose parts are known."""

    def __init__(self, workflow: Workflow, source: Source, parts: Parts) -> None:
        self._parts = parts
        super().__init__(workflow, source)

    def walk_root(self, _steps: list[Step], env: Env) -> tuple[dict[str, Binding], Facts | None]:
        """What the list binds, and the facts behind it."""
        facts: Facts | None = env.facts
        for part in self._parts.by_node.values():
            facts = part.after if part.after is None or facts is not None else None
        return names_before(self._parts, None), facts


def names_before(parts: Parts, stop: Part | None) -> dict[str, Binding]:
    """What the parts in front of one bind, or all of them."""
    names: dict[str, Binding] = {}
    for part in parts.by_node.values():
        if part is stop:
            break
        names[part.step.id] = parts.bindings[part.step.id]
    return names


class Scopes:
    """The scopes of one Workfile, found out where they are asked for."""

    def __init__(self, workflow: Workflow, source: Source, parts: Parts | None = None) -> None:
        self.workflow = workflow
        self.source = source
        self._parts = parts
        self._typers: dict[Part | None, RecordingTyper] = {}
        self._quiet = ExpressionTyper(source, Problems(), lambda _expr, _site, _env: ANY, lambda _source: None)

    @property
    def _whole(self) -> RecordingTyper:
        """The typer of the whole Workfile, or of what stands beside its parts."""
        if None not in self._typers:
            parts = self._parts
            workflow, source = self.workflow, self.source
            typer = RecordingTyper(workflow, source) if parts is None else _RootTyper(workflow, source, parts)
            typer.run()
            self._typers[None] = typer
        return self._typers[None]

    def _typer_at(self, offset: int) -> RecordingTyper:
        """The typer of the step of the root's list that stands at an offset, or of the rest."""
        parts = self._parts
        nodes = [] if parts is None else list(parts.by_node)
        position = last_before(nodes, offset)
        if parts is None or parts.env is None or position < 0 or offset > nodes[position].end:
            return self._whole
        return self._typer_of(parts, parts.by_node[nodes[position]])

    def _typer_of(self, parts: Parts, part: Part) -> RecordingTyper:
        if part not in self._typers:
            assert parts.env is not None
            typer = RecordingTyper(self.workflow, self.source)
            typer.lines = parts.lines
            typer.expressions.dead = int(part.unreached)
            typer.step(part.step, Env(parts.env, names_before(parts, part), part.facts))
            self._typers[part] = typer
        return self._typers[part]

    def _all(self) -> list[RecordingTyper]:
        parts = self._parts
        below = [] if parts is None else [self._typer_of(parts, part) for part in parts.by_node.values()]
        return [self._whole, *below]

    def prepare(self) -> None:
        """Make ready what takes long."""
        if self._parts is None:
            _ = self._whole

    def of_scalar(self, scalar: Scalar) -> Env | None:
        """The scope of the expressions in a scalar; None when nothing is evaluated there."""
        found = self._typer_at(scalar.start).seen.get(id(scalar))
        return None if found is None else found[1]

    def scalars(self) -> Iterator[tuple[Scalar, Env]]:
        """Every scalar with an interpolation, in document order, and its scope. Alias uses are left out."""
        seen = [pair for typer in self._all() for pair in typer.seen.values()]
        found = [pair for pair in seen if pair[0].origin is None and "{{" in pair[0].text]
        return iter(sorted(found, key=lambda pair: pair[0].start))

    def root(self) -> Env:
        """What can be read before the first step."""
        return self._whole._root_env()

    def final(self) -> Env:
        """What the workflow's ``result`` can read."""
        return self._whole.final or self.root()

    def type_of(self, expr: Expr, env: Env) -> Type:
        """The type of an expression; nothing is reported."""
        return self._quiet.quiet_type(expr, env)

    def env_inside(self, root: Expr, target: Expr, env: Env) -> Env:
        """The scope at ``target``, a part of ``root``."""
        return env_inside(root, target, env, self._quiet)


def unbound_at(step: Step | None) -> Iterator[tuple[list[Step], int]]:
    """What is not bound yet before a step, innermost list first: each list around it, in order, and the position from
    which on its steps are not: the one that the step is, or stands in, and those after it.

    A scope is the same for a whole list, and has all of its names once the list has been typed.
    """
    while step is not None:
        owner = step.parent.owner
        ordered = owner.all_steps if isinstance(owner, State) else step.parent.steps
        yield ordered, ordered.index(step)
        step = owner if isinstance(owner, Step) else None


def env_inside(root: Expr, target: Expr, env: Env, typer: ExpressionTyper) -> Env:
    """The scope at ``target``, a part of ``root``: the right side of ``and`` and ``or`` knows what the left told."""
    current = root
    while current is not target:
        below = next((part for part in children(current) if holds(part, target)), None)
        if below is None:
            return env
        if isinstance(current, Binary) and current.op in ("and", "or") and below is current.right:
            facts = typer.narrowing.assume(current.left, current.op == "and", env)
            env = env if facts is None else env.with_facts(facts)
        current = below
    return env


def holds(whole: Expr, part: Expr) -> bool:
    """Whether ``part`` is ``whole`` or stands inside it."""
    stack = [whole]
    while stack:
        current = stack.pop()
        if current is part:
            return True
        stack.extend(children(current))
    return False


def interpolations(scalar: Scalar) -> list[Interpolation]:
    """The ``{{ }}`` parts of a scalar."""
    return parse_template(scalar.text).interpolations
