"""The server in this process: documents, diagnostics, watched files, and everything that a client may send wrongly."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from analyzer.workspace.project import forget_projects, project_for
from sim_runtime.rules.engine import check_file

GOOD = 'workfile: "1.0"\nname: main\nsteps:\n  - a: { pay.find: { reference: x } }\nresult: "{{ a.found }}"\n'
BAD = GOOD.replace("a.found", "a.fund")
PULL = {"textDocument": {"diagnostic": {}}}
RICH = {
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "tagSupport": {"valueSet": [1, 2]},
            "codeDescriptionSupport": True,
            "dataSupport": True,
        }
    }
}


def change(server: Any, uri: str, version: int, text: str) -> None:
    document = {"uri": uri, "version": version}
    server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})


def codes(publication: dict[str, Any]) -> list[str]:
    return [each["code"] for each in publication["diagnostics"]]


# ---- diagnostics ---------------------------------------------------------------------------------


def test_one_publication_for_each_settled_version(server: Any, files: Any) -> None:
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD)
    server.settle()
    change(server, uri, 2, BAD)
    change(server, uri, 3, GOOD)
    server.settle()
    change(server, uri, 4, GOOD)
    server.settle()
    assert [(each["version"], codes(each)) for each in server.published()] == [(1, []), (3, []), (4, [])]


def test_a_diagnostic_has_all_that_the_client_shows(server: Any, files: Any) -> None:
    server.start(RICH)
    text = (
        'workfile: "1.0"\nname: main\ninputs: { n: integer }\nsteps:\n  - a: { wf.wait: 1s }\n  - a: { wf.wait: 1s }\n'
    )
    server.open(files.uri("main.workfile.yaml"), text)
    server.settle()
    found = {each["code"]: each for each in server.published()[-1]["diagnostics"]}
    twice, unused = found["duplicate-step"], found["unused-input"]
    assert twice["source"] == "workfile"
    assert twice["severity"] == 1
    assert twice["range"] == {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 5}}
    related = twice["relatedInformation"]
    assert [each["location"]["range"]["start"]["line"] for each in related] == [4]
    assert unused["tags"] == [1]
    assert unused["data"]["rule"] == "unused-input"
    page = Path(unused["codeDescription"]["href"].removeprefix("file://")).read_text(encoding="utf-8")
    assert page.startswith("# unused-input")


def test_a_plain_client_gets_no_more_than_it_knows(server: Any, files: Any) -> None:
    server.start()
    server.open(files.uri("main.workfile.yaml"), BAD)
    server.settle()
    (item,) = server.published()[-1]["diagnostics"]
    assert set(item) == {"range", "message", "severity", "code", "source"}


def test_a_client_that_pulls_is_sent_nothing(server: Any, files: Any) -> None:
    assert server.start(PULL)["diagnosticProvider"]["workspaceDiagnostics"] is True
    uri = files.uri("main.workfile.yaml")
    server.open(uri, BAD)
    server.settle()
    assert server.published() == []
    document = {"textDocument": {"uri": uri}}
    first = server.request("textDocument/diagnostic", document)
    assert [each["code"] for each in first["items"]] == ["unknown-member"]
    again = server.request("textDocument/diagnostic", {**document, "previousResultId": first["resultId"]})
    assert again == {"kind": "unchanged", "resultId": first["resultId"]}
    change(server, uri, 2, GOOD)
    fixed = server.request("textDocument/diagnostic", {**document, "previousResultId": first["resultId"]})
    assert fixed["items"] == []


def test_clients_that_do_not_pull_are_not_told_that_they_could(server: Any) -> None:
    assert "diagnosticProvider" not in server.start()


def test_closing_takes_the_findings_off_the_screen(server: Any, files: Any) -> None:
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, BAD)
    server.settle()
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    server.settle()
    assert server.published()[-1] == {"uri": uri, "diagnostics": []}


def test_suppression_and_selection_are_those_of_the_command_line(server: Any, files: Any) -> None:
    files.write("workfile.toml", '[check]\nignore = ["unused-input"]\n')
    text = GOOD.replace("steps:", "inputs: { n: integer }\nsteps:").replace("a.found", "a.fund")
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, text)
    server.settle()
    assert codes(server.published()[-1]) == ["unknown-member"]
    change(server, uri, 2, text.rstrip("\n") + "  # workfile: ignore[document.reference]\n")
    server.settle()
    assert codes(server.published()[-1]) == []


def test_a_bad_configuration_is_told_and_nothing_looks_clean(server: Any, files: Any) -> None:
    files.write("workfile.toml", '[check]\nignore = ["no-such-rule"]\n')
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, BAD)
    server.settle()
    change(server, uri, 2, BAD + "\n")
    server.settle()
    assert [codes(each) for each in server.published()] == [["configuration"], ["configuration"]]
    said = [each["params"]["message"] for each in server.sent if each.get("method") == "window/showMessage"]
    assert len(said) == 1
    assert "no-such-rule" in said[0]
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
    assert server.request("textDocument/codeAction", params) == []
    files.write("workfile.toml", "")
    server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": files.uri("workfile.toml"), "type": 2}]})
    server.settle()
    assert "configuration" not in codes(server.published()[-1])
    assert codes(server.published()[-1])


@pytest.mark.parametrize("watched", [True, False])
def test_a_missing_connector_folder_is_one_fault_until_it_is_there(server: Any, files: Any, watched: bool) -> None:
    files.write("workfile.toml", 'connectors = ["shared"]\n')
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD)
    server.settle()
    assert codes(server.published()[-1]) == ["configuration"]
    said = [each["params"]["message"] for each in server.sent if each.get("method") == "window/showMessage"]
    assert ["`connectors` names `shared`, and there is no such folder" in each for each in said] == [True]
    own = server.server.files
    own.watching = watched
    own.look_at_disk()
    files.write("shared/pay.connector.yaml", "connector: other\n")
    if watched:
        changes = [{"uri": files.uri("shared/pay.connector.yaml"), "type": 1}]
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        server.settle()
        assert "unknown-connector" in codes(server.published()[-1])
    else:
        own.look_at_disk()
    rules = {finding.rule for finding in own.check(str(files.folder / "main.workfile.yaml")).findings}
    assert "unknown-connector" in rules


def test_files_of_others_are_left_alone(server: Any, files: Any) -> None:
    server.start()
    item = {"uri": files.uri("compose.yaml"), "languageId": "yaml", "version": 1, "text": "services: {}\n"}
    server.notify("textDocument/didOpen", {"textDocument": item})
    server.settle()
    assert [codes(each) for each in server.published()] == [[]]
    place = {"textDocument": {"uri": item["uri"]}, "position": {"line": 0, "character": 1}}
    assert server.request("textDocument/hover", place) is None
    assert server.request("textDocument/completion", place) is None
    item = {**item, "uri": "untitled:Untitled-1", "text": BAD.replace("a.fund", "b")}
    server.notify("textDocument/didOpen", {"textDocument": item})
    server.settle()
    assert "unknown-name" in codes(server.published()[-1])


def test_scenarios_are_checked(server: Any, files: Any) -> None:
    files.write("main.workfile.yaml", GOOD)
    server.start()
    server.open(
        files.uri("a.scenario.yaml"), "workfile: main.workfile.yaml\nactions:\n  pay.none: [ { succeed: {} } ]\n"
    )
    server.settle()
    path = str(files.folder / "a.scenario.yaml")
    expected = [each.rule for each in check_file(project_for(path), path).findings]
    assert codes(server.published()[-1]) == expected != []


def test_a_scenario_follows_the_workfile_that_is_being_edited(server: Any, files: Any) -> None:
    """Without a configuration they are of two projects."""
    files.write("main.workfile.yaml", GOOD)
    server.start()
    server.open(files.uri("main.workfile.yaml"), GOOD.replace("- a:", "- b:"))
    scenario = files.uri("scenarios/s.scenario.yaml")
    server.open(scenario, "workfile: ../main.workfile.yaml\nexpect: { bindings: { a.found: true } }\n")
    server.settle()

    def shown() -> list[str]:
        return codes(next(each for each in reversed(server.published()) if each["uri"] == scenario))

    first = shown()
    change(server, files.uri("main.workfile.yaml"), 2, GOOD)
    server.settle()
    assert (bool(first), shown()) == (True, [])
    change(server, files.uri("main.workfile.yaml"), 3, GOOD.replace("- a:", "- c:"))
    server.settle()
    assert shown() == first


# ---- other files ---------------------------------------------------------------------------------


def test_an_unsaved_manifest_counts_at_once(server: Any, files: Any) -> None:
    server.start()
    uri, manifest = files.uri("main.workfile.yaml"), files.uri("connectors/pay.connector.yaml")
    server.open(uri, GOOD)
    server.settle()
    text = (files.folder / "connectors/pay.connector.yaml").read_text(encoding="utf-8")
    server.open(manifest, text.replace("found:", "seen:").replace("[found]", "[seen]"))
    server.settle()
    assert codes(next(each for each in reversed(server.published()) if each["uri"] == uri)) == ["unknown-member"]
    server.notify("textDocument/didClose", {"textDocument": {"uri": manifest}})
    server.settle()
    assert codes(next(each for each in reversed(server.published()) if each["uri"] == uri)) == []


def test_a_caller_follows_its_child(server: Any, files: Any) -> None:
    child = 'workfile: "1.0"\nname: child\ninputs: { size: integer }\nsteps: []\nresult: { a: 1 }\n'
    parent = (
        'workfile: "1.0"\nname: parent\nsteps:\n  - c: { wf.call: child, inputs: { size: 1 } }\nresult: "{{ c.a }}"\n'
    )
    server.start()
    server.open(files.uri("child.workfile.yaml"), child)
    server.open(files.uri("parent.workfile.yaml"), parent)
    server.settle()
    for version, (text, expected) in enumerate(
        [
            (child, []),
            (child.replace("a: 1", "b: 1"), ["unknown-member"]),
            (child, []),
            (child.replace("child", "kid"), ["unknown-workflow"]),
            (child, []),
        ],
        start=2,
    ):
        change(server, files.uri("child.workfile.yaml"), version, text)
        server.settle()
        last = next(each for each in reversed(server.published()) if each["uri"] == files.uri("parent.workfile.yaml"))
        assert codes(last) == expected


def test_a_storm_of_changes_is_one_pass(server: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.start({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    assert "client/registerCapability" in [each.get("method") for each in server.sent]
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD)
    server.settle()
    files.write("connectors/pay.connector.yaml", "connector: pay\n")
    passes: list[int] = []
    original = server.server.files.files_changed
    monkeypatch.setattr(
        server.server.files, "files_changed", lambda paths: passes.append(len(paths)) or original(paths)
    )
    for number in range(5_000):
        event = {"uri": files.uri(f"other/{number % 2_500}.workfile.yaml"), "type": 2}
        server.notify("workspace/didChangeWatchedFiles", {"changes": [event]})
    server.notify(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": files.uri("connectors/pay.connector.yaml"), "type": 2}]}
    )
    server.settle()
    assert passes == [2_501]
    assert codes(server.published()[-1]) == ["unknown-action"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("workfile.toml", '[check]\nignore = ["unknown-member"]\n'),
        ("pyproject.toml", '[tool.workfile.check]\nignore = ["unknown-member"]\n'),
    ],
)
def test_a_new_configuration_counts(server: Any, files: Any, name: str, text: str) -> None:
    server.start({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, BAD)
    server.settle()
    files.write(name, text)
    server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": files.uri(name), "type": 1}]})
    server.settle()
    assert [codes(each) for each in server.published()] == [["unknown-member"], []]


def test_clients_that_watch_nothing_are_served_from_the_disk_as_it_is(server: Any, files: Any) -> None:
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD)
    server.settle()
    document = {"textDocument": {"uri": uri}}
    server.notify("textDocument/didSave", document)
    server.settle()
    files.write("connectors/pay.connector.yaml", "connector: pay\n")
    server.notify("textDocument/didSave", document)
    server.settle()
    assert codes(server.published()[-1]) == ["unknown-action"]


def test_random_changes_of_several_files_end_in_what_a_fresh_check_finds(server: Any, files: Any) -> None:
    """Edits, undone edits and changes on disk, of files that read each other."""
    picker = random.Random(11)
    manifest = (files.folder / "connectors/pay.connector.yaml").read_text(encoding="utf-8")
    texts = {
        "main.workfile.yaml": [GOOD, BAD, GOOD.replace("pay.find", "pay.none"), GOOD + "  - x\n", "workfile: ["],
        "caller.workfile.yaml": [
            'workfile: "1.0"\nname: caller\nsteps:\n  - c: { wf.call: main }\nresult: "{{ c | upper }}"\n',
            'workfile: "1.0"\nname: main\nsteps: []\n',
        ],
        "connectors/pay.connector.yaml": [manifest, manifest.replace("found", "seen"), "connector: pay\n", ""],
    }
    server.start()
    for name, versions in texts.items():
        server.open(files.uri(name), versions[0])
    for version in range(2, 60):
        name = picker.choice(list(texts))
        change(server, files.uri(name), version, picker.choice(texts[name]))
        if picker.random() < 0.6:
            server.settle()
        if picker.random() < 0.3:
            place = {"line": 3, "character": 6}
            server.request("textDocument/hover", {"textDocument": {"uri": files.uri(name)}, "position": place})
    server.settle()
    shown = {each["uri"]: each for each in server.published()}
    current = {name: server.server.files.open[str(files.folder / name)].text for name in texts}
    forget_projects()
    projects = {name: project_for(str(files.folder / name)) for name in texts}
    for project in projects.values():
        for name, text in current.items():
            project.overlay_text(str(files.folder / name), text)
    for name in texts:
        fresh = check_file(projects[name], str(files.folder / name)).findings
        assert codes(shown[files.uri(name)]) == [each.rule for each in fresh], name


# ---- rules of the protocol -----------------------------------------------------------------------


def test_before_initialize_and_after_shutdown(server: Any) -> None:
    assert server.request("textDocument/hover", {})["code"] == -32002
    server.notify("textDocument/didOpen", {})
    server.start()
    assert server.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["code"] == -32600
    assert server.server.protocol.exit_code == 1
    assert server.request("shutdown", None) is None
    assert server.request("textDocument/hover", {})["code"] == -32600
    assert server.server.protocol.exit_code == 0
    server.notify("exit", None)
    assert server.server.protocol.stopped


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        5,
        {},
        {"textDocument": 1, "position": {"line": 0, "character": 0}},
        {"textDocument": {"uri": "file:///a"}},
        {"textDocument": {"uri": "file:///a"}, "position": {"line": "0", "character": 0}},
        {"textDocument": {"uri": "file:///a"}, "position": {"line": 0.5, "character": 0}},
        {"textDocument": {"uri": "file:///a"}, "position": {"line": True, "character": 0}},
        {"textDocument": {"uri": "file:///a"}, "position": {"line": -1, "character": 0}},
        {"textDocument": {"uri": 7}, "position": {"line": 0, "character": 0}},
    ],
)
def test_a_malformed_request_is_refused(server: Any, params: Any) -> None:
    server.start()
    assert server.request("textDocument/hover", params)["code"] == -32602


def test_a_request_without_parameters_is_refused(server: Any) -> None:
    server.start()
    server.server.protocol.dispatch({"jsonrpc": "2.0", "id": 99, "method": "textDocument/hover"})
    assert server.sent[-1]["error"]["code"] == -32602


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        "x",
        [],
        [{}],
        {},
        {"id": 1},
        {"id": 1, "result": 3},
        {"method": 5},
        {"id": {}, "method": "shutdown"},
        {"id": True, "method": "shutdown"},
        {"id": 4, "method": ["x"]},
    ],
)
def test_what_is_no_message_ends_nothing(server: Any, message: Any) -> None:
    server.start()
    server.server.protocol.dispatch(message)
    assert all(each["error"]["code"] == -32600 for each in server.sent if "error" in each)
    assert server.request("workspace/symbol", {"query": "zzz"}) == []


def test_an_unknown_method(server: Any) -> None:
    server.start()
    assert server.request("textDocument/unknown", {})["code"] == -32601
    server.notify("textDocument/unknown", {})
    server.notify("$/unknown", None)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(None, "utf-16"), ([], "utf-16"), (["utf-32", "utf-8"], "utf-32"), (["x", "utf-8"], "utf-8"), (["x"], "utf-16")],
)
def test_the_first_encoding_that_both_know(server: Any, offered: list[str] | None, chosen: str) -> None:
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    assert server.start(general)["positionEncoding"] == chosen


@pytest.mark.parametrize(
    ("encoding", "codec", "width"), [("utf-8", "utf-8", 1), ("utf-16", "utf-16-le", 2), ("utf-32", "utf-32-le", 4)]
)
def test_positions_behind_wide_characters(server: Any, files: Any, encoding: str, codec: str, width: int) -> None:
    server.start({"general": {"positionEncodings": [encoding]}})
    text = BAD.replace('result: "{{ a', 'result: "😀 {{ a.found }} {{ a').replace("name: main", "name: main # 😀😀")
    line = text.split("\n")[4]

    def units(index: int) -> int:
        return len(line[:index].encode(codec)) // width

    uri = files.uri("main.workfile.yaml")
    server.open(uri, text)
    server.settle()
    (item,) = server.published()[-1]["diagnostics"]
    assert item["range"]["start"] == {"line": 4, "character": units(line.index("fund"))}
    place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": units(line.index("a.fund"))}}
    found = server.request("textDocument/definition", place)
    assert [each["range"]["start"]["line"] for each in found] == [3]


def test_a_refused_rename_says_why(server: Any, files: Any) -> None:
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD)
    place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 4}}
    for name, code in (("A", -32602), ("inputs", -32602)):
        error = server.request("textDocument/rename", {**place, "newName": name})
        assert (error["code"], name in error["message"]) == (code, True)
    nowhere = {**place, "position": {"line": 0, "character": 0}, "newName": "x"}
    assert server.request("textDocument/rename", nowhere)["code"] == -32803
    edits = server.request("textDocument/rename", {**place, "newName": "b"})["changes"][uri]
    assert [each["newText"] for each in edits] == ["b", "b"]


def test_edits_for_clients_that_check_versions(server: Any, files: Any) -> None:
    server.start({"workspace": {"workspaceEdit": {"documentChanges": True}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, GOOD, 7)
    place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 4}, "newName": "b"}
    (edit,) = server.request("textDocument/rename", place)["documentChanges"]
    assert edit["textDocument"] == {"uri": uri, "version": 7}


def test_nothing_a_client_sends_is_a_fault(server: Any, files: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Every request, at random places of texts that are being broken at random."""
    caplog.set_level(logging.WARNING)
    picker = random.Random(3)
    server.start(
        {"textDocument": {"semanticTokens": {"requests": {}, "tokenTypes": [], "tokenModifiers": [], "formats": []}}}
    )
    examples = Path(__file__).parents[2] / "examples"
    names = ["order.workfile.yaml", "approval.workfile.yaml", "rollout.workfile.yaml"]
    for name in names:
        server.open(files.uri(name), (examples / name).read_text(encoding="utf-8"))
    requests = (
        "hover completion signatureHelp definition references documentHighlight prepareRename rename documentSymbol"
    )
    requests += (
        " documentLink foldingRange selectionRange semanticTokens/full semanticTokens/range inlayHint codeAction"
    )
    requests += " formatting rangeFormatting prepareCallHierarchy semanticTokens/full/delta"
    pieces = [
        "{{ ",
        "}}",
        "\n",
        "  ",
        "- ",
        ": ",
        '"',
        "{",
        "]",
        "|",
        "😀",
        "\u2028",
        "\r\n",
        "\t",
        "&a ",
        "*a",
        "#",
        ".",
    ]
    for version in range(2, 250):
        uri = files.uri(picker.choice(names))

        def place() -> dict[str, int]:
            return {"line": picker.randint(0, 60), "character": picker.choice([0, 3, 9, 14, 30, 10**9])}

        start = place()
        edit = {
            "range": {"start": start, "end": start if picker.random() < 0.7 else place()},
            "text": picker.choice(pieces),
        }
        server.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [edit]}
        )
        for method in picker.sample(requests.split(), 3):
            params = {"textDocument": {"uri": uri}, "position": place(), "range": {"start": place(), "end": place()}}
            params |= {"newName": "x", "positions": [place()], "options": {"tabSize": 2, "insertSpaces": True}}
            params |= {"context": {"includeDeclaration": True, "diagnostics": []}, "previousResultId": "1"}
            answer = server.request(f"textDocument/{method}", params)
            if isinstance(answer, dict) and "code" in answer:
                assert answer["code"] in (-32803, -32602), (method, answer)
        server.sent.clear()
    server.settle()
    assert caplog.records == []


def test_a_request_sees_the_files_that_were_told_before_it(server: Any, files: Any) -> None:
    """Changed files are looked at once no more of them come, and at the latest when something is asked."""
    call = 'workfile: "1.0"\nname: {}\nsteps:\n  - go: {{ wf.call: {} }}\n'
    files.write("child.workfile.yaml", 'workfile: "1.0"\nname: child\nsteps: []\n')
    files.write("one.workfile.yaml", call.format("one", "child"))
    server.start({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    place = {"textDocument": {"uri": files.uri("child.workfile.yaml")}, "position": {"line": 1, "character": 7}}
    (item,) = server.request("textDocument/prepareCallHierarchy", place)

    def callers() -> list[str]:
        return sorted(each["from"]["name"] for each in server.request("callHierarchy/incomingCalls", {"item": item}))

    assert callers() == ["one"]
    files.write("two.workfile.yaml", call.format("two", "child"))
    files.write("one.workfile.yaml", call.format("uno", "child"))
    changes = [{"uri": files.uri("two.workfile.yaml"), "type": 1}, {"uri": files.uri("one.workfile.yaml"), "type": 2}]
    server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert callers() == ["two", "uno"]
