"""Reads the maps and values of a scenario file by the vocabulary tables; every fault is one ``scenario-invalid``."""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Any, Final

from analyzer.expressions.schema_faults import json_value, key_text, kind_words
from analyzer.expressions.times import explain_timestamp_error, parse_timestamp
from analyzer.language.durations import explain_duration_error, parse_duration
from analyzer.language.scenario_vocabulary import SCENARIO_KINDS
from analyzer.language.suggest import hint, nearest
from analyzer.language.vocabulary import REFERENCE, KeySpec
from analyzer.language.words import shown
from analyzer.model.problems import EditDraft, FixDraft, Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken

RULE: Final = "scenario-invalid"
Keys = dict[str, Entry]


class Bad(Exception):
    """A value that was reported and has no meaning."""


class ValueReader:
    """Reads values; ``start_us`` is what moments that are written as timestamps count from."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.start_us = 0

    def report(self, node: Node | tuple[int, int], message: str, fixes: tuple[FixDraft, ...] = ()) -> None:
        self.problems.report(RULE, node, message, fixes=fixes)

    # Maps and lists.

    def keys(
        self, node: Node, table: Map[str, KeySpec], place: str, at: Node | tuple[int, int] | None = None
    ) -> Keys | None:
        """The entries of a map whose keys the table has; None when it is no map. ``at``: where missing keys stand."""
        if is_broken(node):
            return None
        if not isinstance(node, Mapping):
            self.wrong(node, at if isinstance(at, Node) else None, f"{place} must be a map")
            return None
        entries: Keys = {}
        for entry in node.entries:
            name = key_text(entry.key)
            if name is not None:
                entries.setdefault(name, entry)
        unknown = [name for name in entries if name not in table]
        for name in unknown:
            self.unknown_key(entries[name], name, [key for key in table if key not in entries], place)
        misspelled = {nearest(name, table) for name in unknown}
        for spec in table.values():
            if spec.required and spec.name not in entries and spec.name not in misspelled:
                self.report(at or node, f"{place} lacks `{spec.name}`: add it. {spec.doc}")
        return {name: entry for name, entry in entries.items() if name in table}

    def unknown_key(self, entry: Entry, name: str, free: list[str], place: str) -> None:
        near = nearest(name, free)
        fixes: tuple[FixDraft, ...] = ()
        if near is not None:
            advice = f"Did you mean `{near}`?"
            edit = EditDraft(entry.key.start, entry.key.end, near)
            fixes = (FixDraft(f"Change to `{near}`", "unsafe", (edit,)),)
        else:
            advice = f"Allowed here: {', '.join(f'`{key}`' for key in free)}." if free else "Remove it."
        self.report(entry.key, f"`{shown(name)}` is not a key of {_lower(place)}. {advice}", fixes)

    def items(self, entry: Entry, what: str) -> list[Node]:
        """The elements of a list; none when it is no list."""
        if is_broken(entry.value):
            return []
        if not isinstance(entry.value, Sequence):
            self.wrong(entry.value, entry.key, f"`{_name(entry)}` must be a list of {what}")
            return []
        return [item for item in entry.value.items if not is_broken(item)]

    def named(self, entry: Entry, what: str) -> list[Entry]:
        """The entries of a map of names; none when it is no map."""
        if is_broken(entry.value):
            return []
        if not isinstance(entry.value, Mapping):
            self.wrong(entry.value, entry.key, f"`{_name(entry)}` must be a map of {what}")
            return []
        found: dict[str, Entry] = {}
        for each in entry.value.entries:
            name = key_text(each.key)
            if name is not None and not is_broken(each.value):
                found.setdefault(name, each)
        return list(found.values())

    def wrong(self, node: Node, at: Node | None, message: str) -> None:
        absent = isinstance(node, Scalar) and node.value is None and node.text == ""
        self.report(at if absent and at is not None else node, f"{message}, but this is {kind_words(node)}.")

    # Values.

    def value(self, keys: Keys, spec: KeySpec, default: Any = None) -> Any:
        """The value of a key by its kind; the default when it is not there or faulty (which is reported)."""
        entry = keys.get(spec.name)
        if entry is None or is_broken(entry.value):
            return default
        try:
            return self.read(entry, spec)
        except Bad:
            return default

    def read(self, entry: Entry, spec: KeySpec) -> Any:
        """The value of an entry by its kind. Raises ``Bad`` when it was reported."""
        node, kind = entry.value, spec.kind
        if kind == "any":
            return json_value(node)
        if kind == "map":
            if isinstance(node, Mapping):
                return json_value(node)
            raise self.bad(entry, f"`{spec.name}` must be a map")
        value = node.value if isinstance(node, Scalar) else None
        if kind in ("duration", "moment"):
            return self.time(entry, spec, value)
        if kind == "timestamp":
            found = parse_timestamp(value) if isinstance(value, str) else None
            if found is None and isinstance(value, str):
                raise self.bad(entry, explain_timestamp_error(value), whole=True)
            if found is None:
                raise self.bad(entry, f"`{spec.name}` must be {SCENARIO_KINDS['timestamp']}")
            return found.us
        if kind in ("text", "reference"):
            return self.text(entry, spec, value)
        if kind == "boolean":
            if isinstance(value, bool):
                return value
            raise self.bad(entry, f"`{spec.name}` must be true or false")
        if kind in ("integer", "count", "positive-integer"):
            return self.integer(entry, spec, value)
        if kind in ("enum", "status"):
            return self.word(entry, spec, value)
        raise AssertionError(f"no reader for values of kind {kind}")

    def time(self, entry: Entry, spec: KeySpec, value: Any) -> int:
        text = value if isinstance(value, str) else entry.value.text if isinstance(entry.value, Scalar) else ""
        us = parse_duration(text) if isinstance(value, str) else None
        if us is not None:
            return us
        if spec.kind == "moment" and isinstance(value, str):
            instant = parse_timestamp(value)
            if instant is not None:
                if instant.us < self.start_us:
                    raise self.bad(entry, f"`{shown(value)}` is before the start of the simulated clock", whole=True)
                return instant.us - self.start_us
        if not isinstance(entry.value, Scalar) or value is None or isinstance(value, bool):
            what = SCENARIO_KINDS["moment"] if spec.kind == "moment" else "a duration such as `2h`"
            raise self.bad(entry, f"`{spec.name}` must be {what}")
        moment = spec.kind == "moment" and len(text) > 8 and "-" in text
        raise self.bad(entry, explain_timestamp_error(text) if moment else explain_duration_error(text), whole=True)

    def text(self, entry: Entry, spec: KeySpec, value: Any) -> str:
        if not isinstance(value, str):
            node = entry.value
            quote = isinstance(node, Scalar) and node.text
            advice = f' Quote it: `"{shown(node.text)}"`.' if quote and isinstance(node, Scalar) else ""
            raise self.bad(entry, f"`{spec.name}` must be a string", advice=advice)
        if not value and spec.name != "on" and spec.name not in _MAY_BE_EMPTY:
            raise self.bad(entry, f"`{spec.name}` is empty: write it, or leave it out", whole=True)
        if spec.kind == "reference" and not REFERENCE.match(value):
            raise self.bad(entry, f"`{shown(value)}` is not of the form `connector.trigger`", whole=True)
        return value

    def integer(self, entry: Entry, spec: KeySpec, value: Any) -> int:
        least = {"count": 0, "positive-integer": 1}.get(spec.kind)
        if type(value) is int and (least is None or value >= least):
            return value
        words = {"count": "an integer of at least 0", "positive-integer": "an integer of at least 1"}
        message = f"`{spec.name}` must be {words.get(spec.kind, 'an integer')}"
        if type(value) is int:
            raise self.bad(entry, f"{message}, not {value}", whole=True)
        raise self.bad(entry, message)

    def word(self, entry: Entry, spec: KeySpec, value: Any) -> str:
        if isinstance(value, str) and value in spec.values:
            return value
        listed = ", ".join(f"`{each}`" for each in spec.values)
        if isinstance(value, str):
            message = f"`{shown(value)}` is not a value of `{spec.name}`; use one of {listed}"
            raise self.bad(entry, message, whole=True, advice=hint(value, spec.values))
        raise self.bad(entry, f"`{spec.name}` must be one of {listed}")

    def bad(self, entry: Entry, message: str, *, whole: bool = False, advice: str = "") -> Bad:
        if whole:
            text = message[:1].upper() + message[1:]
            self.report(entry.value, f"{text}.{advice}" if not text.endswith(("?", ".")) else f"{text}{advice}")
        else:
            absent = isinstance(entry.value, Scalar) and entry.value.value is None and entry.value.text == ""
            what = f"{message}, but is {kind_words(entry.value)}.{advice}"
            self.report(entry.key if absent else entry.value, what)
        return Bad()


_MAY_BE_EMPTY: Final = frozenset({"path", "message", "reason"})


def _name(entry: Entry) -> str:
    return shown(key_text(entry.key) or "this key")


def _lower(place: str) -> str:
    return place[:1].lower() + place[1:]
