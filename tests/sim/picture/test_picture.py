"""The picture of a run: what it shows, that it is bounded, self-contained, well formed and the same again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.driver.protocol import CrashPoint, Script
from sim_runtime.driver.run import Run
from sim_runtime.history.records import Record
from sim_runtime.observed import Crash, ObservedRun
from sim_runtime.picture import Picture, picture_of
from sim_runtime.picture.axis import MAX_MOMENTS, axis_of
from sim_runtime.picture.drawing import svg
from sim_runtime.picture.page import MAX_LINES, page
from sim_runtime.picture.reading import PRIORITY
from sim_runtime.picture.rows import MAX_ITERATIONS, MAX_ROWS, Row
from sim_runtime.picture.style import LEGEND, SHAPES, stylesheet
from sim_runtime.simulation import simulate
from tests.sim.lab import (
    D,
    H,
    M,
    Outside,
    S,
    Scripted,
    after,
    definition,
    event,
    fail,
    make,
    ok,
    succeed,
    unknown,
)

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples" / "scenarios").glob("*.scenario.yaml"))
WAIT = "{ wf.wait_for: lab.ping, match: { id: x }, timeout: 3d }"


def picture(text: str, answers: Mapping[str, Sequence[Scripted]] | None = None, **options: Any) -> Picture:
    """The picture of a run to its end."""
    made = make(text, answers, **options).finish()
    return picture_of(made, made.report())


def crashed(text: str, *crashes: CrashPoint, children: Sequence[str] = ()) -> ObservedRun:
    """A run that notes its crashes, to its end."""
    made = ObservedRun(definition(text, *children), Outside(), script=Script(crashes=crashes))
    made.finish()
    return made


def row(found: Picture, label: str) -> Row:
    """The first row of that name."""
    return next(each for each in found.rows if each.label == label)


def marks(found: Row) -> list[str]:
    """The marks of a row, in order."""
    return [found.marks[place].kind for place in sorted(found.marks)]


def bars(found: Row) -> list[tuple[str, str]]:
    """The bars of a row with their outcomes, in the order in which they began."""
    return [(bar.kind, bar.outcome) for bar in found.bars]


# ---- rows, bars and marks -----------------------------------------------------------------------


def test_an_action_that_is_retried() -> None:
    text = "steps: [ { a: { lab.put: {}, retry: { attempts: 3, delay: 1m } } } ]"
    found = row(picture(text, {"lab.put": [fail("busy"), ok()]}), "a")
    assert found.note == "lab.put"
    assert bars(found) == [("step", "good"), ("call", "failed"), ("retry", ""), ("call", "succeeded")]
    assert marks(found) == ["attempt", "failure", "attempt", "success"]
    assert "attempt 1 failed with `busy`" in found.marks[min(found.marks) + 1].lines[0]


def test_branches_iterations_handlers_probes_and_children_have_lanes() -> None:
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { a: { lab.get: {} } } ]
            right: [ { call: { wf.call: child } } ]
      - each:
          wf.for_each: [1, 2]
          steps:
            - put:
                lab.send: {}
                on_unknown: reconcile
                reconcile:
                  steps: [ { probe: { lab.look: {} } } ]
                  outcome: "{{ probe.found }}"
                  result: { value: v }
                catch: [ { steps: [ { log: { lab.put: {} } } ] } ]
    """
    child = "name: child\nsteps: [ { inner: { lab.get: {} } } ]"
    found = picture(text, {"lab.send": [unknown(), fail()]}, children=[child])
    lanes = [(each.depth, each.lane, each.label, each.note) for each in found.rows if each.lane]
    assert lanes == [
        (0, "run", "test", ""),
        (2, "branch", "left", "branch"),
        (2, "branch", "right", "branch"),
        (4, "child", "child run", "child"),
        (2, "iteration", "[0]", ""),
        (4, "probes", "probes", ""),
        (2, "iteration", "[1]", ""),
        (4, "handler", "handler 0", ""),
    ]
    assert row(found, "inner").depth == 5


def test_a_branch_that_is_taken_is_told_and_its_steps_stand_below() -> None:
    found = picture('steps: [ { x: { wf.if: "{{ 1 == 1 }}", then: [ { y: { wf.wait: 1s } } ] } } ]')
    assert row(found, "x").note == "wf.if → then"
    assert row(found, "y").depth == row(found, "x").depth + 1


def test_waits_events_and_timers() -> None:
    payload = {"id": "x"}
    text = f"steps: [ {{ w: {WAIT} }}, {{ v: {WAIT} }}, {{ t: {{ wf.wait: 1h }} }} ]"
    found = picture(text, events=[event(payload, H), event({"id": "y"}, 2 * H)])
    assert marks(row(found, "w")) == ["event"]
    assert bars(row(found, "w")) == [("step", "good"), ("wait", "")]
    assert marks(row(found, "v")) == ["timer"]
    assert marks(row(found, "t")) == ["timer"]
    assert marks(found.rows[0]) == ["refused"]
    assert [each.us for each in found.axis.gaps] == [H, H, 3 * D - H, H]


def test_a_hold_and_the_operator_who_ends_it() -> None:
    found = picture(
        "steps: [ { a: { lab.send: {}, on_unknown: halt } } ]",
        {"lab.send": [unknown()]},
        decisions=[succeed("a", "v", at=H)],
    )
    assert marks(row(found, "a")) == ["attempt", "ambiguous", "hold", "operator"]
    assert ("hold", "") in bars(row(found, "a"))
    held = next(bar for bar in row(found, "a").bars if bar.kind == "hold")
    assert held.end is not None
    assert found.axis.moments[held.end].at - found.axis.moments[held.start].at == H


RECOVERY = """
steps:
  - g:
      wf.group:
        - a: { lab.pay: {}, undo: { lab.refund: {} } }
        - b: { lab.put: {} }
      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, delay: 5m, then: fail }
"""


def test_recovery_supersedes_undoes_and_starts_a_generation() -> None:
    found = picture(RECOVERY, {"lab.put": [fail(), ok()]})
    assert "recovery" in marks(row(found, "g"))
    assert marks(row(found, "a")) == ["attempt", "success", "attempt", "undo", "attempt", "success"]
    assert [(bar.kind, bar.stale) for bar in row(found, "a").bars] == [
        ("step", True),
        ("call", True),
        ("undo", False),
        ("step", False),
        ("call", False),
    ]
    assert [(line.kind, line.text) for line in found.lines] == [("generation", "generation 1"), ("end", "succeeded")]
    assert "recovery" in found.facts[1] or "generation 1" in found.facts[1]


def test_states_follow_one_another_and_name_their_entries() -> None:
    text = """
    initial: one
    states:
      one: { steps: [ { a: { wf.wait: 1m } } ], routes: [ { when: "{{ two.b == null }}", to: two }, { to: end } ] }
      two: { steps: [ { b: { lab.get: {} } } ], routes: [ { to: one } ] }
      end: { steps: [ { c: { wf.wait: 1s } } ], final: true }
    """
    found = picture(text)
    states = [each for each in found.rows if each.lane == "state"]
    assert [(each.label, each.note) for each in states] == [
        ("one", "state"),
        ("two", "state"),
        ("one", "state, entry 2"),
        ("end", "state"),
    ]
    assert [bars(each) for each in states] == [[("step", "good")]] * 4
    ends = [each.bars[0].end for each in states]
    assert [each.bars[0].start for each in states[1:]] == ends[:-1]
    assert marks(states[0]) == ["route"]


def test_crashes_are_lines_with_the_time_that_the_executor_was_down() -> None:
    made = crashed(
        "steps: [ { a: { lab.get: {} } }, { b: { wf.wait: 2h } } ]",
        after("action.dispatched", "a", down=10 * M),
        after("run.suspended", down=H),
    )
    assert made.status == "succeeded"
    assert [(each.records, (each.back or 0) - each.at) for each in made.crash_log] == [(5, 10 * M), (11, H)]
    found = picture_of(made, made.report())
    assert [line.text for line in found.lines if line.kind == "crash"] == ["crash, down 10m", "crash, down 1h"]
    assert "2 crashes" in found.facts[1]
    drawing = svg(found)
    assert drawing.count('class="bad-fill down"') == 2


def test_a_crash_before_anything_was_written_and_a_fork() -> None:
    made = crashed("steps: [ { a: { lab.get: {} } } ]", CrashPoint("before", "run.accepted"))
    assert [(each.records, each.back) for each in made.crash_log] == [(0, made.start_us)]
    copy = made.fork()
    copy.crash()
    assert (len(made.crash_log), len(copy.crash_log)) == (1, 2)
    assert copy.crash_log[1].back is None
    found = picture_of(copy, {**made.report(), "status": "running"})
    title = f"the executor died at +0s, after record {len(made.records)}, and is down"
    assert title in [line.title for line in found.lines]


def test_what_is_still_going_on_has_an_open_end() -> None:
    found = picture(f"steps: [ {{ w: {WAIT} }} ]", until=H)
    assert [bar.end for bar in row(found, "w").bars] == [None, None]
    assert "it goes on" in svg(found)
    assert found.status == "suspended"


def test_a_cancelled_run() -> None:
    found = picture("steps: [ { a: { wf.wait: 2h } } ]", cancel_at=H)
    assert [line.kind for line in found.lines] == ["cancel", "end"]
    assert bars(row(found, "a"))[0] == ("step", "")


# ---- bounds -------------------------------------------------------------------------------------


def test_iterations_past_the_bound_share_a_row_that_shows_what_went_wrong() -> None:
    count = MAX_ITERATIONS + 6
    text = f"""
    steps:
      - each:
          wf.for_each: {list(range(count))}
          on_iteration_fail: continue
          steps: [ {{ a: {{ lab.send: {{}} }} }} ]
    """
    found = picture(text, {"lab.send": [*[ok()] * (count - 1), fail()]})
    rest = row(found, "6 more iterations")
    assert marks(rest) == ["failure"]
    assert sum(each.lane == "iteration" for each in found.rows) == MAX_ITERATIONS


def test_rows_and_moments_past_the_bound_are_told() -> None:
    count = MAX_ROWS + 20
    many = "".join(f"\n  - s{number}: {{ wf.let: {{ x: 1 }} }}" for number in range(count))
    found = picture(f"steps:{many}")
    assert len(found.rows) == MAX_ROWS
    assert found.omissions == ["21 more steps, branches or iterations have no row of their own."]
    assert "21 more steps" in svg(found)

    loop = f"steps: [ {{ each: {{ wf.for_each: {list(range(1_200))}, steps: [ {{ a: {{ lab.get: {{}} }} }} ] }} }} ]"
    found = picture(loop)
    assert len(found.axis.moments) == MAX_MOMENTS
    assert found.drawn < found.records
    (omission,) = found.omissions
    rest = f"{found.records - found.drawn:,} later records are left out"
    assert omission == f"The picture ends at record {found.drawn:,}, +0s; {rest}."
    assert len(svg(found)) < 3_000_000


def test_the_words_on_the_page_are_bounded() -> None:
    loop = f"steps: [ {{ each: {{ wf.for_each: {list(range(600))}, steps: [ {{ a: {{ lab.get: {{}} }} }} ] }} }} ]"
    made = make(loop).finish()
    text = page(picture_of(made, made.report()), made.records)
    assert text.count("<tr>") == MAX_LINES + 1
    assert f"The first {MAX_LINES:,} lines" in text


def test_long_gaps_are_compressed_and_short_ones_are_seen() -> None:
    found = picture("steps: [ { a: { wf.wait: 1s } }, { b: { wf.wait: 3650d } }, { c: { wf.wait: 1s } } ]")
    short, long, again = found.axis.gaps
    assert short.width == again.width
    assert short.width < long.width < 6 * short.width
    places = [moment.x for moment in found.axis.moments]
    assert places == sorted(set(places))


def test_many_moments_become_narrower() -> None:
    def axis(count: int) -> float:
        records = [Record(number, 0, "run.suspended", "", 0, {}, boundary=True) for number in range(count)]
        return axis_of(records, []).slot

    assert axis(10) > axis(1_000) > axis(2_900) * 0.99
    assert axis(2_900) * 2_900 < 40_000


# ---- the drawings -------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", EXAMPLES, ids=lambda path: path.name.partition(".")[0])
def test_the_examples_are_drawn(scenario: Path) -> None:
    run = simulate(scenario=str(scenario)).run
    found = picture_of(run, run.report())
    root = ET.fromstring(svg(found))
    width, high = float(root.get("width", 0)), float(root.get("height", 0))
    assert root.get("viewBox") == f"0 0 {width:.0f} {high:.0f}"
    titles = [each.text or "" for each in root.iter(f"{SVG}title")]
    told = sum(title.count("record ") for title in titles)
    dispatched = sum(record.kind == "action.dispatched" for record in run.records)
    assert told >= 2 * dispatched
    used = set(re.findall(r'class="([^"]+)"', svg(found)))
    names = set(re.findall(r"\.([a-z-]+)", stylesheet()))
    assert {name for each in used for name in each.split()} <= names | {"generation", "down"}
    for each in root.iter(f"{SVG}rect"):
        assert float(each.get("width", 0)) >= 0


class _Elements(HTMLParser):
    """Notes what a page loads and whether its elements are closed."""

    VOID = frozenset({"meta", "path", "rect", "circle", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "onload", "onclick")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_well_formed() -> None:
    run = simulate(scenario=str(EXAMPLES[0])).run
    parser = _Elements()
    parser.feed(page(picture_of(run, run.report()), run.records))
    assert (parser.open, parser.loads) == ([], [])


def test_what_files_say_is_never_markup() -> None:
    evil = '</title><script>alert(1)</script>&"\u202e\x07'
    text = "steps: [ { a: { lab.put: {} } } ]"
    found = picture(text, {"lab.put": [fail("broken", message=evil)]})
    drawing = svg(found)
    assert "<script" not in drawing
    assert "&lt;script&gt;" in drawing
    assert "\\u202e\\u0007" in drawing
    ET.fromstring(drawing)


def test_marks_have_shapes_and_a_line_in_the_legend() -> None:
    assert set(PRIORITY) == set(SHAPES)
    assert set(SHAPES) <= set(LEGEND)


def test_the_same_run_is_the_same_picture_under_another_hash_seed() -> None:
    code = (
        "import sys; from sim_runtime.simulation import simulate; from sim_runtime.picture import picture_of\n"
        "from sim_runtime.picture.drawing import svg; from sim_runtime.picture.page import page\n"
        "run = simulate(scenario=sys.argv[1]).run; found = picture_of(run, run.report())\n"
        "print(svg(found)); print(page(found, run.records))"
    )
    scenario = next(str(path) for path in EXAMPLES if path.name.startswith("rollout-region"))
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code, scenario],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    }
    assert len(drawn) == 1


def test_a_run_of_the_driver_alone_has_no_crashes_to_show() -> None:
    made = make("steps: [ { a: { wf.wait: 1s } } ]").finish()
    assert type(made) is Run
    assert [line.kind for line in picture_of(made, made.report()).lines] == ["end"]
    assert Crash(0, 0).back is None
    assert S == 1_000_000
