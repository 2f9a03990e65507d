"""The requests that the adapter answers, with the arguments that each takes: one table, against which all are checked.

Requests of the protocol may carry arguments that are not listed, as clients of newer versions send them; requests of
our own take what is listed and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.language.suggest import hint
from analyzer.language.words import shown

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

#: Ids of errors, for clients that tell them apart.
ERROR_REFUSED: Final = 1
ERROR_ARGUMENTS: Final = 2
ERROR_STATE: Final = 3
ERROR_UNKNOWN: Final = 4
ERROR_INTERNAL: Final = 5


class Refused(Exception):
    """A request that is answered with an error. ``short`` is one of the protocol's own words, else ``None``."""

    def __init__(self, message: str, number: int = ERROR_REFUSED, short: str | None = None) -> None:
        super().__init__(message)
        self.number = number
        self.short = short


class Argument(NamedTuple):
    """One argument. ``kind``: ``integer`` (not below ``least``), ``boolean``, ``text``, ``texts``, ``list`` (of maps),
    ``map``, ``any``."""

    kind: str
    required: bool = False
    least: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """A request. ``strict``: no other arguments. ``when``: ``any``, ``debugging`` (after launch or attach),
    ``begun`` (once it runs), ``stopped``."""

    arguments: Mapping[str, Argument] = field(default_factory=dict)
    strict: bool = False
    when: str = "debugging"


_INTEGER: Final = Argument("integer")
_BOOLEAN: Final = Argument("boolean")
_TEXT: Final = Argument("text")
_MAP: Final = Argument("map")
_LIST: Final = Argument("list")
_THREAD: Final = {"threadId": Argument("integer", True), "singleThread": _BOOLEAN, "granularity": _TEXT}
_FRAME: Final = {"frameId": Argument("integer", True)}

LAUNCH: Final = {
    "program": _TEXT,
    "scenario": _TEXT,
    "inputs": _MAP,
    "trigger": Argument("any"),
    "seed": Argument("integer", least=-(1 << 63)),
    "until": _TEXT,
    "dryRun": _BOOLEAN,
    "store": _TEXT,
    "stopOnEntry": _BOOLEAN,
    "stopAtEnd": _BOOLEAN,
    "noDebug": _BOOLEAN,
}
ATTACH: Final = {"history": Argument("text", True), "program": _TEXT, "at": Argument("integer", least=1)}

REQUESTS: Final[dict[str, Request]] = {
    "initialize": Request(
        {
            "linesStartAt1": _BOOLEAN,
            "columnsStartAt1": _BOOLEAN,
            "pathFormat": _TEXT,
            "supportsVariableType": _BOOLEAN,
            "supportsVariablePaging": _BOOLEAN,
        },
        when="any",
    ),
    "launch": Request(LAUNCH, when="any"),
    "attach": Request(ATTACH, when="any"),
    "configurationDone": Request(when="any"),
    "disconnect": Request({"restart": _BOOLEAN, "terminateDebuggee": _BOOLEAN}, when="any"),
    "terminate": Request({"restart": _BOOLEAN}, when="any"),
    "restart": Request({"arguments": _MAP}),
    "cancel": Request({"requestId": _INTEGER, "progressId": _TEXT}, when="any"),
    "setBreakpoints": Request(
        {"source": Argument("map", True), "breakpoints": _LIST, "lines": Argument("any"), "sourceModified": _BOOLEAN},
        when="any",
    ),
    "setFunctionBreakpoints": Request({"breakpoints": Argument("list", True)}, when="any"),
    "setExceptionBreakpoints": Request(
        {"filters": Argument("texts", True), "filterOptions": _LIST, "exceptionOptions": _LIST}, when="any"
    ),
    "breakpointLocations": Request(
        {
            "source": Argument("map", True),
            "line": Argument("integer", True),
            "column": _INTEGER,
            "endLine": _INTEGER,
            "endColumn": _INTEGER,
        },
        when="any",
    ),
    "threads": Request(),
    "stackTrace": Request(
        {"threadId": Argument("integer", True), "startFrame": _INTEGER, "levels": _INTEGER, "format": _MAP},
        when="stopped",
    ),
    "scopes": Request(_FRAME, when="stopped"),
    "variables": Request(
        {
            "variablesReference": Argument("integer", True),
            "filter": _TEXT,
            "start": _INTEGER,
            "count": _INTEGER,
            "format": _MAP,
        },
        when="stopped",
    ),
    "evaluate": Request(
        {"expression": Argument("text", True), "frameId": _INTEGER, "context": _TEXT, "format": _MAP}, when="begun"
    ),
    "completions": Request(
        {
            "text": Argument("text", True),
            "column": Argument("integer", True),
            "line": _INTEGER,
            "frameId": _INTEGER,
        }
    ),
    "exceptionInfo": Request({"threadId": Argument("integer", True)}, when="stopped"),
    "continue": Request(_THREAD, when="stopped"),
    "next": Request(_THREAD, when="stopped"),
    "stepIn": Request({**_THREAD, "targetId": _INTEGER}, when="stopped"),
    "stepOut": Request(_THREAD, when="stopped"),
    "stepBack": Request(_THREAD, when="stopped"),
    "reverseContinue": Request(_THREAD, when="stopped"),
    "stepInTargets": Request(_FRAME, when="stopped"),
    "gotoTargets": Request(
        {"source": Argument("map", True), "line": Argument("integer", True), "column": _INTEGER}, when="stopped"
    ),
    "goto": Request({"threadId": Argument("integer", True), "targetId": Argument("integer", True)}, when="stopped"),
    "restartFrame": Request(_FRAME, when="stopped"),
    "pause": Request({"threadId": _INTEGER}),
    "source": Request({"source": _MAP, "sourceReference": _INTEGER}),
    "loadedSources": Request(),
    "workfile/crash": Request(strict=True, when="begun"),
    "workfile/resume": Request(strict=True, when="begun"),
    "workfile/advance": Request({"by": _TEXT, "to": _TEXT}, True, "begun"),
    "workfile/deliver": Request(
        {"trigger": Argument("text", True), "payload": Argument("any", True), "id": _TEXT}, True, "begun"
    ),
    "workfile/decide": Request(
        {"on": Argument("text", True), "actor": Argument("text", True), "decide": Argument("any", True)}, True, "begun"
    ),
    "workfile/cancel": Request({"reason": Argument("any")}, True, "begun"),
    "workfile/explore": Request(strict=True, when="begun"),
    "workfile/timeline": Request({"from": Argument("integer", least=1), "limit": Argument("integer", least=1)}, True),
}

FILTERS: Final[dict[str, tuple[str, str, bool]]] = {
    "failure": ("Failures", "An attempt, or a step of another kind, definitely fails.", False),
    "ambiguous": ("Ambiguous attempts", "It is not known whether a call took effect.", True),
    "hold": ("Holds", "The run needs an operator's decision.", True),
    "suspend": ("Suspension", "The run waits for a timer, an event, a child run, a retry or a delay.", False),
    "recovery": ("Recovery", "A recovery scope acts, before anything is compensated.", False),
    "divergence": ("Divergence", "The history was decided differently from what the Workfile would decide now.", True),
}

CAPABILITIES: Final[dict[str, Json]] = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsClipboardContext": True,
    "supportsStepBack": True,
    "supportsStepInTargetsRequest": True,
    "supportsSteppingGranularity": True,
    "supportsRestartFrame": True,
    "supportsRestartRequest": True,
    "supportsGotoTargetsRequest": True,
    "supportsCompletionsRequest": True,
    "completionTriggerCharacters": [".", " ", "|"],
    "supportsExceptionInfoRequest": True,
    "supportsExceptionFilterOptions": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsLoadedSourcesRequest": True,
    "supportsTerminateRequest": True,
    "supportsCancelRequest": True,
    "exceptionBreakpointFilters": [
        {
            "filter": name,
            "label": label,
            "description": description,
            "default": default,
            "supportsCondition": True,
            "conditionDescription": "over `error` (code, message, details, path), such as error.code == 'declined'",
        }
        for name, (label, description, default) in FILTERS.items()
    ],
}


def read_arguments(command: str, given: Json) -> Arguments:
    """The checked arguments of a request of the table. Raises ``Refused``."""
    request = REQUESTS[command]
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise Refused(f"`{command}`: `arguments` is a map, not {_what(given)}", ERROR_ARGUMENTS)
    if request.strict:
        for name in given:
            if name not in request.arguments:
                known = ", ".join(f"`{each}`" for each in request.arguments)
                takes = f"it takes {known}" if known else "it takes none"
                advice = hint(name, request.arguments)
                raise Refused(f"`{command}` has no argument `{shown(name)}`; {takes}.{advice}", ERROR_ARGUMENTS)
    return check_arguments(command, given, request.arguments)


def check_arguments(what: str, given: Mapping[str, Json], table: Mapping[str, Argument]) -> Arguments:
    """Those of ``given`` that are in the table, checked; others are left out. Raises ``Refused``."""
    found: Arguments = {}
    for name, argument in table.items():
        value = given.get(name)
        if name not in given or (value is None and argument.kind != "any"):
            if argument.required:
                raise Refused(f"`{what}` lacks its argument `{name}`", ERROR_ARGUMENTS)
            continue
        problem = _problem(argument, value)
        if problem is not None:
            raise Refused(f"`{what}`: `{name}` is {problem}, not {_what(value)}", ERROR_ARGUMENTS)
        found[name] = value
    return found


def _problem(argument: Argument, value: Json) -> str | None:
    """What the value should be, when it is not."""
    kind = argument.kind
    if kind == "integer":
        fits = type(value) is int and value >= argument.least
        return (
            None if fits else f"a whole number, at least {argument.least}" if argument.least > -1 else "a whole number"
        )
    if kind == "boolean":
        return None if isinstance(value, bool) else "true or false"
    if kind == "text":
        return None if isinstance(value, str) else "a string"
    if kind == "map":
        return None if isinstance(value, dict) else "a map"
    if kind in ("texts", "list"):
        inner: type = str if kind == "texts" else dict
        fits = isinstance(value, list) and all(isinstance(each, inner) for each in value)
        return None if fits else "a list of strings" if kind == "texts" else "a list of maps"
    return None


def _what(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return f"`{shown(str(value))}`"
