"""The protocol: what comes when, refusals, framing, the end. Most over a pair of sockets, some over real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from client import Client, Failed

from analyzer.shown import shown_path
from lsp_server.dap.console import COMMANDS
from lsp_server.dap.protocol import ATTACH, FILTERS, LAUNCH, REQUESTS
from lsp_server.dap.server import HANDLERS
from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio


async def test_every_request_of_the_table_is_answered() -> None:
    assert HANDLERS.keys() == REQUESTS.keys()


async def test_the_page_names_everything() -> None:
    """docs/debugging.md is a contract: what clients may send is in it."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "debugging.md").read_text(encoding="utf-8")
    tables = [*LAUNCH, *ATTACH, *FILTERS, *(each for each in REQUESTS if each.startswith("workfile/"))]
    assert [each for each in tables if f"`{each}`" not in page] == []
    words = [f"{name} {each.after}".strip() for name, each in COMMANDS.items()]
    assert [
        each for each in words if f"`{each}`" not in page and each.partition(" ")[0] not in ("help", "advance")
    ] == []


async def test_the_page_has_all_of_the_timeline(client: Client, folder: Folder) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "debugging.md").read_text(encoding="utf-8")
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- paid:")]})
    await client.stopped("breakpoint")
    await client.go("stepIn")
    found = await client.timeline()
    parts = [found, found["clock"], found["position"], found["can"]]
    parts += [found[name][0] for name in ("timers", "subscriptions", "effects", "bars", "records")]
    assert [name for each in parts for name in each if f'"{name}":' not in page] == []


async def test_capabilities(client: Client) -> None:
    body = await client.initialize()
    for name in (
        "ConfigurationDoneRequest",
        "FunctionBreakpoints",
        "ConditionalBreakpoints",
        "HitConditionalBreakpoints",
        "LogPoints",
        "StepBack",
        "RestartFrame",
        "RestartRequest",
        "GotoTargetsRequest",
        "StepInTargetsRequest",
        "CompletionsRequest",
        "ExceptionInfoRequest",
        "ExceptionFilterOptions",
        "TerminateRequest",
        "BreakpointLocationsRequest",
        "CancelRequest",
        "EvaluateForHovers",
    ):
        assert body[f"supports{name}"] is True
    assert [each["filter"] for each in body["exceptionBreakpointFilters"]] == list(FILTERS)


async def test_the_order_of_a_start(client: Client, folder: Folder) -> None:
    """Configuration may come before or after the launch; the run begins with the later of both."""
    await client.initialize()
    await client.request("configurationDone")
    await client.request("launch", program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    kinds = [each.get("event") or each["command"] for each in client.messages]
    assert kinds == ["initialize", "initialized", "configurationDone", "launch", "stopped"]
    assert [each["seq"] for each in client.messages] == list(range(1, 6))


@pytest.mark.parametrize(
    ("before", "command", "arguments", "words"),
    [
        ([], "launch", {}, "`initialize` comes before"),
        ([], "threads", None, "`initialize` comes before"),
        (["initialize"], "initialize", {}, "comes once"),
        (["initialize"], "launch", {}, "`program` is missing"),
        (["initialize"], "launch", {"program": 5}, "`program` is a string"),
        (["initialize"], "launch", {"program": "x.workfile.yaml", "inputs": []}, "`inputs` is a map"),
        (["initialize"], "launch", {"program": "x.workfile.yaml", "seed": "1"}, "`seed` is a whole number"),
        (["initialize"], "launch", {"program": "x.workfile.yaml", "stopOnEntry": 1}, "`stopOnEntry` is true or false"),
        (["initialize"], "launch", {"program": "x.workfile.yaml"}, "Cannot read"),
        (["initialize"], "launch", {"program": "x\x00y"}, "null character"),
        (["initialize"], "attach", {}, "lacks its argument `history`"),
        (["initialize"], "attach", {"history": "x.history.jsonl"}, "cannot be read"),
        (["initialize"], "threads", None, "comes after `launch`"),
        (["initialize"], "continue", {"threadId": 1}, "comes after `launch`"),
        (["initialize"], "restart", {}, "comes after `launch`"),
        (["initialize", "configurationDone"], "configurationDone", None, "comes once"),
        (["initialize"], "setBreakpoints", {"breakpoints": []}, "lacks its argument `source`"),
        (["initialize"], "setBreakpoints", {"source": {}, "breakpoints": []}, "lacks its `path`"),
        (["initialize"], "setBreakpoints", {"source": {"path": "x"}, "breakpoints": [{}]}, "lacks its argument `line`"),
        (["initialize"], "setBreakpoints", {"source": {"path": "x"}, "breakpoints": [3]}, "list of maps"),
        (["initialize"], "setBreakpoints", {"source": {"path": "x"}, "breakpoints": [{"line": -1}]}, "at least 0"),
        (["initialize"], "setExceptionBreakpoints", {}, "lacks its argument `filters`"),
        (["initialize"], "continu", {}, "Did you mean `continue`"),
        (["initialize"], "launch", [], "`arguments` is a map"),
        (["initialize"], "launch", "x", "`arguments` is a map"),
    ],
)
async def test_bad_requests_are_refused_and_the_session_goes_on(
    client: Client, folder: Folder, before: list[str], command: str, arguments: Any, words: str
) -> None:
    for each in before:
        await client.request(each)
    response = await client.answer(client.ask(command, arguments))
    assert (response["success"], response["command"]) == (False, command)
    assert re.search(words, response["message"]), response["message"]
    assert "Traceback" not in json.dumps(response)
    if not before:
        await client.request("initialize")
    if "configurationDone" not in before:
        await client.request("configurationDone")
    await client.request("launch", program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.event("stopped")


async def test_a_workfile_with_errors_is_refused_with_its_findings(client: Client, folder: Folder) -> None:
    path = folder.workfile("  - a: { shop.charg: { amount: 1 } }\n  - b: { wf.let: { x: '{{ nothing }}' } }\n")
    with pytest.raises(Failed) as refused:
        await client.begin(program=path)
    message = refused.value.response["message"]
    assert "there are 2 errors to mend first" in message
    shown = shown_path(path)  # as the command line has it, in both places
    head, first, second = message.split("\n")
    assert head.startswith(f"`{shown}` cannot be run: ")
    assert first.startswith(f"{shown}:4:10: error unknown-action: ")
    assert second.startswith(f"{shown}:5:")
    assert " error unknown-name: " in second
    folder.workfile("  - a: { wf.let: { x: 1 } }\n")
    await client.request("launch", program=path)  # it may be mended, and launched again
    await client.request("configurationDone")
    await client.event("terminated")


@pytest.mark.parametrize(
    "message",
    [
        [],
        5,
        None,
        "x",
        {},
        {"seq": "1"},
        {"type": "request"},
        {"seq": 1, "type": "event"},
        {"seq": True, "type": "request"},
        {"seq": 1, "type": "request", "command": 5},
        {"seq": 1, "type": "request", "command": None},
        {"seq": 1, "command": "threads"},
    ],
)
async def test_what_is_no_request_is_refused(client: Client, message: Any) -> None:
    client.send(message)
    client.seq = 100
    response = await client.wait(lambda each: each["type"] == "response")
    assert response["success"] is False
    assert response["body"]["error"]["format"]
    await client.initialize()


@pytest.mark.parametrize(
    "data",
    [
        b'Content-Length: 5\r\n\r\n{"a":',
        b"Content-Length: 2\r\n\r\n\xff\xfe",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -4\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"hello\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    ],
)
async def test_malformed_messages_are_refused_and_the_next_is_read(client: Client, data: bytes) -> None:
    client.send_bytes(data)
    response = await client.wait(lambda each: each["type"] == "response")
    assert response["success"] is False
    assert response["request_seq"] == 0
    await client.initialize()


async def test_a_message_that_is_too_large_is_passed_over(client: Client) -> None:
    size = 64 * 1024 * 1024 + 1
    client.send_bytes(b"Content-Length: %d\r\n\r\n" % size)
    for _ in range(65):
        client.send_bytes(b" " * (1024 * 1024))
        await client.writer.drain()
    client.send_bytes(b"")
    response = await client.wait(lambda each: each["type"] == "response")
    assert "too large" in response["message"]


async def test_unknown_launch_arguments_have_no_effect(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, name="x", type="workfile", request="launch", __restart=None)
    await client.event("terminated")


async def test_requests_after_the_end(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS)
    await client.event("terminated")
    for command, arguments in [("continue", {"threadId": 1}), ("restart", {}), ("launch", {"program": folder.main})]:
        with pytest.raises(Failed, match="The session has ended"):
            await client.request(command, **arguments)
    assert (await client.timeline())["status"] == "succeeded"  # a panel may still ask
    await client.request("terminate")
    await client.request("disconnect")
    assert client.events().count("terminated") == client.events().count("exited") == 1


async def test_disconnect_while_it_stands(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    await client.request("disconnect", terminateDebuggee=True)
    assert client.events()[-2:] == ["exited", "terminated"]


async def test_disconnect_before_anything_was_launched(client: Client) -> None:
    await client.initialize()
    await client.request("disconnect")
    assert client.events() == ["initialized"]


async def test_a_request_is_cancelled_before_its_turn(client: Client, folder: Folder) -> None:
    path = folder.write(
        "round.workfile.yaml",
        'workfile: "1.0"\nname: round\ninitial: first\nstates:\n'
        "  first:\n    steps:\n      - a: { wf.wait: 1s }\n    routes: [{ to: first }]\n",
    )
    await client.begin(program=path)
    numbers = [client.ask("workfile/timeline", {"limit": 10_000}) for _ in range(30)]
    client.ask("cancel", {"requestId": numbers[-1]})
    answers = [await client.answer(each) for each in numbers]
    assert answers[0]["success"] is True
    assert answers[-1]["success"] or answers[-1]["message"] == "cancelled"
    await client.request("cancel", requestId=12_345)
    await client.request("cancel", progressId="x")


async def test_uris(client: Client, folder: Folder) -> None:
    await client.initialize(pathFormat="uri")
    uri = Path(folder.main).as_uri()
    body = await client.request(
        "setBreakpoints", source={"path": uri}, breakpoints=[{"line": folder.line("- charge:")}]
    )
    assert body["breakpoints"][0]["source"]["path"] == uri
    await client.request("launch", program=uri, inputs=INPUTS)
    await client.request("configurationDone")
    await client.stopped("breakpoint")
    assert (await client.frames())[0]["source"]["path"] == uri


async def test_a_client_that_counts_from_zero_and_knows_no_types(client: Client, folder: Folder) -> None:
    await client.initialize(
        linesStartAt1=False, columnsStartAt1=False, supportsVariableType=False, supportsVariablePaging=False
    )
    await client.request("launch", program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.request("configurationDone")
    await client.stopped("entry")
    frame = (await client.frames())[0]
    assert (frame["line"], frame["column"]) == (folder.line("- price:") - 1, 4)
    body = await client.request("evaluate", expression="inputs.names", context="watch")
    assert "type" not in body
    assert "indexedVariables" not in body


ODD = """\
connector: odd
actions:
  go:
    effect: write
    output: { type: object, properties: { a: { type: string, pattern: "^(?=a)b$" } }, required: [a] }
"""


@pytest.mark.parametrize("without", [False, True])
async def test_a_simulation_that_cannot_go_on_says_why(client: Client, folder: Folder, without: bool) -> None:
    folder.write("connectors/odd.connector.yaml", ODD)
    path = folder.workfile("  - a: { wf.let: { n: 1 } }\n  - x: { odd.go: {} }\n")
    await client.begin(program=path, noDebug=without)
    if not without:
        stop = await client.stopped("exception")
        assert "no default answer for `odd.go`" in stop["text"]
        assert (await client.request("exceptionInfo", threadId=1))["exceptionId"] == "simulation"
        await client.go("stepBack", "step")
        assert await client.where() == "x"
        await client.request("terminate")
    assert (await client.event("exited")) == {"exitCode": 1}


# ---- processes ----------------------------------------------------------------------------------


async def test_over_standard_input_and_output(folder: Folder) -> None:
    client = await Client.start(cwd=folder.root)
    await client.begin(program="main.workfile.yaml", inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    await client.request("disconnect")
    assert await client.close() == 0


async def test_the_end_of_the_input_ends_the_process(folder: Folder) -> None:
    client = await Client.start()
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    assert await client.close() == 0
    assert client.events()[-2:] == ["exited", "terminated"]
    assert await client.process.stderr.read() == b""


async def test_a_client_that_is_gone_leaves_nothing_behind(folder: Folder) -> None:
    client = await Client.start("--tcp", "0")
    line = (await client.process.stderr.readline()).decode()
    port = int(line.rpartition(":")[2])
    other = Client(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 26))
    path = folder.write(
        "round.workfile.yaml",
        'workfile: "1.0"\nname: round\ninitial: first\nstates:\n'
        "  first:\n    steps:\n      - a: { wf.wait: 1s }\n    routes: [{ to: first }]\n",
    )
    await other.begin(program=path)
    other.writer.transport.abort()
    with contextlib.suppress(ConnectionError):
        await other._task
    assert await asyncio.wait_for(client.process.wait(), 20) == 0
    await client._task
    assert b"Traceback" not in await client.process.stderr.read()
    client.process._transport.close()


async def test_over_a_local_port(folder: Folder) -> None:
    client = await Client.start("--tcp", "0")
    line = (await client.process.stderr.readline()).decode()
    assert line.startswith("workfile dap: listening on 127.0.0.1:")
    other = Client(*await asyncio.open_connection("127.0.0.1", int(line.rpartition(":")[2]), limit=1 << 26))
    await other.begin(program=folder.main, inputs=INPUTS)
    await other.event("terminated")
    await other.request("disconnect")
    await other.close()
    assert await asyncio.wait_for(client.process.wait(), 20) == 0
    await client._task
    client.process._transport.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--tcp", "x"], b"--tcp"), (["--tcp", "70000"], b"--tcp"), (["--stdio", "--tcp", "0"], b"does not go")],
)
async def test_bad_calls(arguments: list[str], words: bytes) -> None:
    client = await Client.start(*arguments)
    errors = await client.process.stderr.read()
    assert words in errors
    assert b"Traceback" not in errors
    assert await client.close() == 2


async def test_a_store_holds_the_run_as_far_as_it_has_come(client: Client, folder: Folder) -> None:
    from sim_runtime.driver.store import SqliteStore

    store = str(folder.root / "runs.sqlite")

    def stored() -> int:
        kept = SqliteStore(store, read_only=True)
        (run,) = kept.runs()
        found = len(kept.records(run))
        kept.close()
        return found

    await client.begin(program=folder.main, inputs=INPUTS, store=store, stopOnEntry=True)
    await client.stopped("entry")
    first = stored()
    await client.go("next")
    await client.go("next")
    await client.go("next")
    assert stored() > first
    await client.go("goto", threadId=1, targetId=3)
    assert stored() == first
    await client.request("continue", threadId=1)
    await client.event("terminated")
    assert stored() == (await client.timeline())["recordsTotal"]


async def test_a_store_that_fails_under_way_is_told_once(client: Client, folder: Folder) -> None:
    store = folder.root / "run.sqlite"
    await client.begin(program=folder.main, inputs=INPUTS, store=str(store), stopOnEntry=True)
    await client.stopped("entry")
    with contextlib.closing(sqlite3.connect(store)) as other:
        other.execute("drop table transactions")
    for _ in range(3):
        await client.go("next")
    await client.request("continue", threadId=1)
    await client.event("terminated")
    outputs = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert sum("kept in the store no more" in each for each in outputs) == 1


async def test_a_store_that_cannot_be_used_is_refused(client: Client, folder: Folder) -> None:
    (folder.root / "no.sqlite").write_text("this is no store")
    with pytest.raises(Failed, match=r"no\.sqlite"):
        await client.begin(program=folder.main, inputs=INPUTS, store=str(folder.root / "no.sqlite"))
