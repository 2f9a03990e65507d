"""Which findings are wanted: rules by name or family, by the call, the configuration and its patterns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from analyzer.findings import Finding
from analyzer.language.suggest import hint

_GLOB_PART = re.compile(r"(\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\})")


class CheckConfig(Protocol):
    """The ``[check]`` table of the configuration, as far as selection reads it."""

    @property
    def select(self) -> Sequence[str]: ...
    @property
    def ignore(self) -> Sequence[str]: ...
    @property
    def exclude(self) -> Sequence[str]: ...
    @property
    def per_file_ignores(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Rules or families to keep (empty: all) and to leave out."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def over(self, config: CheckConfig) -> Selection:
        """This selection of a call over that of the configuration.

        A ``select`` of the call replaces both lists of the configuration, so that a rule that is asked for by name is
        shown although the configuration leaves it out; an ``ignore`` of the call adds to them.
        """
        if self.select:
            return self
        return Selection(tuple(config.select), tuple(config.ignore) + self.ignore)

    def wants(self, finding: Finding) -> bool:
        """Whether the finding is selected and not ignored; ignoring wins."""
        return self.wants_rule(finding.rule, finding.code)

    def wants_rule(self, rule: str, code: str) -> bool:
        """Whether findings of the rule are selected and not ignored."""
        if self.select and not matches_any(self.select, rule, code):
            return False
        return not (self.ignore and matches_any(self.ignore, rule, code))


def matches_any(names: Iterable[str], rule: str, code: str) -> bool:
    """Whether one of ``names`` is the rule, its family (``document.null``) or the root of families (``document``)."""
    return any(name in (rule, code) or code.startswith(name + ".") for name in names)


def names_of(rule: str, code: str) -> list[str]:
    """All that ``matches_any`` accepts for a rule: itself, its family, and the roots of that."""
    names = [rule, code]
    end = code.rfind(".")
    while end > 0:
        names.append(code[:end])
        end = code.rfind(".", 0, end)
    return names


def file_ignores(config: CheckConfig, path: str) -> tuple[str, ...]:
    """What ``per-file-ignores`` leaves out for the file; ``path`` is relative to the root, with ``/``."""
    ignored: list[str] = []
    for pattern, names in config.per_file_ignores.items():
        if glob_matches(pattern, path):
            ignored.extend(names)
    return tuple(ignored)


def is_left_out(config: CheckConfig, path: str) -> bool:
    """Whether ``exclude`` leaves a file or folder out of searches; ``path`` is relative to the root, with ``/``."""
    return any(glob_matches(pattern, path) for pattern in config.exclude)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = pattern.removeprefix("./").removeprefix("/")
    # A pattern without a folder in it is for the name, wherever the file is, as in ignore files.
    prefix = "" if "/" in anchored.rstrip("/") or pattern.startswith("/") else "(?:.*/)?"
    parts = [prefix]
    for part in _GLOB_PART.split(anchored.rstrip("/")):
        if part == "**/":
            parts.append("(?:.*/)?")
        elif part in ("/**", "**"):
            parts.append("/.*" if part == "/**" else ".*")
        elif part == "*":
            parts.append("[^/]*")
        elif part == "?":
            parts.append("[^/]")
        elif part.startswith("[") and part.endswith("]") and len(part) > 2:
            inner = part[1:-1]
            negated = inner.startswith("!")
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
            parts.append(f"[{'^' if negated else ''}{body}]")
        elif part.startswith("{") and part.endswith("}"):
            parts.append("(?:" + "|".join(re.escape(choice) for choice in part[1:-1].split(",")) + ")")
        else:
            parts.append(re.escape(part))
    try:
        return re.compile("".join(parts) + "(?:/.*)?\\Z", re.DOTALL)
    except re.error:  # a set such as [z-a]: the pattern stands for itself
        return re.compile(re.escape(anchored) + "\\Z")


def glob_matches(pattern: str, path: str) -> bool:
    """Whether the path, or a folder that it is in, fits the pattern: ``*``, ``?``, ``[a-z]``, ``{a,b}`` and ``**``."""
    return _compiled(pattern).match(path) is not None


def is_known_name(name: str, rules: Collection[str], families: Collection[str]) -> bool:
    """Whether ``name`` is a rule, a family or the root of families."""
    return name in rules or any(code == name or code.startswith(name + ".") for code in families)


def unknown_name_message(
    name: str, rules: Iterable[str], families: Iterable[str], *, suggest: bool = True
) -> str | None:
    """That ``name`` is neither a rule nor a family, and the nearest one (``suggest``); None when it is known."""
    names, codes = list(rules), list(families)
    if is_known_name(name, names, codes):
        return None
    near = hint(name, names + codes) if suggest else ""
    return f"there is no rule `{name}`.{near or ' `workfile explain` lists the rules.'}"
