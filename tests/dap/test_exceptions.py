"""Exception filters: what each stops at, conditions, what is told; holds always stop."""

from __future__ import annotations

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio

CHARGE = "  - a:\n      shop.charge: { amount: 1 }\n"


async def end(client: Client) -> None:
    await client.request("continue", threadId=1)
    await client.event("terminated")


async def test_failure_stops_once_for_each_attempt(client: Client, folder: Folder) -> None:
    folder.workfile(CHARGE + "      retry: { attempts: 2, delay: 1s }\n")
    scenario = folder.scenario(
        "actions: { shop.charge: [ { fail: { code: busy } }, { fail: { code: declined, message: no money } } ] }\n",
        "small.workfile.yaml",
    )
    await client.begin(scenario=scenario, filters=["failure"])
    await client.stopped("exception")
    info = await client.request("exceptionInfo", threadId=1)
    assert info["exceptionId"] == "busy"
    assert info["breakMode"] == "always"
    assert (await client.timeline())["records"][-1]["kind"] == "action.failed"
    stop = await client.go("continue", "exception")
    assert stop["description"] == "Paused on failure"
    assert stop["text"] == "`a` attempt 2 failed with `declined`: no money"
    info = await client.request("exceptionInfo", threadId=1)
    assert (info["exceptionId"], info["details"]["fullTypeName"]) == ("declined", "action.failed")
    await end(client)  # the failure of the step, and of the run, is the same one


@pytest.mark.parametrize(
    ("steps", "code", "kind"),
    [
        ("  - a: { wf.let: { x: '{{ [1][inputs.n] }}' } }\n", "fault.range", "step.failed"),
        ("  - a: { shop.look: { n: '{{ [1][inputs.n] }}' } }\n", "fault.range", "step.failed"),
        ("  - a: { wf.let: { x: 1 }, when: '{{ [true][inputs.n] }}' }\n", "fault.range", "step.failed"),
        ("  - a: { wf.fail: { code: broken, message: told } }\n", "broken", "step.failed"),
        (
            "  - a:\n      wf.group:\n        - b: { wf.let: { x: '{{ [1][inputs.n] }}' } }\n",
            "fault.range",
            "step.failed",
        ),
        (
            "  - a:\n      wf.let: { x: '{{ [1][inputs.n] }}' }\n      catch: [ { result: { x: 1 } } ]\n",
            "fault.range",
            "handler.entered",
        ),
        ("  - a: { wf.let: { x: '{{ [1][inputs.n] }}' }, on_fail: continue }\n", "fault.range", "step.failed"),
        ("  - a: { wf.wait: '{{ [1s][inputs.n] }}' }\n", None, None),
    ],
)
async def test_failures_without_an_attempt(
    client: Client, folder: Folder, steps: str, code: str | None, kind: str | None
) -> None:
    path = folder.workfile(steps, "inputs: { n: integer }\n")
    if code is None:
        with pytest.raises(Failed):
            await client.begin(program=path, inputs={"n": 3})
        return
    await client.begin(program=path, inputs={"n": 3}, filters=["failure"])
    await client.stopped("exception")
    assert (await client.request("exceptionInfo", threadId=1))["exceptionId"] == code
    assert (await client.timeline())["records"][-1]["kind"] == kind
    await end(client)


async def test_a_fault_in_the_result(client: Client, folder: Folder) -> None:
    path = folder.workfile("  - a: { wf.let: { x: 1 } }\nresult: '{{ [1][inputs.n] }}'\n", "inputs: { n: integer }\n")
    await client.begin(program=path, inputs={"n": 3}, filters=["failure"])
    stop = await client.stopped("exception")
    assert "fault.range" in stop["text"]
    await end(client)


async def test_conditions_of_filters(client: Client, folder: Folder) -> None:
    folder.workfile(CHARGE + "      retry: { attempts: 2, delay: 1s }\n")
    scenario = folder.scenario(
        "actions: { shop.charge: [ { fail: { code: busy } }, { fail: { code: declined } } ] }\n", "small.workfile.yaml"
    )
    await client.initialize()
    option = {"filterId": "failure", "condition": "error.code == 'declined' and error.path == 'a'"}
    await client.request("setExceptionBreakpoints", filters=[], filterOptions=[option])
    await client.begin(scenario=scenario)
    await client.stopped("exception")
    assert (await client.request("exceptionInfo", threadId=1))["exceptionId"] == "declined"
    await end(client)


async def test_unknown_filters_and_bad_conditions(client: Client, folder: Folder) -> None:
    await client.initialize()
    body = await client.request(
        "setExceptionBreakpoints",
        filters=["failure", "raised"],
        filterOptions=[{"filterId": "hold", "condition": "x =="}],
    )
    assert [each["verified"] for each in body["breakpoints"]] == [True, False, False]
    assert "`failure`" in body["breakpoints"][1]["message"]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("error.code == 'late' and error.attempt > 1 or error.details.any == 1", ""),
        ("{{ error.reason == 'ambiguous' }}", ""),
        ("charge.charge_id == 'x'", "Nothing is called `charge` here: a condition of a filter reads `error`."),
        ("error.cod == 'late'", "cod"),
        ("error.code", "A condition is true or false"),
        ("error.code | no_such", "no_such"),
    ],
)
async def test_conditions_of_filters_are_checked(client: Client, condition: str, words: str) -> None:
    await client.initialize()
    option = {"filterId": "failure", "condition": condition}
    body = await client.request("setExceptionBreakpoints", filters=[], filterOptions=[option])
    (found,) = body["breakpoints"]
    assert found["verified"] is not bool(words)
    assert words in found.get("message", "")


async def test_ambiguous_and_hold(client: Client, folder: Folder) -> None:
    folder.workfile(CHARGE + "      on_unknown: halt\n")
    scenario = folder.scenario(
        "actions: { shop.charge: [ { ambiguous: { code: timeout } } ] }\n", "small.workfile.yaml"
    )
    await client.begin(scenario=scenario, filters=["ambiguous", "hold"])
    await client.stopped("exception")
    assert (await client.request("exceptionInfo", threadId=1))["details"]["typeName"] == "ambiguous"
    await client.go("continue", "exception")
    info = await client.request("exceptionInfo", threadId=1)
    assert (info["exceptionId"], info["details"]["typeName"]) == ("ambiguous", "hold")
    stop = await client.go("continue", "exception")
    assert stop["description"] == "The run is held, and nothing is left that could act"
    assert await client.where() == "a"
    await client.go("workfile/decide", "decide", on="a", actor="dana", decide={"succeed": {"charge_id": "c-1"}})
    await end(client)


async def test_a_held_run_always_stops(client: Client, folder: Folder) -> None:
    folder.workfile(CHARGE + "      on_unknown: halt\n")
    scenario = folder.scenario(
        "actions: { shop.charge: [ { ambiguous: { code: timeout } } ] }\n", "small.workfile.yaml"
    )
    await client.begin(scenario=scenario)
    await client.stopped("exception")
    assert (await client.timeline())["status"] == "held"
    assert (await client.request("exceptionInfo", threadId=1))["exceptionId"] == "ambiguous"
    before = (await client.timeline())["recordsTotal"]
    await client.go("continue", "exception")
    await client.go("next", "exception")
    await client.go("stepBack", "step")  # over the commands that came to nothing
    assert (await client.timeline())["recordsTotal"] < before
    await client.request("terminate")
    await client.event("terminated")


async def test_suspend_and_recovery(client: Client, folder: Folder) -> None:
    folder.workfile(
        "  - g:\n      wf.group:\n        - look: { shop.look: { n: 1 } }\n"
        "      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, delay: 5m, then: fail }\n"
    )
    scenario = folder.scenario(
        "actions: { shop.look: [ { fail: { code: busy, retryable: false } }, { succeed: { found: true } } ] }\n",
        "small.workfile.yaml",
    )
    await client.begin(scenario=scenario, filters=["suspend", "recovery"])
    await client.stopped("exception")
    assert (await client.request("exceptionInfo", threadId=1))["details"]["typeName"] == "recovery"
    await client.go("continue", "exception")
    assert (await client.request("exceptionInfo", threadId=1))["details"]["typeName"] == "suspend"
    assert [each["timer"] for each in (await client.timeline())["timers"]] == ["delay"]
    await end(client)


async def test_exception_info_elsewhere_is_refused(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    with pytest.raises(Failed, match="did not stop at an exception"):
        await client.request("exceptionInfo", threadId=1)


async def test_an_undo_in_progress_is_on_top_of_its_scope(client: Client, folder: Folder) -> None:
    path = folder.workfile(
        "  - g:\n      wf.group:\n        - a:\n            shop.charge: { amount: 1 }\n"
        "            undo: { shop.refund: { charge_id: '{{ a.charge_id }}' } }\n        - b: { shop.look: { n: 1 } }\n"
        "      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }\n"
    )
    scenario = folder.scenario(
        "actions:\n  shop.look: [ { fail: { code: busy, retryable: false } } ]\n"
        "  shop.refund: [ { fail: { code: closed, retryable: false } } ]\n",
        "small.workfile.yaml",
    )
    await client.begin(scenario=scenario, filters=["hold"])
    await client.stopped("exception")
    assert [each["name"] for each in await client.frames()] == ["g.a.(undo)", "g"]
    assert (await client.frames())[0]["line"] == folder.line("- a:", path)
    hold = (await client.timeline())["holds"][0]
    assert (hold["path"], hold["reason"]) == ("g.a.(undo)", "undo_failed")
    assert hold["allowed"] == ["succeed", "fail", "reissue"]
