"""Whether one JSON Schema accepts values that another does not, told keyword by keyword.

Reports only what is certain to be wider in the way schemas are written by people; a change whose direction cannot be
told without solving the schemas is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from analyzer.expressions.schema_plain import Schema, fits_kind
from analyzer.expressions.short_types import Json

Path: TypeAlias = tuple[str, ...]
Widening: TypeAlias = tuple[Path, str]

_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_BELOW: Final = ("items", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems")
_ALL_KINDS: Final = ("array", "boolean", "null", "number", "object", "string")


def widenings(old: Schema, new: Schema, path: Path = ()) -> Iterator[Widening]:
    """Where ``new`` accepts more than ``old``: the path of keywords and names, and what is wider, in words."""
    if old is True or old == {} or new is False or old == new:
        return
    if old is False:
        yield path, "a value is accepted where none was"
        return
    if new is True or not isinstance(new, dict) or not isinstance(old, dict):
        yield path, "any value is accepted here"
        return
    yield from _kinds(old, new, path)
    yield from _values(old, new, path)
    yield from _bounds(old, new, path)
    yield from _names(old, new, path)
    yield from _objects(old, new, path)
    for key in _BELOW:
        if key in old:
            yield from widenings(old[key], new.get(key, True), (*path, key))
    for key in ("$defs", "definitions", "dependentSchemas", "patternProperties"):
        for name, each in old.get(key, {}).items():
            if name in new.get(key, {}):
                yield from widenings(each, new[key][name], (*path, key, name))
    yield from _compositions(old, new, path)


def _kinds(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    if "type" not in old or ("enum" in new or "const" in new):
        return
    allowed = _kind_list(old["type"])
    wanted = _kind_list(new["type"]) if "type" in new else list(_ALL_KINDS)
    added = [kind for kind in wanted if kind not in allowed and not (kind == "integer" and "number" in allowed)]
    if added:
        yield (*path, "type"), f"values of type {' and '.join(f'`{kind}`' for kind in added)} are accepted too"


def _kind_list(kinds: Any) -> list[str]:
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _values(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    """``enum`` and ``const``, and finite values where the manifest says only the type."""
    before, after = _finite(old), _finite(new)
    key = "const" if "const" in new else "enum"
    if before is not None and after is None:
        yield (*path, "enum" if "enum" in old else "const"), "the values are no longer restricted"
    elif after is not None:
        if before is not None:
            added = [value for value in after if not any(_equal(value, each) for each in before)]
        else:
            added = [value for value in after if "type" in old and not fits_kind(value, _kind_list(old["type"]))]
        if added:
            yield (*path, key), f"{', '.join(f'`{value}`' for value in added[:5])} is accepted too"


def _finite(schema: Json) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _bounds(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    tests: tuple[tuple[tuple[str, ...], Callable[[Any, Any], bool], str], ...] = (
        (_LOWER, lambda before, after: after < before, "lowered"),
        (_UPPER, lambda before, after: after > before, "raised"),
    )
    for keys, wider, word in tests:
        for key in keys:
            if key in old and (key not in new or wider(old[key], new[key])):
                how = "left out" if key not in new else f"{word} from {old[key]} to {new[key]}"
                yield (*path, key), f"`{key}` is {how}"
    if old.get("uniqueItems") is True and new.get("uniqueItems") is not True:
        yield (*path, "uniqueItems"), "an element may appear twice"
    step = old.get("multipleOf")
    if step is not None and isinstance(step, int):
        other = new.get("multipleOf")
        if other is None or (isinstance(other, int) and other % step):
            yield (*path, "multipleOf"), f"values that are not a multiple of {step} are accepted too"


def _names(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    missing = [name for name in old.get("required", ()) if name not in new.get("required", ())]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield (*path, "required"), f"{', '.join(f'`{name}`' for name in missing)} {verb} no longer required"


def _objects(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    before, after = old.get("properties", {}), new.get("properties", {})
    others: Schema = old.get("additionalProperties", True)
    matched = bool(old.get("patternProperties"))
    for name, each in after.items():
        if name in before:
            yield from widenings(before[name], each, (*path, "properties", name))
        elif others is False and not matched and each is not False:
            yield (*path, "properties", name), f"the field `{name}` is accepted too"
        elif isinstance(others, dict) and not matched:
            yield from widenings(others, each, (*path, "properties", name))
    rest: Schema = new.get("additionalProperties", True)
    for name, each in before.items():
        if name not in after and rest is not False:
            yield from widenings(each, rest, (*path, "properties", name))
    if "additionalProperties" in old:
        for where, what in widenings(others, rest, (*path, "additionalProperties")):
            yield where, "fields that the manifest does not declare are accepted" if others is False else what


def _compositions(old: Json, new: Json, path: Path) -> Iterator[Widening]:
    """Alternatives that were added to all that were there, and parts that were taken away from ``allOf``."""
    for key in ("anyOf", "oneOf"):
        before, after = old.get(key), new.get(key)
        if before is None:
            continue
        if after is None or (len(after) > len(before) and all(each in after for each in before)):
            yield (*path, key), "another form is accepted too"
    before, after = old.get("allOf", []), new.get("allOf", [])
    if len(after) < len(before) and all(each in before for each in after):
        yield (*path, "allOf"), "a part that had to be fulfilled is gone"
