"""``workfile run``: the JSON exactly, the options, and what is said when nothing can be simulated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.simulation.conftest import ROUND, SCENARIO, WORKFILE, Put, Run

ROOT = Path(__file__).resolve().parents[3]

GOLDEN = {
    "version": 1,
    "run": "run-00974aabe8b2",
    "workflow": "sell",
    "status": "held",
    "result": None,
    "stop": None,
    "cancel": None,
    "failure": None,
    "clock": {"start": "2026-01-01T00:00:00Z", "now": "2026-01-01T00:15:00Z"},
    "bindings": {
        "charge": {"id": "c-1"},
        "paid": {"status": "received", "event": {"id": "c-1", "amount": 5000}},
    },
    "waiting": [{"kind": "decision", "path": "receipt", "reason": "ambiguous"}],
    "holds": [{"path": "receipt", "reason": "ambiguous"}],
    "effects": [
        {"action": "shop.charge", "key": "run-00974aabe8b2:charge", "path": "charge", "count": 1, "invocations": 2},
        {"action": "shop.print", "key": None, "path": "receipt", "count": 1, "invocations": 1},
    ],
    "calls": [
        {
            "at": "2026-01-01T00:00:00Z",
            "action": "shop.charge",
            "path": "charge",
            "generation": 0,
            "attempt": 1,
            "key": "run-00974aabe8b2:charge",
            "connection": None,
            "arguments": {"amount": 5},
            "answer": "failure",
        },
        {
            "at": "2026-01-01T00:01:00Z",
            "action": "shop.charge",
            "path": "charge",
            "generation": 0,
            "attempt": 2,
            "key": "run-00974aabe8b2:charge",
            "connection": None,
            "arguments": {"amount": 5},
            "answer": "success",
        },
        {
            "at": "2026-01-01T00:15:00Z",
            "action": "shop.print",
            "path": "receipt",
            "generation": 0,
            "attempt": 1,
            "key": None,
            "connection": None,
            "arguments": {"text": "thank you"},
            "answer": "ambiguous",
        },
    ],
    "crashes": 1,
    "generation": 0,
}


def test_the_json_of_a_run(workfile: Run) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    report = json.loads(ran.out)
    history = report.pop("history")
    assert report == GOLDEN
    assert list(report) == list(GOLDEN)
    assert [list(each) for each in report["effects"]] == [list(each) for each in GOLDEN["effects"]]  # type: ignore[attr-defined]
    assert [list(each) for each in report["calls"]] == [list(each) for each in GOLDEN["calls"]]  # type: ignore[attr-defined]
    assert history["digest"].startswith("sha256:")
    assert len(history["digest"]) == 7 + 64


def test_the_timeline(workfile: Run) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml")
    assert (ran.code, ran.err) == (0, "")
    for text in (
        " +0s  run      accepted as run-00974aabe8b2 of `sell`, inputs ",
        " +0s  charge   attempt 1 failed with `busy`",
        " +0s  charge   attempt 2 follows after 1m, as the server asked\n",
        '+10m  paid     takes `shop.paid` {"id": "c-1", "amount": 5000}\n',
        "+15m  receipt  is held: ambiguous; an operator may decide `succeed`, `fail`\n",
        "\nsell: held at 2026-01-01T00:15:00Z\n",
        "  held      at `receipt`: ambiguous\n",
        "  effect    shop.charge at `charge`: 1 in 2 calls\n",
        "  crashes   1, generation 0\n",
    ):
        assert text in ran.out


def test_the_defaults(workfile: Run) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--input", "amount=5", "--format", "json")
    report = json.loads(ran.out)
    assert (ran.code, report["status"]) == (0, "succeeded")
    assert report["result"] == {"status": "timeout", "page": "receipt#1"}
    assert report["clock"]["now"] == "2026-01-01T01:00:00Z"


def test_invalid_inputs_are_a_failed_run(workfile: Run) -> None:
    for inputs in ((), ("--input", "amount=five"), ("--input", "amount=5", "--input", "more=1")):
        ran = workfile("run", "sell.workfile.yaml", *inputs, "--format", "json")
        report = json.loads(ran.out)
        assert (ran.code, report["status"], report["failure"]["code"]) == (0, "failed", "input.invalid")


def test_inputs_replace_the_scenarios_by_name(workfile: Run, put: Put) -> None:
    put("other.scenario.yaml", SCENARIO.replace("inputs: { amount: 5 }", "inputs: { amount: 5, note: a }"))
    options = ("--scenario", "other.scenario.yaml", "--input", "note=x", "--until", "1m", "--format", "json")
    assert workfile("run", "sell.workfile.yaml", *options).code == 1  # the crash never comes before `until`
    ran = workfile("run", "sell.workfile.yaml", "--input", 'note="b: c"', "--input", "amount=6", "--format", "json")
    assert json.loads(ran.out)["calls"][-1]["arguments"] == {"text": "b: c"}


def test_until_stops_the_clock_there(workfile: Run) -> None:
    for until in ("30m", "2026-01-01T00:30:00Z"):
        ran = workfile("run", "sell.workfile.yaml", "--input", "amount=5", "--until", until, "--format", "json")
        report = json.loads(ran.out)
        assert (report["status"], report["clock"]["now"]) == ("suspended", "2026-01-01T00:30:00Z")
        assert [each["kind"] for each in report["waiting"]] == ["timer", "event"]
        assert report["waiting"][1] == {
            "kind": "event",
            "path": "paid",
            "trigger": "shop.paid",
            "match": {"id": "charge#1"},
        }


def test_a_dry_run_suppresses_writes(workfile: Run) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--input", "amount=5", "--dry-run", "--format", "json")
    report = json.loads(ran.out)
    assert report["effects"] == []
    assert report["bindings"]["charge"] == {"$suppressed": {"id": "charge"}}


def test_the_trigger_payload(workfile: Run, put: Put) -> None:
    put(
        "t.workfile.yaml",
        WORKFILE.replace("inputs: { amount: integer,", "trigger: { source: shop.opened }\ninputs: {")
        .replace("inputs.amount", "trigger.amount")
        .replace("name: sell", "name: opened"),
    )
    put("payload.yaml", "amount: 7\n")
    for source, stdin in (("payload.yaml", ""), ("-", '{"amount": 7}')):
        ran = workfile("run", "t.workfile.yaml", "--trigger", source, "--format", "json", stdin=stdin)
        assert json.loads(ran.out)["calls"][0]["arguments"] == {"amount": 7}, ran
    ran = workfile("run", "t.workfile.yaml", "--format", "json")
    assert json.loads(ran.out)["failure"]["code"] == "input.invalid"


def test_history_store_and_export_are_the_same(workfile: Run, tmp_path: Path) -> None:
    options = ("sell.workfile.yaml", "--scenario", "sell.scenario.yaml", "--format", "json")
    first = workfile("run", *options, "--history", "a.history.jsonl")
    second = workfile("run", *options, "--history", "b.history.jsonl", "--store", "s.sqlite")
    assert first.out == second.out
    ran = workfile("history", "export", "s.sqlite", "-o", "c.history.jsonl")
    assert (ran.code, ran.out) == (0, "")
    texts = [(tmp_path / f"{name}.history.jsonl").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] == texts[2]
    report = json.loads(first.out)
    last = json.loads(texts[0].splitlines()[-1])
    assert report["history"] == {"records": last["seq"], "digest": f"sha256:{last['digest']}"}


@pytest.mark.slow
def test_two_hash_seeds_give_the_same_bytes(put: Put, tmp_path: Path) -> None:
    texts = []
    for seed in ("1", "2"):
        arguments = ["run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml", "--history", f"{seed}.jsonl"]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "workfile_cli", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=60)
        texts.append((done.stdout, (tmp_path / f"{seed}.jsonl").read_bytes()))
    assert texts[0] == texts[1]


def test_export_redacts_and_chooses(workfile: Run, tmp_path: Path) -> None:
    options = ("sell.workfile.yaml", "--scenario", "sell.scenario.yaml", "--store", "s.sqlite")
    assert workfile("run", *options).code == 0
    ran = workfile("run", *options)
    assert (ran.code, "already holds the run" in ran.err) == (2, True)
    assert workfile("run", *options, "--seed", "7").code == 0
    ran = workfile("history", "export", "s.sqlite", "-o", "x.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "holds 2 runs: choose one with `--run`" in ran.err
    ran = workfile("history", "export", "s.sqlite", "--run", GOLDEN["run"], "--redact", "-o", "x.jsonl")
    assert ran.code == 0
    text = (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert "5000" not in text
    assert '{"$withheld":"event.payload"}' in text
    ran = workfile("history", "export", "s.sqlite", "--run", "run-x", "-o", "x.jsonl")
    assert (ran.code, "holds no run `run-x`" in ran.err) == (2, True)


def test_error_findings_are_printed_and_nothing_runs(workfile: Run, put: Put, tmp_path: Path) -> None:
    put("bad.workfile.yaml", WORKFILE.replace("shop.charge:", "shop.chrage:").replace("name: sell", "name: bad"))
    ran = workfile("run", "bad.workfile.yaml", "--history", "out.jsonl")
    assert ran.code == 1
    assert "bad.workfile.yaml:6:7: error unknown-action" in ran.out
    assert ran.err.startswith("workfile run: error: `bad.workfile.yaml` cannot be run")
    assert not (tmp_path / "out.jsonl").exists()
    ran = workfile("run", "bad.workfile.yaml", "--format", "json")
    assert [each["rule"] for each in json.loads(ran.out)["findings"]][:1] == ["unknown-action"]
    put("bad.scenario.yaml", SCENARIO.replace("code: busy", "code: bsy"))
    ran = workfile("run", "sell.workfile.yaml", "--scenario", "bad.scenario.yaml")
    assert (ran.code, "answer-invalid" in ran.out) == (1, True)


def test_a_crash_that_never_comes_is_an_error_of_the_scenario(workfile: Run, put: Put) -> None:
    put("crash.scenario.yaml", SCENARIO.replace("path: paid }, down", "path: paid, nth: 2 }, down"))
    ran = workfile("run", "sell.workfile.yaml", "--scenario", "crash.scenario.yaml", "--format", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["status"] == "held"
    assert ran.err.count("\n") == 1
    assert "after `event.accepted` number 2 at `paid` never came" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.workfile.yaml",), "cannot read `none.workfile.yaml`: there is no such file"),
        (("sell.scenario.yaml",), "is not a Workfile; play it with `--scenario`"),
        (("connectors/shop.connector.yaml",), "`connectors/shop.connector.yaml` is not a Workfile"),
        (("sell.workfile.yaml", "--scenario", "none.scenario.yaml"), "cannot read `none.scenario.yaml`"),
        (("sell.workfile.yaml", "--input", "amount"), "is not of the form NAME=YAML"),
        (("sell.workfile.yaml", "--input", "amount="), "has no value"),
        (("sell.workfile.yaml", "--input", "amount=[1"), "is not YAML"),
        (("sell.workfile.yaml", "--until", "soon"), "`soon` is not a duration"),
        (("sell.workfile.yaml", "--until", "2020-01-01T00:00:00Z"), "before the start"),
        (("sell.workfile.yaml", "--trigger", "none.yaml"), "cannot read `none.yaml`"),
        (("sell.workfile.yaml", "--seed", "x"), "not a valid integer"),
        (("sell.workfile.yaml", "--format", "xml"), "`xml` is not one of"),
        (
            ("sell.workfile.yaml", "--input", "amount=5", "--store", "sell.workfile.yaml"),
            "is damaged, or no store at all",
        ),
        (("sell.workfile.yaml", "--input", "amount=5", "--history", "none/x.jsonl"), "cannot write the history"),
        ((), "missing argument"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_call_that_cannot_be_carried_out(workfile: Run, arguments: tuple[str, ...], words: str) -> None:
    ran = workfile("run", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert any(each in ran.err for each in words.split("|")), ran.err


def test_an_output_that_nothing_fits_is_one_line(workfile: Run, put: Put) -> None:
    connector = (
        'connector: odd\nversion: "1"\nactions:\n  get: { effect: read, output: { type: string, pattern: "(?=a)b" } }\n'
    )
    put("connectors/odd.connector.yaml", connector)
    put("odd.workfile.yaml", 'workfile: "1.0"\nname: odd\nsteps:\n  - a: { odd.get: {} }\nresult: "{{ a }}"\n')
    ran = workfile("run", "odd.workfile.yaml")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "no default answer for `odd.get` (at `a`)" in ran.err


@pytest.mark.parametrize("command", ["run", "step"])
def test_a_payload_that_nothing_takes_is_refused(workfile: Run, put: Put, command: str) -> None:
    put("t.json", "{}")
    ran = workfile(command, "sell.workfile.yaml", "--input", "amount=1", "--trigger", "t.json")
    assert (ran.code, ran.out) == (2, "")
    assert "`sell` has no root `trigger`, so nothing takes the payload: leave it out" in ran.err


def test_a_run_that_goes_round_is_one_line(workfile: Run, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim_runtime.driver.circles.MAX_TURNS", 100)
    put("round.workfile.yaml", ROUND)
    ran = workfile("run", "round.workfile.yaml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "the state `a` was entered 100 times at 2026-01-01T00:00:00Z; let a route lead out" in ran.err


@pytest.mark.parametrize("name", ["sell.workfile.yaml", "connectors/shop.connector.yaml"])
def test_a_file_of_another_kind_is_no_scenario(workfile: Run, name: str) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--scenario", name)
    assert (ran.code, ran.out) == (2, "")
    assert f"`{name}` is not a scenario: its name must end in `.scenario.yaml`" in ran.err


def test_the_timeline_tells_crashes(run: Run, folder: Path) -> None:
    (folder / "a.workfile.yaml").write_text(
        'workfile: "1.0"\nname: naps\nsteps:\n  - nap: { wf.wait: 1h }\n', encoding="utf-8"
    )
    (folder / "a.scenario.yaml").write_text(
        "workfile: a.workfile.yaml\ncrashes:\n  - { after: { record: timer.set }, down: 10m }\n"
        "  - { before: { record: run.finished } }\n",
        encoding="utf-8",
    )
    done = run("run", "a.workfile.yaml", "--scenario", "a.scenario.yaml")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines.index("+0s run the executor dies, and is back after 10m") < lines.index("+1h nap the timer fires")
    assert "+1h run the executor dies, and is back at once" in lines
