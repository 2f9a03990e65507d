"""The report as one self-contained HTML page: the matrix over the source, each cell that is worth it linked to the
picture of a run that shows it. Without scripts; the same for the same exploration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from analyzer.language.durations import format_duration
from analyzer.model.nodes import all_steps
from sim_runtime.explore.ends import OUTCOMES
from sim_runtime.explore.exploration import Exploration
from sim_runtime.explore.monitor import RULES
from sim_runtime.explore.report import (
    NEVER,
    TONES,
    counted,
    effects,
    healthy,
    not_covered,
    rows,
    step_path,
    tone_of,
    words,
)
from sim_runtime.explore.scenarios import Written, simulated, text_of
from sim_runtime.explore.summary import Chain, Example, ordered
from sim_runtime.explore.table import COLUMNS
from sim_runtime.markup import markup
from sim_runtime.picture import picture_of
from sim_runtime.picture.drawing import svg

MAX_PICTURES: Final = 60
MAX_LINES: Final = 5_000

_STYLE: Final = """
:root { color-scheme: light dark; } body { margin: 0; padding: 20px 24px; font: 14px/1.5 system-ui, sans-serif;
color: #1c2330; background: #ffffff; } h1 { font-size: 20px; margin: 0 0 2px; } h2 { font-size: 16px; margin: 28px 0
6px; } p, ul, ol { margin: 2px 0 6px; color: #4c566a; } a { color: inherit; } .scroll { overflow-x: auto; } table.source
{ border-collapse: collapse; font: 12.5px/1.6 ui-monospace, 'DejaVu Sans Mono', monospace; } table.source td,
table.source th { padding: 0 8px; white-space: pre; text-align: left; font-weight: normal; } table.source th { font:
11px/1.3 system-ui, sans-serif; white-space: normal; vertical-align: bottom; color: #697386; } td.line { color: #97a1b4;
text-align: right; border-left: 1px solid #dde2ea; } td.what { color: #697386; font-style: italic; } td.cell { border:
1px solid #ffffff; text-align: center; font: 11px/1.5 system-ui, sans-serif; } .good { background: #d9f0e2; } .bad {
background: #fbe0dd; } .wait { background: #fbefc9; } section { border-top: 1px solid #dde2ea; margin-top: 26px; }
section:target h2 { background: #fbefc9; } pre { background: #f2f4f8; padding: 10px 12px; overflow-x: auto; } summary {
cursor: pointer; color: #697386; } .finding { color: #c62828; } @media (prefers-color-scheme: dark) { body { color:
#e4e8f0; background: #14181f; } p, ul, ol { color: #b4bccb; } .good { background: #19402b; } .bad { background: #4a2220;
} .wait { background: #4d3f12; } pre { background: #1c222c; } td.cell { border-color: #14181f; } td.line { border-color:
#323a48; } section { border-color: #323a48; } section:target h2 { background: #4d3f12; } .finding { color: #ff7b72; } }
"""


#: The picture for a step and an outcome.
Places: TypeAlias = "dict[tuple[str, str], int]"


@dataclass(slots=True)
class Shown:
    """A run that has a picture on the page."""

    title: str
    chain: Chain
    written: Written
    finding: bool = False


def _said(text: str) -> str:
    """Words as markup, names in backticks as code."""
    parts = markup(text).split("`")
    if len(parts) % 2 == 0:
        return markup(text)
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def page(found: Exploration) -> str:
    """The page."""
    pictures, places = _pictures(found)
    return "".join(_page(found, pictures, places))


def _page(found: Exploration, pictures: list[Shown], places: Places) -> Iterator[str]:
    summary, name = found.summary, markup(found.plan.definition.workflow)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{name}, explored</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{name}, explored</h1>\n"
    whole = "everything within the bounds" if found.complete else "not everything within the bounds"
    yield f"<p>{counted(summary.runs, 'way')} that a run can go, {counted(summary.states, 'state')}; {whole}. "
    yield "They end as "
    counts = [f"{summary.outcomes[each]:,} {each}" for each in OUTCOMES if each in summary.outcomes]
    yield f"{markup(', '.join(counts))}.</p>\n"
    yield from _findings(found, pictures)
    yield "<h2>What a crash does</h2>\n<p>At each step, for a crash before and after each record: how the run ends "
    yield "when nothing else deviates. A linked cell leads to a run that shows it.</p>\n"
    yield from _source(found, places)
    yield from _answers(found)
    for number, shown in enumerate(pictures):
        yield from _picture(found, number, shown)
    yield "</body>\n</html>\n"


def _findings(found: Exploration, pictures: list[Shown]) -> Iterator[str]:
    if not found.findings:
        if not found.nothing:
            yield f"<p>{healthy(found)}.</p>\n"
        return
    yield "<ul>\n"
    for each in found.findings:
        violation = each.violation
        text = f"{violation.kind} at {violation.path or 'the run'}: {violation.message}"
        number = next((place for place, shown in enumerate(pictures) if shown.title == text), None)
        inside = _said(text) if number is None else f'<a href="#run-{number}">{_said(text)}</a>'
        yield f'<li class="finding">{inside}</li>\n'
    yield "</ul>\n"


def _pictures(found: Exploration) -> tuple[list[Shown], Places]:
    """The runs to draw: each finding's, and one for every step and outcome that a calm run does not have."""
    pictures: list[Shown] = []
    for each in found.findings:
        if each.written is not None and len(pictures) < MAX_PICTURES:
            violation = each.violation
            title = f"{violation.kind} at {violation.path or 'the run'}: {violation.message}"
            pictures.append(Shown(title, each.chain, each.written, finding=True))
    calm = {
        status
        for status, example in found.summary.examples.items()
        if all(each.kind == "world" for each in example.chain)
    }
    places: Places = {}
    for path, row in rows(found).items():
        for column in row:
            for status, example in column.items():
                if status in calm or (path, status) in places or len(pictures) >= MAX_PICTURES:
                    continue
                written = found.scenario(example)
                if written is not None:
                    places[path, status] = len(pictures)
                    pictures.append(Shown(f"{path}: {status}", example.chain, written))
    return pictures, places


# ---- the source ---------------------------------------------------------------------------------


def _source(found: Exploration, places: Places) -> Iterator[str]:
    workflow = found.plan.prepared.workflow
    document = found.plan.prepared.project.document(workflow.path)
    table = rows(found)
    yield '<div class="scroll"><table class="source">\n<tr>'
    for title, _ in COLUMNS:
        yield f"<th>before {title}</th><th>after {title}</th>"
    yield "<th></th><th></th></tr>\n"
    assert document is not None
    source = document.tree.source
    by_line: dict[int, list[str]] = {}
    lines = {step.path: source.line_of(step.id_node.start) for step in all_steps(workflow)}
    for path in table:
        step = step_path(path)
        if step in lines:
            by_line.setdefault(lines[step], []).append(path)
    count = min(source.line_count, MAX_LINES)
    for line in range(count):
        text = source.line_text(line)
        if line == count - 1 and not text:
            continue
        here = by_line.get(line, [])
        row = table[here[0]] if here else None
        yield _row(row, here[0] if here else "", places, str(line + 1), markup(text), "code")
        for path in here[1:]:
            yield _row(table[path], path, places, "", f"      {markup(path)}", "what")
    for path in table:
        if step_path(path) not in lines:
            yield _row(table[path], path, places, "", markup(path), "what")
    yield "</table></div>\n"


def _row(
    row: list[dict[str, Example]] | None,
    path: str,
    places: Places,
    line: str,
    text: str,
    kind: str,
) -> str:
    cells = "".join(_cell(path, column, places) for column in row) if row is not None else "<td></td>" * 6
    return f'<tr>{cells}<td class="line">{line}</td><td class="{kind}">{text}</td></tr>\n'


def _cell(path: str, outcomes: dict[str, Example], places: Places) -> str:
    if not outcomes:
        return "<td></td>"
    parts = []
    for status in ordered(set(outcomes)):
        number = places.get((path, status))
        parts.append(status if number is None else f'<a href="#run-{number}">{status}</a>')
    title = "; ".join(f"{status}: {example.why}" for status, example in outcomes.items() if example.why)
    return f'<td class="cell {tone_of(outcomes)}" title="{markup(title)}">{" | ".join(parts)}</td>'


# ---- the rest -----------------------------------------------------------------------------------


def _answers(found: Exploration) -> Iterator[str]:
    summary = found.summary
    yield "<h2>Answers</h2>\n<ul>\n"
    for each in effects(found):
        span = str(each["most"]) if each["fewest"] == each["most"] else f"{each['fewest']} to {each['most']}"
        times = "once" if span == "1" else f"{span} times"
        yield f"<li>{markup(each['action'])} at {markup(each['path'])} stands {times} in the end</li>\n"
    unreached = ", ".join(found.unreached) or "none"
    yield f"<li>{NEVER[found.ended].lower()}: {markup(unreached)}</li>\n"
    longest = "; ".join(words(summary.longest[1].chain)) or "nothing deviates"
    yield f"<li>the longest run takes {format_duration(summary.longest[0])}: {_said(longest)}</li>\n"
    for fact, example in sorted(summary.facts.items(), key=lambda pair: pair[0]):
        way = "; ".join(words(example.chain)) or "nothing deviates"
        if fact[0] == "round":
            said = f"goes on for ever, round after round, through {', '.join(fact[1:])}: {way}"
        elif fact[0] == "limit":
            said = f"the recovery limit of {fact[1] or 'the root scope'} is spent (then {fact[2]}): {way}"
        else:
            said = f"undone in this order: {', '.join(fact[2:])}: {way}"
        yield f"<li>{_said(said)}</li>\n"
    for text in not_covered(found):
        yield f"<li>not covered: {_said(text)}</li>\n"
    yield "</ul>\n"


def _picture(found: Exploration, number: int, shown: Shown) -> Iterator[str]:
    written = shown.written
    simulation = simulated(found.plan.prepared, written.parts)
    if simulation is None:
        return
    tone = "bad" if shown.finding else TONES[written.end.status]
    yield f'<section id="run-{number}">\n<h2 class="{tone}">{_said(shown.title)}</h2>\n'
    if shown.finding:
        yield f"<p>{_said(RULES[shown.title.partition(' ')[0]])}</p>\n"
    yield "<ol>\n" + "".join(f"<li>{_said(each)}</li>\n" for each in words(shown.chain)) + "</ol>\n"
    yield f"<p>It ends as {written.end.status}. {_said(written.end.why)}</p>\n"
    yield f'<div class="scroll">\n{svg(picture_of(simulation.run, simulation.report))}</div>\n'
    text = text_of(found.plan, written.parts, written.end, [shown.title], found.plan.prepared.workflow.path)
    yield f"<details><summary>As a scenario, beside the Workfile</summary><pre>{markup(text)}</pre></details>\n"
    yield "</section>\n"
