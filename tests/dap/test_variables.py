"""Scopes, variables, evaluation."""

from __future__ import annotations

import json

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio

SCOPES = ["Bindings", "Inputs", "Run", "Attempt", "Timers", "Subscriptions", "Effects", "Redo set"]


async def test_every_frame_has_all_scopes(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- greet:")]})
    await client.stopped("breakpoint")
    for frame in await client.frames():
        scopes = (await client.request("scopes", frameId=frame["id"]))["scopes"]
        assert [each["name"] for each in scopes] == SCOPES
        for each in scopes:
            assert each["variablesReference"] > 0
            await client.request("variables", variablesReference=each["variablesReference"])


async def test_bindings_are_those_that_can_be_read(client: Client, folder: Folder) -> None:
    await client.begin(
        program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- greet:"), folder.line("- paid:")]}
    )
    await client.stopped("breakpoint")
    inner, outer = await client.frames()
    assert await client.scope("Bindings", inner["id"]) == {
        "item": '"a"',
        "index": "0",
        "price": '{total: 10, text: "many\\nlines\\n"}',
    }
    assert list(await client.scope("Bindings", outer["id"])) == ["price"]
    await client.go("continue")
    await client.go("continue")
    found = await client.scope("Bindings")
    assert found["skipped"] == "null (skipped: its guard was false)"
    assert found["each"] == "[{…}, {…}]"


async def test_types_and_paging_of_long_lists(client: Client, folder: Folder) -> None:
    names = [f"n{number}" for number in range(10_000)]
    await client.begin(program=folder.main, inputs={**INPUTS, "names": names}, stopOnEntry=True)
    await client.stopped("entry")
    body = await client.request("evaluate", expression="inputs.names", context="watch")
    assert (body["type"], body["indexedVariables"]) == ("list[10000]", 10_000)
    number = body["variablesReference"]
    page = (await client.request("variables", variablesReference=number, filter="indexed", start=9_998, count=100))[
        "variables"
    ]
    assert [(each["name"], each["value"], each["evaluateName"], each["type"]) for each in page] == [
        ("[9998]", '"n9998"', "inputs.names[9998]", "string"),
        ("[9999]", '"n9999"', "inputs.names[9999]", "string"),
    ]
    assert len((await client.request("variables", variablesReference=number))["variables"]) == 10_000
    assert (await client.request("variables", variablesReference=number, filter="named"))["variables"] == []
    with pytest.raises(Failed, match="earlier stop"):
        await client.request("variables", variablesReference=99)


async def test_values_open_lazily_and_name_their_expression(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    text = '{ a: { "b c": [1, null, 2.5, true, "x"] }, at: run.started_at, span: "90m" | duration }'
    body = await client.request("evaluate", expression=text, context="repl")
    found = {
        each["name"]: each
        for each in (await client.request("variables", variablesReference=body["variablesReference"]))["variables"]
    }
    assert {name: (each["value"], each["type"]) for name, each in found.items()} == {
        "a": ("{b c: […]}", "map"),
        "at": ("2026-01-01T00:00:00Z", "timestamp"),
        "span": ("1h30m", "duration"),
    }
    body = await client.request("evaluate", expression="{{ price?.total ?? inputs.names }}", context="hover")
    assert body["result"] == '["a", "b"]'


@pytest.mark.parametrize("context", ["watch", "hover", "repl", "variables", "clipboard"])
async def test_evaluation_in_every_context(client: Client, folder: Folder, context: str) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    frame = (await client.frames())[0]["id"]
    body = await client.request("evaluate", expression="inputs.names", context=context, frameId=frame)
    assert json.loads(body["result"]) == ["a", "b"]
    for wrong in ("inputs.", "missing", "1 / 0", "", "{{ 1 }} {{ 2 }}", "(" * 100, "x" * 30_000):
        with pytest.raises(Failed):
            await client.request("evaluate", expression=wrong, context=context, frameId=frame)
    with pytest.raises(Failed, match="context"):
        await client.request("evaluate", expression="1", context="other")


async def test_the_runtime_scopes(client: Client, folder: Folder) -> None:
    path = folder.workfile(
        "  - g:\n      wf.group:\n        - a:\n            shop.charge: { amount: 1 }\n"
        "            undo: { shop.refund: { charge_id: '{{ a.charge_id }}' } }\n"
        "        - w:\n            wf.wait_for: shop.paid\n            match: { order: o-1 }\n            timeout: 1h\n"
        "      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }\n"
    )
    await client.begin(program=path, lines={path: [folder.line("- w:", path)]})
    await client.stopped("breakpoint")
    assert (await client.scope("Redo set"))["g"] == "whole_group: g.a"
    await client.go("stepIn")
    assert await client.scope("Timers") == {"g.w (wait)": "2026-01-01T01:00:00Z, in 1h"}
    assert await client.scope("Subscriptions") == {"g.w": "shop.paid"}
    assert await client.scope("Effects") == {"g.a": "shop.charge: took effect 1 time in 1 call"}
    run = await client.scope("Run")
    assert (run["status"], run["elapsed"], run["generation"]) == ("suspended", "0s", "0")
    await client.go("stepBack")
    await client.go("stepBack", "step")
    await client.go("next", granularity="instruction")
    attempt = await client.scope("Attempt")
    assert (attempt["action"], attempt["phase"], attempt["arguments"]) == ("shop.charge", "prepared", "{amount: 1}")


async def test_a_dry_run_shows_what_is_a_placeholder(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, dryRun=True, lines={folder.main: [folder.line("- paid:")]})
    await client.stopped("breakpoint")
    body = await client.request("evaluate", expression="charge.charge_id", context="watch")
    assert body["type"] == "suppressed string"
    assert (await client.scope("Run"))["dry_run"] == "true"


async def test_frames_of_an_earlier_stop_are_refused(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    frame = (await client.frames())[0]["id"]
    await client.go("next")
    for command in ("scopes", "restartFrame", "stepInTargets"):
        with pytest.raises(Failed, match="earlier stop"):
            await client.request(command, frameId=frame)
    with pytest.raises(Failed, match="no thread 7"):
        await client.request("stackTrace", threadId=7)


async def test_stack_traces_in_parts(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- greet:")]})
    await client.stopped("breakpoint")
    body = await client.request("stackTrace", threadId=1, startFrame=1, levels=1)
    assert (body["totalFrames"], [each["name"] for each in body["stackFrames"]]) == (2, ["each"])
