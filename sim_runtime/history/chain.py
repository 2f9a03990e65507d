"""The chain of digests over a history, and its lines (interfaces page, "History")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, Final

from sim_runtime.history.canonical import canonical_bytes, chained
from sim_runtime.history.encoding import data_json, record_json, time_text
from sim_runtime.history.header import Header, canonical_line
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import Record

RECORD_KEYS: Final[dict[str, str]] = {
    "seq": "The record's number, from 1 without gaps.",
    "at": "When it was written, on the run's clock.",
    "kind": "Its kind, one of the table below.",
    "path": 'The step path; `""` for the run itself.',
    "generation": "The recovery generation that it belongs to.",
    "data": "What its kind says.",
    "boundary": "true on the last record of a transaction; otherwise left out.",
    "digest": "SHA-256 of the previous digest (hexadecimal) and this record's canonical JSON without this field.",
}


class Chain:
    """The digest of a history as records are added; ``digest`` is that of the last one, or of the header."""

    __slots__ = ("digest", "length")

    def __init__(self, header: Header) -> None:
        self.digest = header.digest
        self.length = 0

    def fork(self) -> Chain:
        """A copy that goes its own way."""
        copy = object.__new__(Chain)
        copy.digest, copy.length = self.digest, self.length
        return copy

    def add(self, json: dict[str, Any]) -> str:
        """Take the next record (as JSON without its digest) in; its digest."""
        self.digest = chained(self.digest, canonical_bytes(json))
        self.length += 1
        return self.digest

    def extend(self, records: Iterable[Record]) -> str:
        """Take records in; the digest of the last one."""
        for record in records:
            self.digest = chained(self.digest, record_bytes(record))
            self.length += 1
        return self.digest


def record_bytes(record: Record) -> bytes:
    """The canonical JSON of a record without its digest. All but its data is put together here, which takes less time
    than to have it sorted. Raises ``NotCanonical``."""
    path = shown_path(record.id)
    data = canonical_bytes(data_json(record, path)).decode()
    boundary = '"boundary":true,' if record.boundary else ""
    return (
        f'{{"at":"{time_text(record.at)}",{boundary}"data":{data},"generation":{record.generation},'
        f'"kind":"{record.kind}","path":{encode_basestring(path)},"seq":{record.seq}}}'
    ).encode()


def lines_of(header: Header, records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The lines of an exported history, each with its line break; the records are JSON without digests."""
    chain = Chain(header)
    yield header.line() + "\n"
    order = tuple(RECORD_KEYS)
    for json in records:
        yield canonical_line({**json, "digest": chain.add(json)}, order) + "\n"


def export_lines(header: Header, records: Iterable[Record]) -> Iterator[str]:
    """The lines of a run's history as a ``.history.jsonl`` file."""
    return lines_of(header, map(record_json, records))
