"""``# workfile: ignore[rule]``: what it hides, and what is reported of those that hide nothing."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def check(run, put):
    """The findings of a text as (rule, line, column), and their messages and fixes beside."""

    def call(text: str, *arguments: str) -> list[dict]:
        put("a.workfile.yaml", text)
        return json.loads(run("check", "--format", "json", *arguments).out)["findings"]

    return call


def places(findings: list[dict]) -> list[tuple[str, int, int]]:
    return [(f["rule"], f["range"]["start"]["line"], f["range"]["start"]["column"]) for f in findings]


@pytest.fixture
def fixed(run, put):
    """The text after ``--fix``."""

    def call(text: str) -> str:
        file = put("a.workfile.yaml", text)
        run("check", "--fix")
        return file.read_bytes().decode()

    return call


@pytest.mark.parametrize(
    "text",
    [
        "x: !bad-value # workfile: ignore[bad-value]\n",
        "x: !bad-value #workfile:ignore[ bad-value ]\n",
        "x: !bad-value # workfile: ignore[bad-value] because it is known\n",
        "x: !bad-value !unknown-key # workfile: ignore[unknown-key, bad-value]: both\n",
        "x: !bad-value # a note # workfile: ignore[bad-value]\n",
        "x: !bad-value # workfile: ignore[document.structure]\n",
        "# workfile: ignore[bad-value]\nx: !bad-value\n",
        "  # workfile: ignore[bad-value]\n\n# another comment\nx: !bad-value\n",
        "# workfile: ignore[bad-value]\n# workfile: ignore[unknown-key]\nx: !bad-value !unknown-key\n",
        "# workfile: ignore[bad-value]\r\nx: !bad-value\r\n",
        "\ufeff# workfile: ignore[bad-value]\nx: !bad-value\n",
        "a: \u2028\x85 b\nx: !bad-value # workfile: ignore[bad-value]\n",
    ],
)
def test_suppresses(check, text):
    assert check(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: !bad-value\n# workfile: ignore[bad-value]\n", [("bad-value", 1, 4), ("unused-suppression", 2, 20)]),
        (
            "# workfile: ignore[bad-value]\ny: 1\nx: !bad-value\n",
            [("unused-suppression", 1, 20), ("bad-value", 3, 4)],
        ),
        ("x: !bad-value # workfile: ignore\n", [("bad-value", 1, 4), ("unused-suppression", 1, 27)]),
        ("x: !bad-value # workfile: ignore[]\n", [("bad-value", 1, 4), ("unused-suppression", 1, 27)]),
        ("x: !bad-value # workfile: ignore[bad-value\n", [("bad-value", 1, 4), ("unused-suppression", 1, 33)]),
        ("x: !bad-value # workfile: ignored[bad-value]\n", [("bad-value", 1, 4)]),
        (
            "# workfile: ignore[bad-value]\nx: !bad-value # workfile: ignore[bad-value]\n",
            [("unused-suppression", 2, 34)],
        ),
    ],
)
def test_does_not_suppress(check, text, expected):
    assert places(check(text)) == expected


def test_the_finding_is_on_the_name_and_information(check):
    finding = check("x: !bad-value # workfile: ignore[bad-value, likely-wrong] reason\n")[0]
    assert finding["rule"] == "unused-suppression"
    assert (finding["severity"], finding["code"]) == ("information", "document.suppression")
    assert finding["range"] == {"start": {"line": 1, "column": 45}, "end": {"line": 1, "column": 57}}
    assert finding["message"] == "nothing on line 1 is reported by `likely-wrong`; remove the suppression."
    assert finding["fixes"][0]["applicability"] == "safe"


def test_an_unknown_name_is_unused_with_the_nearest(check):
    assert check("x: 1 # workfile: ignore[bad-valu]\n")[0]["message"] == (
        "this suppresses nothing: there is no rule `bad-valu`. Did you mean `bad-value`?"
    )


def test_a_form_that_names_nothing_says_how_to_write_it(check):
    message = check("x: 1 # workfile: ignore\n")[0]["message"]
    assert "names no rule" in message
    assert "`# workfile: ignore[rule]`" in message
    assert "not closed" in check("x: 1 # workfile: ignore[a\n")[0]["message"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x: 1  # workfile: ignore[bad-value] why\ny: 2\n", "x: 1\ny: 2\n"),
        ("a: 0\n  # workfile: ignore[bad-value]\nx: 1\n", "a: 0\nx: 1\n"),
        ("a: 0\r\n# workfile: ignore[bad-value]\r\nx: 1\r\n", "a: 0\r\nx: 1\r\n"),
        ("a: 0\n# workfile: ignore[bad-value]", "a: 0\n"),
        ("x: 1 # note # workfile: ignore[bad-value]\n", "x: 1 # note\n"),
        ("x: 1 # workfile: ignore[bad-value, likely-wrong]\n", "x: 1\n"),
        ("x: 1 # workfile: ignore\n", "x: 1\n"),
        (
            "x: !bad-value # workfile: ignore[bad-value, likely-wrong]\n",
            "x: !bad-value # workfile: ignore[bad-value]\n",
        ),
        (
            "x: !bad-value # workfile: ignore[likely-wrong, bad-value, unknown-key] why\n",
            "x: !bad-value # workfile: ignore[bad-value] why\n",
        ),
        ("\ufeffé: 1 # workfile: ignore[bad-value]\n", "\ufeffé: 1\n"),
    ],
)
def test_the_fix_takes_out_what_is_unused_and_nothing_else(fixed, before, after):
    assert fixed(before) == after


def test_suppressing_unused_suppression(check):
    assert check("x: 1 # workfile: ignore[bad-value, unused-suppression]\n") == []
    assert check("# workfile: ignore[unused-suppression]\nx: 1 # workfile: ignore[bad-value]\n") == []
    assert check("# workfile: ignore[unused-suppression]\n# workfile: ignore[bad-value]\nx: 1\n") == []
    assert check("# workfile: ignore[bad-value]\nx: 1 # workfile: ignore[unused-suppression]\n") != []


def test_an_unused_suppression_of_itself_is_reported(check, fixed):
    text = "x: 1 # workfile: ignore[unused-suppression]\n"
    assert places(check(text)) == [("unused-suppression", 1, 25)]
    assert fixed(text) == "x: 1\n"


def test_a_rule_that_this_call_does_not_run_is_not_called_unused(check):
    assert check("x: 1 # workfile: ignore[history-diverges]\n") == []
    assert check("x: 1 # workfile: ignore[document.replay]\n") == []


def test_where_not_everything_could_be_analysed_nothing_known_is_called_unused(check):
    assert places(check("x: !yaml-syntax\ny: 1 # workfile: ignore[bad-value]\n")) == [("yaml-syntax", 1, 4)]
    found = check("x: !yaml-syntax # workfile: ignore[yaml-syntax]\ny: 1 # workfile: ignore[bad-value, bad-valu]\n")
    assert places(found) == [("unused-suppression", 2, 36)]


def test_a_suppression_of_a_rule_that_is_not_selected_is_used(check):
    text = "x: !bad-value # workfile: ignore[bad-value]\n"
    assert check(text, "--ignore", "bad-value") == []
    assert check(text, "--select", "likely-wrong,unused-suppression") == []


def test_unused_suppression_can_be_left_out(check):
    assert check("x: 1 # workfile: ignore[bad-value]\n", "--ignore", "unused-suppression") == []
