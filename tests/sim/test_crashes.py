# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Suspension, resumption and crashes (profile: Suspension and Resumption)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_runtime.driver.protocol import CrashPoint
from sim_runtime.driver.run import Run, RunDown
from sim_runtime.driver.store import MemoryStore, SqliteStore, StoreError
from tests.sim.lab import (
    H,
    M,
    S,
    after,
    before,
    calls,
    check,
    event,
    fail,
    first,
    make,
    ok,
    outside,
    run,
    succeed,
    trace,
    unknown,
)

requirement = pytest.mark.requirement
A = {"id": "a"}


# ---- calls that a crash interrupts ---------------------------------------------------------------


def test_a_call_that_was_prepared_only_is_made_normally() -> None:
    made = run("steps: [ { a: { lab.send: {} } } ]", crashes=[after("action.prepared"), before("action.dispatched")])
    assert made.status == "succeeded"
    assert outside(made).invoked("lab.send") == 1


@requirement("D-SUS-04")
def test_an_interrupted_write_is_ambiguous_and_its_call_has_arrived() -> None:
    made = run("steps: [ { a: { lab.send: {} } } ]", crashes=[after("action.dispatched")])
    assert made.status == "aborted"
    assert made.report()["failure"]["code"] == "interrupted"
    assert made.report()["calls"][0]["answer"] == "lost"
    assert outside(made).count("lab.send") == 1


@requirement("D-SUS-04")
@pytest.mark.parametrize("action", ["lab.pay", "lab.put"])
def test_an_interrupted_safe_write_is_reissued_under_its_key(action: str) -> None:
    for crash in (after("action.dispatched"), before("action.succeeded")):
        made = run(f"steps: [ {{ a: {{ {action}: {{}} }} }} ]", crashes=[crash])
        assert made.status == "succeeded"
        assert (outside(made).count(action), outside(made).invoked(action)) == (1, 2)
        assert len({call["key"] for call in made.report()["calls"]}) == 1
        assert [call["attempt"] for call in made.report()["calls"]] == [1, 1]


def test_an_interrupted_read_is_reissued_as_a_part_of_the_same_attempt() -> None:
    made = run(
        "steps: [ { a: { lab.get: {}, retry: { attempts: 2 } } } ]",
        {"a": [fail("busy"), ok("x")]},
        crashes=[after("action.dispatched"), after("action.dispatched", nth=2)],
    )
    assert made.status == "succeeded"
    assert not trace(made, "action.ambiguous")
    assert outside(made).calls[1].interrupted
    assert [each.data["reissue"] for each in made.records if each.kind == "action.dispatched"][:3] == [0, 1, 2]


def test_halt_after_an_interruption_asks_an_operator() -> None:
    made = run(
        "steps: [ { a: { lab.send: {}, on_unknown: halt } } ]",
        crashes=[after("action.dispatched", down=H), after("hold.entered"), after("operator.decided", down=H)],
        decisions=[succeed("a", "op", at=3 * H)],
    )
    assert made.report()["bindings"] == {"a": {"value": "op"}}
    assert made.crashes == 3
    assert made.clock == made.start_us + 4 * H


# ---- what a resumption restores ------------------------------------------------------------------


@requirement("D-SUS-07")
@requirement("D-SUS-09")
def test_resumption_restores_everything() -> None:
    text = """
    inputs: { id: string }
    initial: s
    states:
      s:
        timers: { t: { after: 9h, to: e } }
        steps:
          - p:
              wf.parallel:
                l: [ { a: { lab.pay: {}, retry: { attempts: 5, delay: 1h } } } ]
                r: [ { w: { wf.wait_for: lab.ping, match: { id: "{{ inputs.id }}" }, timeout: 8h } } ]
                g: [ { g: { wf.group: [ { b: { lab.pay: {} } } ], recovery: { stop_after: { failures: 3, within: 1d }, delay: 7h, then: fail } } } ]
        routes: [ { to: e } ]
      e: { steps: [], final: true }
    """
    answers = {"s.p.l.a": [fail("busy"), ok("x")], "s.p.g.g.b": [fail(), ok("y")]}
    made = make(text, answers, inputs=A, events=[event(A, 2 * H, delivery="e-1")], until=90 * M).finish()
    before_state, waiting = made.state, made.report()["waiting"]
    assert {each["kind"] for each in waiting} == {"timer", "event", "retry", "recovery_delay"} - {"retry"}
    made.crash()
    assert made.state.root is None
    made.resume(0)
    assert made.state == before_state
    assert made.report()["waiting"] == waiting
    check(made)
    whole = make(
        text,
        answers,
        inputs=A,
        events=[event(A, 2 * H, delivery="e-1")],
        crashes=[after("run.suspended", nth=n) for n in (1, 2, 3)],
    ).finish()
    assert whole.status == "succeeded"
    assert whole.crashes == 3
    assert [call["attempt"] for call in whole.report()["calls"] if call["path"] == "s.p.l.a"] == [1, 2]
    assert outside(whole).count("lab.pay") == 2


@requirement("D-SUS-09")
def test_a_completed_action_is_never_sent_again_wherever_the_executor_dies() -> None:
    text = (
        "steps: [ { a: { lab.send: {} } }, { b: { lab.send: {} } }, { w: { wf.wait: 1h } }, { c: { lab.send: {} } } ]"
    )
    length = len(run(text).records)
    for seq in range(1, length + 1):
        for when in ("before", "after"):
            made = run(text, crashes=[CrashPoint(when, seq=seq, down_us=M)])
            done = [each.id for each in made.records if each.kind == "action.succeeded"]
            assert len(done) == len(set(done))
            for id_ in done:
                assert outside(made).ledger[("lab.send", id_, None)][1] == 1


@requirement("D-SUS-06")
def test_suspension_releases_no_scope_and_the_active_step_stays() -> None:
    made = make("steps: [ { g: { wf.group: [ { a: { lab.get: {} } }, { w: { wf.wait: 1h } } ] } } ]", until=M).finish()
    assert made.status == "suspended"
    assert made.report()["bindings"] == {"g": {"a": {"value": "g.a"}}}
    assert [each["path"] for each in made.report()["waiting"]] == ["g.w"]
    assert made.state.frame(("g",)).phase == "started"
    assert not trace(made, "step.succeeded g ")


@requirement("D-SUS-08")
def test_resumption_evaluates_nothing_again_that_is_recorded() -> None:
    """The state is the fold of the records alone: no definition takes part in resuming."""
    from sim_runtime.core.evolve import fold

    made = make("steps: [ { w: { wf.wait: \"{{ run.started_at + ('90s' | duration) }}\" } } ]", until=S).finish()
    state = fold(made.records)
    assert state.frame(("w",)).info.deadline == made.start_us + 90 * S
    crashed = make("steps: [ { w: { wf.wait: 90s } } ]", crashes=[after("timer.set", down=M)]).finish()
    assert crashed.clock == crashed.start_us + 90 * S
    assert len(trace(crashed, "timer.set")) == 1


@requirement("D-SUS-01")
def test_an_event_is_acknowledged_by_its_durable_record_only() -> None:
    text = "steps: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h } } ]"
    made = make(text, until=M).finish()
    assert made.deliver("lab.ping", {"id": "b"}).reason == "unmatched"
    reply = made.deliver("lab.ping", A, "e-1")
    assert reply.accepted
    accepted = first(made, "event.accepted")
    assert accepted.boundary
    made = run(
        text,
        events=[event(A, H, delivery="e")],
        crashes=[before("event.accepted", down=M), after("event.accepted", down=M)],
    )
    assert trace(made, "event") == ["event.accepted w"]
    assert first(made, "event.accepted").at == made.start_us + H + M


@requirement("D-SUS-02")
@requirement("D-SUS-03")
@requirement("D-SUS-04")
def test_every_boundary_is_in_the_store_before_anything_is_done_with_it() -> None:
    class Watching(MemoryStore):
        """A store that knows what was durable when the world was called."""

        def __init__(self) -> None:
            super().__init__()
            self.kinds: list[str] = []

        def append(self, run_id, records) -> None:
            super().append(run_id, records)
            self.kinds.extend(each.kind for each in records)
            assert records[-1].boundary
            assert not any(each.boundary for each in records[:-1])

    store = Watching()
    text = "steps: [ { a: { lab.send: {}, on_unknown: halt } }, { w: { wf.wait: 1h } } ]"
    made = make(text, {"a": [unknown()]}, store=store)
    world = outside(made)
    dispatch = world.dispatch

    def watched(call):
        assert store.kinds[-1] == "action.dispatched"
        return dispatch(call)

    world.dispatch = watched  # type: ignore[method-assign]
    while made.step():
        assert made.records == store.records(made.run_id)
        assert (made.status == "held") == (store.kinds[-1] == "run.held")
    assert made.status == "held"


@requirement("D-SUS-05")
def test_what_suspended_and_held_mean() -> None:
    timer = make("steps: [ { w: { wf.wait: 1h } } ]", until=M).finish()
    delay = make(
        "steps: [ { a: { lab.send: {}, retry: { attempts: 2, delay: 1h } } } ]", {"a": [fail("busy")]}, until=M
    ).finish()
    held = make("steps: [ { a: { lab.send: {}, on_unknown: halt } } ]", {"a": [unknown()]}).finish()
    assert (timer.status, delay.status, held.status) == ("suspended", "suspended", "held")
    assert [made.over for made in (timer, delay, held)] == [False] * 3
    assert delay.report()["waiting"] == [{"kind": "retry", "path": "a", "deadline": "2026-01-01T01:00:00Z"}]


# ---- crash points ---------------------------------------------------------------------------------


def test_crash_points_on_one_boundary_all_act_in_order() -> None:
    made = run(
        "steps: [ { a: { lab.put: {} } } ]",
        crashes=[
            after("step.started", "a", down=M),
            after("action.prepared", "a", down=2 * M),
            before("action.dispatched", down=4 * M),
        ],
    )
    assert made.crashes == 3
    assert made.clock == made.start_us + 7 * M


def test_a_crash_inside_a_transaction_acts_at_its_start_or_end() -> None:
    made = run(
        "steps: [ { a: { wf.let: { x: 1 } } }, { b: { wf.let: { x: 1 } } } ]", crashes=[before("step.started", "b")]
    )
    assert made.crashes == 1
    assert made.status == "succeeded"


def test_nth_counts_records_and_an_entry_fires_once() -> None:
    text = "steps: [ { e: { wf.for_each: [1, 2, 3], steps: [ { a: { lab.put: {} } } ] } } ]"
    made = run(text, crashes=[after("action.succeeded", nth=2, down=M)])
    assert made.crashes == 1
    assert first(made, "action.dispatched", "e[2].a").at == made.start_us + M
    made = make(text, crashes=[after("action.succeeded", nth=4), after("action.succeeded", "nowhere")]).finish()
    assert len(made.unfired) == 2
    assert made.crashes == 0


def test_a_run_that_is_down_must_be_resumed() -> None:
    made = make("steps: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h } } ]", until=M).finish()
    made.crash()
    with pytest.raises(RunDown):
        made.step()
    assert made.deliver("lab.ping", A).accepted
    made.resume(H)
    made.finish()
    assert first(made, "event.accepted").at == made.start_us + H + M


def test_on_return_runnable_work_goes_first_then_the_order_of_one_instant() -> None:
    text = """
    steps:
      - p:
          wf.parallel:
            l: [ { a: { wf.wait: 1h } }, { b: { lab.get: {} } } ]
            r: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 2h } } ]
            c: [ { x: { lab.put: {} } } ]
    """
    made = run(
        text,
        {"p.c.x": [ok("x", latency=H)]},
        events=[event(A, 90 * M)],
        crashes=[after("action.dispatched", "p.c.x", down=2 * H)],
    )
    order = trace(made, "action.dis", "action.amb", "event", "timer.fired")
    assert order == [
        "action.dispatched p.c.x",
        "action.ambiguous p.c.x",
        "action.dispatched p.c.x",
        "event.accepted p.r.w",
        "timer.fired p.l.a",
        "action.dispatched p.l.b",
    ]
    assert made.report()["bindings"]["p"]["r"]["w"]["status"] == "received"


# ---- stores ---------------------------------------------------------------------------------------

STORED = """
inputs: { at: timestamp }
steps:
  - a: { lab.when: {} }
  - l: { wf.let: { d: "{{ a.at - inputs.at }}", t: "{{ a.at }}", s: "2026-01-01T00:00:00Z" } }
  - w: { wf.wait: "{{ l.d }}" }
  - b: { lab.pay: { t: "{{ l.t }}", note: "{{ a.note ?? 'none' }}" } }
"""


@requirement("D-HIST-02")
def test_memory_and_sqlite_give_the_same_history(tmp_path: Path) -> None:
    options = {
        "inputs": {"at": "2026-01-01T09:00:00Z"},
        "crashes": [after("run.suspended", down=M), after("action.dispatched", "b")],
    }
    one = run(STORED, **options)
    store = SqliteStore(str(tmp_path / "s.sqlite"))
    two = run(STORED, store=store, **options)
    assert one.records == two.records == store.records(two.run_id)
    assert one.report() == two.report()
    assert two.crashes == 2
    store.close()
    again = SqliteStore(str(tmp_path / "s.sqlite"), read_only=True)
    assert again.records(two.run_id) == two.records
    assert again.runs() == [two.run_id]


def test_a_store_keeps_headers_and_refuses_a_second_run_of_one_id(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "s.sqlite"))
    made = make("steps: []", store=store).finish()
    assert store.header(made.run_id) is None
    store.set_header(made.run_id, {"a": 1})
    assert store.header(made.run_id) == {"a": 1}
    with pytest.raises(StoreError, match="already holds"):
        make("steps: []", store=store)
    with pytest.raises(StoreError, match="holds no run"):
        store.records("other")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database at all, only text")
    with pytest.raises(StoreError, match="no store at all"):
        SqliteStore(str(tmp_path / "text"))
    with pytest.raises(StoreError, match="is a folder"):
        SqliteStore(str(tmp_path))
    with pytest.raises(StoreError, match="no store"):
        SqliteStore(str(tmp_path / "gone"), read_only=True)
    import sqlite3

    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("create table t (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="is not a store"):
        SqliteStore(str(tmp_path / "other.sqlite"))


@pytest.mark.parametrize(
    "harm",
    [
        "delete from transactions where number = 2",
        "update transactions set records = replace(records, 'a', 'b') where number = 3",
    ],
)
def test_a_torn_store_is_detected(tmp_path: Path, harm: str) -> None:
    import sqlite3

    path = tmp_path / "s.sqlite"
    store = SqliteStore(str(path))
    made = make("steps: [ { a: { lab.put: {} } } ]", store=store).finish()
    store.close()
    raw = sqlite3.connect(path)
    raw.execute(harm)
    raw.commit()
    raw.close()
    with pytest.raises(StoreError, match="is torn: of the run"):
        SqliteStore(str(path)).records(made.run_id)


def test_a_truncated_file_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = SqliteStore(str(path))
    made = make(
        "steps: [ { e: { wf.for_each: [1,2,3,4,5,6,7,8,9], steps: [ { a: { lab.put: {} } } ] } } ]", store=store
    ).finish()
    store.close()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError):
        SqliteStore(str(path)).records(made.run_id)


@requirement("D-HIST-11")
def test_a_history_cut_after_any_transaction_is_an_executor_that_died_there() -> None:
    options = {"inputs": {"at": "2026-01-01T09:00:00Z"}}
    whole = run(STORED, **options)
    for place, record in enumerate(whole.records):
        if not record.boundary:
            continue
        made = Run(whole.definition, outside(make(STORED, **options)), inputs=options["inputs"])
        made._store.append(made.run_id, whole.records[: place + 1])  # what the executor had written when it died
        made._start = None
        made.now = record.at
        made.crash()
        made.resume()
        made.finish()
        assert made.status == "succeeded"
        assert made.report()["bindings"] == whole.report()["bindings"]


def test_forks_go_their_own_ways() -> None:
    made = make(
        "steps: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h } }, { b: { lab.put: {} } } ]", until=M
    ).finish()
    copy = made.fork()
    copy.deliver("lab.ping", A)
    copy.finish()
    assert copy.report()["bindings"]["w"]["status"] == "received"
    assert made.status == "suspended"
    assert calls(made) == []
    made.script = copy.script
    made.advance(10 * H)
    assert made.report()["bindings"]["w"]["status"] == "timeout"
    assert (outside(made).invoked("lab.put"), outside(copy).invoked("lab.put")) == (1, 1)
