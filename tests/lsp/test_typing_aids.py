"""While typing: a new line's column, and places that change together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lsp_server.word_pages import has_page, page

HEAD = 'workfile: "1.0"\nname: main\nsteps:\n'


def on_new_line(server: Any, files: Any, before: str, after: str = "\n") -> Any:
    server.start({"textDocument": {"onTypeFormatting": {}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, f"{before}{after}")
    line = before.count("\n")
    position = {"line": line, "character": len(before) - before.rfind("\n") - 1}
    params = {"textDocument": {"uri": uri}, "position": position, "ch": "\n", "options": {"tabSize": 2}}
    return server.request("textDocument/onTypeFormatting", {**params, "options": {"tabSize": 2, "insertSpaces": True}})


@pytest.mark.parametrize(
    ("above", "typed", "column"),
    [
        ("  - take:", "", 6),  # the body of a step stands right of its id
        ("  - take:", "    ", 6),
        ("  - take:  # now", "  ", 6),
        ("  - take:\n      wf.wait: 1h", "", 6),
        ("  - each:\n      wf.for_each: \"{{ inputs.a }}\"\n      steps:", "      ", 8),
        ("  - a: { wf.wait: 1h }", "", 2),  # it is complete: the next step begins with a dash of its own
        ("  - a: { wf.wait: 1h }", "    ", 2),
        ("  - a:\n      pay.find: {}\n      catch:\n        - codes: [late]", "", 10),
        ("  - a:\n      pay.find: {}\n      catch:\n        - { codes: [late] }", "", 8),
        ("  - a:\n      wf.let:\n        text: |", "", 10),
    ],
)  # fmt: skip
def test_a_new_line_begins_where_it_goes_on(server: Any, files: Any, above: str, typed: str, column: int) -> None:
    edits = on_new_line(server, files, f"{HEAD}{above}\n{typed}")
    line = f"{HEAD}{above}\n".count("\n")
    assert edits == [
        {
            "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": len(typed)}},
            "newText": " " * column,
        }
    ]


@pytest.mark.parametrize(
    "text",
    [
        "  - take:\n      ",  # it is there already
        "  - take:\n      wf.wait: 1h\n\n",  # two new lines: the author wants to leave the step
        "  - take: {\n",
        "  - a:\n      wf.let:\n        text: |\n          words:\n",
        "  # steps:\n",
    ],
)
def test_other_new_lines_are_left_alone(server: Any, files: Any, text: str) -> None:
    assert not on_new_line(server, files, HEAD + text)


def test_a_new_line_inside_a_quoted_text_is_left_alone(server: Any, files: Any) -> None:
    text = '  - a:\n      wf.let:\n        text: "words\n          more:\n'
    assert not on_new_line(server, files, HEAD + text, '\n          and more"\n')


def linked(server: Any, files: Any, text: str) -> list[str]:
    before, _, after = text.partition("‸")
    if not server.server.protocol.initialized:
        server.start({"textDocument": {"linkedEditingRange": {}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, before + after)
    position = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
    found = server.request("textDocument/linkedEditingRange", {"textDocument": {"uri": uri}, "position": position})
    lines = (before + after).split("\n")
    return [
        f"{each['start']['line']}:{lines[each['start']['line']][each['start']['character'] : each['end']['character']]}"
        for each in (found or {"ranges": []})["ranges"]
    ]


LOOP = f"""{HEAD}\
  - each:
      wf.for_each: "{{{{ [1, 2] }}}}"
      as: num‸ber
      steps:
        - double: {{ wf.let: {{ a: "{{{{ number * 2 }}}}", b: "{{{{ number }}}}" }} }}
"""


def test_the_name_of_an_element_changes_with_its_uses(server: Any, files: Any) -> None:
    assert linked(server, files, LOOP) == ["5:number", "7:number", "7:number"]


def test_an_anchor_changes_with_its_aliases(server: Any, files: Any) -> None:
    text = f"{HEAD}  - a: {{ wf.wait: &pau‸se 1h }}\n  - b: {{ wf.wait: *pause }}\n"
    assert linked(server, files, text) == ["3:pause", "4:pause"]
    assert linked(server, files, text.replace("‸", "").replace("*pause", "*pa‸use")) == ["3:pause", "4:pause"]


OTHER = LOOP.replace("‸", "")


@pytest.mark.parametrize("text", [OTHER.replace("each:", "ea‸ch:"), OTHER.replace("wf.let", "wf‸.let")])
def test_what_other_files_may_read_is_renamed_instead(server: Any, files: Any, text: str) -> None:
    assert linked(server, files, text) == []


def test_hover_links_to_a_page_of_the_word(server: Any, files: Any) -> None:
    server.start({"textDocument": {"hover": {"contentFormat": ["markdown"]}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, f"{HEAD}  - a:\n      wf.wait: 1h\n      on_fail: continue\n")
    place = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 8}}
    text = server.request("textDocument/hover", place)["contents"]["value"]
    assert "[More about `on_fail`](file://" in text
    server.request("shutdown", None)


def test_plain_hover_has_no_link(server: Any, files: Any) -> None:
    server.start({"textDocument": {"hover": {"contentFormat": ["plaintext"]}}})
    uri = files.uri("main.workfile.yaml")
    server.open(uri, f"{HEAD}  - a:\n      wf.wait: 1h\n      on_fail: continue\n")
    place = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 8}}
    assert "file://" not in server.request("textDocument/hover", place)["contents"]["value"]


def test_a_page_tells_of_keys_places_and_rules() -> None:
    assert "| `match` |" in page("wf.wait_for")
    assert "`redo-unsafe`" in page("recovery")
    assert "Stands on action" in page("retry")
    assert not has_page("colour")


CONFIGURATION = Path(__file__).parents[2] / "vscode-extension" / "language-configuration.json"


def by_rules(line: str) -> str:
    """What VS Code begins the line after one with, before it has asked the server."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    for rule in json.loads(CONFIGURATION.read_text(encoding="utf-8"))["onEnterRules"]:
        if re.search(rule["beforeText"], line) and re.search(rule["afterText"], ""):
            action = rule["action"]
            return indent + ("  " if action["indent"] == "indent" else "") + action.get("appendText", "")
    return indent


@pytest.mark.parametrize(
    ("above", "column"),
    [
        ("  - take:", 6),
        ("  - take: # now", 6),
        ("  - take: |", 6),
        ("  - take:\n      wf.wait: 1h", 6),
        ("  - take:\n      pay.charge:", 8),
        ("  - take:\n      wf.let:\n        text: >-", 10),
        ("  - take: { wf.wait: 1h }", 2),
        ("  - take: *other", 2),
        ("  - take:\n      pay.find: {}\n      catch:\n        - codes: [late]", 10),
        ("  - take:\n      pay.find: {}\n      catch:\n        - { codes: [late] }", 8),
        ("  - take:\n      pay.find: { a: 1,", 6),
        ("  # steps:", 2),
    ],
)
def test_vs_code_indents_at_once_as_the_server_will(server: Any, files: Any, above: str, column: int) -> None:
    typed = by_rules(above.rsplit("\n", 1)[-1])
    assert len(typed) == column
    assert not on_new_line(server, files, f"{HEAD}{above}\n{typed}")


@pytest.mark.parametrize("language", ["workfile", "workfile-connector", "workfile-scenario"])
def test_vs_code_asks_for_the_column(language: str) -> None:
    """Both are off, or pass the rules over, where the extension does not say so."""
    package = json.loads((CONFIGURATION.parent / "package.json").read_text(encoding="utf-8"))
    defaults = package["contributes"]["configurationDefaults"][f"[{language}]"]
    assert (defaults["editor.formatOnType"], defaults["editor.autoIndent"]) == (True, "advanced")
