"""What the server does by name: ``workspace/executeCommand``."""

from __future__ import annotations

from typing import Any

import pytest

TEXT = """\
workfile: "1.0"
name: main
connectors: { pay: connectors/pay.connector.yaml }
steps:
  - work:
      wf.group:
        - take: { pay.charge: { amount: 1, customer: "😀" } }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: hold }
  - after: { pay.refund: { charge_id: "{{ work.take.charge_id }}" } }
"""


def ask(server: Any, *arguments: Any, command: str = "workfile.server.graph") -> Any:
    return server.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})


def test_the_graph_and_the_places_of_its_steps(server: Any, files: Any) -> None:
    assert "workfile.server.graph" in server.start()["executeCommandProvider"]["commands"]
    uri = files.uri("main.workfile.yaml")
    server.open(uri, TEXT)
    found = ask(server, uri)
    assert found["dot"].startswith("digraph workfile {")
    assert ':work.take"' in found["dot"]
    assert [(place["path"], place["kind"]) for place in found["places"]] == [
        ("work", "wf.group"),
        ("work.take", "action"),
        ("after", "action"),
    ]
    take = found["places"][1]
    assert take["keyRange"] == {"start": {"line": 6, "character": 10}, "end": {"line": 6, "character": 14}}
    assert take["range"]["end"] == {"line": 6, "character": 61}
    assert ask(server, uri, {"redo": True})["dot"] != found["dot"]


def test_there_is_no_graph_of_other_files(server: Any, files: Any) -> None:
    server.start()
    assert ask(server, files.uri("connectors/pay.connector.yaml")) is None
    assert ask(server, files.uri("none.workfile.yaml")) is None


@pytest.mark.parametrize("arguments", [[], [1], ["file:///a.workfile.yaml", "redo"]])
def test_arguments_that_make_no_sense(server: Any, arguments: list[Any]) -> None:
    server.start()
    answer = ask(server, *arguments)
    assert (answer["code"], "takes the URI" in answer["message"]) == (-32602, True)


def test_a_command_that_there_is_not(server: Any) -> None:
    server.start()
    answer = ask(server, command="workfile.server.fly")
    assert answer["code"] == -32602
    assert "`workfile.server.graph`" in answer["message"]


def test_the_scenarios_of_a_workfile(server: Any, files: Any) -> None:
    server.start()
    files.write("main.workfile.yaml", TEXT)
    files.write("b.scenario.yaml", "workfile: main.workfile.yaml\n")
    files.write("a/a.scenario.yaml", "workfile: ../main.workfile.yaml\n")
    files.write("other.scenario.yaml", "workfile: other.workfile.yaml\n")
    found = ask(server, files.uri("main.workfile.yaml"), command="workfile.server.scenarios")
    assert sorted(found) == [files.uri("a/a.scenario.yaml"), files.uri("b.scenario.yaml")]
    assert ask(server, command="workfile.server.scenarios")["code"] == -32602
