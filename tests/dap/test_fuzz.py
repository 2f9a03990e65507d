"""Requests in any order, good and bad: each is answered once, events keep their order, nothing fails inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driver import Driver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.workspace.project import forget_projects
from lsp_server.dap.protocol import REQUESTS, Argument
from tests.dap.conftest import INPUTS, Folder

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from(["a", "path", "line", "name"]), st.integers(0, 30), max_size=2),
)
EXPRESSIONS = st.sampled_from(
    [
        "inputs.amount",
        "price.total",
        "nothing",
        "1 +",
        "{{ item }}",
        "crash",
        "resume",
        "next",
        "in",
        "into",
        "out",
        "continue",
        "back",
        "reverse",
        "goto 7",
        "advance 1h",
        "deliver shop.paid {order: o-1, sum: 1}",
        "decide charge reissue",
        "cancel",
        "state",
        "help",
    ]
)


def value_for(argument: Argument, path: str) -> st.SearchStrategy[Any]:
    good: st.SearchStrategy[Any] = {
        "integer": st.integers(0, 12),
        "boolean": st.booleans(),
        "text": EXPRESSIONS,
        "texts": st.lists(st.sampled_from(["failure", "hold"])),
        "map": st.just({"path": path}),
        "list": st.lists(st.fixed_dictionaries({"line": st.integers(0, 50)}), max_size=3),
        "any": JUNK,
    }[argument.kind]
    return good if argument.kind == "any" else st.one_of(good, good, good, JUNK)


def requests_for(path: str) -> st.SearchStrategy[tuple[str, Any]]:
    def one(command: str) -> st.SearchStrategy[tuple[str, Any]]:
        table = REQUESTS[command].arguments
        required = {name: value_for(each, path) for name, each in table.items() if each.required}
        optional = {name: value_for(each, path) for name, each in table.items() if not each.required}
        arguments = st.fixed_dictionaries(required, optional=optional)
        return st.tuples(st.just(command), st.one_of(arguments, arguments, arguments, JUNK))

    names = [each for each in REQUESTS if each not in ("disconnect", "terminate", "launch", "workfile/explore")]
    return st.one_of(st.sampled_from(names), st.sampled_from(names)).flatmap(one)


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> str:
    return Folder(tmp_path_factory.mktemp("fuzz")).main


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_requests_after_a_launch(main: str, data: st.DataObject) -> None:
    driver = Driver()
    driver.ask("initialize", {})
    driver.ask(
        "launch", {"program": main, "inputs": INPUTS, "stopOnEntry": data.draw(st.booleans()), "stopAtEnd": True}
    )
    driver.ask("configurationDone")
    driver.work()
    for command, arguments in data.draw(st.lists(requests_for(main), max_size=25)):
        driver.ask(command, arguments)
        driver.work(data.draw(st.sampled_from([0, 1, 400])))
    driver.work()
    driver.ask("disconnect")
    driver.check()
    assert driver.session.finished


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_requests_from_the_start(main: str, data: st.DataObject) -> None:
    driver = Driver()
    names = st.sampled_from([*REQUESTS, "", "x", "workfile/", "initialize", "launch"])
    for command in data.draw(st.lists(names, max_size=20)):
        arguments = data.draw(JUNK) if command != "workfile/explore" else {}
        if command == "launch" and data.draw(st.booleans()):
            arguments = {"program": main, "inputs": INPUTS}
        driver.ask(command, arguments)
        driver.work(1)
    driver.ask("disconnect")
    driver.check()


@given(
    message=st.recursive(
        JUNK,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["seq", "type", "command", "arguments", "x"]), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_message(message: Any) -> None:
    driver = Driver()
    driver.session.handle(message)
    assert len(driver.sent) <= 1
    assert all(each["type"] == "response" and each["success"] is False for each in driver.sent)


def test_the_same_requests_give_the_same_answers(main: str) -> None:
    def played() -> list[dict[str, Any]]:
        forget_projects()
        driver = Driver()
        driver.ask("initialize", {})
        driver.ask("setBreakpoints", {"source": {"path": main}, "breakpoints": [{"line": 24}]})
        driver.ask("launch", {"program": main, "inputs": INPUTS})
        driver.ask("configurationDone")
        driver.work()
        for command in ("stepIn", "stepBack", "next", "stepOut", "reverseContinue", "continue"):
            driver.ask(command, {"threadId": 1})
            driver.work()
            driver.ask("workfile/timeline", {})
            driver.ask("threads", {})
            driver.ask("stackTrace", {"threadId": 1})
        return driver.sent

    assert played() == played()
    assert Path(main).exists()
