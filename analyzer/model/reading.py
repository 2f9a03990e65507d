"""Reading maps and literals by the vocabulary tables: kinds, domains, unknown and missing keys."""

from __future__ import annotations

from collections.abc import Container, Iterable
from collections.abc import Mapping as AbstractMapping
from typing import Any, Final

from analyzer.expressions.schema_faults import kind_words
from analyzer.expressions.times import parse_timestamp
from analyzer.language.durations import explain_duration_error, parse_duration, suggest_duration
from analyzer.language.suggest import MAX_SUGGESTIONS, hint, nearest
from analyzer.language.vocabulary import IDENTIFIER, NAME, REFERENCE, STANDARD_VERSION, VALUE_KINDS, KeySpec
from analyzer.language.words import shown
from analyzer.model.problems import EditDraft, FixDraft, Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken, is_cut


def is_template(node: Node) -> bool:
    """A string with an interpolation in it."""
    return isinstance(node, Scalar) and type(node.value) is str and "{{" in node.value


def is_absent(node: Node) -> bool:
    """No text at all stands there (``key:``)."""
    return isinstance(node, Scalar) and node.value is None and node.text == "" and not node.broken


def is_null(node: Node) -> bool:
    """Null, written or by absence."""
    return isinstance(node, Scalar) and node.value is None and not node.broken


def is_merge(key: Node) -> bool:
    """A merge key, which the parser refused; what it would have brought is not known."""
    return isinstance(key, Scalar) and key.value == "<<" and key.style == "plain"


def is_partial(mapping: Mapping) -> bool:
    """Some of the map could not be read, so nothing can be said of what is missing."""
    if mapping.partial:
        return True
    for entry in mapping.entries:
        key = entry.key
        if isinstance(key, Scalar) and (key.broken or (key.value == "<<" and is_merge(key))):
            return True
    return False


def _wanted(spec: KeySpec) -> str:
    """What must stand at a key, in words."""
    return f"one of {listed(spec.values)}" if spec.kind == "enum" else VALUE_KINDS[spec.kind]


class Reader:
    """Reads parts of one file and reports structure problems; holds nothing but the problems."""

    __slots__ = ("problems", "suggested")

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.suggested = 0

    def wrong_kind(self, entry: Entry, wanted: str) -> None:
        """Report that the entry's value is of the wrong kind: on the value, or on the key when nothing stands there."""
        if is_broken(entry.value) or is_cut(entry.value):
            return
        where = entry.key if is_absent(entry.value) else entry.value
        name = entry.key.text if isinstance(entry.key, Scalar) else "this key"
        self.problems.report("wrong-kind", where, f"`{name}` must be {wanted}, but is {kind_words(entry.value)}.")

    def mapping(self, entry: Entry, wanted: str = "a map") -> Mapping | None:
        """The entry's value when it is a map."""
        if isinstance(entry.value, Mapping):
            return entry.value
        self.wrong_kind(entry, wanted)
        return None

    def sequence(self, entry: Entry, wanted: str = "a list") -> Sequence | None:
        """The entry's value when it is a list."""
        if isinstance(entry.value, Sequence):
            return entry.value
        self.wrong_kind(entry, wanted)
        return None

    def string_entries(self, mapping: Mapping) -> dict[str, Entry]:
        """Entries by string key, the first of duplicates; other keys are left to ``non-string-key``."""
        found: dict[str, Entry] = {}
        for entry in mapping.entries:
            key = entry.key
            if isinstance(key, Scalar) and type(key.value) is str and not key.broken:
                name = key.value
                if name not in found and (name != "<<" or not is_merge(key)):
                    found[name] = entry
        return found

    def fields(
        self, mapping: Mapping, table: AbstractMapping[str, KeySpec], owner: Node | tuple[int, int], place: str
    ) -> dict[str, Entry]:
        """The entries of a map whose keys ``table`` allows; unknown and missing keys are reported.

        ``owner`` is where a missing key is reported, ``place`` names the map in messages.
        """
        entries = self.string_entries(mapping)
        keys = {name: entry for name, entry in entries.items() if name in table}
        self.unknown_keys({name: entry for name, entry in entries.items() if name not in table}, table, place, keys)
        if not is_partial(mapping):
            for spec in table.values():
                if spec.required and spec.name not in keys:
                    self.missing_key(owner, spec.name, spec, place)
        return keys

    def unknown_keys(
        self,
        unknown: dict[str, Entry],
        table: AbstractMapping[str, KeySpec],
        place: str,
        keys: dict[str, Entry],
    ) -> None:
        """Report keys that a place does not allow; a near miss of one that is free is added to ``keys`` as that one.

        What follows from the slip (a missing key, a name that nothing binds) is then not reported too.
        """
        for name, entry in unknown.items():
            near = self.unknown_key(entry, name, table, place, keys)
            if near is not None:
                keys[near] = entry

    def unknown_key(
        self, entry: Entry, name: str, table: AbstractMapping[str, KeySpec], place: str, taken: Container[str]
    ) -> str | None:
        """Report a key that the place does not allow; gives the free key that it is a near miss of, if any."""
        free = [known for known, spec in table.items() if known not in taken and plausible(spec, entry.value)]
        near = None
        if self.suggested < MAX_SUGGESTIONS:
            self.suggested += 1
            near = nearest(name, free)
        allowed = [known for known in table if known not in taken] or list(table)
        suffix = f" Did you mean `{near}`?" if near else f" Allowed here: {listed(allowed)}."
        fixes = [] if near is None else [rename_fix(entry.key, near)]
        self.problems.report("unknown-key", entry.key, f"`{shown(name)}` is not a key of {place}.{suffix}", fixes=fixes)
        return near

    def missing_key(self, owner: Node | tuple[int, int], name: str, spec: KeySpec, place: str) -> None:
        """Report a required key that is not there."""
        message = f"{place} lacks `{name}`: add it, {_wanted(spec)}."
        self.problems.report("missing-key", owner, message[0].upper() + message[1:])

    def literal(self, entry: Entry, spec: KeySpec) -> Any:
        """The literal of an entry by the spec's kind, or None when it is not one (reported, unless broken)."""
        node = entry.value
        if is_broken(node):
            return None
        reader = _LITERALS.get(spec.kind)
        if reader is None:
            return None
        if not isinstance(node, Scalar):
            self.wrong_kind(entry, _wanted(spec))
            return None
        if is_template(node) and spec.kind not in ("text", "version", "timeout", "wait-timeout"):
            self.problems.report(
                "literal-required",
                node,
                f"`{spec.name}` is fixed before a run starts: write {_wanted(spec)}, not an interpolation.",
            )
            return None
        return reader(self, entry, node, spec)

    def _string(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        if type(node.value) is not str:
            message = f"`{spec.name}` must be {VALUE_KINDS[spec.kind]}, but is {kind_words(node)}."
            fixes: list[FixDraft] = []
            quoted = _quotable(node, spec)
            if quoted is not None:
                message += f' Quote it: `"{quoted}"`.'
                edit = EditDraft(node.start, node.end, f'"{quoted}"')
                fixes = [FixDraft("Quote the value", "safe", (edit,))]
            if spec.kind not in ("text", "version", "standard-version", "connection", "name"):
                message, fixes = f"`{spec.name}` must be {VALUE_KINDS[spec.kind]}, but is {kind_words(node)}.", []
            self.problems.report("wrong-kind", entry.key if is_absent(node) else node, message, fixes=fixes)
            return None
        return node.value

    def _text(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        return self._string(entry, node, spec)

    def _standard_version(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        text = self._string(entry, node, spec)
        if text is not None and text != STANDARD_VERSION:
            self.problems.report(
                "unsupported-version",
                node,
                f'Standard version `{text}` is not supported; this tool reads `"{STANDARD_VERSION}"`.',
            )
        return text

    def _pattern(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        text = self._string(entry, node, spec)
        if text is None:
            return None
        pattern = IDENTIFIER if spec.kind == "identifier" else NAME
        if pattern.match(text):
            return text
        self.problems.report("invalid-value", node, f"`{shown(text)}` is not {VALUE_KINDS[spec.kind]}.")
        return None

    def _connection(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        text = self._string(entry, node, spec)
        if text == "":
            self.problems.report("invalid-value", node, "`connection` must not be empty: name one of the deployment.")
            return None
        return text

    def _enum(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        if type(node.value) is not str:
            self.wrong_kind(entry, _wanted(spec))
            return None
        if node.value in spec.values:
            return node.value
        near = nearest(node.value, spec.values)
        fixes = (
            []
            if near is None
            else [FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(node.start, node.end, near),))]
        )
        self.problems.report(
            "invalid-value",
            node,
            f"`{shown(node.value)}` is not a value of `{spec.name}`; use one of {listed(spec.values)}."
            + hint(node.value, spec.values),
            fixes=fixes,
        )
        return near  # read as what was meant, so that nothing follows from the slip

    def _boolean(self, entry: Entry, node: Scalar, _spec: KeySpec) -> bool | None:
        if isinstance(node.value, bool):
            return node.value
        self.wrong_kind(entry, "true or false")
        return None

    def _number(self, entry: Entry, node: Scalar, spec: KeySpec) -> int | float | None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong_kind(entry, VALUE_KINDS[spec.kind])
            return None
        if spec.kind == "positive-integer":
            fits = value >= 1 and float(value).is_integer() if isinstance(value, float) else value >= 1
        elif spec.kind == "factor":
            fits = 1 <= value < float("inf")
        else:
            fits = 0 <= value <= 1
        if not fits:
            self.problems.report("invalid-value", node, f"`{spec.name}` must be {VALUE_KINDS[spec.kind]}.")
            return None
        return int(value) if spec.kind == "positive-integer" else value

    def _duration(self, entry: Entry, node: Scalar, spec: KeySpec) -> int | None:
        if type(node.value) is not str:
            self.wrong_kind(entry, VALUE_KINDS[spec.kind])
            return None
        if is_template(node):
            return None
        microseconds = parse_duration(node.value)
        if microseconds is None:
            if spec.kind == "wait-timeout" and parse_timestamp(node.value) is not None:
                return None
            message = explain_duration_error(node.value)
            near = suggest_duration(node.value)
            if spec.kind == "wait-timeout" and near is None and not node.value[:4].isdigit():
                message += " A timestamp needs a date, a time and an offset: `2026-01-31T12:00:00Z`."
            fixes = [rename_fix(node, near)] if near else []
            self.problems.report("invalid-value", node, f"`{spec.name}`: {message}", fixes=fixes)
            return None
        if microseconds == 0 and spec.kind in ("positive-duration", "timeout"):
            self.problems.report("invalid-value", node, f"`{spec.name}` must be longer than zero, such as `30s`.")
            return None
        return microseconds

    def _reference(self, entry: Entry, node: Scalar, spec: KeySpec) -> str | None:
        text = self._string(entry, node, spec)
        if text is None:
            return None
        if REFERENCE.match(text):
            return text
        self.problems.report(
            "invalid-value", node, f"`{shown(text)}` is not a trigger reference; write `connector.trigger`."
        )
        return None

    def codes(self, entry: Entry) -> list[Scalar] | None:
        """A list of literal codes, None for any others; faulty items are reported and left out."""
        items = self.sequence(entry, VALUE_KINDS["codes"])
        if items is None or items.partial:
            return None
        codes: list[Scalar] = []
        for item in items.items:
            if is_broken(item):
                continue
            if not isinstance(item, Scalar) or type(item.value) is not str:
                self.problems.report("wrong-kind", item, f"A code is a string, but this is {kind_words(item)}.")
            elif is_template(item):
                self.problems.report("literal-required", item, "A code is a literal string, not an interpolation.")
            elif item.value == "":
                self.problems.report("invalid-value", item, "A code must not be empty.")
            else:
                codes.append(item)
        return codes


_LITERALS: Final = {
    "text": Reader._text,
    "version": Reader._text,
    "standard-version": Reader._standard_version,
    "identifier": Reader._pattern,
    "name": Reader._pattern,
    "state": Reader._text,
    "connection": Reader._connection,
    "enum": Reader._enum,
    "boolean": Reader._boolean,
    "positive-integer": Reader._number,
    "factor": Reader._number,
    "fraction": Reader._number,
    "positive-duration": Reader._duration,
    "duration": Reader._duration,
    "timeout": Reader._duration,
    "wait-timeout": Reader._duration,
    "reference": Reader._reference,
}


_LIST_KINDS: Final = frozenset({"steps", "handlers", "codes", "list"})
_MAP_KINDS: Final = frozenset({"map", "types", "map-of-expressions", "call"})
_ANY_KINDS: Final = frozenset({"expression", "any", "type", "list-expression"})


def plausible(spec: KeySpec, node: Node) -> bool:
    """Whether a value can have been meant for a key: a step list is no guard, whatever the key looks like."""
    if spec.kind in _ANY_KINDS or is_broken(node) or is_null(node):
        return True
    if spec.kind in _LIST_KINDS:
        return isinstance(node, Sequence)
    if spec.kind in _MAP_KINDS:
        return isinstance(node, Mapping)
    return isinstance(node, Scalar)


def _quotable(node: Scalar, spec: KeySpec) -> str | None:
    """The string that a literal of another kind was meant to be, when it may stand there."""
    if node.value is None:
        return None
    if spec.kind == "standard-version":
        same = type(node.value) is not bool and node.value == float(STANDARD_VERSION)
        return STANDARD_VERSION if same else None
    if spec.kind == "name":
        return node.text if NAME.match(node.text) else None
    return node.text


def rename_fix(node: Node, name: str) -> FixDraft:
    """Replace a key or word by the near one; a guess, so unsafe."""
    return FixDraft(f"Change to `{name}`", "unsafe", (EditDraft(node.start, node.end, name),))


def listed(words: Iterable[str], most: int = 12) -> str:
    """Words in backticks, joined for a sentence; "none" when there are none."""
    names = [f"`{word}`" for word in words]
    if not names:
        return "none"
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
