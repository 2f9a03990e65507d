"""Breakpoints: where they stand and why, conditions, hits, log points, step paths."""

from __future__ import annotations

from typing import Any

import pytest
from client import Client, Failed

from tests.dap.conftest import INPUTS, Folder

pytestmark = pytest.mark.asyncio


async def set_lines(client: Client, path: str, *wanted: Any) -> list[dict[str, Any]]:
    entries = [{"line": each} if isinstance(each, int) else each for each in wanted]
    body = await client.request("setBreakpoints", source={"path": path}, breakpoints=entries)
    found: list[dict[str, Any]] = body["breakpoints"]
    return found


async def test_lines_move_to_their_step_and_say_why(client: Client, folder: Folder) -> None:
    await client.initialize()
    price = folder.line("- price:")
    charge = folder.line("- charge:")
    found = await set_lines(
        client,
        folder.main,
        price,
        price + 1,
        folder.line("# what it costs"),
        folder.line("many"),
        charge - 1,
        charge + 2,
        3,
        folder.line("result:"),
        9999,
    )
    assert [(each["verified"], each.get("line"), each.get("message")) for each in found] == [
        (True, price, None),
        (True, price, f"Line {price + 1} begins no step: the breakpoint stands on the step `price`."),
        (True, price, f"Line {price - 1} is a comment: the breakpoint stands on the step `price`."),
        (
            True,
            price,
            f"Line {price + 4} is inside a text of several lines: the breakpoint stands on the step `price`.",
        ),
        (True, charge, f"Line {charge - 1} is blank: the breakpoint stands on the step `charge`."),
        (True, charge, f"Line {charge + 2} begins no step: the breakpoint stands on the step `charge`."),
        (False, None, "Line 3 begins no step, and no step stands around it."),
        (False, None, f"Line {folder.line('result:')} begins no step, and no step stands around it."),
        (False, None, "Line 9999 is past the end, line 43."),
    ]
    assert len({each["id"] for each in found}) == len(found)


async def test_aliases_stand_where_they_are_written(client: Client, folder: Folder) -> None:
    path = folder.workfile(
        "  - a:\n      wf.group: &list\n        - look: { shop.look: { n: 1 } }\n"
        "  - b:\n      wf.group: *list\n  - c: { wf.let: { n: 1 } }\n"
    )
    await client.initialize()
    found = await set_lines(client, path, folder.line("- look", path), folder.line("*list", path))
    assert [(each["verified"], each["line"]) for each in found] == [(True, 6), (True, 7)]
    assert found[1]["message"] == (
        "Line 8 has an alias; what it stands for is written at its anchor: the breakpoint stands on the step `b`."
    )
    await client.begin(program=path)
    passed = []
    for _ in range(3):
        await client.stopped("breakpoint")
        passed.append((await client.where(), await client.line()))
        await client.request("continue", threadId=1)
    assert passed == [("a.look", 6), ("b", 7), ("b.look", 6)]
    await client.event("terminated")


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
async def test_every_line_break_counts_the_same(client: Client, folder: Folder, eol: str) -> None:
    path = folder.root / "main.workfile.yaml"
    path.write_bytes(path.read_text(encoding="utf-8").replace("\n", eol).encode())
    await client.initialize(linesStartAt1=False, columnsStartAt1=False)
    found = await set_lines(client, str(path), 8)
    assert [(each["line"], each["column"]) for each in found] == [(8, 4)]


async def test_columns_choose_between_steps_of_a_line(client: Client, folder: Folder) -> None:
    path = folder.workfile("  - 𝒶: x\n")
    steps = '[{a: {wf.let: {t: "😀"}}}, {b: {wf.let: {n: 1}}}, {c: {wf.let: {n: 2}}}]'
    text = f'workfile: "1.0"\nname: small\nsteps: {steps}\n'
    folder.write("small.workfile.yaml", text)
    await client.initialize()
    body = await client.request("breakpointLocations", source={"path": path}, line=1, endLine=9)
    columns = [each["column"] for each in body["breakpoints"]]
    line = text.splitlines()[2]
    assert columns == [len(line[: line.index(f"{{{name}:") + 1].encode("utf-16-le")) // 2 + 1 for name in "abc"]
    found = await set_lines(client, path, {"line": 3, "column": columns[1]}, {"line": 3})
    assert [each["column"] for each in found] == [columns[1], columns[0]]
    await client.begin(program=path)
    await client.stopped("breakpoint")
    assert await client.where() == "a"
    await client.go("continue", "breakpoint")
    assert await client.where() == "b"


async def test_what_is_no_workfile_or_no_part_of_the_run(client: Client, folder: Folder) -> None:
    await client.initialize()
    other = folder.workfile("  - a: { wf.let: { n: 1 } }\n")
    (found,) = await set_lines(client, str(folder.root / "connectors/shop.connector.yaml"), 3)
    assert (found["verified"], found["message"]) == (False, "This is not a Workfile: breakpoints stand on steps.")
    (found,) = await set_lines(client, str(folder.root / "gone.workfile.yaml"), 3)
    assert found["verified"] is False
    (found,) = await set_lines(client, other, 4)
    assert found["verified"] is True
    await client.request("launch", program=folder.main, inputs=INPUTS)
    changed = await client.event("breakpoint")
    assert changed["reason"] == "changed"
    assert changed["breakpoint"]["id"] == found["id"]
    assert changed["breakpoint"]["verified"] is False
    assert changed["breakpoint"]["message"] == "This Workfile is not part of the run."
    (found,) = await set_lines(client, other, 4)
    assert found["verified"] is False


async def test_conditions(client: Client, folder: Folder) -> None:
    greet = folder.line("- greet:")
    await client.begin(
        program=folder.main,
        inputs={**INPUTS, "names": ["a", "b", "c"]},
        lines={folder.main: [{"line": greet, "condition": "item == 'b'"}]},
    )
    stop = await client.stopped("breakpoint")
    assert await client.where() == "each[1].greet"
    assert stop["hitBreakpointIds"] == [1]
    await client.request("continue", threadId=1)
    await client.event("terminated")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"condition": "item =="}, "nothing after it"),
        ({"condition": "nothing.here"}, "nothing"),
        ({"condition": "inputs.amuont > 1"}, "amuont"),
        ({"condition": "charge.charge_id == 'x'"}, "charge"),
        ({"condition": "inputs.amount + 1"}, "true or false"),
        ({"condition": "inputs.amount | no_such"}, "no_such"),
        ({"hitCondition": "often"}, "hit condition"),
        ({"hitCondition": "% 0"}, "% 0"),
        ({"logMessage": "x {inputs.} y"}, "has no name after it"),
        ({"logMessage": "x {{ nothing }}"}, "nothing"),
    ],
)
async def test_bad_modifiers_are_refused_with_the_reason(
    client: Client, folder: Folder, changes: dict[str, str], words: str
) -> None:
    await client.initialize()
    (found,) = await set_lines(client, folder.main, {"line": folder.line("- charge:"), **changes})
    assert found["verified"] is False
    assert words.lower() in found["message"].lower(), found["message"]
    await client.begin(program=folder.main, inputs=INPUTS)
    await client.event("terminated")
    assert "stopped" not in client.events()


NESTED = """\
  - before: { shop.look: { n: 1 } }
  - around:
      wf.group:
        - early: { shop.look: { n: 1 } }
        - loop:
            wf.for_each: [1, 2]
            steps:
              - one: { shop.look: { n: 1 } }
              - here: { shop.look: { n: 1 } }
              - two: { shop.look: { n: 1 } }
        - late: { shop.look: { n: 1 } }
  - after: { shop.look: { n: 1 } }
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("before", ""),
        ("early", ""),
        ("one", ""),
        ("two", "bound by a later step"),
        ("late", "bound by a later step"),
        ("after", "bound by a later step"),
        ("here", "this step itself"),
        ("loop", "this step itself"),
        ("around", "this step itself"),
    ],
)
async def test_a_later_step_of_any_list_around_cannot_be_read(
    client: Client, folder: Folder, name: str, words: str
) -> None:
    path = folder.workfile(NESTED)
    await client.initialize()
    line = folder.line("- here:", path)
    conditions = [{"line": line, "condition": f"{name} == null"}, {"line": line, "logMessage": f"{{{name}}}"}]
    for found in await set_lines(client, path, *conditions):
        assert found["verified"] is not bool(words)
        assert words in found.get("message", "")


async def test_a_condition_without_a_value_is_told_once(client: Client, folder: Folder) -> None:
    entry = {"line": folder.line("- greet:"), "condition": "[1][index + 1] == 1"}
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [entry]})
    await client.event("terminated")
    told = [each["body"]["output"] for each in client.messages if each.get("event") == "output"]
    assert len([each for each in told if "condition of a breakpoint" in each]) == 1


@pytest.mark.parametrize(
    ("hits", "stops"),
    [("2", [1]), ("== 2", [1]), (">= 2", [1, 2, 3]), ("> 2", [2, 3]), ("< 2", [0]), ("<= 2", [0, 1]), ("%2", [1, 3])],
)
async def test_hit_conditions(client: Client, folder: Folder, hits: str, stops: list[int]) -> None:
    entry = {"line": folder.line("- greet:"), "hitCondition": hits}
    await client.begin(program=folder.main, inputs={**INPUTS, "names": list("abcd")}, lines={folder.main: [entry]})
    for index in stops:
        await client.stopped("breakpoint")
        assert await client.evaluate("index") == str(index)
        await client.request("continue", threadId=1)
    await client.event("terminated")


async def test_hits_count_from_the_start_also_after_going_back(client: Client, folder: Folder) -> None:
    """The step that the session stands before is one of them, whichever way it came there."""
    entry = {"line": folder.line("- greet:"), "hitCondition": "% 2"}
    await client.begin(program=folder.main, inputs={**INPUTS, "names": list("abcdef")}, lines={folder.main: [entry]})
    await client.stopped("breakpoint")
    for command, index in (("continue", 3), ("stepBack", 1), ("continue", 3), ("reverseContinue", 1), ("continue", 3)):
        await client.request(command, threadId=1)
        await client.stopped()
        assert await client.evaluate("index") == str(index), command


async def test_hits_before_a_breakpoint_was_set_count_too(client: Client, folder: Folder) -> None:
    line = folder.line("- greet:")
    await client.begin(
        program=folder.main, inputs={**INPUTS, "names": list("abcdef")}, lines={folder.main: [{"line": line}]}
    )
    await client.stopped("breakpoint")
    await set_lines(client, folder.main, {"line": line, "hitCondition": "% 3"})
    await client.request("continue", threadId=1)
    await client.stopped("breakpoint")
    assert await client.evaluate("index") == "2"


async def test_log_points_print_and_do_not_stop(client: Client, folder: Folder) -> None:
    entry = {
        "line": folder.line("- greet:"),
        "logMessage": "{index}: {{ item | upper }} of {inputs.names} {[1][index]}",
    }
    await client.begin(program=folder.main, inputs=INPUTS, lines={folder.main: [entry]})
    await client.event("terminated")
    told = [each["body"] for each in client.messages if each.get("event") == "output"]
    assert [each["output"] for each in told[:2]] == [
        '0: A of ["a", "b"] 1\n',
        '1: B of ["a", "b"] <the list has 1 element, and the index 1 is outside; the first index is 0>\n',
    ]
    assert told[0]["line"] == folder.line("- greet:")
    assert told[0]["source"]["path"] == folder.main
    assert "stopped" not in client.events()


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("fan.left.two", ["fan.left.two"]),
        ("each[1].greet", ["each[1].greet"]),
        ("each[].greet", ["each[0].greet", "each[1].greet"]),
        ("each[*].greet", ["each[0].greet", "each[1].greet"]),
        ("child/inner", ["child/inner"]),
        ("paid", ["paid"]),
    ],
)
async def test_function_breakpoints_are_step_paths(
    client: Client, folder: Folder, name: str, passed: list[str]
) -> None:
    await client.initialize()
    body = await client.request("setFunctionBreakpoints", breakpoints=[{"name": name}])
    assert body["breakpoints"][0]["verified"] is True
    await client.begin(program=folder.main, inputs=INPUTS)
    for path in passed:
        stop = await client.stopped("function breakpoint")
        assert await client.where(stop["threadId"]) == path
        await client.request("continue", threadId=1)
    await client.event("terminated")


async def test_function_breakpoints_on_no_step(client: Client, folder: Folder) -> None:
    await client.initialize()
    await client.request(
        "setFunctionBreakpoints", breakpoints=[{"name": "fan.left.tow"}, {"name": "charge", "condition": "x +"}]
    )
    await client.request("launch", program=folder.main, inputs=INPUTS, stopOnEntry=True)
    changed = await client.event("breakpoint")
    assert changed["breakpoint"]["verified"] is False
    assert changed["breakpoint"]["message"] == "No step has the path `fan.left.tow`. Did you mean `fan.left.two`?"
    wanted = [{"name": "charge", "condition": "prise.total > 3"}, {"name": "charge", "condition": "price.total > 3"}]
    body = await client.request("setFunctionBreakpoints", breakpoints=wanted)
    assert [each["verified"] for each in body["breakpoints"]] == [False, True]
    assert "Did you mean `price`?" in body["breakpoints"][0]["message"]
    assert body["breakpoints"][1]["line"] == folder.line("- charge:")
    body = await client.request("setFunctionBreakpoints", breakpoints=[{"name": "chrage"}])
    assert body["breakpoints"][0]["verified"] is False
    with pytest.raises(Failed, match="lacks its argument `name`"):
        await client.request("setFunctionBreakpoints", breakpoints=[{}])


async def test_a_breakpoint_in_a_handler_and_at_a_guarded_step(client: Client, folder: Folder) -> None:
    path = folder.workfile(
        "  - a:\n      shop.charge: { amount: 1 }\n      catch:\n        - codes: [declined]\n          steps:\n"
        "            - note: { wf.let: { code: '{{ error.code }}' } }\n"
        "  - b:\n      wf.let: { n: 1 }\n      when: false\n"
    )
    scenario = folder.scenario("actions: { shop.charge: [ { fail: { code: declined } } ] }\n", "small.workfile.yaml")
    lines = {path: [folder.line("- note", path), folder.line("- b:", path)]}
    await client.begin(scenario=scenario, lines=lines)
    await client.stopped("breakpoint")
    assert [each["name"] for each in await client.frames()] == ["a.(catch:0).note", "a"]
    assert await client.evaluate("error.code") == '"declined"'
    await client.go("continue", "breakpoint")
    assert await client.where() == "b"  # the guard belongs to the step, and is looked at after the stop
    await client.request("continue", threadId=1)
    await client.event("terminated")
