"""``expect``: every key met and not met, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from sim_runtime.world.expectations import at_path, differences
from sim_runtime.world.scenario import UNSET

REPORT: dict[str, Any] = {
    "status": "held",
    "result": {"a": 1, "b": [1, 2]},
    "failure": {"code": "busy", "message": "too busy", "path": "charge"},
    "stop": {"path": "end", "reason": "enough"},
    "clock": {"start": "2026-01-01T00:00:00Z", "now": "2026-01-01T02:00:00Z"},
    "bindings": {"approval": {"status": "received", "event": None}, "each": [{"send": {"id": "s"}}, None]},
    "waiting": [
        {"kind": "timer", "path": "approval", "deadline": "2026-01-02T00:00:00Z"},
        {"kind": "event", "path": "approval", "trigger": "m.a", "match": {}},
    ],
    "holds": [{"path": "charge", "reason": "ambiguous"}],
    "effects": [
        {"action": "p.charge", "key": "1", "path": "a", "count": 1, "invocations": 2},
        {"action": "p.charge", "key": "2", "path": "b", "count": 1, "invocations": 1},
    ],
    "calls": [
        {"at": "2026-01-01T00:00:00Z", "action": "p.charge", "path": "a", "attempt": 1, "arguments": {"n": 5, "m": 1}},
        {"at": "2026-01-01T01:00:00Z", "action": "p.refund", "path": "a.(undo)", "attempt": 1, "arguments": {}},
    ],
    "crashes": 1,
    "generation": 2,
}
HOUR = 3_600_000_000

MET: list[dict[str, Any]] = [
    {"status": "held"},
    {"result": {"b": [1.0, 2], "a": 1}},
    {"bindings": {"approval.status": "received", "approval.event": None, "each[0].send.id": "s", "each[1]": None}},
    {"effects": {"p.charge": 2, "p.refund": 0}},
    {"invocations": {"p.charge": 3, "p.refund": 0}},
    {"failure": {"code": "busy"}},
    {"failure": {"code": "busy", "message": "too busy", "path": "charge"}},
    {"stop": {"reason": "enough"}},
    {"holds": ["charge"]},
    {"absent": ["decide", "approval.nothing", "each[2]", "each[1].send", "approval.status.more"]},
    {"waiting": ["approval"]},
    {"calls": [{"action": "p.charge"}, {"action": "p.refund"}]},
    {"calls": [{"path": "a.(undo)", "at": HOUR}]},
    {"calls": [{"action": "p.charge", "arguments": {"n": 5}}]},
    {"calls": []},
    {"crashes": 1, "clock": 2 * HOUR, "generation": 2},
]

MISSED: list[tuple[dict[str, Any], list[dict[str, Any]], str]] = [
    (
        {"status": "succeeded"},
        [{"at": "status", "expected": "succeeded", "actual": "held"}],
        "the status is `held` (at `charge` (ambiguous)), expected `succeeded`",
    ),
    (
        {"result": {"a": 1, "b": [1, 3]}},
        [{"at": "result", "expected": {"a": 1, "b": [1, 3]}, "actual": {"a": 1, "b": [1, 2]}}],
        "`result.b[1]` is `2`, expected `3`",
    ),
    (
        {"result": {"a": True}},
        [{"at": "result", "expected": {"a": True}, "actual": {"a": 1, "b": [1, 2]}}],
        "`result.a` is `1`, expected `true`; `result.b` is `[1, 2]`, expected nothing there",
    ),
    ({"result": None}, [{"at": "result", "expected": None, "actual": REPORT["result"]}], "expected `null`"),
    (
        {"bindings": {"approval.status": "timeout", "gone": None}},
        [
            {"at": "bindings.approval.status", "expected": "timeout", "actual": "received"},
            {"at": "bindings.gone", "expected": None, "actual": None},
        ],
        "`gone` is absent, expected `null`",
    ),
    (
        {"effects": {"p.charge": 1, "p.x": 1}},
        [
            {"at": "effects.p.charge", "expected": 1, "actual": 2},
            {"at": "effects.p.x", "expected": 1, "actual": 0},
        ],
        "`p.charge` took effect 2 times, expected 1",
    ),
    (
        {"invocations": {"p.charge": 1}},
        [{"at": "invocations.p.charge", "expected": 1, "actual": 3}],
        "was called 3 times",
    ),
    (
        {"failure": {"code": "x"}},
        [{"at": "failure.code", "expected": "x", "actual": "busy"}],
        '`failure.code` is `"busy"`',
    ),
    ({"failure": None}, [{"at": "failure", "expected": None, "actual": REPORT["failure"]}], "expected `null`"),
    ({"stop": {"path": "x"}}, [{"at": "stop.path", "expected": "x", "actual": "end"}], "`stop.path`"),
    (
        {"holds": []},
        [{"at": "holds", "expected": [], "actual": ["charge"]}],
        "it is held at `charge`, expected nothing",
    ),
    (
        {"absent": ["approval"]},
        [{"at": "absent.approval", "expected": None, "actual": REPORT["bindings"]["approval"]}],
        "absent",
    ),
    ({"waiting": ["x"]}, [{"at": "waiting", "expected": ["x"], "actual": ["approval"]}], "it waits at `approval`"),
    (
        {"calls": [{"action": "p.refund"}, {"action": "p.charge"}]},
        [{"at": "calls[1]", "expected": {"action": "p.charge"}, "actual": None}],
        "no call after call 2 (`p.refund` at `a.(undo)` after 1h) is",
    ),
    (
        {"calls": [{"action": "p.charge", "arguments": {"n": 6}}]},
        [
            {
                "at": "calls[0]",
                "expected": {"action": "p.charge", "arguments": {"n": 6}},
                "actual": {"action": "p.charge", "arguments": {"n": 5, "m": 1}},
            }
        ],
        "no call is",
    ),
    ({"crashes": 0}, [{"at": "crashes", "expected": 0, "actual": 1}], "the number of crashes is `1`, expected `0`"),
    ({"clock": HOUR}, [{"at": "clock", "expected": "1h", "actual": "2h"}], "the time that passed is 2h, expected 1h"),
    ({"generation": 0}, [{"at": "generation", "expected": 0, "actual": 2}], "the generation is `2`, expected `0`"),
]


@pytest.mark.parametrize("expect", MET, ids=str)
def test_what_is_met_gives_no_difference(expect: dict[str, Any]) -> None:
    assert differences(expect, REPORT) == []


@pytest.mark.parametrize(("expect", "wanted", "words"), MISSED, ids=lambda value: str(value)[:50])
def test_what_is_not_met_is_told(expect: dict[str, Any], wanted: list[dict[str, Any]], words: str) -> None:
    found = differences(expect, REPORT)
    assert [each.json() for each in found] == wanted
    assert any(words in each.words for each in found), [each.words for each in found]


def test_a_run_without_failure_or_stop() -> None:
    report = {**REPORT, "failure": None, "stop": None}
    assert differences({"failure": None, "stop": None}, report) == []
    assert [each.at for each in differences({"failure": {"code": "x"}, "stop": {"path": "y"}}, report)] == [
        "failure",
        "stop",
    ]


@pytest.mark.parametrize("path", ["", "a", "a.b", "a[0]", "[0]", "a..b", "a[x]", "a[0", ".a"])
def test_a_path_that_leads_nowhere(path: str) -> None:
    assert at_path({"x": 1}, path) is UNSET or path == ""
