"""Writes a picture as a Mermaid flowchart."""

from __future__ import annotations

from typing import Final

from analyzer.flow.picture import Arrow, Box, Frame, Picture

_OPEN_CLOSE: Final = {
    "action": ("[", "]"),
    "wait": ("{{", "}}"),
    "call": ("[[", "]]"),
    "value": ("[/", "/]"),
    "choice": ("{", "}"),
    "fork": ("[", "]"),
    "point": ("((", "))"),
    "loop": (">", "]"),
    "state": ("([", "])"),
    "start": ("([", "])"),
    "end": ("([", "])"),
    "stop": ("([", "])"),
}
_LINES: Final = {"next": "-->", "back": "-.->", "catch": "-.->", "timer": "-.->", "redo": "==>"}
_CLASSES: Final = {
    "point": "fill:#777,stroke:#777",
    "fork": "fill:#ddd,stroke:#555",
    "stop": "fill:#eee,stroke:#555",
    "information": "stroke:#2b6cb0,stroke-width:2px",
    "warning": "stroke:#b7791f,stroke-width:3px",
    "failing": "stroke:#c05621,stroke-width:3px,stroke-dasharray:4 2",
    "redone": "fill:#fff3cd",
    "unsafe": "fill:#f8d7da,stroke:#c53030,stroke-width:3px",
    "error": "stroke:#c53030,stroke-width:3px",
}
_FRAMES: Final = {
    "scope": ("#f4f9ff", "#2b6cb0", ",stroke-dasharray:6 3"),
    "state": ("#fafafa", "#444", ""),
    "loop": ("#fcfcfc", "#888", ",stroke-dasharray:2 2"),
    "part": ("#fcfcfc", "#bbb", ""),
}


def to_mermaid(picture: Picture) -> str:
    """The text of a flowchart, top down; frames are subgraphs."""
    lines = ["flowchart TD"]
    for depth, part in picture.outline():
        indent = "  " * depth
        if isinstance(part, Box):
            lines.append(f"{indent}{_box(part)}")
        elif part is None:
            lines.append(f"{indent}end")
        else:
            lines.append(f'{indent}subgraph {part.name}["{_text(part.lines)}"]')
    redo: list[int] = []
    for position, arrow in enumerate(picture.arrows):
        lines.append("  " + _arrow(picture, arrow))
        if arrow.style == "redo":
            redo.append(position)
    if redo:
        lines.append(f"  linkStyle {','.join(map(str, redo))} stroke:#c05621,color:#c05621")
    lines += _styles(picture)
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    start, end = _OPEN_CLOSE[box.shape]
    return f'{box.name}{start}"{_text(box.lines) or " "}"{end}'


def _arrow(picture: Picture, arrow: Arrow) -> str:
    source = picture.frames[arrow.frame].name if arrow.frame >= 0 else arrow.source
    label = f'|"{_text([arrow.label])}"|' if arrow.label else ""
    return f"{source} {_LINES[arrow.style]}{label} {arrow.target}"


def _styles(picture: Picture) -> list[str]:
    lines: list[str] = []
    for name, style in _CLASSES.items():
        members = [box.name for box in picture.boxes if name in box.marks or name == box.shape]
        if members:
            lines += [f"  classDef {name} {style}", f"  class {','.join(members)} {name}"]
    for frame in picture.frames:
        lines.append(f"  style {frame.name} {_frame_style(frame)}")
    return lines


def _frame_style(frame: Frame) -> str:
    fill, stroke, dashes = _FRAMES[frame.kind]
    for mark, colour in (("error", "#c53030"), ("warning", "#b7791f")):
        if mark in frame.marks:
            return f"fill:{fill},stroke:{colour},stroke-width:3px{dashes}"
    return f"fill:{fill},stroke:{stroke}{dashes}"


def _text(lines: list[str]) -> str:
    """Text inside quotes: what Mermaid or HTML would read is escaped."""
    escaped = []
    for line in lines:
        text = line.replace("&", "&amp;").replace("#", "&num;").replace('"', "&quot;")
        text = text.replace("<", "&lt;").replace(">", "&gt;").replace("`", "&#96;")
        escaped.append("".join(char if char.isprintable() else " " for char in text))
    return "<br>".join(escaped)
