"""Inputs and results of reads that nothing reads (information)."""

from __future__ import annotations

from analyzer.language.vocabulary import IDENTIFIER
from analyzer.model.edits import remove_entry
from analyzer.model.nodes import Workflow, all_steps
from analyzer.model.problems import FixDraft, Problems
from analyzer.model.typing import Reads
from analyzer.syntax.nodes import Mapping
from analyzer.syntax.source import Source


def check_unused(workflow: Workflow, source: Source, reads: Reads, problems: Problems) -> None:
    """Declared inputs, and steps whose only effect is a result, that no expression reads."""
    for decl in workflow.inputs.values():
        if decl in reads or not IDENTIFIER.match(decl.name):
            continue
        fixes = []
        if workflow.inputs_entry is not None and isinstance(workflow.inputs_entry.value, Mapping):
            edit = remove_entry(source, workflow.inputs_entry.value, decl.entry)
            if edit is not None:
                fixes = [FixDraft(f"Remove the input `{decl.name}`", "unsafe", (edit,))]
        problems.report(
            "unused-input",
            decl.entry.key,
            f"The input `{decl.name}` is declared and never read: read it as `inputs.{decl.name}`, or remove it.",
            fixes=fixes,
        )
    for step in all_steps(workflow):
        action = step.call.action if step.call is not None else None
        if action is None or action.effect != "read" or action.output is None or step in reads:
            continue
        problems.report(
            "unused-step-result",
            step.anchor_node,
            f"`{step.id}` only reads, and nothing uses its result: use it, or remove the step.",
        )
