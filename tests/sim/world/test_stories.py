"""Whole scenarios against the runtime: answers, events, crashes, decisions, time (interfaces page)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_runtime.simulation import CannotSimulate, Changes, simulate

CONNECTOR = """\
connector: lab
version: 1.0.0
actions:
  get: { effect: read, input: { n: integer }, output: { v: string }, errors: { busy: { retryable: true }, gone: { retryable: false } } }
  pay: { effect: write, idempotency: keyed, input: { n: integer }, output: { id: string }, errors: { busy: { retryable: true }, no: { retryable: false } } }
  set: { effect: write, idempotency: inherent, input: { n: integer }, output: { id: string }, errors: { busy: { retryable: true } } }
  unset: { effect: write, idempotency: inherent, input: { n: integer } }
  send: { effect: write, idempotency: none, input: { n: integer }, output: { id: string }, errors: { busy: { retryable: true }, no: { retryable: false } } }
  back: { effect: write, idempotency: keyed, input: { id: string } }
triggers:
  ping: { source: external, payload: { id: string, note: string }, correlate_on: [id] }
"""  # noqa: E501

#: name -> (steps of the Workfile, the scenario without `workfile`).
STORIES: dict[str, tuple[str, str]] = {
    "answers come in order, the last one repeats": (
        """
  - a: { lab.get: { n: 1 }, retry: { attempts: 5, delay: 1s } }
  - b: { lab.get: { n: 2 }, retry: { attempts: 5, delay: 1s } }
""",
        """
actions:
  lab.get: [{ fail: { code: busy } }, { fail: { code: busy } }, { succeed: { v: x } }]
expect:
  bindings: { a.v: x, b.v: x }
  invocations: { lab.get: 4 }
  effects: { lab.get: 0 }
  clock: 2s
""",
    ),
    "a path wins over an action and where is passed over": (
        """
  - a: { lab.get: { n: 1 } }
  - b: { lab.get: { n: 2 } }
  - c: { lab.get: { n: 3 } }
""",
        """
actions:
  b: [{ succeed: { v: path } }]
  lab.get: [{ succeed: { v: three }, where: { n: 3 } }, { succeed: { v: action } }]
expect: { bindings: { a.v: action, b.v: path, c.v: three } }
""",
    ),
    "the server's delay is the larger one": (
        """
  - a: { lab.get: { n: 1 }, retry: { attempts: 3, delay: 10s, max_delay: 10s } }
""",
        """
actions:
  a: [{ fail: { code: busy, retry_after: 1m } }, { fail: { code: busy, retry_after: 1s } }, { succeed: { v: x } }]
expect: { status: succeeded, clock: 1m10s }
""",
    ),
    "a scripted retryable decides": (
        """
  - a: { lab.get: { n: 1 }, retry: { attempts: 3 } }
""",
        """
actions:
  a: [{ fail: { code: busy, retryable: false } }]
expect: { status: failed, failure: { code: busy, path: a }, invocations: { lab.get: 1 } }
""",
    ),
    "a keyed write whose answer is lost takes effect once": (
        """
  - a: { lab.pay: { n: 1 } }
  - b: { lab.pay: { n: 2 } }
""",
        """
actions:
  lab.pay: [{ succeed: { id: first }, latency: 1h }, { succeed: { id: second } }]
crashes: [{ after: { record: action.dispatched, path: a }, down: 10m }]
expect:
  bindings: { a.id: first, b.id: second }
  effects: { lab.pay: 2 }
  invocations: { lab.pay: 3 }
  calls: [{ path: a, answer: lost }, { path: a, answer: success }, { path: b }]
  crashes: 1
  clock: 10m
""",
    ),
    "a read that a crash interrupted is the same attempt": (
        """
  - a: { lab.get: { n: 1 }, retry: { attempts: 2 } }
""",
        """
actions:
  lab.get: [{ fail: { code: busy }, latency: 5s }, { succeed: { v: x } }]
crashes: [{ after: { record: action.dispatched, path: a } }]
expect:
  bindings: { a.v: x }
  calls: [{ attempt: 1, answer: lost }, { attempt: 1, answer: failure }, { attempt: 2, answer: success }]
  clock: 1s
""",
    ),
    "a write without a key is ambiguous after a crash": (
        """
  - a: { lab.send: { n: 1 }, on_unknown: halt }
""",
        """
crashes: [{ before: { record: action.succeeded, path: a } }]
operator: [{ on: a, actor: dana, at: 2h, decide: { succeed: { id: seen } } }]
expect:
  status: succeeded
  bindings: { a.id: seen }
  effects: { lab.send: 1 }
  clock: 2h
""",
    ),
    "after an ambiguous answer the next entry answers": (
        """
  - a: { lab.pay: { n: 1 } }
""",
        """
actions:
  lab.pay:
    - ambiguous: { code: timeout, effect: happened }
    - ambiguous: { code: timeout, effect: lost }
    - succeed: { id: known }
expect: { bindings: { a.id: known }, effects: { lab.pay: 1 }, invocations: { lab.pay: 3 } }
""",
    ),
    "an answer past its time is late, and its effect is there": (
        """
  - a: { lab.pay: { n: 1 }, timeout: 30s }
  - b: { wf.wait: 2m }
""",
        """
actions:
  lab.pay: [{ succeed: { id: slow }, latency: 1m }]
expect:
  bindings: { a.id: slow }
  effects: { lab.pay: 1 }
  calls: [{ path: a, answer: late }, { path: a, answer: success, at: 30s }]
  clock: 2m30s
""",
    ),
    "an answer exactly at the limit is in time": (
        """
  - a: { lab.get: { n: 1 }, timeout: 30s }
""",
        """
actions: { lab.get: [{ succeed: { v: x }, latency: 30s }] }
expect: { status: succeeded, clock: 30s }
""",
    ),
    "a result that breaks the output has happened": (
        """
  - a: { lab.send: { n: 1 }, on_unknown: fail, on_fail: continue }
""",
        """
actions: { lab.send: [{ succeed: { id: 5 } }] }
expect: { status: succeeded, bindings: { a: null }, effects: { lab.send: 1 } }
""",
    ),
    "inherent calls with the same arguments are one effect": (
        """
  - a: { lab.set: { n: 1 } }
  - b: { lab.set: { n: 1 } }
  - c: { lab.set: { n: 2 } }
""",
        """
actions: { lab.set: [{ succeed: { id: one } }, { succeed: { id: two } }] }
expect: { bindings: { a.id: one, b.id: one, c.id: two }, effects: { lab.set: 2 }, invocations: { lab.set: 3 } }
""",
    ),
    "what is undone takes place anew": (
        """
  - g:
      wf.group:
        - a: { lab.set: { n: 1 }, undo: { lab.unset: { n: 1 } } }
        - b: { lab.pay: { n: 1 }, undo: { lab.back: { id: "{{ b.id }}" } } }
        - c: { lab.get: { n: 1 } }
      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, delay: 1m, then: fail }
""",
        """
actions:
  lab.set: [{ succeed: { id: s1 } }, { succeed: { id: s2 } }]
  g.c: [{ fail: { code: gone } }, { succeed: { v: x } }]
expect:
  bindings: { g.a.id: s2, g.b.id: "g.b#2" }
  effects: { lab.set: 2, lab.unset: 1, lab.pay: 2, lab.back: 1 }
  calls: [{ path: g.a }, { path: g.b }, { path: g.b.(undo) }, { path: g.a.(undo) }, { path: g.a, generation: 1 }]
  generation: 1
  clock: 1m
""",
    ),
    "events come at their time or after a subscription": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 1h }
  - second: { wf.wait_for: lab.ping, match: { id: "2" }, timeout: 1h }
""",
        """
events:
  - { after: second, by: 5m, deliver: lab.ping, payload: { id: "2", note: b } }
  - { at: 10m, deliver: lab.ping, payload: { id: "1", note: a } }
  - { at: 11m, deliver: lab.ping, payload: { id: "1", note: too late } }
expect:
  bindings: { first.event.note: a, second.event.note: b }
  clock: 15m
""",
    ),
    "an event at the deadline wins": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 1h }
""",
        """
events: [{ at: 1h, deliver: lab.ping, payload: { id: "1", note: a } }]
expect: { bindings: { first.status: received }, clock: 1h }
""",
    ),
    "an invalid event and one for nobody are refused": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 1h }
""",
        """
events:
  - { at: 1m, id: e, deliver: lab.ping, payload: { id: 1 } }
  - { at: 2m, id: e, deliver: lab.ping, payload: { id: "2", note: x } }
  - { at: 3m, id: e, deliver: lab.ping, payload: { id: "1", note: y } }
expect: { bindings: { first.event.note: y }, clock: 3m }
""",
    ),
    "an event that comes while the executor is down is accepted then": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 10h }
""",
        """
events: [{ at: 5m, deliver: lab.ping, payload: { id: "1", note: a } }]
crashes: [{ after: { record: run.suspended }, down: 2h }]
expect: { bindings: { first.status: received }, clock: 2h }
""",
    ),
    "an event that is accepted after the deadline is too late": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 10m }
""",
        """
events: [{ at: 5m, deliver: lab.ping, payload: { id: "1", note: a } }]
crashes: [{ after: { record: run.suspended }, down: 2h }]
expect: { bindings: { first.status: timeout }, clock: 2h }
""",
    ),
    "cancelling ends it": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 10h }
""",
        """
cancel: { at: 5h, reason: customer withdrew }
expect: { status: cancelled, absent: [first.status], waiting: [], clock: 5h }
""",
    ),
    "until leaves it waiting": (
        """
  - first: { wf.wait_for: lab.ping, match: { id: "1" }, timeout: 10h }
""",
        """
until: 2026-01-01T03:00:00Z
expect: { status: suspended, waiting: [first], clock: 3h }
""",
    ),
    "a decision that may not be made writes nothing": (
        """
  - a: { lab.send: { n: 1 }, on_unknown: halt }
""",
        """
actions: { lab.send: [{ ambiguous: { code: timeout, effect: lost } }] }
operator:
  - { on: a, decide: authorize_recovery }
  - { on: a, decide: reissue }
  - { on: a, decide: { fail: { code: no_effect, retryable: false, details: {} } }, at: 1h }
expect:
  status: failed
  failure: { code: no_effect, path: a }
  effects: { lab.send: 0 }
  invocations: { lab.send: 1 }
""",
    ),
    "a dry run sends nothing": (
        """
  - a: { lab.get: { n: 1 } }
  - b: { lab.pay: { n: 2 } }
""",
        """
dry_run: true
expect:
  status: succeeded
  effects: { lab.pay: 0 }
  invocations: { lab.get: 1, lab.pay: 0 }
  bindings: { "b": { "$suppressed": { id: b } } }
""",
    ),
}


def play(folder: Path, steps: str, scenario: str, changes: Changes | None = None):  # type: ignore[no-untyped-def]
    (folder / "connectors").mkdir()
    (folder / "connectors" / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
    (folder / "workfile.toml").write_text("", encoding="utf-8")
    (folder / "w.workfile.yaml").write_text(f'workfile: "1.0"\nname: w\nsteps:{steps}', encoding="utf-8")
    (folder / "s.scenario.yaml").write_text(f"workfile: w.workfile.yaml{scenario}", encoding="utf-8")
    return simulate(scenario=str(folder / "s.scenario.yaml"), changes=changes)


@pytest.mark.parametrize(("steps", "scenario"), STORIES.values(), ids=STORIES)
def test_a_story(steps: str, scenario: str, tmp_path: Path) -> None:
    try:
        simulation = play(tmp_path, steps, scenario)
    except CannotSimulate as error:
        pytest.fail(f"{error}: {[(each.path, each.message) for each in error.findings]}")
    assert [f"{each.at}: {each.words}" for each in simulation.differences()] == []
    assert simulation.unfired == []


def test_the_same_story_gives_the_same_bytes(tmp_path: Path) -> None:
    steps, scenario = STORIES["what is undone takes place anew"]
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        texts.append("".join(play(tmp_path / name, steps, scenario).history_lines()))
    assert texts[0] == texts[1]


def test_a_story_that_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(CannotSimulate) as caught:
        play(tmp_path, "\n  - a: { lab.gett: { n: 1 } }\n", "\nexpect: { status: succeeded }\n")
    assert [each.rule for each in caught.value.findings] == ["unknown-action"]
