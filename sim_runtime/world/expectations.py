"""Compares what a run came to with what a scenario expects (interfaces page, ``expect``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from analyzer.expressions.times import parse_timestamp
from analyzer.language.durations import format_duration
from sim_runtime.world.binding_paths import segments_of_binding
from sim_runtime.world.connectors import includes, same
from sim_runtime.world.scenario import UNSET, Unset

Json: TypeAlias = Any
Report: TypeAlias = dict[str, Any]

MAX_SHOWN: Final = 400
MAX_PLACES: Final = 5
MAX_CALLS: Final = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as expected: ``at`` names it (``effects.payments.charge``), ``words`` is for people."""

    at: str
    expected: Json
    actual: Json
    words: str

    def json(self) -> Json:
        """The object of the interfaces page."""
        return {"at": self.at, "expected": self.expected, "actual": self.actual}


def differences(expect: dict[str, Json], report: Report) -> list[Difference]:
    """What of ``expect`` the report of a run (the JSON of ``workfile run``) does not meet, in the order of its keys."""
    found: list[Difference] = []
    for name, wanted in expect.items():
        found.extend(_COMPARE[name](wanted, report))
    return found


def _plain(name: str, what: str, actual: Callable[[Report], Json]) -> Callable[[Json, Report], Iterator[Difference]]:
    def compare(wanted: Json, report: Report) -> Iterator[Difference]:
        found = actual(report)
        if not same(found, wanted):
            yield Difference(name, wanted, found, f"{what} is {_shown(found)}, expected {_shown(wanted)}")

    return compare


def _status(wanted: Json, report: Report) -> Iterator[Difference]:
    actual = report["status"]
    if actual != wanted:
        failure = report.get("failure")
        why = f" ({_failure_words(failure)})" if failure else ""
        waiting = _unique(each["path"] for each in report.get("waiting", ()))
        if actual == "suspended" and waiting:
            why = f" (it waits at {', '.join(f'`{path}`' for path in waiting)})"
        holds = [f"`{each['path']}` ({each['reason']})" for each in report.get("holds", ())]
        if actual == "held" and holds:
            why = f" (at {', '.join(holds)})"
        yield Difference("status", wanted, actual, f"the status is `{actual}`{why}, expected `{wanted}`")


def _failure_words(failure: Json) -> str:
    place = f" at `{failure['path']}`" if failure.get("path") else ""
    message = f": {failure['message']}" if failure.get("message") else ""
    return f"`{failure.get('code')}`{place}{message}"


def _result(wanted: Json, report: Report) -> Iterator[Difference]:
    yield from _value("result", "result", wanted, report.get("result"))


def _bindings(wanted: dict[str, Json], report: Report) -> Iterator[Difference]:
    for path, value in wanted.items():
        yield from _value(f"bindings.{path}", path, value, at_path(report.get("bindings"), path))


def _value(at: str, name: str, wanted: Json, actual: Json | Unset) -> Iterator[Difference]:
    """A value compared in full; the words name the places inside that differ."""
    if isinstance(actual, Unset):
        yield Difference(at, wanted, None, f"`{name}` is absent, expected {_shown(wanted)}")
        return
    words = list(islice(_inside(name, wanted, actual), MAX_PLACES + 1))
    if words:
        more = "; and more" if len(words) > MAX_PLACES else ""
        yield Difference(at, wanted, actual, "; ".join(words[:MAX_PLACES]) + more)


def _inside(at: str, wanted: Json, actual: Json) -> Iterator[str]:
    """Where two JSON values differ: maps, and lists of one length, are compared member by member."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for name in dict.fromkeys((*wanted, *actual)):
            if name not in wanted:
                yield f"`{at}.{name}` is {_shown(actual[name])}, expected nothing there"
            elif name not in actual:
                yield f"`{at}.{name}` is absent, expected {_shown(wanted[name])}"
            else:
                yield from _inside(f"{at}.{name}", wanted[name], actual[name])
    elif isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        for position, each in enumerate(wanted):
            yield from _inside(f"{at}[{position}]", each, actual[position])
    elif not same(wanted, actual):
        yield f"`{at}` is {_shown(actual)}, expected {_shown(wanted)}"


def _absent(wanted: list[str], report: Report) -> Iterator[Difference]:
    for path in wanted:
        value = at_path(report.get("bindings"), path)
        if not isinstance(value, Unset):
            words = f"`{path}` is {_shown(value)}, expected to be absent"
            yield Difference(f"absent.{path}", None, value, words)


def _counted(name: str, field: str, words: str) -> Callable[[Json, Report], Iterator[Difference]]:
    def compare(wanted: dict[str, int], report: Report) -> Iterator[Difference]:
        for action, count in wanted.items():
            actual = sum(each[field] for each in report.get("effects", ()) if each["action"] == action)
            if actual != count:
                yield Difference(f"{name}.{action}", count, actual, f"`{action}` {words} {_times(actual, count)}")

    return compare


def _times(actual: int, wanted: int) -> str:
    return f"{actual} {'time' if actual == 1 else 'times'}, expected {wanted}"


def _partial(name: str) -> Callable[[Json, Report], Iterator[Difference]]:
    def compare(wanted: Json, report: Report) -> Iterator[Difference]:
        actual = report.get(name)
        if wanted is None or actual is None:
            if wanted is not actual:
                yield Difference(name, wanted, actual, f"`{name}` is {_shown(actual)}, expected {_shown(wanted)}")
            return
        for key, value in wanted.items():
            found = actual.get(key)
            if not same(found, value):
                words = f"`{name}.{key}` is {_shown(found)}, expected {_shown(value)}"
                yield Difference(f"{name}.{key}", value, found, words)

    return compare


def _paths(name: str, words: str) -> Callable[[Json, Report], Iterator[Difference]]:
    def compare(wanted: list[str], report: Report) -> Iterator[Difference]:
        actual = _unique(each["path"] for each in report.get(name, ()))
        expected = _unique(wanted)
        if sorted(actual) != sorted(expected):
            yield Difference(name, wanted, actual, f"it {words} {_listed(actual)}, expected {_listed(expected)}")

    return compare


def _listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths) if paths else "nothing"


def _calls(wanted: list[Json], report: Report) -> Iterator[Difference]:
    """In this order, others between allowed: the first entry that no later call meets is the difference."""
    start = _us(report["clock"]["start"])
    calls = report.get("calls", [])
    position = 0
    for number, entry in enumerate(wanted):
        found = next((i for i in range(position, len(calls)) if _call_fits(entry, calls[i], start)), None)
        if found is None:
            wanted_call = _with_span(entry, 0)
            rest = [_with_span({key: call.get(key) for key in entry}, start) for call in calls[position:]]
            after = f" after call {position} ({_call_words(calls[position - 1], start)})" if position else ""
            words = f"no call{after} is {_shown(wanted_call)}; {_calls_words(calls, start)}"
            yield Difference(f"calls[{number}]", wanted_call, rest[0] if rest else None, words)
            return
        position = found + 1


def _with_span(call: Json, start: int) -> Json:
    """A call whose ``at`` is the time that had passed: microseconds from the start, or an instant."""
    at = call.get("at")
    if at is None:
        return call
    return {**call, "at": format_duration(at if isinstance(at, int) else _us(at) - start)}


def _calls_words(calls: list[Json], start: int) -> str:
    if not calls:
        return "nothing was called"
    shown = [f"{number} {_call_words(call, start)}" for number, call in enumerate(calls[:MAX_CALLS], 1)]
    more = f", and {len(calls) - MAX_CALLS:,} more" if len(calls) > MAX_CALLS else ""
    return f"the calls are {', '.join(shown)}{more}"


def _call_words(call: Json, start: int) -> str:
    return f"`{call['action']}` at `{call['path']}` after {format_duration(_us(call['at']) - start)}"


def _call_fits(entry: Json, call: Json, start: int) -> bool:
    for key, value in entry.items():
        if key == "at":
            if _us(call["at"]) - start != value:
                return False
        elif key == "arguments":
            if not includes(call.get(key), value):
                return False
        elif not same(call.get(key), value):
            return False
    return True


def _clock(wanted: int, report: Report) -> Iterator[Difference]:
    passed = _us(report["clock"]["now"]) - _us(report["clock"]["start"])
    if passed != wanted:
        expected, actual = format_duration(wanted), format_duration(passed)
        yield Difference("clock", expected, actual, f"the time that passed is {actual}, expected {expected}")


def _us(text: str) -> int:
    found = parse_timestamp(text)
    assert found is not None
    return found.us


_COMPARE: Final[dict[str, Callable[[Json, Report], Iterator[Difference]]]] = {
    "status": _status,
    "result": _result,
    "bindings": _bindings,
    "effects": _counted("effects", "count", "took effect"),
    "invocations": _counted("invocations", "invocations", "was called"),
    "failure": _partial("failure"),
    "holds": _paths("holds", "is held at"),
    "absent": _absent,
    "waiting": _paths("waiting", "waits at"),
    "stop": _partial("stop"),
    "calls": _calls,
    "crashes": _plain("crashes", "the number of crashes", lambda report: report["crashes"]),
    "clock": _clock,
    "generation": _plain("generation", "the generation", lambda report: report["generation"]),
}


def at_path(value: Json, path: str) -> Json | Unset:
    """What a binding path (``a.b``, ``a[0].b``) leads to, or ``UNSET``."""
    segments = segments_of_binding(path)
    if segments is None:
        return UNSET
    for segment in segments:
        if isinstance(segment, int):
            if not isinstance(value, list) or segment >= len(value):
                return UNSET
            value = value[segment]
        elif isinstance(value, dict) and segment in value:
            value = value[segment]
        else:
            return UNSET
    return value


def _unique(paths: Any) -> list[str]:
    return list(dict.fromkeys(paths))


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + '…'}`"
