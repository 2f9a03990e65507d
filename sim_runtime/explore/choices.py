"""What else could happen at a point of a run: other answers, events, decisions. Each is one option with words for
people and a part of a scenario for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from analyzer.language.durations import format_duration
from analyzer.workspace.manifests import ActionDecl, TriggerDecl
from sim_runtime.driver.protocol import Call, Decision, ScriptedEvent
from sim_runtime.samples import NoSample, fits, sample
from sim_runtime.world.scenario import ScriptedAnswer

Json: TypeAlias = Any

MILLISECOND: Final = 1_000
SECOND: Final = 1_000_000
UNSURE_CODE: Final = "connection_lost"
OPERATOR: Final = "operator"
MAX_VARIANTS: Final = 8
"""Other results of one action, and other payloads of one event, that are tried."""
MAX_DEPTH: Final = 3
LARGE: Final = 1000
"""A number that is more than small ones: it is tried where it reaches a step that nothing else reaches."""


@dataclass(frozen=True, slots=True)
class Option:
    """Another answer to a call. ``kind``: ``fail``, ``ambiguous``, ``timeout``, ``slow``, ``value``, or ``same`` for
    the answer (``value``) that a crash lost.

    ``latency_us`` of ``slow`` and ``timeout`` is how much later the default answer comes. ``lasting``: the same may go
    on at the next call of the same path, without counting as another deviation."""

    kind: str
    label: str
    code: str = ""
    happened: bool = True
    latency_us: int = 0
    place: tuple[str | int, ...] = ()
    value: Json = None

    @property
    def lasting(self) -> bool:
        """Whether a disturbance may go on."""
        return self.kind in ("fail", "ambiguous", "timeout")

    @property
    def answers_by_default(self) -> bool:
        """Whether the answer is the default one, but later or with another value in it."""
        return self.kind in ("timeout", "slow", "value")

    def answer(self, _call: Call) -> ScriptedAnswer:
        """The answer of a disturbance."""
        if self.kind == "same":
            found: ScriptedAnswer = self.value
            return found
        if self.kind == "fail":
            return ScriptedAnswer("fail", code=self.code, message=f"explored: {self.code}")
        return ScriptedAnswer("ambiguous", code=self.code, happened=self.happened)

    def changed(self, given: ScriptedAnswer, _call: Call) -> ScriptedAnswer:
        """What becomes of the answer that would have been given."""
        if self.kind in ("timeout", "slow"):
            return replace(given, latency_us=given.latency_us + self.latency_us)
        if self.kind == "value":
            return replace(given, result=put(given.result, self.place, self.value))
        return given


def put(value: Json, place: tuple[str | int, ...], new: Json) -> Json:
    """A JSON value with another one at a place."""
    if not place:
        return new
    first, rest = place[0], place[1:]
    if isinstance(value, Mapping):
        return {**value, first: put(value.get(first), rest, new)}
    if isinstance(value, list):
        return [*value[: int(first)], put(value[int(first)], rest, new), *value[int(first) + 1 :]]
    return value


# ---- calls --------------------------------------------------------------------------------------


def disturbances(call: Call, action: ActionDecl | None) -> list[Option]:
    """How a call can go wrong: each declared error, an answer that is lost, one that comes too late."""
    codes = sorted(action.errors) if action is not None else []
    found = [Option("fail", f"fails with `{code}`", code) for code in codes]
    if call.effect == "write":
        found.append(Option("ambiguous", "takes effect, and its answer is lost", UNSURE_CODE, True))
        found.append(Option("ambiguous", "takes no effect, and its answer is lost", UNSURE_CODE, False))
    if call.timeout_us is not None:
        late = call.timeout_us + SECOND
        found.append(Option("timeout", f"answers after {format_duration(late)}, past its timeout", latency_us=late))
    return found


def slow(call: Call, next_due_us: int | None) -> list[Option]:
    """Answers that others overtake: a second later, and past the next thing that is due."""
    spans = [SECOND]
    if next_due_us is not None and next_due_us >= SECOND:
        spans.append(next_due_us + SECOND)
    most = call.timeout_us
    return [
        Option("slow", f"answers {format_duration(span)} later", latency_us=span)
        for span in spans
        if most is None or span <= most
    ]


def other_results(action: ActionDecl | None) -> list[Option]:
    """Other values of an action's result, as far as its output tells of some."""
    if action is None or not isinstance(action.output_schema, Mapping):
        return []
    return [
        Option("value", f"gives {place_words(place)} {value_words(value)}", place=place, value=value)
        for place, value in variants(action.output_schema)
    ]


def place_words(place: tuple[str | int, ...]) -> str:
    """A place in a value, for people."""
    return f"`{'.'.join(map(str, place))}` as" if place else "the value"


def value_words(value: Json) -> str:
    """A value, for people."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"


# ---- values -------------------------------------------------------------------------------------


def variants(schema: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], Json]]:
    """Places of the smallest value of a schema, with another value that fits there: the other booleans and members of
    an enum, one element where a list is empty, null where it may be, optional fields that are there."""
    try:
        base = sample(schema, "x")
    except NoSample:
        return []
    found: list[tuple[tuple[str | int, ...], Json]] = []
    for place, value in _variants(schema, base, (), 0):
        if len(found) == MAX_VARIANTS:
            break
        known = any(place == each[0] and value == each[1] for each in found)
        if not known and fits(schema, put(base, place, value)):
            found.append((place, value))
    return found


def _variants(
    schema: Any, base: Json, at: tuple[str | int, ...], depth: int
) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return
    if "enum" in schema:
        yield from ((at, each) for each in schema["enum"] if each != base or type(each) is not type(base))
        return
    if isinstance(base, bool):
        yield at, not base
        return
    for each in schema.get("anyOf", ()):
        if isinstance(each, Mapping) and each.get("type") == "null" and base is not None:
            yield at, None
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and base is not None:
        yield at, None
    if isinstance(base, list) and not base and isinstance(schema.get("items"), Mapping):
        for number in (1, LARGE):
            element = _sampled(schema["items"], number)
            if element is not None:
                yield at, [element]
    if isinstance(base, int | float):
        yield at, LARGE
    if isinstance(base, Mapping):
        for name, part in schema.get("properties", {}).items():
            if name in base:
                yield from _variants(part, base[name], (*at, name), depth + 1)
            else:
                value = _sampled(part)
                if value is not None:
                    yield (*at, name), value


def has_large(value: Json) -> bool:
    """Whether the large number is in a value: such results only serve to reach more steps."""
    if isinstance(value, Mapping):
        return any(map(has_large, value.values()))
    if isinstance(value, list):
        return any(map(has_large, value))
    return not isinstance(value, bool | str) and value == LARGE


def _sampled(schema: Any, number: int = 1) -> Json:
    try:
        return full(schema, "x", number)
    except NoSample:
        return None


def full(schema: Any, text: str, number: int = 1, depth: int = 0) -> Json:
    """A small value in which no list is empty that could have an element, and free numbers are ``number``. Raises
    ``NoSample``."""
    base = sample(schema, text)
    return _filled(schema, base, text, number, depth)


def _filled(schema: Any, base: Json, text: str, number: int, depth: int) -> Json:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return base
    changed = base
    if isinstance(base, int | float) and not isinstance(base, bool) and "enum" not in schema:
        changed = max(base, number)
    elif isinstance(base, list) and not base and schema.get("maxItems") != 0:
        items = schema.get("items")
        if isinstance(items, Mapping):
            changed = [full(items, f"{text}-1", number, depth + 1)]
    elif isinstance(base, Mapping):
        parts = schema.get("properties", {})
        changed = {name: _filled(parts.get(name), value, text, number, depth + 1) for name, value in base.items()}
    return changed if fits(schema, changed) else base


# ---- events -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventOption:
    """Events that come to a wait: when, and with what."""

    label: str
    events: tuple[ScriptedEvent, ...]


def events_for(
    path: str, trigger: str, declared: TriggerDecl | None, match: Json, span_us: int | None, number: int
) -> list[EventOption]:
    """What can come to a wait at ``path`` whose timeout is ``span_us`` away: in time with each payload, at once, at the
    deadline, late, twice."""
    if declared is None or not isinstance(match, Mapping):
        return []
    try:
        payload = sample(declared.payload_schema, f"{path}-event")
    except NoSample:
        return []
    payload = {**payload, **match} if isinstance(payload, Mapping) else payload
    if not fits(declared.payload_schema, payload):
        return []
    id_ = f"{trigger.partition('.')[2]}-{number}"
    span = span_us if span_us is not None else 60 * SECOND
    soon = min(SECOND, span // 2)

    def event(by: int, what: Json = payload) -> ScriptedEvent:
        return ScriptedEvent(trigger, what, id_, after=path, by_us=by)

    found = [EventOption(f"`{trigger}` comes in time", (event(soon),))]
    for place, value in _payloads(declared, match):
        words = f"`{trigger}` comes in time with {place_words(place)} {value_words(value)}"
        found.append(EventOption(words, (event(soon, put(payload, place, value)),)))
    found.append(EventOption(f"`{trigger}` comes at once", (event(0),)))
    found.append(EventOption(f"`{trigger}` comes twice", (event(soon), event(soon + min(SECOND, span // 4)))))
    if span_us is not None:
        found.append(EventOption(f"`{trigger}` comes at the deadline", (event(span),)))
        found.append(EventOption(f"`{trigger}` comes late", (event(span + SECOND),)))
    return found


def _payloads(declared: TriggerDecl, match: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], Json]]:
    if not isinstance(declared.payload_schema, Mapping):
        return []
    return [each for each in variants(declared.payload_schema) if not each[0] or each[0][0] not in match]


# ---- operators ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """What an operator decides at a hold."""

    label: str
    decision: Decision


def decisions_for(on: str, allowed: tuple[str, ...], happened: bool, result: Json, code: str) -> list[DecisionOption]:
    """What an operator who knows what really took place may decide."""
    found = []
    for kind in allowed:
        if kind == "succeed" and happened:
            found.append(DecisionOption("an operator says that it succeeded", Decision(on, OPERATOR, kind, result)))
        elif kind == "fail" and not happened:
            decision = Decision(on, OPERATOR, kind, code=code, message="explored: it had no effect")
            found.append(DecisionOption("an operator says that it failed", decision))
        elif kind == "reissue":
            found.append(DecisionOption("an operator has it sent again", Decision(on, OPERATOR, kind)))
        elif kind == "authorize_recovery":
            found.append(DecisionOption("an operator allows one more recovery", Decision(on, OPERATOR, kind)))
    return found
