"""What completion offers, and the texts that it inserts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from analyzer.expressions.types import Type
from analyzer.language.vocabulary import KeySpec

_PLACEHOLDER: Final = re.compile(r"\$\{\d+:([^}]*)\}|\$\d+")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to offer. ``insert`` is a snippet when ``snippet``; "" inserts the label. Lower ranks come first."""

    label: str
    kind: str
    detail: str = ""
    doc: str = ""
    insert: str = ""
    rank: float = 50
    snippet: bool = False

    @property
    def text(self) -> str:
        """What is inserted, as a snippet or as it is."""
        return self.insert or self.label

    @property
    def plain(self) -> str:
        """What is inserted where snippets are not known."""
        return plain_of(self.text) if self.snippet else self.text


def plain_of(snippet: str) -> str:
    """A snippet with its placeholders filled in."""
    return _PLACEHOLDER.sub(lambda found: found[1] or "", snippet).replace("\\$", "$")


def key_insert(name: str, value: str, colon: bool) -> str:
    """A key with its colon and the beginning of its value; the key alone where the colon is there."""
    if colon:
        return name
    return f"{name}: {value}" if value else f"{name}: "


def value_skeleton(of: KeySpec | Type) -> str:
    """The beginning of a value, with places to fill in; "" when the author begins it best."""
    if isinstance(of, Type):
        if of.kind == "object":
            return argument_skeleton(of, 1) if of.fields else "{ $1 }"
        return "[$1]" if of.kind == "list" else ""
    if of.kind == "standard-version":
        return '"1.0"'
    if of.kind in ("boolean-expression", "list-expression"):
        return '"{{ $1 }}"'
    if of.name == "retry":
        return "{ attempts: ${1:3} }"
    if of.name == "stop_after":
        return "{ failures: ${1:2}, within: ${2:1h} }"
    return ""


def argument_skeleton(type_: Type, first: int) -> str:
    """``{ amount: $1, customer: $2 }``: the required fields of a type, numbered from ``first``."""
    names = [name for name, field in type_.fields.items() if not field.optional]
    if not names:
        return "{ }" if not type_.fields else f"{{ ${first} }}"
    return "{ " + ", ".join(f"{name}: ${first + number}" for number, name in enumerate(names)) + " }"


def quoted(text: str, inside: bool) -> str:
    """A text that has to stand in quotes."""
    return text if inside else f'"{text}"'
