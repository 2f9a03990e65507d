"""Going back, and on another way."""

from __future__ import annotations

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio


async def seen(client: Client) -> tuple[str, int, str]:
    found = await client.timeline()
    return await client.where(), found["recordsTotal"], found["clock"]["now"]


async def test_step_back_undoes_the_last_command(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    was = [await seen(client)]
    for command in ("next", "next", "stepIn", "next", "next", "next"):
        await client.go(command, "step")
        was.append(await seen(client))
    assert was[-1][0] == "paid"
    for expected in reversed(was[:-1]):
        await client.go("stepBack", "step")
        assert await seen(client) == expected
    with pytest.raises(Failed, match="This is the beginning"):
        await client.request("stepBack", threadId=1)
    assert await client.where() == "price"


async def test_the_outside_world_goes_back_too(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- charge:")]})
    await client.stopped("breakpoint")
    before = (await client.timeline())["effects"]
    await client.go("next")
    after = (await client.timeline())["effects"]
    assert [each["count"] for each in after if each["action"] == "shop.charge"] == [1]
    await client.go("stepBack")
    assert (await client.timeline())["effects"] == before
    await client.go("next")
    assert (await client.timeline())["effects"] == after


async def test_step_back_over_a_crash_and_a_resume(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- charge:")]})
    await client.stopped("breakpoint")
    frame = (await client.frames())[0]["id"]
    await client.request("stepInTargets", frameId=frame)
    await client.go("stepIn", targetId=2)  # the call is out
    out = await seen(client)
    await client.go("workfile/crash", "crash")
    down = await client.timeline()
    assert (down["down"], down["recordsTotal"]) == (True, out[1])
    await client.go("workfile/resume", "resume")
    await client.go("continue", "exception")  # the lost answer of a write is ambiguous, and `halt` holds
    assert (await client.timeline())["status"] == "held"
    await client.go("stepBack")
    assert (await client.timeline())["down"] is False
    await client.go("stepBack")
    assert (await client.timeline())["down"] is True
    with pytest.raises(Failed, match="The executor is down"):
        await client.request("continue", threadId=1)
    await client.go("stepBack")
    assert await seen(client) == out
    await client.go("next", "step")  # without the crash the answer comes
    assert await client.where() == "skipped"


async def test_another_way_drops_the_future_and_says_so(client: Client, folder: Folder) -> None:
    await client.begin(
        program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- paid:")]}, stopAtEnd=True
    )
    await client.stopped("breakpoint")
    await client.go("continue", "pause")
    whole = (await client.timeline())["recordsTotal"]
    assert (await client.evaluate("paid.status")) == '"timeout"'
    await client.go("stepBack")
    found = await client.timeline()
    here = found["recordsTotal"]
    assert found["future"] == whole - here
    await client.go("next", "step")  # the same way again: nothing is dropped
    assert [each for each in client.messages if "dropped" in str(each.get("body", {}))] == []
    await client.go("stepBack")
    await client.go("stepIn", "step")
    body = await client.request("workfile/deliver", trigger="shop.paid", payload={"order": "o-1", "sum": 3}, id="e-1")
    assert body == {"accepted": True, "reason": None}
    await client.stopped("deliver")
    told = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert [each for each in told if each.startswith("the future was dropped (records ")]
    assert (await client.timeline())["future"] == 0
    await client.go("continue", "pause")
    assert (await client.evaluate("paid.event.sum")) == "3"


async def test_reverse_continue_goes_to_the_stop_before_and_to_the_start(client: Client, folder: Folder) -> None:
    greet = folder.line("- greet:")
    await client.begin(
        program=folder.main,
        inputs={**INPUTS, "names": ["a", "b", "c"]},
        stopOnEntry=True,
        lines={folder.main: [{"line": greet, "condition": "item != 'b'"}, folder.line("- paid:")]},
    )
    await client.stopped("entry")
    for _ in range(3):
        await client.go("continue", "breakpoint")
    assert await client.where() == "paid"
    await client.go("reverseContinue", "breakpoint")
    assert await client.where() == "each[2].greet"
    await client.go("reverseContinue", "breakpoint")
    assert await client.where() == "each[0].greet"
    await client.go("reverseContinue", "entry")
    assert await client.where() == "price"
    await client.go("reverseContinue", "entry")
    assert await client.where() == "price"
    await client.go("continue", "breakpoint")
    assert await client.where() == "each[0].greet"


async def test_hits_count_from_the_start_also_after_going_back(client: Client, folder: Folder) -> None:
    entry = {"line": folder.line("- greet:"), "hitCondition": ">= 2"}
    await client.begin(
        program=folder.main, inputs={**INPUTS, "names": list("abcd")}, lines={folder.main: [entry]}, stopOnEntry=True
    )
    await client.stopped("entry")
    await client.go("continue", "breakpoint")
    assert await client.evaluate("index") == "1"
    await client.go("continue", "breakpoint")
    await client.go("stepBack")
    await client.go("stepBack")
    assert await client.where() == "price"
    await client.go("continue", "breakpoint")
    assert await client.evaluate("index") == "1"


async def test_restart_frame(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- greet:")]})
    await client.stopped("breakpoint")
    await client.go("continue", "breakpoint")
    frames = await client.frames()
    assert [each["name"] for each in frames] == ["each[1].greet", "each"]
    await client.go("restartFrame", frameId=frames[1]["id"])
    assert await client.where() == "each"
    await client.go("continue", "breakpoint")
    assert await client.where() == "each[0].greet"


async def test_goto_a_record_or_a_line(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopAtEnd=True)
    await client.stopped("pause")
    body = await client.request("gotoTargets", source={"path": folder.main}, line=folder.line("- greet:"))
    assert [each["label"].rpartition(": ")[2] for each in body["targets"]] == ["each[0].greet", "each[1].greet"]
    await client.go("goto", "goto", threadId=1, targetId=body["targets"][1]["id"])
    assert await client.where() == "each[1].greet"
    found = await client.timeline()
    assert found["recordsTotal"] == body["targets"][1]["id"] - 1
    last = found["recordsTotal"] + found["future"]
    await client.go("goto", threadId=1, targetId=last)  # what is known to come can be gone to
    assert (await client.timeline())["recordsTotal"] == last - 1
    await client.go("stepBack")
    assert await client.where() == "each[1].greet"
    for wrong in (0, last + 1):
        with pytest.raises(Failed, match="There is no record"):
            await client.request("goto", threadId=1, targetId=wrong)


async def test_a_crash_of_the_scenario_is_told_and_gone_over_again(client: Client, folder: Folder) -> None:
    scenario = folder.scenario(
        "inputs: { amount: 1, names: [], order: o }\n"
        "crashes: [ { after: { record: action.dispatched, path: charge }, down: 10m } ]\n"
        "operator: [ { on: charge, actor: dana, decide: { succeed: { charge_id: c } } } ]\n"
    )
    await client.begin(scenario=scenario, lines={folder.main: [folder.line("- paid:")]})
    await client.stopped("breakpoint")
    told = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert [each for each in told if each.startswith("the executor dies after record") and "10m" in each]
    found = await client.timeline()
    assert [each["back"] for each in found["crashes"]] == ["2026-01-01T00:10:00Z"]
    await client.go("reverseContinue", "entry")
    assert (await client.timeline())["crashes"] == []
    await client.go("continue", "breakpoint")
    assert (await client.timeline()) == {**found, "stop": {"reason": "breakpoint", "text": ""}}


async def test_ten_thousand_records_and_back(client: Client, folder: Folder) -> None:
    names = [f"n{number}" for number in range(2_500)]
    last = folder.line("- fan:")
    await client.begin(
        program=folder.main, inputs={**INPUTS, "names": names}, lines={folder.main: [last]}, stopOnEntry=True
    )
    await client.stopped("entry")
    await client.go("continue", "breakpoint")
    total = (await client.timeline())["recordsTotal"]
    assert total > 7_500
    await client.go("stepBack")
    await client.go("next")
    await client.go("next")
    assert (await client.timeline())["recordsTotal"] == total
    await client.go("goto", threadId=1, targetId=5_000)
    assert (await client.timeline())["recordsTotal"] == 4_999


async def test_the_clock_goes_back_with_the_record(client: Client, folder: Folder) -> None:
    """What moved the clock after a record is undone too: an event that is delivered there comes when it came before."""
    path = folder.write(
        "naps.workfile.yaml",
        'workfile: "1.0"\nname: naps\nsteps:\n  - p:\n      wf.parallel:\n'
        "        a: [{ long: { wf.wait: 1d } }]\n        b: [{ short: { wf.wait: 2h } }]\n",
    )
    await client.begin(program=path, filters=["suspend"], stopAtEnd=True)
    await client.stopped("exception")
    was = [await client.timeline()]
    await client.go("continue", "exception")
    was.append(await client.timeline())
    await client.go("continue", "pause")
    for expected in reversed(was):
        await client.go("reverseContinue", "exception")
        found = await client.timeline()
        assert [found[each] for each in ("clock", "timers", "recordsTotal")] == [
            expected[each] for each in ("clock", "timers", "recordsTotal")
        ]
    await client.request("goto", threadId=1, targetId=was[0]["recordsTotal"] + 1)
    await client.stopped("goto")
    assert (await client.timeline())["clock"] == was[0]["clock"]
