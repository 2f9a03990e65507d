"""``workfile step``: every command, on standard input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.simulation.conftest import ROUND, Put, Run
from tests.reported import check_report

FILE = ("sell.workfile.yaml", "--input", "amount=5")
HELD = ("sell.workfile.yaml", "--scenario", "sell.scenario.yaml")


def answers(workfile: Run, *commands: str, of: tuple[str, ...] = FILE) -> list[dict[str, Any]]:
    ran = workfile("step", *of, "--format", "json", stdin="\n".join(commands) + "\n")
    assert (ran.code, ran.err) == (0, "")
    found = [json.loads(line) for line in ran.out.splitlines()]
    for each in found:
        check_report("step-report", each)
    return found


def kinds(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["kind"], each["path"]) for each in answer["records"]]


def test_into_writes_one_transaction(workfile: Run) -> None:
    found = answers(workfile, "into", "into", "into")
    for answer in found:
        assert [each.get("boundary", False) for each in answer["records"]].count(True) == 1
        assert answer["records"][-1]["boundary"]
    assert [each["records_total"] for each in found] == [
        len(found[0]["records"]),
        found[1]["records"][-1]["seq"],
        found[2]["records"][-1]["seq"],
    ]


def test_next_goes_over_a_step_and_stops_where_the_run_waits(workfile: Run) -> None:
    first, second, third = answers(workfile, "next", "next", "next")
    assert kinds(first)[-1][1] in ("charge", "")
    assert ("action.succeeded", "charge") in kinds(second)
    assert second["status"] == "running"
    assert kinds(third)[-1] == ("run.suspended", "")
    assert third["status"] == "suspended"


def test_next_from_a_wait_moves_the_clock(workfile: Run) -> None:
    *_, last = answers(workfile, "next", "next", "next", "next", "state")
    assert last["state"]["clock"]["now"] == "2026-01-01T01:00:00Z"


def test_continue_and_back(workfile: Run) -> None:
    found = answers(workfile, "next", "continue", "state", "back", "state", "continue", "state", "back 9", "history")
    assert found[2]["state"] == found[6]["state"]
    assert found[2]["state"]["status"] == "succeeded"
    assert found[4]["records_total"] == found[0]["records_total"]
    assert found[-1]["records"] == []


def test_events_are_delivered_once(workfile: Run) -> None:
    event = 'deliver shop.paid --id e-1 {id: "charge#1", amount: 1}'
    found = answers(
        workfile, "next", "next", "next", "advance 10m", event, event, "deliver shop.paid {}", "continue", "state"
    )
    assert kinds(found[4])[0] == ("event.accepted", "paid")
    assert found[5]["error"] == "refused: the run ended before it was offered."
    assert found[6]["error"].startswith("the run is over")
    assert found[-1]["state"]["bindings"]["paid"]["event"] == {"id": "charge#1", "amount": 1}


@pytest.mark.parametrize(
    "decision",
    [
        "decide receipt {succeed: {page: p-1}}",
        "decide receipt succeed {page: p-1}",
        "decide receipt --actor dana succeed {page: p-1}",
    ],
)
def test_decisions_end_a_hold(workfile: Run, decision: str) -> None:
    found = answers(workfile, "continue", decision, "continue", "state", of=HELD)
    assert found[0]["status"] == "held"
    decided = found[1]["records"][0]
    assert decided["kind"] == "operator.decided"
    assert decided["data"]["actor"] == ("dana" if "dana" in decision else "operator")
    assert found[-1]["state"]["result"] == {"status": "received", "page": "p-1"}


def test_a_failing_decision(workfile: Run) -> None:
    found = answers(workfile, "continue", "decide receipt fail {code: torn}", "continue", "state", of=HELD)
    assert found[-1]["state"]["failure"]["code"] == "torn"


def test_a_decision_that_is_refused(workfile: Run) -> None:
    found = answers(
        workfile,
        "continue",
        "decide receipt reissue",
        "decide charge reissue",
        "decide receipt maybe",
        "decide receipt",
        of=HELD,
    )
    assert [each["error"] is not None for each in found] == [False, True, True, True, True]
    assert "is not a decision" in found[3]["error"]
    assert len({each["records_total"] for each in found}) == 1


def test_a_crash_loses_nothing_that_is_written(workfile: Run) -> None:
    found = answers(workfile, "next", "next", "next", "crash", "next", "resume 2h", "continue", "state", "effects")
    assert "the executor is down" in found[4]["error"]
    state = found[7]["state"]
    assert (state["status"], state["crashes"]) == ("succeeded", 1)
    assert state["clock"]["now"] == "2026-01-01T02:00:00Z"
    assert [each["count"] for each in found[8]["effects"]] == [1, 1]


def test_what_can_be_looked_at_before_the_start_and_while_the_executor_is_down(workfile: Run) -> None:
    found = answers(workfile, "state", "effects", "history", "next", "next", "crash", "state", "effects", "history")
    assert [each["error"] for each in found] == [None] * 9
    assert (found[0]["state"], found[1]["effects"], found[2]["records"]) == (None, [], [])
    assert (found[6]["state"]["status"], len(found[7]["effects"])) == ("running", 1)
    assert len(found[8]["records"]) == 10
    assert found[8]["records_total"] == found[4]["records_total"]


def test_back_to_where_the_executor_is_down(workfile: Run) -> None:
    found = answers(workfile, "into", "into", "crash", "history", "resume", "back", "history", "state")
    assert len(found[3]["records"]) == found[1]["records_total"]
    assert found[6]["records"] == found[3]["records"]
    assert found[7]["state"]["history"]["records"] == found[1]["records_total"]
    text = workfile("step", *FILE, stdin="into\ninto\ncrash\nresume\nback\nstate\nquit\n").out
    total = found[1]["records_total"]
    assert f"back at record {total}; the executor is down; `resume` brings it back\n" in text
    assert "the executor is down; `resume` brings it back; this is what is recorded\n" in text


def test_cancel(workfile: Run) -> None:
    found = answers(workfile, "next", "cancel changed my mind", "continue", "state")
    assert found[-1]["state"]["status"] == "cancelled"
    assert found[-1]["state"]["cancel"] == {"reason": "changed my mind"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("nexxt", "Did you mean `next`?"),
        ("next 3", "takes nothing after it"),
        ("advance soon", "is not a duration"),
        ("advance", "a duration is missing"),
        ("back x", "a count of at least 1"),
        ("back 0", "a count of at least 1"),
        ("back", "this is the beginning"),
        ("resume", "the executor is up"),
        ("deliver paid {}", "write `deliver connector.trigger PAYLOAD`"),
        ("deliver shop.paid {", "is not YAML"),
        ("decide receipt", "write `decide PATH DECISION`"),
        ("history -1", "a count of at least 1"),
    ],
)
def test_a_bad_command_says_what_is_wrong_and_changes_nothing(workfile: Run, command: str, words: str) -> None:
    (answer,) = answers(workfile, command)
    assert words in answer["error"]
    assert answer["records_total"] == 0


def test_after_the_end_only_the_way_back_is_open(workfile: Run) -> None:
    found = answers(workfile, "continue", "next", "cancel", "deliver shop.paid {}", "advance 1h", "back", "next")
    assert [each["error"] is not None for each in found] == [False, True, True, True, True, False, False]


def test_text(workfile: Run) -> None:
    commands = "help\nnext\n# a note\n\nstate\nhistory 2\neffects\ncontinue\nquit\nnext\n"
    ran = workfile("step", *FILE, stdin=commands)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("sell, at the start; `help` lists the commands\nnext")
    assert "deliver TRIGGER [--id ID] PAYLOAD" in ran.out
    assert "accepted as run-" in ran.out
    assert ran.out.endswith("succeeded at 2026-01-01T01:00:00Z\n")


def test_the_history_is_that_of_the_run_at_the_end(workfile: Run) -> None:
    ran = workfile("step", *FILE, "--history", "a.jsonl", stdin="next\ncontinue\nback\ncontinue\n")
    assert ran.code == 0
    assert workfile("run", *FILE, "--history", "b.jsonl").code == 0
    with open("a.jsonl", "rb") as a, open("b.jsonl", "rb") as b:  # noqa: PTH123
        assert a.read() == b.read()


def test_what_cannot_be_stepped(workfile: Run) -> None:
    ran = workfile("step", *FILE, "--store", "s.sqlite")
    assert (ran.code, "`--store` is for `workfile run`" in ran.err) == (2, True)
    ran = workfile("step", "none.workfile.yaml")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_cancellation_is_told_to_its_end(workfile: Run) -> None:
    ran = workfile("step", *FILE, stdin="next\nnext\ncancel too late\n")
    assert ran.out.splitlines()[-2].endswith("run  cancelled")
    assert ran.out.splitlines()[-1].startswith("cancelled at ")
    assert "waits at" not in ran.out.splitlines()[-1]


def test_the_clock_stops_at_the_outcome(workfile: Run) -> None:
    ran = workfile("step", *FILE, stdin="advance 10h\n")
    assert ran.out.endswith("succeeded at 2026-01-01T01:00:00Z\n")


def test_a_run_that_goes_round_is_told_and_the_way_back_is_open(
    workfile: Run, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim_runtime.driver.circles.MAX_TURNS", 100)
    put("round.workfile.yaml", ROUND)
    found = answers(workfile, "into", "continue", "back", "state", of=("round.workfile.yaml",))
    assert "the state `a` was entered" in found[1]["error"]
    assert [each["error"] for each in found[2:]] == [None, None]


def test_what_comes_while_the_executor_is_down_is_offered_on_its_return(workfile: Run) -> None:
    found = answers(
        workfile,
        "next",
        "next",
        "crash",
        "deliver shop.paid {id: nobody, amount: 1}",
        "decide receipt reissue",
        "cancel gone",
        "resume 1m",
        "continue",
        "state",
    )
    assert [each["error"] for each in found] == [None] * 9
    kinds = [each["kind"] for each in found[7]["records"]]
    assert kinds.index("event.refused") < kinds.index("cancel.decided")
    assert found[8]["state"]["status"] == "cancelled"


def test_the_end_of_the_simulation_is_told(workfile: Run) -> None:
    ran = workfile(
        "step", "sell.workfile.yaml", "--input", "amount=5", "--until", "30m", stdin="next\nnext\nnext\nnext\n"
    )
    assert ran.out.splitlines()[-1].startswith(
        "suspended at 2026-01-01T00:30:00Z, which is the end of the simulation (`until`)"
    )


def test_why_an_event_is_refused(workfile: Run) -> None:
    ran = workfile("step", *FILE, stdin="next\nnext\ndeliver shop.paid {id: nobody, amount: 1}\n")
    assert ran.out.endswith("refused: no open wait takes this event (`unmatched`).\n")


def test_a_run_that_has_something_to_do_is_not_called_suspended(workfile: Run) -> None:
    ran = workfile("step", *FILE, stdin='next\nnext\ndeliver shop.paid {id: "charge#1", amount: 1}\n')
    assert ran.out.splitlines()[-1].startswith("about to go on at ")
