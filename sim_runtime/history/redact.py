"""Withholds what is marked ``sensitive: true`` from a history that is handed on (language page, section 8).

Two passes. First the marked places themselves: inputs, the trigger's payload, arguments, results, events, decisions, by
the schemas of the pinned definition and manifests; each becomes ``{"$withheld": CLASS}``. Then what came out of them:
a text or number that stood in such a place is withheld wherever else it stands, and so is a text that holds it. Short
texts are only recognised as a whole, and small numbers, true, false and null are not followed: they say too little to
be told apart from others.

The chain of digests is made anew over what is left, so that a redacted history is a valid one. What an operation needs
of it and does not find is refused as withheld, never taken for null (D-HIST-10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from analyzer.expressions.schema_types import record_reading, sensitive_paths
from analyzer.syntax.nodes import Mapping, Node, is_broken
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.manifests import Manifest, read_manifest
from analyzer.workspace.overlays import merge_overlay
from sim_runtime.history.canonical import yaml_of
from sim_runtime.history.header import Header
from sim_runtime.history.records import KINDS
from sim_runtime.history.refusal import WITHHELD, WRITTEN, is_withheld

Json = dict[str, Any]
Paths = tuple[tuple[str, ...], ...]

SHORT_TEXT: Final = 4
SMALL_NUMBER: Final = 1_000
MAX_SECRETS: Final = 10_000

#: Record kind to the class of what it holds, where it is not ``result``.
_CLASSES: Final = {
    "run.accepted": "inputs",
    "child.started": "inputs",
    "action.prepared": "arguments",
    "compensation.prepared": "arguments",
    "boundary.invalidated": "arguments",
    "subscription.opened": "arguments",
    "event.accepted": "event.payload",
    "event.refused": "event.payload",
    "operator.decided": "operator.decision",
}


class Unreadable(Exception):
    """The pinned content that says what is sensitive is not there or cannot be read."""


def redacted(header: Header, records: Iterable[Json]) -> list[Json]:
    """The records (as JSON without digests) without sensitive values. Raises ``Unreadable``."""
    marks = _Marks(header)
    secrets = _Secrets()
    first = [marks.withhold(json, secrets) for json in records]
    return [_follow(json, secrets) for json in first]


class _Secrets:
    """The texts and numbers that were withheld."""

    def __init__(self) -> None:
        self.whole: set[tuple[type, Any]] = set()
        self.parts: dict[str, None] = {}

    def add(self, value: Any) -> None:
        stack = [value]
        while stack:
            each = stack.pop()
            if isinstance(each, dict):
                stack.extend(each.values())
            elif isinstance(each, list):
                stack.extend(each)
            elif isinstance(each, str) and each:
                self.take_text(each)
            elif _is_telling(each):
                self.whole.add(_number(each))
                self.take_text(str(each))

    def take_text(self, text: str) -> None:
        self.whole.add((str, text))
        if len(text) >= SHORT_TEXT:
            self.parts[text] = None
        if len(self.whole) > MAX_SECRETS:
            raise Unreadable(f"it has more than {MAX_SECRETS:,} sensitive values; export it without `--redact`")

    def holds(self, value: Any) -> bool:
        if isinstance(value, str):
            return (str, value) in self.whole or any(part in value for part in self.parts)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _number(value) in self.whole
        return False


def _is_telling(value: Any) -> bool:
    """Whether a number says enough to be told apart from others."""
    return isinstance(value, float) or (type(value) is int and abs(value) >= SMALL_NUMBER)


def _number(value: int | float) -> tuple[type, Any]:
    return (float, float(value)) if abs(value) < 2**53 else (int, int(value))


class _Marks:
    """What the pinned definition and manifests mark as sensitive."""

    def __init__(self, header: Header) -> None:
        pins = header.pins
        content = pins.get("content", {})
        self.inputs: dict[str, Paths] = {}
        self.triggers: dict[str, str | None] = {}
        self.manifests: dict[str, list[Manifest]] = {}
        for name, digest in {header.workflow: pins["definition"], **pins["children"]}.items():
            self.workfile(name, _tree(content, digest, f"the Workfile of `{name}`"))
        for key, digest in pins["manifests"].items():
            overlay = pins["overlays"].get(key)
            manifest = read_manifest(_tree(content, digest, f"the manifest `{key}`"), key, _problems())
            if manifest is not None and overlay is not None:
                text = Source(yaml_of(content[overlay])) if overlay in content else None
                manifest = merge_overlay(manifest, parse(text), key)[0] if text is not None else manifest
            if manifest is not None:
                self.manifests.setdefault(key.rpartition("/")[2], []).append(manifest)
        self.actions: dict[str, str] = {}
        self.dispatched: dict[int, str] = {}
        self.workflow = header.workflow

    def workfile(self, name: str, root: Node | None) -> None:
        inputs = root.get("inputs") if isinstance(root, Mapping) else None
        trigger = root.get("trigger") if isinstance(root, Mapping) else None
        source = trigger.get("source") if isinstance(trigger, Mapping) else None
        self.triggers[name] = getattr(source, "text", None)
        if inputs is None or is_broken(inputs):
            self.inputs[name] = ()
        else:
            self.inputs[name] = sensitive_paths(record_reading(inputs, lambda _node, _message: None).schema)

    def action(self, reference: str, part: str) -> Paths:
        connector, _, name = reference.partition(".")
        found: dict[tuple[str, ...], None] = {}
        for manifest in self.manifests.get(connector, ()):
            decl = manifest.actions.get(name)
            schema = None if decl is None else decl.input_schema if part == "input" else decl.output_schema
            if schema is not None:
                found.update(dict.fromkeys(sensitive_paths(schema)))
        return tuple(found)

    def of_run_before(self, reference: str) -> Paths:
        """What is marked of the arguments of an action of a run before; all of them where this run's connectors do not
        have it, and so do not say what is sensitive."""
        connector, _, name = reference.partition(".")
        known = any(name in manifest.actions for manifest in self.manifests.get(connector, ()))
        return self.action(reference, "input") if known else ((),)

    def trigger(self, reference: str | None, part: str) -> Paths:
        connector, _, name = (reference or "").partition(".")
        found: dict[tuple[str, ...], None] = {}
        for manifest in self.manifests.get(connector, ()):
            decl = manifest.triggers.get(name)
            if decl is not None:
                schema = decl.payload_schema if part == "payload" else decl.configuration_schema
                found.update(dict.fromkeys(sensitive_paths(schema)))
        return tuple(found)

    def withhold(self, json: Json, secrets: _Secrets) -> Json:
        """The record without what is marked in it."""
        data = json["data"]
        changed = dict(data)
        taken: list[str] = []
        for name, class_, paths in self.places(json):
            for path in paths:
                changed[name] = _without(changed[name], path, class_, f"/{name}", secrets, taken)
        if not taken:
            return json
        return {**json, "data": _without_kinds(changed, taken)}

    def places(self, json: Json) -> Iterator[tuple[str, str, Paths]]:
        """The fields of a record that may hold something marked: name, class, and where in it."""
        kind, data = json["kind"], json["data"]
        id_ = data.get("id", json["path"])
        if kind == "run.accepted":
            yield "inputs", "inputs", self.inputs.get(data["workflow"], ())
            yield "trigger", "trigger", self.trigger(self.triggers.get(data["workflow"]), "payload")
        elif kind == "child.started":
            yield "inputs", "inputs", self.inputs.get(data["workflow"], ())
        elif kind in ("action.prepared", "action.suppressed", "compensation.prepared"):
            own = f"{id_}|undo" if kind == "compensation.prepared" else id_
            self.actions[own] = data["action"]
            yield "arguments", "arguments", self.action(data["action"], "input")
            if kind == "action.suppressed":
                yield "result", "result", self.action(data["action"], "output")
        elif kind == "action.dispatched":
            self.dispatched[json["seq"]] = self.actions.get(id_, "")
        elif kind == "compensation.dispatched":
            self.dispatched[json["seq"]] = self.actions.get(f"{id_}|undo", "")
        else:
            yield from self.outcomes(kind, id_, data)

    def outcomes(self, kind: str, id_: str, data: Json) -> Iterator[tuple[str, str, Paths]]:
        if kind in ("action.succeeded", "reconcile.decided") and "result" in data:
            yield "result", "result", self.action(self.actions.get(id_, ""), "output")
        elif kind == "compensation.succeeded":
            yield "result", "result", self.action(self.actions.get(f"{id_}|undo", ""), "output")
        elif kind == "late_result.recorded" and "result" in data:
            yield "result", "result", self.action(self.dispatched.get(data["dispatch"], ""), "output")
        elif kind == "operator.decided" and "result" in data:
            own = id_.removesuffix(".(undo)")
            reference = self.actions.get(f"{id_}|undo") or self.actions.get(f"{own}|undo", "")
            yield "result", "operator.decision", self.action(self.actions.get(id_) or reference, "output")
        elif kind == "event.accepted":
            yield "payload", "event.payload", self.trigger(data["trigger"], "payload")
        elif kind == "boundary.invalidated":
            for name in ("effects", "keys"):
                places = (
                    (str(at), "arguments", *path)
                    for at, each in enumerate(data.get(name, ()))
                    for path in self.of_run_before(each["action"])
                )
                yield name, "arguments", tuple(places)
        elif kind == "subscription.opened":
            yield "match", "arguments", self.trigger(data["trigger"], "payload")
            yield "configuration", "arguments", self.trigger(data["trigger"], "configuration")


def _without(value: Any, path: tuple[str, ...], class_: str, pointer: str, secrets: _Secrets, taken: list[str]) -> Any:
    """``value`` without what stands at ``path`` (``*``: every element or key, a number: that element); pointers of what
    was taken are noted."""
    if is_withheld(value):
        return value
    if isinstance(value, dict) and value.keys() == {"$suppressed"}:
        inner = _without(value["$suppressed"], path, class_, f"{pointer}/$suppressed", secrets, taken)
        return {"$suppressed": inner}
    if not path:
        secrets.add(value)
        taken.append(pointer)
        return {WITHHELD: class_}
    step, rest = path[0], path[1:]

    def below(key: str | int, each: Any) -> Any:
        token = str(key).replace("~", "~0").replace("/", "~1")
        return _without(each, rest, class_, f"{pointer}/{token}", secrets, taken)

    if isinstance(value, dict):
        return {key: below(key, each) if step in (key, "*") else each for key, each in value.items()}
    if isinstance(value, list):
        return [below(at, each) if step in ("*", str(at)) else each for at, each in enumerate(value)]
    return value


def _follow(json: Json, secrets: _Secrets) -> Json:
    """The record without copies of what was withheld elsewhere."""
    if not secrets.whole:
        return json
    data = json["data"]
    fields = KINDS[json["kind"]].fields
    class_ = _CLASSES.get(json["kind"], "result")
    taken: list[str] = []
    changed = dict(data)
    for name, value in data.items():
        field = fields.get(name)
        if field is not None and (field.type in ("value", "list") or name in WRITTEN):
            own = "trigger" if name == "trigger" and field.type == "value" else class_
            changed[name] = _hidden(value, own, f"/{name}", secrets.holds, taken)
    return {**json, "data": _without_kinds(changed, taken)} if taken else json


def _hidden(value: Any, class_: str, pointer: str, holds: Callable[[Any], bool], taken: list[str]) -> Any:
    if isinstance(value, dict):
        if is_withheld(value):
            return value
        if any(map(holds, value)):  # a name in it is one of them
            taken.append(pointer)
            return {WITHHELD: class_}
        return {
            key: _hidden(each, class_, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", holds, taken)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_hidden(each, class_, f"{pointer}/{i}", holds, taken) for i, each in enumerate(value)]
    if holds(value):
        taken.append(pointer)
        return {WITHHELD: class_}
    return value


def _without_kinds(data: Json, taken: list[str]) -> Json:
    """The kinds of what is still there: a pointer into a withheld value says nothing any more."""
    kinds = data.get("kinds")
    if kinds is None:
        return data
    left = {
        pointer: kind
        for pointer, kind in kinds.items()
        if not any(pointer == each or pointer.startswith(f"{each}/") for each in taken)
    }
    rest = {key: value for key, value in data.items() if key != "kinds"}
    return {**rest, "kinds": left} if left else rest


def _tree(content: Json, digest: str, what: str) -> Node | None:
    if digest not in content:
        raise Unreadable(f"the content of {what} is not in the history, and it says what is sensitive")
    return parse(Source(yaml_of(content[digest]))).root


def _problems() -> Any:
    from analyzer.model.problems import Problems

    return Problems()
