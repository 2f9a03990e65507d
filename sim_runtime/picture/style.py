"""How things look: one table of colours for light and dark, and the shape of each mark."""

from __future__ import annotations

from typing import Final

#: Class to (attribute, light, dark). Several attributes have several lines.
_COLOURS: Final = (
    ("page", "fill", "#ffffff", "#14181f"),
    ("gap", "fill", "#f2f4f8", "#1c222c"),
    ("lane", "fill", "#5b7aa6", "#7f9cc8"),
    ("rule", "stroke", "#e3e7ee", "#2a3140"),
    ("tick", "stroke", "#c3cad6", "#3d4657"),
    ("ink", "fill", "#1c2330", "#e4e8f0"),
    ("dim", "fill", "#697386", "#97a1b4"),
    ("step", "fill", "#dbe7fb", "#22375a"),
    ("step", "stroke", "#7ea2dd", "#5d86c8"),
    ("step-good", "fill", "#d9f0e2", "#19402b"),
    ("step-good", "stroke", "#6fb88f", "#4f9a70"),
    ("step-bad", "fill", "#fbe0dd", "#4a2220"),
    ("step-bad", "stroke", "#e09089", "#b8615a"),
    ("call", "fill", "#2f6fd6", "#6ea1f0"),
    ("wait", "fill", "#f3d279", "#8a6d1c"),
    ("retry", "stroke", "#b8860b", "#e0b040"),
    ("hold", "fill", "#e57368", "#c4554b"),
    ("undo", "fill", "#a58be0", "#8466c8"),
    ("good", "fill", "#1a7f4b", "#5fcf95"),
    ("bad", "stroke", "#c62828", "#ff7b72"),
    ("bad-fill", "fill", "#c62828", "#ff7b72"),
    ("odd", "fill", "#d9730d", "#f59a45"),
    ("event", "fill", "#0b7285", "#3bc9db"),
    ("refused", "stroke", "#0b7285", "#3bc9db"),
    ("timer", "stroke", "#8a6d00", "#e8c44a"),
    ("who", "fill", "#5f3dc4", "#b197fc"),
    ("again", "stroke", "#7a3ff2", "#c0a0ff"),
    ("again-fill", "fill", "#7a3ff2", "#c0a0ff"),
    ("faint", "stroke", "#8792a5", "#8792a5"),
    ("faint-fill", "fill", "#8792a5", "#8792a5"),
    ("halo", "fill", "#ffffff", "#14181f"),
)

_PLAIN: Final = """
text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 12px; }
.small { font-size: 10.5px; } .title { font-size: 17px; font-weight: 600; } .lane { fill-opacity: .07; }
.retry { stroke-width: 2; stroke-dasharray: 2 3; fill: none; }
.bad, .refused, .timer, .again, .faint { stroke-width: 1.8; fill: none; stroke-linecap: round; }
.rule, .tick { stroke-width: 1; } .stale { opacity: .45; }
.crash { stroke-dasharray: 5 3; stroke-width: 1.6; }
.generation { stroke-dasharray: 1 3; stroke-width: 1.6; } .down { fill-opacity: .12; }
.step, .step-good, .step-bad { stroke-width: 1; }
"""


def stylesheet() -> str:
    """The rules for all classes; the dark ones apply where the reader prefers dark."""
    light = " ".join(f".{name} {{ {attribute}: {colour}; }}" for name, attribute, colour, _ in _COLOURS)
    dark = " ".join(f".{name} {{ {attribute}: {colour}; }}" for name, attribute, _, colour in _COLOURS)
    return f"{_PLAIN}{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"


#: The shape of a mark around 0,0, about 11 pixels across; behind each is a halo, so that it stands out from bars.
SHAPES: Final[dict[str, str]] = {
    "attempt": '<path class="ink" d="M-2.5 -3.5 L3.5 0 L-2.5 3.5 Z"/>',
    "success": '<circle class="good" r="4.2"/>',
    "failure": '<path class="bad" d="M-3.6 -3.6 L3.6 3.6 M3.6 -3.6 L-3.6 3.6"/>',
    "ambiguous": '<path class="odd" d="M0 -5.4 L5.2 4 L-5.2 4 Z"/><path class="page" d="M-.8 -2 H.8 L.5 1.4 H-.5 Z"/>',
    "hold": '<rect class="bad-fill" x="-4.2" y="-4.2" width="8.4" height="8.4"/>'
    '<path class="page" d="M-2.2 -2.4 H-.7 V2.4 H-2.2 Z M.7 -2.4 H2.2 V2.4 H.7 Z"/>',
    "operator": '<path class="who" d="M0 -5 L4.8 -1.5 L3 4.2 L-3 4.2 L-4.8 -1.5 Z"/>',
    "event": '<path class="event" d="M0 -5.2 L5.2 0 L0 5.2 L-5.2 0 Z"/>',
    "refused": '<path class="refused" d="M0 -4.6 L4.6 0 L0 4.6 L-4.6 0 Z M-3 3 L3 -3"/>',
    "timer": '<circle class="timer" r="4.4"/><path class="timer" d="M0 -2.6 V0 H2.2"/>',
    "recovery": '<path class="again" d="M3.6 -2.6 A4.4 4.4 0 1 0 4.4 1"/>'
    '<path class="again-fill" d="M5.6 -5.6 V-.6 H.8 Z"/>',
    "undo": '<path class="again" d="M-3 -1.6 H1.4 A2.8 2.8 0 0 1 1.4 4 H-2"/>'
    '<path class="again-fill" d="M-1.8 -5 V1.8 L-5.6 -1.6 Z"/>',
    "handler": '<path class="who" d="M-4.4 -3.6 H4.4 L0 4.4 Z"/>',
    "late": '<circle class="faint" r="3.8"/>',
    "skipped": '<path class="faint" d="M-4 0 H4"/>',
    "suppressed": '<circle class="faint" r="3.8"/><path class="faint" d="M-2.6 2.6 L2.6 -2.6"/>',
    "route": '<path class="faint" d="M-4 0 H3.4 M.6 -3 L3.6 0 L.6 3"/>',
    "note": '<circle class="faint-fill" r="2.4"/>',
}

#: What the legend says of marks, bars and lines, in its order.
LEGEND: Final[dict[str, str]] = {
    "bar:step": "in progress, or left",
    "bar:step-good": "succeeded",
    "bar:step-bad": "failed",
    "bar:call": "waits for an answer",
    "bar:wait": "waits for time or an event",
    "bar:retry": "waits for its next attempt",
    "bar:hold": "held for an operator",
    "bar:undo": "being undone",
    "bar:stale": "superseded by a recovery",
    "attempt": "call sent",
    "success": "call succeeded",
    "failure": "failure",
    "ambiguous": "ambiguous: the answer is lost",
    "hold": "hold",
    "operator": "operator decides",
    "event": "event taken",
    "refused": "event refused",
    "timer": "timer fires",
    "recovery": "recovery",
    "undo": "undone",
    "handler": "handler takes the failure",
    "late": "late answer, not used",
    "skipped": "skipped",
    "suppressed": "suppressed (dry run)",
    "route": "route",
    "note": "other",
    "line:crash": "crash of the executor",
    "line:generation": "a generation starts",
    "line:cancel": "cancelled",
}
