"""What must hold for the keys of every map: no merge key, no key twice, no map or list as a key."""

from __future__ import annotations

from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar
from analyzer.syntax.problems import Problems, quoting
from analyzer.syntax.properties import stand_in


def finish_mapping(node: Mapping, text: str, problems: Problems) -> Node:
    """Check a finished map's keys (language page, section 1) and answer what stands for it in the tree.

    That is the map, but for an interpolation without quotes: YAML reads ``{{ name }}`` as a map with a map as its key,
    and its author should hear of the quotes, not of the map. Scalar keys that are not strings are left to the model,
    which knows where they may stand.
    """
    entries = node.entries
    if len(entries) == 1:  # most maps
        key = entries[0].key
        if key.__class__ is Scalar and type(key.value) is str and key.value != "<<":
            return node
    if node.flow and entries and entries[0].key.__class__ is Mapping and text.startswith("{{", node.start):
        written = text[node.start : node.end]
        problems.add(
            "non-string-key",
            node.start,
            node.end,
            'An interpolation must be quoted: write `"{{ … }}"`. Without quotes it is a map with a map as its key.',
            fix=quoting(node.start, node.end, written, "interpolation") if written.endswith("}}") else None,
        )
        return stand_in(node.start, node.end, written)
    try:
        values = {entry.key.value for entry in entries}  # type: ignore[attr-defined]
    except AttributeError:
        _check_each(entries, problems)
        return node
    if len(values) != len(entries) or "<<" in values or None in values:
        _check_each(entries, problems)
    return node


def _check_each(entries: list[Entry], problems: Problems) -> None:
    first: dict[object, Scalar] = {}
    for entry in entries:
        key = entry.key
        if not isinstance(key, Scalar):
            kind = "map" if isinstance(key, Mapping) else "list"
            problems.add(
                "non-string-key",
                key.start,
                key.end,
                f"A {kind} cannot be a key; write a name here.",
            )
        elif key.broken:
            continue
        elif key.value is None and key.start == key.end and key.origin is None:
            problems.add("non-string-key", *_colon(key, entry.value), "This entry has no key; write a name before `:`.")
            key.broken = True
        elif key.value == "<<" and key.style == "plain":
            problems.add(
                "merge-key",
                key.start,
                key.end,
                "Merge keys (`<<`) are not allowed; write the entries out, or use an alias for a whole value.",
            )
            key.broken = True
        else:
            _check_first(key, first, problems)


def _colon(key: Node, value: Node) -> tuple[int, int]:
    return key.start, max(key.start + 1, min(value.start, key.start + 2))


def _check_first(key: Scalar, first: dict[object, Scalar], problems: Problems) -> None:
    # By value and kind: 1 is 1.0, but neither is true nor "1".
    kind = "number" if type(key.value) in (int, float) else type(key.value).__name__
    earlier = first.setdefault((kind, key.value), key)
    if earlier is not key:
        problems.add(
            "duplicate-key",
            key.start,
            key.end,
            f"The key `{_shown(key.text)}` appears twice in this map; remove or rename one of them.",
            ((earlier.start, earlier.end, "first here"),),
        )


def _shown(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
