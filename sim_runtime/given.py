"""Scenarios that are written in Python: the keys of a scenario file as arguments, checked as the file would be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from analyzer.language.durations import format_duration
from analyzer.language.scenario_vocabulary import SCENARIO_KEYS
from analyzer.language.suggest import hint
from analyzer.model.problems import Problems
from analyzer.rules.registry import rule
from analyzer.workspace.documents import Document
from sim_runtime.history.encoding import time_text
from sim_runtime.simulation import CannotSimulate, Prepared
from sim_runtime.world.checks import check_against
from sim_runtime.world.reading import read_scenario
from sim_runtime.world.scenario import Scenario

Json: TypeAlias = Any

#: What a scenario has under each key.
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "start": ("start_us",),
    "seed": ("seed",),
    "until": ("until_us",),
    "trigger": ("trigger",),
    "dry_run": ("dry_run",),
    "actions": ("actions",),
    "events": ("events",),
    "crashes": ("crashes",),
    "operator": ("operator",),
    "cancel": ("cancel_at_us", "cancel_reason"),
    "expect": ("expect",),
}


def scenario_of(parts: Mapping[str, Json], base: Scenario | None = None) -> Scenario:
    """A scenario from the keys of a scenario file; what ``base`` says otherwise stays, inputs name by name.

    Raises:
        CannotSimulate: a key is unknown, or its value is not what it must be.
        TypeError: a value is nothing that a scenario file could hold.
    """
    for name in parts:
        if name not in SCENARIO_KEYS or name == "workfile":
            known = [each for each in SCENARIO_KEYS if each != "workfile"]
            raise CannotSimulate(f"`{name}` is not a key that can be given here.{hint(name, known)}")
    base = Scenario() if base is None else base
    # Times count from the start, so the parts are read with the start that they will have.
    text = _json({"workfile": "given", "start": time_text(base.start_us), **parts})
    problems = Problems()
    read = read_scenario(Document("", text.encode("utf-8", "surrogatepass")), problems)
    refuse(problems)
    changes = {field: getattr(read, field) for name in parts for field in _FIELDS.get(name, ())}
    return replace(base, **changes, inputs={**base.inputs, **read.inputs}, root=read.root)


def check_parts(prepared: Prepared, scenario: Scenario) -> None:
    """Whether a scenario fits the Workfile. Raises ``CannotSimulate``."""
    problems = Problems()
    check_against(prepared.project, scenario, prepared.workflow, problems)
    refuse(problems)


def refuse(problems: Problems) -> None:
    """Raise ``CannotSimulate`` for the first problem of severity error; the others are its notes."""
    errors = [each.message for each in problems.items if rule(each.rule).severity == "error"]
    if errors:
        error = CannotSimulate(errors[0])
        for message in errors[1:]:
            error.add_note(message)
        raise error


def _json(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=0, default=_plain)
    except ValueError as error:
        raise TypeError(f"a scenario holds what JSON can say: {error}") from None


def _plain(value: object) -> Json:
    """Times, durations, mappings and sequences of other kinds as a scenario file would have them."""
    if isinstance(value, timedelta):
        return format_duration(value // timedelta(microseconds=1))
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError(f"`{value}` has no time zone: give a `datetime` with one")
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"a scenario cannot hold a `{type(value).__name__}`")
