"""The outside world of an exploration: the simulated one, whose answers can be chosen, with a ledger that tells what
really took place of each step.

A world is shared by copies until one of them changes it. ``facts`` are numbers for everything that can make a later
answer, or a later judgement of what happened twice, come out otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.workspace.manifests import ActionDecl
from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.explore.choices import Option
from sim_runtime.explore.keys import Keys, frozen
from sim_runtime.history.paths import UNDO
from sim_runtime.samples import NoSample, sample
from sim_runtime.simulation import CannotSimulate
from sim_runtime.world.connectors import UNKNOWN, SimulatedWorld, answer_of, identity_of_call
from sim_runtime.world.scenario import AnswerList, ScriptedAnswer

Json: TypeAlias = Any

_NONE: Final[Any] = object()


class Given(NamedTuple):
    """An answer that was given: at which path and for which action, and whether it was chosen against the default."""

    path: str
    action: str
    answer: ScriptedAnswer
    chosen: bool
    before: Given | None


class Told(NamedTuple):
    """What became of one call: whether it took effect now, whether one had taken place before (same identity), and how
    many of the step's effects stand, those that were undone aside."""

    call: Call
    effect: bool
    known: bool
    standing: int = 0


class ExploreWorld(SimulatedWorld):
    """Simulated connectors whose answers an exploration chooses.

    Text in default answers counts the effects at a path, and the successes of a read, so that a try more or less
    changes no value."""

    def __init__(self, actions: Mapping[str, ActionDecl], answers: Mapping[str, AnswerList] | None, keys: Keys) -> None:
        super().__init__(actions, answers)
        self.keys = keys
        self.facts = [0, 0, 0]
        self.given: Given | None = None
        self.streaks: dict[str, Option] = {}
        self.scripted = frozenset(answers or {})
        self.longest = 0
        self.rounds = 0
        self.net: dict[tuple[str, str, Any], int] = {}
        self.told: Told | None = None
        self.option: Option | None = None
        self._values: dict[Any, Any] = {}
        self._shared = False

    def fork(self) -> ExploreWorld:
        """A copy that goes its own way."""
        copy: ExploreWorld = object.__new__(ExploreWorld)
        copy.__dict__.update(self.__dict__)
        self._shared = copy._shared = True
        return copy

    def _own(self) -> None:
        if self._shared:
            self._shared = False
            self._used = {key: set(each) for key, each in self._used.items()}
            self._took = dict(self._took)
            self._reads = dict(self._reads)
            self._calls = dict(self._calls)
            self.streaks = dict(self.streaks)
            self.net = dict(self.net)
            self._values = dict(self._values)
            self.facts = list(self.facts)

    # ---- facts --------------------------------------------------------------------------------------

    def _note(self, table: int, name: Any, value: Any, before: Any) -> None:
        """An entry of one of the tables that may matter later has a new value; ``before`` is the old one."""
        if before is _NONE:
            self.facts[table] = self.keys.number((self.facts[table], name, value))
        elif before != value:
            self._recount(table)

    def _recount(self, table: int) -> None:
        found = 0
        entries = (self._calls, self.net, self._values)[table]
        for name, value in entries.items():
            found = self.keys.number((found, name, value))
        self.facts[table] = found

    def key(self) -> Any:
        """What counts of this world for the future."""
        return tuple(self.facts) if not self.streaks else (tuple(self.facts), *self.disturbance())

    def disturbance(self) -> tuple[Any, ...]:
        """What disturbs calls at present, and for how long."""
        if not self.streaks:
            return ()
        return self.longest, self.rounds, tuple(sorted((path, each.label) for path, each in self.streaks.items()))

    def calm(self, path: str) -> None:
        """What disturbed the calls at a path is over."""
        if path in self.streaks:
            self._own()
            del self.streaks[path]

    def effects_at(self, path: str) -> int:
        """How many effects took place at a path."""
        return self._calls.get(path, 0)

    # ---- calls --------------------------------------------------------------------------------------

    def takes_entry(self, call: Call) -> bool:
        """Whether a call needs an answer; otherwise it gets one again that was given before."""
        if call.effect == "read":
            return not (call.interrupted and call.id in self._reads)
        identity = identity_of_call(call)
        return identity is None or self._took.get(identity, UNKNOWN) is UNKNOWN

    def dispatch(self, call: Call) -> Answer:
        """A call arrives; it is answered as ``option`` says, None by default. Raises ``CannotSimulate``."""
        option, self.option = self.option, None
        self._own()
        if call.effect == "read" and call.interrupted and call.id in self._reads:
            answer, due = self._reads[call.id]
            self.told = Told(call, False, True)
            return replace(answer, latency_us=max(due - call.at, 0))
        identity = None if call.effect == "read" else identity_of_call(call)
        known = self._took.get(identity, _NONE) if identity is not None else _NONE
        if known is not _NONE and known is not UNKNOWN:
            self.told = Told(call, False, True)
            if call.undoes is not None:
                self._end_effect(call)
            return Answer("success", result=known)
        given = self._choose(call, option, known is UNKNOWN)
        answer = answer_of(given)
        if call.effect == "read":
            self._reads[call.id] = answer, call.at + answer.latency_us
            self.told = Told(call, False, False)
            if given.kind == "succeed":
                self._count(call.path)
        else:
            happened = given.kind == "succeed" or (given.kind == "ambiguous" and given.happened)
            new = happened and known is _NONE
            if happened:
                self._happen(call, identity, answer, new, option is None or option.kind in ("timeout", "slow"))
            standing = self.net.get(self.line(call.action, call.id, call.arguments), 0)
            self.told = Told(call, new, known is not _NONE, standing)
        return answer

    def _count(self, path: str) -> None:
        before = self._calls.get(path, _NONE)
        count = self._calls[path] = 1 if before is _NONE else before + 1
        self._note(0, path, count, before)

    def _choose(self, call: Call, option: Option | None, again: bool) -> ScriptedAnswer:
        plain = option is None or option.answers_by_default
        given = self._scripted(call) if plain else None
        chosen = option is not None
        if given is None:
            given = self.plain(call, again) if plain or option is None else option.answer(call)
        if option is not None:
            given = option.changed(given, call)
            if option.lasting:
                self.streaks[call.path] = option
                self.longest += 1
                self.rounds += call.attempt == 1 and not call.reissue
        if option is None or not option.lasting:
            self.streaks.pop(call.path, None)
            self.longest = self.rounds = 0
        self.given = Given(call.path, call.action, given, chosen, self.given)
        return given

    def plain(self, call: Call, again: bool) -> ScriptedAnswer:
        """The default answer; ``again``: to a call whose effect took place before."""
        number = self._calls.get(call.path, 0) + (not again)
        action = self._actions.get(call.action)
        if action is None or action.output_schema is None:
            return ScriptedAnswer("succeed")
        try:
            return ScriptedAnswer("succeed", result=sample(action.output_schema, f"{call.path}#{number}"))
        except NoSample:
            raise CannotSimulate(
                f"no default answer for `{call.action}` (at `{call.path}`) could be made that fits its output; "
                "write one into the `actions` of a scenario"
            ) from None

    def _happen(self, call: Call, identity: Any, answer: Answer, new: bool, plain: bool) -> None:
        if new:
            self._count(call.path)
            line = self.line(call.action, call.id, call.arguments)
            before = self.net.get(line, _NONE)
            count = self.net[line] = 1 if before is _NONE else before + 1
            self._note(1, line, count, before)
        if identity is not None:
            result = answer.result if answer.kind == "success" else UNKNOWN
            self._took[identity] = result
            # A result that is the default one is what the call would get again, also where it was never told.
            value = 0 if result is UNKNOWN or plain else frozen(result)
            known = self._values.get(identity, _NONE)
            self._values[identity] = value
            self._note(2, identity, value, known)
        if call.undoes is not None:
            for undone in undone_identities(call):
                self._took.pop(undone, None)
                if self._values.pop(undone, _NONE) is not _NONE:
                    self._recount(2)
            self._end_effect(call)

    def _end_effect(self, call: Call) -> None:
        """What an undo undoes does not stand any more, whether or not it was undone before."""
        assert call.undoes is not None
        line = self.line(call.undoes.action, call.id.removesuffix(f".{UNDO}"), call.undoes.arguments)
        if self.net.get(line, 0) > 0:
            self.net[line] -= 1
            self._recount(1)

    def line(self, action: str, id_: str, arguments: Json) -> tuple[str, str, Any]:
        """Under what the effects of a step are counted; of an inherent action other arguments are another effect."""
        declared = self._actions.get(action)
        inherent = declared is not None and declared.effect == "write" and declared.idempotency == "inherent"
        return action, id_, frozen(arguments) if inherent else None


def undone_identities(call: Call) -> list[Any]:
    """The effects that an undo ends."""
    undone = call.undoes
    assert undone is not None
    plain = replace(
        call, action=undone.action, idempotency="inherent", arguments=undone.arguments, key=undone.key, undoes=None
    )
    found = [identity_of_call(plain)]
    if undone.key is not None:
        found.append(identity_of_call(replace(plain, idempotency="keyed")))
    return found
