"""Canonical JSON and digests: the library's bytes, all digits of whole numbers, and what is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from sim_runtime.history.canonical import (
    NotCanonical,
    canonical_bytes,
    chained,
    content_of,
    digest_of,
    yaml_of,
)

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53) + 1, 2**53 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=12,
)


@given(JSON)
def test_the_bytes_are_those_of_the_library(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),  # by UTF-16: the surrogates come first
        ({"n": 2**53, "m": -(10**30)}, '{"m":-1' + "0" * 30 + ',"n":9007199254740992}'),
        ([1e21, 1.0, 1e-7, -0.0], "[1e+21,1,1e-7,0]"),
        ("\x7f\u2028\x01\n", '"\x7f\u2028\\u0001\\n"'),
    ],
)
def test_a_known_text(value: Any, wanted: str) -> None:
    assert canonical_bytes(value).decode() == wanted
    assert digest_of(value) == sha256(wanted.encode()).hexdigest()


@pytest.mark.parametrize(
    "value", [float("nan"), [float("inf")], "\ud800", {"\ud800": 1}, {"a": 2**60, "b": "\udfff"}], ids=repr
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(value)


def test_nesting_has_a_bound() -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]
    with pytest.raises(NotCanonical, match="nested too deeply"):
        canonical_bytes(value)


def test_a_link_of_the_chain() -> None:
    assert chained("ab", b"{}") == sha256(b"ab{}").hexdigest()


def content(text: str) -> Any:
    return content_of(parse(Source(text)).root)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a: 1 # note\nb: [x, 'y']\n", "{b: [x, y], a: 1.0}"),
        ("a: &x {k: v}\nb: *x\n", "{a: {k: v}, b: {k: v}}"),
        ("a: |\n  one\n  two\n", '{a: "one\\ntwo\\n"}'),
    ],
)
def test_layout_does_not_count(text: str, same: str) -> None:
    assert digest_of(content(text)) == digest_of(content(same))


@pytest.mark.parametrize(
    ("text", "other"), [("a: 1", "a: '1'"), ("a: 1", "a: 2"), ("{1: x}", "{'1': x}"), ("a: ~", "a: ''")]
)
def test_what_it_says_counts(text: str, other: str) -> None:
    assert digest_of(content(text)) != digest_of(content(other))


@pytest.mark.parametrize(
    "text", ["a: {1: x, true: y, z: [.inf, -.inf]}", 'a: "é\\n\\t\\"\\\\\\u0001"', "[1, null, 2.5, yes]", "{}"]
)
def test_content_is_read_again_as_it_was(text: str) -> None:
    found = content(text)
    assert json.dumps(content(yaml_of(found))) == json.dumps(found)
