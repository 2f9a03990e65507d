"""Inputs and results of reads that nothing reads (information)."""

from __future__ import annotations

import re
from typing import Final

from analyzer.language.vocabulary import IDENTIFIER
from analyzer.model.edits import remove_entry
from analyzer.model.nodes import Workflow, all_steps
from analyzer.model.problems import FixDraft, Problems
from analyzer.model.typing import Reads
from analyzer.syntax.nodes import Mapping, Scalar, walk
from analyzer.syntax.source import Source


def check_unused(workflow: Workflow, source: Source, reads: Reads, found: Problems, problems: Problems) -> None:
    """Declared inputs, and steps whose only effect is a result, that no expression reads.

    ``found`` is what typing reported: a name that stands in an interpolation of a faulty file may be meant to be read
    there, so that nothing is said of it (one fault, one finding).
    """
    doubtful = _words_in_interpolations(workflow) if found.items else frozenset()
    for decl in workflow.inputs.values():
        if decl in reads or decl.name in doubtful or not IDENTIFIER.match(decl.name):
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
        if action is None or action.effect != "read" or action.output is None or step in reads or step.id in doubtful:
            continue
        problems.report(
            "unused-step-result",
            step.anchor_node,
            f"`{step.id}` only reads, and nothing uses its result: use it, or remove the step.",
        )


_WORD: Final = re.compile(r"[a-z][a-z0-9_]*")


def _words_in_interpolations(workflow: Workflow) -> frozenset[str]:
    """Every word of the strings that have an interpolation."""
    words: set[str] = set()
    for node in walk(workflow.root):
        if isinstance(node, Scalar) and "{{" in node.text:
            words.update(_WORD.findall(node.text))
    return frozenset(words)
