# Paths are texts here: loading pathlib costs more than the whole list.
# ruff: noqa: PTH120, PTH208
"""All rules by name. A rule's module, its name in snake case, is loaded when the rule is asked for."""

from __future__ import annotations

import importlib
import os
from functools import cache

from analyzer.rules.base import Rule

_OTHERS = frozenset({"__init__", "base", "docs", "registry", "scaffold"})
_SUFFIX = ".py"


@cache
def names() -> tuple[str, ...]:
    """The names of all rules, sorted; read from the folder, no rule is loaded."""
    modules = (name.removesuffix(_SUFFIX) for name in os.listdir(os.path.dirname(__file__)) if name.endswith(_SUFFIX))
    return tuple(sorted(module.replace("_", "-") for module in modules if module not in _OTHERS))


@cache
def rule(name: str) -> Rule:
    """The rule of that name.

    Raises:
        KeyError: there is no such rule.
    """
    if name not in names():
        raise KeyError(name)
    found = importlib.import_module(f"analyzer.rules.{name.replace('-', '_')}").RULE
    if not isinstance(found, Rule) or found.name != name:
        raise TypeError(f"the module of the rule `{name}` does not hold it")
    return found


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by name, sorted by name. The result is shared: do not change it."""
    return {name: rule(name) for name in names()}


@cache
def families() -> dict[str, tuple[str, ...]]:
    """The names of the rules of each family, ``document.control`` and so on; both sorted."""
    grouped: dict[str, list[str]] = {}
    for each in all_rules().values():
        grouped.setdefault(each.code, []).append(each.name)
    return {code: tuple(grouped[code]) for code in sorted(grouped)}
