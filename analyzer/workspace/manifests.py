"""Connector manifests: the actions and triggers of one connector (language page, section 8).

Reading is tolerant: every fault is reported once as ``manifest-invalid``, the faulty part is neutral (its type is ANY,
its name is known), and the sound parts are used. Decisions where the page is silent:

- ``version``, ``input``, ``configuration``, ``payload`` may be left out: an action without ``input`` takes no
  arguments, a trigger without ``configuration`` is not configured, one without ``payload`` delivers any value.
- ``effect`` and ``source`` must be declared: there is no default that would be safe to assume.
- A faulty effect counts as ``write`` and a faulty idempotency as ``inherent`` (declared), so that rules are silent
  about what is not known; ``ActionDecl.faulty`` names the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from analyzer.expressions.schema_faults import json_value, key_text, kind_words
from analyzer.expressions.schema_types import Reading, reading_of
from analyzer.expressions.short_types import ANY_READING, Json
from analyzer.expressions.types import Type, record
from analyzer.language.suggest import hint, nearest
from analyzer.language.vocabulary import EFFECTS, IDEMPOTENCIES, IDENTIFIER, NAME, TRIGGER_SOURCES
from analyzer.language.words import shown
from analyzer.model.problems import EditDraft, FixDraft, Problem, Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken
from analyzer.syntax.parse import Tree

RULE: Final = "manifest-invalid"

#: Keys of a manifest, an action, a trigger and an error, with what each is.
MANIFEST_KEYS: Final = {
    "connector": "The connector's name, as Workfiles write it before the dot.",
    "version": "The manifest's version, a string.",
    "description": "What the connector does, for people.",
    "actions": "Action name to `{effect, idempotency, input, output, errors}`.",
    "triggers": "Trigger name to `{source, configuration, payload, correlate_on}`.",
}
ACTION_KEYS: Final = {
    "effect": "`read` or `write`.",
    "idempotency": "`none`, `inherent` or `keyed`; default: `inherent` for a read, `none` for a write.",
    "input": "The type of the arguments, an object.",
    "output": "The type of the result; without it the action binds null.",
    "errors": "Failure code to `{retryable: true or false}`.",
    "description": "What the action does, for people.",
}
TRIGGER_DECL_KEYS: Final = {
    "source": "`external`, `poll`, `schedule` or `manual`.",
    "configuration": "The type of the configuration, an object.",
    "payload": "The type of what it delivers.",
    "correlate_on": "The payload fields that a wait may match on.",
    "description": "What the trigger tells, for people.",
}
ERROR_KEYS: Final = {
    "retryable": "Whether the same call may succeed when it is made again.",
    "description": "What the failure means, for people.",
}

NOTHING: Final = Reading(record({}), {"type": "object", "properties": {}, "additionalProperties": False})


@dataclass(slots=True, eq=False)
class ActionDecl:
    """One action as declared, defaults applied. ``output`` None: it declares none and binds null.

    ``errors``: code to retryable. ``node`` is the declaration, ``raw`` its plain JSON (after the overlay). The schemas
    are self-contained. ``faulty`` names the keys whose declaration could not be used.
    """

    name: str
    effect: str
    idempotency: str
    idempotency_declared: bool
    input: Type
    output: Type | None
    errors: dict[str, bool]
    doc: str | None
    path: str
    node: Node
    name_node: Node
    raw: Json
    input_schema: Json | bool
    output_schema: Json | bool | None
    faulty: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class TriggerDecl:
    """One trigger as declared; ``source`` is one of ``TRIGGER_SOURCES``."""

    name: str
    source: str
    configuration: Type
    payload: Type
    correlate_on: tuple[str, ...]
    doc: str | None
    path: str
    node: Node
    name_node: Node
    raw: Json
    configuration_schema: Json | bool
    payload_schema: Json | bool
    faulty: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Manifest:
    """One connector. ``raw`` is its plain JSON, after the overlay at ``overlay_path``, whose own is ``overlay_raw``."""

    connector: str
    version: str | None
    path: str
    root: Mapping
    raw: Json
    actions: dict[str, ActionDecl] = field(default_factory=dict)
    triggers: dict[str, TriggerDecl] = field(default_factory=dict)
    doc: str | None = None
    overlay_path: str | None = None
    overlay_raw: Json | None = None


def load_manifest(tree: Tree, path: str) -> tuple[Manifest | None, list[Problem]]:
    """The manifest of a parsed file and everything that is wrong with it, as ``manifest-invalid``.

    The manifest is None when the file names no connector or is no map. What YAML itself says of the file stays in
    ``tree.problems``.
    """
    problems = Problems()
    manifest = read_manifest(tree.root, path, problems, tree_is_sound=not tree.problems)
    return manifest, problems.items


def read_manifest(root: Node | None, path: str, problems: Problems, *, tree_is_sound: bool = True) -> Manifest | None:
    """As ``load_manifest``, of a tree's root. Of a tree with problems what seems missing may only be unreadable."""
    if not isinstance(root, Mapping):
        if root is None or (isinstance(root, Scalar) and root.value is None and not root.broken):
            if tree_is_sound:
                problems.report(RULE, (0, 0), "The manifest is empty: start it with `connector: NAME` and `actions`.")
        elif not is_broken(root):
            problems.report(
                RULE, root, f"A manifest is a map of `connector`, `actions` …, but this is {kind_words(root)}."
            )
        return None
    return _ManifestReader(path, problems, tree_is_sound).manifest(root)


class _ManifestReader:
    """Reads one manifest; a missing key is reported at the key of the map that lacks it."""

    __slots__ = ("path", "problems", "sound")

    def __init__(self, path: str, problems: Problems, sound: bool) -> None:
        self.path = path
        self.problems = problems
        self.sound = sound

    def report(self, where: Node | tuple[int, int], message: str) -> None:
        self.problems.report(RULE, where, message)

    def manifest(self, root: Mapping) -> Manifest | None:
        keys = self.keys(root, MANIFEST_KEYS, "a manifest")
        name = self.connector_name(keys, root)
        version = self.text(keys.get("version"), "version")
        doc = self.text(keys.get("description"), "description")
        actions = self.declarations(keys.get("actions"), "action")
        triggers = self.declarations(keys.get("triggers"), "trigger")
        if name is None:
            for entry in actions.values():
                self.action(entry)
            for entry in triggers.values():
                self.trigger(entry)
            return None
        manifest = Manifest(name, version, self.path, root, json_value(root), doc=doc)
        manifest.actions = {each: self.action(entry) for each, entry in actions.items()}
        manifest.triggers = {each: self.trigger(entry) for each, entry in triggers.items()}
        return manifest

    def connector_name(self, keys: dict[str, Entry], root: Mapping) -> str | None:
        entry = keys.get("connector")
        if entry is None:
            if self.sound and not self.misspelled(root, ("connector",)):
                self.report((0, 0), "The manifest lacks `connector`: add the connector's name.")
            return None
        name = self.text(entry, "connector")
        if name is None:
            return None
        if not NAME.match(name):
            message = f"`{shown(name)}` is not a connector's name: use lower-case letters, digits, `_` and `-`."
            self.report(entry.value, message)
            return None
        if name == "wf":
            self.report(entry.value, "`wf` is the language's own prefix: give the connector another name.")
            return None
        return name

    def declarations(self, entry: Entry | None, what: str) -> dict[str, Entry]:
        """The entries of ``actions`` or ``triggers`` by name; one with a bad name can never be referred to."""
        if entry is None or is_broken(entry.value):
            return {}
        if not isinstance(entry.value, Mapping):
            self.wrong_kind(entry, f"a map of {what} names to declarations")
            return {}
        found: dict[str, Entry] = {}
        for each in entry.value.entries:
            name = key_text(each.key)
            if name is None or name in found:
                continue
            if not IDENTIFIER.match(name):
                article = "an" if what == "action" else "a"
                message = f"`{shown(name)}` is not {article} {what}'s name: use lower-case letters, digits and `_`."
                self.report(each.key, message)
            found[name] = each
        return found

    def action(self, entry: Entry) -> ActionDecl:
        """One action; whatever is wrong with it, it is known by its name."""
        faulty: set[str] = set()
        keys = self.body(entry, ACTION_KEYS, "an action", "{ effect: …, input: … }", faulty)
        effect = self.word(keys, "effect", EFFECTS, faulty)
        if effect is None and "effect" not in keys and not faulty:
            self.missing(entry, "effect", "say `read` or `write`", ACTION_KEYS)
        if effect is None:
            faulty.add("effect")
        declared = self.word(keys, "idempotency", IDEMPOTENCIES, faulty)
        if declared is None and not faulty.isdisjoint(("effect", "idempotency")):
            idempotency = "inherent"
        else:
            idempotency = declared or ("inherent" if effect == "read" else "none")
        arguments = self.object_type(keys.get("input"), "input", faulty)
        output = self.type_at(keys["output"], faulty) if "output" in keys else None
        return ActionDecl(
            name=key_text(entry.key) or "",
            effect=effect or "write",
            idempotency=idempotency,
            idempotency_declared="idempotency" in keys or "effect" in faulty,
            input=arguments.type,
            output=output.type if output is not None else None,
            errors=self.errors(keys.get("errors")),
            doc=self.text(keys.get("description"), "description"),
            path=self.path,
            node=entry.value,
            name_node=entry.key,
            raw=_raw(entry.value),
            input_schema=arguments.schema,
            output_schema=output.schema if output is not None else None,
            faulty=frozenset(faulty),
        )

    def trigger(self, entry: Entry) -> TriggerDecl:
        """One trigger; whatever is wrong with it, it is known by its name."""
        faulty: set[str] = set()
        keys = self.body(entry, TRIGGER_DECL_KEYS, "a trigger", "{ source: …, payload: … }", faulty)
        source = self.word(keys, "source", TRIGGER_SOURCES, faulty)
        if source is None and "source" not in keys and not faulty:
            self.missing(entry, "source", "say `external`, `poll`, `schedule` or `manual`", TRIGGER_DECL_KEYS)
        if source is None:
            faulty.add("source")
        configuration = self.object_type(keys.get("configuration"), "configuration", faulty)
        payload = self.type_at(keys["payload"], faulty) if "payload" in keys else ANY_READING
        declared = "payload" in keys
        return TriggerDecl(
            name=key_text(entry.key) or "",
            source=source or "external",
            configuration=configuration.type,
            payload=payload.type,
            correlate_on=self.correlation(keys.get("correlate_on"), payload.type, declared, faulty),
            doc=self.text(keys.get("description"), "description"),
            path=self.path,
            node=entry.value,
            name_node=entry.key,
            raw=_raw(entry.value),
            configuration_schema=configuration.schema,
            payload_schema=payload.schema,
            faulty=frozenset(faulty),
        )

    def errors(self, entry: Entry | None) -> dict[str, bool]:
        """Code to retryable; an error that does not say counts as retryable, which no rule complains about."""
        if entry is None or is_broken(entry.value):
            return {}
        if not isinstance(entry.value, Mapping):
            self.wrong_kind(entry, "a map of failure codes to `{ retryable: true }` or `{ retryable: false }`")
            return {}
        errors: dict[str, bool] = {}
        for each in entry.value.entries:
            code = key_text(each.key)
            if code is None or code in errors:
                continue
            if not code or any(char.isspace() for char in code):
                self.report(each.key, f"`{shown(code)}` is not a failure code: write one word such as `rate_limited`.")
                continue
            errors[code] = self.retryable(each, code)
        return errors

    def retryable(self, entry: Entry, code: str) -> bool:
        if is_broken(entry.value):
            return True
        if not isinstance(entry.value, Mapping):
            self.wrong_kind(entry, "`{ retryable: true }` or `{ retryable: false }`")
            return True
        keys = self.keys(entry.value, ERROR_KEYS, "an error")
        self.text(keys.get("description"), "description")
        found = keys.get("retryable")
        if found is None:
            if not self.misspelled(entry.value, ("retryable",)):
                self.report(
                    entry.key,
                    f"`{shown(code)}` does not say whether it is `retryable`: add `retryable: true` or `false`.",
                )
            return True
        if isinstance(found.value, Scalar) and isinstance(found.value.value, bool):
            return found.value.value
        if not is_broken(found.value):
            self.wrong_kind(found, "true or false")
        return True

    def correlation(self, entry: Entry | None, payload: Type, declared: bool, faulty: set[str]) -> tuple[str, ...]:
        """The payload fields of ``correlate_on``; those that the payload does not declare are reported and left out."""
        if entry is None:
            return ()
        if is_broken(entry.value) or not isinstance(entry.value, Sequence):
            if not is_broken(entry.value):
                self.wrong_kind(entry, "a list of payload fields")
            faulty.add("correlate_on")
            return ()
        known = None if "payload" in faulty else _field_names(payload)
        names: list[str] = []
        for item in entry.value.items:
            if not isinstance(item, Scalar) or not isinstance(item.value, str) or not item.value:
                if not is_broken(item):
                    self.report(item, f"`correlate_on` lists names of payload fields, but this is {kind_words(item)}.")
                faulty.add("correlate_on")
            elif item.value in names:
                self.report(item, f"`{shown(item.value)}` appears twice in `correlate_on`: remove one.")
            elif not declared or (known is not None and item.value not in known):
                advice = hint(item.value, known or ()) or " Declare it under the payload's `properties`."
                self.report(item, f"`{shown(item.value)}` is not a field of the payload.{advice}")
                faulty.add("correlate_on")
            else:
                names.append(item.value)
        return tuple(names)

    # Small parts.

    def body(self, entry: Entry, table: dict[str, str], place: str, example: str, faulty: set[str]) -> dict[str, Entry]:
        if isinstance(entry.value, Mapping):
            return self.keys(entry.value, table, place)
        if not is_broken(entry.value):
            self.wrong_kind(entry, f"a map such as `{example}`")
        faulty.update(table)
        return {}

    def type_at(self, entry: Entry, faulty: set[str]) -> Reading:
        before = len(self.problems.items)
        node = entry.value
        if isinstance(node, Scalar) and node.value is None and not node.text and not node.broken:
            self.wrong_kind(entry, "a type")
            reading = ANY_READING
        else:
            reading = reading_of(node, self.report)
        if len(self.problems.items) > before or is_broken(entry.value):
            faulty.add(key_text(entry.key) or "")
        return reading

    def object_type(self, entry: Entry | None, name: str, faulty: set[str]) -> Reading:
        """The type of arguments or of a configuration: a map of values, so an object."""
        if entry is None:
            return ANY_READING if name in faulty else NOTHING
        reading = self.type_at(entry, faulty)
        kinds = reading.type.options or (reading.type,)
        if all(each.kind in ("object", "any") for each in kinds) and not reading.type.nullable:
            return reading
        what = "The arguments of an action are" if name == "input" else "A configuration is"
        self.report(entry.value, f"{what} a map, so `{name}` must be a type of kind object: write `type: object`.")
        faulty.add(name)
        return ANY_READING

    def keys(self, mapping: Mapping, table: dict[str, str], place: str) -> dict[str, Entry]:
        """The entries whose keys the place allows; others are reported with the nearest that is free."""
        entries: dict[str, Entry] = {}
        for entry in mapping.entries:
            name = key_text(entry.key)
            if name is not None:
                entries.setdefault(name, entry)
        keys = {name: entry for name, entry in entries.items() if name in table}
        for name, entry in entries.items():
            if name not in table:
                near = self.unknown_key(entry, name, [known for known in table if known not in keys], place)
                if near is not None:
                    keys[near] = entry  # read as what it was meant to be, so that nothing follows from the slip
        return keys

    def unknown_key(self, entry: Entry, name: str, free: list[str], place: str) -> str | None:
        """Report a key that the place does not allow; gives the free key that it is a near miss of, if any."""
        near = nearest(name, free)
        advice = f"Did you mean `{near}`?" if near else f"Allowed here: {', '.join(f'`{each}`' for each in free)}."
        if not near and not free:
            advice = "Remove it."
        node = entry.key
        fixes = (
            []
            if near is None
            else [FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(node.start, node.end, near),))]
        )
        self.problems.report(RULE, node, f"`{shown(name)}` is not a key of {place}. {advice}", fixes=fixes)
        return near

    def misspelled(self, mapping: Mapping, table: Iterable[str]) -> bool:
        """Whether a near miss of one of the keys was reported: that it is missing would only follow from it."""
        names = [key_text(entry.key) for entry in mapping.entries]
        known = tuple(table)
        return any(name is not None and name not in known and nearest(name, known) is not None for name in names)

    def missing(self, entry: Entry, key: str, advice: str, table: dict[str, str]) -> None:
        if isinstance(entry.value, Mapping) and self.sound and not self.misspelled(entry.value, (key,)):
            name = shown(key_text(entry.key) or "")
            place = "action" if table is ACTION_KEYS else "trigger"
            self.report(entry.key, f"The {place} `{name}` lacks `{key}`: {advice}.")

    def word(self, keys: dict[str, Entry], key: str, allowed: tuple[str, ...], faulty: set[str]) -> str | None:
        """One of a few words, or None when it is not there or faulty."""
        entry = keys.get(key)
        if entry is None:
            return None
        node = entry.value
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value in allowed:
            return node.value
        faulty.add(key)
        listed = ", ".join(f"`{each}`" for each in allowed)
        if isinstance(node, Scalar) and isinstance(node.value, str) and not node.broken:
            self.report(
                node,
                f"`{shown(node.value)}` is not a value of `{key}`; use one of {listed}.{hint(node.value, allowed)}",
            )
        elif not is_broken(node):
            self.wrong_kind(entry, f"one of {listed}")
        return None

    def text(self, entry: Entry | None, key: str) -> str | None:
        if entry is None or is_broken(entry.value):
            return None
        node = entry.value
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if node.value or key == "description":
                return node.value
            self.report(node, f"`{key}` is empty: write it, or leave it out.")
            return None
        self.wrong_kind(entry, "a string")
        return None

    def wrong_kind(self, entry: Entry, wanted: str) -> None:
        """On the value; on the key when nothing stands there."""
        node = entry.value
        absent = isinstance(node, Scalar) and node.value is None and node.text == ""
        name = shown(key_text(entry.key) or "this key")
        text = node.text if isinstance(node, Scalar) else ""
        advice = f' Quote it: `"{shown(text)}"`.' if wanted == "a string" and text else ""
        self.report(entry.key if absent else node, f"`{name}` must be {wanted}, but is {kind_words(node)}.{advice}")


def _raw(node: Node) -> Json:
    value: Any = json_value(node)
    return value if isinstance(value, dict) else {}


def _field_names(type_: Type) -> list[str] | None:
    """The fields of a payload, or None when any name may be one."""
    if type_.kind == "any" or type_.additional is not None:
        return None
    names: dict[str, None] = {}
    for each in type_.options or (type_,):
        if each.kind == "any" or each.additional is not None:
            return None
        names.update(dict.fromkeys(each.fields))
    return list(names)
