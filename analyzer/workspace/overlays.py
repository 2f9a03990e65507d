"""Overlays: a deployment's changes to one manifest, merged map by map (language page, section 8).

A list or scalar replaces. An overlay can only tighten; ``overlay-widens`` is reported, at the overlay's key, for a
change by which Workfiles would be promised more than the connector's author promised:

- *input, configuration, output, payload*: the set of accepted values must not grow. For an input that would let through
  arguments which the connector refuses; for an output or payload it would promise less than what Workfiles rely on.
  Adding an optional property to a closed object is such a growth. An output may not be added or made a type where the
  manifest declares none: the connector returns nothing.
- *idempotency*: ``none`` < ``keyed`` < ``inherent``; a claim may be weakened, never strengthened. What counts is the
  effective one, so ``effect: write`` to ``read`` is a claim too (and reported as the effect's change).
- *source* of a trigger may not change, and ``correlate_on`` may not gain a field.
- *errors* may be added and their ``retryable`` changed: a definite failure had no effect, so what a deployment knows of
  its transient failures promises nothing that could go wrong.

A change whose direction cannot be told (another pattern, another ``if``) is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from analyzer.expressions.schema_faults import KEYWORDS, json_value, key_text, kind_words
from analyzer.expressions.schema_types import is_json_schema
from analyzer.language.suggest import hint, nearest
from analyzer.language.words import shown
from analyzer.model.problems import Problem, Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, is_broken, walk
from analyzer.syntax.parse import Tree
from analyzer.workspace.manifests import (
    MANIFEST_KEYS,
    RULE,
    ActionDecl,
    Manifest,
    TriggerDecl,
    read_manifest,
)
from analyzer.workspace.widening import Path, widenings

WIDENS: Final = "overlay-widens"
OVERLAY_KEYS: Final = {
    "overlay": "The connector whose manifest this overlay changes.",
    **{key: doc for key, doc in MANIFEST_KEYS.items() if key != "connector"},
}
_STRENGTH: Final = {"none": 0, "keyed": 1, "inherent": 2}


def overlay_name(tree: Tree) -> str | None:
    """The connector that an overlay is for, when it says so."""
    node = tree.root.get("overlay") if isinstance(tree.root, Mapping) else None
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


def check_overlay_shape(tree: Tree, problems: Problems) -> Mapping | None:
    """The overlay's map, and what can be said about it without its manifest (``manifest-invalid``)."""
    root = tree.root
    if not isinstance(root, Mapping):
        if root is None or (isinstance(root, Scalar) and root.value is None and not root.broken):
            if not tree.problems:
                problems.report(RULE, (0, 0), "The overlay is empty: start it with `overlay: CONNECTOR`.")
        elif not is_broken(root):
            problems.report(
                RULE, root, f"An overlay is a map of `overlay`, `actions` …, but this is {kind_words(root)}."
            )
        return None
    names: list[str] = []
    for entry in root.entries:
        name = key_text(entry.key)
        if name is None or name in names:
            continue
        names.append(name)
        if name == "connector":
            problems.report(RULE, entry.key, "An overlay names its connector as `overlay: NAME`: change the key.")
        elif name not in OVERLAY_KEYS:
            advice = hint(name, OVERLAY_KEYS) or " Remove it."
            problems.report(RULE, entry.key, f"`{shown(name)}` is not a key of an overlay.{advice}")
    found = root.entry("overlay")
    if found is None:
        near_miss = any(name not in OVERLAY_KEYS and nearest(name, ("overlay",)) for name in names)
        if not tree.problems and not near_miss and "connector" not in names:
            problems.report(RULE, (0, 0), "The overlay lacks `overlay`: add the name of its connector.")
    elif not is_broken(found.value) and not overlay_name(tree):
        problems.report(RULE, found.key, f"`overlay` must be a connector's name, but is {kind_words(found.value)}.")
    return root


def merge_overlay(base: Manifest, overlay: Tree, path: str) -> tuple[Manifest, list[Problem]]:
    """The manifest with the overlay at ``path`` merged over it, and the problems of the overlay (spans in its text).

    An overlay that is no map, or is for another connector, changes nothing.
    """
    problems = Problems()
    root = check_overlay_shape(overlay, problems)
    name = overlay_name(overlay)
    if root is None or name is None:
        return base, problems.items
    if name != base.connector:
        advice = hint(name, [base.connector]) or f" Write `overlay: {base.connector}`, or name another overlay."
        message = f"This overlay is for `{shown(name)}`, but its manifest is that of `{base.connector}`.{advice}"
        problems.report(RULE, root.get("overlay") or root, message)
        return base, problems.items
    changes = Mapping(root.start, root.end, list(_changes(root, base, problems)))
    merged = _read_merged(base, changes, problems)
    merged.overlay_path = path
    merged.overlay_raw = json_value(root)
    _compare(base, merged, changes, problems)
    return merged, problems.items


def _changes(root: Mapping, base: Manifest, problems: Problems) -> Iterator[Entry]:
    """The overlay's entries that can be merged: what it names must be there."""
    for entry in root.entries:
        name = key_text(entry.key)
        if name in ("actions", "triggers") and isinstance(entry.value, Mapping):
            yield Entry(entry.key, _known_declarations(entry.value, name, base, problems))
        elif name in OVERLAY_KEYS and name != "overlay":
            yield entry


def _known_declarations(mapping: Mapping, section: str, base: Manifest, problems: Problems) -> Mapping:
    known = base.actions if section == "actions" else base.triggers
    kept: list[Entry] = []
    for entry in mapping.entries:
        name = key_text(entry.key)
        if name is None:
            continue
        if name not in known:
            what = section[:-1]
            advice = hint(name, known) or f" An overlay changes the {section} that its manifest has, and adds none."
            message = f"The manifest of `{base.connector}` has no {what} `{shown(name)}`.{advice}"
            problems.report(RULE, entry.key, message)
            continue
        kept.append(entry)
        if isinstance(entry.value, Mapping):
            _check_type_keys(entry.value, known[name].node, problems)
    return Mapping(mapping.start, mapping.end, kept, origin=mapping.origin)


def _check_type_keys(change: Mapping, declared: Node, problems: Problems) -> None:
    """Fields written beside the keywords of a JSON Schema would silently mean nothing."""
    for key in ("input", "output", "configuration", "payload"):
        part = change.get(key)
        base = declared.get(key) if isinstance(declared, Mapping) else None
        if base is None or not is_json_schema(base) or not isinstance(part, Mapping):
            continue
        for entry in part.entries:
            name = key_text(entry.key)
            if name is not None and name not in KEYWORDS and not name.startswith(("x-", "$")):
                message = f"`{shown(name)}` is not a keyword, and the manifest's `{key}` is a JSON Schema: "
                problems.report(RULE, entry.key, message + "write fields under `properties`.")


def _read_merged(base: Manifest, changes: Mapping, problems: Problems) -> Manifest:
    """The merged manifest; faults of the overlay's own parts are reported, the others are the manifest's."""
    own = {id(node) for node in walk(changes)}
    found = _Attributed(own)
    before = Problems()
    read_manifest(base.root, base.path, before)
    known = {(each.start, each.end, each.message) for each in before.items}
    merged = read_manifest(_merge(base.root, changes, own), base.path, found)
    for problem, in_overlay in found.attributed:
        if in_overlay:
            problems.report(problem.rule, (problem.start, problem.end), problem.message, fixes=problem.fixes)
        elif (problem.start, problem.end, problem.message) not in known:
            problems.report(
                RULE, (changes.start, changes.end), f"With this overlay the manifest is wrong: {problem.message}"
            )
    assert merged is not None, "the base has a connector's name, and changes cannot touch it"
    # Declarations stand in the manifest's file, also those that the overlay changes.
    for name, action in merged.actions.items():
        action.node, action.name_node = base.actions[name].node, base.actions[name].name_node
    for name, trigger in merged.triggers.items():
        trigger.node, trigger.name_node = base.triggers[name].node, base.triggers[name].name_node
    return merged


class _Attributed(Problems):
    """Collects problems together with whether they stand at a node of the overlay."""

    __slots__ = ("attributed", "own")

    def __init__(self, own: set[int]) -> None:
        super().__init__()
        self.own = own
        self.attributed: list[tuple[Problem, bool]] = []

    def report(self, rule: str, where: Any, message: str, **rest: Any) -> None:
        count = len(self.items)
        super().report(rule, where, message, **rest)
        if len(self.items) > count:
            self.attributed.append((self.items[-1], id(where) in self.own))


def _merge(base: Node, change: Node, own: set[int]) -> Node:
    """``change`` over ``base``: maps entry by entry, anything else replaces. Keys that both have are the overlay's."""
    if not isinstance(base, Mapping) or not isinstance(change, Mapping):
        return change
    changes: dict[str, Entry] = {}
    for entry in change.entries:
        name = key_text(entry.key)
        if name is not None:
            changes.setdefault(name, entry)
    entries: list[Entry] = []
    present: set[str] = set()
    for entry in base.entries:
        name = key_text(entry.key)
        over = changes.get(name) if name is not None and name not in present else None
        if name is not None:
            present.add(name)
        entries.append(entry if over is None else Entry(over.key, _merge(entry.value, over.value, own)))
    entries.extend(entry for name, entry in changes.items() if name not in present)
    merged = Mapping(change.start, change.end, entries, origin=change.origin)
    own.add(id(merged))
    return merged


def _compare(base: Manifest, merged: Manifest, changes: Mapping, problems: Problems) -> None:
    """Report what the overlay makes wider than the manifest has it, and leave that part as it was."""
    for section, before, after in (
        ("actions", base.actions, merged.actions),
        ("triggers", base.triggers, merged.triggers),
    ):
        part = changes.get(section)
        for entry in part.entries if isinstance(part, Mapping) else ():
            name = key_text(entry.key)
            if name is None or not isinstance(entry.value, Mapping):
                continue
            old, new = before[name], after[name]
            if isinstance(old, ActionDecl) and isinstance(new, ActionDecl):
                _compare_action(old, new, entry.value, problems)
            elif isinstance(old, TriggerDecl) and isinstance(new, TriggerDecl):
                _compare_trigger(old, new, entry.value, problems)


def _compare_action(old: ActionDecl, new: ActionDecl, change: Mapping, problems: Problems) -> None:
    unknown = old.faulty | new.faulty
    if "effect" not in unknown and old.effect == "write" and new.effect == "read":
        message = f"The manifest declares `{old.name}` a write; an overlay cannot make it a read: remove `effect`."
        problems.report(WIDENS, _key_at(change, ("effect",)), message)
        new.effect = old.effect
        if change.get("idempotency") is None:
            new.idempotency = old.idempotency
    elif unknown.isdisjoint(("effect", "idempotency")) and _STRENGTH[new.idempotency] > _STRENGTH[old.idempotency]:
        message = (
            f"`{new.idempotency}` is a stronger claim than the manifest's `{old.idempotency}`, and an overlay can only "
            "weaken it: remove it, or have the manifest changed."
        )
        problems.report(WIDENS, _key_at(change, ("idempotency",)), message)
        new.idempotency = old.idempotency
    if "input" not in unknown and _compare_types("input", old.input_schema, new.input_schema, change, problems):
        new.input, new.input_schema = old.input, old.input_schema
    if "output" in unknown:
        return
    if old.output is None and new.output is not None:
        message = f"The manifest's `{old.name}` returns nothing, which an overlay cannot change: remove `output`."
        problems.report(WIDENS, _key_at(change, ("output",)), message)
    elif (
        old.output_schema is None
        or new.output_schema is None
        or not _compare_types("output", old.output_schema, new.output_schema, change, problems)
    ):
        return
    new.output, new.output_schema = old.output, old.output_schema


def _compare_trigger(old: TriggerDecl, new: TriggerDecl, change: Mapping, problems: Problems) -> None:
    unknown = old.faulty | new.faulty
    if "source" not in unknown and old.source != new.source:
        message = f"The manifest's `{old.name}` is a trigger of kind `{old.source}`, which an overlay cannot change."
        problems.report(WIDENS, _key_at(change, ("source",)), message)
        new.source = old.source
    if "correlate_on" not in unknown:
        added = [name for name in new.correlate_on if name not in old.correlate_on]
        if added:
            listed = ", ".join(f"`{each}`" for each in added)
            message = f"The manifest does not correlate `{old.name}` on {listed}, and an overlay cannot add to it."
            problems.report(WIDENS, _key_at(change, ("correlate_on",)), message)
            new.correlate_on = tuple(name for name in new.correlate_on if name in old.correlate_on)
    key = "configuration"
    if key not in unknown and _compare_types(key, old.configuration_schema, new.configuration_schema, change, problems):
        new.configuration, new.configuration_schema = old.configuration, old.configuration_schema
    if "payload" not in unknown and _compare_types("payload", old.payload_schema, new.payload_schema, change, problems):
        new.payload, new.payload_schema = old.payload, old.payload_schema


_CONSEQUENCE: Final = {
    "input": "the connector may refuse what this lets through",
    "configuration": "the connector may refuse what this lets through",
    "output": "this promises less of the result than the manifest does",
    "payload": "this promises less of the payload than the manifest does",
}


def _compare_types(key: str, old: Any, new: Any, change: Mapping, problems: Problems) -> bool:
    """Report where a type got wider; whether it did."""
    if change.get(key) is None:
        return False
    found = list(widenings(old, new))
    for path, what in found:
        message = f"An overlay can only tighten, but {what}: {_CONSEQUENCE[key]}. Remove the change."
        problems.report(WIDENS, _key_at(change, (key, *path)), message)
    return bool(found)


def _key_at(change: Mapping, path: Path) -> Node:
    """The deepest key of the overlay on the way to ``path``; steps that it does not write out are passed over."""
    node: Node = change
    key: Node = change
    for step in path:
        entry = None
        if isinstance(node, Mapping):
            entry = node.entry(step) or node.entry(f"{step}?")
        if entry is not None:
            node, key = entry.value, entry.key
    return key
