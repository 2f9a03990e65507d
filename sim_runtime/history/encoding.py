"""Records as plain JSON and back, exactly: kinds of values and marks of dry runs survive (profile: Reconstruction).

A timestamp or duration inside a value stands as its text, a marked value as ``{"$suppressed": VALUE}``; ``data.kinds``
lists where they stand, as JSON pointers into ``data``, so that texts which only look alike stay texts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

from analyzer.expressions.times import Duration, Timestamp, format_timestamp, parse_timestamp
from analyzer.expressions.values import SUPPRESSED, Marked, finish
from analyzer.language.durations import format_duration, parse_duration
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import COMMON_FIELDS, KINDS, Field, Record

Json: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 512
_PLAIN: Final = frozenset({type(None), bool, int, float, str})
_TEXTS: Final = frozenset({type(None), bool, str})


class BadRecord(Exception):
    """JSON that is no record; the message says why."""


def record_json(record: Record) -> Json:
    """The record as JSON data, without its digest."""
    path = shown_path(record.id)
    data = data_json(record, path)
    result: Json = {
        "seq": record.seq,
        "at": time_text(record.at),
        "kind": record.kind,
        "path": path,
        "generation": record.generation,
        "data": data,
    }
    if record.boundary:
        result["boundary"] = True
    return result


def data_json(record: Record, path: str) -> Json:
    """The ``data`` of a record as JSON data; ``path`` is its shown path."""
    kinds: dict[str, str] = {}
    special = _SPECIAL[record.kind]
    data: Json = {}
    for name, value in record.data.items():
        type_ = special.get(name)
        data[name] = value if type_ is None or type(value) in _TEXTS else _write_field(type_, value, f"/{name}", kinds)
    if path != record.id:
        data["id"] = record.id
    if kinds:
        data["kinds"] = kinds
    return data


def record_of(json: Json) -> Record:
    """The record of JSON data (its digest is not looked at). Raises ``BadRecord``."""
    try:
        data, id_ = data_of(json["kind"], json["data"])
        if id_ is not None and shown_path(id_) != json["path"]:
            raise BadRecord("its `path` is not that of the `id` in its data")
        return Record(
            _integer(json["seq"]),
            time_of(json["at"]),
            json["kind"],
            _string(json["path"]) if id_ is None else id_,
            _integer(json["generation"]),
            data,
            json.get("boundary", False) is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRecord(f"it is not of the form of a record: {error}") from None


def data_of(kind: str, raw: Json) -> tuple[dict[str, Any], str | None]:
    """The data of a record of JSON data, and the identity that it tells. Raises ``BadRecord``."""
    try:
        fields = KINDS[kind].fields
        special = _SPECIAL[kind]
        kinds: dict[str, str] = raw.get("kinds", {})
        by_field: dict[str, dict[str, str]] = {}
        for pointer, name in kinds.items():
            by_field.setdefault(_first(pointer), {})[pointer] = name
        data = {}
        for name, value in raw.items():
            if name in ("id", "kinds"):
                continue
            if name not in fields and name not in COMMON_FIELDS:
                raise KeyError(name)
            plain = name not in special
            data[name] = value if plain else _read_field(fields[name], value, f"/{name}", by_field.get(name, {}))
        for name in _REQUIRED[kind]:
            if name not in data:
                raise BadRecord(f"`{kind}` lacks `{name}`")
        return data, (_string(raw["id"]) if "id" in raw else None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRecord(f"it is not of the form of a record: {error}") from None


def read_plain(kind: str, raw: Json) -> dict[str, Any]:
    """``raw`` itself as the data of a record, when its shape is known to be sound and it has neither an identity nor
    kinds of its own; as ``data_of``."""
    fields = KINDS[kind].fields
    for name in _SPECIAL[kind]:
        if name in raw:
            raw[name] = _read_field(fields[name], raw[name], f"/{name}", {})
    return raw


@lru_cache(maxsize=1_024)  # many records are of one instant
def time_text(us: int) -> str:
    """An instant as RFC 3339."""
    return format_timestamp(Timestamp(us))


def time_of(text: str) -> int:
    """The instant of an RFC 3339 text. Raises ``BadRecord``."""
    value = parse_timestamp(text)
    if value is None:
        raise BadRecord(f"`{str(text)[:40]}` is not a timestamp")
    return value.us


def _duration_of(text: str) -> int:
    us = parse_duration(text)
    if us is None:
        raise BadRecord(f"`{str(text)[:40]}` is not a duration")
    return us


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise BadRecord("a path is a string")
    return value


def _integer(value: object) -> int:
    if type(value) is not int:
        raise BadRecord("a number is expected")
    return value


#: Of each kind the fields that are no plain JSON in memory, with their types.
_SPECIAL: Final[dict[str, dict[str, str]]] = {
    name: {field: each.type for field, each in kind.fields.items() if each.type in ("value", "time", "duration")}
    for name, kind in KINDS.items()
}
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(field for field, each in kind.fields.items() if not each.optional) for name, kind in KINDS.items()
}


def _write_field(type_: str, value: Any, pointer: str, kinds: dict[str, str]) -> Any:
    if type_ == "value":
        return write_value(value, pointer, kinds)
    return time_text(value) if type_ == "time" else format_duration(value)


def _read_field(field: Field, value: Any, pointer: str, kinds: dict[str, str]) -> Any:
    if field.type == "value":
        return read_value(value, pointer, kinds)
    if field.type == "time":
        return time_of(value)
    if field.type == "duration":
        return _duration_of(value)
    return value


def write_value(value: Any, pointer: str, kinds: dict[str, str], depth: int = 0) -> Any:
    """A workflow value as JSON data; what JSON cannot say is put into ``kinds``."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > MAX_DEPTH:
        raise ValueError("a value is nested too deeply to be recorded")
    if isinstance(value, dict):
        return {
            key: each if type(each) in _PLAIN else write_value(each, f"{pointer}/{_escaped(key)}", kinds, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [
            each if type(each) in _PLAIN else write_value(each, f"{pointer}/{position}", kinds, depth + 1)
            for position, each in enumerate(value)
        ]
    if kind is Timestamp:
        kinds[pointer] = "timestamp"
        return format_timestamp(value)
    if kind is Duration:
        kinds[pointer] = "duration"
        return format_duration(value.us)
    if isinstance(value, Marked):
        kinds[pointer] = "suppressed"
        return {SUPPRESSED: write_value(value.value, f"{pointer}/{SUPPRESSED}", kinds, depth + 1)}
    raise TypeError(f"not a value: {kind.__name__}")


def read_value(value: Any, pointer: str, kinds: dict[str, str], depth: int = 0) -> Any:
    """The workflow value of JSON data, by the ``kinds`` recorded beside it."""
    if not kinds:
        return _numbers(value)
    name = kinds.get(pointer)
    if name == "timestamp":
        found = parse_timestamp(value)
        if found is None:
            raise BadRecord(f"`{pointer}` is not a timestamp")
        return found
    if name == "duration":
        text: str = value
        us = -_duration_of(text[1:]) if text[:1] == "-" else _duration_of(text)
        return Duration(us)
    if name == "suppressed":
        return Marked(read_value(value[SUPPRESSED], f"{pointer}/{SUPPRESSED}", kinds, depth + 1))
    if depth > MAX_DEPTH:
        raise BadRecord("a value is nested too deeply")
    if isinstance(value, dict):
        return {key: read_value(each, f"{pointer}/{_escaped(key)}", kinds, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [read_value(each, f"{pointer}/{position}", kinds, depth + 1) for position, each in enumerate(value)]
    return _numbers(value)


def _numbers(value: Any) -> Any:
    """Whole floats (another writer's ``1.0``) are integers here."""
    if type(value) is float:
        return finish(value)
    if isinstance(value, dict):
        return {key: each if type(each) is str else _numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [each if type(each) is str else _numbers(each) for each in value]
    return value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def _first(pointer: str) -> str:
    return pointer[1:].split("/", 1)[0]
