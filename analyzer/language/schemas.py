"""JSON Schemas (2020-12) of the four kinds of files, made from the vocabulary tables.

For editors that know YAML but not the language: structure, domains, and the tables' texts as hovers. A valid file is
never refused; names, types and control flow are left to the analyzer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from analyzer.expressions.schema_types import SCHEMA_MARKS
from analyzer.expressions.short_types import SIMPLE_SCHEMAS
from analyzer.language import scenario_vocabulary as scenario_words
from analyzer.language.schema_values import (
    KINDS,
    Schema,
    anchored,
    any_of,
    closed,
    domain,
    listing,
    named,
    ref,
    value,
)
from analyzer.language.vocabulary import (
    ALLOWED_KEYS,
    CATCH_KEYS,
    CONNECTOR_KEYS,
    CONSTRUCTS,
    EFFECTS,
    FAIL_KEYS,
    IDEMPOTENCIES,
    IDENTIFIER,
    MODIFIERS,
    NAME,
    RECONCILE_KEYS,
    RECOVERY_KEYS,
    REFERENCE,
    RESERVED_WORDS,
    RETRY_KEYS,
    ROOT_KEYS,
    ROUTE_KEYS,
    STATE_KEYS,
    STOP_AFTER_KEYS,
    STOP_KEYS,
    TIMER_KEYS,
    TRIGGER_KEYS,
    TRIGGER_SOURCES,
    WAIT_RESERVED,
    KeySpec,
)
from analyzer.workspace.manifests import ACTION_KEYS, ERROR_KEYS, MANIFEST_KEYS, TRIGGER_DECL_KEYS
from analyzer.workspace.overlays import OVERLAY_KEYS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ACTION: Final = f"^(?!wf[.]){anchored(REFERENCE)[1:]}"
_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
_NULL: Final[Schema] = {"type": "null"}
_CODE: Final = "^\\S+$"
_JSON_KINDS: Final = ("null", "boolean", "object", "array", "number", "integer", "string")


class Kind(NamedTuple):
    """A kind of files: the names that they have, and what makes their schema."""

    files: tuple[str, ...]
    title: str
    build: Callable[[], Schema]


def schema(kind: str) -> Schema:
    """The schema of one of ``KINDS_OF_FILES``."""
    entry = KINDS_OF_FILES[kind]
    head = {"$schema": DIALECT, "$id": file_name(kind), "title": entry.title}
    return {**head, **entry.build()}


def text(schema: Schema) -> str:
    """A schema as the text of its file."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def file_name(kind: str) -> str:
    """The name of the schema's file."""
    return f"{kind}.schema.json"


# ---- Workfiles -----------------------------------------------------------------------------------


def _workfile() -> Schema:
    shapes = {
        "connectors": named(anchored(NAME), any_of({"type": "string"}, closed(CONNECTOR_KEYS))),
        "trigger": ref("trigger"),
        "recovery": ref("recovery"),
        "states": {**named(anchored(IDENTIFIER), ref("state")), "propertyNames": _ids(), "minProperties": 1},
    }
    root = closed(ROOT_KEYS, shapes)
    root["oneOf"] = [{"required": ["steps"]}, {"required": ["states", "initial"]}]
    root["dependentRequired"] = {"initial": ["states"]}
    return {**root, "$defs": _workfile_definitions()}


def _workfile_definitions() -> Schema:
    state_shapes = {
        "timers": named(anchored(IDENTIFIER), closed(TIMER_KEYS)),
        "routes": listing(closed(ROUTE_KEYS)),
        "recovery": ref("recovery"),
    }
    return {
        "steps": _steps(),
        "step": _step(),
        "state": closed(STATE_KEYS, state_shapes),
        "recovery": closed(RECOVERY_KEYS, {"stop_after": closed(STOP_AFTER_KEYS)}),
        "trigger": closed(TRIGGER_KEYS),
        "retry": closed(RETRY_KEYS),
        "handler": closed(CATCH_KEYS),
        "reconcile": _reconcile(),
        "undo": _undo(),
        **_type_definitions(),
    }


def _reconcile() -> Schema:
    """Which parts are required is ``reconcile-incomplete``, which looks at the action too."""
    return closed(RECONCILE_KEYS)


def _undo() -> Schema:
    return {
        "type": "object",
        "properties": {"connection": value(MODIFIERS["connection"].key)},
        "patternProperties": {ACTION: _arguments()},
        "additionalProperties": False,
        "if": {"required": ["connection"]},
        "then": {"maxProperties": 2},
        "else": {"maxProperties": 1},
        **_some_name_with_a_dot(),
    }


def _some_name_with_a_dot() -> Schema:
    return {"not": {"propertyNames": {"not": {"pattern": "[.]"}}}}


def _arguments() -> Schema:
    return {"description": "An action of a connector, with its arguments.", "type": "object"}


def _ids() -> Schema:
    """What steps and states can be named."""
    return {"pattern": anchored(IDENTIFIER), "not": {"enum": [*RESERVED_WORDS]}}


def _steps() -> Schema:
    """A list of one-key maps."""
    return listing(
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "propertyNames": _ids(),
            "additionalProperties": ref("step"),
        }
    )


def _step() -> Schema:
    """A step's body: one subject, and the keys that this subject allows."""
    every_key: Schema = {name: {} for table in ALLOWED_KEYS.values() for name in table}
    subjects = {
        name: {"description": each.doc, **_SUBJECTS.get(name, KINDS[each.subject])} for name, each in CONSTRUCTS.items()
    }
    no_construct = {"not": {"anyOf": [{"required": [name]} for name in CONSTRUCTS]}}
    return {
        "type": "object",
        "properties": {**subjects, **every_key},
        "patternProperties": {ACTION: _arguments()},
        "additionalProperties": False,
        "allOf": [
            *(
                {"if": {"required": [name]}, "then": _of_subject(name, {"enum": [name, *ALLOWED_KEYS[name]]})}
                for name in CONSTRUCTS
            ),
            {
                "if": no_construct,
                "then": _of_subject("action", any_of({"enum": [*ALLOWED_KEYS["action"]]}, {"pattern": ACTION})),
            },
        ],
        **_some_name_with_a_dot(),
    }


def _of_subject(kind: str, names: Schema) -> Schema:
    table = ALLOWED_KEYS[kind]
    found: Schema = {
        "properties": {key: value(spec, _key_shape(kind, spec)) for key, spec in table.items()},
        "propertyNames": names,
    }
    required = [key for key, spec in table.items() if spec.required]
    if required:
        found["required"] = required
    return found


#: What the maps that stand under a construct, or under a key of steps, hold.
_SUBJECTS: Final[dict[str, Schema]] = {
    "wf.parallel": named(anchored(IDENTIFIER), ref("steps")),
    "wf.fail": closed(FAIL_KEYS),
    "wf.stop": closed(STOP_KEYS),
}
_KEY_SHAPES: Final[dict[str, Schema]] = {
    "retry": ref("retry"),
    "reconcile": ref("reconcile"),
    "recovery": ref("recovery"),
    "cases": {"type": "object", "additionalProperties": ref("steps")},
    "as": {**KINDS["identifier"], "not": {"enum": [word for word in RESERVED_WORDS if word != "item"]}},
}
_WAIT_STEPS: Final[Schema] = {
    "allOf": [ref("steps")],
    "items": {"propertyNames": {"not": {"enum": [*WAIT_RESERVED]}}},
}


def _key_shape(kind: str, spec: KeySpec) -> Schema | None:
    if kind == "wf.wait_for" and spec.name == "steps":
        return _WAIT_STEPS
    return _KEY_SHAPES.get(spec.name)


def _type_definitions() -> Schema:
    """Types as short strings, records of them, and JSON Schemas, of which only ``type`` is looked at."""
    words = "|".join(SIMPLE_SCHEMAS)
    short = {"type": "string", "pattern": f"^\\s*(?:(?:{words})\\b|(?:list|map|enum)\\s*\\[)"}
    kinds = {"enum": [*_JSON_KINDS]}
    return {
        "type": {
            "description": (
                'A type: a short string such as `string`, `list[integer]`, `enum["a", "b"]` or `timestamp?`, a JSON '
                "Schema, or a record of names to types (`name?` for an optional one)."
            ),
            "examples": [*SIMPLE_SCHEMAS, "list[string]", "map[number]", 'enum["a", "b"]', "string?"],
            "if": {"type": "object"},
            "then": {
                "if": {"anyOf": [{"required": [mark]} for mark in SCHEMA_MARKS]},
                "then": {"properties": {"type": any_of(kinds, listing(kinds))}},
                "else": {"additionalProperties": ref("type")},
            },
            "else": short,
        },
        "record": named(f"{anchored(IDENTIFIER)[:-1]}[?]?$", ref("type")),
    }


# ---- Manifests and overlays ----------------------------------------------------------------------


def _connector() -> Schema:
    shapes = {
        "connector": {**KINDS["name"], "not": {"const": "wf"}},
        "version": _TEXT,
        "actions": named(anchored(IDENTIFIER), ref("action")),
        "triggers": named(anchored(IDENTIFIER), ref("trigger")),
    }
    return {
        **_documented(MANIFEST_KEYS, shapes, ("connector",)),
        "$defs": {
            "action": _documented(ACTION_KEYS, _action_shapes(_object_type()), ("effect",)),
            "trigger": _documented(TRIGGER_DECL_KEYS, _trigger_shapes(_object_type()), ("source",)),
            "error": _documented(ERROR_KEYS, _ERROR_SHAPES, ("retryable",)),
            **_type_definitions(),
        },
    }


def _overlay() -> Schema:
    """As a manifest, in parts: what an overlay does not say stays as it is."""
    shapes = {
        "overlay": _TEXT,
        "version": _TEXT,
        "actions": named(anchored(IDENTIFIER), ref("action")),
        "triggers": named(anchored(IDENTIFIER), ref("trigger")),
    }
    part = {"type": ["object", "string"]}
    return {
        **_documented(OVERLAY_KEYS, shapes, ("overlay",)),
        "$defs": {
            "action": _documented(ACTION_KEYS, {**_action_shapes(part), "output": part}),
            "trigger": _documented(TRIGGER_DECL_KEYS, {**_trigger_shapes(part), "payload": part}),
            "error": _documented(ERROR_KEYS, _ERROR_SHAPES),
        },
    }


def _object_type() -> Schema:
    """The type of arguments or of a configuration: an object, so no short string but that."""
    return {"allOf": [ref("type")], "type": ["object", "string"]}


def _action_shapes(object_type: Schema) -> dict[str, Schema]:
    return {
        "effect": {"enum": [*EFFECTS]},
        "idempotency": {"enum": [*IDEMPOTENCIES]},
        "input": object_type,
        "output": ref("type"),
        "errors": named(_CODE, ref("error")),
    }


def _trigger_shapes(object_type: Schema) -> dict[str, Schema]:
    return {
        "source": {"enum": [*TRIGGER_SOURCES]},
        "configuration": object_type,
        "payload": ref("type"),
        "correlate_on": {"type": "array", "items": _TEXT, "uniqueItems": True},
    }


_ERROR_SHAPES: Final[dict[str, Schema]] = {"retryable": {"type": "boolean"}}


def _documented(docs: Mapping[str, str], shapes: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A closed map whose keys have texts only; what has no shape is a string."""
    found: Schema = {
        "type": "object",
        "properties": {key: {"description": doc, **shapes.get(key, {"type": "string"})} for key, doc in docs.items()},
        "additionalProperties": False,
    }
    if required:
        found["required"] = [*required]
    return found


# ---- Scenarios -----------------------------------------------------------------------------------


def _scenario() -> Schema:
    words = scenario_words
    shapes: dict[str, Schema] = {
        "actions": {"type": "object", "additionalProperties": _one_or_several(ref("answer"))},
        "events": listing(ref("event")),
        "crashes": listing(ref("crash")),
        "operator": listing(closed(words.OPERATOR_KEYS)),
        "cancel": closed(words.CANCEL_KEYS),
        "expect": closed(
            words.EXPECT_KEYS,
            {
                "failure": any_of(_partly(words.EXPECTED_FAILURE_KEYS), _NULL),
                "stop": any_of(_partly(words.EXPECTED_STOP_KEYS), _NULL),
                "calls": listing(_partly(words.EXPECTED_CALL_KEYS)),
            },
        ),
    }
    answer = closed(words.ANSWER_KEYS, {"fail": closed(words.FAILURE_KEYS), "ambiguous": closed(words.AMBIGUITY_KEYS)})
    point = {**closed(words.CRASH_POINT_KEYS), "oneOf": [{"required": ["record"]}, {"required": ["seq"]}]}
    return {
        **closed(words.SCENARIO_KEYS, shapes),
        "$defs": {
            "answer": {**answer, "oneOf": [{"required": [word]} for word in words.ANSWERS]},
            "event": {**closed(words.EVENT_KEYS), "oneOf": [{"required": ["at"]}, {"required": ["after"]}]},
            "crash": {
                **closed(words.CRASH_KEYS, {"after": point, "before": point}),
                "oneOf": [{"required": ["after"]}, {"required": ["before"]}],
            },
            "decision": _decision(),
        },
    }


def _one_or_several(each: Schema) -> Schema:
    """A list that is not empty, or its only element alone."""
    return {"if": {"type": "array"}, "then": {**listing(each), "minItems": 1}, "else": each}


def _partly(table: Mapping[str, KeySpec]) -> Schema:
    """What is compared with a report: any of its keys, each with a value of its kind or null."""
    return closed(table, {name: any_of(domain(spec), _NULL) for name, spec in table.items()})


def _decision() -> Schema:
    words = scenario_words
    outcome: dict[str, Any] = {
        "type": "object",
        "properties": {"succeed": {}, "fail": closed(words.OPERATOR_FAILURE_KEYS)},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {"if": {"type": "object"}, "then": outcome, "else": {"enum": [*words.DECISION_WORDS]}}


KINDS_OF_FILES: Final[dict[str, Kind]] = {
    "workfile": Kind(("*.workfile.yaml", "*.workfile.yml", "Workfile"), "Workfile", _workfile),
    "connector": Kind(("*.connector.yaml",), "Connector manifest", _connector),
    "overlay": Kind(("*.overlay.yaml",), "Overlay on a connector manifest", _overlay),
    "scenario": Kind(("*.scenario.yaml",), "Scenario of a simulated run", _scenario),
}
