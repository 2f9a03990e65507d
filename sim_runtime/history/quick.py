"""Reads the lines that this package writes, quickly; for any other line, and for any fault, it answers nothing, and the
full reader of ``history.load`` says what is wrong.

What a line holds stands in a fixed order there, every part of it canonical. So the canonical record that its digest is
made of is put together from parts of the line; and many records say the very same, which is understood once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sim_runtime.history.canonical import NotCanonical, canonical_bytes, chained
from sim_runtime.history.encoding import BadRecord, data_of, read_plain, time_of
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import Record
from sim_runtime.history.refusal import WITHHELD

MAX_KNOWN: Final = 20_000
MAX_KNOWN_TEXT: Final = 400

_LINE: Final = re.compile(
    r'\{"seq":([1-9][0-9]{0,14}),"at":"([0-9TZ:.+-]{1,40})","kind":"([a-z_.]{1,40})","path":"([^"\\\x00-\x1f]*)",'
    r'"generation":(0|[1-9][0-9]{0,14}),"data":(\{.*\}),("boundary":true,)?"digest":"([0-9a-f]{64})"\}[\r\n]*',
    re.DOTALL,
)


#: ``json.loads`` without its looking at what kind of text there is and what stands around it.
_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
#: What JSON data may be wrong with, in the words of those who read it.
_WRONG: Final = (ValueError, NotCanonical, BadRecord, RecursionError, StopIteration)


class Found(NamedTuple):
    """A sound record and its digest; nothing in it is withheld."""

    record: Record
    digest: str


class _Understood(NamedTuple):
    data: dict[str, Any]
    id: str | None


class QuickReader:
    """Reads line after line of one history; ``is_sound(kind, data)`` judges the shape of a record's data, which is its
    kind, its fields in order, and their types."""

    __slots__ = ("_instants", "_is_sound", "_known", "_shapes")

    def __init__(self, is_sound: Callable[[str, Any], bool]) -> None:
        self._is_sound = is_sound
        self._known: dict[tuple[str, str], _Understood] = {}
        self._shapes: set[tuple[Any, ...]] = set()
        self._instants: dict[str, int] = {}

    def record(self, line: bytes, before: str) -> Found | None:
        """The record of a line after the digest ``before``, when everything about it is as it should be."""
        try:
            match = _LINE.fullmatch(line.decode("utf-8"))
        except UnicodeDecodeError:
            return None
        if match is None:
            return None
        seq, at, kind, path, generation, data, boundary, digest = match.groups()
        text = (
            f'{{"at":"{at}",{boundary or ""}"data":{data},"generation":{generation},"kind":"{kind}",'
            f'"path":"{path}","seq":{seq}}}'
        )
        if chained(before, text.encode()) != digest:
            return None
        understood = self._known.get((kind, data)) or self._understand(kind, data)
        instant = self._instants.get(at) or self._instant(at)
        if understood is None or instant is None or (understood.id is not None and shown_path(understood.id) != path):
            return None
        id_ = path if understood.id is None else understood.id
        record = Record(int(seq), instant, kind, id_, int(generation), understood.data, boundary is not None)
        return Found(record, digest)

    def _instant(self, text: str) -> int | None:
        try:
            found = time_of(text)
        except BadRecord:
            return None
        if len(self._instants) < MAX_KNOWN:
            self._instants[text] = found
        return found

    def _understand(self, kind: str, text: str) -> _Understood | None:
        """What the data of a record says: only canonical JSON, of the right shape, nothing of it withheld."""
        if WITHHELD in text:
            return None
        try:
            raw, end = _SCAN(text, 0)
            if end != len(text) or canonical_bytes(raw) != text.encode() or not self._has_sound_shape(kind, raw):
                return None
            plain = "kinds" not in raw and "id" not in raw
            found = _Understood(read_plain(kind, raw), None) if plain else _Understood(*data_of(kind, raw))
        except _WRONG:
            return None
        if len(text) <= MAX_KNOWN_TEXT and len(self._known) < MAX_KNOWN:
            self._known[kind, text] = found
        return found

    def _has_sound_shape(self, kind: str, raw: dict[str, Any]) -> bool:
        shape = (kind, *raw, *map(type, raw.values()))
        if shape in self._shapes:
            return True
        if not self._is_sound(kind, raw):
            return False
        if len(self._shapes) < MAX_KNOWN:
            self._shapes.add(shape)
        return True
