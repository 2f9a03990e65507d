"""Reads a ``.history.jsonl`` file and validates all of it, before anything is done with it (R-GEN-02).

What is wrong is one ``Refused`` with the first record that cannot be used. The digest of a record is checked before
anything that it says. A history that ends inside a transaction is read up to the boundary before (language page,
section 7): the executor died there, and what it had not finished writing does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sim_runtime.history.canonical import NotCanonical, canonical_bytes, chained
from sim_runtime.history.chain import RECORD_KEYS
from sim_runtime.history.encoding import BadRecord, record_of
from sim_runtime.history.header import Header, header_of
from sim_runtime.history.quick import QuickReader
from sim_runtime.history.records import COMMON_FIELDS, ENDS, KINDS, Field, Record
from sim_runtime.history.refusal import WITHHELD, WRITTEN, Refusal, Refused, is_withheld, refused_from

MAX_BYTES: Final = 1 << 30
MAX_LINE: Final = 1 << 26

_REQUIRED: Final = tuple(key for key in RECORD_KEYS if key != "boundary")
_LEAVES: Final = ("action.dispatched", "compensation.dispatched")
_AFTER_THE_END: Final = frozenset({"late_result.recorded", "event.refused", "boundary.reused", "boundary.invalidated"})


@dataclass(frozen=True, slots=True)
class Withheld:
    """A value that is not in the history: the record that lacks it, and its class."""

    seq: int
    path: str
    class_: str


@dataclass(slots=True)
class History:
    """A validated history. ``records`` end at the last durable boundary; ``cut`` counts what stood after it.

    ``digest`` is that of the last record (the header's when there is none), ``digests`` those of all by position.
    """

    header: Header
    records: list[Record] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    cut: int = 0

    @property
    def digest(self) -> str:
        """The digest of the last record."""
        return self.digests[-1] if self.digests else self.header.digest


def load_history(path: str, *, unfinished: bool = False) -> History:
    """The history of a file. Raises ``Refused``; a file that cannot be read is refused as ``absent``, and so is one
    that ends before its first boundary, unless it may be ``unfinished``: it then has no records."""
    try:
        size = Path(path).stat().st_size
        if size > MAX_BYTES:
            raise _at_header("inconsistent", f"it has {size:,} bytes, and at most {MAX_BYTES:,} are read")
        with Path(path).open("rb") as stream:
            return read_history(stream, unfinished=unfinished)
    except OSError as error:
        raise _at_header("absent", f"it cannot be read: {error.strerror or error}") from None


def read_header(path: str) -> Header:
    """The header of a history's file alone, checked. Raises ``Refused``."""
    try:
        with Path(path).open("rb") as stream:
            first = next(_not_empty(stream), None)
    except OSError as error:
        raise _at_header("absent", f"it cannot be read: {error.strerror or error}") from None
    if first is None:
        raise _at_header("absent", "it is empty")
    return _header(first)


def read_history(lines: Iterable[bytes], *, unfinished: bool = False) -> History:
    """The history of lines, each with its line break (the last one's may be missing); as ``load_history``."""
    rest = iter(lines)
    first = next(_not_empty(rest), None)
    if first is None:
        raise _at_header("absent", "it is empty")
    history = History(_header(first))
    reader = _Reader(history)
    for line in rest:
        reader.read(line)
    reader.finish(unfinished)
    return history


def _not_empty(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (line for line in lines if line.strip())


def _header(line: bytes) -> Header:
    try:
        parsed = parse_json(line)
    except ValueError as error:
        raise _at_header("corrupt", f"its first line is not JSON: {error}") from None
    if not isinstance(parsed, dict) or ("format" not in parsed and "seq" in parsed):
        raise _at_header("absent", "its first line is not a header")
    return header_of(parsed)


class _Reader:
    """Takes the records in one after the other."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.digest = history.header.digest
        self.quick = QuickReader(shape_is_sound)
        self.expected = 1
        self.prepared: set[str] = set()
        self.dispatched: set[int] = set()
        self.finished = False
        self.usable = 0
        self.last: Record | None = None

    def read(self, line: bytes) -> None:
        found = self.quick.record(line, self.digest)
        if found is not None:
            record, self.digest = found
            self.take(record)
        elif line.strip():
            self.read_fully(line)

    def read_fully(self, line: bytes) -> None:
        number = self.expected + 1  # the header's is the first
        try:
            json_ = parse_json(line)
        except ValueError as error:
            raise self.refused(None, "corrupt", f"line {number} is not JSON: {error}") from None
        if not isinstance(json_, dict):
            raise self.refused(None, "corrupt", f"line {number} is not a record")
        self.check_digest(number, json_)
        self.check_shape(json_)
        try:
            record = record_of(json_)
        except (BadRecord, RecursionError) as error:
            raise self.refused(json_, "inconsistent", str(error)) from None
        self.take(record)
        self.history.withheld.extend(
            Withheld(record.seq, record.path, class_) for class_ in _withheld_in(json_["data"])
        )

    def take(self, record: Record) -> None:
        """Add a record that is sound in itself."""
        self.check_order(record)
        self.history.records.append(record)
        self.history.digests.append(self.digest)
        self.expected += 1
        self.last = record
        if record.boundary:
            self.usable = record.seq

    def check_digest(self, number: int, json_: dict[str, Any]) -> None:
        if "digest" not in json_:
            raise self.refused(json_, "absent", f"line {number} lacks its `digest`", ("digest",))
        try:
            data = canonical_bytes({key: value for key, value in json_.items() if key != "digest"})
        except NotCanonical as error:
            raise self.refused(json_, "corrupt", f"line {number} is not canonical JSON: {error}") from None
        digest = chained(self.digest, data)
        if digest != json_["digest"]:
            message = f"the digest of line {number} does not fit: it, or something before it, was changed or is missing"
            raise self.refused(json_, "corrupt", message)
        self.digest = digest

    def check_shape(self, json_: dict[str, Any]) -> None:
        absent = tuple(key for key in _REQUIRED if key not in json_)
        if absent:
            raise self.refused(json_, "absent", f"it lacks {', '.join(f'`{key}`' for key in absent)}", absent)
        extra = sorted(json_.keys() - RECORD_KEYS.keys())
        if extra:
            raise self.refused(json_, "inconsistent", f"it has an unknown field `{extra[0][:40]}`")
        kind, data = json_["kind"], json_["data"]
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.refused(json_, "inconsistent", f"`{str(kind)[:40]}` is not a kind of record")
        if not isinstance(data, dict) or json_.get("boundary", True) is not True:
            raise self.refused(json_, "inconsistent", "`data` is a map, and `boundary` is true or left out")
        fields = KINDS[kind].fields
        missing = tuple(name for name, each in fields.items() if not each.optional and name not in data)
        if missing:
            raise self.refused(json_, "absent", f"its data lacks {', '.join(f'`{n}`' for n in missing)}", missing)
        for name, value in data.items():
            declared = fields.get(name) or COMMON_FIELDS.get(name)
            if declared is None or not _has_type(name, declared, value):
                what = "is not a field of its kind" if declared is None else f"is not of type {declared.type}"
                raise self.refused(json_, "inconsistent", f"`{name[:40]}` in its data {what}")

    def check_order(self, record: Record) -> None:
        """What holds between records, as far as it can be told without folding them."""
        if record.seq != self.expected:
            if record.seq > self.expected:
                missing = (f"seq {self.expected}",)
                raise self.refused_at(record, "absent", f"record {self.expected} is missing before it", missing)
            message = f"its number is {record.seq}, and {self.expected} must follow"
            raise self.refused_at(record, "inconsistent", message)
        kind = record.kind
        if self.last is not None and record.at < self.last.at:
            raise self.refused_at(record, "inconsistent", "its time is before that of the record before it")
        if kind in ENDS and not record.boundary:
            raise self.refused_at(record, "inconsistent", f"`{kind}` always ends its transaction, and this does not")
        if record.seq == 1:
            self.check_first(record)
        elif self.finished and kind not in _AFTER_THE_END:
            raise self.refused_at(record, "inconsistent", "the run had already ended")
        if kind == "action.prepared":
            self.prepared.add(record.id)
        elif kind == "action.dispatched" and record.id not in self.prepared:
            raise self.refused_at(record, "inconsistent", "a call leaves that was never prepared")
        elif kind == "late_result.recorded" and record.data["dispatch"] not in self.dispatched:
            raise self.refused_at(record, "inconsistent", "it answers a call that never left")
        if kind in _LEAVES:
            self.dispatched.add(record.seq)
        if kind == "run.finished" and not record.id:
            self.finished = True

    def check_first(self, record: Record) -> None:
        header = self.history.header
        if record.kind != "run.accepted":
            message = "a history begins with `run.accepted`"
            raise self.refused_at(record, "absent", message, ("run.accepted",))
        if (record.data["run_id"], record.data["workflow"]) != (header.run, header.workflow):
            raise self.refused_at(record, "inconsistent", "it is of another run or workflow than the header")
        if record.data["standard_version"] != header.standard_version:
            raise self.refused_at(record, "inconsistent", "it is of another Standard version than the header")
        if header.lineage is None and record.data["key_run"] != header.run:
            raise self.refused_at(record, "inconsistent", "it is of a lineage that the header does not tell of")

    def finish(self, unfinished: bool) -> None:
        history = self.history
        if not self.usable and not (unfinished and history.records):
            self.expected = 1
            raise self.refused(None, "absent", "it has no durable boundary", ("run.accepted",))
        history.cut = len(history.records) - self.usable
        del history.records[self.usable :]
        del history.digests[self.usable :]
        last = history.records[-1].seq if history.records else 0
        history.withheld = [each for each in history.withheld if each.seq <= last]

    def refused_at(self, record: Record, reason: str, message: str, missing: tuple[str, ...] = ()) -> Refused:
        place = {"seq": record.seq, "kind": record.kind, "path": record.path}
        return self.refused(place, reason, message, missing)

    def refused(
        self, json_: dict[str, Any] | None, reason: str, message: str, missing: tuple[str, ...] = ()
    ) -> Refused:
        json_ = json_ or {}
        seq, kind, path = json_.get("seq"), json_.get("kind"), json_.get("path")
        boundary = {
            "seq": seq if type(seq) is int else self.expected,
            "kind": kind if isinstance(kind, str) else None,
            "path": path if isinstance(path, str) else None,
        }
        return Refused(refused_from(boundary, reason, message, missing))


def shape_is_sound(kind: str, data: Any) -> bool:
    """Whether a record's data has the fields of its kind; why not is told by the reader's own check."""
    if kind not in KINDS or not isinstance(data, dict):
        return False
    fields = KINDS[kind].fields
    for name, value in data.items():
        declared = fields.get(name) or COMMON_FIELDS.get(name)
        if declared is None or not _has_type(name, declared, value):
            return False
    return all(each.optional or name in data for name, each in fields.items())


def parse_json(line: bytes) -> Any:
    """The JSON of one line. Raises ``ValueError`` for what is no I-JSON: a name twice, NaN, bytes that are no UTF-8."""
    if len(line) > MAX_LINE:
        raise ValueError(f"it has {len(line):,} bytes, and at most {MAX_LINE:,} are read")
    try:
        return json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice in an object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"`{name}` is not a number")


def _has_type(name: str, declared: Field, value: Any) -> bool:
    if declared.type == "value" or (name in WRITTEN and is_withheld(value)):
        return True
    if declared.type == "integer":
        return type(value) is int
    if declared.type == "boolean":
        return isinstance(value, bool)
    if declared.type == "list":
        return isinstance(value, list)
    if declared.type == "map":
        return isinstance(value, dict)
    return isinstance(value, str) or (declared.type == "text or null" and value is None)


def _withheld_in(value: Any) -> Iterator[str]:
    """The classes of what is withheld inside a record's data, each once."""
    found: dict[str, None] = {}
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            if is_withheld(each):
                found[each[WITHHELD]] = None
            else:
                stack.extend(reversed(each.values()))
        elif isinstance(each, list):
            stack.extend(reversed(each))
    yield from found


def _at_header(reason: str, message: str) -> Refused:
    return Refused(Refusal(reason, "header", f"The history cannot be used: {message}."))
