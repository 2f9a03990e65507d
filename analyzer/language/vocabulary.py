"""The words of the language, each table once: keys, constructs, modifiers, reserved words, domains.

Everything marked [A] on the language page lives here and nowhere else; structure checking, JSON Schemas, completion,
hover and documentation read these tables (architecture page, invariant 7).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

STANDARD_VERSION: Final = "1.0"
PROFILES: Final = ("core", "durable", "replay")
TRIGGER_SOURCES: Final = ("external", "poll", "schedule", "manual")
WAITABLE_SOURCES: Final = ("external", "poll")
EFFECTS: Final = ("read", "write")
IDEMPOTENCIES: Final = ("none", "inherent", "keyed")

IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9_]*\Z")
NAME: Final = re.compile(r"[a-z][a-z0-9_-]*\Z")
REFERENCE: Final = re.compile(r"([a-z][a-z0-9_-]*)\.([a-z][a-z0-9_]*)\Z")

RESERVED_WORDS: Final = (
    "inputs",
    "trigger",
    "run",
    "error",
    "item",
    "index",
    "null",
    "true",
    "false",
    "and",
    "or",
    "not",
    "in",
)
WAIT_RESERVED: Final = ("status", "event")
RUN_FIELDS: Final = {"id": "string", "workflow": "string", "started_at": "timestamp"}
WAIT_STATUSES: Final = ("received", "timeout")


class KeySpec(NamedTuple):
    """One key of a place. ``kind`` names a value kind (``VALUE_KINDS``); ``values`` is the domain of an ``enum``."""

    name: str
    kind: str
    doc: str
    required: bool = False
    values: tuple[str, ...] = ()
    default: str | None = None


VALUE_KINDS: Final[dict[str, str]] = {
    "text": "a string",
    "version": "a version string",
    "standard-version": 'the string `"1.0"`',
    "identifier": "an identifier (lower-case letters, digits and `_`, a letter first)",
    "state": "the name of a state",
    "name": "a name (lower-case letters, digits, `_` and `-`, a letter first)",
    "connection": "a nonempty string",
    "enum": "one of the words that the key allows",
    "boolean": "true or false",
    "positive-integer": "a positive integer",
    "factor": "a number of at least 1",
    "fraction": "a number from 0 to 1",
    "positive-duration": "a positive duration such as `30s`",
    "duration": "a duration such as `30s`",
    "timeout": "a positive duration such as `30s`",
    "wait-timeout": "a duration, a timestamp, or one interpolation that gives one",
    "reference": "a literal `connector.name`",
    "codes": "a list of codes",
    "boolean-expression": "a boolean expression",
    "string-expression": "a string expression",
    "scalar-expression": "an expression",
    "expression": "any value, with interpolations",
    "list-expression": "a list, or one interpolation that gives one",
    "map-of-expressions": "a map of values",
    "steps": "a list of steps",
    "handlers": "a list of handlers",
    "call": "one action call, `connector.action: {…}`",
    "map": "a map",
    "list": "a list",
    "types": "a map of names to types",
    "type": "a type",
    "any": "any value",
}


def _keys(*specs: KeySpec) -> dict[str, KeySpec]:
    return {spec.name: spec for spec in specs}


K = KeySpec

ROOT_KEYS: Final = _keys(
    K("workfile", "standard-version", 'The Standard version, the string `"1.0"`.', required=True),
    K("name", "name", "The workflow's identity, stable over the life of every run.", required=True),
    K("version", "text", "The version of this definition, for people."),
    K("description", "text", "What the workflow does, for people."),
    K("connectors", "map", "Connector name to the path of its manifest, or `{manifest: path, overlay: path}`."),
    K("inputs", "types", "The run's inputs, name to type; `name?` makes one optional. Read as `inputs.NAME`."),
    K("trigger", "map", "What starts a run: `{source, configuration, connection}`. Its payload is read as `trigger`."),
    K("recovery", "map", "Root recovery: what is redone when a step fails past its retries and handlers."),
    K("steps", "steps", "The ordered list of steps."),
    K("states", "map", "The states of a state machine, name to state; `initial` stands beside it."),
    K("initial", "state", "The state that a run enters first."),
    K("result", "expression", "The workflow's result, evaluated when the run succeeds."),
)

CONNECTOR_KEYS: Final = _keys(
    K("manifest", "text", "Path of the connector's manifest.", required=True),
    K("overlay", "text", "Path of the deployment's overlay on it."),
)

TRIGGER_KEYS: Final = _keys(
    K("source", "reference", "The trigger, `connector.trigger`.", required=True),
    K("configuration", "map-of-expressions", "The trigger's configuration."),
    K("connection", "connection", "The connection to use."),
)

RECOVERY_KEYS: Final = _keys(
    K(
        "redo",
        "enum",
        "What runs again: the failed step, it and all after it in this scope, or all executed work of the scope.",
        values=("this_step", "this_and_after", "whole_group"),
        default="this_step",
    ),
    K("stop_after", "map", "How many automatic activations are allowed in a rolling interval.", required=True),
    K(
        "then",
        "enum",
        "What happens at the limit: hold for an operator, fail the scope, or go to the next enclosing scope.",
        required=True,
        values=("hold", "fail", "escalate"),
    ),
    K("delay", "duration", "Time from the recorded decision to the start of compensation.", default="0ms"),
    K("notify", "text", "An opaque notification target; never evaluated."),
)

STOP_AFTER_KEYS: Final = _keys(
    K("failures", "positive-integer", "Automatic activations allowed in the interval.", required=True),
    K("within", "positive-duration", "The rolling interval.", required=True),
)

RETRY_KEYS: Final = _keys(
    K("attempts", "positive-integer", "All attempts, the first included.", required=True),
    K("delay", "duration", "Wait before the second attempt.", default="1s"),
    K("backoff", "factor", "Each further wait is this many times the one before.", default="1"),
    K("max_delay", "duration", "No wait is longer than this."),
    K("jitter", "fraction", "The share of each wait that is random.", default="0"),
    K("on", "codes", "Only failures with these codes are retried; default: every retryable failure."),
)

CATCH_KEYS: Final = _keys(
    K("codes", "codes", "The failure codes that this handler takes; without it, any."),
    K("steps", "steps", "What runs when the handler is entered; reads `error.code`, `error.message` and so on."),
    K("result", "expression", "What the step binds after the handler; null without it."),
)

RECONCILE_KEYS: Final = _keys(
    K("steps", "steps", "Probes that find out what happened; visible to `outcome` and `result` only.", required=True),
    K("outcome", "boolean-expression", "true: the action succeeded; false: it had no effect.", required=True),
    K("result", "expression", "The action's result when `outcome` is true; must fit its output."),
)

STATE_KEYS: Final = _keys(
    K("on_enter", "steps", "Steps that run on entry, one ordered list with `steps`."),
    K("steps", "steps", "The state's steps."),
    K("timers", "map", "State timers: name to `{after, to}`."),
    K("routes", "list", "Where to go next: the first route that holds; one without `when` is the default."),
    K("recovery", "map", "Recovery for the state's steps."),
    K("final", "boolean", "true: the run succeeds after this state's steps.", default="false"),
)

TIMER_KEYS: Final = _keys(
    K("after", "positive-duration", "Time from the state's entry.", required=True),
    K("to", "state", "The state that is entered when it elapses.", required=True),
)

ROUTE_KEYS: Final = _keys(
    K("when", "boolean-expression", "The route is taken when this holds; without it, always."),
    K("to", "state", "The state that is entered.", required=True),
)

FAIL_KEYS: Final = _keys(
    K("code", "string-expression", "The failure's stable code.", required=True),
    K("message", "string-expression", "What went wrong, for people."),
    K("details", "expression", "Details for programs."),
)

STOP_KEYS: Final = _keys(
    K("reason", "string-expression", "Why the run stops."),
    K("result", "expression", "The stopped run's result."),
)


class Construct(NamedTuple):
    """A ``wf.`` construct: what its subject's value is, its configuration keys, whether it produces a scope."""

    name: str
    subject: str
    doc: str
    keys: dict[str, KeySpec]
    scope_producing: bool = False
    durable: bool = False


ON_BRANCH_FAIL: Final = K(
    "on_branch_fail",
    "enum",
    "What a failed branch does to the others: fail the construct, or continue and bind null.",
    values=("fail", "continue"),
    default="fail",
)

ON_ITERATION_FAIL: Final = K(
    "on_iteration_fail",
    "enum",
    "What a failed iteration does: fail the construct, or continue and be null.",
    values=("fail", "continue"),
    default="fail",
)

CONSTRUCTS: Final[dict[str, Construct]] = {
    each.name: each
    for each in (
        Construct(
            "wf.wait_for",
            "reference",
            "Durably wait for one correlated event, or a timeout, which is not a failure. Binds `{status, event, …}`.",
            _keys(
                K("match", "map-of-expressions", "Correlation fields and the values they must have.", required=True),
                K("timeout", "wait-timeout", "How long, or until when, to wait.", required=True),
                K("configuration", "map-of-expressions", "The trigger's configuration.", default="{}"),
                K("connection", "connection", "The connection to use."),
                K("steps", "steps", "Steps run once the subscription is active, before the event is selected."),
            ),
            durable=True,
        ),
        Construct("wf.wait", "wait-timeout", "Durably wait for a duration, or until a timestamp.", {}),
        Construct(
            "wf.if",
            "boolean-expression",
            "Run one of two step lists. Binds the ids of both; an id of one list only may be null.",
            _keys(
                K("then", "steps", "Steps when the condition is true.", required=True),
                K("else", "steps", "Steps when it is false."),
            ),
            scope_producing=True,
        ),
        Construct(
            "wf.switch",
            "scalar-expression",
            "Run the step list of the case that equals the value.",
            _keys(
                K("cases", "map", "Literal (string, integer or boolean) to step list."),
                K("default", "steps", "Steps when no case is equal."),
            ),
            scope_producing=True,
        ),
        Construct(
            "wf.parallel",
            "map",
            "Run branches side by side, each a step list; binds a scope for each branch.",
            _keys(ON_BRANCH_FAIL),
            scope_producing=True,
        ),
        Construct(
            "wf.for_each",
            "list-expression",
            "Run steps once for each element; binds a list of scopes.",
            _keys(
                K("steps", "steps", "The steps of one iteration.", required=True),
                K("as", "identifier", "The element's name.", default="item"),
                K("concurrency", "positive-integer", "How many iterations run side by side.", default="1"),
                ON_ITERATION_FAIL,
            ),
            scope_producing=True,
        ),
        Construct("wf.group", "steps", "Run steps as one scope.", {}, scope_producing=True),
        Construct(
            "wf.call",
            "name",
            "Run another workflow as a child run; binds its result.",
            _keys(K("inputs", "map-of-expressions", "The child's inputs.")),
        ),
        Construct("wf.let", "map-of-expressions", "Bind values.", {}),
        Construct("wf.fail", "map", "End the run as failed, past every retry, catch and recovery.", {}),
        Construct("wf.stop", "map", "End the run as stopped, with a reason and a result.", {}),
    )
}

RESERVED_CONSTRUCTS: Final = ("wf.agent", "wf.program")


class Modifier(NamedTuple):
    """A modifier: its key, and the constructs that allow it (``action`` stands for action steps)."""

    key: KeySpec
    on: frozenset[str]


_ALL: Final = frozenset({"action", *CONSTRUCTS})
_FALLIBLE: Final = _ALL - {"wf.fail", "wf.stop"}
_SCOPES: Final = frozenset(name for name, each in CONSTRUCTS.items() if each.scope_producing)
_ACTION: Final = frozenset({"action"})

MODIFIERS: Final[dict[str, Modifier]] = {
    each.key.name: each
    for each in (
        Modifier(K("when", "boolean-expression", "false skips the step, which then binds null."), _ALL),
        Modifier(K("connection", "connection", "The connection to use."), _ACTION),
        Modifier(K("timeout", "timeout", "How long one attempt, or the child run, may take."), _ACTION | {"wf.call"}),
        Modifier(K("retry", "map", "When and how often a failed attempt is made again."), _ACTION),
        Modifier(K("catch", "handlers", "Handlers for failures of this step, the first that fits is used."), _FALLIBLE),
        Modifier(
            K(
                "on_fail",
                "enum",
                "What a failure past retry and catch does.",
                values=("fail", "continue", "abort"),
                default="fail",
            ),
            _FALLIBLE,
        ),
        Modifier(
            K(
                "on_unknown",
                "enum",
                "What is done when an attempt's outcome is not known.",
                values=("abort", "fail", "reconcile", "halt"),
            ),
            _ACTION,
        ),
        Modifier(K("reconcile", "map", "How to find out what an ambiguous attempt did."), _ACTION),
        Modifier(K("undo", "call", "The action that compensates this one before it is redone."), _ACTION),
        Modifier(
            K("idempotency_key", "string-expression", "The key of a keyed action, evaluated once and fixed."), _ACTION
        ),
        Modifier(K("recovery", "map", "What is redone when a step in this scope fails."), _SCOPES),
        Modifier(ON_BRANCH_FAIL, frozenset({"wf.parallel"})),
        Modifier(ON_ITERATION_FAIL, frozenset({"wf.for_each"})),
    )
}

#: Failure codes that have a name whatever a manifest declares (language page, section 5).
FAULT_CODES: Final = (
    "fault.null_member",
    "fault.missing_member",
    "fault.kind",
    "fault.division",
    "fault.range",
    "fault.conversion",
    "fault.limit",
)


def allowed_keys(kind: str) -> dict[str, KeySpec]:
    """Every key that may stand beside a step's subject of that kind (``action`` or a construct's name)."""
    keys = dict(CONSTRUCTS[kind].keys) if kind in CONSTRUCTS else {}
    for name, modifier in MODIFIERS.items():
        if kind in modifier.on:
            keys.setdefault(name, modifier.key)
    return keys


ALLOWED_KEYS: Final[dict[str, dict[str, KeySpec]]] = {kind: allowed_keys(kind) for kind in ("action", *CONSTRUCTS)}
