"""Going on: entry, stepping by step path, threads, what waits, the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio


async def test_it_stops_before_the_first_step_and_runs_to_the_end(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    stop = await client.stopped("entry")
    assert stop["threadId"] == 1
    assert stop["allThreadsStopped"] is True
    assert [(each["name"], each["line"]) for each in await client.frames()] == [("price", 9)]
    assert (await client.timeline())["records"][-1]["kind"] == "run.started"  # nothing of the step has happened
    await client.request("continue", threadId=1)
    assert (await client.event("exited")) == {"exitCode": 0}
    await client.event("terminated")
    assert client.events().count("terminated") == client.events().count("exited") == 1
    output = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert output == ['the run succeeded, result {"paid": "timeout"}\n']


async def test_without_stop_on_entry_it_runs_and_ends(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS)
    await client.event("terminated")
    assert "stopped" not in client.events()


async def test_next_goes_over_what_is_inside(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    passed = []
    for _ in range(6):
        await client.go("next", "step")
        passed.append(await client.where())
    assert passed == ["each", "fan", "charge", "skipped", "paid", "child"]
    assert (await client.timeline())["clock"]["elapsed"] == "2h"
    await client.request("next", threadId=1)
    await client.event("terminated")


async def test_step_in_goes_to_every_step_and_stands_where_the_run_waits(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    stop = await client.stopped("entry")
    passed = [await client.where()]
    while True:
        await client.request("stepIn", threadId=stop["threadId"])
        start = client._read_events
        message = await client.wait(lambda each: each.get("event") in ("stopped", "terminated"), start)
        client._read_events = client.messages.index(message, start) + 1
        if message["event"] == "terminated":
            break
        stop = message["body"]
        passed.append(await client.where(stop["threadId"]))
    assert passed == [
        "price",
        "each",
        "each[0].greet",
        "each[1].greet",
        "fan",
        "fan.left.one",
        "fan.right.three",
        "fan.left.two",
        "charge",
        "skipped",
        "paid",
        "paid",
        "child",
        "child/inner",
        "child/last",
    ]


async def test_step_out_of_a_loop_and_a_child(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    await client.go("next")
    await client.go("stepIn")
    assert await client.where() == "each[0].greet"
    await client.go("next")
    assert await client.where() == "each[1].greet"  # the iterations of a sequential loop follow one another
    await client.go("stepOut")
    assert await client.where() == "fan"


async def test_branches_are_threads_and_next_stays_in_its_own(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- one:")]})
    stop = await client.stopped("breakpoint")
    threads = {each["name"]: each["id"] for each in (await client.request("threads"))["threads"]}
    assert list(threads) == ["main", "fan.left"]
    assert stop["threadId"] == threads["fan.left"]
    frames = await client.frames(threads["fan.left"])
    assert [each["name"] for each in frames] == ["fan.left.one", "fan"]
    assert [each["name"] for each in await client.frames(1)] == ["fan"]
    stop = await client.go("next", "step", threadId=stop["threadId"])
    assert await client.where(stop["threadId"]) == "fan.left.two"
    threads = {each["name"]: each["id"] for each in (await client.request("threads"))["threads"]}
    assert list(threads) == ["main", "fan.left", "fan.right"]
    assert await client.where(threads["fan.right"]) == "fan.right.three"
    stop = await client.go("next", "step", threadId=stop["threadId"])
    assert await client.where(stop["threadId"]) == "charge"


async def test_a_child_run_is_a_thread_with_its_own_file(client: Client, folder: Folder) -> None:
    child = folder.root / "child.workfile.yaml"
    await client.begin(program=folder.main, inputs=INPUTS, lines={str(child): [6]})
    stop = await client.stopped("breakpoint")
    threads = {each["id"]: each["name"] for each in (await client.request("threads"))["threads"]}
    assert threads == {1: "main", stop["threadId"]: "child: child"}
    frames = await client.frames(stop["threadId"])
    assert [(each["name"], each["source"]["name"], each["line"]) for each in frames] == [
        ("child/last", "child.workfile.yaml", 6),
        ("child", "main.workfile.yaml", folder.line("- child:")),
    ]
    assert await client.evaluate("inputs.n", frameId=frames[0]["id"]) == "5"
    assert await client.evaluate("inputs.amount", frameId=frames[1]["id"]) == "5"


async def test_concurrent_iterations_are_threads(client: Client, folder: Folder) -> None:
    path = folder.workfile(
        "  - each:\n      wf.for_each: [1, 2, 3]\n      concurrency: 2\n      steps:\n"
        "        - look: { shop.look: { n: '{{ item }}' } }\n        - tell: { wf.let: { n: '{{ item }}' } }\n"
    )
    await client.begin(program=path, lines={path: [9]})
    stop = await client.stopped("breakpoint")
    names = [each["name"] for each in (await client.request("threads"))["threads"]]
    assert names == ["small", "each[0]", "each[1]"]
    assert await client.where(stop["threadId"]) == "each[0].tell"
    stop = await client.go("continue", "breakpoint")
    assert await client.where(stop["threadId"]) == "each[1].tell"


async def test_one_transaction_at_a_time(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- charge:")]})
    await client.stopped("breakpoint")
    kinds = []
    for _ in range(4):
        await client.go("next", "step", granularity="instruction")
        kinds.append((await client.timeline())["records"][-1]["kind"])
    assert kinds == ["action.prepared", "action.dispatched", "action.succeeded", "timer.set"]


async def test_step_in_targets_of_an_action(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- charge:")]})
    await client.stopped("breakpoint")
    frame = (await client.frames())[0]["id"]
    targets = (await client.request("stepInTargets", frameId=frame))["targets"]
    assert [each["id"] for each in targets] == [1, 2, 3]
    await client.go("stepIn", "step", targetId=2)
    assert (await client.timeline())["records"][-1]["kind"] == "action.dispatched"
    assert await client.where() == "charge"
    with pytest.raises(Failed, match="no target 2"):
        await client.request("stepIn", threadId=1, targetId=2)


async def test_a_state_machine(client: Client, folder: Folder) -> None:
    path = folder.write(
        "machine.workfile.yaml",
        'workfile: "1.0"\nname: machine\ninitial: first\nstates:\n'
        "  first:\n    steps:\n      - a: { wf.let: { n: 1 } }\n    routes: [{ to: last }]\n"
        "  last:\n    steps:\n      - b: { wf.let: { n: '{{ a?.n }}' } }\n    final: true\n",
    )
    await client.begin(program=path, stopOnEntry=True, lines={path: [9]})
    await client.stopped("entry")
    assert [(each["name"], each["line"]) for each in await client.frames()] == [("first", 5)]
    await client.go("stepIn")
    assert [each["name"] for each in await client.frames()] == ["first.a", "first"]
    await client.go("continue", "breakpoint")
    assert await client.where() == "last"
    await client.go("next", "step")
    assert await client.where() == "last.b"
    assert await client.scope("Bindings") == {"first": "{a: {…}}"}


async def test_pause_and_requests_while_it_goes_round(client: Client, folder: Folder) -> None:
    path = folder.write(
        "round.workfile.yaml",
        'workfile: "1.0"\nname: round\ninitial: first\nstates:\n'
        "  first:\n    steps:\n      - a: { wf.wait: 1s }\n    routes: [{ to: first }]\n",
    )
    await client.begin(program=path)
    for _ in range(3):
        assert (await client.request("threads"))["threads"]
    with pytest.raises(Failed) as refused:
        await client.request("stackTrace", threadId=1)
    assert refused.value.response["message"] == "notStopped"
    await client.under_way()
    await client.request("pause", threadId=1)
    await client.stopped("pause")
    assert await client.where() in ("first.a", "first")
    await client.request("pause", threadId=1)  # it stands already
    await client.request("continue", threadId=1)
    await client.request("terminate")
    await client.event("terminated")
    await client.request("disconnect")
    assert client.events().count("terminated") == client.events().count("exited") == 1


async def test_no_debug_stops_nowhere(client: Client, folder: Folder) -> None:
    await client.begin(
        program=folder.main,
        inputs=INPUTS,
        noDebug=True,
        stopOnEntry=True,
        filters=["suspend"],
        lines={folder.main: [9]},
    )
    await client.event("terminated")
    assert "stopped" not in client.events()


async def test_stop_at_end_stands_once_more(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopAtEnd=True)
    stop = await client.stopped("pause")
    assert stop["text"] == "the run has its outcome"
    assert await client.where() == "main"
    assert (await client.scope("Run"))["result"] == '{paid: "timeout"}'
    with pytest.raises(Failed, match="The run is over"):
        await client.request("workfile/crash")
    await client.go("stepBack", "step")
    await client.go("continue", "pause")
    await client.request("continue", threadId=1)
    await client.event("terminated")


async def test_restart_begins_again_and_takes_new_arguments(client: Client, folder: Folder) -> None:
    lines = {folder.main: [{"line": folder.line("- charge:"), "hitCondition": "1"}]}
    await client.begin(program=folder.main, inputs=INPUTS, lines=lines)
    await client.stopped("breakpoint")
    await client.request("restart")
    await client.stopped("breakpoint")
    assert await client.evaluate("price.total") == "10"
    start: dict[str, Any] = {"program": folder.main, "inputs": {**INPUTS, "amount": 7}, "stopOnEntry": True}
    await client.request("restart", arguments=start)
    await client.stopped("entry")
    await client.go("continue", "breakpoint")
    assert await client.evaluate("price.total") == "14"


async def test_restart_reads_the_files_anew_and_breakpoints_follow(client: Client, folder: Folder) -> None:
    line = folder.line("- charge:")
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [line]})
    await client.stopped("breakpoint")
    text = Path(folder.main).read_text(encoding="utf-8")
    Path(folder.main).write_text(text.replace("\n\n  - charge:", "\n  - charge:"), encoding="utf-8")
    await client.request("restart")
    changed = await client.event("breakpoint")
    assert (changed["breakpoint"]["verified"], changed["breakpoint"]["line"]) == (True, line - 1)
    assert (
        changed["breakpoint"]["message"] == f"Line {line} begins no step: the breakpoint stands on the step `charge`."
    )
    await client.stopped("breakpoint")
    assert (await client.frames())[0]["line"] == line - 1


async def test_inputs_replace_those_of_the_scenario(client: Client, folder: Folder) -> None:
    scenario = folder.scenario("inputs: { amount: 1, names: [], order: o-9 }\n")
    await client.begin(program=scenario, inputs={"amount": 8}, stopOnEntry=True)
    await client.stopped("entry")
    assert (await client.frames())[0]["source"]["path"] == folder.main
    assert await client.scope("Inputs") == {"amount": "8", "names": "[]", "order": '"o-9"'}


async def test_bad_inputs_are_a_failed_run(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs={"amount": "x"}, stopOnEntry=True, filters=["failure"])
    stop = await client.stopped("exception")
    assert "input.invalid" in stop["text"]
    await client.request("continue", threadId=1)
    await client.event("terminated")
