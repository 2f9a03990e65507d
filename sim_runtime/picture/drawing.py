"""Draws a picture as SVG: names on the left, virtual time to the right. Coordinates are pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzer.language.durations import format_duration
from analyzer.report.width import widths
from sim_runtime.history.encoding import time_text
from sim_runtime.markup import markup
from sim_runtime.picture.axis import Gap
from sim_runtime.picture.reading import Line, Picture
from sim_runtime.picture.rows import Bar, Mark
from sim_runtime.picture.style import LEGEND, SHAPES, stylesheet

ROW: Final = 24
HEAD: Final = 46
_INDENT: Final = 13
_LETTER: Final = 6.7
_SMALL: Final = 5.9
_LABELS_MIN: Final = 130
_LABELS_MAX: Final = 420
_LABEL_LETTERS: Final = 48
_MARGIN: Final = 14
_LEGEND_COLUMN: Final = 196
_RIGHT: Final = 72


def label_width(picture: Picture) -> int:
    """How wide the names are."""
    widest = max(
        (row.depth * _INDENT + _wide(_cut(row.label), _LETTER) + _wide(_cut(row.note), _SMALL) for row in picture.rows),
        default=0,
    )
    return int(min(max(widest + 34, _LABELS_MIN), _LABELS_MAX))


def chart_width(picture: Picture) -> int:
    """How wide the part is that shows time."""
    return int(picture.axis.width) + _RIGHT


def height(picture: Picture) -> int:
    """How high both are."""
    return HEAD + ROW * len(picture.rows) + 8


def svg(picture: Picture) -> str:
    """The picture as one SVG file."""
    left, chart, high = label_width(picture), chart_width(picture), height(picture)
    notes = [*picture.facts, *picture.omissions]
    top = 34 + 16 * len(notes)
    columns = max(1, min(4, (left + chart - 2 * _MARGIN) // _LEGEND_COLUMN))
    used = _used(picture)
    foot = 18 * -(-len(used) // columns) + 20
    need = max(_wide(text, _LETTER) for text in [*notes, f"{picture.title}: {picture.status}" + " " * 12])
    width = int(max(left + chart, columns * _LEGEND_COLUMN + 2 * _MARGIN, need + 2 * _MARGIN))
    total = top + high + foot
    size = f'width="{width}" height="{total}" viewBox="0 0 {width} {total}"'
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n',
            f"<title>{markup(picture.title)}: {markup(picture.status)}</title>\n<style>{stylesheet()}</style>\n",
            f'<rect class="page" width="{width}" height="{total}"/>\n',
            f'<text class="ink title" x="{_MARGIN}" y="26">{markup(picture.title)}: {markup(picture.status)}</text>\n',
            *(
                f'<text class="dim" x="{_MARGIN}" y="{46 + 16 * number}">{markup(note)}</text>\n'
                for number, note in enumerate(notes)
            ),
            f'<g transform="translate(0 {top})">\n',
            *_lanes(picture, left + chart),
            *labels(picture, left),
            f'<g transform="translate({left} 0)">\n',
            *chart_parts(picture),
            "</g>\n</g>\n",
            f'<g transform="translate({_MARGIN} {top + high + 14})">\n',
            *legend(used, columns),
            "</g>\n</svg>\n",
        )
    )


def labels(picture: Picture, width: int) -> Iterator[str]:
    """The names of the rows."""
    for number, row in enumerate(picture.rows):
        y = HEAD + ROW * number
        x = 10 + row.depth * _INDENT
        label = _cut(row.label)
        room = max(4, int((width - x - _wide(label, _LETTER) - 14) / _SMALL))
        note = row.note if len(row.note) <= room else row.note[: room - 1] + "…"
        weight = ' font-weight="600"' if row.lane else ""
        yield f'<g><title>{markup(row.label)} {markup(row.note)}</title><text x="{x}" y="{y + 16}">'
        yield f'<tspan class="ink"{weight}>{markup(label)}</tspan>'
        if note:
            yield f'<tspan class="dim small" dx="6">{markup(note)}</tspan>'
        yield "</text></g>\n"
        yield f'<path class="rule" d="M{x} {y + ROW - 0.5} H{width}"/>\n'


def _lanes(picture: Picture, width: int) -> Iterator[str]:
    """A tint behind each lane and all that it holds."""
    for number, row in enumerate(picture.rows):
        if row.lane and row.lane != "run":
            end = number + 1
            while end < len(picture.rows) and picture.rows[end].depth > row.depth:
                end += 1
            x = 4 + row.depth * _INDENT
            high = ROW * (end - number) - 3
            y = HEAD + ROW * number + 1
            yield f'<rect class="lane" x="{x}" y="{y}" width="{width - x}" height="{high}" rx="4"/>\n'


def lanes_of(picture: Picture, width: int, shift: int) -> Iterator[str]:
    """The tints for a part of the picture that begins ``shift`` pixels from the left."""
    yield f'<g transform="translate({-shift} 0)">\n'
    yield from _lanes(picture, width + shift)
    yield "</g>\n"


def chart_parts(picture: Picture) -> Iterator[str]:
    """What happened: time, bars, marks and lines."""
    width, high = chart_width(picture), height(picture)
    for gap in picture.axis.gaps:
        yield _gap(gap, high)
    yield from _ticks(picture, high)
    for number in range(len(picture.rows)):
        yield f'<path class="rule" d="M0 {HEAD + ROW * (number + 1) - 0.5} H{width}"/>\n'
    for line in picture.lines:
        yield from _line(picture, line, high)
    for number, row in enumerate(picture.rows):
        middle = HEAD + ROW * number + ROW / 2 - 0.5
        for bar in sorted(row.bars, key=lambda bar: bar.kind != "step"):
            yield _bar(picture, bar, middle)
        for place in sorted(row.marks):
            yield _mark(picture, place, row.marks[place], middle)


def _gap(gap: Gap, high: int) -> str:
    text = format_duration(gap.us)
    shown = text if _wide(text, _SMALL) <= gap.width - 4 else "…"
    middle = gap.x + gap.width / 2
    return (
        f'<g><title>{text} pass</title><rect class="gap" x="{gap.x}" y="0" width="{gap.width}" height="{high}"/>'
        f'<text class="dim small" x="{middle:.1f}" y="14" text-anchor="middle">{shown}</text></g>\n'
    )


def _ticks(picture: Picture, high: int) -> Iterator[str]:
    """The time at the beginning of each instant; a label that has no room is left to the tooltip."""
    free = 0.0
    before: int | None = None
    for moment in picture.axis.moments:
        if moment.at == before:
            continue
        before = moment.at
        text = f"+{format_duration(moment.at - picture.start_us)}"
        title = f"<title>{text}, {time_text(moment.at)}</title>"
        yield f'<g>{title}<path class="tick" d="M{moment.x} 36 V{high}"/>'
        if moment.x >= free:
            yield f'<text class="ink small" x="{moment.x}" y="32">{text}</text>'
            free = moment.x + _wide(text, _SMALL) + 8
        yield "</g>\n"


_LINES: Final = {"crash": "bad crash", "generation": "again generation", "cancel": "bad", "end": "tick"}
_LINE_WORDS: Final = {"crash": "bad-fill", "generation": "again-fill", "cancel": "bad-fill", "end": "ink"}


def _line(picture: Picture, line: Line, high: int) -> Iterator[str]:
    axis = picture.axis
    x = axis.x(line.place)
    yield f"<g><title>{markup(line.title)}</title>"
    crash = axis.moments[line.place].crash
    if crash is not None and crash.back is not None and crash.back > crash.at:
        width = axis.x(line.place + 1) - x
        yield f'<rect class="bad-fill down" x="{x}" y="36" width="{width:.1f}" height="{high - 36}"/>'
    at = x if line.kind in ("crash", "generation", "cancel") else x + axis.slot
    yield f'<path class="{_LINES[line.kind]}" d="M{at:.1f} 38 V{high}"/>'
    yield f'<text class="{_LINE_WORDS[line.kind]} small" x="{at + 3:.1f}" y="44">{markup(line.text)}</text></g>\n'


def _bar(picture: Picture, bar: Bar, middle: float) -> str:
    axis = picture.axis
    x = axis.x(bar.start)
    end = axis.width + _RIGHT - 10 if bar.end is None else axis.x(bar.end)
    width = max(end - x, 5.0)
    stale = " stale" if bar.stale else ""
    title = bar.title if bar.end is not None else f"{bar.title}; it goes on"
    if bar.kind == "retry":
        shape = f'<path class="retry{stale}" d="M{x:.1f} {middle} H{x + width:.1f}"/>'
    else:
        half = 8.0 if bar.kind == "step" else 4.0
        name = f"step-{bar.outcome}" if bar.kind == "step" and bar.outcome else bar.kind
        open_end = ' stroke-dasharray="4 2"' if bar.end is None and bar.kind == "step" else ""
        shape = (
            f'<rect class="{name}{stale}" x="{x:.1f}" y="{middle - half:.1f}" width="{width:.1f}" '
            f'height="{2 * half:.0f}" rx="3"{open_end}/>'
        )
    return f"<g><title>{markup(title)}</title>{shape}</g>\n"


def _mark(picture: Picture, place: int, mark: Mark, middle: float) -> str:
    title = "\n".join(mark.lines)
    x = picture.axis.x(place)
    halo = '<circle class="halo" r="5.6" fill-opacity=".7"/>'
    return f'<g transform="translate({x} {middle})"><title>{markup(title)}</title>{halo}{SHAPES[mark.kind]}</g>\n'


# ---- the legend ---------------------------------------------------------------------------------


def _used(picture: Picture) -> list[str]:
    """What of the legend is in the picture."""
    found = {f"line:{line.kind}" for line in picture.lines}
    for row in picture.rows:
        found.update(mark.kind for mark in row.marks.values())
        for bar in row.bars:
            found.add(f"bar:{bar.kind}-{bar.outcome}" if bar.kind == "step" and bar.outcome else f"bar:{bar.kind}")
            if bar.stale:
                found.add("bar:stale")
    return [each for each in LEGEND if each in found]


def used_legend(picture: Picture) -> list[str]:
    """The entries of the legend that the picture needs."""
    return _used(picture)


def legend(entries: list[str], columns: int) -> Iterator[str]:
    """What the shapes mean."""
    for number, entry in enumerate(entries):
        x, y = number % columns * _LEGEND_COLUMN, number // columns * 18
        kind, _, name = entry.rpartition(":")
        if kind == "line":
            shape = f'<path class="{_LINES[name]}" d="M7 -7 V7"/>'
        elif not kind:
            shape = f'<g transform="translate(7 0)">{SHAPES[name]}</g>'
        elif name == "retry":
            shape = '<path class="retry" d="M0 0 H14"/>'
        else:
            half = 6 if name.startswith("st") else 4
            shown = "step stale" if name == "stale" else name
            shape = f'<rect class="{shown}" x="0" y="{-half}" width="14" height="{2 * half}" rx="3"/>'
        yield f'<g transform="translate({x} {y})">{shape}<text class="dim" x="22" y="4">{LEGEND[entry]}</text></g>\n'


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL_LETTERS else text[: _LABEL_LETTERS - 1] + "…"


def _wide(text: str, letter: float) -> float:
    return sum(widths(text)) * letter
