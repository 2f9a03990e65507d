"""However a run is walked through, its history is that of ``workfile run``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from driver import Driver

from lsp_server.dap.protocol import FILTERS
from sim_runtime.history.encoding import record_json
from sim_runtime.simulation import prepare

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCENARIOS = sorted((EXAMPLES / "scenarios").glob("*.scenario.yaml"))


def by_name(path: Path) -> str:
    return path.name.partition(".")[0]


def simulated(scenario: Path) -> tuple[list[Any], list[Any]]:
    """The records and effects of ``workfile run``."""
    run = prepare(None, str(scenario)).simulation().finish().run
    return [record_json(each) for each in run.records], run.world.effects()


def launched(scenario: Path, filters: list[str]) -> Driver:
    driver = Driver()
    driver.answer("initialize", {})
    driver.answer("setExceptionBreakpoints", {"filters": filters})
    driver.answer("launch", {"scenario": str(scenario), "stopOnEntry": True})
    driver.answer("configurationDone")
    return driver


def came_to(driver: Driver) -> tuple[list[Any], list[Any]]:
    live = driver.session.live
    return [record_json(each) for each in live.durable], live.run.world.effects()


def ends(driver: Driver) -> bool:
    """Whether the session has ended, or the run is held for good."""
    return driver.stop is None or "held" in driver.stop["description"]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=by_name)
@pytest.mark.parametrize("command", ["stepIn", "next", "stepOut", "continue"])
def test_stepping_through_gives_the_same_history(scenario: Path, command: str) -> None:
    driver = launched(scenario, list(FILTERS) if command == "continue" else [])
    for _ in range(2_000):
        if ends(driver):
            break
        assert driver.stop is not None
        thread = driver.stop["threadId"]
        driver.answer("threads")
        for frame in driver.answer("stackTrace", {"threadId": thread})["stackFrames"]:
            for scope in driver.answer("scopes", {"frameId": frame["id"]})["scopes"]:
                driver.answer("variables", {"variablesReference": scope["variablesReference"]})
        driver.answer("workfile/timeline")
        driver.answer(command, {"threadId": thread})
    assert ends(driver)
    assert came_to(driver) == simulated(scenario)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=by_name)
def test_back_and_forth_gives_the_same_history(scenario: Path) -> None:
    chance = random.Random(by_name(scenario))
    driver = launched(scenario, ["failure", "recovery"])
    for _ in range(60):
        if ends(driver):
            break
        command = chance.choice(
            ["stepIn", "stepIn", "next", "stepBack", "stepBack", "reverseContinue", "stepOut", "goto"]
        )
        assert driver.stop is not None
        arguments = {"threadId": driver.stop["threadId"]}
        if command == "goto":
            found = driver.answer("workfile/timeline", {"limit": 1})
            arguments["targetId"] = chance.randint(1, max(1, found["recordsTotal"]))
        driver.ask(command, arguments)  # at the beginning there is no way back
        driver.work(1_000_000)
    while not ends(driver):
        driver.answer("continue", {"threadId": 1})
    assert came_to(driver) == simulated(scenario)
