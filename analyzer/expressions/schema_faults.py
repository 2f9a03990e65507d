"""Checks a JSON Schema (2020-12) in a file and gives its sound part as plain JSON (language page, section 3).

Every fault is reported at the node that has it and its keyword is then left out, so that one fault costs itself only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from analyzer.expressions.patterns import Pattern, compile_pattern
from analyzer.expressions.schema_plain import (
    SCHEMA_KEYS,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    Schema,
    fits_kind,
    map_subschemas,
    pointer_tokens,
    resolve_local,
)
from analyzer.expressions.short_types import Json, ShortTypeError, read_short_type
from analyzer.language.suggest import distance, hint, nearest
from analyzer.language.words import shown
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence, is_broken

Report = Callable[[Node, str], None]


class _Dropped:
    """Stands for a keyword that is left out."""


_DROPPED: Final = _Dropped()

JSON_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

_TYPE_ADVICE: Final = {
    "timestamp": "write `type: string` with `format: date-time`",
    "datetime": "write `type: string` with `format: date-time`",
    "date": "write `type: string` with `format: date`",
    "duration": "write `type: string` with `format: duration`",
    "any": "leave `type` out for any value",
    "list": "write `type: array`",
    "map": "write `type: object`",
    "dict": "write `type: object`",
    "record": "write `type: object`",
    "str": "write `type: string`",
    "text": "write `type: string`",
    "int": "write `type: integer`",
    "float": "write `type: number`",
    "double": "write `type: number`",
    "bool": "write `type: boolean`",
    "none": 'write `type: "null"`',
}

#: Keyword to the kind of its value; schemas, maps and lists of schemas are in ``schema_plain``.
KEYWORDS: Final[dict[str, str]] = {
    **dict.fromkeys(sorted(SCHEMA_KEYS), "schema"),
    **dict.fromkeys(sorted(SCHEMA_MAPS), "schemas by name"),
    **dict.fromkeys(sorted(SCHEMA_LISTS), "list of schemas"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "count"),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), "count"),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly", "sensitive"), "boolean"),
    **dict.fromkeys(("$id", "$schema", "$anchor", "$comment", "title", "description", "format"), "text"),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), "text"),
    **dict.fromkeys(("default", "examples", "const"), "any"),
    "multipleOf": "positive number",
    "pattern": "pattern",
    "required": "names",
    "dependentRequired": "names by name",
    "type": "type",
    "enum": "values",
    "$ref": "reference",
    "$dynamicRef": "unsupported",
    "$dynamicAnchor": "text",
}

# Keywords of other dialects that change nothing here, and look like a keyword of this one.
_IGNORED: Final = frozenset({"example", "id", "xml"})
_OTHER_DIALECTS: Final = {
    "nullable": 'write `type: [string, "null"]`, or the type that it is',
    "dependencies": "write `dependentRequired` or `dependentSchemas`",
    "additionalItems": "write `prefixItems` for the first elements and `items` for the rest",
    "divisibleBy": "write `multipleOf`",
}


def sound_schema(node: Node, report: Report) -> Schema:
    """The sound part of the schema at ``node`` as plain JSON; ``report`` gets each fault at its node."""
    checker = _Checker(report)
    schema = checker.schema(node)
    return checker.without_bad_references(schema)


def json_value(node: Node) -> Any:
    """The JSON value of a tree: keys become strings, of duplicates the first counts."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [json_value(item) for item in node.items]
    assert isinstance(node, Mapping)
    result: Json = {}
    for entry in node.entries:
        key = entry.key
        name = key.text if isinstance(key, Scalar) else "?"
        if name not in result:
            result[name] = json_value(entry.value)
    return result


def key_text(node: Node) -> str | None:
    """A string key's text, or None for keys that the parser has reported."""
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) and not node.broken else None


def kind_words(node: Node) -> str:
    """What stands at a node, in words."""
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Sequence):
        return "a list"
    assert isinstance(node, Scalar)
    if node.value is None:
        return "null" if node.text else "empty"
    if isinstance(node.value, bool):
        return "a boolean"
    return "a string" if isinstance(node.value, str) else "a number"


class _Checker:
    """Checks one schema document; references are looked up at the end, when all of it is known."""

    __slots__ = ("references", "report")

    def __init__(self, report: Report) -> None:
        self.report = report
        self.references: list[tuple[Node, str]] = []

    def schema(self, node: Node) -> Schema:
        if isinstance(node, Mapping):
            return self.keywords(node)
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        if not is_broken(node):
            self.report(node, _not_a_schema(node))
        return True

    def keywords(self, mapping: Mapping) -> Json:
        result: Json = {}
        nodes: dict[str, Node] = {}
        for entry in mapping.entries:
            name = key_text(entry.key)
            if name is None or name in nodes:
                continue
            nodes[name] = entry.value
            if is_broken(entry.value):
                continue
            kind = KEYWORDS.get(name)
            if kind is None:
                self.unknown_keyword(entry.key, name, nodes)
                result[name] = json_value(entry.value)
                continue
            value = _HANDLERS[kind](self, entry.value, name)
            if value is not _DROPPED:
                result[name] = value
        self.drop_unmatched_patterns(result)
        self.check_together(result, nodes)
        return result

    def unknown_keyword(self, key: Node, name: str, present: dict[str, Node]) -> None:
        """Other keywords are allowed and mean nothing; one that is nearly a keyword is a mistake."""
        advice = _OTHER_DIALECTS.get(name)
        if advice is not None:
            self.report(key, f"`{name}` is not a keyword of JSON Schema 2020-12: {advice}.")
        elif len(name) >= 4 and name not in _IGNORED and not name.startswith(("x-", "$")):
            near = _misspelled(name, [known for known in KEYWORDS if known not in present])
            if near is not None:
                self.report(key, f"`{shown(name)}` is not a keyword of JSON Schema. Did you mean `{near}`?")

    def drop_unmatched_patterns(self, schema: Json) -> None:
        """Names that cannot be matched here are not known, and neither is which names are left over."""
        patterns = schema.get("patternProperties")
        if patterns is None:
            return
        cheap = {name: each for name, each in patterns.items() if _is_cheap(name)}
        if len(cheap) < len(patterns):
            schema.pop("additionalProperties", None)
            schema.pop("unevaluatedProperties", None)
            schema["patternProperties"] = cheap

    def check_together(self, schema: Json, nodes: dict[str, Node]) -> None:
        """Faults of keywords that do not go together; in each case no value could ever fit."""
        kinds = schema.get("type")
        if kinds is not None and "enum" in schema:
            wanted = [kinds] if isinstance(kinds, str) else kinds
            if not any(fits_kind(value, wanted) for value in schema["enum"]):
                self.report(nodes["enum"], f"No value of `enum` is of type `{wanted[0]}`: change `type` or the values.")
                del schema["enum"]
        if kinds is not None and "const" in schema:
            wanted = [kinds] if isinstance(kinds, str) else kinds
            if not fits_kind(schema["const"], wanted):
                self.report(
                    nodes["const"], f"The value of `const` is not of type `{wanted[0]}`: change one of the two."
                )
                del schema["const"]
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            self.check_required(schema, nodes)
        for low, high in _BOUNDS:
            if low in schema and high in schema and schema[low] > schema[high]:
                self.report(nodes[high], f"`{high}` is below `{low}`, so nothing can fit: swap or change them.")
                del schema[high]

    def check_required(self, schema: Json, nodes: dict[str, Node]) -> None:
        names = schema.get("required", [])
        declared = schema.get("properties", {})
        node = nodes.get("required")
        for name in [name for name in names if name not in declared]:
            assert isinstance(node, Sequence)
            where = next(item for item in node.items if isinstance(item, Scalar) and item.value == name)
            message = f"`required` names `{shown(name)}`, which `properties` does not declare: declare it."
            self.report(where, message + hint(name, declared))
            names.remove(name)

    # One method for each kind of value: the sound value, or _DROPPED after a report.

    def one_schema(self, node: Node, name: str) -> Any:
        if name == "items" and isinstance(node, Sequence):
            self.report(node, "`items` is one schema for all elements; write `prefixItems` for a list of schemas.")
            return _DROPPED
        return self.schema(node)

    def schemas_by_name(self, node: Node, name: str) -> Any:
        if not isinstance(node, Mapping):
            self.report(node, f"`{name}` must be a map of names to schemas, but is {kind_words(node)}.")
            return _DROPPED
        result: Json = {}
        for entry in node.entries:
            key = key_text(entry.key)
            if key is None or key in result:
                continue
            if name == "patternProperties" and not self.is_pattern(entry.key, key):
                continue
            result[key] = self.schema(entry.value)
        return result

    def list_of_schemas(self, node: Node, name: str) -> Any:
        if not isinstance(node, Sequence) or not node.items:
            found = "an empty list" if isinstance(node, Sequence) else kind_words(node)
            self.report(node, f"`{name}` must be a list of one or more schemas, but is {found}.")
            return _DROPPED
        return [self.schema(item) for item in node.items]

    def number(self, node: Node, name: str) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in _INFINITE:
            self.report(node, f"`{name}` must be a number, but is {kind_words(node)}.")
            return _DROPPED
        if name == "multipleOf" and value <= 0:
            self.report(node, "`multipleOf` must be above 0.")
            return _DROPPED
        return value

    def count(self, node: Node, name: str) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.report(node, f"`{name}` must be a whole number of at least 0.")
            return _DROPPED
        return value

    def boolean(self, node: Node, name: str) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self.report(node, f"`{name}` must be true or false, but is {kind_words(node)}.")
        return _DROPPED

    def text(self, node: Node, name: str) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        advice = " Quote it." if isinstance(node, Scalar) and node.value is not None else ""
        self.report(node, f"`{name}` must be a string, but is {kind_words(node)}.{advice}")
        return _DROPPED

    def pattern(self, node: Node, name: str) -> Any:
        text = self.text(node, name)
        if not isinstance(text, str) or not self.is_pattern(node, text):
            return _DROPPED
        # Valid elsewhere, but Python cannot match it: then it is not checked.
        return text if isinstance(compile_pattern(text), Pattern) else _DROPPED

    def is_pattern(self, node: Node, text: str) -> bool:
        found = compile_pattern(text)
        if isinstance(found, str):
            self.report(node, f"`{shown(text)}` is not a regular expression ({found}): correct it.")
            return False
        return True

    def names(self, node: Node, name: str) -> Any:
        if not isinstance(node, Sequence):
            advice = ""
            if name == "required" and isinstance(node, Scalar) and isinstance(node.value, bool):
                advice = " It stands beside `properties` and lists the names that must be there."
            self.report(node, f"`{name}` must be a list of names, but is {kind_words(node)}.{advice}")
            return _DROPPED
        names: dict[str, None] = {}
        for item in node.items:
            if isinstance(item, Scalar) and isinstance(item.value, str) and not item.broken:
                if item.value in names:
                    self.report(item, f"`{shown(item.value)}` appears twice in `{name}`: remove one.")
                names[item.value] = None
            elif not is_broken(item):
                self.report(item, f"`{name}` lists names, but this is {kind_words(item)}: write a name, in quotes.")
        return list(names)

    def names_by_name(self, node: Node, name: str) -> Any:
        if not isinstance(node, Mapping):
            self.report(node, f"`{name}` must be a map of names to lists of names, but is {kind_words(node)}.")
            return _DROPPED
        found = {key_text(entry.key): self.names(entry.value, name) for entry in reversed(node.entries)}
        return {key: each for key, each in found.items() if key is not None and each is not _DROPPED}

    def values(self, node: Node, name: str) -> Any:
        if not isinstance(node, Sequence) or not node.items:
            found = "an empty list" if isinstance(node, Sequence) else kind_words(node)
            self.report(node, f"`{name}` must be a list of one or more allowed values, but is {found}.")
            return _DROPPED
        return [json_value(item) for item in node.items if not is_broken(item)] or _DROPPED

    def type(self, node: Node, _name: str) -> Any:
        if not isinstance(node, Sequence):
            return self.type_name(node) or _DROPPED
        if not node.items:
            self.report(node, "`type` is an empty list: name at least one type, or leave it out.")
        found = [self.type_name(item) for item in node.items]
        # With a part unknown, what the whole allows is not known.
        return list(dict.fromkeys(found)) if found and None not in found else _DROPPED

    def type_name(self, node: Node) -> str | None:
        """The type's name, or None when it is not known; null without quotes is reported, and meant."""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if node.value in JSON_TYPES:
                return node.value
            if not node.broken:
                self.report(node, _unknown_type(node.value))
            return None
        if isinstance(node, Scalar) and node.value is None and node.text:
            self.report(node, 'The type null is a word here: quote it, `"null"`.')
            return "null"
        if not is_broken(node):
            self.report(node, f"`type` must be a type's name or a list of names, but is {kind_words(node)}.")
        return None

    def reference(self, node: Node, name: str) -> Any:
        text = self.text(node, name)
        if not isinstance(text, str):
            return _DROPPED
        if pointer_tokens(text) is None:
            self.report(
                node,
                f"`{shown(text)}` is outside this schema and never fetched: copy it to `$defs`, as `#/$defs/NAME`.",
            )
            return _DROPPED
        self.references.append((node, text))
        return text

    def any(self, node: Node, _name: str) -> Any:
        return json_value(node)

    def unsupported(self, node: Node, name: str) -> Any:
        self.report(node, f"`{name}` is not supported: write `$ref` with `#/$defs/NAME`.")
        return _DROPPED

    def without_bad_references(self, root: Schema) -> Schema:
        """The schema without references that lead nowhere or back to themselves, which are reported."""
        bad: set[str] = set()
        for node, reference in self.references:
            if resolve_local(root, reference) is None:
                known: Json = root.get("$defs") or root.get("definitions") or {} if isinstance(root, dict) else {}
                place, slash, name = reference.rpartition("/")
                near = nearest(name, known)
                advice = "Declare it under `$defs`." if near is None else f"Did you mean `{place}{slash}{near}`?"
                self.report(node, f"`{shown(reference)}` is not in this schema. {advice}")
                bad.add(reference)
        targets = {reference: resolve_local(root, reference) for _, reference in self.references}
        edges = {reference: _in_place(target) for reference, target in targets.items() if target is not None}
        rings = _rings(edges)
        for node, reference in self.references:
            if reference in rings and reference not in bad:
                self.report(node, f"`{shown(reference)}` leads back to itself without going deeper: remove one `$ref`.")
                bad.add(reference)
        return _without(root, bad | rings) if bad else root


_INFINITE: Final = (float("inf"), float("-inf"))
_BOUNDS: Final = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_HANDLERS: Final[dict[str, Callable[[_Checker, Node, str], Any]]] = {
    "schema": _Checker.one_schema,
    "schemas by name": _Checker.schemas_by_name,
    "list of schemas": _Checker.list_of_schemas,
    "number": _Checker.number,
    "positive number": _Checker.number,
    "count": _Checker.count,
    "boolean": _Checker.boolean,
    "text": _Checker.text,
    "any": _Checker.any,
    "pattern": _Checker.pattern,
    "names": _Checker.names,
    "names by name": _Checker.names_by_name,
    "type": _Checker.type,
    "values": _Checker.values,
    "reference": _Checker.reference,
    "unsupported": _Checker.unsupported,
}
_MAX_NAME = 1_024


def _misspelled(name: str, known: list[str]) -> str | None:
    """The keyword that a name is very near to; words that are merely alike may be somebody's own annotation."""
    bound = 1 if len(name) < 8 else 2
    folded = name.replace("_", "").replace("-", "").lower()
    for keyword in known:
        if folded == keyword.lower() or distance(name, keyword, bound) <= bound:
            return keyword
    return None


def _is_cheap(pattern: str) -> bool:
    found = compile_pattern(pattern)
    return isinstance(found, Pattern) and found.limit() >= _MAX_NAME


def _not_a_schema(node: Node) -> str:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        try:
            schema = read_short_type(node.value).schema
        except ShortTypeError:
            return f"`{shown(node.value)}` is not a JSON Schema: write a map such as `{{ type: string }}`."
        simple = isinstance(schema, dict) and schema.keys() == {"type"} and isinstance(schema["type"], str)
        advice = f"`{{ type: {schema['type']} }}`" if simple and isinstance(schema, dict) else "a map"
        return f"Inside a JSON Schema short types do not stand: instead of `{shown(node.value)}` write {advice}."
    return f"A JSON Schema must be a map such as `{{ type: string }}`, but this is {kind_words(node)}."


def _unknown_type(name: str) -> str:
    advice = _TYPE_ADVICE.get(name.lower())
    if advice is None:
        try:
            read_short_type(name)
        except ShortTypeError:
            near = hint(name, JSON_TYPES) or f" Use one of {', '.join(JSON_TYPES)}."
            return f"`{shown(name)}` is not a type of JSON Schema.{near}"
        advice = "a short type stands alone, without `type`"
    return f"`{shown(name)}` is not a type of JSON Schema: {advice}."


def _in_place(schema: Schema) -> list[str]:
    """References that apply to the same value as ``schema`` does."""
    if isinstance(schema, bool):
        return []
    found = [schema["$ref"]] if "$ref" in schema else []
    parts = [schema[key] for key in ("not", "if", "then", "else") if key in schema]
    for key in ("allOf", "anyOf", "oneOf"):
        parts.extend(schema.get(key, ()))
    parts.extend(schema.get("dependentSchemas", {}).values())
    for part in parts:
        found.extend(_in_place(part))
    return found


def _rings(edges: dict[str, list[str]]) -> set[str]:
    """Every reference that leads back to itself."""
    rings: set[str] = set()
    for start, first in edges.items():
        pending, seen = list(first), set[str]()
        while pending:
            each = pending.pop()
            if each == start:
                rings.add(start)
                break
            if each not in seen:
                seen.add(each)
                pending.extend(edges.get(each, ()))
    return rings


def _without(schema: Schema, bad: set[str]) -> Schema:
    if isinstance(schema, bool):
        return schema
    kept = {key: value for key, value in schema.items() if key != "$ref" or value not in bad}
    return map_subschemas(kept, lambda each: _without(each, bad))
