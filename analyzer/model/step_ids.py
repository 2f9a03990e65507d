"""The ids of steps: the one key of a step's item, and what its author may have put there instead."""

from __future__ import annotations

import re

from analyzer.language.vocabulary import IDENTIFIER, MODIFIERS, REFERENCE, RESERVED_WORDS, VALUE_KINDS, WAIT_RESERVED
from analyzer.language.words import shown
from analyzer.model.nodes import Step, StepList
from analyzer.model.problems import Problems
from analyzer.model.reading import is_null
from analyzer.syntax.nodes import Entry, Mapping, Scalar, is_broken

# An id whose colon was forgotten, where YAML takes it and the brackets behind it for the key.
_GLUED_ID = re.compile(r"([a-z][a-z0-9_]*):?[ \t]*[{\[]")
_WORD = re.compile(r"([a-z][a-z0-9_]*)")


def without_id(entries: list[Entry], problems: Problems) -> bool:
    """Report a step item whose keys are those of a step's body: its id was forgotten."""
    names = [_name(entry) for entry in entries]
    subject = 0
    if names[0] in MODIFIERS:
        subject = next((index for index, name in enumerate(names) if _is_subject(name)), 0)
    entry = entries[subject]
    if not _is_subject(names[subject]) or is_broken(entry.key):
        return False
    below = entry.value.entries if isinstance(entry.value, Mapping) else ()
    if any(_is_subject(_name(each)) for each in below):
        return False  # it stands where the id does, above a subject
    message = f"This step has no id: write `- id: {{ {shown(names[subject])}: … }}`."
    problems.report("invalid-value", entry.key, message)
    return True


def several_keys(entries: list[Entry], problems: Problems) -> bool:
    """Report a step item with several keys; false when its body was meant to be the other keys."""
    first, second = entries[0], entries[1]
    if is_broken(second.key):
        return True
    name = shown(_name(first))
    if is_null(first.value):
        message = f"The step `{name}` has no body: indent the keys below it further than its id."
        problems.report("wrong-kind", first.key, message)
        return False
    message = f"A step is a map of its one id `{name}`: indent this key into its body, or put `- ` before it."
    problems.report("unknown-key", second.key, message)
    return True


def meant_id(key: Scalar) -> str:
    """The id that a key gives a step: its first word when its colon was forgotten."""
    found = _GLUED_ID.match(key.text) or (_WORD.match(key.text) if key.broken else None)
    return found[1] if found else key.text


def check_id(step: Step, key: Scalar, problems: Problems) -> bool:
    """Report an id that is a word of the language, or no identifier; false when the body is a part of the key."""
    if key.broken:
        return True
    if _GLUED_ID.match(key.text):
        problems.report("invalid-value", key, f"This step id has no colon: write `- {step.id}: {{ … }}`.")
        return False
    if step.id in RESERVED_WORDS:
        message = f"`{step.id}` is a word of the language and cannot be a step id: choose another."
        problems.report("reserved-name", key, message)
    elif not IDENTIFIER.match(step.id):
        problems.report("invalid-value", key, f"The step id `{shown(step.id)}` is not {VALUE_KINDS['identifier']}.")
    elif step.id in WAIT_RESERVED and _is_in_wait(step.parent):
        message = f"`{step.id}` is a field of the wait's own binding: choose another step id."
        problems.report("reserved-name", key, message)
    return True


def _name(entry: Entry) -> str:
    return entry.key.text if isinstance(entry.key, Scalar) else ""


def _is_subject(name: str) -> bool:
    """Whether a key can only be a step's subject: the id of a step has no dot."""
    return name.startswith("wf.") or REFERENCE.match(name) is not None


def _is_in_wait(parent: StepList) -> bool:
    """Whether the list is the `steps` of a wait."""
    return parent.role == "steps" and isinstance(parent.owner, Step) and parent.owner.kind == "wf.wait_for"
