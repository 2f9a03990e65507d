"""The source map against models of their own: every line break trap, every encoding, every offset."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import Range
from analyzer.syntax.source import Encoding, Source, decode

# Everything that some tool takes for a line break, what takes two units, and what takes one to four bytes.
TEXT = st.text(st.sampled_from("ab é請😀\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff\ud800\t"), max_size=24)
ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
UNIT = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def units(text: str, encoding: Encoding) -> int:
    """The code units of a text, one code point at a time: two halves beside each other stay two."""
    codec = "utf-8" if encoding == "utf-8" else f"{encoding}-le"
    return sum(len(character.encode(codec, "surrogatepass")) // UNIT[encoding] for character in text)


def without_mark(text: str) -> str:
    return text.removeprefix("\ufeff")


@given(TEXT)
def test_lines_are_ended_by_lf_crlf_and_cr_only(text: str) -> None:
    source = Source(text)
    lines = lines_of(without_mark(text))
    assert source.line_count == len(lines)
    assert [source.line_text(line) for line in range(source.line_count)] == lines
    assert "".join(source.text[source.line_start(i) : source.line_start(i + 1)] for i in range(len(lines) - 1)) + lines[
        -1
    ] == without_mark(text)
    assert source.line_text(-1) == source.line_text(len(lines)) == ""


@given(TEXT)
def test_line_and_column_go_both_ways(text: str) -> None:
    source = Source(text)
    for offset in range(len(source.text) + 1):
        line, column = source.line_column(offset)
        before = source.text[:offset]
        in_pair = source.text[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert (line, column) == (
            len(lines_of(before[:-1] if in_pair else before)) - 1,
            offset - source.line_start(line),
        )
        assert source.line_of(offset) == line
        assert source.offset_at(line, column) == (offset - 1 if in_pair else offset)


@given(TEXT, st.sampled_from(ENCODINGS))
def test_positions_count_code_units(text: str, encoding: Encoding) -> None:
    source = Source(text)
    for line, content in enumerate(lines_of(source.text)):
        for column in range(len(content) + 1):
            offset = source.line_start(line) + column
            character = units(content[:column], encoding)
            assert source.position(offset, encoding) == (line, character)
            assert source.offset_from(line, character, encoding) == offset
        past = units(content, encoding)
        assert source.offset_from(line, past + 3, encoding) == source.line_end(line)


@given(TEXT, st.sampled_from(ENCODINGS), st.integers(0, 80))
def test_a_position_inside_a_character_is_its_start(text: str, encoding: Encoding, character: int) -> None:
    source = Source(text)
    offset = source.offset_from(0, character, encoding)
    assert 0 <= offset <= source.line_end(0)
    there = source.position(offset, encoding)[1]
    following = source.position(min(offset + 1, source.line_end(0)), encoding)[1]
    assert there == character or there < character < following or offset == source.line_end(0)


@pytest.mark.parametrize(("line", "character", "offset"), [(-1, 5, 0), (9, 0, 5), (0, -3, 0), (1, 99, 5), (0, 99, 2)])
def test_positions_are_clamped(line: int, character: int, offset: int) -> None:
    source = Source("ab\r\nc")
    assert {source.offset_from(line, character, encoding) for encoding in ENCODINGS} == {offset}
    assert source.offset_at(line, character) == offset


def test_offsets_are_clamped() -> None:
    source = Source("ab\nc")
    assert (source.line_column(-4), source.line_column(99)) == ((0, 0), (1, 1))
    assert (source.position(99), source.byte_offset(99), source.byte_offset(-1)) == ((1, 1), 4, 0)


@given(TEXT)
def test_byte_offsets_are_those_of_the_file(text: str) -> None:
    source = Source(text)
    mark = 3 if source.bom else 0
    for offset in range(len(source.text) + 1):
        assert source.byte_offset(offset) == mark + len(source.text[:offset].encode("utf-8", "surrogatepass"))


def test_ranges_count_from_one_in_code_points() -> None:
    source = Source("é😀x\r\nab\n")
    assert source.range(2, 6) == Range(1, 3, 2, 2)
    assert source.range(5, 5) == Range(2, 1, 2, 1)
    assert source.range(6, 5) == Range(2, 2, 2, 2)


def test_a_byte_order_mark_is_no_character() -> None:
    source = Source("\ufeffa: 1", "x")
    assert (source.bom, source.text, source.path, source.line_column(0)) == (True, "a: 1", "x", (0, 0))
    assert not Source("a\ufeff").bom


@pytest.mark.parametrize(
    ("text", "eol"),
    [("", "\n"), ("a", "\n"), ("a\nb", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\r\n", "\r"), ("a\r\nb\n", "\n")],
)
def test_the_line_break_of_a_file_is_the_commonest(text: str, eol: str) -> None:
    assert Source(text).eol == eol


def test_decode_takes_utf_8_with_or_without_mark() -> None:
    assert decode("é: 😀".encode()) == ("é: 😀", None)
    text, problem = decode(b"\xef\xbb\xbfa: 1")
    assert (Source(text).text, Source(text).bom, problem) == ("a: 1", True, None)


@pytest.mark.parametrize(
    ("data", "text", "span", "byte"),
    [
        (b"a: caf\xe9\nb: \xff", "a: caf\ufffd\nb: \ufffd", (6, 7), "0xE9"),
        (b"\xef\xbb\xbf\xc3\xa9: \x80", "é: \ufffd", (3, 4), "0x80"),
        (b"\xc3", "\ufffd", (0, 1), "0xC3"),
        (b"ok \xed\xa0\x80", "ok \ufffd\ufffd\ufffd", (3, 4), "0xED"),
    ],
)
def test_bytes_that_are_not_utf_8_are_told_once(data: bytes, text: str, span: tuple[int, int], byte: str) -> None:
    decoded, problem = decode(data)
    assert Source(decoded).text == text
    assert problem is not None
    assert (problem.rule, problem.start, problem.end) == ("yaml-syntax", *span)
    assert byte in problem.message


@pytest.mark.parametrize(
    ("codec", "mark", "name"),
    [
        ("utf-16-le", b"\xff\xfe", "UTF-16"),
        ("utf-16-be", b"\xfe\xff", "UTF-16"),
        ("utf-32-le", b"\xff\xfe\0\0", "UTF-32"),
        ("utf-32-be", b"\0\0\xfe\xff", "UTF-32"),
    ],
)
def test_wide_encodings_are_named(codec: str, mark: bytes, name: str) -> None:
    text, problem = decode(mark + "a: é\n".encode(codec))
    assert text == "a: é\n"
    assert problem is not None
    assert (problem.start, problem.end) == (0, 1)
    assert name in problem.message
    assert decode(mark)[0] == ""


@given(st.binary(max_size=40))
def test_any_bytes_decode(data: bytes) -> None:
    text, problem = decode(data)
    size = len(Source(text).text)
    assert problem is None or 0 <= problem.start <= problem.end <= size
