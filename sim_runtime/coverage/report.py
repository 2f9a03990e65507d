"""Coverage as text and as JSON. Nothing depends on where the Workfiles are: ``shown`` turns their paths into what users
see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from analyzer.report.common import plural
from sim_runtime.coverage.measure import Coverage, WorkfileCoverage, percent

Json: TypeAlias = Any
Shown: TypeAlias = Callable[[str], str]
Style: TypeAlias = Callable[[str, str], str]

VERSION: Final = 1
#: Lines about one Workfile in the text report; the rest is counted.
MAX_MISSED: Final = 200


def coverage_json(coverage: Coverage, shown: Shown) -> Json:
    """The JSON object; a place's ``scenarios`` are positions in the list of scenarios."""
    return {
        "version": VERSION,
        **_counts(coverage.covered, coverage.total),
        "scenarios": list(coverage.scenarios),
        "workfiles": [_workfile_json(file, shown) for file in coverage.sorted_files()],
    }


def _counts(covered: int, total: int) -> dict[str, Json]:
    return {"covered": covered, "total": total, "percent": percent(covered, total)}


def _workfile_json(file: WorkfileCoverage, shown: Shown) -> Json:
    places = []
    for place in file.places:
        where = file.source.range(place.start, place.end)
        places.append(
            {
                "kind": place.kind,
                "path": place.path,
                "outcome": place.outcome,
                "line": where.start_line,
                "column": where.start_column,
                "hits": place.hits,
                "scenarios": list(place.scenarios),
            }
        )
    return {
        "path": shown(file.path),
        "workflow": file.workflow,
        "played": file.played,
        **_counts(file.covered, file.total),
        "kinds": {kind: _counts(*figures) for kind, figures in file.by_kind().items()},
        "places": places,
    }


def coverage_text(coverage: Coverage, shown: Shown, style: Style) -> str:
    """A table of the Workfiles, each with what never happened in it, by line."""
    files = coverage.sorted_files()
    if not files:
        return ""
    names = [style(shown(file.path), "plain") for file in files]
    width = min(max(map(len, names)), 72)
    lines = []
    for name, file in zip(names, files, strict=True):
        share = percent(file.covered, file.total)
        figures = f"{file.covered:>5} of {file.total:<5}{share:>6.1f} %"
        lines.append(f"{name:<{width}}  {style(figures, 'good' if file.covered == file.total else 'wait')}")
        lines.extend(_missed_lines(file, style))
    share = percent(coverage.covered, coverage.total)
    lines.append(f"coverage: {coverage.covered} of {coverage.total} places, {share:.1f} %")
    return "\n".join(lines) + "\n"


def _missed_lines(file: WorkfileCoverage, style: Style) -> list[str]:
    if not file.played and file.total:
        return [f"        {style('no scenario plays it', 'bad')}"]
    missed = file.missed()
    lines = []
    for place, more in missed[:MAX_MISSED]:
        where = f"{place.path}: " if place.path else ""
        also = f" ({plural(more, 'more place')} with it)" if more else ""
        lines.append(f"{file.line(place):>6}  {style(where + place.missed + also, 'plain')}")
    if len(missed) > MAX_MISSED:
        lines.append(f"        and {len(missed) - MAX_MISSED} more; the JSON and the HTML report have all of them")
    return lines
