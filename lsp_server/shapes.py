"""What may stand at a place of a file: the vocabulary tables, followed from the root down to the place.

A shape says what a node is: a map with known keys, a list of steps, a step's body, a value of a static type, and so on.
Completion, hover and rename ask for the shapes along the way to a place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from analyzer.expressions.types import Field, Type, accepted, record
from analyzer.language import scenario_vocabulary as scenario
from analyzer.language.vocabulary import (
    ALLOWED_KEYS,
    CATCH_KEYS,
    CONNECTOR_KEYS,
    CONSTRUCTS,
    EFFECTS,
    FAIL_KEYS,
    IDEMPOTENCIES,
    RECONCILE_KEYS,
    RECOVERY_KEYS,
    RETRY_KEYS,
    ROOT_KEYS,
    ROUTE_KEYS,
    STATE_KEYS,
    STOP_AFTER_KEYS,
    STOP_KEYS,
    TIMER_KEYS,
    TRIGGER_KEYS,
    TRIGGER_SOURCES,
    KeySpec,
)
from analyzer.model.nodes import Call, Step, Workflow, all_steps
from analyzer.syntax.nodes import Entry, Node
from analyzer.syntax.nodes import Mapping as MappingNode
from analyzer.workspace.manifests import (
    ACTION_KEYS,
    ERROR_KEYS,
    MANIFEST_KEYS,
    TRIGGER_DECL_KEYS,
    ActionDecl,
    TriggerDecl,
)
from analyzer.workspace.overlays import OVERLAY_KEYS
from lsp_server.nodes import Crumb, key_text
from lsp_server.schema_words import below_schema

Table = Mapping[str, KeySpec]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node is.

    ``kind``: ``keys`` (a map with the keys of ``table``), ``names`` (a map of names to ``inner``), ``list`` (of
    ``inner``), ``steps``, ``step`` (the map of one id), ``body``, ``call`` (one action call), ``typed`` (a value of
    ``type``), ``type`` (a JSON Schema or a short type), ``value`` (a literal that ``spec`` describes), ``any``.
    ``spec`` is the key that led here, ``step`` the step around, ``call`` the action whose arguments these are,
    ``schema`` the JSON Schema of a ``typed`` value, ``action`` the one that a scenario answers for.
    """

    kind: str
    table: Table | None = None
    inner: Shape | None = None
    type: Type | None = None
    spec: KeySpec | None = None
    step: Step | None = None
    call: Call | None = None
    what: str = ""
    schema: object = None
    action: ActionDecl | None = None


ANYTHING: Final = Shape("any")
STEPS: Final = Shape("steps")


def _keys(table: Table, what: str) -> Shape:
    return Shape("keys", table, what=what)


#: Keys of manifests that take one of a few words.
_WORDS: Final = {"effect": EFFECTS, "idempotency": IDEMPOTENCIES, "source": TRIGGER_SOURCES}


def _documented(table: Mapping[str, str]) -> Table:
    return {name: _documented_key(name, doc) for name, doc in table.items()}


def _documented_key(name: str, doc: str) -> KeySpec:
    if name in _WORDS:
        return KeySpec(name, "enum", doc, values=_WORDS[name])
    return KeySpec(name, "boolean" if name == "retryable" else "any", doc)


RECOVERY: Final = _keys(RECOVERY_KEYS, "`recovery`")
TRIGGER: Final = _keys(TRIGGER_KEYS, "`trigger`")
#: Keys of Workfiles whose values are maps or lists with keys of their own.
_NESTED: Final[dict[str, Shape]] = {
    "recovery": RECOVERY,
    "stop_after": _keys(STOP_AFTER_KEYS, "`stop_after`"),
    "retry": _keys(RETRY_KEYS, "`retry`"),
    "reconcile": _keys(RECONCILE_KEYS, "`reconcile`"),
    "states": Shape("names", inner=_keys(STATE_KEYS, "a state"), what="state"),
    "timers": Shape("names", inner=_keys(TIMER_KEYS, "a timer"), what="timer"),
    "routes": Shape("list", inner=_keys(ROUTE_KEYS, "a route")),
    "catch": Shape("list", inner=_keys(CATCH_KEYS, "a handler")),
    "connectors": Shape("names", inner=_keys(CONNECTOR_KEYS, "a connector"), what="connector"),
    "cases": Shape("names", inner=STEPS, what="case"),
    "wf.parallel": Shape("names", inner=STEPS, what="branch"),
    "wf.fail": _keys(FAIL_KEYS, "`wf.fail`"),
    "wf.stop": _keys(STOP_KEYS, "`wf.stop`"),
    "undo": Shape("call"),
    "trigger": TRIGGER,
}
_ERRORS: Final = Shape("names", inner=_keys(_documented(ERROR_KEYS), "an error"), what="code")
TYPE: Final = Shape("type")
_MANIFEST_NESTED: Final[dict[str, Shape]] = {
    "actions": Shape("names", inner=_keys(_documented(ACTION_KEYS), "an action"), what="action"),
    "triggers": Shape("names", inner=_keys(_documented(TRIGGER_DECL_KEYS), "a trigger"), what="trigger"),
    "errors": _ERRORS,
    "input": TYPE,
    "output": TYPE,
    "payload": TYPE,
    "configuration": TYPE,
}
_POINT: Final = _keys(scenario.CRASH_POINT_KEYS, "a crash point")
_SCENARIO_NESTED: Final[dict[tuple[str, str], Shape]] = {
    ("a scenario", "actions"): Shape(
        "names", inner=Shape("list", inner=_keys(scenario.ANSWER_KEYS, "an answer")), what="answered"
    ),
    ("a scenario", "events"): Shape("list", inner=_keys(scenario.EVENT_KEYS, "an event")),
    ("a scenario", "crashes"): Shape("list", inner=_keys(scenario.CRASH_KEYS, "a crash")),
    ("a scenario", "operator"): Shape("list", inner=_keys(scenario.OPERATOR_KEYS, "a decision")),
    ("a scenario", "cancel"): _keys(scenario.CANCEL_KEYS, "`cancel`"),
    ("a scenario", "expect"): _keys(scenario.EXPECT_KEYS, "`expect`"),
    ("an answer", "fail"): _keys(scenario.FAILURE_KEYS, "`fail`"),
    ("an answer", "ambiguous"): _keys(scenario.AMBIGUITY_KEYS, "`ambiguous`"),
    ("a crash", "after"): _POINT,
    ("a crash", "before"): _POINT,
    ("`expect`", "failure"): _keys(scenario.EXPECTED_FAILURE_KEYS, "`failure`"),
    ("`expect`", "stop"): _keys(scenario.EXPECTED_STOP_KEYS, "`stop`"),
    ("`expect`", "effects"): Shape("names", inner=ANYTHING, what="action"),
    ("`expect`", "invocations"): Shape("names", inner=ANYTHING, what="action"),
    ("`expect`", "bindings"): Shape("names", inner=ANYTHING, what="binding"),
    ("`expect`", "holds"): Shape("list", inner=Shape("value", what="path")),
    ("`expect`", "absent"): Shape("list", inner=Shape("value", what="binding")),
    ("`expect`", "calls"): Shape("list", inner=_keys(scenario.EXPECTED_CALL_KEYS, "a call")),
    ("a decision", "decide"): _keys(scenario.DECISION_KEYS, "what is decided"),
    ("what is decided", "fail"): _keys(scenario.OPERATOR_FAILURE_KEYS, "`fail`"),
    ("`expect`", "waiting"): Shape("list", inner=Shape("value", what="path")),
}
ROOTS: Final[dict[str, Shape]] = {
    "workflow": _keys(ROOT_KEYS, "a Workfile"),
    "connector": _keys(_documented(MANIFEST_KEYS), "a manifest"),
    "overlay": _keys(_documented(OVERLAY_KEYS), "an overlay"),
    "scenario": _keys(scenario.SCENARIO_KEYS, "a scenario"),
}


class Shapes:
    """The shapes of one file. ``workflow`` is its model, or for a scenario that of the Workfile that it runs."""

    def __init__(self, kind: str, workflow: Workflow | None) -> None:
        self.kind = kind
        self.workflow = workflow
        steps = all_steps(workflow) if workflow is not None and kind == "workflow" else ()
        self._steps = {id(step.entry): step for step in steps}

    def along(self, crumbs: list[Crumb]) -> list[Shape]:
        """The shape of each node on the way to a place."""
        shape = ROOTS.get(self.kind, ANYTHING)
        found: list[Shape] = []
        for crumb in crumbs:
            found.append(shape)
            shape = self.below(shape, crumb)
        return found

    def below(self, shape: Shape, crumb: Crumb) -> Shape:
        """The shape of the node that a crumb leads to (of an entry, its value)."""
        if crumb.entry is not None and shape.kind == "list" and self.kind == "scenario":
            shape = replace(shape.inner or ANYTHING, action=shape.action)  # an answer may stand alone or in a list
        if crumb.entry is not None:
            if self.kind == "scenario" and shape.what == "an event" and key_text(crumb.entry) == "payload":
                return Shape("typed", type=self._payload(crumb.node))
            return _BELOW.get(shape.kind, _nothing)(self, shape, crumb.entry)
        if shape.kind == "steps":
            return Shape("step", step=shape.step)
        if shape.kind == "list":
            return replace(shape.inner or ANYTHING, step=shape.step, action=shape.action)
        if shape.kind == "typed" and shape.type is not None and shape.type.item is not None:
            return replace(shape, type=shape.type.item, schema=_part(shape.schema, "items"))
        if shape.spec is not None and shape.spec.kind == "codes":
            return shape
        return ANYTHING

    def step(self, entry: Entry) -> Step | None:
        """The step of an entry ``id: body``."""
        return self._steps.get(id(entry))

    def _keys(self, shape: Shape, entry: Entry) -> Shape:
        name = key_text(entry)
        spec = shape.table.get(name) if shape.table is not None else None
        if spec is None:
            return ANYTHING
        if self.kind == "scenario":
            return self._scenario_key(shape, spec)
        if self.kind in ("connector", "overlay"):
            return replace(_MANIFEST_NESTED.get(name, Shape("value")), spec=spec, what=shape.what)
        return self._workfile_key(shape, spec)

    def _workfile_key(self, shape: Shape, spec: KeySpec) -> Shape:
        if spec.kind == "steps":
            return replace(STEPS, spec=spec, step=shape.step)
        if spec.kind == "types":
            return Shape("names", inner=TYPE, spec=spec, what="input")
        if spec.name == "configuration" and shape is TRIGGER:
            trigger = self.workflow.trigger if self.workflow is not None else None
            return Shape("typed", type=None if trigger is None else trigger.configuration, spec=spec)
        nested = _NESTED.get(spec.name) if spec.kind in ("map", "list", "handlers", "call") else None
        if nested is not None:
            return replace(nested, spec=spec, step=shape.step) if nested is not TRIGGER else nested
        return Shape("value", spec=spec, step=shape.step, what=shape.what)

    def _scenario_key(self, shape: Shape, spec: KeySpec) -> Shape:
        if spec.name == "inputs" and shape.what == "a scenario":
            return Shape("typed", type=inputs_type(self.workflow), spec=spec)
        if spec.name == "trigger" and shape.what == "a scenario" and self.workflow is not None:
            trigger = self.workflow.trigger
            return Shape("typed", type=None if trigger is None else trigger.payload, spec=spec)
        if shape.what == "an answer" and spec.name in ("succeed", "where") and shape.action is not None:
            return Shape("typed", type=shape.action.output if spec.name == "succeed" else shape.action.input, spec=spec)
        nested = _SCENARIO_NESTED.get((shape.what, spec.name))
        if nested is not None:
            return replace(nested, spec=spec, action=shape.action)
        return Shape("value", spec=spec, what=shape.what, action=shape.action)

    def _payload(self, event: Node) -> Type | None:
        """The type of what an event of a scenario delivers."""
        named = event.get("deliver") if isinstance(event, MappingNode) else None
        reference = getattr(named, "text", None)
        trigger = None if self.workflow is None else triggers_of(self.workflow).get(str(reference))
        return None if trigger is None else trigger.payload

    def _type(self, _: Shape, entry: Entry) -> Shape:
        kind, spec = below_schema(key_text(entry))
        if kind == "types":
            return Shape("names", inner=TYPE, what="property")
        if kind == "list of types":
            return Shape("list", inner=TYPE)
        if kind == "names":
            return Shape("list", inner=Shape("value", what="property"))
        return TYPE if kind == "type" else Shape("value", spec=spec)

    def _step(self, _: Shape, entry: Entry) -> Shape:
        return Shape("body", step=self.step(entry))

    def _body(self, shape: Shape, entry: Entry) -> Shape:
        step, name = shape.step, key_text(entry)
        if step is not None and step.subject is entry:
            if step.call is not None:
                return _arguments(step.call, step)
            construct = CONSTRUCTS.get(step.kind)
            if construct is None:
                return ANYTHING
            spec = KeySpec(step.kind, construct.subject, construct.doc)
            if step.kind == "wf.let":
                return Shape("let", spec=spec, step=step)
            return replace(self._workfile_key(replace(shape, what=step.kind), spec), step=step)
        table = ALLOWED_KEYS.get(step.kind if step is not None and step.kind else "action", {})
        spec_found = table.get(name)
        if spec_found is None:
            return ANYTHING
        if step is not None and step.kind == "wf.wait_for" and name in ("match", "configuration"):
            return _wait_part(step, name, spec_found)
        if step is not None and step.kind == "wf.call" and name == "inputs":
            return Shape("typed", type=inputs_type(step.callee), spec=spec_found, step=step)
        return replace(self._workfile_key(shape, spec_found), step=step)

    def _call(self, shape: Shape, entry: Entry) -> Shape:
        step = shape.step
        if step is not None and step.undo is not None and step.undo.entry is entry:
            return _arguments(step.undo, step)
        return ANYTHING

    def _typed(self, shape: Shape, entry: Entry) -> Shape:
        field = shape.type.fields.get(key_text(entry)) if shape.type is not None else None
        if field is not None:
            return replace(shape, type=accepted(field), schema=property_schema(shape.schema, key_text(entry)))
        extra = shape.type.additional if shape.type is not None else None
        return replace(shape, type=extra, schema=_part(shape.schema, "additionalProperties"))

    def _names(self, shape: Shape, entry: Entry) -> Shape:
        inner = shape.inner or ANYTHING
        if shape.what == "answered" and self.workflow is not None:
            return replace(inner, action=answered_action(self.workflow, key_text(entry)))
        return replace(inner, step=shape.step)


def _nothing(_: Shapes, __: Shape, ___: Entry) -> Shape:
    return ANYTHING


_BELOW: Final[dict[str, Callable[[Shapes, Shape, Entry], Shape]]] = {
    "keys": Shapes._keys,
    "step": Shapes._step,
    "body": Shapes._body,
    "call": Shapes._call,
    "typed": Shapes._typed,
    "names": Shapes._names,
    "type": Shapes._type,
}


def _arguments(call: Call, step: Step) -> Shape:
    action = call.action
    if action is None:
        return Shape("typed", step=step, call=call)
    return Shape("typed", type=action.input, step=step, call=call, schema=action.input_schema)


def _wait_part(step: Step, name: str, spec: KeySpec) -> Shape:
    trigger = step.trigger
    if trigger is None:
        return Shape("typed", spec=spec, step=step)
    if name == "configuration":
        return Shape("typed", type=trigger.configuration, spec=spec, step=step, schema=trigger.configuration_schema)
    payload = trigger.payload.fields
    fields = {each: payload.get(each, Field(Type("any"))) for each in trigger.correlate_on}
    return Shape("typed", type=record(fields), spec=spec, step=step, schema=trigger.payload_schema)


def property_schema(schema: object, name: str) -> object:
    """The JSON Schema of a property, None when it is not declared."""
    return _part(_part(schema, "properties"), name)


def description_of(schema: object) -> str:
    """What a JSON Schema says of a value, for people."""
    text = _part(schema, "description")
    return text if isinstance(text, str) else ""


def _part(schema: object, key: str) -> object:
    return schema.get(key) if isinstance(schema, dict) else None


def triggers_of(workflow: Workflow) -> dict[str, TriggerDecl]:
    """The triggers that a Workfile waits for, by reference."""
    found: dict[str, TriggerDecl] = {}
    for step in all_steps(workflow):
        reference = getattr(step.subject.value, "text", "") if step.subject is not None else ""
        if step.trigger is not None:
            found.setdefault(reference, step.trigger)
    return found


def answered_action(workflow: Workflow, name: str) -> ActionDecl | None:
    """The action that a scenario names, by reference or by the path of a step."""
    for step in all_steps(workflow):
        for call in (step.call, step.undo):
            if call is not None and call.action is not None and name in (call.reference, step.path):
                return call.action
    return None


def inputs_type(workflow: Workflow | None) -> Type | None:
    """The type of a run's inputs."""
    if workflow is None:
        return None
    return record({name: Field(each.type, each.optional, each) for name, each in workflow.inputs.items()})
