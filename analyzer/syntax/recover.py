"""Reading text that the event parser refuses: repairs are made, told, and cost only the region that is broken."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from analyzer.syntax.block import BlockReader
from analyzer.syntax.compose import NestedTooDeeply, PartsDiffer, report_second_document
from analyzer.syntax.events import event_reader, place_of
from analyzer.syntax.nodes import Node
from analyzer.syntax.problems import NOT_YAML, SYNTAX, Problems
from analyzer.syntax.properties import Factory, tag_handles
from analyzer.syntax.reading import MARKER, Reading

_CONFLICT = re.compile(r"^(?:<<<<<<<|\|\|\|\|\|\|\||=======|>>>>>>>)(?= |\r?$)[^\n]*$", re.MULTILINE)
_NOT_BREAK = re.compile(r"[^\r\n]")
_REST = re.compile(r"[ \t\r]*(?:#[^\n]*)?\n")
_VERSION = re.compile(r"%YAML[ \t]+1\.[0-9]+[ \t\r]*(?:#[^\n]*)?\n")
_TAG = re.compile(r"%TAG[ \t]+!\w*!?[ \t]+[^ \t\r\n]+[ \t\r]*(?:#[^\n]*)?\n")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a tolerant reading found: ``hashes`` and ``stop`` are as in ``Composer``."""

    root: Node | None
    hashes: list[tuple[int, int]]
    stop: int | None


def recover(text: str, problems: Problems, error: Exception, read_by_c: bool) -> Recovered:
    """Read a text that an event parser gave up on with ``error``.

    ``problems`` gets everything that is wrong; when nothing is, and no event parser takes the text, one problem where
    they gave up, so that refused text never passes in silence.
    """
    before = len(problems.found)
    blanked = _without_conflicts(text, problems)
    reading = Reading(blanked, problems, Factory(problems, {}))
    recovered = _document(BlockReader(reading))
    silent = len(problems.found) == before and not reading.beyond
    if silent and not isinstance(error, NestedTooDeeply | PartsDiffer):
        refused = _refusal(text) if read_by_c else error
        if refused is not None:
            place = place_of(refused, len(text))
            problems.add(SYNTAX, place, min(place + 1, len(text)), NOT_YAML)
    return recovered


def _refusal(text: str) -> Exception | None:
    """What ruamel.yaml's own parser says: libyaml is older and refuses some sound text."""
    events: Callable[[], Any] = event_reader(text, False)
    try:
        while True:
            events()
    except StopIteration:
        return None
    except Exception as error:  # noqa: BLE001 - any complaint of a foreign parser is an answer
        return error


def _document(block: BlockReader) -> Recovered:
    reading = block.reading
    block.advance(0)
    _directives(block)
    reading.factory.handles = tag_handles(block.text[: block.at])
    root: Node | None = None
    if block.indent < 0 and block.text.startswith("---", block.at) and block.at < reading.size:
        root = _after_marker(block)
    elif block.indent >= 0:
        root = block.node(block.indent, -1)
    if block.indent >= 0:
        _left_over(block)
    return Recovered(root, reading.hashes, _document_end(block))


def _directives(block: BlockReader) -> None:
    text = block.text
    problem = block.reading.problem
    first = block.at
    versions = 0
    while block.indent == 0 and text[block.at] == "%":
        at = block.at
        end = text.find("\n", at)
        version = _VERSION.match(text, at)
        versions += version is not None
        if text.startswith("%YAML", at) and (version is None or versions > 1):
            problem(at, end, "This directive must be `%YAML 1.2`, once; repair or remove it.")
        elif not version and not _TAG.match(text, at):
            problem(at, end, "This directive is unknown; remove it, or quote a text that begins with `%`.")
        block.advance(end + 1)
    if block.at != first and not text.startswith("---", block.at):
        problem(first, text.find("\n", first), "A directive needs a line `---` after it; add it, or remove this.")


def _after_marker(block: BlockReader) -> Node | None:
    text = block.text
    place = block.at + 3
    rest = _REST.match(text, place)
    if rest:
        block.advance(rest.end())
        return block.node(block.indent, -1) if block.indent >= 0 else block.reading.absent(place, None)
    while text[place] in " \t":
        place += 1
    block.at = place
    return block.after_document_marker()


def _left_over(block: BlockReader) -> None:
    text = block.text
    start = block.at
    end = text.find("\n", start)
    block.reading.problem(
        start, end, "This does not belong to the value above it, which is complete; remove it, or make one map of both."
    )
    while block.indent >= 0:
        block.advance(text.find("\n", block.at) + 1)


def _document_end(block: BlockReader) -> int | None:
    """Where a second document begins, which is reported; None when there is none."""
    text = block.text
    reading = block.reading
    while block.at < reading.size and block.at == block.line and text.startswith("...", block.at):
        reading.beyond = True
        rest = _REST.match(text, block.at + 3)
        if rest is None:
            end = text.find("\n", block.at)
            reading.problem(block.at, end, "Text after the end of the document; remove it.")
            block.advance(end + 1)
        else:
            block.advance(rest.end())
    if block.at >= reading.size:
        return None
    marker = MARKER.match(text, block.at) if block.at == block.line else None
    report_second_document(reading.problems, block.at, marker.end() if marker else block.at + 1)
    return block.at


def _without_conflicts(text: str, problems: Problems) -> str:
    """The text with merge conflicts blanked: markers and the other sides go, the first side stays; one problem each."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text:
        return text
    parts: list[str] = []
    position = 0
    while begin := _CONFLICT.search(text, position):
        parts += (text[position : begin.start()], _blank(begin[0]))
        position, related = _conflict(text, begin, parts)
        message = "A merge conflict is left here; keep one side and remove the marker lines."
        problems.add(SYNTAX, begin.start(), _trimmed(begin), message, tuple(related))
    parts.append(text[position:])
    return "".join(parts)


def _conflict(text: str, begin: re.Match[str], parts: list[str]) -> tuple[int, list[tuple[int, int, str]]]:
    """Add the lines of one conflict to ``parts``; answers where it ends, and its other markers."""
    position = begin.end()
    related: list[tuple[int, int, str]] = []
    keep = begin[0].startswith("<")
    marker = None if begin[0].startswith(">") else _CONFLICT.search(text, position)
    while marker is not None and not marker[0].startswith("<"):
        between = text[position : marker.start()]
        ends = marker[0].startswith(">")
        parts += (between if keep else _blank(between), _blank(marker[0]))
        position = marker.end()
        related.append((marker.start(), _trimmed(marker), f"the conflict {'ends' if ends else 'goes on'} here"))
        keep = False
        marker = None if ends else _CONFLICT.search(text, position)
    return position, related


def _trimmed(found: re.Match[str]) -> int:
    return found.start() + len(found[0].rstrip("\r"))


def _blank(text: str) -> str:
    return _NOT_BREAK.sub(" ", text)
