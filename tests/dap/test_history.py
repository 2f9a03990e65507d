"""A recorded history is walked: any record, on and back, on its own definition or on a Workfile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from client import Client, Failed

from sim_runtime.simulation import Changes, prepare
from tests.dap.conftest import INPUTS, MAIN, Folder

pytestmark = pytest.mark.asyncio


@pytest.fixture
def history(folder: Folder) -> str:
    simulation = prepare(folder.main, None, Changes(inputs=INPUTS)).simulation().finish()
    return folder.write("run.history.jsonl", "".join(simulation.history_lines()))


async def opened(client: Client, history: str, **more: Any) -> Any:
    await client.begin(history=history, **more)
    await client.stopped("entry")
    return await client.timeline()


async def test_it_stands_at_the_end_and_walks_back(client: Client, folder: Folder, history: str) -> None:
    found = await opened(client, history, program=folder.main)
    assert (found["mode"], found["status"], found["future"]) == ("history", "succeeded", 0)
    assert found["effects"] is None
    passed = []
    for _ in range(4):
        await client.go("stepBack", "step")
        threads = (await client.request("threads"))["threads"]
        passed.append(await client.where(threads[-1]["id"]))
    assert passed == ["child/last", "child/inner", "child", "paid"]
    await client.go("reverseContinue", "entry")
    assert await client.where() == "price"
    with pytest.raises(Failed, match="beginning"):
        await client.request("stepBack", threadId=1)


async def test_on_and_at_any_record(client: Client, folder: Folder, history: str) -> None:
    found = await opened(client, history, program=folder.main, at=2, lines={folder.main: [folder.line("- paid:")]})
    assert (found["recordsTotal"], found["position"]["seq"]) == (2, 2)
    whole = found["recordsTotal"] + found["future"]
    await client.go("next", "step")
    assert await client.where() == "price"
    await client.go("next", "step")
    assert await client.where() == "each"
    await client.go("stepIn", "step")
    assert await client.evaluate("item + price.text") == '"amany\\nlines\\n"'
    await client.go("continue", "breakpoint")
    assert await client.where() == "paid"
    stop = await client.go("continue", "pause")
    assert stop["text"] == "the history ends here"
    assert (await client.timeline())["recordsTotal"] == whole
    await client.go("goto", "goto", threadId=1, targetId=5)
    assert (await client.timeline())["recordsTotal"] == 4
    await client.go("continue", "breakpoint")


async def test_step_in_stands_where_the_run_waited(client: Client, folder: Folder, history: str) -> None:
    lines = {folder.main: [folder.line("- paid:")]}
    await opened(client, history, program=folder.main, at=2, lines=lines)
    await client.go("continue", "breakpoint")
    await client.go("stepIn", "step")
    assert (await client.timeline())["records"][-1]["kind"] == "run.suspended"
    await client.go("stepIn", "step")
    assert await client.where() == "child"


async def test_its_own_definition_is_shown_without_a_program(client: Client, history: str, folder: Folder) -> None:
    Path(folder.main).write_text("workfile: broken", encoding="utf-8")
    await opened(client, history, at=2)
    await client.go("next", "step")
    frame = (await client.frames())[0]
    assert frame["source"]["name"] == "main (recorded)"
    reference = frame["source"]["sourceReference"]
    text = (await client.request("source", sourceReference=reference))["content"]
    assert (
        text.splitlines()[frame["line"] - 1].strip().startswith("- price:")
        or "price" in text.splitlines()[frame["line"] - 1]
    )
    sources = (await client.request("loadedSources"))["sources"]
    assert [each["name"] for each in sources] == ["main (recorded)", "child (recorded)"]
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "charge" in each and "- " in each)
    body = await client.request("setBreakpoints", source={"sourceReference": reference}, breakpoints=[{"line": line}])
    assert body["breakpoints"][0]["verified"] is True
    await client.go("continue", "breakpoint")
    assert await client.where() == "charge"
    with pytest.raises(Failed, match="no source 99"):
        await client.request("source", sourceReference=99)


async def test_filters_stop_in_a_history(client: Client, folder: Folder, history: str) -> None:
    await opened(client, history, program=folder.main, at=2, filters=["suspend", "divergence"])
    await client.go("continue", "exception")
    assert (await client.timeline())["records"][-1]["kind"] == "run.suspended"
    await client.go("continue", "pause")


async def test_divergence_stops_where_the_workfile_decides_otherwise(
    client: Client, folder: Folder, history: str
) -> None:
    Path(folder.main).write_text(MAIN.replace("inputs.amount * 2", "inputs.amount * 3"), encoding="utf-8")
    await opened(client, history, program=folder.main, at=2, filters=["divergence"])
    stop = await client.go("continue", "exception")
    assert "in place of" in stop["text"]
    assert (await client.timeline())["records"][-1]["path"] == "price"
    info = await client.request("exceptionInfo", threadId=1)
    assert info["details"]["typeName"] == "divergence"


async def test_nothing_can_be_done_to_it(client: Client, folder: Folder, history: str) -> None:
    found = await opened(client, history, program=folder.main)
    assert [name for name, can in found["can"].items() if can] == ["stepBack", "continue"]
    for command, arguments in [
        ("workfile/crash", {}),
        ("workfile/resume", {}),
        ("workfile/advance", {"by": "1h"}),
        ("workfile/cancel", {}),
        ("workfile/explore", {}),
        ("workfile/deliver", {"trigger": "shop.paid", "payload": {}}),
        ("workfile/decide", {"on": "", "actor": "d", "decide": "reissue"}),
        ("restart", {}),
    ]:
        with pytest.raises(Failed, match="recorded history"):
            await client.request(command, **arguments)


async def test_histories_that_cannot_be_used(client: Client, folder: Folder, history: str) -> None:
    lines = Path(history).read_text(encoding="utf-8").splitlines(keepends=True)
    changed = json.loads(lines[3])
    changed["at"] = "2027-01-01T00:00:00Z"
    for name, text in {
        "empty": "",
        "noise": "x\n",
        "changed": "".join([*lines[:3], json.dumps(changed) + "\n", *lines[4:]]),
        "headless": "".join(lines[1:]),
    }.items():
        path = folder.write(f"{name}.history.jsonl", text)
        with pytest.raises(Failed, match="cannot be used"):
            await client.begin(history=path)
    with pytest.raises(Failed, match="usable records"):
        await client.request("attach", history=history, at=9_999)
    cut = folder.write("cut.history.jsonl", "".join(lines[:9]))
    await opened(client, cut, program=folder.main)  # that of an executor that died there
