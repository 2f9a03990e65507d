"""From the analysis of one text to that of the next, which differs in some steps of the root's list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from analyzer.expressions.types import Lines
from analyzer.incremental.alike import Flags, are_alike, flags_of
from analyzer.incremental.parts import Part, Parts, PartTyper, found_in
from analyzer.incremental.splice import steps_of
from analyzer.model.build import step_reader
from analyzer.model.nodes import Step, Workflow, child_lists, walk_steps
from analyzer.model.problems import Problems
from analyzer.model.resolve import Resolver
from analyzer.model.typing import WorkflowTyper
from analyzer.syntax.nodes import Entry, Mapping, Node
from analyzer.syntax.parse import Tree

if TYPE_CHECKING:
    from analyzer.workspace.project import Project


def typed_in_parts(workflow: Workflow, tree: Tree, problems: Problems) -> tuple[WorkflowTyper, Parts | None]:
    """Type a resolved Workfile; with what the next time can build on, None when that has to begin anew.

    ``problems`` are those of reading and resolving, and get those of typing.
    """
    parts = _parts_of(workflow, tree, problems)
    typer = (
        WorkflowTyper(workflow, tree.source, problems)
        if parts is None
        else PartTyper(workflow, tree.source, problems, parts)
    )
    typer.run()
    return typer, parts


def _parts_of(workflow: Workflow, tree: Tree, problems: Problems) -> Parts | None:
    found = steps_of(tree)
    if found is None or workflow.states is not None or workflow.steps is None or _has_duplicates(workflow):
        return None
    items = found[1].items
    faulty, outside = found_in(problems, items)
    if outside:
        return None
    steps = {step.entry: step for step in workflow.steps.steps}
    parts = Parts(Lines(tree.source))
    before: Part | None = None
    for item in items:
        step = _step_in(item, steps)
        if step is not None:
            before = parts.by_node[item] = Part(step, item not in faulty, follows=before)
    return parts if len(parts.by_node) == len(steps) else None


def _step_in(item: Node, steps: dict[Entry, Step]) -> Step | None:
    entries = item.entries if isinstance(item, Mapping) else ()
    return next((steps[entry] for entry in entries if entry in steps), None)


def _has_duplicates(workflow: Workflow) -> bool:
    assert workflow.steps is not None
    steps = workflow.steps.steps
    return len({step.id for step in steps}) != len(steps)


def updated(
    workflow: Workflow,
    parts: Parts,
    tree: Tree,
    project: Project,
    callee: Callable[[str], Workflow | None],
) -> tuple[WorkflowTyper, Problems] | None:
    """Read, resolve and type what is new in a spliced tree, in the same Workfile and the same parts.

    None when the analysis has to begin anew; the Workfile and the parts are of no use then.
    """
    found = steps_of(tree)
    if found is None or workflow.steps is None:
        return None
    problems = Problems()
    gone = [(part, flags_of(part.step)) for part in _leave(parts, found[1].items)]
    fresh = _read(workflow, parts, found[1].items, problems)
    if _has_duplicates(workflow):
        return None
    Resolver(workflow, project, problems, callee).run_for(_every(part.step for part in fresh.values()))
    faulty, outside = found_in(problems, found[1].items)
    if outside:
        return None
    for item in faulty & fresh.keys():
        fresh[item].sound = False
    new = list(fresh.values())
    _relate(parts, [part.step for part, _ in gone], [part.step for part in new])
    typer = PartTyper(workflow, tree.source, problems, parts)
    typer.run()
    _stir(parts, gone, new)
    return typer, problems


def _leave(parts: Parts, items: list[Node]) -> list[Part]:
    """Take out the parts that are gone, and those in which something was found: they are read again."""
    here = set(items)
    leaving = [node for node, part in parts.by_node.items() if not part.sound or node not in here]
    return [parts.by_node.pop(node) for node in leaving]


def _read(workflow: Workflow, parts: Parts, items: list[Node], problems: Problems) -> dict[Node, Part]:
    """The steps of all items, in the Workfile; answers the parts of those that were read now."""
    steps = workflow.steps
    assert steps is not None
    reader = step_reader(workflow, problems)
    by_node: dict[Node, Part] = {}
    fresh: dict[Node, Part] = {}
    for item in items:
        part = parts.by_node.get(item)
        if part is None:
            step = reader.read_item(item, steps)
            if step is None:
                continue
            part = fresh[item] = Part(step)
        part.step.index = len(by_node)
        by_node[item] = part
    parts.by_node = by_node
    steps.steps = [part.step for part in by_node.values()]
    workflow.every_step = None
    return fresh


def _every(steps: Iterable[Step]) -> list[Step]:
    return [each for step in steps for each in (step, *walk_steps(child_lists(step)))]


def _relate(parts: Parts, gone: list[Step], new: list[Step]) -> None:
    """Note which names came and went, and which new steps stand for those that are gone."""
    before, after = {step.id: step for step in gone}, {step.id: step for step in new}
    parts.changed = before.keys() ^ after.keys()
    parts.successors = {before[name]: after[name] for name in before.keys() & after.keys()}
    for name in before.keys() - after.keys():
        parts.bindings.pop(name, None)


def _stir(parts: Parts, gone: list[tuple[Part, Flags]], new: list[Part]) -> None:
    """Note which parts the control flow has to look at again: those that differ, and those with another neighbour."""
    same: dict[Part, Part] = {}
    if len(gone) == len(new):
        for (old, flags), part in zip(gone, new, strict=True):
            if old not in parts.stirred and flags == flags_of(part.step) and are_alike(old.step, part.step):
                same[old] = part
    for old, part in same.items():
        part.follows = old.follows
    if parts.loud is not None:
        parts.loud = {same.get(part, part) for part in parts.loud}
    parts.stirred |= set(new).difference(same.values())
    before: Part | None = None
    for part in parts.by_node.values():
        follows = None if part.follows is None else same.get(part.follows, part.follows)
        if follows is not before:
            parts.stirred.add(part)
        part.follows = before
        before = part
