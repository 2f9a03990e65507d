"""The tokens of the expression language, and the words and signs of other languages that people write by habit.

Source: language page, section 4.
"""

from __future__ import annotations

import re
from typing import Final

# What a token is: the number of the group of ``TOKEN`` that matched.
END: Final = 0
NAME: Final = 1
NUMBER: Final = 2
STRING: Final = 3
SIGN: Final = 4
BAD_NUMBER: Final = 5
OTHER: Final = 6

# A name takes its members along (``inputs.order.id``), for one token costs as much as the next. Quantifiers are
# possessive where giving characters back could only make two tokens of one (and cost time).
TOKEN = re.compile(
    r"""\s*+(?:
      ([^\W\d]\w*+(?:\.[^\W\d]\w*+)*+)
    | ([0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?!\w))
    | ("[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')
    | (\?\?|\?\.|===|==|!==|!=|<=|>=|<>|&&|\|\||\*\*|//|=>|->|\.\.\.?|[-+*/%<>|.,:;()\[\]{}?=!&~^@$\#`])
    | (\d[\w.]*+)
    | (.)
    )?""",
    re.VERBOSE | re.DOTALL,
)

LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
WORDS: frozenset[str] = frozenset({"and", "or", "not", "in", "true", "false", "null"})

# Precedence, loosest first; ``|`` is looser than all and ``not`` stands between ``and`` and the comparisons.
LEVEL_NOT: Final = 4
LEVEL_COMPARE: Final = 5
LEVELS: dict[str, int] = {
    "??": 1,
    "or": 2,
    "and": 3,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), LEVEL_COMPARE),
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "%": 7,
}

# Operators of other languages: what is read instead, and what to say.
FOREIGN_OPERATORS: dict[str, tuple[str, str]] = {
    "&&": ("and", "there is no `&&`; use `and`"),
    "||": ("or", "there is no `||`; use `or`, or `??` for a value in place of null"),
    "&": ("and", "there is no `&`; use `and`, or `+` to join strings"),
    "=": ("==", "a single `=` does nothing here; use `==` to compare"),
    "===": ("==", "there is no `===`; use `==`, which compares value and kind"),
    "!==": ("!=", "there is no `!==`; use `!=`, which compares value and kind"),
    "<>": ("!=", "there is no `<>`; use `!=`"),
    "=>": (">=", "there is no `=>`; use `>=` for greater or equal"),
    "~": ("+", "there is no `~`; use `+` to join strings"),
    "**": ("*", "there is no power operator `**`; multiply with `*`"),
    "//": ("/", "there is no `//`; use `/`, and `| round` for a whole number"),
    "AND": ("and", "operators are written in lower case; use `and`"),
    "OR": ("or", "operators are written in lower case; use `or`"),
    "IN": ("in", "operators are written in lower case; use `in`"),
    "is": ("==", "there is no `is`; use `==`"),
}
# Signs that people write before a value.
FOREIGN_PREFIXES: dict[str, str] = {
    "!": "there is no `!`; use `not x`",
    "+": "there is no sign `+`; remove it",
    "$": "names have no `$` before them; remove it",
    "@": "names have no `@` before them; remove it",
    "#": "names have no `#` before them; remove it",
    "&": "names have no `&` before them; remove it",
    ".": "a member needs something before the `.`, such as `inputs.`; a number begins with a digit, such as `0.5`",
}
NO_TERNARY: Final = "there is no `a ? b : c`; choose with `wf.if`, or use `??` for a value in place of null"
NO_INLINE_IF: Final = "there is no `if` in an expression; choose with `wf.if`, or use `??` for a value in place of null"

# Functions of other languages and the filters that do the same.
FUNCTION_FILTERS: dict[str, str] = {
    **dict.fromkeys(("len", "size", "count"), "length"),
    **dict.fromkeys(("str", "tostring", "toString", "to_string"), "string"),
    **dict.fromkeys(("int", "float", "tonumber", "toNumber", "to_number"), "number"),
    **dict.fromkeys(("lower", "toLowerCase", "lowercase"), "lower"),
    **dict.fromkeys(("upper", "toUpperCase", "uppercase"), "upper"),
    **dict.fromkeys(("strip", "trim"), "trim"),
    **dict.fromkeys(("toJSON", "tojson", "dumps"), "json"),
    **dict.fromkeys(("includes", "contains"), "contains"),
    **dict.fromkeys(("strftime", "format_time"), "format_time"),
    "sorted": "sort",
    "coalesce": "default",
}
CLOCK_FUNCTIONS: frozenset[str] = frozenset({"now", "today", "time", "date", "random", "uuid"})

MAX_DIGITS: Final = 4_000  # of a whole number: fewer than Python converts to and from text without being asked
SAFE_WHOLE: Final = 2**53  # every whole float below it is exactly that integer
_INFINITY: Final = float("inf")

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_SIMPLE_ESCAPES: dict[str, str] = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}


def decode_string(quoted: str) -> tuple[str, tuple[int, int, str] | None]:
    """The text of a string token with its quotes, and its first wrong escape: offsets in ``quoted`` and a message.

    JSON escapes, and ``\\'``. A wrong escape stands for its own characters.
    """
    if "\\" not in quoted:
        return quoted[1:-1], None
    parts: list[str] = []
    fault: tuple[int, int, str] | None = None
    position, end = 1, len(quoted) - 1
    while position < end:
        backslash = quoted.find("\\", position, end)
        if backslash < 0:
            break
        parts.append(quoted[position:backslash])
        match = _ESCAPE.match(quoted, backslash)
        # A string token ends with a quote that no backslash escapes, so a character always follows the backslash.
        assert match is not None
        decoded, position, message = _decode_escape(match)
        parts.append(decoded)
        if message and fault is None:
            fault = (backslash, position, message)
    parts.append(quoted[position:end])
    return "".join(parts), fault


def _decode_escape(match: re.Match[str]) -> tuple[str, int, str]:
    """The decoded text of one escape, where it ends, and what is wrong with it (empty when nothing is)."""
    digits, low_digits, simple = match.groups()
    if digits is None:
        decoded = _SIMPLE_ESCAPES.get(simple)
        if decoded is not None:
            return decoded, match.end(), ""
        if simple == "u":
            return match[0], match.end(), "`\\u` needs four hexadecimal digits, as in `\\u00e9`"
        return match[0], match.end(), f"there is no escape `{match[0]}`; write `\\\\` for a backslash"
    code = int(digits, 16)
    if not 0xD800 <= code <= 0xDFFF:
        # A second escape that looks like the low half of a pair belongs to nothing here and is read again on its own.
        return chr(code), match.start() + 6, ""
    if low_digits is not None and code <= 0xDBFF:
        return chr(0x10000 + ((code - 0xD800) << 10) + (int(low_digits, 16) - 0xDC00)), match.end(), ""
    return "�", match.start() + 6, f"`\\u{digits}` is half of a character; write both halves, or the character itself"


def decode_number(token: str) -> tuple[int | float | None, str]:
    """The value of a number token (None when there is no such number), and what is wrong with it (else empty).

    ``1.0`` is ``1``: a whole float is that integer, so that both look and act alike everywhere.
    """
    if token.isdigit():
        if len(token) > MAX_DIGITS:
            return None, f"a whole number has at most {MAX_DIGITS:,} digits; write a shorter one"
        number = int(token)
        if len(token) > 1 and token[0] == "0":
            return number, f"a number does not begin with 0; write `{number}`"
        return number, ""
    value = float(token)
    if value == _INFINITY:
        return None, "this is too large for a number; write one below 1e308"
    wrong = token[0] == "0" and token[1].isdigit()
    message = "a number does not begin with 0; remove the zeros before it" if wrong else ""
    return int(value) if value < SAFE_WHOLE and value.is_integer() else value, message
