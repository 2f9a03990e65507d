"""The expectation comments are read as written, and compared without mercy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.expectations import (
    Expectation,
    Found,
    MalformedExpectation,
    compare,
    load_expectations,
    parse_expectations,
)


def test_a_comment_at_the_end_of_a_line_expects_on_that_line() -> None:
    text = "a: 1\nb: 2  # expect: unknown-key@1\n"
    assert parse_expectations(text) == [Expectation("unknown-key", 2, 1)]


def test_several_rules_with_and_without_columns() -> None:
    text = "a: 1 # expect: unknown-key@3, missing-key, unknown-key@12"
    assert parse_expectations(text) == [
        Expectation("unknown-key", 1, 3),
        Expectation("missing-key", 1, None),
        Expectation("unknown-key", 1, 12),
    ]


def test_a_comment_may_follow_another_comment() -> None:
    text = "a: 1  # workfile: ignore[unknown-key]  # expect: unused-suppression"
    assert parse_expectations(text) == [Expectation("unused-suppression", 1, None)]


def test_expectations_for_other_lines() -> None:
    text = "# expect-at 7:3 yaml-syntax\n# expect-at 9 wrong-kind\n# expect-at * limit-exceeded\n"
    assert parse_expectations(text) == [
        Expectation("yaml-syntax", 7, 3),
        Expectation("wrong-kind", 9, None),
        Expectation("limit-exceeded", None, None),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_end_counts_once(end: str) -> None:
    assert parse_expectations(end.join(["a: 1", "", "c: 3  # expect: unknown-key"])) == [
        Expectation("unknown-key", 3, None)
    ]


def test_other_separators_end_no_line() -> None:
    text = "a: 'x\u2028y\u0085z\x0c'\nb: 2  # expect: unknown-key@1"
    assert parse_expectations(text) == [Expectation("unknown-key", 2, 1)]


@pytest.mark.parametrize(
    "comment",
    [
        "# expect:",
        "# expect: unknown-key,",
        "# expect: unknown-key@0",
        "# expect: unknown-key@x",
        "# expect: Unknown-key",
        "# expect: unknown-key because of the typo",
        "# expect-at unknown-key",
        "# expect-at 0 unknown-key",
        "# expect-at 3:0 unknown-key",
        "# expect-at 3 unknown-key, wrong-kind",
        "# expect-at *:3 unknown-key",
    ],
)
def test_a_malformed_comment_is_refused_with_its_line(comment: str) -> None:
    with pytest.raises(MalformedExpectation, match="line 2: "):
        parse_expectations(f"a: 1\n{comment}\n")


def test_the_sidecar_is_read_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.workfile.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1  # expect: unknown-key@1\r\n")
    (tmp_path / "x.workfile.yaml.expect").write_text("# why\n# expect-at 1 missing-key\n", encoding="utf-8")
    assert load_expectations(path) == [Expectation("unknown-key", 1, 1), Expectation("missing-key", 1, None)]


def test_a_malformed_sidecar_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.workfile.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "x.workfile.yaml.expect").write_text("# expect-at nowhere\n", encoding="utf-8")
    with pytest.raises(MalformedExpectation, match=r"x\.workfile\.yaml\.expect: line 1"):
        load_expectations(path)


def test_equal_sets_have_no_difference() -> None:
    expected = [Expectation("unknown-key", 2, 1), Expectation("wrong-kind", 3, None)]
    assert not compare(expected, [Found(3, 9, "wrong-kind"), Found(2, 1, "unknown-key")])


def test_a_column_must_be_met() -> None:
    difference = compare([Expectation("unknown-key", 2, 1)], [Found(2, 3, "unknown-key")])
    assert difference.missing == (Expectation("unknown-key", 2, 1),)
    assert difference.unexpected == (Found(2, 3, "unknown-key"),)


def test_one_finding_answers_one_expectation() -> None:
    twice = [Expectation("missing-key", 1, 1), Expectation("missing-key", 1, 1)]
    assert compare(twice, [Found(1, 1, "missing-key")]).missing == (Expectation("missing-key", 1, 1),)
    assert not compare(twice, [Found(1, 1, "missing-key"), Found(1, 1, "missing-key")])


def test_one_expectation_takes_one_finding() -> None:
    difference = compare(
        [Expectation("unknown-key", 2, None)], [Found(2, 1, "unknown-key"), Found(2, 8, "unknown-key")]
    )
    assert difference.unexpected == (Found(2, 8, "unknown-key"),)


def test_narrow_expectations_are_served_first() -> None:
    expected = [
        Expectation("unknown-key", None, None),
        Expectation("unknown-key", 2, None),
        Expectation("unknown-key", 2, 1),
    ]
    assert not compare(expected, [Found(2, 1, "unknown-key"), Found(2, 8, "unknown-key"), Found(5, 1, "unknown-key")])


def test_a_difference_says_what_is_wrong() -> None:
    difference = compare([Expectation("unknown-key", 2, 1)], [Found(4, 3, "wrong-kind")])
    assert str(difference) == "missing     2:1 unknown-key\nunexpected  4:3 wrong-kind"
