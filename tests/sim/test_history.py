# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""What history holds (profile: Abstract Run History). Dry runs (language page, section 7)."""

from __future__ import annotations

import json

import pytest

from analyzer.expressions.times import Duration, Timestamp
from analyzer.expressions.values import Marked
from sim_runtime.history.encoding import BadRecord, record_json, record_of
from sim_runtime.history.paths import address_of, case_segment, identity_of, is_below, join, shown_path
from sim_runtime.history.records import KINDS, Record
from tests.sim.lab import (
    H,
    M,
    S,
    after,
    calls,
    event,
    fail,
    first,
    make,
    never,
    ok,
    outside,
    run,
    trace,
    unknown,
)

requirement = pytest.mark.requirement
A = {"id": "a"}


@requirement("D-HIST-01")
@requirement("D-HIST-03")
def test_history_identifies_the_run_and_everything_it_was_started_with() -> None:
    made = run(
        "inputs: { n: integer }\ntrigger: { source: lab.ping }\nsteps: [ { w: { wf.wait: 1m } }, { a: { lab.get: { n: '{{ inputs.n }}', t: '{{ trigger.id }}' } } } ]",
        inputs={"n": 3},
        trigger={"id": "t-1"},
        seed=7,
        crashes=[after("run.suspended", down=H)],
    )
    accepted = first(made, "run.accepted").data
    assert accepted == {
        "run_id": made.run_id,
        "workflow": "test",
        "standard_version": "1.0",
        "inputs": {"n": 3},
        "trigger": {"id": "t-1"},
        "seed": 7,
        "dry_run": False,
        "key_run": made.run_id,
    }
    assert made.report()["workflow"] == "test"
    assert made.report()["calls"][0]["arguments"] == {"n": 3, "t": "t-1"}
    assert trace(made, "run.accepted", "run.started") == ["run.accepted", "run.started"]


@requirement("D-HIST-04")
def test_what_is_recorded_of_an_operation() -> None:
    made = run(
        "steps: [ { a: { lab.pay: { x: 1 }, timeout: 5m, connection: spare, retry: { attempts: 2, delay: 1m } } } ]",
        {"a": [fail("busy", message="m", details={"d": 1}, retry_after_us=2 * M), ok("x")]},
    )
    assert first(made, "action.prepared").data == {
        "action": "lab.pay",
        "effect": "write",
        "idempotency": "keyed",
        "arguments": {"x": 1},
        "connection": "spare",
        "attempt": 1,
        "key": f"{made.run_id}:a",
        "timeout": 5 * M,
    }
    assert first(made, "action.dispatched").data == {"attempt": 1, "reissue": 0, "deadline": made.start_us + 5 * M}
    assert first(made, "action.failed").data == {
        "attempt": 1,
        "code": "busy",
        "message": "m",
        "details": {"d": 1},
        "retryable": True,
        "retry_after": 2 * M,
        "effect": "none",
    }
    assert first(made, "retry.scheduled").data == {
        "attempt": 2,
        "delay": 2 * M,
        "source": "server",
        "deadline": made.start_us + 2 * M,
    }
    assert first(made, "action.succeeded").data == {"attempt": 2, "result": {"value": "x"}}


@requirement("D-HIST-06")
def test_every_decision_has_its_record() -> None:
    made = run(
        """
        initial: s
        states:
          s:
            steps:
              - w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h }
              - i: { wf.if: "{{ w.status == 'received' }}", then: [ { e: { wf.for_each: [1, 2], steps: [ { a: { lab.void: {}, when: "{{ item == 1 }}" } } ] } } ] }
              - c: { wf.call: child }
              - h: { lab.send: {}, catch: [ { } ] }
              - q: { wf.stop: { reason: done, result: 5 } }
            timers: { t: { after: 2h, to: s } }
            routes: [ { to: s } ]
        """,
        {"s.h": [fail()]},
        children=["name: child\nsteps: []\nresult: 4"],
        events=[event(A, M, delivery="d-1")],
    )
    assert first(made, "state.entered").data == {"state": "s", "entry": 1}
    assert first(made, "timer.set", "s").data == {"timer": "state:t", "deadline": made.start_us + 2 * H, "to": "s"}
    assert first(made, "subscription.opened").data["match"] == A
    assert first(made, "event.accepted").data == {"trigger": "lab.ping", "delivery": "d-1", "payload": A}
    assert first(made, "wait.selected").data == {"status": "received", "delivery": "d-1"}
    assert first(made, "branch.selected").data == {"branch": "(then)", "on": True}
    assert first(made, "iterations.planned").data["items"] == [1, 2]
    assert [each.data["index"] for each in made.records if each.data.get("step") == "iteration"] == [0, 1]
    assert first(made, "step.started", "s.i.(then).e[0].a").data["guard"] is True
    assert first(made, "step.skipped", "s.i.(then).e[1].a").data["guard"] is False
    assert first(made, "child.started").data["workflow"] == "child"
    assert first(made, "child.finished").data["result"] == 4
    assert first(made, "handler.entered").data["handler"] == 0
    finished = first(made, "run.finished", "")
    assert finished.data["outcome"] == "stopped"
    assert finished.data["stop"] == {"path": "s.q", "reason": "done"}
    assert finished.data["result"] == 5


@requirement("D-HIST-07")
def test_the_four_standings_of_an_invocation_are_told_apart() -> None:
    text = "steps: [ { a: { lab.send: {}, on_unknown: halt } } ]"
    held = make(text, {"a": [unknown()]}).finish()
    out = make(text, {"a": [never()]}).finish()
    failed = run(text, {"a": [fail()]})
    done = run(text)
    prepared = make(text)
    while prepared.step() and prepared.records[-1].kind != "action.prepared":
        pass

    def standing(made) -> list[str]:
        return [each.removeprefix("action.").removesuffix(" a") for each in trace(made, "action")]

    assert standing(prepared) == ["prepared"]
    assert standing(out) == ["prepared", "dispatched"]
    assert standing(held) == ["prepared", "dispatched", "ambiguous"]
    assert standing(failed) == ["prepared", "dispatched", "failed"]
    assert standing(done) == ["prepared", "dispatched", "succeeded"]
    phases = [made.state.frame(("a",)).phase for made in (prepared, out, held, failed, done)]
    assert len(set(phases)) == 5


@requirement("D-HIST-08")
def test_superseded_records_are_listed_and_a_later_redo_does_not_list_them_again() -> None:
    made = run(
        "steps: [ { g: { wf.group: [ { a: { lab.pay: {} } } ], recovery: { stop_after: { failures: 5, within: 1h }, then: fail } } } ]",
        {"g.a": [fail(), fail(), ok("x")]},
    )
    one, two = [set(each.data["records"]) for each in made.records if each.kind == "history.superseded"]
    assert one
    assert two
    assert not one & two
    active = [each.seq for each in made.records if each.path == "g.a" and each.seq not in one | two]
    assert [made.records[seq - 1].kind for seq in active] == [
        "step.started",
        "action.prepared",
        "action.dispatched",
        "action.succeeded",
        "step.succeeded",
    ]


@requirement("D-HIST-02")
@requirement("D-HIST-09")
def test_every_boundary_holds_all_that_is_needed_after_it() -> None:
    from sim_runtime.core.decide import transact
    from sim_runtime.core.evolve import fold
    from sim_runtime.core.inputs import Proceed

    text = """
    inputs: { at: timestamp }
    steps:
      - a: { lab.when: {} }
      - l: { wf.let: { gap: "{{ a.at - inputs.at }}" } }
      - e: { wf.for_each: [1, 2], concurrency: 2, steps: [ { b: { lab.pay: { gap: "{{ l.gap }}", i: "{{ item }}" } } } ] }
    """
    made = run(text, inputs={"at": "2026-01-01T09:00:00Z"})
    written = [json.loads(json.dumps(record_json(each))) for each in made.records]
    for place, record in enumerate(made.records[:-1]):
        if not record.boundary:
            continue
        state = fold(record_of(each) for each in written[: place + 1])
        following = transact(state, made.definition, Proceed(record.at))[0]
        if following:
            expected = made.records[place + 1 : place + 1 + len(following)]
            if expected[0].kind == following[0].kind:
                assert following == expected


def test_kinds_of_values_survive_json() -> None:
    value = {
        "a/b": [Timestamp(5, 120), Duration(-1_500_000)],
        "~": Duration(3),
        "text": "2026-01-01T00:00:00Z",
        "m": Marked({"x": Timestamp(1)}),
        "n": [1, 1.5, None, True, {}],
        "$suppressed": "a text of the user",
    }
    record = Record(1, 2, "step.succeeded", "s#1.a", 3, {"value": value}, True)
    written = json.loads(json.dumps(record_json(record)))
    assert written["path"] == "s.a"
    assert written["data"]["id"] == "s#1.a"
    assert written["data"]["value"]["m"] == {"$suppressed": {"x": "1970-01-01T00:00:00.000001Z"}}
    again = record_of(written)
    assert again.data["value"]["a/b"] == value["a/b"]
    assert again.data["value"]["a/b"][0].offset == 120
    assert isinstance(again.data["value"]["m"], Marked)
    assert again.data["value"]["m"].value == {"x": Timestamp(1)}
    assert {k: v for k, v in again.data["value"].items() if k != "m"} == {k: v for k, v in value.items() if k != "m"}
    assert record_json(again) == record_json(record)


@pytest.mark.parametrize(
    "harm",
    [
        {"kind": "other"},
        {"at": "yesterday"},
        {"seq": "1"},
        {"data": {}},
        {"data": None},
        {"data": {"timer": "wait", "deadline": "soon"}},
        {"path": 7},
    ],
    ids=str,
)
def test_json_that_is_no_record_is_refused(harm: dict) -> None:
    good = {"seq": 1, "at": "2026-01-01T00:00:00Z", "kind": "timer.set", "path": "w", "generation": 0}
    good["data"] = {"timer": "wait", "deadline": "2026-01-01T00:00:00Z"}
    assert record_of(good).data["deadline"] == 1_767_225_600_000_000
    with pytest.raises(BadRecord):
        record_of({**good, **harm})


def test_identities_split_in_one_way() -> None:
    for label in ("a.b", "x)", "(y", "a/b", "c[0]", "d#1", "e%2E", "ü z", ""):
        id_ = join(join("s#2", "switch"), case_segment(label)) + ".inner[3].call/step"
        address = address_of(id_)
        assert address == ("s#2", "switch", case_segment(label), "inner", "[3]", "call", "/", "step"), label
        assert identity_of(address) == id_
        assert shown_path(id_) == f"s.switch.(case:{label}).inner[3].call/step"
    assert shown_path("a.(reconcile)#2.p") == "a.(reconcile).p"
    assert shown_path("call/") == "call"
    assert is_below("a.b", "a")
    assert is_below("a[1].b", "a")
    assert is_below("a/b", "a")
    assert not is_below("ab", "a")
    assert not is_below("a[11]", "a[1]")


def test_every_kind_is_documented_and_named_as_the_page_names_it() -> None:
    assert all(kind.doc and all(field.doc for field in kind.fields.values()) for kind in KINDS.values())
    assert len(KINDS) == 49


# ---- dry runs -----------------------------------------------------------------------------------

DRY = """
steps:
  - a: { lab.get: { q: 1 } }
  - b: { lab.send: { v: "{{ a.value }}" } }
  - c: { wf.let: { t: "{{ b.value }}-x", plain: "{{ a.value }}" } }
  - d: { lab.get: { v: "{{ c.t }}" } }
  NEXT
result: { t: "{{ c.t }}", p: "{{ c.plain }}" }
"""


@requirement("D-HIST-05")
def test_a_dry_run_reads_suppresses_writes_and_marks_what_depends_on_them() -> None:
    made = run(DRY.replace("NEXT", ""), {"lab.get": [ok("got")]}, dry_run=True)
    report = made.report()
    assert report["status"] == "succeeded"
    assert outside(made).invoked("lab.send") == 0
    assert calls(made) == ["a", "d"]
    assert report["bindings"]["b"] == {"$suppressed": {"value": "b"}}
    assert report["bindings"]["c"] == {"t": {"$suppressed": "b-x"}, "plain": "got"}
    assert report["bindings"]["d"] == {"$suppressed": {"value": "got"}}
    assert report["result"] == {"t": {"$suppressed": "b-x"}, "p": "got"}
    assert report["calls"][1]["arguments"] == {"v": "b-x"}
    written = record_json(first(made, "step.succeeded", "c"))
    assert written["data"]["kinds"] == {"/value/t": "suppressed"}
    assert first(made, "action.suppressed").data["action"] == "lab.send"


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("- e: { lab.get: {}, when: '{{ c.t == \"x\" }}' }", "e"),
        ("- e: { wf.if: '{{ c.t == \"x\" }}', then: [ { f: { lab.get: {} } } ] }", "e"),
        ("- e: { wf.switch: '{{ c.t }}', cases: { x: [ { f: { lab.get: {} } } ] } }", "e"),
        ("- e: { wf.for_each: '{{ [c.t] | sort }}', steps: [ { f: { lab.get: {} } } ] }", "e"),
        ("- e: { wf.let: { n: '{{ c.t | number }}' } }", "e"),
    ],
)
def test_a_condition_on_a_marked_value_ends_the_dry_run(step: str, path: str) -> None:
    made = run(DRY.replace("NEXT", step), {"lab.get": [ok("got")]}, dry_run=True)
    assert made.status == "stopped"
    assert made.report()["stop"] == {"path": path, "reason": "dry_run.unknown"}
    assert "e.(then).f" not in calls(made)


def test_a_dry_run_in_a_child_ends_the_whole_dry_run() -> None:
    child = "name: child\nsteps: [ { a: { lab.send: {} } }, { b: { lab.get: {}, when: '{{ a.value == \"x\" }}' } } ]"
    made = run("steps: [ { c: { wf.call: child } }, { d: { lab.get: {} } } ]", children=[child], dry_run=True)
    assert made.status == "stopped"
    assert made.report()["stop"] == {"path": "c/b", "reason": "dry_run.unknown"}
    assert calls(made) == []


def test_the_undo_of_a_suppressed_write_is_suppressed() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, undo: { lab.drop: {} } }
                - b: { lab.get: {} }
              recovery: { redo: whole_group, stop_after: { failures: 3, within: 1h }, then: fail }
        """,
        {"g.b": [fail("busy", False), ok("x")]},
        dry_run=True,
    )
    assert made.status == "succeeded"
    assert outside(made).invoked("lab.drop") == outside(made).invoked("lab.send") == 0
    assert len(trace(made, "generation")) == 1
    assert S
