"""Coverage as one self-contained HTML page that marks the sources: no script, nothing that is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzer.report.common import plural
from sim_runtime.coverage.measure import Coverage, WorkfileCoverage, percent
from sim_runtime.coverage.places import Place
from sim_runtime.coverage.report import Shown
from sim_runtime.markup import markup

#: Lines of one Workfile that are shown; a longer one is shown to here, and its list of what never happened in full.
MAX_LINES: Final = 5_000
#: Scenarios that a tooltip names.
MAX_NAMES: Final = 5

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2330; --dim: #697386; --page: #ffffff; --soft: #f4f6f9; --rule: #dde2ea;
  --good: #1a7f4b; --good-soft: #e3f5ea; --bad: #b3261e; --bad-soft: #fdeae8; --part: #8a5a00; --part-soft: #fdf3dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8f0; --dim: #97a1b4; --page: #14181f; --soft: #1c222c;
  --rule: #323a48; --good: #5fcf95; --good-soft: #16301f; --bad: #ff8f86; --bad-soft: #3a1c1a; --part: #f0c060;
  --part-soft: #352a12; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0 auto; padding: 24px;
  max-width: 1200px; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 36px 0 4px; }
p { margin: 4px 0 12px; color: var(--dim); } a { color: inherit; }
table.files { border-collapse: collapse; width: 100%; margin: 16px 0; }
.files th { text-align: left; font-weight: 600; color: var(--dim); }
.files td, .files th { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); }
.files .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { width: 160px; height: 8px; border-radius: 4px; background: var(--bad-soft); overflow: hidden; }
.bar i { display: block; height: 8px; background: var(--good); }
.source { border: 1px solid var(--rule); border-radius: 6px; overflow-x: auto; padding: 6px 0; }
.source table { border-collapse: collapse; font: 12.5px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.source td { padding: 0 10px; vertical-align: top; white-space: pre; }
.source .number { text-align: right; color: var(--dim); user-select: none; border-right: 3px solid transparent; }
tr.good .number { border-color: var(--good); } tr.bad .number { border-color: var(--bad); }
tr.part .number { border-color: var(--part); }
tr.bad td { background: var(--bad-soft); } tr.part td { background: var(--part-soft); }
.source table { width: 100%; } .source td.number { width: 1px; }
.words { color: var(--bad); font: 12px/1.4 system-ui, sans-serif; white-space: normal; max-width: 90ch;
  padding: 0 0 3px 2ch; }
tr.part .words { color: var(--part); }
mark { border-radius: 3px; padding: 0 1px; color: inherit; } mark.good { background: var(--good-soft); }
mark.bad { background: var(--bad-soft); box-shadow: inset 0 -2px var(--bad); }
mark.part { background: var(--part-soft); box-shadow: inset 0 -2px var(--part); }
.legend mark { padding: 1px 6px; margin-right: 10px; }
"""


def coverage_page(coverage: Coverage, shown: Shown) -> str:
    """The page."""
    return "".join(_page(coverage, shown))


def _page(coverage: Coverage, shown: Shown) -> Iterator[str]:
    share = percent(coverage.covered, coverage.total)
    count = len(coverage.scenarios)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Coverage of Workfiles</title>\n'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{share:.1f} % of what can happen has happened</h1>\n"
    yield f"<p>{coverage.covered} of {coverage.total} places in {plural(len(coverage.files), 'Workfile')}, over "
    yield f"{plural(count, 'scenario')}. A place is a step that runs, a side of a branch or a guard, an outcome of an "
    yield "action or a wait, a handler, a route, a timer, an undo, a recovery.</p>\n"
    yield '<p class="legend"><mark class="good">happened</mark><mark class="part">happened in part</mark>'
    yield '<mark class="bad">never happened</mark>Hold the pointer over a marked word to see more.</p>\n'
    files = coverage.sorted_files()
    yield '<table class="files">\n<tr><th>Workfile</th><th></th>'
    yield '<th class="number">places</th><th class="number"></th></tr>\n'
    for number, file in enumerate(files):
        yield _row(number, shown(file.path), file)
    yield "</table>\n"
    for number, file in enumerate(files):
        yield from _section(number, shown(file.path), file, coverage.scenarios)
    yield "</body>\n</html>\n"


def _row(number: int, name: str, file: WorkfileCoverage) -> str:
    share = percent(file.covered, file.total)
    kinds = ", ".join(f"{kind} {covered} of {total}" for kind, (covered, total) in file.by_kind().items())
    return (
        f'<tr><td><a href="#f{number}">{markup(name)}</a></td><td title="{markup(kinds)}">'
        f'<div class="bar"><i style="width:{share:g}%"></i></div></td>'
        f'<td class="number">{file.covered} of {file.total}</td><td class="number">{share:.1f} %</td></tr>\n'
    )


def _section(number: int, name: str, file: WorkfileCoverage, scenarios: list[str]) -> Iterator[str]:
    yield f'<section id="f{number}">\n<h2>{markup(name)}</h2>\n'
    if not file.played:
        yield "<p>No scenario plays this Workfile.</p>\n"
    else:
        kinds = (f"{kind} {covered} of {total}" for kind, (covered, total) in file.by_kind().items())
        yield f"<p>{markup(' · '.join(kinds))}</p>\n"
    yield '<div class="source"><table>\n'
    by_line: dict[int, list[Place]] = {}
    for place in file.places:
        by_line.setdefault(file.line(place), []).append(place)
    words: dict[int, list[str]] = {}
    for place, more in file.missed():
        also = "" if not more else f" (+{more})"
        words.setdefault(file.line(place), []).append(place.missed + also)
    count = file.source.line_count
    if count > 1 and not file.source.line_text(count - 1):
        count -= 1  # the empty line after the last line break
    for line in range(1, min(count, MAX_LINES) + 1):
        yield _line(file, line, by_line.get(line, []), words.get(line, []), scenarios)
    yield "</table></div>\n"
    if count > MAX_LINES:
        yield f"<p>{count - MAX_LINES} more lines are left out. What never happened in them:</p>\n<ul>\n"
        for line in sorted(line for line in words if line > MAX_LINES):
            yield f"<li>line {line}: {markup('; '.join(words[line]))}</li>\n"
        yield "</ul>\n"
    yield "</section>\n"


def _line(file: WorkfileCoverage, line: int, places: list[Place], words: list[str], scenarios: list[str]) -> str:
    state = _state(places)
    text = "".join(_marked(file, line, places, scenarios))
    opening = f'<tr class="{state}">' if state else "<tr>"
    said = f'<div class="words">{markup("; ".join(words))}</div>' if words else ""
    return f'{opening}<td class="number">{line}</td><td>{text}{said}</td></tr>\n'


def _state(places: list[Place]) -> str:
    hits = [place.hits > 0 for place in places]
    if not hits:
        return ""
    return "good" if all(hits) else "part" if any(hits) else "bad"


def _marked(file: WorkfileCoverage, line: int, places: list[Place], scenarios: list[str]) -> Iterator[str]:
    """The text of a line with the words that places stand at marked; a place inside another's words is told there."""
    start = file.source.line_start(line - 1)
    text = file.source.line_text(line - 1)
    position = 0
    spans: list[tuple[int, int, list[Place]]] = []
    for place in places:
        first, last = place.start - start, min(place.end - start, len(text))
        if spans and first < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]), [*spans[-1][2], place])
        else:
            spans.append((first, last, [place]))
    for first, last, inside in spans:
        title = "\n".join(_told(place, scenarios) for place in inside)
        yield markup(text[position:first])
        yield f'<mark class="{_state(inside)}" title="{markup(title)}">{markup(text[first:last])}</mark>'
        position = last
    yield markup(text[position:])


def _told(place: Place, scenarios: list[str]) -> str:
    where = f"{place.path} " if place.path else ""
    if not place.hits:
        return f"{where}{place.missed}"
    names = [scenarios[number] for number in place.scenarios[:MAX_NAMES]]
    more = len(place.scenarios) - len(names)
    also = f" and {more} more" if more else ""
    times = "once" if place.hits == 1 else f"{place.hits} times"
    return f"{where}{place.kind} {place.outcome}: {times}, in {', '.join(names)}{also}"
