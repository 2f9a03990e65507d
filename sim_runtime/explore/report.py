"""The report of an exploration: JSON (interfaces page) and text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from analyzer.language.durations import format_duration
from sim_runtime.explore.ends import OUTCOMES
from sim_runtime.explore.exploration import Exploration, Finding, name_of, notable
from sim_runtime.explore.monitor import RULES
from sim_runtime.explore.summary import Cell, Chain, Example, Point, ordered
from sim_runtime.explore.table import COLUMNS, crash_points, placed
from sim_runtime.history.paths import UNDO

Json: TypeAlias = Any
Style: TypeAlias = Callable[[str, str], str]

VERSION: Final = 1
MAX_ROWS: Final = 200
MAX_SHOWN: Final = 20
#: What is said of steps that no run reached, by whether the exploration came to its end.
NEVER: Final = {True: "Steps that are never reached", False: "Steps that are not reached so far"}

#: Kinds of findings that make the exit code 1: all of them are rules of the profile.
TONES: Final = {
    "succeeded": "good",
    "stopped": "good",
    "failed": "bad",
    "aborted": "bad",
    "held": "wait",
    "cancelled": "bad",
    "suspended": "wait",
    "running": "wait",
}


def json_report(found: Exploration, files: Mapping[str, str]) -> dict[str, Json]:
    """The JSON of ``workfile explore``; ``files`` are the scenario files that were written, by what they are for."""
    summary = found.summary
    bounds = found.plan.bounds
    return {
        "version": VERSION,
        "workflow": found.plan.definition.workflow,
        "complete": found.complete,
        "states": summary.states,
        "runs": summary.runs,
        "outcomes": {status: summary.outcomes[status] for status in OUTCOMES if status in summary.outcomes},
        "crash_points": [_crash_point(point, cell, files) for point, cell in crash_points(summary)],
        "never": found.never,
        "findings": [
            {
                "kind": each.violation.kind,
                "path": each.violation.path,
                "message": each.violation.message,
                "scenario": files.get(f"{each.violation.kind} {each.violation.path}"),
                "steps": words(each.chain),
            }
            for each in found.findings
        ],
        "bounds": {
            "crashes": bounds.crashes,
            "deviations": bounds.deviations,
            "decisions": bounds.decisions,
            "cancellations": bounds.cancellations,
            "states": bounds.states,
        },
        "not_covered": not_covered(found),
        "worlds": found.worlds,
        "reached": {path: found.summary.reached.get(path, 0) for path in found.plan.steps},
        "effects": effects(found),
        "longest": {
            "time": format_duration(summary.longest[0]),
            "steps": words(summary.longest[1].chain),
        },
        "limits": [{"path": fact[1], "then": fact[2], "steps": words(chain)} for fact, chain in _facts(found, "limit")],
        "rounds": [{"states": list(fact[1:]), "steps": words(chain)} for fact, chain in _facts(found, "round")],
        "undo_orders": [
            {"path": fact[1], "order": list(fact[2:]), "steps": words(chain)} for fact, chain in _facts(found, "undo")
        ],
    }


def _crash_point(point: Point, cell: Cell, files: Mapping[str, str]) -> Json:
    path, when, record = point
    outcomes = ordered(set(cell.outcomes))
    names = [name_of(each, cell.changed[each]) for each in outcomes if each in cell.changed]
    return {
        "path": path,
        "point": when,
        "record": record,
        "outcomes": outcomes,
        "decided": ordered(cell.decided),
        "why": {status: cell.outcomes[status].why for status in outcomes if cell.outcomes[status].why},
        "expected": cell.expected,
        "scenario": next((files[each] for each in names if each in files), None),
    }


def words(chain: Chain) -> list[str]:
    """What goes otherwise, in words, the same thing again and again as one."""
    found: list[list[Any]] = []
    for each in chain:
        text = each.words.removesuffix(" again")
        if text != each.words and found and found[-1][0] == text:
            found[-1][1] += 1
        else:
            found.append([text, 1])
    return [text if count == 1 else f"{text}, {count} times" for text, count in found]


def _facts(found: Exploration, kind: str) -> list[tuple[tuple[str, ...], Chain]]:
    found_ones = [(fact, way.chain) for fact, way in found.summary.facts.items() if fact[0] == kind]
    return sorted(found_ones, key=lambda pair: pair[0])


def effects(found: Exploration) -> list[dict[str, Json]]:
    """How many effects of each step there are that were not undone: whether there is one at the end of every run, and
    how many there are at the most at any time."""
    summary = found.summary
    lines = sorted(summary.most.items(), key=lambda pair: (_place(found, pair[0][1]), pair[0]))
    return [
        {"action": line[0], "path": line[1], "fewest": int(line in (summary.always or ())), "most": most}
        for line, most in lines
    ]


def _place(found: Exploration, path: str) -> int:
    steps = found.plan.steps
    return steps.index(path) if path in steps else len(steps)


def not_covered(found: Exploration) -> list[str]:
    """What the exploration says nothing of."""
    bounds = found.plan.bounds
    lines = list(found.left)
    crashes, steps = counted(bounds.crashes, "crash"), counted(bounds.deviations, "step")
    lines.append(
        f"runs with more than {crashes}, more than {steps} at which answers or events are not the expected ones, "
        f"or more than {counted(bounds.decisions, 'decision')} of operators"
    )
    if found.unwritten:
        lines.append("scenarios of some of what was found: no time was left for them (`--budget`)")
    values = "values of inputs, results and events other than those that were made up"
    lines.append(values if bounds.cancellations else f"cancellation, and {values}")
    return lines


def counted(number: int, what: str) -> str:
    """``1 crash``, ``2 crashes``."""
    plural = {"crash": "crashes"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"


# ---- text ---------------------------------------------------------------------------------------


def text_report(found: Exploration, files: Mapping[str, str], style: Style) -> str:
    """The report for people."""
    return "\n".join(_text(found, files, style)) + "\n"


def _text(found: Exploration, files: Mapping[str, str], style: Style) -> Iterator[str]:
    summary = found.summary
    whole = "everything within the bounds" if found.complete else "not everything: see the end"
    size = f"{counted(summary.runs, 'way')} that a run can go, {counted(summary.states, 'state')}"
    yield f"{found.plan.definition.workflow}: {size}; {whole}"
    counts = [style(f"{summary.outcomes[each]:,} {each}", TONES[each]) for each in OUTCOMES if each in summary.outcomes]
    yield f"  they end as  {', '.join(counts) or 'nothing was followed to its end'}"
    if len(found.worlds) > 1:
        yield f"  from {len(found.worlds)} runs without deviations, which differ in:"
        yield from (style(f"    {each}", "plain") for each in found.worlds[1:MAX_SHOWN])
    yield ""
    if not found.nothing:
        yield from _matrix(found, style)
        yield from _questions(found, style)
    yield from _findings(found, files, style)
    yield "Not covered:"
    yield from (style(f"  {each}", "plain") for each in not_covered(found))


def rows(found: Exploration) -> dict[str, list[dict[str, Example]]]:
    """The matrix: for each step path the outcomes before and after each column, each with an example."""
    places: dict[str, list[dict[str, Example]]] = {}
    for place, position, cell in placed(found.summary):
        row = places.setdefault(place, [{} for _ in range(2 * len(COLUMNS))])
        for status, example in cell.outcomes.items():
            row[position].setdefault(status, example)
    order = {path: place for place, path in enumerate(found.plan.steps)}
    return dict(sorted(places.items(), key=lambda pair: (order.get(step_path(pair[0]), len(order)), pair[0])))


def step_path(path: str) -> str:
    """The step that a row is about."""
    return path.removesuffix(f".{UNDO}")


def _matrix(found: Exploration, style: Style) -> Iterator[str]:
    table = rows(found)
    if not table:
        return
    heads = [f"{point} {title}" for title, _ in COLUMNS for point in ("before", "after")]
    cells = {path: [_short(each) for each in row] for path, row in table.items()}
    shown = list(cells.items())[:MAX_ROWS]
    first = max(len("a crash"), *(len(path) for path, _ in shown))
    widths = [max(len(head), *(len(row[number]) for _, row in shown)) for number, head in enumerate(heads)]
    columns = [head.ljust(width) for head, width in zip(heads, widths, strict=True)]
    yield "  ".join(["a crash".ljust(first), *columns]).rstrip()
    for path, row in shown:
        parts = [style(path.ljust(first), "plain")]
        for number, text in enumerate(row):
            parts.append(style(text.ljust(widths[number]), tone_of(table[path][number])))
        yield "  ".join(parts).rstrip()
    if len(cells) > len(shown):
        yield f"… and {len(cells) - len(shown):,} more rows"
    yield ""
    whys = _whys(found)
    if whys:
        yield "Where a crash decides how the run ends:"
        yield from (style(f"  {each}", "plain") for each in whys[:MAX_SHOWN])
        if len(whys) > MAX_SHOWN:
            yield f"  … and {len(whys) - MAX_SHOWN:,} more"
        yield ""


def _short(outcomes: Mapping[str, Example]) -> str:
    return " | ".join(ordered(set(outcomes))) or "·"


def tone_of(outcomes: Mapping[str, Example]) -> str:
    """The tone of a cell: its worst."""
    tones = {TONES[each] for each in outcomes}
    return next((tone for tone in ("bad", "wait", "good") if tone in tones), "plain")


def _whys(found: Exploration) -> list[str]:
    """Crash points whose runs end in another way than without the crash, and what an operator makes of it."""
    lines = []
    for name, example in notable(found):
        status, _, _ = name.partition(" ")
        last = example.chain[-1]
        cells = [cell for (path, _, _), cell in found.summary.cells.items() if path == last.path]
        cells = [cell for cell in cells if status in cell.changed]
        expected = any(cell.expected for cell in cells)
        decided = set().union(*(cell.decided for cell in cells if cell.expected == expected))
        after = f"; after a decision: {', '.join(ordered(decided))}" if status == "held" and decided else ""
        why = f", {example.why}" if example.why else ""
        lines.append(f"{last.words}{_way(example.chain[:-1])}: {status}{why}{after}")
    return lines


def _questions(found: Exploration, style: Style) -> Iterator[str]:
    summary = found.summary
    often = [each for each in effects(found) if each["most"] > 1]
    yield "Effects that stand, at the fewest in the end and at the most at any time:"
    for each in effects(found)[:MAX_ROWS]:
        tone = "wait" if each in often else "plain"
        span = str(each["most"]) if each["fewest"] == each["most"] else f"{each['fewest']} to {each['most']}"
        said = ", so more than once" if each in often else ""
        yield style(f"  {each['action']} at {each['path']}: {span}{said}", tone)
    if not effects(found):
        yield "  none"
    paths = style(", ".join(found.unreached), "wait") if found.unreached else "none"
    yield f"{NEVER[found.ended]}: {paths}"
    time = format_duration(summary.longest[0])
    yield style(f"Longest run: {time}" + _way(summary.longest[1].chain), "plain")
    for fact, chain in _facts(found, "round"):
        yield style(f"Goes on for ever, round after round, through {', '.join(fact[1:])}" + _way(chain), "plain")
    for fact, chain in _facts(found, "limit"):
        scope = fact[1] or "the root scope"
        yield style(f"Recovery limit spent at {scope} (then {fact[2]})" + _way(chain), "plain")
    for fact, chain in _facts(found, "undo"):
        yield style(f"Undone, in this order: {', '.join(fact[2:])}" + _way(chain), "plain")
    yield ""


def _way(chain: Chain) -> str:
    said = words(chain)
    return f", when {'; '.join(said)}" if said else ""


def _findings(found: Exploration, files: Mapping[str, str], style: Style) -> Iterator[str]:
    if not found.findings:
        if not found.nothing:
            yield style(f"{healthy(found)}.", "good")
            yield ""
        return
    for each in found.findings:
        yield from _finding(each, files, style)
    if not files and found.fixed:
        yield "Write scenarios that play these with `--write-counterexamples DIR`."
    yield ""


def healthy(found: Exploration) -> str:
    """What is said where nothing was found."""
    where = "" if found.complete else " in what was explored"
    return f"No rule of the profile is broken{where}, and no effect happens twice or is lost against it"


def _finding(each: Finding, files: Mapping[str, str], style: Style) -> Iterator[str]:
    violation = each.violation
    place = f" at `{violation.path}`" if violation.path else ""
    yield style(f"{violation.kind}{place}: {violation.message}", "bad")
    yield f"  {RULES[violation.kind]}"
    for number, step in enumerate(words(each.chain), 1):
        yield style(f"  {number}. {step}", "plain")
    file = files.get(f"{violation.kind} {violation.path}")
    if file is not None:
        yield style(f"  {file}", "plain")
