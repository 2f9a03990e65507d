"""Lenses, and the commands that run simulations beside everything else: progress, cancellation, results."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_server.results import Result
from tests.lsp.raw import ROOT, RawClient

ORDER = "order.workfile.yaml"
SCENARIO = "scenarios/order-retry-after-decline.scenario.yaml"
FAILING = """\
workfile: ../order.workfile.yaml
inputs: { order_id: o-1, amount: 5, customer: c-1, lines: [] }
expect:
  status: held
"""
CAPABILITIES = {
    "textDocument": {"codeLens": {}},
    "workspace": {"codeLens": {"refreshSupport": True}},
    "window": {"workDoneProgress": True},
}


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    return folder


@pytest.fixture
def client(examples: Path) -> Iterator[RawClient]:
    with RawClient() as client:
        client.start(examples, CAPABILITIES)
        yield client


def command(client: RawClient, name: str, *arguments: Any, **more: Any) -> Any:
    params = {"command": f"workfile.server.{name}", "arguments": list(arguments), **more}
    return client.request("workspace/executeCommand", params)


def titles(client: RawClient, path: Path) -> list[str]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
    return [lens["command"]["title"] for lens in found]


def test_scenarios_are_run_and_shown(client: RawClient, examples: Path) -> None:
    order, scenario = examples / ORDER, examples / SCENARIO
    (examples / "scenarios" / "order-held.scenario.yaml").write_text(FAILING, encoding="utf-8")
    assert titles(client, order) == ["Simulate", "Explore", "Run 2 scenarios"]
    assert titles(client, scenario) == ["Run scenario"]
    report = command(client, "test", order.as_uri())
    assert sorted(each["outcome"] for each in report["scenarios"]) == ["failed", "passed"]
    shown = titles(client, order)
    assert shown[2] == "2 scenarios: 1 passed, 1 failed"
    assert shown[3].endswith("% covered")
    assert titles(client, scenario) == ["Run scenario", "Passed"]
    failed = titles(client, examples / "scenarios" / "order-held.scenario.yaml")
    assert failed[1].startswith("Failed: status is ")
    client.wait(lambda message: message["method"] == "workspace/codeLens/refresh")
    client.open(scenario.as_uri(), scenario.read_text(encoding="utf-8") + "\n# changed\n")
    assert titles(client, scenario)[1] == "Passed (before the last change)"


def test_a_simulation_shows_its_progress_and_how_it_went(client: RawClient, examples: Path) -> None:
    order = (examples / ORDER).as_uri()
    report = command(client, "simulate", order, (examples / SCENARIO).as_uri())
    assert (report["workflow"], report["status"]) == ("order-fulfilment", "succeeded")
    kinds = [each["params"]["value"]["kind"] for each in client.seen if each["method"] == "$/progress"]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    shown = client.wait(lambda message: message["method"] == "window/showMessage")
    assert shown["params"]["message"].startswith("order.workfile.yaml: succeeded at ")


def test_an_exploration_reports(client: RawClient, examples: Path) -> None:
    options = {"budget": "5s", "states": 50}
    report = command(client, "explore", (examples / ORDER).as_uri(), options, workDoneToken="mine")
    assert report["states"] > 0
    assert {each["params"]["token"] for each in client.seen if each["method"] == "$/progress"} == {"mine"}


def test_the_impact_of_an_edit_reports(client: RawClient, examples: Path) -> None:
    old = examples.parent / "before" / ORDER
    old.parent.mkdir()
    shutil.copy(examples / ORDER, old)
    shutil.copytree(examples / "connectors", old.parent / "connectors")
    report = command(client, "impact", (examples / ORDER).as_uri(), old.as_uri())
    assert (report["operation"], report["class"]) == ("impact", "compatible")


@pytest.mark.parametrize("how", ["$/cancelRequest", "window/workDoneProgress/cancel"])
def test_long_work_can_be_cancelled_and_holds_nothing_up(client: RawClient, examples: Path, how: str) -> None:
    uri = (examples / ORDER).as_uri()
    params = {"command": "workfile.server.explore", "arguments": [uri, {"crashes": 5}], "workDoneToken": 7}
    number = client.ask("workspace/executeCommand", params)
    client.wait(lambda message: message["method"] == "$/progress")
    assert titles(client, examples / ORDER)[0] == "Simulate"
    client.notify(how, {"id": number} if how == "$/cancelRequest" else {"token": 7})
    assert client.answer(number)["code"] == -32800
    client.wait(lambda each: each["method"] == "$/progress" and each["params"]["value"]["kind"] == "end")
    assert client.stop() == 0


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("simulate", [], -32602, "takes the URI of a Workfile"),
        ("simulate", ["untitled:one"], -32803, "is not saved"),
        ("simulate", ["SCENARIO"], -32602, "is not a Workfile"),
        ("explore", ["ORDER", {"colour": 1}], -32602, "not an option"),
        ("explore", ["ORDER", {"states": "many"}], -32602, "another kind"),
        ("explore", ["ORDER", {"budget": "soon"}], -32803, "budget"),
        ("impact", ["ORDER"], -32602, "takes the URI of a Workfile"),
        ("test", ["CHILD"], -32803, "No scenario of the workspace runs"),
        ("fly", [], -32602, "There is no command"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason(
    client: RawClient, examples: Path, name: str, arguments: list[Any], code: int, words: str
) -> None:
    files = {"ORDER": ORDER, "SCENARIO": SCENARIO, "CHILD": "account-setup.workfile.yaml"}
    given = [(examples / files[each]).as_uri() if each in files else each for each in map(_hashable, arguments)]
    answer = command(client, name, *[each if isinstance(each, str) else dict(each) for each in given])
    assert answer["code"] == code
    assert words in answer["message"]


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str) else tuple(value.items())


def test_a_workfile_with_errors_is_not_run(client: RawClient, examples: Path) -> None:
    path = examples / "broken.workfile.yaml"
    path.write_text('workfile: "1.0"\nname: broken\nsteps:\n  - s: { no.such: {} }\n', encoding="utf-8")
    for name in ("simulate", "explore"):
        report = command(client, name, path.as_uri())
        assert [each["rule"] for each in report["findings"]] == ["unknown-connector"]
        client.wait(lambda each: "has errors" in (each["params"] or {}).get("message", ""))


def test_lenses_carry_the_commands_of_a_client_that_has_its_own(server: Any, files: Any) -> None:
    files.write("main.workfile.yaml", 'workfile: "1.0"\nname: main\nsteps:\n  - s: { wf.wait: 1h }\n')
    path = files.write("one.scenario.yaml", "workfile: main.workfile.yaml\nexpect: { status: succeeded }\n")
    params = {"processId": None, "capabilities": {"textDocument": {"codeLens": {}}}}
    server.request("initialize", {**params, "initializationOptions": {"clientCommands": True}})

    def lenses(name: str) -> list[tuple[str, str]]:
        found = server.request("textDocument/codeLens", {"textDocument": {"uri": files.uri(name)}})
        return [(each["command"]["title"], each["command"]["command"]) for each in found]

    assert lenses("one.scenario.yaml") == [
        ("Run scenario", "workfile.runScenario"),
        ("Debug scenario", "workfile.debugScenario"),
    ]
    assert lenses("main.workfile.yaml") == [
        ("Simulate", "workfile.simulate"),
        ("Explore", "workfile.explore"),
        ("Run 1 scenario", "workfile.runScenario"),
    ]
    server.open(files.uri("above.workfile.yaml"), 'name: above\nworkfile: "1.0"\nsteps: []\n')
    uri = {"uri": files.uri("above.workfile.yaml")}
    places = [each["range"]["start"]["line"] for each in server.request("textDocument/codeLens", {"textDocument": uri})]
    assert set(places) == {0}  # above the Workfile, whichever key comes first
    server.server.results.put(path, Result("failed", ("status is 'held', not 'succeeded'",), "old"))
    assert lenses("one.scenario.yaml")[2][0] == "Failed: status is 'held', not 'succeeded' (before the last change)"
    server.notify("workspace/didChangeConfiguration", {"settings": {"workfile": {"codeLens": False}}})
    assert server.request("textDocument/codeLens", {"textDocument": {"uri": files.uri("main.workfile.yaml")}}) is None
