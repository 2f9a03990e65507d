"""Requests of our own, and the same by words in the console."""

from __future__ import annotations

from typing import Any

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio


async def at_wait(client: Client, folder: Folder, **launch: Any) -> None:
    """A run that waits for its event."""
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- paid:")]}, **launch)
    await client.stopped("breakpoint")
    await client.go("stepIn", "step")
    assert (await client.timeline())["status"] == "suspended"


async def answered_then_stopped(client: Client, command: str, wanted: str, /, **arguments: Any) -> Any:
    """The body of the response, which comes before the ``stopped`` event."""
    start = len(client.messages)
    seq = client.ask(command, arguments or None)
    response = await client.answer(seq)
    assert response["success"], response
    await client.wait(lambda each: each.get("event") == "stopped", start)
    kinds = [each.get("event") or each["type"] for each in client.messages[start:] if each.get("event") != "output"]
    assert kinds == ["response", "stopped"]
    stop = client.messages[-1]["body"]
    assert stop["reason"] == wanted, stop
    client._read_events = len(client.messages)
    return response.get("body")


async def test_each_is_answered_then_stops(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    await answered_then_stopped(client, "workfile/advance", "advance", by="30m")
    assert (await client.timeline())["clock"]["elapsed"] == "30m"
    await answered_then_stopped(client, "workfile/advance", "advance", to="2026-01-01T01:00:00Z")
    assert (await client.timeline())["timers"][0]["in"] == "1h"
    await answered_then_stopped(client, "workfile/crash", "crash")
    await answered_then_stopped(client, "workfile/resume", "resume")
    body = await answered_then_stopped(
        client, "workfile/deliver", "deliver", trigger="shop.paid", payload={"order": "o-1", "sum": 3}, id="e-1"
    )
    assert body == {"accepted": True, "reason": None}
    assert await client.where() == "paid"
    await answered_then_stopped(client, "workfile/cancel", "cancel", reason={"who": "dana"})
    await client.request("continue", threadId=1)
    await client.event("terminated")
    told = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert told[-1] == "the run cancelled\n"


async def test_an_event_that_is_refused_is_a_record(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    body = await answered_then_stopped(
        client, "workfile/deliver", "deliver", trigger="shop.paid", payload={"order": "other", "sum": 1}
    )
    assert body == {"accepted": False, "reason": "unmatched"}
    body = await answered_then_stopped(client, "workfile/deliver", "deliver", trigger="shop.paid", payload={"order": 1})
    assert body == {"accepted": False, "reason": "invalid"}
    kinds = [each["kind"] for each in (await client.timeline())["records"][-2:]]
    assert kinds == ["event.refused", "event.refused"]


async def test_an_event_while_the_executor_is_down(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    await client.go("workfile/crash", "crash")
    body = await answered_then_stopped(
        client, "workfile/deliver", "deliver", trigger="shop.paid", payload={"order": "o-1", "sum": 3}
    )
    assert body["accepted"] is None
    await client.go("workfile/resume", "resume")
    await client.go("stepIn", "step")
    assert await client.where() == "child"
    assert await client.evaluate("paid.event.sum") == "3"


async def test_advance_stops_at_breakpoints_and_at_the_end(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    await client.request(
        "setBreakpoints", source={"path": folder.main}, breakpoints=[{"line": folder.line("- child:")}]
    )
    await answered_then_stopped(client, "workfile/advance", "breakpoint", by="5h")
    assert (await client.timeline())["clock"]["elapsed"] == "2h"
    await answered_then_stopped(client, "workfile/advance", "advance", by="5h")
    assert (await client.timeline())["over"] is True
    await client.request("continue", threadId=1)
    await client.event("terminated")


async def test_decisions(client: Client, folder: Folder) -> None:
    scenario = folder.scenario(
        "inputs: { amount: 1, names: [], order: o }\nactions: { shop.charge: [ { ambiguous: { code: timeout } } ] }\n"
    )
    await client.begin(scenario=scenario)
    await client.stopped("exception")
    before = await client.timeline()
    assert before["holds"][0]["example"] == {"charge_id": "text"}
    for on, decide, words in [
        ("price", "reissue", "no hold"),
        ("charge", "reissue", "cannot be decided"),
        ("charge", "authorize_recovery", "cannot be decided"),
        ("charge", {"succeed": {"charge": 1}}, "does not fit"),
        ("charge", {"fail": {}}, "code"),
        ("charge", "perhaps", "not a decision"),
        ("charge", 5, "decide"),
        ("charge", {"succeed": {}, "fail": {"code": "x"}}, "both"),
    ]:
        with pytest.raises(Failed, match=words):
            await client.request("workfile/decide", on=on, actor="dana", decide=decide)
    with pytest.raises(Failed, match="actor"):
        await client.request("workfile/decide", on="charge", decide="reissue")
    assert await client.timeline() == before  # what is refused leaves everything as it was
    decide = {"fail": {"code": "no_effect", "message": "😀 nothing happened", "details": {"a": [1]}, "retryable": True}}
    await answered_then_stopped(client, "workfile/decide", "decide", on="charge", actor="dana", decide=decide)
    whole = await client.timeline()
    assert whole["records"][-1]["kind"] == "operator.decided"
    assert (whole["status"], whole["holds"]) == ("running", [])  # nothing holds it any more
    assert (await say(client, "state")).startswith("running at ")
    assert (await client.scope("Run"))["status"] == "running"


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("workfile/crash", {"now": True}, "no argument `now`"),
        ("workfile/resume", {"down": "1h"}, "no argument `down`"),
        ("workfile/resume", None, "The executor is up"),
        ("workfile/advance", None, "either `by`"),
        ("workfile/advance", {"by": "1h", "to": "2026-01-01T01:00:00Z"}, "either `by`"),
        ("workfile/advance", {"by": "soon"}, "`by`"),
        ("workfile/advance", {"by": 3600}, "`by` is a string"),
        ("workfile/advance", {"to": "2025-01-01T00:00:00Z"}, "is past"),
        ("workfile/advance", {"to": "tomorrow"}, "`to`"),
        ("workfile/advance", {"by": "1h", "until": "x"}, "no argument `until`"),
        ("workfile/deliver", {"trigger": "shop.paid"}, "lacks its argument `payload`"),
        ("workfile/deliver", {"trigger": "shop.payed", "payload": {}}, "Did you mean `shop.paid`"),
        ("workfile/deliver", {"trigger": "shop.nix", "payload": {}}, "steps of this run wait for `shop.paid`"),
        ("workfile/deliver", {"trigger": 5, "payload": {}}, "`trigger` is a string"),
        ("workfile/deliver", {"trigger": "shop.paid", "payload": {}, "delivery": "x"}, "Did you mean|no argument"),
        ("workfile/decide", {"on": "charge", "actor": "dana", "decide": "reissue"}, "nothing is held"),
        ("workfile/cancel", {"why": "x"}, "no argument `why`"),
        ("workfile/explore", {"depth": 3}, "no argument `depth`"),
        ("workfile/timeline", {"since": 3}, "no argument `since`"),
        ("workfile/timeline", {"limit": 0}, "at least 1"),
        ("workfile/advances", {"by": "1h"}, "Did you mean `workfile/advance`"),
    ],
)
async def test_what_is_refused_changes_nothing(
    client: Client, folder: Folder, command: str, arguments: Any, words: str
) -> None:
    await at_wait(client, folder)
    before = await client.timeline()
    stops = client.events().count("stopped")
    response = await client.answer(client.ask(command, arguments))
    assert response["success"] is False
    import re

    assert re.search(words, response["message"]), response["message"]
    assert response["body"]["error"]["format"]
    assert await client.timeline() == before
    assert client.events().count("stopped") == stops


async def test_not_before_the_run_has_begun_nor_on_a_history(client: Client, folder: Folder) -> None:
    await client.initialize()
    with pytest.raises(Failed, match="comes after `launch`"):
        await client.request("workfile/crash")
    await client.request("launch", program=folder.main, inputs=INPUTS)
    with pytest.raises(Failed, match="has not begun"):
        await client.request("workfile/crash")


async def test_explore_from_here(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [folder.line("- paid:")]})
    await client.stopped("breakpoint")
    before = await client.timeline()
    report = await answered_then_stopped(client, "workfile/explore", "explore")
    assert report["complete"] is True
    assert report["outcomes"]["succeeded"] >= 1
    points = {each["path"] for each in report["crash_points"]}
    assert "child/inner" in points
    assert points.isdisjoint({"price", "each", "fan.left.one"})  # they are past
    assert await client.timeline() == {**before, "stop": {"reason": "explore", "text": ""}}
    assert "states; succeeded" in await say(client, "explore")
    await client.stopped("explore")
    seq = client.ask("workfile/explore")
    client.ask("cancel", {"requestId": seq})
    response = await client.answer(seq)
    assert response["success"] or response["message"] == "cancelled"


async def test_while_the_run_goes_on(client: Client, folder: Folder) -> None:
    path = folder.write(
        "round.workfile.yaml",
        'workfile: "1.0"\nname: round\ninitial: first\nstates:\n'
        "  first:\n    steps:\n      - a: { wf.wait: 1s }\n    routes: [{ to: first }]\n",
    )
    await client.begin(program=path)
    for line in ("1 + 1", "next", "back", "reverse", "goto 3"):
        with pytest.raises(Failed) as refused:
            await say(client, line)
        assert refused.value.response["message"] == "notStopped"
    await client.under_way()
    assert (await say(client, "state")).startswith(("running at", "suspended at"))
    assert "executor is down" in await say(client, "crash")
    await client.stopped("crash")
    await client.go("workfile/resume", "resume")
    await client.request("continue", threadId=1)
    await client.go("workfile/crash", "crash")
    await client.go("workfile/resume", "resume")
    await client.request("continue", threadId=1)
    seq = client.ask("workfile/advance", {"by": "9000d"})
    await client.answer(client.ask("threads"))
    await client.answer(client.ask("cancel", {"requestId": seq}))
    response = await client.answer(seq)
    assert (response["success"], response["message"]) == (False, "cancelled")
    await client.stopped("pause")
    await client.go("workfile/cancel", "cancel")
    await client.request("continue", threadId=1)
    await client.event("terminated")


async def say(client: Client, line: str) -> str:
    return await client.evaluate(line, context="repl")


async def test_the_console(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    assert (await say(client, "state")).startswith("suspended at 2026-01-01T00:00:00Z, after record ")
    assert "waits at `paid`" in await say(client, "state")
    assert (await say(client, "advance 30m")) == "it is 2026-01-01T00:30:00Z"
    await client.stopped("advance")
    assert "executor is down" in await say(client, "crash")
    await client.stopped("crash")
    assert "executor is back" in await say(client, "resume")
    await client.stopped("resume")
    assert await say(client, "deliver shop.paid --id e-1 {order: o-2, sum: 1}") == "refused: unmatched"
    await client.stopped("deliver")
    assert await say(client, "deliver shop.paid { order: o-1, sum: 1 }") == "accepted"
    await client.stopped("deliver")
    assert "takes `shop.paid`" in await say(client, "history 3")
    assert "shop.charge at `charge`: 1, called 1" in await say(client, "effects")
    assert await say(client, "inputs.amount + 1") == "6"
    assert "advance DURATION" in await say(client, "help")
    await say(client, "back")
    await client.stopped("step")
    for line, words in [
        ("advance", "Write `advance"),
        ("advance never", "never"),
        ("deliver", "Write `deliver"),
        ("deliver shop.paid {", "not YAML"),
        ("decide", "Write `decide"),
        ("decide x reissue", "nothing is held"),
        ("back 3", "takes nothing"),
        ("resume", "is up"),
        ("history all", "takes a count"),
        ("goto x", "Write `goto"),
        ("nothing.here", "nothing"),
    ]:
        with pytest.raises(Failed, match=words):
            await say(client, line)
    assert await say(client, "cancel it is over") == "cancelled"
    await client.stopped("cancel")
    assert (await client.timeline())["records"][-1]["kind"] == "cancel.decided"


async def test_who_moves_the_run_keeps_the_focus(client: Client, folder: Folder) -> None:
    """The client's editor takes it after a step of the toolbar, not after a command that was typed elsewhere."""
    await at_wait(client, folder)

    async def kept() -> bool:
        return (await client.stopped()).get("preserveFocusHint", False)

    for line in ("crash", "resume", "deliver shop.paid { order: o-2, sum: 1 }", "advance 1m", "back", "in", "goto 3"):
        await say(client, line)
        assert await kept(), line
    assert "preserveFocusHint" not in await client.go("stepIn")
    assert (await client.go("workfile/crash"))["preserveFocusHint"] is True
    assert (await client.go("workfile/resume"))["preserveFocusHint"] is True


async def test_another_thread_is_shown(client: Client, folder: Folder) -> None:
    at = folder.line("- one:")
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [at]}, stopOnEntry=True)
    await client.stopped("entry")
    await say(client, "continue")
    stop = await client.stopped("breakpoint")
    assert "preserveFocusHint" not in stop


async def test_console_words_that_move(client: Client, folder: Folder) -> None:
    await client.begin(program=folder.main, inputs=INPUTS, stopOnEntry=True)
    await client.stopped("entry")
    for line, step in [
        ("next", "each"),
        ("in", "each[0].greet"),
        ("out", "fan"),
        ("next", "charge"),
        ("into", "charge"),
        ("reverse", "price"),
    ]:
        await say(client, line)
        await client.stopped()
        assert await client.where() == step
    await say(client, "goto 3")
    await client.stopped("goto")
    assert (await client.timeline())["recordsTotal"] == 2
    await say(client, "continue")
    await client.event("terminated")


async def test_completions(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    frame = (await client.frames())[0]["id"]

    async def labels(text: str, column: int | None = None) -> list[str]:
        body = await client.request("completions", text=text, column=column or len(text) + 1, frameId=frame)
        return [each["label"] for each in body["targets"]]

    assert "advance" in await labels("adv")
    assert await labels("deliver sh") == ["shop.paid"]
    assert await labels("inputs.am") == ["amount"]
    assert "price" in await labels("1 + pr")
    assert await labels("price.tot * 2", 10) == ["total"]
    assert "upper" in await labels("inputs.order | up")
    assert await labels("nothing.") == []


async def test_a_timeline_of_a_few_records(client: Client, folder: Folder) -> None:
    await at_wait(client, folder)
    whole = await client.timeline()
    some = await client.request("workfile/timeline", **{"from": 3, "limit": 2})
    assert some["records"] == whole["records"][2:4]
    assert [each["seq"] for each in whole["records"]] == list(range(1, whole["recordsTotal"] + 1))
    bars = {each["path"]: each for each in whole["bars"]}
    assert (bars["paid"]["state"], bars["paid"]["to"], bars["paid"]["line"]) == (
        "waiting",
        None,
        folder.line("- paid:"),
    )
    assert bars["skipped"]["state"] == "skipped"
    assert whole["subscriptions"][0]["example"]["order"] == "o-1"
    assert whole["can"]["deliver"] is True
    assert whole["position"]["path"] == "paid"
