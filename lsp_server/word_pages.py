"""The pages of the language's words as files, so that hover can link to more than it shows, offline.

They are made of the tables that everything else reads, for the version at hand.
"""

# ruff: noqa: PTH103, PTH110, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from analyzer.__about__ import __version__
from analyzer.atomic import write_atomically
from analyzer.cache import default_folder
from analyzer.digest import digest_of
from analyzer.language.vocabulary import (
    ALLOWED_KEYS,
    CONSTRUCTS,
    MODIFIERS,
    RECOVERY_KEYS,
    ROOT_KEYS,
    STATE_KEYS,
    VALUE_KINDS,
    KeySpec,
)
from analyzer.rules.registry import all_rules

_TABLES: Final[dict[str, Mapping[str, KeySpec]]] = {
    "at the root of a Workfile": ROOT_KEYS,
    "in `recovery`": RECOVERY_KEYS,
    "in a state": STATE_KEYS,
}
_PLAIN = re.compile(r"[a-z_.]+\Z")


def has_page(word: str) -> bool:
    """Whether a word of the language has a page."""
    return word in CONSTRUCTS or word in MODIFIERS or any(word in table for table in _TABLES.values())


@lru_cache(maxsize=256)
def word_page(word: str) -> str | None:
    """The path of a word's page, written when it is first asked for; None when there is none."""
    if not has_page(word) or not _PLAIN.match(word):
        return None
    # The tables may have changed under one version, in a checkout.
    version = f"{__version__}-{digest_of(repr((CONSTRUCTS, MODIFIERS, ROOT_KEYS)).encode())[:8]}"
    path = os.path.join(default_folder(), "words", version, f"{word}.md")
    if not os.path.exists(path):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomically(path, page(word).encode("utf-8"))
        except OSError:
            return None
    return path


def page(word: str) -> str:
    """A word's page as markdown: what it does, where it stands, its keys, and the rules that are about it."""
    parts = [f"# `{word}`"]
    construct, modifier = CONSTRUCTS.get(word), MODIFIERS.get(word)
    if construct is not None:
        parts += [construct.doc, "## Keys of the step", _table(ALLOWED_KEYS[word].values())]
    if modifier is not None:
        parts += [modifier.key.doc, _facts(modifier.key)]
        parts.append("Stands on " + ", ".join(f"`{name}`" if "." in name else name for name in modifier.on) + ".")
    for where, table in _TABLES.items():
        if word in table and (modifier is None or where != "in `recovery`"):
            parts += [f"## {where[:1].upper()}{where[1:]}", table[word].doc, _facts(table[word])]
    if word == "recovery":
        parts += ["## Its keys", _table(RECOVERY_KEYS.values())]
    rules = [rule for rule in all_rules().values() if f"`{word}`" in rule.documentation or f"`{word}:" in rule.summary]
    if rules:
        parts += ["## Rules about it", "\n".join(f"- `{rule.name}`: {rule.summary}" for rule in rules)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(spec: KeySpec) -> str:
    facts = []
    if spec.values:
        facts.append("One of " + ", ".join(f"`{value}`" for value in spec.values) + ".")
    elif spec.kind in VALUE_KINDS:
        facts.append(f"Takes {VALUE_KINDS[spec.kind]}.")
    if spec.required:
        facts.append("Required.")
    if spec.default is not None:
        facts.append(f"Default: `{spec.default}`.")
    return " ".join(facts)


def _table(specs: Iterable[KeySpec]) -> str:
    rows = [f"| `{spec.name}` | {spec.doc} {_facts(spec)} |".replace("\n", " ") for spec in specs]
    return "\n".join(["| key | what it does |", "| --- | --- |", *rows])
