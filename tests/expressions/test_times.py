"""Timestamps, time zones and ``format_time`` (language page, sections 3 and 4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.faults import CONVERSION, RANGE, Fault
from analyzer.expressions.times import (
    MAX_TIMESTAMP_US,
    MIN_TIMESTAMP_US,
    Duration,
    Timestamp,
    explain_timestamp_error,
    format_time,
    format_timestamp,
    moved,
    parse_timestamp,
    pattern_problem,
    time_zone_version,
    to_duration,
    to_timestamp,
    zone_names,
    zone_problem,
)

instants = st.integers(MIN_TIMESTAMP_US, MAX_TIMESTAMP_US)
# Hypothesis takes bounds without a zone.
FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001
MODERN = datetime(1900, 1, 1)  # noqa: DTZ001
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59)


def at(text: str) -> Timestamp:
    value = parse_timestamp(text)
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-01-31T09:30:00Z", None),
        ("2026-01-31t09:30:00z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+00:00", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00-00:00", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+01:00", None),
        ("2026-01-31T09:30:00-03:30", None),
        ("2026-01-31T09:30:00.5Z", None),
        ("2026-01-31T09:30:00.500Z", "2026-01-31T09:30:00.5Z"),
        ("2026-01-31T09:30:00.123456789Z", "2026-01-31T09:30:00.123456Z"),
        ("1969-12-31T23:59:59.999999Z", None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59.999999Z", None),
        ("2024-02-29T00:00:00Z", None),
        ("0001-01-01T00:30:00+00:15", None),
    ],
)
def test_timestamps_are_read_and_written(text: str, written: str | None) -> None:
    assert format_timestamp(at(text)) == (text if written is None else written)
    assert str(at(text)) == format_timestamp(at(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-01-31T09:30:00", "write `2026-01-31T09:30:00Z`"),
        ("2026-01-31 09:30", "write `2026-01-31T09:30:00Z`"),
        ("2026-01-31", "write `2026-01-31T00:00:00Z`"),
        ("2026-02-29T00:00:00Z", "not a time that exists"),
        ("2026-13-01T00:00:00Z", "not a time that exists"),
        ("2026-01-01T24:00:00Z", "not a time that exists"),
        ("2026-01-01T23:59:60Z", "not a time that exists"),
        ("2026-01-01T00:60:00Z", "not a time that exists"),
        ("2026-01-01T00:00:00+24:00", "not a time that exists"),
        ("2026-01-01T00:00:00+01:60", "not a time that exists"),
        ("0000-01-01T00:00:00Z", "not a time that exists"),
        ("0001-01-01T00:00:00+00:01", "not a time that exists"),
        ("9999-12-31T23:59:59-00:01", "not a time that exists"),
        ("2026-01-01 00:00:00Z", "is not a timestamp"),
        ("2026-01-01T00:00:00.Z", "is not a timestamp"),
        ("2026-01-01T00:00:00+0100", "is not a timestamp"),
        ("2026-01-01T00:00:00Z\n", "is not a timestamp"),
        ("٢٠٢٦-01-01T00:00:00Z", "is not a timestamp"),
        ("tomorrow", "is not a timestamp"),
        ("", "is not a timestamp"),
        ("2026-01-01T00:00:00." + "0" * 99 + "Z", "is not a timestamp"),
    ],
)
def test_what_is_no_timestamp_is_refused_and_explained(text: str, words: str) -> None:
    assert parse_timestamp(text) is None
    assert words in explain_timestamp_error(text)
    with pytest.raises(Fault) as caught:
        to_timestamp(text)
    assert caught.value.code == CONVERSION


def test_a_timestamp_is_its_instant() -> None:
    assert at("2026-01-31T10:30:00+01:00") == at("2026-01-31T09:30:00Z")
    assert hash(at("2026-01-31T10:30:00+01:00")) == hash(at("2026-01-31T09:30:00Z"))
    assert at("2026-01-31T10:30:00Z") != at("2026-01-31T09:30:00Z")
    assert len({Timestamp(5), Duration(5)}) == 2
    assert str(Duration(90_000_000)) == "1m30s"


@given(instants, offsets)
def test_what_is_written_is_the_same_instant(us: int, offset: int) -> None:
    again = parse_timestamp(format_timestamp(Timestamp(us, offset)))
    assert again is not None
    assert again.us == us


@given(st.datetimes(FIRST, LAST), offsets)
def test_timestamps_agree_with_the_standard_library(local: datetime, offset: int) -> None:
    text = local.isoformat() + f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
    expected = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    assert at(text).us == expected // timedelta(microseconds=1)


def test_moving_keeps_the_offset_and_ends_with_the_calendar() -> None:
    assert str(moved(at("2026-01-31T23:30:00+01:00"), 3_600_000_000)) == "2026-02-01T00:30:00+01:00"
    assert moved(Timestamp(MAX_TIMESTAMP_US - 1), 1).us == MAX_TIMESTAMP_US
    for start, step in ((MAX_TIMESTAMP_US, 1), (MIN_TIMESTAMP_US, -1)):
        with pytest.raises(Fault) as caught:
            moved(Timestamp(start), step)
        assert caught.value.code == RANGE


def test_durations_convert() -> None:
    assert to_duration("1h30m") == Duration(5_400_000_000)
    with pytest.raises(Fault) as caught:
        to_duration("30 s")
    assert caught.value.code == CONVERSION
    assert "`30s`" in caught.value.message


# -- zones and patterns


@pytest.mark.parametrize(
    ("instant", "zone", "written"),
    [
        ("2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29 01:59:59 CET +0100"),
        ("2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29 03:00:00 CEST +0200"),
        ("2026-10-25T00:30:00Z", "Europe/Berlin", "2026-10-25 02:30:00 CEST +0200"),
        ("2026-10-25T01:30:00Z", "Europe/Berlin", "2026-10-25 02:30:00 CET +0100"),
        ("2026-03-08T06:59:59Z", "America/New_York", "2026-03-08 01:59:59 EST -0500"),
        ("2026-03-08T07:00:00Z", "America/New_York", "2026-03-08 03:00:00 EDT -0400"),
        ("2026-04-04T14:59:59Z", "Australia/Lord_Howe", "2026-04-05 01:59:59 +11 +1100"),
        ("2026-04-04T15:00:00Z", "Australia/Lord_Howe", "2026-04-05 01:30:00 +1030 +1030"),
        ("2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29 23:59:59 -10 -1000"),
        ("2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31 00:00:00 +14 +1400"),
        ("2026-07-01T00:00:00+02:00", "UTC", "2026-06-30 22:00:00 UTC +0000"),
        ("2026-07-01T00:00:00Z", "Etc/GMT-14", "2026-07-01 14:00:00 +14 +1400"),
        ("1800-01-01T00:00:00Z", "Europe/Berlin", "1800-01-01 00:53:28 LMT +005328"),
    ],
)
def test_zones(instant: str, zone: str, written: str) -> None:
    assert format_time(at(instant), "%Y-%m-%d %H:%M:%S %Z %z", zone) == written


STANDARD = "AaBbdHIjMmpSUWwYyfzZ%VGu"


@given(st.datetimes(MODERN, LAST), st.sampled_from(STANDARD))
def test_directives_agree_with_the_standard_library(moment: datetime, directive: str) -> None:
    moment = moment.replace(tzinfo=UTC)
    value = Timestamp((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    # The C locale, which the tests run in, has the same English names.
    assert format_time(value, f"<%{directive}>") == moment.strftime(f"<%{directive}>")


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("%F %T", "2026-02-03 04:05:06"),
        ("%D %R %X %x", "02/03/26 04:05 04:05:06 02/03/26"),
        ("%c", "Tue Feb  3 04:05:06 2026"),
        ("%r", "04:05:06 AM"),
        ("%-d.%-m.%y %-H %-I %-j", "3.2.26 4 4 34"),
        ("%e|%k|%l", " 3| 4| 4"),
        ("%C %g %h %u %w %s", "20 26 Feb 2 2 1770091506"),
        ("%:z%n%t%%", "+00:00\n\t%"),
        ("%f", "000007"),
        ("no directive: é", "no directive: é"),
        ("", ""),
    ],
)
def test_patterns(pattern: str, written: str) -> None:
    assert pattern_problem(pattern) is None
    assert format_time(at("2026-02-03T04:05:06.000007Z"), pattern) == written


def test_midnight_without_padding_is_zero() -> None:
    assert format_time(at("2026-02-03T00:00:00Z"), "%-H %-M %-I") == "0 0 12"


@pytest.mark.parametrize(
    ("pattern", "words"), [("%Q", "`%Q`"), ("100%", "ends in `%`"), ("%-A", "`%-A`"), ("%é", "`%é`")]
)
def test_unknown_patterns(pattern: str, words: str) -> None:
    assert words in (pattern_problem(pattern) or "")
    with pytest.raises(Fault) as caught:
        format_time(Timestamp(0), pattern)
    assert caught.value.code == CONVERSION


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("europe/berlin", "did you mean `Europe/Berlin`?"),
        ("Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("New York", "write an IANA zone"),
        ("", "write an IANA zone"),
        ("../zones", "is not a time zone"),
        ("/etc/passwd", "is not a time zone"),
        ("Europe", "is not a time zone"),
        ("+02:00", "is not a time zone"),
        ("x" * 10_000, "…"),
    ],
)
def test_unknown_zones(zone: str, words: str) -> None:
    assert words in (zone_problem(zone) or "")
    with pytest.raises(Fault) as caught:
        format_time(Timestamp(0), "%Y", zone)
    assert caught.value.code == CONVERSION


def test_every_zone_of_the_pinned_data_works() -> None:
    assert len(zone_names()) > 400
    assert time_zone_version()[:2] == "20"
    for zone in sorted(zone_names()):
        assert zone_problem(zone) is None
        assert format_time(Timestamp(0), "%Y", zone) in ("1969", "1970")


def test_zones_do_not_come_from_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(key: str) -> None:
        raise AssertionError(f"the machine was asked for {key}")

    monkeypatch.setattr("zoneinfo._tzpath.find_tzfile", refuse)
    monkeypatch.setattr("zoneinfo._common.load_tzdata", refuse)
    assert format_time(Timestamp(0), "%H", "Asia/Pyongyang") == "09"


def test_the_ends_of_the_calendar() -> None:
    assert format_time(Timestamp(MAX_TIMESTAMP_US), "%Y") == "9999"
    assert format_time(Timestamp(MIN_TIMESTAMP_US), "%Y") == "0001"
    with pytest.raises(Fault) as caught:
        format_time(Timestamp(MAX_TIMESTAMP_US), "%Y", "Asia/Tokyo")
    assert caught.value.code == RANGE
    assert format_timestamp(Timestamp(MAX_TIMESTAMP_US, 60)) == "9999-12-31T23:59:59.999999Z"
