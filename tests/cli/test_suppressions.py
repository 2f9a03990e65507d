"""``# workfile: ignore[rule]``: what it hides, and what is reported of those that hide nothing."""

from __future__ import annotations

import json

import pytest

from analyzer.language.suggest import MAX_SUGGESTIONS
from analyzer.suppressions import MAX_NAMES, MAX_UNUSED, find_directives


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
        ("x: !bad-value # workfile: ignored[bad-value]\n", [("bad-value", 1, 4), ("unused-suppression", 1, 27)]),
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
    assert finding["message"] == "Nothing on line 1 is reported by `likely-wrong`; remove the suppression."
    assert finding["fixes"][0]["applicability"] == "safe"


def test_an_unknown_name_is_unused_with_the_nearest(check):
    assert check("x: 1 # workfile: ignore[bad-valu]\n")[0]["message"] == (
        "This suppresses nothing: there is no rule `bad-valu`. Did you mean `bad-value`?"
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


def test_the_fix_keeps_the_names_that_were_not_reported(check, fixed):
    """Known names are not judged where the file could not be read in full, and some rules only run in some calls."""
    assert fixed("x: !yaml-syntax\ny: 1 # workfile: ignore[bad-value, no-such] why\n") == (
        "x: !yaml-syntax\ny: 1 # workfile: ignore[bad-value] why\n"
    )
    assert fixed("x: 1 # workfile: ignore[likely-wrong, history-diverges]\n") == (
        "x: 1 # workfile: ignore[history-diverges]\n"
    )
    assert fixed("x: 1 # workfile: ignore[history-diverges, unused-suppression]\n") == (
        "x: 1 # workfile: ignore[history-diverges]\n"
    )


def test_messages_are_sentences(check):
    comments = ("ignore", "ignore[a", "ignore[bad-value]", "ignore[nonsense]", "ignore[unused-suppression]")
    messages = [check(f"x: 1 # workfile: {comment}\n")[0]["message"] for comment in comments]
    assert len(messages) == len(comments)
    assert all(message[0].isupper() and message[-1] in ".?" for message in messages), messages


def test_of_many_unused_suppressions_the_first_are_reported_and_one_says_so(check):
    found = check("x: 1 # workfile: ignore[bad-value]\n" * (MAX_UNUSED + 5))
    assert [f["rule"] for f in found].count("unused-suppression") == MAX_UNUSED
    assert (found[-1]["rule"], found[-1]["severity"]) == ("limit-exceeded", "error")
    assert found[-1]["range"]["start"]["line"] == MAX_UNUSED + 1
    assert "more than 1,000 unused suppressions" in found[-1]["message"]
    assert len(check("x: 1 # workfile: ignore[bad-value]\n" * MAX_UNUSED)) == MAX_UNUSED
    itself = check("x: 1 # workfile: ignore[unused-suppression]\n" * (MAX_UNUSED + 5))
    assert [f["rule"] for f in itself] == ["unused-suppression"] * MAX_UNUSED + ["limit-exceeded"]


def test_who_does_not_want_unused_suppressions_hears_nothing_of_their_number(check):
    assert check("x: 1 # workfile: ignore[bad-value]\n" * (MAX_UNUSED + 5), "--ignore", "unused-suppression") == []


def test_suppressions_past_the_bound_are_not_used_and_one_says_so(check):
    text = "x: !bad-value # workfile: ignore[bad-value]\n"
    assert check(text * MAX_NAMES) == []
    found = check(text * (MAX_NAMES + 2))
    assert places(found) == [
        ("bad-value", MAX_NAMES + 1, 4),
        ("limit-exceeded", MAX_NAMES + 1, 27),
        ("bad-value", MAX_NAMES + 2, 4),
    ]
    names = ", ".join(["bad-value"] * (MAX_NAMES + 1))
    assert {"bad-value", "limit-exceeded"} == {f["rule"] for f in check(f"x: !bad-value # workfile: ignore[{names}]\n")}


def test_very_many_suppressions_cost_little():
    """Work, not time: what is read of the comments is bounded, on many lines and on one."""
    mark = "# workfile: ignore[bad-value] "
    lines = [(number, 1, mark, True) for number in range(1, 100_001)]
    assert len(find_directives(mark * 3 + "\n", [(1, 1, mark * 3, True)])) == 3
    assert len(find_directives((mark + "\n") * 100_000, lines)) == MAX_NAMES + 1
    assert len(find_directives(mark * 100_000, [(1, 1, mark * 100_000, True)])) == MAX_NAMES + 1


def test_nearest_names_are_looked_for_so_many_times(check):
    found = check("x: 1 # workfile: ignore[bad-valu]\n" * (MAX_SUGGESTIONS + 1))
    assert "Did you mean `bad-value`?" in found[MAX_SUGGESTIONS - 1]["message"]
    assert found[MAX_SUGGESTIONS]["message"].endswith(
        "there is no rule `bad-valu`. `workfile explain` lists the rules."
    )


def test_the_first_name_in_the_file_is_the_one_that_is_used(check):
    text = "# workfile: ignore[document.structure]\n# workfile: ignore[bad-value, unknown-key]\nx: !bad-value\n"
    assert places(check(text)) == [("unused-suppression", 2, 20), ("unused-suppression", 2, 31)]


@pytest.mark.parametrize(
    ("comment", "column", "written"),
    [
        ("# workfile: disable[bad-value] old", 23, "# workfile: ignore[bad-value] old"),
        ("#WORKFILE:Ignore [ bad-value ]", 21, "# workfile: ignore [ bad-value ]"),
        ("# Workfile: Ignore[bad-value]", 23, "# workfile: ignore[bad-value]"),
        ("# workfile ignore[bad-value]", 22, "# workfile: ignore[bad-value]"),
        ("# workfile: Disable-Next-Line[bad-value]", 23, "# workfile: ignore[bad-value]"),
        ("# workfile: nocover", 23, ""),
        ("# Workfile: Ignore  ", 23, ""),
        ("# workfile: disable-next-line", 23, ""),
    ],
)
def test_what_looks_like_a_suppression_is_told(check, run, put, comment, column, written):
    found = check(f"x: !bad-value {comment}\n")
    assert places(found) == [("bad-value", 1, 4), ("unused-suppression", 1, column + 4)]
    told = found[1]
    assert "is not a directive, so it suppresses nothing; write `# workfile: ignore[rule]`" in told["message"]
    assert [fix["applicability"] for fix in told["fixes"]] == (["unsafe"] if written else [])
    file = put("a.workfile.yaml", f"x: !bad-value {comment}\n")
    run("check", "--fix", "--unsafe-fixes")
    assert file.read_text() == f"x: !bad-value {written or comment}\n"


@pytest.mark.parametrize(
    "comment",
    [
        "# workfile: ../a.workfile.yaml",
        '# workfile: "1.0"',
        "# workfile: order",
        "# Workfile: allow me to say",
        "# this workfile: ignored[x]",
        "# Workfile: order[1] comes first",
    ],
)
def test_a_comment_is_left_alone(check, comment):
    assert check(f"{comment}\nx: 1 {comment}\n") == []


def test_what_looks_like_a_suppression_counts_towards_the_bound():
    text = "# workfile: nocover\n" * (MAX_NAMES + 5)
    comments = [(line, 1, "# workfile: nocover", True) for line in range(1, MAX_NAMES + 6)]
    assert len(find_directives(text, comments)) == MAX_NAMES + 1
