"""The words of scenario files, each table once (interfaces page, "Scenario files").

The kinds beyond those of ``vocabulary.VALUE_KINDS`` are in ``SCENARIO_KINDS``.
"""

from __future__ import annotations

from typing import Final

from analyzer.language.vocabulary import KeySpec

K = KeySpec


def _keys(*specs: KeySpec) -> dict[str, KeySpec]:
    return {spec.name: spec for spec in specs}


SCENARIO_KINDS: Final[dict[str, str]] = {
    "timestamp": "a timestamp such as `2026-01-01T00:00:00Z`",
    "moment": "a duration from the start, or a timestamp",
    "integer": "an integer",
    "count": "an integer of at least 0",
    "counts": "a map of action names to counts",
    "strings": "a list of strings",
    "paths": "a list of step paths",
    "decision": "`reissue`, `authorize_recovery`, `{succeed: …}` or `{fail: {code: …}}`",
    "status": "a run's status",
}

RUN_STATUSES: Final = ("running", "suspended", "held", "succeeded", "failed", "stopped", "aborted", "cancelled")
DECISION_WORDS: Final = ("reissue", "authorize_recovery")

SCENARIO_KEYS: Final = _keys(
    K("workfile", "text", "Path of the Workfile that is run, relative to this file.", required=True),
    K("start", "timestamp", "The simulated clock's start.", default="2026-01-01T00:00:00Z"),
    K("seed", "integer", "Seed of the jitter of retries."),
    K("until", "moment", "The simulation ends then at the latest; without it, when nothing more can happen."),
    K("inputs", "map", "The run's inputs."),
    K("trigger", "any", "The payload of the root trigger."),
    K("dry_run", "boolean", "true: reads run, writes are suppressed.", default="false"),
    K("actions", "map", "What actions answer, by `connector.action`, or by step path for one step alone."),
    K("events", "list", "Events that are delivered to the run."),
    K("crashes", "list", "Where the executor dies; it is back after `down`."),
    K("operator", "list", "Decisions of an operator; one without `at` acts as soon as its hold is there."),
    K("cancel", "map", "Cancels the run: `{at, reason}`."),
    K("expect", "map", "What the run must have come to."),
)

ANSWER_KEYS: Final = _keys(
    K("succeed", "any", "The call succeeds with this result."),
    K("fail", "map", "The call fails for certain: `{code, message, details, retryable, retry_after}`."),
    K("ambiguous", "map", "The answer is lost: `{code, effect}`, where `effect` says what really took place."),
    K("latency", "duration", "Time from the call to its answer; the effect takes place on arrival.", default="0s"),
    K("where", "map", "Only for calls whose arguments include these."),
)
#: An answer is exactly one of these.
ANSWERS: Final = ("succeed", "fail", "ambiguous")

FAILURE_KEYS: Final = _keys(
    K("code", "text", "The failure's code, one that the manifest declares.", required=True),
    K("message", "text", "What went wrong, for people."),
    K("details", "any", "Details for programs."),
    K("retryable", "boolean", "Whether a retry may help; default: what the manifest declares."),
    K("retry_after", "duration", "The next attempt is not made sooner."),
)

AMBIGUITY_KEYS: Final = _keys(
    K("code", "text", "The code of the lost answer, such as `timeout`.", required=True),
    K("effect", "enum", "What really took place outside.", values=("happened", "lost")),
)

EVENT_KEYS: Final = _keys(
    K("at", "moment", "When the event is delivered."),
    K("after", "text", "The step path of a wait: delivered once its subscription is active."),
    K("by", "duration", "How long after that.", default="0s"),
    K("deliver", "reference", "The trigger, `connector.trigger`.", required=True),
    K("id", "text", "The delivery's identity; a repeated one is refused."),
    K("payload", "any", "What is delivered."),
)

CRASH_KEYS: Final = _keys(
    K("after", "map", "The executor dies after this record: `{record, path, nth}` or `{seq}`."),
    K("before", "map", "The executor dies before this record: `{record, path, nth}` or `{seq}`."),
    K("down", "duration", "How long it is away.", default="0s"),
)

CRASH_POINT_KEYS: Final = _keys(
    K("record", "text", "The record's kind, such as `action.dispatched`."),
    K("path", "text", "The record's step path; without it, any."),
    K("nth", "positive-integer", "Which of such records.", default="1"),
    K("seq", "positive-integer", "The record's number in the history, in place of its kind."),
)

OPERATOR_KEYS: Final = _keys(
    K("on", "text", 'The path of the hold; `""` is the root scope.', required=True),
    K("actor", "text", "Who decides; recorded in the history."),
    K("decide", "decision", "The decision.", required=True),
    K("at", "moment", "When it is made; without it, as soon as the hold is there."),
)

DECISION_KEYS: Final = _keys(
    K("succeed", "any", "The step succeeds with this result."),
    K("fail", "map", "The step fails: `{code, message, retryable, details}`."),
)

OPERATOR_FAILURE_KEYS: Final = _keys(
    K("code", "text", "The code that the failure gets.", required=True),
    K("message", "text", "What went wrong, for people."),
    K("retryable", "boolean", "Whether a retry may help.", default="false"),
    K("details", "any", "Details for programs."),
)

CANCEL_KEYS: Final = _keys(
    K("at", "moment", "When the run is cancelled.", required=True),
    K("reason", "text", "Why."),
)

EXPECT_KEYS: Final = _keys(
    K("status", "status", "The run's status at the end.", values=RUN_STATUSES),
    K("result", "any", "The run's result, compared in full."),
    K("bindings", "map", "Binding path (`a.b`, `a[0].b`) to the value that it must have."),
    K("effects", "counts", "Action to the number of effects that took place."),
    K("invocations", "counts", "Action to the number of calls."),
    K("failure", "map", "The run's failure: `{code, message, path}`; what is named is compared."),
    K("holds", "paths", "The paths that hold the run."),
    K("absent", "paths", "Binding paths that resolve to nothing."),
    K("waiting", "paths", "The paths that the run waits at."),
    K("stop", "map", "Where and why the run stopped: `{path, reason}`."),
    K("calls", "list", "Calls in this order, others between allowed; each entry compares what it names."),
    K("crashes", "count", "How often the executor died."),
    K("clock", "duration", "The time that passed."),
    K("generation", "count", "The recovery generation at the end."),
)

#: What an entry of ``expect.calls`` may name: the fields of ``calls`` in the JSON of a run.
EXPECTED_CALL_KEYS: Final = _keys(
    K("action", "text", "The action, `connector.action`."),
    K("path", "text", "The path of the step that calls."),
    K("arguments", "map", "Its arguments."),
    K("answer", "enum", "How it was answered.", values=("success", "failure", "ambiguous", "lost", "late")),
    K("attempt", "positive-integer", "The number of the attempt."),
    K("generation", "count", "The recovery generation."),
    K("key", "any", "The idempotency key."),
    K("connection", "any", "The connection."),
    K("at", "moment", "When it was dispatched."),
)

EXPECTED_FAILURE_KEYS: Final = _keys(
    K("code", "text", "The failure's code."),
    K("message", "text", "The failure's message."),
    K("path", "text", "The step path of the failure."),
)

EXPECTED_STOP_KEYS: Final = _keys(
    K("path", "text", "The step path of the `wf.stop`."),
    K("reason", "text", "The reason that it gives."),
)
