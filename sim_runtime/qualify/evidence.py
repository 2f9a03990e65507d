"""What the rows prove: recovery bounds and the rung that follows from them.

A claim is never taken over: it stands outside the signature, and only what follows from the signed rows counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sim_runtime.qualify.ijson import as_count
from sim_runtime.qualify.names import (
    BOUND_IS_DERIVED,
    EVIDENCE_NAME,
    KILL_ROWS,
    MAX_CLASSES,
    MAX_TERMS,
    PASS,
    SINGLE_INSTANCE,
    SINGLE_INSTANCE_ROWS,
)


class NotDerived(ValueError):
    """Something does not follow; the message is the first reason."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a bound, in milliseconds."""

    name: str
    ms: int


@dataclass(frozen=True, slots=True)
class RecoveryBound:
    """The bound of one recovery class: the sum of its terms, in milliseconds."""

    name: str
    bound: int
    terms: tuple[Term, ...]

    def as_json(self) -> dict[str, Any]:
        """The entry of ``evidence.recoveryBounds``."""
        terms = [{"name": term.name, "ms": term.ms} for term in self.terms]
        return {"class": self.name, "bound": self.bound, "terms": terms}


def is_name(value: object) -> bool:
    """Whether it can name a recovery class or a term."""
    return isinstance(value, str) and EVIDENCE_NAME.fullmatch(value) is not None


def read_bounds(entries: object) -> tuple[RecoveryBound, ...]:
    """The recovery bounds of a row's evidence. Raises ``NotDerived`` for the first that does not follow."""
    if not isinstance(entries, list) or not entries:
        raise NotDerived("no recovery class is declared")
    if len(entries) > MAX_CLASSES:
        raise NotDerived(f"more than {MAX_CLASSES} recovery classes are declared")
    found: dict[str, RecoveryBound] = {}
    for entry in entries:
        bound = _read_bound(entry)
        if bound.name in found:
            raise NotDerived(f"the recovery class `{bound.name}` is declared twice")
        found[bound.name] = bound
    return tuple(found.values())


def _read_bound(entry: object) -> RecoveryBound:
    if not isinstance(entry, dict) or not is_name(entry.get("class")):
        raise NotDerived("a recovery class has no name of the form `[a-z][A-Za-z0-9._-]*`, at most 64 characters")
    name, listed = entry["class"], entry.get("terms")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_TERMS:
        raise NotDerived(f"class `{name}` needs 1 to {MAX_TERMS} terms: a total alone cannot be checked")
    terms = []
    for term in listed:
        ms = as_count(term.get("ms")) if isinstance(term, dict) else None
        if ms is None or not is_name(term.get("name")):
            raise NotDerived(f"class `{name}` has a term that is not a name with whole milliseconds")
        terms.append(Term(term["name"], ms))
    bound = as_count(entry.get("bound"))
    if bound is None:
        raise NotDerived(f"the bound of class `{name}` is not a whole number of milliseconds")
    total = sum(term.ms for term in terms)
    if total != bound:
        raise NotDerived(f"the terms of class `{name}` add up to {total} ms, but its bound is {bound} ms")
    return RecoveryBound(name, bound, tuple(terms))


_KNOWN_ROWS: Final = frozenset(SINGLE_INSTANCE_ROWS)


def derive_rung(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rung that the rows support; today that can be durable-single-instance only.

    Raises ``NotDerived`` with the first reason why they support none.
    """
    by_id: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        name = row.get("id")
        if isinstance(name, str) and name in _KNOWN_ROWS:
            by_id[name] = row
    for name in SINGLE_INSTANCE_ROWS:
        if name not in by_id:
            raise NotDerived(f"the row `{name}` is missing")
        if by_id[name].get("result") != PASS:
            raise NotDerived(f"the row `{name}` is {by_id[name].get('result')}, not {PASS}")
    declared = {bound.name: bound.bound for bound in read_bounds(_evidence(by_id[BOUND_IS_DERIVED], "recoveryBounds"))}
    for name in KILL_ROWS:
        check_recovery(name, _evidence(by_id[name], "recovery"), declared)
    return SINGLE_INSTANCE


def _evidence(row: Mapping[str, Any], kind: str) -> object:
    evidence = row.get("evidence")
    return evidence.get(kind) if isinstance(evidence, dict) else None


def check_recovery(name: str, recovery: object, declared: Mapping[str, int]) -> None:
    """Whether a recovery was observed inside the bound of its class. Raises ``NotDerived``."""
    if recovery is None:
        raise NotDerived(f"the row `{name}` records no recovery: its class and interval are unknown")
    kind = recovery.get("class") if isinstance(recovery, dict) else None
    judged = as_count(recovery.get("boundMs")) if isinstance(recovery, dict) else None
    observed = as_count(recovery.get("observedMs")) if isinstance(recovery, dict) else None
    if not isinstance(kind, str) or not is_name(kind) or judged is None or observed is None:
        raise NotDerived(f"the recovery of `{name}` is not a class with whole milliseconds")
    if kind not in declared:
        raise NotDerived(f"`{name}` exercised the class `{kind}`, which `{BOUND_IS_DERIVED}` does not declare")
    if judged != declared[kind]:
        raise NotDerived(f"`{name}` was judged against {judged} ms, but class `{kind}` declares {declared[kind]} ms")
    if observed > declared[kind]:
        raise NotDerived(f"`{name}` resumed after {observed} ms, outside the {declared[kind]} ms of class `{kind}`")
