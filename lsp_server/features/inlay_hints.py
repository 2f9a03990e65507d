"""Inlay hints: the type that a step binds, why it may be null, and what a recovery runs again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from analyzer.expressions.types import describe
from analyzer.flow.redo import ScopeRedo, members
from analyzer.model.nodes import Step, all_steps
from lsp_server.settings import InlayHints
from lsp_server.snapshot import Snapshot, Span

MAX_LABEL: Final = 60
_SILENT: Final = frozenset({"", "wf.fail", "wf.stop", "wf.wait"})


@dataclass(frozen=True, slots=True)
class Hint:
    """A label at an offset."""

    offset: int
    label: str
    tooltip: str


def hints(snapshot: Snapshot, wanted: Span, shown: InlayHints) -> list[Hint]:
    """The hints in a range, in order."""
    workflow = snapshot.workflow
    if workflow is None:
        return []
    found: list[Hint] = []
    for step in all_steps(workflow):
        place = step.id_node.end
        if wanted[0] <= place <= wanted[1] and step.id_node.origin is None:
            found.extend(_of_step(step, shown))
    if shown.redo:
        for scope in snapshot.redo_in(wanted):
            place = scope.recovery.entry.key.end
            if wanted[0] <= place <= wanted[1]:
                found.append(_of_scope(scope))
    return sorted(found, key=lambda hint: hint.offset)


def _of_step(step: Step, shown: InlayHints) -> Iterator[Hint]:
    binding = step.binding
    if binding is None or step.kind in _SILENT or binding.kind in ("any", "never"):
        return
    label = describe(binding if shown.nullability else binding.not_null()) if shown.types else ""
    nullable = shown.nullability and binding.may_be_null
    if not shown.types:
        if not nullable:
            return
        label = "may be null"
    why = "\n".join(f"May be null: {reason.text}." for reason in binding.why) if nullable else ""
    yield Hint(step.id_node.end, _short(f": {label}"), why or f"`{step.path}` binds `{describe(binding)}`.")


def _of_scope(scope: ScopeRedo) -> Hint:
    names = [step.id for step in members(scope)]
    label = "nothing" if not names else ", ".join(names)
    unsafe = ", ".join(f"`{each.step.path}`" for each in scope.unsafe)
    tooltip = f"`{scope.recovery.redo}` runs again: {label}."
    if unsafe:
        tooltip += f" Not safe to repeat: {unsafe}."
    return Hint(scope.recovery.entry.key.end, _short(f" redoes {label}"), tooltip)


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
