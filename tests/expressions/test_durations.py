"""Duration literals (language page, section 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.language.durations import (
    MAX_DURATION_US,
    explain_duration_error,
    format_duration,
    in_words,
    parse_duration,
    suggest_duration,
)

MS, S, M, H, D = 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("250ms", 250 * MS),
        ("30s", 30 * S),
        ("5m", 5 * M),
        ("24h", D),
        ("7d", 7 * D),
        ("1h30m", 90 * M),
        ("1d2h3m4s5ms", D + 2 * H + 3 * M + 4 * S + 5 * MS),
        ("1d5ms", D + 5 * MS),
        ("0s", 0),
        ("007s", 7 * S),
        ("90m", 90 * M),
        ("PT24H", D),
        ("P7D", 7 * D),
        ("P1W", 7 * D),
        ("P1DT12H", 36 * H),
        ("PT0.5S", 500 * MS),
        ("PT0,25S", 250 * MS),
        ("PT1.5H", 90 * M),
        ("P0.5D", 12 * H),
        ("P1.5W", 252 * H),
        ("PT1H2M3S", H + 2 * M + 3 * S),
        ("PT0S", 0),
        ("PT0.000001S", 1),
        ("PT0.0000019S", 1),
        ("3652500d", MAX_DURATION_US),
    ],
)
def test_literals(text: str, us: int) -> None:
    assert parse_duration(text) == us


REFUSED = [
    *("", " ", "30", "s", "30 s", " 30s", "30s ", "30s\n", "30sec", "5min", "1.5h", "1,5h", "-5m", "+5m", "30m1h"),
    *("1h1h", "1s1s", "5M", "1H", "1w", "500us", "1:30", "1h 30m", "٣s", "1e3s", "0x1s", "3652500d1ms", "9" * 30 + "s"),
    *("P", "PT", "P1DT", "PT1", "P1", "P1Y", "P1M", "P1Y2M3D", "P1M1D", "pt1h", "PT1h", "P1H", "P1DT1D", "P1W1D"),
    *("PT1S1M", "PT1H1H", "PT1.5H1M", "PT.5S", "PT5.S", "-PT1H", "PT-1H", "P1D T1H", "PT99999999999999999H"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_literal_is_refused_and_explained(text: str) -> None:
    assert parse_duration(text) is None
    message = explain_duration_error(text)
    assert "duration" in message or "did you mean" in message or "write" in message


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("30 s", "30s"),
        (" 30s ", "30s"),
        ("30sec", "30s"),
        ("5min", "5m"),
        ("5 minutes", "5m"),
        ("1 hour and 30 minutes", "1h30m"),
        ("1 day, 2 hours", "1d2h"),
        ("1.5h", "1h30m"),
        ("1,5h", "1h30m"),
        ("0.5s", "500ms"),
        ("-5m", "5m"),
        ("30m1h", "1h30m"),
        ("1h1h", "2h"),
        ("5M", "5m"),
        ("2w", "14d"),
        ("500us", "PT0.0005S"),
        ("1:30", "1h30m"),
        ("pt1h", "PT1H"),
        ("30 parsecs", None),
        ("soon", None),
        ("30", None),
        ("", None),
        ("9" * 18 + "w", None),
        ("1s" * 500, None),
    ],
)
def test_suggestions(text: str, suggestion: str | None) -> None:
    assert suggest_duration(text) == suggestion
    if suggestion is not None:
        assert f"did you mean `{suggestion}`?" in explain_duration_error(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is missing"),
        ("30", "`30s` (seconds) or `30m` (minutes)"),
        ("-5m", "has a sign"),
        ("P1M", "no fixed length"),
        ("P2Y", "no fixed length"),
        ("9999999d", "longer than 10,000 years"),
        ("soon", "write a duration as"),
        ("x" * 500, "…"),
    ],
)
def test_explanations(text: str, words: str) -> None:
    assert words in explain_duration_error(text)
    assert len(explain_duration_error(text)) < 200


@pytest.mark.parametrize("text", [*REFUSED, "soon", "x" * 500, "9999999d", "2030-13-01T00:00:00Z", "2026-01-01"])
def test_explanations_end_as_sentences_do(text: str) -> None:
    assert explain_duration_error(text)[-1] in ".?"
    assert not explain_duration_error(text).endswith("..")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2030-13-01T00:00:00Z", "`2030-13-01T00:00:00Z` is not a time that exists; check the month"),
        ("2030-12-01T00:00:00", "has no offset from UTC; write `2030-12-01T00:00:00Z`"),
        ("2030-12-01", "is a date without a time"),
        ("2030-12-1 noon", "is not a timestamp"),
        ("2030-12-01T00:00:00Z", "is a timestamp, and a duration belongs here"),
    ],
)
def test_a_date_is_explained_as_a_timestamp(text: str, words: str) -> None:
    assert words in explain_duration_error(text)


@pytest.mark.parametrize(
    ("us", "text", "words"),
    [
        (0, "0s", "0 seconds"),
        (1, "PT0.000001S", "1 microsecond"),
        (1_500, "PT0.0015S", "1 millisecond 500 microseconds"),
        (250 * MS, "250ms", "250 milliseconds"),
        (90 * S, "1m30s", "1 minute 30 seconds"),
        (90 * M, "1h30m", "1 hour 30 minutes"),
        (36 * H, "1d12h", "1 day 12 hours"),
        (2_000 * D, "2000d", "2,000 days"),
        (-5 * M, "-5m", "minus 5 minutes"),
        (61 * S + 1, "PT61.000001S", "1 minute 1 second 1 microsecond"),
    ],
)
def test_writing(us: int, text: str, words: str) -> None:
    assert format_duration(us) == text
    assert in_words(us) == words


@given(st.integers(0, MAX_DURATION_US))
def test_what_is_written_is_read_again(us: int) -> None:
    assert parse_duration(format_duration(us)) == us


@given(st.text(st.sampled_from("0123456789PTdhmsDHMSW. ,-+:µwyin"), max_size=20) | st.text(max_size=20))
def test_every_text_is_a_duration_or_explained(text: str) -> None:
    us = parse_duration(text)
    if us is None:
        assert explain_duration_error(text)
        suggestion = suggest_duration(text)
        assert suggestion is None or parse_duration(suggestion) is not None
    else:
        assert 0 <= us <= MAX_DURATION_US
