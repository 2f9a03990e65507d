"""Inputs and results of reads that nothing reads (information)."""

from __future__ import annotations

import re
from typing import Final

from analyzer.language.vocabulary import IDENTIFIER
from analyzer.model.edits import remove_entry
from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.model.problems import FixDraft, Problems
from analyzer.model.typing import Reads
from analyzer.syntax.nodes import Mapping, Scalar, walk
from analyzer.syntax.source import Source


def check_unused(workflow: Workflow, source: Source, reads: Reads, found: Problems, problems: Problems) -> None:
    """Declared inputs, and steps whose only effect is a result, that no expression reads.

    ``found`` is what typing reported: a name that stands in an interpolation of a faulty file may be meant to be read
    there, so that nothing is said of it (one fault, one finding).
    """
    inputs = [decl for decl in workflow.inputs.values() if decl not in reads and IDENTIFIER.match(decl.name)]
    steps = [step for step in all_steps(workflow) if _only_reads(step) and step not in reads]
    # Looking through all texts takes long, and mostly everything is read.
    doubtful = _words_in_interpolations(workflow) | _meant(found) if found.items and (inputs or steps) else frozenset()
    for decl in inputs:
        if decl.name in doubtful:
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
    for step in steps:
        if step.id in doubtful:
            continue
        problems.report(
            "unused-step-result",
            step.anchor_node,
            f"`{step.id}` only reads, and nothing uses its result: use it, or remove the step.",
        )


def _only_reads(step: Step) -> bool:
    """Whether a step's only effect is its result."""
    action = step.call.action if step.call is not None else None
    return action is not None and action.effect == "read" and action.output is not None


_WORD: Final = re.compile(r"[a-z][a-z0-9_]*")


def _meant(found: Problems) -> frozenset[str]:
    """The names that misspelt ones are told to be changed to."""
    unknown = [each for each in found.items if each.rule in ("unknown-name", "unknown-member")]
    return frozenset(edit.text for each in unknown for fix in each.fixes for edit in fix.edits)


def _words_in_interpolations(workflow: Workflow) -> frozenset[str]:
    """Every word of the strings that have an interpolation."""
    words: set[str] = set()
    for node in walk(workflow.root):
        if isinstance(node, Scalar) and "{{" in node.text:
            words.update(_WORD.findall(node.text))
    return frozenset(words)
