"""Text of files inside HTML, SVG and XML: nothing of it is markup, and nothing is a character that XML cannot hold."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_MARKUP: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def markup(text: str) -> str:
    """``text`` for the content of an element or a quoted attribute. Controls, what reorders the text around it and lone
    surrogates are shown as escapes."""
    return _UNSAFE.sub(_escape, text).translate(_MARKUP)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
