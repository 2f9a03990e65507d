"""Coverage: which places there are, what covers each, and what the reports say. The workflows run for real."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sim_runtime.api import prepare_run
from sim_runtime.coverage.measure import Coverage, percent
from sim_runtime.coverage.page import MAX_LINES, coverage_page
from sim_runtime.coverage.places import Place, places_of
from sim_runtime.coverage.report import MAX_MISSED, coverage_json, coverage_text
from sim_runtime.simulation import load_workflow
from tests.sim.lab import MANIFEST

HEAD = 'workfile: "1.0"\nname: {name}\n'


def put(folder: Path, text: str, name: str = "flow") -> str:
    """Write a Workfile with the laboratory's connector beside it."""
    connectors = folder / "connectors"
    connectors.mkdir(exist_ok=True)
    (connectors / "lab.connector.yaml").write_text(MANIFEST, encoding="utf-8")
    (folder / "workfile.toml").write_text("", encoding="utf-8")
    path = folder / f"{name}.workfile.yaml"
    path.write_text(HEAD.format(name=name) + dedent(text), encoding="utf-8")
    return str(path)


def play(path: str, *scenarios: str, coverage: Coverage | None = None) -> Coverage:
    """The coverage of a Workfile over scenarios, each the text of one without its first line."""
    coverage = coverage or Coverage()
    for number, text in enumerate(scenarios):
        scenario = Path(path).parent / f"s{number}.scenario.yaml"
        scenario.write_text(f"workfile: {Path(path).name}\n{dedent(text)}", encoding="utf-8")
        prepared = prepare_run(scenario=scenario)
        run = prepared.simulation().finish()
        coverage.add_run(prepared.project, prepared.workflow, run.run.records, scenario.name)
    return coverage


def hits(coverage: Coverage, name: str = "flow") -> dict[tuple[str, str, str], int]:
    """How often each place happened."""
    file = next(each for each in coverage.files.values() if each.workflow == name)
    return {place.key: place.hits for place in file.places}


def uncovered(coverage: Coverage, name: str = "flow") -> set[tuple[str, str, str]]:
    return {key for key, count in hits(coverage, name).items() if not count}


# ---- places and what covers them ----------------------------------------------------------------


def test_branches_of_an_if_and_its_steps(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        inputs: { big: boolean }
        steps:
          - choose:
              wf.if: "{{ inputs.big }}"
              then:
                - a: { lab.void: {} }
          - maybe:
              wf.if: "{{ inputs.big }}"
              then:
                - b: { lab.get: {} }
              else:
                - c: { lab.get: {} }
        """,
    )
    both = {("choose", "branch", "(then)"), ("choose", "branch", "no branch"), ("maybe", "branch", "(else)")}
    found = hits(play(path, "inputs: { big: true }"))
    assert both <= found.keys()
    assert ("maybe", "branch", "no branch") not in found
    assert found["choose", "branch", "(then)"] == 1
    assert found["choose.(then).a", "step", "run"] == 1
    assert found["choose", "branch", "no branch"] == 0
    assert found["maybe.(else).c", "step", "run"] == 0
    assert not uncovered(play(path, "inputs: { big: true }", "inputs: { big: false }")) & both


def test_cases_and_the_default_of_a_switch(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        inputs: { word: string, size: integer, flag: boolean, side: 'enum["l", "r"]' }
        steps:
          - on_word:
              wf.switch: "{{ inputs.word }}"
              cases:
                "a.b/c": [{ x: { wf.wait: 1s } }]
              default: [{ y: { wf.wait: 1s } }]
          - on_size:
              wf.switch: "{{ inputs.size }}"
              cases:
                1: [{ one: { wf.wait: 1s } }]
          - on_flag:
              wf.switch: "{{ inputs.flag }}"
              cases:
                true: [{ yes: { wf.wait: 1s } }]
                false: [{ no: { wf.wait: 1s } }]
          - on_side:
              wf.switch: "{{ inputs.side }}"
              cases:
                l: [{ left: { wf.wait: 1s } }]
                r: [{ right: { wf.wait: 1s } }]
        """,
    )
    found = hits(play(path, "inputs: { word: a.b/c, size: 2, flag: true, side: l }"))
    branches = {key[0:3:2]: count for key, count in found.items() if key[1] == "branch"}
    assert branches == {
        ("on_word", "(case:a%2Eb%2Fc)"): 1,
        ("on_word", "(default)"): 0,
        ("on_size", "(case:1)"): 0,
        ("on_size", "no branch"): 1,
        ("on_flag", "(case:true)"): 1,
        ("on_flag", "(case:false)"): 0,
        ("on_side", "(case:l)"): 1,
        ("on_side", "(case:r)"): 0,
    }
    assert found["on_word.(case:a.b/c).x", "step", "run"] == 1


def test_guards_have_two_sides_and_literal_ones_have_one(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        inputs: { go: boolean }
        steps:
          - a: { wf.wait: 1s, when: "{{ inputs.go }}" }
          - b: { wf.wait: 1s, when: true }
        """,
    )
    assert hits(play(path, "inputs: { go: false }")) == {
        ("a", "step", "run"): 0,
        ("a", "guard", "true"): 0,
        ("a", "guard", "false"): 1,
        ("b", "step", "run"): 1,
        ("b", "guard", "true"): 1,
    }
    assert not uncovered(play(path, "inputs: { go: false }", "inputs: { go: true }"))


def test_outcomes_of_actions_are_those_that_can_be(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        steps:
          - read: { lab.get: {} }
          - plain: { lab.when: {} }
          - timed: { lab.when: {}, timeout: 1s }
          - write: { lab.pay: {}, retry: { attempts: 3 } }
          - silent: { lab.void: {}, on_unknown: abort }
          - unsure: { lab.void: {}, on_unknown: fail }
        """,
    )
    answers = "[{ ambiguous: { code: gone } }, { fail: { code: busy } }, { succeed: { value: v } }]"
    coverage = play(path, f"actions: {{ lab.pay: {answers} }}")
    outcomes: dict[str, dict[str, int]] = {}
    for (step, kind, outcome), count in hits(coverage).items():
        if kind == "action":
            outcomes.setdefault(step, {})[outcome] = count
    assert outcomes == {
        "read": {"succeeded": 1, "failed": 0},
        "plain": {"succeeded": 1},
        "timed": {"succeeded": 1, "failed": 0},
        "write": {"succeeded": 1, "failed": 1, "ambiguous": 1},
        "silent": {"succeeded": 1, "ambiguous": 0},
        "unsure": {"succeeded": 1, "failed": 0, "ambiguous": 0},
    }


def test_waits_are_received_or_time_out(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        steps:
          - answer:
              wf.wait_for: lab.ping
              match: { id: x }
              timeout: 1h
              steps:
                - ask: { lab.get: {} }
        """,
    )
    event = "events: [{ at: 1m, deliver: lab.ping, payload: { id: x } }]"
    assert hits(play(path, event))["answer", "wait", "received"] == 1
    assert ("answer", "wait", "timeout") in uncovered(play(path, event))
    assert hits(play(path, "until: 2h"))["answer", "wait", "timeout"] == 1
    assert not uncovered(play(path, event, "until: 2h")) - {("answer.ask", "action", "failed")}


def test_handlers_loops_and_probes(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        steps:
          - each:
              wf.for_each: [1, 2, 3]
              steps:
                - put:
                    lab.send: {}
                    on_unknown: reconcile
                    reconcile:
                      steps:
                        - probe: { lab.look: {} }
                      outcome: "{{ probe.found }}"
                      result: { value: "{{ probe.value }}" }
                    catch:
                      - codes: [broken]
                        steps:
                          - log: { lab.put: {} }
                      - steps:
                          - other: { lab.put: {} }
        """,
    )
    text = """
    actions:
      lab.send:
        - fail: { code: broken }
        - ambiguous: { code: gone }
        - succeed: { value: v }
      lab.look: { succeed: { found: true, value: v } }
    """
    found = hits(play(path, text))
    assert found["each[].put", "step", "run"] == 3
    assert found["each[].put", "handler", "0"] == 1
    assert found["each[].put.(catch:0).log", "step", "run"] == 1
    assert found["each[].put", "handler", "1"] == 0
    assert found["each[].put.(reconcile).probe", "step", "run"] == 1
    assert found["each[].put", "reconcile", "succeeded"] == 1
    assert found["each[].put", "reconcile", "no_effect"] == 0


def test_recovery_and_undo(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        steps:
          - group:
              wf.group:
                - first: { lab.pay: {}, undo: { lab.refund: {} } }
                - second: { lab.put: {} }
              recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
    )
    once = play(path, "actions: { lab.put: [{ fail: { code: broken } }, { succeed: { value: v } }] }")
    assert hits(once)["group", "recovery", "acts"] == 1
    assert hits(once)["group.first", "undo", "undone"] == 1
    assert ("group", "recovery", "limit") in uncovered(once)
    twice = play(path, "actions: { lab.put: { fail: { code: broken } } }")
    assert hits(twice)["group", "recovery", "limit"] == 1


@pytest.mark.parametrize("then", ["hold", "fail"])
def test_the_limit_of_a_root_recovery(tmp_path: Path, then: str) -> None:
    path = put(
        tmp_path,
        f"""
        recovery: {{ redo: this_step, stop_after: {{ failures: 1, within: 1h }}, then: {then} }}
        steps:
          - only: {{ lab.put: {{}} }}
        """,
    )
    found = hits(play(path, "actions: { lab.put: { fail: { code: broken } } }"))
    assert (found["", "recovery", "acts"], found["", "recovery", "limit"]) == (1, 1)


STATES = """
inputs: { way: string }
initial: start
states:
  start:
    steps: [{ a: { wf.wait: "{{ inputs.way | duration }}" } }]
    timers: { late: { after: 1h, to: done } }
    routes:
      - { when: "{{ inputs.way == '1m' }}", to: start_again }
      - { to: done }
  start_again:
    steps: [{ b: { wf.wait: 1s } }]
    routes: [{ to: done }]
  done: { steps: [{ c: { wf.wait: 1s } }], final: true }
"""


def test_states_routes_and_timers(tmp_path: Path) -> None:
    path = put(tmp_path, STATES)
    first = play(path, "inputs: { way: 1m }")
    assert uncovered(first) == {("start", "route", "1"), ("start", "timer", "late")}
    assert hits(first)["start_again", "state", "entered"] == 1
    assert not uncovered(play(path, "inputs: { way: 1m }", "inputs: { way: 2m }", "inputs: { way: 2h }"))


def test_a_child_counts_in_its_own_workfile(tmp_path: Path) -> None:
    put(tmp_path, 'inputs: { go: boolean }\nsteps: [{ x: { wf.wait: 1s, when: "{{ inputs.go }}" } }]\n', "child")
    path = put(
        tmp_path,
        """
        steps:
          - both:
              wf.for_each: [true, false, true]
              as: go
              steps:
                - start: { wf.call: child, inputs: { go: "{{ go }}" } }
        """,
    )
    coverage = play(path, "seed: 1")
    assert hits(coverage, "child") == {("x", "step", "run"): 2, ("x", "guard", "true"): 2, ("x", "guard", "false"): 1}
    assert hits(coverage)["both[].start", "step", "run"] == 3
    assert [file.played for file in coverage.sorted_files()] == [True, True]


def test_a_dry_run_suppresses_and_neither_succeeds_nor_fails(tmp_path: Path) -> None:
    path = put(tmp_path, "steps: [{ a: { lab.pay: {} } }]\n")
    found = hits(play(path, "dry_run: true"))
    assert (found["a", "step", "run"], found["a", "action", "succeeded"]) == (1, 0)


def test_every_example_step_is_a_place() -> None:
    from analyzer.model.nodes import all_steps

    for path in sorted(Path("examples").resolve().glob("*.workfile.yaml")):
        _, workflow = load_workflow(str(path))
        places = places_of(workflow)
        steps = [place.path for place in places if place.kind == "step"]
        assert sorted(steps) == sorted(step.path for step in all_steps(workflow)), path
        assert [place.start for place in places] == sorted(place.start for place in places)


# ---- what is told -------------------------------------------------------------------------------


def shown(path: str) -> str:
    return Path(path).name


def plain(text: str, _tone: str) -> str:
    return text


def test_what_never_happened_is_told_once_from_its_outermost_place(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        """
        inputs: { big: boolean }
        steps:
          - choose:
              wf.if: "{{ inputs.big }}"
              then:
                - a: { lab.get: {}, when: "{{ inputs.big }}" }
              else:
                - b: { wf.wait: 1s }
        """,
    )
    text = coverage_text(play(path, "inputs: { big: false }"), shown, plain)
    assert text == (
        "flow.workfile.yaml      3 of 9      33.3 %\n"
        "     8  choose: never takes `then` (5 more places with it)\n"
        "coverage: 3 of 9 places, 33.3 %\n"
    )


def test_a_workfile_that_nothing_plays(tmp_path: Path) -> None:
    path = put(tmp_path, "steps: [{ a: { wf.wait: 1s } }]\n")
    coverage = Coverage()
    coverage.add_workfile(*load_workflow(path))
    assert "no scenario plays it" in coverage_text(coverage, shown, plain)
    assert "No scenario plays this Workfile." in coverage_page(coverage, shown)


def test_json(tmp_path: Path) -> None:
    path = put(tmp_path, "steps:\n  - a: { lab.get: {} }\n")
    coverage = play(path, "seed: 1", "seed: 2")
    report = coverage_json(coverage, shown)
    assert json.loads(json.dumps(report)) == report
    assert report["scenarios"] == ["s0.scenario.yaml", "s1.scenario.yaml"]
    assert (report["covered"], report["total"], report["percent"]) == (2, 3, 66.7)
    (file,) = report["workfiles"]
    assert file["kinds"]["action"] == {"covered": 1, "total": 2, "percent": 50.0}
    assert file["places"][0] == {
        "kind": "step",
        "path": "a",
        "outcome": "run",
        "line": 4,
        "column": 5,
        "hits": 2,
        "scenarios": [0, 1],
    }


@pytest.mark.parametrize(
    ("covered", "total", "share"), [(0, 0, 100.0), (1, 3, 33.3), (9_999, 10_000, 99.9), (5, 5, 100.0)]
)
def test_a_percentage_is_100_only_when_all_is_covered(covered: int, total: int, share: float) -> None:
    assert percent(covered, total) == share


def test_the_page_marks_the_source_and_holds_no_markup_of_it(tmp_path: Path) -> None:
    path = put(tmp_path, 'steps:\n  - a: { lab.get: {} }  # <script>alert("x")</script> & more\n')
    page = coverage_page(play(path, "seed: 1"), shown)
    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; more" in page
    assert '<mark class="good" title="a step run: once, in s0.scenario.yaml">a</mark>' in page
    assert re.search(r'<mark class="part" title="[^"]*never fails">lab.get</mark>', page)
    assert not re.search(r"(src|href)=\"(?!#)", page)


def test_the_page_is_the_same_again_and_bounded(tmp_path: Path) -> None:
    path = put(tmp_path, "steps:\n" + "# filler\n" * MAX_LINES + "  - a: { lab.get: {} }\n")
    coverage = play(path, "seed: 1")
    page = coverage_page(coverage, shown)
    assert page == coverage_page(coverage, shown)
    assert page.count("<tr") < MAX_LINES + 10
    assert "4 more lines are left out" in page
    assert f"<li>line {MAX_LINES + 4}: `lab.get` never fails</li>" in page


def test_the_text_is_bounded(tmp_path: Path) -> None:
    steps = "".join(f"  - s{number}: {{ lab.get: {{}} }}\n" for number in range(MAX_MISSED + 7))
    path = put(tmp_path, f"steps:\n{steps}")
    text = coverage_text(play(path, "seed: 1"), shown, plain)
    assert "and 7 more" in text
    assert text.count("never fails") == MAX_MISSED


def test_places_have_parents_that_explain_them(tmp_path: Path) -> None:
    path = put(tmp_path, STATES)
    _, workflow = load_workflow(path)
    places: dict[Any, Place] = {place.key: place for place in places_of(workflow)}
    parent = places["start.a", "step", "run"].parent
    assert parent is places["start", "state", "entered"]
    assert places["start", "route", "0"].parent is parent


def test_a_comment_takes_places_out_of_the_count(tmp_path: Path) -> None:
    text = """
    steps:
      - a: { lab.get: {} }
      # workfile: no cover - only for a drill

      # another comment
      - drill:
          wf.if: "{{ false }}"
          then: [ { b: { lab.get: {} } } ]
      - c:
          wf.group:
            - d: { lab.get: {} }  # workfile: no cover
            - e: { lab.get: {} }
    """
    found = hits(play(put(tmp_path, text), ""))
    assert {path for path, _, _ in found} == {"a", "c", "c.e"}
