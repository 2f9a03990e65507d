"""The simulated outside world: answers by scenario or by default, and the ledger of what really took place.

What an effect is (interfaces page, "run"): of a keyed action (action, key), of an inherent one (action, arguments),
over all steps; with ``none`` each call that took place is one of its own. A call whose effect has already taken place
with a known result gets that result again and takes no entry of the scenario; so does a read that is reissued after a
crash; it would have come when the first call's would (the driver lets it come at once where that overtakes nothing).
An undo that takes effect ends the effect that it undoes, so that the next such call is a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.model.nodes import Workflow, all_steps
from analyzer.workspace.manifests import ActionDecl
from sim_runtime.driver.protocol import Answer, Call, Effect
from sim_runtime.history.canonical import canonical_bytes
from sim_runtime.samples import NoSample, sample
from sim_runtime.world.scenario import AnswerList, ScriptedAnswer

Json: TypeAlias = Any
#: What makes two calls one effect; None where each is its own.
Identity: TypeAlias = tuple[str, str, str]


class CannotAnswer(Exception):
    """No default answer can be made for an action; the message says which and what to do."""


@dataclass(slots=True)
class _Line:
    """A line of the ledger."""

    action: str
    key: str | None
    path: str
    count: int = 0
    invocations: int = 0


class PastCall(NamedTuple):
    """A call that was made before a world was."""

    action: str
    idempotency: str
    key: str | None
    arguments: Json
    path: str

    @property
    def identity(self) -> Identity | None:
        """What makes it the same effect as another one."""
        return identity_of(self.action, self.idempotency, self.key, self.arguments)


class _Unknown:
    """The result of an effect that took place and that nobody was told of."""


#: Stands for a result that nobody was told.
UNKNOWN: Final = _Unknown()
_SUCCESS: Final = "success"


def actions_of(workflow: Workflow) -> dict[str, ActionDecl]:
    """Every action that a Workfile, or one that it calls, may call: by ``connector.action``."""
    from sim_runtime.history.pins import called_by

    found: dict[str, ActionDecl] = {}
    for each in (workflow, *called_by(workflow).values()):
        for step in all_steps(each):
            for call in (step.call, step.undo):
                if call is not None and call.action is not None:
                    found.setdefault(call.reference, call.action)
    return found


class SimulatedWorld:
    """Simulated connectors. Deterministic: the same calls in the same order are answered the same way."""

    def __init__(self, actions: Mapping[str, ActionDecl], answers: Mapping[str, AnswerList] | None = None) -> None:
        self._actions = actions
        self._answers = dict(answers or {})
        self._used: dict[str, set[int]] = {}
        self._ledger: dict[tuple[str, str, str | None], _Line] = {}
        self._took: dict[Identity, Json | _Unknown] = {}
        self._reads: dict[str, tuple[Answer, int]] = {}
        self._calls: dict[str, int] = {}
        self._undos: dict[Identity, list[Identity]] = {}

    def fork(self) -> SimulatedWorld:
        """A copy that goes its own way."""
        copy = SimulatedWorld(self._actions, self._answers)
        copy._used = {key: set(each) for key, each in self._used.items()}
        copy._ledger = {key: replace(line) for key, line in self._ledger.items()}
        copy._took = dict(self._took)
        copy._reads = dict(self._reads)
        copy._calls = dict(self._calls)
        copy._undos = {identity: list(each) for identity, each in self._undos.items()}
        return copy

    def effects(self) -> list[Effect]:
        """The effect ledger, in the order of first calls."""
        return [
            Effect(each.action, each.key, each.path, each.count, each.invocations) for each in self._ledger.values()
        ]

    def dispatch(self, call: Call) -> Answer:
        """A call arrives: its answer, its effect counted. Raises ``CannotAnswer``."""
        line = self._line(call)
        line.invocations += 1
        if call.effect == "read":
            return self._read(call)
        identity = identity_of_call(call)
        known = self._took.get(identity, UNKNOWN) if identity is not None else UNKNOWN
        if not isinstance(known, _Unknown):
            return Answer(_SUCCESS, result=known)
        number = self._number(call)
        scripted = self._scripted(call)
        answer = self._default(call, number) if scripted is None else answer_of(scripted)
        if answer.kind == _SUCCESS or (scripted is not None and scripted.kind == "ambiguous" and scripted.happened):
            self._take_effect(call, identity, line, answer)
        return answer

    def remember(self, made: PastCall, result: Json) -> None:
        """An effect that took place before this world was made, with its result (or ``UNKNOWN``): the same call is no
        new one."""
        identity = made.identity
        if identity is not None:
            self._took[identity] = result
        self._begin_anew(made.action, made.path, made.arguments)

    def remember_undo(self, undone: PastCall, undo: PastCall, result: Json) -> None:
        """A compensation that took effect before this world was made: what it ended is a new effect when it comes."""
        self.remember(undo, result)
        self._end(undone.action, undone.path, undone.key, undone.arguments, undo.identity)

    def count_calls(self, path: str, times: int) -> None:
        """So many calls at a step path were answered before this world was made: numbers go on from there."""
        self._calls[path] = times

    def _number(self, call: Call) -> int:
        """A call's number at its path; one that gets an earlier answer again takes none (a crash changes nothing)."""
        number = self._calls[call.path] = self._calls.get(call.path, 0) + 1
        return number

    def _read(self, call: Call) -> Answer:
        before = self._reads.get(call.id) if call.interrupted else None
        if before is not None:
            answer, due = before
            return replace(answer, latency_us=max(due - call.at, 0))
        number = self._number(call)
        scripted = self._scripted(call)
        answer = self._default(call, number) if scripted is None else answer_of(scripted)
        self._reads[call.id] = answer, call.at + answer.latency_us
        return answer

    def _take_effect(self, call: Call, identity: Identity | None, line: _Line, answer: Answer) -> None:
        if identity is None or identity not in self._took:
            line.count += 1
        if identity is not None:
            self._took[identity] = answer.result if answer.kind == _SUCCESS else UNKNOWN
        if self._undos:
            self._begin_anew(call.action, call.path, call.arguments)
        undone = call.undoes
        if undone is not None:
            self._end(undone.action, undone.path, undone.key, undone.arguments, identity)

    def _end(self, action: str, path: str, key: str | None, arguments: Json, undo: Identity | None) -> None:
        """An effect was ended by its undo."""
        self._took.pop(("arguments", action, _text(arguments)), None)
        if key is not None:
            self._took.pop(("key", action, key), None)
        if undo is not None:
            self._undos.setdefault(("path", action, path), []).append(undo)
            self._undos.setdefault(("arguments", action, _text(arguments)), []).append(undo)

    def _begin_anew(self, action: str, path: str, arguments: Json) -> None:
        """What was undone takes effect again: the undo of that is an effect of its own."""
        for before in (("path", action, path), ("arguments", action, _text(arguments))):
            for identity in self._undos.pop(before, ()):
                self._took.pop(identity, None)

    def _line(self, call: Call) -> _Line:
        place = (call.action, call.path, call.key)
        line = self._ledger.get(place)
        if line is None:
            line = self._ledger[place] = _Line(call.action, call.key, call.path)
        return line

    # Answers.

    def _scripted(self, call: Call) -> ScriptedAnswer | None:
        for key in dict.fromkeys((call.path, call.action)):
            answers = self._answers.get(key)
            found = None if answers is None else self._next(answers, call)
            if found is not None:
                return found
        return None

    def _next(self, answers: AnswerList, call: Call) -> ScriptedAnswer | None:
        """The next answer of a list that fits the call; the last one repeats."""
        used = self._used.setdefault(answers.key, set())
        last = len(answers.answers) - 1
        for position, answer in enumerate(answers.answers):
            if position in used or (answer.where is not None and not includes(call.arguments, answer.where)):
                continue
            if position != last:
                used.add(position)
            return answer
        return None

    def _default(self, call: Call, number: int) -> Answer:
        action = self._actions.get(call.action)
        if action is None or action.output_schema is None:
            return Answer(_SUCCESS)
        try:
            return Answer(_SUCCESS, result=sample(action.output_schema, f"{call.path}#{number}"))
        except NoSample:
            message = f"no default answer for `{call.action}` (at `{call.path}`) could be made that fits its output"
            raise CannotAnswer(f"{message}; write one into the scenario's `actions`") from None


def identity_of_call(call: Call) -> Identity | None:
    """What makes a call the same effect as another one; None where each is its own."""
    return identity_of(call.action, call.idempotency, call.key, call.arguments)


def identity_of(action: str, idempotency: str, key: str | None, arguments: Json) -> Identity | None:
    """As ``identity_of_call``, from the parts of a call."""
    if idempotency == "keyed":
        return ("key", action, key or "")
    if idempotency == "inherent":
        return ("arguments", action, _text(arguments))
    return None


def _text(arguments: Json) -> str:
    return canonical_bytes(arguments).decode()


def answer_of(scripted: ScriptedAnswer) -> Answer:
    """What a scripted answer is for the driver."""
    if scripted.kind == "succeed":
        return Answer(_SUCCESS, result=scripted.result, latency_us=scripted.latency_us)
    if scripted.kind == "ambiguous":
        return Answer("ambiguous", code=scripted.code, latency_us=scripted.latency_us)
    return Answer(
        "failure",
        code=scripted.code,
        message=scripted.message,
        details=scripted.details,
        retryable=scripted.retryable,
        retry_after_us=scripted.retry_after_us,
        latency_us=scripted.latency_us,
    )


def includes(value: Json, wanted: Json) -> bool:
    """Whether ``value`` has all that ``wanted`` names: maps member by member, everything else is equal."""
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            name in value and includes(value[name], each) for name, each in wanted.items()
        )
    return same(value, wanted)


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(each, right[name]) for name, each in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return (type(left) is type(right) and left == right) or _numbers_equal(left, right)


def _numbers_equal(left: Json, right: Json) -> bool:
    return isinstance(left, int | float) and isinstance(right, int | float) and left == right
