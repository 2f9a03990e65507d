"""Random edits of a Workfile, as typing, pasting, deleting and undoing make them, broken text above all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

#: How many batches of edits each property is tried with; set ``WORKFILE_EDIT_BATCHES`` for more.
BATCHES = int(os.environ.get("WORKFILE_EDIT_BATCHES", "600"))
BATCHES_A_TEXT = 8

PIECES = (
    *("\n", "\r\n", "  ", "    ", "\n\n", "- ", "  - ", "{", "}", "[", "]", '"', "'", ":", ": ", "|", "#", " #c", "-"),
    *("a", "é", "😀", "\u2028", "\x0c", "\t", "&a ", "*a", "---", "? ", "!t ", "<<<<<<<", "workfile", "x: 1\n"),
    *("\n      ", "|\n        text\n", ">-\n        t", "\nresult: 1\n", "result: { }\n            "),
    *("\n  - x:\n      wf.wait: 1h\n", "\n  - y: { wf.wait: 2s }", "\n  - stop: { wf.stop: {} }\n"),
    *("{{", "}}", '"{{ inputs.x }}"', "{{ foo }}", "null", "inputs.", "item", " ?? 1", "undo", "wf.let", "wf.group"),
    *('wf.if: "{{ true }}"\n', "when: ", 'when: "{{ inputs.a }}"\n      ', "on_fail: continue\n      ", "hold"),
    *("retry: { attempts: 2 }\n      ", "recovery: { redo: this_step, then: hold }\n      "),
    *("\n  - z: { wf.fail: { code: no, message: no } }\n", "# workfile: ignore[x]\n"),
)


def edited(chance: random.Random, text: str) -> str:
    """The text after a batch of one to three edits."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        text = _edited(chance, text)
    return text


def _edited(chance: random.Random, text: str) -> str:
    start = chance.randrange(len(text) + 1)
    kind = chance.random()
    if kind < 0.4:
        return text[:start] + chance.choice(PIECES) + text[start:]
    if kind < 0.65:
        return text[:start] + text[start + chance.choice((1, 1, 1, 2, 5, 20, 80)) :]
    if kind < 0.75:
        return text[:start] + chance.choice(PIECES) + text[start + chance.choice((1, 2, 5)) :]
    lines = text.split("\n")
    first = chance.randrange(len(lines))
    last = first + chance.choice((1, 2, 4))
    if kind < 0.8:
        del lines[first:last]
        return "\n".join(lines)
    if kind < 0.85:
        return "\n".join([*lines[:first], *lines[first:last], *lines[first:]])
    ids = [line.strip(" -:") for line in lines if line.startswith("  - ")] or ["steps"]
    return text.replace(chance.choice(ids), chance.choice((*ids, "zzz", "inputs")), chance.choice((1, 1, 5)))


def histories(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """For each seed a text and what edits and undoing made of it, one after the other."""
    for seed in range(max(1, BATCHES // BATCHES_A_TEXT)):
        chance = random.Random(seed)
        text = chance.choice(texts)
        if chance.random() < 0.2:
            text = text.replace("\n", "\r\n")
        made = [text]
        for _ in range(BATCHES_A_TEXT):
            undo = chance.random() < 0.25 and len(made) > 1
            made.append(made[-2] if undo else edited(chance, made[-1]))
        yield seed, made
