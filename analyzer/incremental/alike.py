"""Whether two versions of a step are the same to the control flow: what its actions are given makes no difference."""

from __future__ import annotations

from typing import TypeAlias

from analyzer.model.nodes import Step, child_lists, walk_steps
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence, is_cut, walk

#: What typing has found out of a step and those below it that the flow asks about.
Flags: TypeAlias = list[tuple[bool, bool, bool]]


def flags_of(step: Step) -> Flags:
    """For the step and each below it: whether it may fault, whether it may fail, whether it never binds."""
    return [
        (each.may_fault, each.may_fail, each.binding is not None and each.binding.kind == "never")
        for each in [step, *walk_steps(child_lists(step))]
    ]


def forget_flags(step: Step) -> None:
    """Put the flags of the step and of each below it back to what they are before typing."""
    for each in [step, *walk_steps(child_lists(step))]:
        each.may_fault = each.may_fail = False


def are_alike(old: Step, new: Step) -> bool:
    """Whether the flow of two steps is the same, by their text."""
    return old.id == new.id and _alike(old.entry.value, new.entry.value)


def _alike(old: Node, new: Node) -> bool:
    stack = [(old, new)]
    while stack:
        a, b = stack.pop()
        if a.__class__ is not b.__class__ or a.origin is not None or b.origin is not None:
            return False
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            if a.broken or b.broken or a.text != b.text or type(a.value) is not type(b.value):
                return False
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if len(a.entries) != len(b.entries) or a.partial or b.partial:
                return False
            for mine, other in zip(a.entries, b.entries, strict=True):
                stack.append((mine.key, other.key))
                if not _is_evaluated(mine.key) or _is_cut(mine.value) or _is_cut(other.value):
                    stack.append((mine.value, other.value))
        elif isinstance(a, Sequence) and isinstance(b, Sequence):
            if len(a.items) != len(b.items) or a.partial or b.partial:
                return False
            stack += zip(a.items, b.items, strict=True)
    return True


def _is_evaluated(key: Node) -> bool:
    """Whether of what stands under a key only the faults count: what an action is given, what names stand for."""
    return isinstance(key, Scalar) and "." in key.text and (not key.text.startswith("wf.") or key.text == "wf.let")


def _is_cut(node: Node) -> bool:
    """Whether a value is no map that was read as a whole."""
    return not isinstance(node, Mapping) or any(
        (isinstance(each, Scalar) and each.broken) or is_cut(each) for each in walk(node)
    )
