"""What can be read where: the scope of every expression of a Workfile, recorded while it is typed once more."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.expressions.ast import Binary, Expr, Interpolation
from analyzer.expressions.parser import parse_template
from analyzer.expressions.scope import Binding, Env, Facts
from analyzer.expressions.types import Type
from analyzer.expressions.typing import ExpressionTyper
from analyzer.expressions.walk import children
from analyzer.model.nodes import Handler, Step, Workflow
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

    def scalar_type(self, scalar: Scalar, env: Env) -> Type:
        self.seen[id(scalar)] = (scalar, env)
        return super().scalar_type(scalar, env)


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


class Scopes:
    """The scopes of one Workfile."""

    def __init__(self, workflow: Workflow, source: Source) -> None:
        self.workflow = workflow
        self.source = source
        self.typer = RecordingTyper(workflow, source)
        self.typer.run()

    def of_scalar(self, scalar: Scalar) -> Env | None:
        """The scope of the expressions in a scalar; None when nothing is evaluated there."""
        found = self.typer.seen.get(id(scalar))
        return None if found is None else found[1]

    def scalars(self) -> Iterator[tuple[Scalar, Env]]:
        """Every scalar with an interpolation, in document order, and its scope. Alias uses are left out."""
        found = [pair for pair in self.typer.seen.values() if pair[0].origin is None and "{{" in pair[0].text]
        return iter(sorted(found, key=lambda pair: pair[0].start))

    def root(self) -> Env:
        """What can be read before the first step."""
        return self.typer._root_env()

    def final(self) -> Env:
        """What the workflow's ``result`` can read."""
        return self.typer.final or self.root()

    def type_of(self, expr: Expr, env: Env) -> Type:
        """The type of an expression; nothing is reported."""
        return self.typer.expressions.quiet_type(expr, env)

    def env_inside(self, root: Expr, target: Expr, env: Env) -> Env:
        """The scope at ``target``, a part of ``root``."""
        return env_inside(root, target, env, self.typer.expressions)


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
