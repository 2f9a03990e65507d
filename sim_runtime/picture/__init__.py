"""A picture of a run over virtual time: ``picture_of`` reads it, ``svg`` and ``page`` draw it."""

from __future__ import annotations

from typing import Any, TypeAlias

from analyzer.language.durations import format_duration
from sim_runtime.driver.run import Run
from sim_runtime.observed import crashes_of
from sim_runtime.picture.reading import Picture, read_picture

Json: TypeAlias = Any

__all__ = ["Picture", "picture_of"]


def picture_of(run: Run, report: dict[str, Json]) -> Picture:
    """The picture of a run; ``report`` is the JSON of ``workfile run`` about it."""
    crashes = crashes_of(run)
    passed = format_duration(run.clock - run.start_us)
    facts = [f"{passed} of simulated time, {report['clock']['start']} to {report['clock']['now']}"]
    counts = [f"{len(run.records):,} records"]
    if crashes:
        counts.append(f"{len(crashes)} crash{'' if len(crashes) == 1 else 'es'}")
    if report["generation"]:
        counts.append(f"generation {report['generation']}")
    facts.append(", ".join(counts) + ". Time is not to scale: instants are spread in their order, gaps are compressed.")
    failure = report["failure"]
    if failure:
        place = f" at {failure['path']}" if failure.get("path") else ""
        facts.append(f"Failure {failure['code']}{place}: {failure.get('message') or ''}"[:200].rstrip(": "))
    return read_picture(run.records, crashes, run.start_us, report["workflow"], report["status"], facts)
