"""Writes a picture in the DOT language of Graphviz."""

from __future__ import annotations

from typing import Final

from analyzer.flow.picture import Arrow, Box, Frame, Picture

_SHAPES: Final = {
    "action": 'shape=box, style="filled,rounded"',
    "wait": 'shape=hexagon, margin="0.02,0.02"',
    "call": "shape=box, peripheries=2",
    "value": "shape=parallelogram",
    "choice": "shape=diamond, margin=0.02",
    "fork": 'shape=box, fillcolor="#dddddd"',
    "point": "shape=point, width=0.09",
    "loop": 'shape=box, style="filled,rounded,dashed"',
    "state": 'shape=box, style="filled,rounded", fillcolor="#e8eef7"',
    "start": 'shape=ellipse, fillcolor="#e6f4ea"',
    "end": 'shape=ellipse, fillcolor="#e6f4ea"',
    "stop": 'shape=octagon, fillcolor="#eeeeee"',
}
_STYLES: Final = {
    "next": "",
    "back": 'style=dashed, color="#666666", fontcolor="#666666"',
    "catch": 'style=dotted, color="#8a4b08", fontcolor="#8a4b08", penwidth=1.4',
    "timer": 'style=dashed, color="#2b6cb0", fontcolor="#2b6cb0"',
    "redo": 'color="#c05621", fontcolor="#c05621", penwidth=1.6, constraint=false',
}
_MARKS: Final = {
    "information": 'color="#2b6cb0", penwidth=2',
    "warning": 'color="#b7791f", penwidth=2.5',
    "failing": 'color="#c05621", penwidth=2.5',
    "redone": 'fillcolor="#fff3cd"',
    "unsafe": 'fillcolor="#f8d7da", color="#c53030", penwidth=2.5',
    "error": 'color="#c53030", penwidth=2.5',
}
_FRAMES: Final = {
    "scope": 'style="rounded,dashed,filled", color="#2b6cb0", fontcolor="#2b6cb0", fillcolor="#f4f9ff"',
    "state": 'style="rounded,filled", color="#444444", fillcolor="#fafafa"',
    "loop": 'style="rounded,dotted,filled", color="#888888", fontcolor="#555555", fillcolor="#fdfdfd"',
    "part": 'style="rounded,filled", color="#bbbbbb", fontcolor="#555555", fillcolor="#fdfdfd"',
}


def to_dot(picture: Picture) -> str:
    """The text of a digraph, top down; frames are clusters."""
    lines = [
        "digraph workfile {",
        f"  label={_quoted([picture.title])}; labelloc=t; fontsize=15;",
        '  rankdir=TB; compound=true; nodesep=0.35; ranksep=0.4; newrank=true; fontname="Helvetica";',
        '  node [fontname="Helvetica", fontsize=11, style=filled, fillcolor="#ffffff", color="#555555"];',
        '  edge [fontname="Helvetica", fontsize=9, color="#555555", arrowsize=0.7];',
    ]
    for depth, part in picture.outline():
        indent = "  " * depth
        if isinstance(part, Box):
            lines.append(f"{indent}{_box(part)}")
        elif part is None:
            lines.append(f"{indent}}}")
        else:
            lines.append(f"{indent}subgraph cluster_{part.name} {{")
            lines.append(f"{indent}  label={_quoted(part.lines, 'l')}; labeljust=l; fontsize=10; {_frame(part)};")
    lines += [f"  {_arrow(picture, arrow)}" for arrow in picture.arrows]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    attributes = [f"label={_quoted(box.lines)}", _SHAPES[box.shape], *_identity(box)]
    attributes += [_MARKS[mark] for mark in _MARKS if mark in box.marks]
    return f"{box.name} [{', '.join(attributes)}];"


def _frame(frame: Frame) -> str:
    style = "; ".join([_FRAMES[frame.kind].replace(", ", "; "), *_identity(frame)])
    for mark in ("warning", "error"):
        if mark in frame.marks:
            style += "; " + _MARKS[mark].replace(", ", "; ")
    return style


def _identity(part: Box | Frame) -> list[str]:
    """An id for the element of an SVG that tells its step path: ``n3_charge:fulfil.charge``."""
    return [f"id={_quoted([f'{part.name}:{part.path}'])}"] if part.path else []


def _arrow(picture: Picture, arrow: Arrow) -> str:
    attributes = [f"label={_quoted([' ' + arrow.label + ' '])}"] if arrow.label else []
    if _STYLES[arrow.style]:
        attributes.append(_STYLES[arrow.style])
    if arrow.frame >= 0:
        attributes.append(f"ltail=cluster_{picture.frames[arrow.frame].name}")
    return f"{arrow.source} -> {arrow.target}" + (f" [{', '.join(attributes)}];" if attributes else ";")


def _quoted(lines: list[str], align: str = "") -> str:
    """A quoted label; ``align`` is the letter that ends each line (``l``: left), else they are centred."""
    escaped = []
    for line in lines:
        text = "".join(char if char.isprintable() else " " for char in line)
        escaped.append(text.replace("\\", "\\\\").replace('"', '\\"'))
    if align:
        return '"' + "".join(f"{line}\\{align}" for line in escaped) + '"'
    return '"' + "\\n".join(escaped) + '"'
