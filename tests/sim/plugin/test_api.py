"""The Python interface: arguments, what comes back, errors."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import sim_runtime
from sim_runtime import CannotSimulate, Simulation, prepare_run, simulate
from tests.cli.simulation.conftest import FILES, SCENARIO

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def sell(tmp_path: Path) -> Path:
    """The Workfile of a small project."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "sell.workfile.yaml"


def test_the_package_loads_nothing_before_it_is_asked() -> None:
    names = "[name for name in sys.modules if name.startswith(('sim_runtime.', 'analyzer'))]"
    code = f"import sys, sim_runtime; print({names})"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert not hasattr(sim_runtime, "nothing_of_that_name")


def test_a_run_with_nothing_but_inputs(sell: Path) -> None:
    run = simulate(sell, inputs={"amount": 5})
    assert isinstance(run, Simulation)
    assert (run.status, run.failure) == ("succeeded", None)
    assert run.result == {"status": "timeout", "page": "receipt#1"}
    assert run.report["clock"]["now"] == "2026-01-01T01:00:00Z"
    assert next(run.history_lines()).startswith("{")


def test_inputs_that_do_not_fit_are_a_failed_run(sell: Path) -> None:
    run = simulate(sell, inputs={"amount": "five"})
    assert run.status == "failed"
    assert run.failure["code"] == "input.invalid"


def test_arguments_replace_what_the_scenario_says_and_inputs_name_by_name(sell: Path) -> None:
    scenario = sell.with_name("sell.scenario.yaml")
    run = simulate(scenario=scenario, inputs={"note": "hello"})
    assert [call["arguments"] for call in run.report["calls"] if call["action"] == "shop.print"] == [{"text": "hello"}]
    assert (run.status, run.report["crashes"]) == ("held", 1)
    run = simulate(scenario=scenario, crashes=[], actions={"shop.print": {"succeed": {"page": "p"}}})
    assert (run.status, run.report["crashes"], run.invocations("shop.charge")) == ("succeeded", 0, 1)
    assert simulate(scenario=scenario, events=[]).binding("paid.status") == "timeout"


def test_a_scenario_as_a_map_is_the_scenario_as_a_file(sell: Path) -> None:
    from ruamel.yaml import YAML

    parts = YAML(typ="safe").load(SCENARIO)
    del parts["workfile"]
    by_map = simulate(sell, parts)
    assert by_map.differences() == []
    assert by_map.report == simulate(scenario=sell.with_name("sell.scenario.yaml")).report


def test_times_of_python(sell: Path) -> None:
    start = datetime(2027, 3, 1, 8, tzinfo=UTC)
    event = {"at": start + timedelta(minutes=5), "deliver": "shop.paid", "payload": {"id": "c", "amount": 1}}
    run = simulate(
        sell,
        inputs=MappingProxyType({"amount": 5}),
        start=start,
        actions={"shop.charge": {"succeed": {"id": "c"}, "latency": timedelta(milliseconds=1500)}},
        events=iter([event]),
        until=timedelta(days=1),
    )
    assert run.binding("paid.status") == "received"
    assert run.report["clock"] == {"start": "2027-03-01T08:00:00Z", "now": "2027-03-01T08:05:00Z"}


def test_a_time_counts_from_the_start_of_the_scenario_file(sell: Path) -> None:
    scenario = sell.with_name("late.scenario.yaml")
    scenario.write_text("workfile: sell.workfile.yaml\nstart: 2030-01-01T00:00:00Z\ninputs: { amount: 1 }\n")
    event = {"at": "2030-01-01T00:30:00Z", "deliver": "shop.paid", "payload": {"id": "charge#1", "amount": 1}}
    run = simulate(scenario=scenario, events=[event])
    assert run.report["clock"]["now"] == "2030-01-01T00:30:00Z"


def test_a_prepared_run_can_be_run_many_times(sell: Path) -> None:
    prepared = prepare_run(sell, inputs={"amount": 5})
    first, second = prepared.simulation().finish(), prepared.simulation().finish()
    assert first is not second
    assert first.report == second.report


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"input": {}}, "`input` is not a key that can be given here. Did you mean `inputs`?"),
        ({"inputs": 3}, "`inputs`"),
        ({"until": "soon"}, "`soon`"),
        ({"actions": {"shop.charg": {"succeed": None}}}, "Did you mean `shop.charge`?"),
        ({"events": [{"at": "1m", "deliver": "shop.nothing"}]}, "shop.nothing"),
        ({"expect": {"statu": "held"}}, "statu"),
    ],
)
def test_what_no_scenario_can_say(sell: Path, parts: dict[str, Any], words: str) -> None:
    with pytest.raises(CannotSimulate) as caught:
        simulate(sell, **parts)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_map_names_no_workfile(sell: Path) -> None:
    with pytest.raises(CannotSimulate, match="`workfile` is not a key that can be given here"):
        simulate(sell, {"workfile": "x"})


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), datetime(2026, 1, 1)])  # noqa: DTZ001
def test_a_value_that_no_file_can_hold(sell: Path, value: object) -> None:
    with pytest.raises(TypeError):
        simulate(sell, inputs={"amount": value})


def test_a_workfile_with_errors_tells_them_as_notes(sell: Path) -> None:
    sell.write_text(FILES["sell.workfile.yaml"].replace("shop.charge:", "shop.charg:"))
    with pytest.raises(CannotSimulate) as caught:
        simulate(sell, inputs={"amount": 5})
    assert caught.value.findings
    assert caught.value.__notes__[0].startswith(f"{sell}:6:7: ")
    sell.write_text(FILES["sell.workfile.yaml"])
    assert simulate(sell, inputs={"amount": 5}).status == "succeeded"


@pytest.mark.parametrize("name", ["none.workfile.yaml", "sell.scenario.yaml"])
def test_a_file_that_is_no_workfile(sell: Path, name: str) -> None:
    with pytest.raises(CannotSimulate):
        simulate(sell.with_name(name))
    with pytest.raises(CannotSimulate, match="neither a Workfile nor a scenario"):
        simulate()


def test_expectations_are_told_in_words_and_checked(sell: Path) -> None:
    run = simulate(sell, inputs={"amount": 5})
    assert run.expect(status="succeeded", clock="1h", bindings={"paid.status": "timeout"}) is run
    with pytest.raises(AssertionError, match="the time that passed is 1h, expected 2h"):
        run.expect(clock=timedelta(hours=2))
    with pytest.raises(CannotSimulate):
        run.expect(effects={"shop.charg": 1})
