# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Sequences, guards, choices, groups, values, results and endings."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.sim.lab import S, Scripted, calls, fail, first, ok, outside, run, trace


def test_a_sequence_runs_in_order_and_its_result_is_evaluated() -> None:
    made = run(
        """
        inputs: { n: integer }
        steps:
          - a: { lab.get: { q: "{{ inputs.n }}" } }
          - b: { wf.let: { twice: "{{ inputs.n * 2 }}", text: "{{ a.value }}!" } }
          - c: { lab.pay: { amount: "{{ b.twice }}" } }
        result: { got: "{{ c.value }}", text: "{{ b.text }}" }
        """,
        {"a": [ok("x")], "c": [ok("y")]},
        inputs={"n": 3},
    )
    report = made.report()
    assert report["status"] == "succeeded"
    assert report["result"] == {"got": "y", "text": "x!"}
    assert report["bindings"] == {"a": {"value": "x"}, "b": {"twice": 6, "text": "x!"}, "c": {"value": "y"}}
    assert [call["arguments"] for call in report["calls"]] == [{"q": 3}, {"amount": 6}]
    assert report["waiting"] == report["holds"] == []
    assert report["failure"] is report["stop"] is report["cancel"] is None


def test_the_records_of_an_action_and_its_boundaries() -> None:
    made = run("steps: [ { a: { lab.pay: { x: 1 } } } ]")
    assert [f"{each.kind} {each.path}{'*' if each.boundary else ''}".strip() for each in made.records] == [
        "run.accepted",
        "run.started *",
        "step.started a",
        "action.prepared a*",
        "action.dispatched a*",
        "action.succeeded a*",
        "step.succeeded a",
        "run.finished *",
    ]


def test_a_false_guard_skips_and_binds_null() -> None:
    made = run(
        """
        inputs: { go: boolean }
        steps:
          - a: { lab.get: {}, when: "{{ inputs.go }}" }
          - b: { wf.let: { seen: "{{ a?.value ?? 'none' }}" } }
        """,
        inputs={"go": False},
    )
    assert made.report()["bindings"] == {"b": {"seen": "none"}}
    assert first(made, "step.skipped", "a").data == {"guard": False}
    assert calls(made) == []


@pytest.mark.parametrize(("go", "seen"), [(True, "yes"), (False, "no")])
def test_if_runs_one_branch(go: bool, seen: str) -> None:
    made = run(
        """
        inputs: { go: boolean }
        steps:
          - choice:
              wf.if: "{{ inputs.go }}"
              then: [ { a: { wf.let: { v: "yes" } } } ]
              else: [ { a: { wf.let: { v: "no" } } }, { b: { lab.get: {} } } ]
        result: { v: "{{ choice.a.v }}", b: "{{ choice.b?.value }}" }
        """,
        {"lab.get": [ok("got")]},
        inputs={"go": go},
    )
    assert made.report()["result"] == {"v": seen, "b": None if go else "got"}
    assert first(made, "branch.selected").data == {"branch": "(then)" if go else "(else)", "on": go}
    assert set(made.report()["bindings"]["choice"]) == ({"a"} if go else {"a", "b"})


def test_if_without_a_branch_for_the_value_binds_an_empty_scope() -> None:
    made = run("steps: [ { c: { wf.if: '{{ 1 > 2 }}', then: [ { a: { lab.get: {} } } ] } } ]")
    assert made.report()["bindings"] == {"c": {}}
    assert first(made, "branch.selected").data["branch"] is None


@pytest.mark.parametrize(
    ("value", "path"),
    [("a.b", "s.(case:a.b).x"), (1, "s.(case:1).x"), (True, "s.(case:true).x"), ("z", "s.(default).x")],
)
def test_switch_compares_by_value_and_kind(value: object, path: str) -> None:
    made = run(
        """
        inputs: { v: any }
        steps:
          - s:
              wf.switch: "{{ inputs.v }}"
              cases:
                "a.b": [ { x: { lab.get: {} } } ]
                1: [ { x: { lab.get: {} } } ]
                true: [ { x: { lab.get: {} } } ]
              default: [ { x: { lab.get: {} } } ]
        """,
        inputs={"v": value},
    )
    assert calls(made) == [path]
    assert made.status == "succeeded"


def test_faults_are_failures_of_the_step_that_evaluates() -> None:
    made = run(
        """
        inputs: { xs: "list[integer]" }
        steps:
          - g:
              wf.group:
                - a: { wf.let: { v: "{{ inputs.xs[7] }}" } }
        """,
        inputs={"xs": [1]},
    )
    assert made.status == "failed"
    failure = made.report()["failure"]
    assert (failure["code"], failure["path"]) == ("fault.range", "g.a")
    assert trace(made, "step.failed") == ["step.failed g.a", "step.failed g"]


@pytest.mark.parametrize("where", ["when: '{{ inputs.m.gone == 1 }}'", "x: '{{ inputs.m.gone }}'"])
def test_faults_in_guards_and_arguments_reach_handlers(where: str) -> None:
    guard, argument = (where, "") if where.startswith("when") else ("", where)
    made = run(
        f"""
        inputs: {{ m: "map[integer]" }}
        steps:
          - a:
              lab.get: {{ {argument} }}
              {guard}
              catch: [ {{ codes: [fault.missing_member], result: {{ value: caught }} }} ]
        result: "{{{{ a?.value }}}}"
        """,
        inputs={"m": {}},
    )
    assert made.report()["result"] == "caught"
    assert calls(made) == []


def test_a_fault_in_the_result_fails_the_run_at_result() -> None:
    made = run("inputs: { n: integer }\nsteps: []\nresult: '{{ 1 / inputs.n }}'", inputs={"n": 0})
    assert made.report()["failure"]["path"] == "result"
    assert made.report()["failure"]["code"] == "fault.division"


@pytest.mark.parametrize(
    ("given", "word"),
    [({}, "missing"), ({"n": "x"}, "`n`"), ({"n": 1, "o": 2}, "`o`"), ({"n": 11}, "maximum"), ({"n": 1.5}, "`n`")],
)
def test_invalid_inputs_are_a_run_that_failed(given: dict[str, object], word: str) -> None:
    made = run("inputs: { n: { type: integer, maximum: 10 } }\nsteps: [ { a: { lab.void: {} } } ]", inputs=given)
    assert made.status == "failed"
    failure = made.report()["failure"]
    assert failure["code"] == "input.invalid"
    assert word in failure["message"]
    assert calls(made) == []


def test_optional_inputs_read_null_and_kinds_come_from_types() -> None:
    made = run(
        """
        inputs: { "name?": string, at: timestamp, o: { "x?": integer } }
        steps:
          - a: { wf.let: { n: "{{ inputs.name ?? 'anon' }}", later: "{{ inputs.at + ('1h' | duration) }}", x: "{{ inputs.o.x ?? 7 }}" } }
          - b: { wf.let: { gap: "{{ a.later - inputs.at }}", all: "{{ inputs.o }}" } }
        result: "{{ b }}"
        """,
        inputs={"at": "2026-05-01T10:00:00Z", "o": {}},
    )
    assert made.report()["bindings"]["a"] == {"n": "anon", "later": "2026-05-01T11:00:00Z", "x": 7}
    assert made.report()["result"] == {"gap": "1h", "all": {}}


def test_arguments_that_do_not_fit_are_not_sent() -> None:
    made = run("inputs: { n: integer }\nsteps: [ { a: { lab.strict: { n: '{{ inputs.n }}' } } } ]", inputs={"n": 6})
    assert made.report()["failure"]["code"] == "input.invalid"
    assert calls(made) == []
    assert not [each for each in made.records if each.kind == "action.prepared"]


def test_null_for_an_optional_field_counts_as_absent() -> None:
    text = """
    inputs: { "room?": string }
    steps:
      - w:
          wf.wait_for: lab.ping
          configuration: { room: "{{ inputs.room }}" }
          match: { id: a }
          timeout: 1s
    """
    made = run(text)
    assert made.status == "succeeded"
    assert first(made, "subscription.opened").data["configuration"] == {}


def test_a_result_that_breaks_the_output_is_a_failure_whose_effect_has_happened() -> None:
    made = run(
        "steps: [ { a: { lab.send: {}, retry: { attempts: 3 } } } ]", {"a": [Scripted(ok({"value": 1}).answer, True)]}
    )
    assert made.report()["failure"]["code"] == "output.invalid"
    assert first(made, "action.failed").data["effect"] == "happened"
    assert first(made, "action.failed").data["retryable"] is False
    assert outside(made).count("lab.send") == 1


def test_fail_ends_the_run_past_every_policy() -> None:
    made = run(
        """
        recovery: { stop_after: { failures: 3, within: 1h }, then: fail }
        steps:
          - g:
              wf.group:
                - a: { wf.fail: { code: no_good, message: "because", details: { n: 1 } } }
              catch: [ { result: null } ]
              on_fail: continue
        """
    )
    assert made.report()["failure"] == {"code": "no_good", "message": "because", "path": "g.a"}
    assert not [each for each in made.records if each.kind in ("handler.entered", "recovery.decided")]


def test_stop_ends_the_run_with_reason_and_result() -> None:
    made = run(
        """
        steps:
          - a: { lab.get: {} }
          - b: { wf.stop: { reason: enough, result: { v: "{{ a.value }}" } } }
          - c: { lab.void: {}, when: "{{ a.value == 'x' }}" }
        """,
        {"a": [ok("x")]},
    )
    report = made.report()
    assert report["status"] == "stopped"
    assert report["stop"] == {"path": "b", "reason": "enough"}
    assert report["result"] == {"v": "x"}
    assert calls(made) == ["a"]


def test_on_fail_continue_binds_null_and_abort_ends_as_aborted() -> None:
    made = run(
        "steps: [ { a: { lab.send: {}, on_fail: continue } }, { b: { wf.let: { v: '{{ a?.value }}' } } } ]",
        {"a": [fail()]},
    )
    assert made.report()["bindings"] == {"a": None, "b": {"v": None}}
    made = run("steps: [ { a: { lab.send: {}, on_fail: abort } } ]", {"a": [fail("broken", message="oh")]})
    assert made.status == "aborted"
    assert made.report()["failure"] == {"code": "broken", "message": "oh", "path": "a"}


def test_run_roots_and_connections() -> None:
    made = run(
        """
        steps:
          - a: { lab.get: { id: "{{ run.id }}", w: "{{ run.workflow }}", at: "{{ run.started_at }}" }, connection: spare }
          - b: { lab.get: {} }
        """
    )
    one, two = made.report()["calls"]
    assert one["arguments"] == {"id": made.run_id, "w": "test", "at": "2026-01-01T00:00:00Z"}
    assert (one["connection"], two["connection"]) == ("spare", "main")


def test_latency_moves_the_clock_and_a_call_out_is_running() -> None:
    from tests.sim.lab import make

    made = make("steps: [ { a: { lab.send: {} } } ]", {"a": [ok("x", latency=5 * S)]}, until=3 * S)
    made.finish()
    assert made.status == "running"
    assert made.report()["waiting"] == [{"kind": "answer", "path": "a"}]
    assert made.report()["clock"]["now"] == "2026-01-01T00:00:03Z"
    made = run("steps: [ { a: { lab.send: {} } } ]", {"a": [ok("x", latency=5 * S)]})
    assert made.report()["clock"]["now"] == "2026-01-01T00:00:05Z"


def test_a_long_stretch_without_boundaries_is_cut_into_transactions() -> None:
    made = run(
        "inputs: { xs: 'list[integer]' }\nsteps: [ { e: { wf.for_each: '{{ inputs.xs }}', steps: [ { l: { wf.let: { x: '{{ item }}' } } } ] } } ]",
        inputs={"xs": list(range(700))},
    )
    assert made.status == "succeeded"
    ends = [each.seq for each in made.records if each.boundary]
    assert max(two - one for one, two in pairwise(ends)) <= 260
    assert made.report()["bindings"]["e"][699] == {"l": {"x": 699}}


def test_steps_nested_too_deeply_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim_runtime.core.advance.MAX_DEPTH", 2)
    made = run("steps: [ { a: { wf.group: [ { b: { wf.group: [ { c: { lab.get: {} } } ] } } ] } } ]")
    assert (made.report()["failure"]["code"], made.report()["failure"]["path"]) == ("fault.limit", "a.b.c")


def test_the_bindings_of_scopes_can_be_read() -> None:
    made = run(
        """
        steps:
          - g: { wf.group: [ { a: { lab.get: {} } }, { b: { lab.get: {}, when: "{{ a.value == 'x' }}" } } ] }
          - p: { wf.parallel: { l: [ { a: { lab.get: {} } } ] } }
          - e: { wf.for_each: [1, 2], steps: [ { a: { wf.let: { n: "{{ item }}" } } } ] }
          - w: { wf.wait: 1s }
        result: { g: "{{ g.a.value }}", skipped: "{{ g.b }}", p: "{{ p.l.a.value }}", e: "{{ e[1].a.n }}", w: "{{ w }}" }
        """
    )
    assert made.report()["result"] == {"g": "g.a", "skipped": None, "p": "p.l.a", "e": 2, "w": None}


@pytest.mark.parametrize(
    "ending", ["wf.stop: { reason: VALUE }", "wf.fail: { code: VALUE }", "wf.fail: { code: x, message: VALUE }"]
)
def test_the_texts_of_an_ending_are_texts(ending: str) -> None:
    text = "inputs: { v: any }\nsteps: [ { a: { " + ending.replace("VALUE", "'{{ inputs.v }}'") + " } } ]"
    made = run(text, inputs={"v": 7})
    assert (made.report()["failure"]["code"], made.report()["failure"]["path"]) == ("fault.kind", "a")
    assert run(text, inputs={"v": "text"}).report()["status"] in ("stopped", "failed")


@pytest.mark.parametrize("payload", [None, {"id": 7}, {"note": "n"}])
def test_an_invalid_payload_of_the_root_trigger_is_a_run_that_failed(payload: object) -> None:
    text = "trigger: { source: lab.ping }\nsteps: [ { a: { lab.get: { id: '{{ trigger.id }}' } } } ]"
    made = run(text, trigger=payload)
    assert made.report()["failure"]["code"] == "input.invalid"
    assert "trigger" in made.report()["failure"]["message"]
    assert run(text, trigger={"id": "a"}).status == "succeeded"


FORMS = """
inputs:
  u:
    oneOf:
      - { type: object, properties: { kind: { const: card }, at: { type: string } }, required: [kind, at] }
      - { type: object, properties: { kind: { const: cash }, note: { type: string }, at: { type: string, format: date-time } }, required: [kind, at] }
steps:
  - a: { wf.let: { note: "{{ inputs.u.note ?? 'none' }}", later: "{{ inputs.u.at + ('1h' | duration) }}" }, when: "{{ inputs.u.kind == 'cash' }}" }
  - b: { wf.let: { loud: "{{ inputs.u.at | upper }}" }, when: "{{ inputs.u.kind == 'card' }}" }
"""


@pytest.mark.parametrize(
    ("given", "bindings"),
    [
        (
            {"kind": "cash", "at": "2026-01-01T00:00:00Z"},
            {"a": {"note": "none", "later": "2026-01-01T01:00:00Z"}},
        ),
        ({"kind": "card", "at": "2026-01-01t00:00:00Z"}, {"b": {"loud": "2026-01-01T00:00:00Z"}}),
    ],
)
def test_a_value_is_read_by_the_form_that_it_has(given: object, bindings: object) -> None:
    made = run(FORMS, inputs={"u": given})
    assert made.status == "succeeded"
    assert made.report()["bindings"] == bindings
