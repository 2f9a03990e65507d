"""JSON Schemas of the reports of ``workfile explore``, ``qualify`` and ``qualify verify``."""

from __future__ import annotations

from sim_runtime.explore.ends import OUTCOMES
from sim_runtime.qualify.names import RUNGS, TOTALS
from sim_runtime.qualify.verify import EXIT_CODES
from workfile_cli.reports import (
    ANYTHING,
    COUNT,
    FLAG,
    NAME,
    POSITIVE,
    TEXT,
    VERSION,
    Schema,
    list_of,
    map_of,
    named,
    one_of,
    or_null,
)


def explore() -> Schema:
    """What an exploration found."""
    outcomes = one_of(OUTCOMES)
    steps = list_of(NAME)
    point: dict[str, Schema] = {
        "path": TEXT,
        "point": one_of(("before", "after")),
        "record": NAME,
        "outcomes": list_of(outcomes),
        "decided": list_of(outcomes),
        "why": named(NAME),
        "expected": FLAG,
        "scenario": or_null(NAME),
    }
    finding: dict[str, Schema] = {
        "kind": NAME,
        "path": TEXT,
        "message": NAME,
        "scenario": or_null(NAME),
        "steps": steps,
    }
    effect: dict[str, Schema] = {"action": NAME, "path": NAME, "fewest": COUNT, "most": COUNT}
    return map_of(
        {
            "version": VERSION,
            "workflow": NAME,
            "complete": FLAG,
            "states": COUNT,
            "runs": COUNT,
            "outcomes": named(POSITIVE),
            "crash_points": list_of(map_of(point)),
            "never": list_of(NAME),
            "findings": list_of(map_of(finding)),
            "bounds": map_of(dict.fromkeys(("crashes", "deviations", "decisions", "cancellations", "states"), COUNT)),
            "not_covered": list_of(NAME),
            "worlds": list_of(NAME),
            "reached": named(COUNT),
            "effects": list_of(map_of(effect)),
            "longest": map_of({"time": NAME, "steps": steps}),
            "limits": list_of(map_of({"path": TEXT, "then": NAME, "steps": steps})),
            "rounds": list_of(map_of({"states": list_of(NAME), "steps": steps})),
            "undo_orders": list_of(map_of({"path": TEXT, "order": list_of(NAME), "steps": steps})),
        }
    )


def qualify() -> Schema:
    """What became of the rows of a qualification, and the rung that follows."""
    row = map_of(
        {"id": NAME, "result": one_of(tuple(TOTALS))},
        {"assertions": POSITIVE, "detail": TEXT, "evidence": named(ANYTHING)},
    )
    relaxation = map_of({"obligation": NAME, "durability": NAME, "reason": TEXT})
    return map_of(
        {
            "version": VERSION,
            "url": NAME,
            "rung": map_of({"asked": one_of(RUNGS), "earned": or_null(one_of(RUNGS))}),
            "passed": FLAG,
            "deaths": COUNT,
            "rows": list_of(row),
            "relaxations": list_of(relaxation),
            "remarks": list_of(NAME),
            "bundle": or_null(NAME),
        }
    )


def verify() -> Schema:
    """The verdict on a bundle."""
    refusal = map_of({"name": NAME, "message": NAME})
    return map_of(
        {
            "version": VERSION,
            "outcome": one_of(tuple(EXIT_CODES)),
            "rung": or_null(one_of(RUNGS)),
            "refusals": list_of(refusal),
        }
    )
