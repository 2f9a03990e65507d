"""The two event parsers behind one function, and their complaints in people's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml.error import YAMLError

try:
    from _ruamel_yaml import CParser
except ImportError:
    CParser = None

_QUESTION = re.compile(r"\?[^ \t\r\n]")
# `name {a: b}` and `name:{a: b}` as a line of a block: sound, and never what was meant.
_GLUED = r" *(?:- ++)*+[A-Za-z_][\w.-]*+(?::|[ \t]++)[\[{](?!\{)[^\n]*:[ \t][^\n]*[\]}]"
_GLUED_FIRST = re.compile(_GLUED)
_GLUED_LATER = re.compile(rf"\n{_GLUED}")  # begins with a literal, so that it is searched for quickly
_PURE_MISREADS = re.compile(r":[,\[\]{}]|\\u[dD][89a-fA-F]")

HAS_C: bool = CParser is not None


def event_reader(text: str, use_c: bool) -> Callable[[], Any]:
    """A function that answers the next parse event of ``text`` at each call and raises what the parser raises."""
    if use_c:
        reader: Callable[[], Any] = CParser(text).get_event
        return reader
    # Only needed without the C extension or for text that it refuses, and slow to import.
    from ruamel.yaml import YAML

    pure: Callable[[], Any] = YAML(typ="safe", pure=True).parse(text).__next__
    return pure


def read_differently(text: str, use_c: bool) -> bool:
    """Whether a text has what this event parser takes for something else than YAML 1.2 says.

    Both may read a merge conflict as text, and a name with brackets right behind it as a part of a key. libyaml takes
    the ``?`` of ``[?a]`` for a key indicator; ruamel.yaml lets escaped half surrogates pass and makes ``{a:}`` one
    word.
    """
    if "<<<<<<<" in text or ">>>>>>>" in text or _GLUED_FIRST.match(text) or _GLUED_LATER.search(text):
        return True
    if use_c:
        return _has_glued_question(text)
    return _has_glued_question(text) or _PURE_MISREADS.search(text) is not None


def _has_glued_question(text: str) -> bool:
    """Whether a ``?`` with a character right behind it is the first thing of a flow collection or of its next entry."""
    for found in _QUESTION.finditer(text):
        before = found.start() - 1
        while before >= 0 and text[before] in " \t\r\n":
            before -= 1
        if before >= 0 and text[before] in "[{,":
            return True
    return False


def place_of(error: Exception, length: int) -> int:
    """Where an event parser gave up, as an offset."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = getattr(mark, "index", None)
    return min(index, length) if isinstance(error, YAMLError) and isinstance(index, int) else 0
