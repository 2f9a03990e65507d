"""Where a completion is asked for: the finished text around the word, read, resolved and typed when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer.check import engine_for
from analyzer.expressions.parser import parse_template
from analyzer.expressions.scope import Binding, Env
from analyzer.expressions.types import Type
from analyzer.model.build import build_workflow
from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.model.problems import Problems
from analyzer.model.resolve import Resolver
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source
from analyzer.workspace.files import FileKind
from analyzer.workspace.project import Project
from lsp_server.cursor import MARK, Cursor
from lsp_server.nodes import Crumb, trail
from lsp_server.scopes import RecordingTyper, unbound_at
from lsp_server.shapes import Shape, Shapes


@dataclass(slots=True)
class Request:
    """What is asked: a place in a text of a file, and what is known from before.

    ``last`` is the Workfile as it was when it was analysed last: of a large file the steps before the one at hand are
    taken from there. ``typed`` is the character that made the editor ask by itself, "" when the author has asked.
    """

    path: str
    kind: FileKind
    project: Project
    text: str
    offset: int
    tree: Tree | None = None
    last: Workflow | None = None
    target: Workflow | None = None
    snippets: bool = True
    siblings: tuple[str, ...] = ()
    typed: str = ""


@dataclass(slots=True)
class Place:
    """The finished text, read: the way to the word, and the model around it."""

    request: Request
    cursor: Cursor
    source: Source
    crumbs: list[Crumb]
    shapes: list[Shape]
    workflow: Workflow | None
    typer: RecordingTyper | None = field(default=None)

    @property
    def shape(self) -> Shape:
        """The shape of the word itself."""
        return self.shapes[-1]

    def env(self, step: Step | None) -> Env | None:
        """What can be read at a step."""
        if self.workflow is None:
            return None
        if self.typer is None:
            self.typer = _Continued(self.workflow, self.source, _earlier(self.request.last, self.cursor.before))
            self.typer.run()
        if step is None:
            return self.typer.final
        return self.typer.inside.get(step) or self.typer.before.get(step)

    def type_of(self, scalar: Scalar, step: Step) -> Type | None:
        """The type of a value that a step evaluates."""
        env = self.env(step)
        if env is None or self.typer is None:
            return None
        template = parse_template(scalar.text)
        if not template.whole:
            return None
        return self.typer.expressions.quiet_type(template.interpolations[0].expr, env)


class _Continued(RecordingTyper):
    """Types part of a Workfile, after steps that are known from before."""

    def __init__(self, workflow: Workflow, source: Source, earlier: dict[str, Binding]) -> None:
        self.earlier = earlier
        super().__init__(workflow, source)

    def _root_env(self) -> Env:
        env = super()._root_env()
        return env.child(self.earlier) if self.earlier else env


def _earlier(last: Workflow | None, before: tuple[str, ...] | None) -> dict[str, Binding]:
    if last is None or not before or last.steps is None:
        return {}
    steps = {step.id: step for step in last.steps.steps}
    return {
        name: Binding(name, binding, steps[name].id_node, steps[name])
        for name in before
        if name in steps and (binding := steps[name].binding) is not None
    }


def read(request: Request, cursor: Cursor) -> Place | None:
    """The place, None when the word has no place of its own in the tree."""
    source = Source(cursor.text, request.path)
    tree = parse(source)
    crumbs = trail(tree.root, cursor.mark)
    if not crumbs or not isinstance(crumbs[-1].node, Scalar) or MARK not in crumbs[-1].node.text:
        return None
    workflow = request.target
    if request.kind == "workflow":
        problems = Problems()
        workflow = build_workflow(request.path, tree.root, problems)
        known = {step.callee.name: step.callee for step in _callers(request.last) if step.callee is not None}
        by_path = {callee.path: callee for callee in known.values()}
        # A child that was not called a moment ago is looked at now: what is offered depends on the text alone.
        typed = engine_for(request.project).typed
        Resolver(workflow, request.project, problems, lambda path: by_path.get(path) or typed(path)).run()
    shapes = Shapes(request.kind, workflow).along(crumbs)
    return Place(request, cursor, source, crumbs, shapes, workflow)


def _callers(workflow: Workflow | None) -> Iterator[Step]:
    if workflow is not None:
        yield from (step for step in all_steps(workflow) if step.callee is not None)


def hidden_steps(place: Place) -> set[int]:
    """The steps, by identity, that are not bound yet at the cursor: those around it and those after them."""
    step = next((shape.step for shape in reversed(place.shapes) if shape.step is not None), None)
    undo = None if step is None else step.undo_entry
    in_undo = undo is not None and undo.key.start <= place.cursor.mark <= undo.value.end
    readable = step if in_undo else None
    unbound = (each for steps, first in unbound_at(step) for each in steps[first:])
    return {id(each) for each in unbound if each is not readable}
