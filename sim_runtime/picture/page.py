"""A picture as one self-contained HTML page: the names stay in place while time scrolls, the run in words below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from analyzer.language.durations import format_duration
from sim_runtime.history.records import Record
from sim_runtime.markup import markup
from sim_runtime.picture.drawing import (
    chart_parts,
    chart_width,
    height,
    label_width,
    labels,
    lanes_of,
    legend,
    used_legend,
)
from sim_runtime.picture.reading import Picture
from sim_runtime.picture.style import stylesheet
from sim_runtime.timeline import timeline

#: Lines of the run in words that the page holds.
MAX_LINES: Final = 1_000

_STYLE: Final = """
:root { color-scheme: light dark; } body { margin: 0; padding: 20px 24px; font: 14px/1.5 system-ui, sans-serif;
color: #1c2330; background: #ffffff; } h1 { font-size: 20px; margin: 0 0 2px; } p { margin: 0 0 2px; color: #697386; }
.picture { display: flex; margin: 16px 0; border: 1px solid #dde2ea; border-radius: 6px; overflow: hidden; }
.picture > div { overflow-x: auto; min-width: 0; } .picture svg { display: block; flex: none; }
.names { border-right: 1px solid #dde2ea; } summary { cursor: pointer; margin: 12px 0 6px; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: 2px 16px 2px 0; text-align: left;
vertical-align: top; } td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.good { color: #1a7f4b; } td.bad { color: #c62828; } td.wait { color: #8a6d00; }
@media (prefers-color-scheme: dark) { body { color: #e4e8f0; background: #14181f; } p { color: #97a1b4; }
.picture, .names { border-color: #323a48; } td.good { color: #5fcf95; } td.bad { color: #ff7b72; }
td.wait { color: #e8c44a; } }
"""


def page(picture: Picture, records: Sequence[Record]) -> str:
    """The page."""
    return "".join(_page(picture, records))


def _page(picture: Picture, records: Sequence[Record]) -> Iterator[str]:
    title = f"{markup(picture.title)}: {markup(picture.status)}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
    yield f"<style>{_STYLE}{stylesheet()}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    for note in (*picture.facts, *picture.omissions):
        yield f"<p>{markup(note)}</p>\n"
    left, chart, high = label_width(picture), chart_width(picture), height(picture)
    yield '<div class="picture">\n'
    yield f'<svg class="names" width="{left}" height="{high}" role="img" aria-label="steps">\n'
    yield from lanes_of(picture, left, 0)
    yield from labels(picture, left)
    yield "</svg>\n<div>\n"
    yield f'<svg width="{chart}" height="{high}" role="img" aria-label="what happened, over virtual time">\n'
    yield from lanes_of(picture, chart, left)
    yield from chart_parts(picture)
    yield "</svg>\n</div>\n</div>\n"
    used = used_legend(picture)
    columns = 4
    yield f'<svg width="800" height="{18 * -(-len(used) // columns) + 8}" role="img" aria-label="legend">\n'
    yield '<g transform="translate(4 12)">\n'
    yield from legend(used, columns)
    yield "</g>\n</svg>\n"
    yield from _words(picture, records)
    yield "</body>\n</html>\n"


def _words(picture: Picture, records: Sequence[Record]) -> Iterator[str]:
    lines = list(islice(timeline(records, picture.start_us), MAX_LINES + 1))
    yield "<details>\n<summary>The run in words</summary>\n<table>\n"
    yield "<tr><th>time</th><th>step</th><th>what happened</th></tr>\n"
    for line in lines[:MAX_LINES]:
        since = format_duration(line.since_us)
        place, text = markup(line.path or "run"), markup(line.text)
        yield f'<tr><td>+{since}</td><td>{place}</td><td class="{line.tone}">{text}</td></tr>\n'
    yield "</table>\n"
    if len(lines) > MAX_LINES:
        yield f"<p>The first {MAX_LINES:,} lines; `workfile run` prints all of them.</p>\n"
    yield "</details>\n"
