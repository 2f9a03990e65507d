"""Where the cursor is in text that is being typed.

What is under the cursor is unfinished, so it is finished first: a word that stands nowhere else is put at the cursor,
with the colon, bracket, brace or quote that the line lacks. The text then parses, and the word's place in the tree says
everything about what may stand there. Of a large file only the head and the step at hand are taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

MARK: Final = "zzcursorzz"
WHOLE_BELOW: Final = 4_000
"""Texts below this are taken as a whole."""
MAX_LOOK_BACK: Final = 4_000
MAX_FLOW_LINES: Final = 60

_WORD_BEFORE = re.compile(r"[A-Za-z0-9_.?/-]*\Z")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_]*\Z")
_WORD_AFTER = re.compile(r"[A-Za-z0-9_.?/-]*")
_NAME_AFTER = re.compile(r"[A-Za-z0-9_]*")
_MARKERS = re.compile(r"[ ]*(?:- +)*")
_COLON = re.compile(r"[\"']?[ \t]*:(?:[ \t]|$)")
_VALUE = re.compile(r".*:[ \t]+\Z", re.DOTALL)
_STEPS = re.compile(r"^steps:[ \t]*(?:#[^\n]*)?\r?\n", re.MULTILINE)
_FIRST_ITEM = re.compile(r"^([ ]*)- ", re.MULTILINE)
_ITEM_ID = re.compile(r"[ ]*-[ ]+[\"']?([A-Za-z_][\w-]*)")

Kind = Literal["expression", "key", "value", "comment"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The cursor's place.

    ``start`` to ``end`` is the word at the cursor, which a completion replaces. ``text`` is the finished text, or part
    of it, and ``mark`` the offset in it where the word begins. ``before`` are the ids of the steps that were left out
    before the one at hand, in order; None when nothing was. ``quoted`` tells whether the word stands in quotes,
    ``tight`` that it stands right behind the colon of a key, where YAML wants a blank.
    """

    kind: Kind
    start: int
    end: int
    prefix: str
    text: str = ""
    mark: int = 0
    before: tuple[str, ...] | None = None
    quoted: bool = False
    flow: bool = False
    colon: bool = False
    tight: bool = False


@dataclass(slots=True)
class _Line:
    start: int
    before: str
    after: str


def cursor_at(text: str, offset: int, inside_text: bool = False) -> Cursor | None:
    """The place at an offset; None where nothing can be completed.

    ``inside_text`` tells that the tree has a text of several lines there, so that an interpolation may have been opened
    on an earlier line.
    """
    line = _line(text, offset)
    if _comment_start(line.before) is not None:
        return _comment(line, offset)
    opened = _open_interpolation(text, offset, line, inside_text)
    if opened is not None:
        return _expression(text, offset, line)
    return _structure(text, offset, line)


def _line(text: str, offset: int) -> _Line:
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    found = re.compile(r"[\r\n]|\Z").search(text, offset)
    end = found.start() if found else len(text)
    return _Line(start, text[start:offset], text[offset:end])


def _comment_start(before: str) -> int | None:
    """Where a comment begins on the line up to the cursor."""
    quote = ""
    for index, character in enumerate(before):
        if quote:
            if character == quote and not (quote == '"' and before[index - 1] == "\\"):
                quote = ""
        elif character in "\"'" and (index == 0 or before[index - 1] in " [{,:\t"):
            quote = character
        elif character == "#" and (index == 0 or before[index - 1] in " \t"):
            return index
    return None


def _comment(line: _Line, offset: int) -> Cursor | None:
    found = re.search(r"workfile:\s*ignore\s*\[([^\]]*)\Z", line.before)
    if found is None:
        return None
    word = re.search(r"[a-z.-]*\Z", line.before)
    assert word is not None
    after = re.match(r"[a-z.-]*", line.after)
    assert after is not None
    return Cursor("comment", offset - len(word[0]), offset + after.end(), word[0])


def _open_interpolation(text: str, offset: int, line: _Line, inside_text: bool) -> int | None:
    low = max(0, offset - MAX_LOOK_BACK)
    opened = text.rfind("{{", low, offset)
    if opened < 0 or text.find("}}", opened, offset) >= 0:
        return None
    return opened if opened >= line.start or inside_text else None


def _quote_open(before: str) -> str:
    """The quote that is open at the end of a line's text, or ""."""
    quote = ""
    for index, character in enumerate(before):
        if quote:
            if character == quote and not (quote == '"' and before[index - 1] == "\\"):
                quote = ""
        elif character in "\"'" and before[:index].rstrip(" \t")[-1:] in ("", ":", "[", "{", ",", "-"):
            quote = character
    return quote


def _expression(text: str, offset: int, line: _Line) -> Cursor:
    prefix = _match(_NAME_BEFORE, line.before)
    after = _match(_NAME_AFTER, line.after)
    rest = line.after[len(after) :]
    closing = rest.find("}}")
    closed = closing >= 0 and "{{" not in rest[:closing]
    quote = _quote_open(line.before[: line.before.rfind("{{")] if "{{" in line.before else "")
    finish = "" if closed else " }}"
    if quote and not closed and quote not in rest:
        finish += quote
    if not closed and not rest.strip():
        finish += _closers(text, line, offset)
    start = offset - len(prefix)
    return _finished("expression", text, start, offset + len(after), prefix, MARK + finish, quoted=bool(quote))


def _match(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text) if pattern.pattern.endswith("\\Z") else pattern.match(text)
    return found[0] if found is not None else ""


def _structure(text: str, offset: int, line: _Line) -> Cursor | None:
    prefix = _match(_WORD_BEFORE, line.before)
    markers = _MARKERS.match(line.before)
    assert markers is not None
    prefix = prefix[max(0, markers.end() - (len(line.before) - len(prefix))) :]
    if prefix.startswith("-"):
        return None  # the dash of a list, which wants a blank first
    after = _match(_WORD_AFTER, line.after)
    rest = line.after[len(after) :]
    head = line.before[: len(line.before) - len(prefix)]
    quote = _quote_open(head)
    if quote and not head.endswith(quote):
        return None  # in the middle of a text
    start, end = offset - len(prefix), offset + len(after)
    bracket = _bracket(text, line, start)
    colon = bool(_COLON.match(rest))
    kind = _kind(head.removesuffix(quote) if quote else head, bracket, markers.end())
    if kind is None:
        return None
    word = MARK
    if kind == "key" and bracket != "[" and not colon:
        word += (quote if quote and not rest.startswith(quote) else "") + (": 0" if bracket else ":")
    elif quote and not rest.startswith(quote):
        word += quote
    if bracket and not rest.strip():
        word += _closers(text, line, offset)
    tight = head.endswith(":")
    if tight:
        word = " " + word
    found = _finished(kind, text, start, end, prefix, word, quoted=bool(quote), flow=bool(bracket), colon=colon)
    return replace(found, tight=tight)


def _kind(head: str, bracket: str, markers: int) -> Kind | None:
    if bracket == "[":
        return "value"
    stripped = head.rstrip(" \t")
    if bracket == "{":
        last = stripped[-1:]
        return "key" if last in ("{", ",", "") else "value" if last == ":" else None
    if len(head) <= markers:
        return "key"
    return "value" if _VALUE.match(head) or head.endswith(":") else None


def _bracket(text: str, line: _Line, offset: int) -> str:
    """The bracket that is open at an offset, or "" outside flow collections."""
    start = line.start
    for _ in range(MAX_FLOW_LINES):
        stack = _stack(text[start:offset])
        if stack is not None and stack:
            return stack[-1]
        above = text[:start].rstrip(" \t\r\n")
        if not above or above[-1] not in "{[,":
            return ""
        start = above.rfind("\n") + 1
    return ""


def _stack(part: str) -> list[str]:
    """The brackets that are open at the end of a part of a text, outermost first."""
    stack: list[str] = []
    quote = ""
    for index, character in enumerate(part):
        if quote:
            if character == quote and not (quote == '"' and part[index - 1] == "\\"):
                quote = ""
        elif character in "\"'" and (index == 0 or part[index - 1] in " [{,:\t\n"):
            quote = character
        elif character in "{[" and (stack or part[:index].rstrip(" \t")[-1:] in ("", ":", "-", "\n")):
            stack.append(character)
        elif character in "}]" and stack:
            stack.pop()
    return stack


def _closers(text: str, line: _Line, offset: int) -> str:
    """What closes the collections that were opened on this line."""
    stack = _stack(text[line.start : offset])
    return "".join("}" if each == "{" else "]" for each in reversed(stack))


def _finished(
    kind: Kind,
    text: str,
    start: int,
    end: int,
    prefix: str,
    word: str,
    *,
    quoted: bool = False,
    flow: bool = False,
    colon: bool = False,
) -> Cursor:
    head, low, high, before = _part(text, start)
    finished = text[:head] + text[low:start] + word + text[end:high]
    mark = head + start - low + (1 if word.startswith(" ") else 0)
    return Cursor(kind, start, end, prefix, finished, mark, before, quoted, flow, colon)


def _part(text: str, offset: int) -> tuple[int, int, int, tuple[str, ...] | None]:
    """What of a text is taken: up to ``head``, and ``low`` to ``high``; and the ids of the steps left out before."""
    whole = (0, 0, len(text), None)
    steps = _STEPS.search(text) if len(text) >= WHOLE_BELOW else None
    first = _FIRST_ITEM.search(text, steps.end()) if steps is not None else None
    if first is None:
        return whole
    bullet = first[1] + "- "
    starts = [
        found.start() for found in re.finditer(rf"^(?:{bullet}|(?=[A-Za-z_]))", text[first.start() :], re.MULTILINE)
    ]
    items: list[int] = []
    end = len(text)
    for start in (first.start() + each for each in starts):
        if not text.startswith(bullet, start):
            end = start
            break
        items.append(start)
    if offset < first.start():
        return 0, 0, first.start(), None
    own = max((each for each in items if each <= offset), default=first.start())
    if offset >= end:
        return first.start(), end, len(text), _ids(text, items)
    following = [each for each in items if each > own]
    return first.start(), own, following[0] if following else end, _ids(text, [each for each in items if each < own])


def _ids(text: str, items: list[int]) -> tuple[str, ...]:
    return tuple(found[1] for each in items if (found := _ITEM_ID.match(text, each)) is not None)
