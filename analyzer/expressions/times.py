"""Timestamps and durations as values, and writing timestamps in a zone (language page, sections 3 and 4).

Arithmetic is on absolute time, so it is exact over a change to or from summer time. Zones come from the ``tzdata``
package alone, never from the machine, and names are English: the same expression gives the same text everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from analyzer.expressions.faults import CONVERSION, RANGE, Fault
from analyzer.language.durations import explain_duration_error, format_duration, parse_duration

if TYPE_CHECKING:
    from pathlib import Path

_US: Final = 1_000_000
_DAY_S: Final = 86_400
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MIN_TIMESTAMP_US: Final = (1 - _EPOCH_DAY) * _DAY_S * _US  # 0001-01-01T00:00:00Z
MAX_TIMESTAMP_US: Final = (date.max.toordinal() + 1 - _EPOCH_DAY) * _DAY_S * _US - 1  # the end of 9999

_LONGEST_TIMESTAMP: Final = 64
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,30}))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_NO_OFFSET = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,30})?)?"
_DATE_ONLY = r"\d{4}-\d\d-\d\d"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant: ``us`` microseconds since 1970-01-01T00:00:00Z.

    ``offset`` (minutes east of UTC) is only how it is written: two timestamps of one instant are equal.
    """

    us: int
    offset: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return format_timestamp(self)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time of ``us`` microseconds; a subtraction may make it negative."""

    us: int

    def __str__(self) -> str:
        return format_duration(self.us)


def parse_timestamp(text: str) -> Timestamp | None:
    """An RFC 3339 timestamp with an offset, or None. Digits below a microsecond are dropped; no leap seconds."""
    match = _RFC3339.fullmatch(text) if len(text) <= _LONGEST_TIMESTAMP else None
    if match is None:
        return None
    hour, minute, second = int(match[4]), int(match[5]), int(match[6])
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(int(match[1]), int(match[2]), int(match[3])).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    offset = 0
    if match[8] is None:
        offset_hours, offset_minutes = int(match[10]), int(match[11])
        if offset_hours > 23 or offset_minutes > 59:
            return None
        offset = (offset_hours * 60 + offset_minutes) * (-1 if match[9] == "-" else 1)
    seconds = days * _DAY_S + hour * 3_600 + minute * 60 + second - offset * 60
    us = seconds * _US + (int(match[7][:6].ljust(6, "0")) if match[7] else 0)
    return Timestamp(us, offset) if MIN_TIMESTAMP_US <= us <= MAX_TIMESTAMP_US else None


def explain_timestamp_error(text: str) -> str:
    """Why ``parse_timestamp`` refused ``text``, and what to write instead."""
    shown = text if len(text) <= 40 else text[:40] + "…"
    if re.fullmatch(_NO_OFFSET, text, re.ASCII):
        fixed = text.replace(" ", "T") + ("" if text.count(":") == 2 else ":00") + "Z"
        return f"`{shown}` has no offset from UTC; write `{fixed}`, or an offset such as `+02:00` at its end"
    if re.fullmatch(_DATE_ONLY, text, re.ASCII):
        return f"`{shown}` is a date without a time; write `{text}T00:00:00Z`"
    if _RFC3339.fullmatch(text):
        return f"`{shown}` is not a time that exists; check the month, the day, the time and the offset"
    return f"`{shown}` is not a timestamp; write one such as `2026-01-31T09:30:00Z` or `2026-01-31T09:30:00+01:00`"


def format_timestamp(value: Timestamp) -> str:
    """RFC 3339: ``Z`` for offset 0, a fraction only when there is one, without final zeros."""
    local = value.us + value.offset * 60 * _US
    if not MIN_TIMESTAMP_US <= local <= MAX_TIMESTAMP_US:
        return format_timestamp(Timestamp(value.us))
    seconds, us = divmod(local, _US)
    days, second_of_day = divmod(seconds, _DAY_S)
    day = date.fromordinal(days + _EPOCH_DAY)
    hours, rest = divmod(second_of_day, 3_600)
    fraction = f".{us:06d}".rstrip("0") if us else ""
    text = f"{day.year:04d}-{day.month:02d}-{day.day:02d}T{hours:02d}:{rest // 60:02d}:{rest % 60:02d}{fraction}"
    if value.offset == 0:
        return text + "Z"
    offset_hours, offset_minutes = divmod(abs(value.offset), 60)
    return f"{text}{'-' if value.offset < 0 else '+'}{offset_hours:02d}:{offset_minutes:02d}"


def moved(value: Timestamp, us: int) -> Timestamp:
    """``value`` moved by ``us`` microseconds; ``fault.range`` outside of the years 1 to 9999."""
    instant = value.us + us
    if not MIN_TIMESTAMP_US <= instant <= MAX_TIMESTAMP_US:
        raise Fault(RANGE, "the result is outside the years 1 to 9999; move the timestamp by less")
    return Timestamp(instant, value.offset)


def to_duration(text: str) -> Duration:
    """The ``duration`` filter; ``fault.conversion`` when ``text`` is no literal."""
    us = parse_duration(text)
    if us is None:
        raise Fault(CONVERSION, explain_duration_error(text))
    return Duration(us)


def to_timestamp(text: str) -> Timestamp:
    """The ``timestamp`` filter; ``fault.conversion`` when ``text`` is no RFC 3339 timestamp."""
    value = parse_timestamp(text)
    if value is None:
        raise Fault(CONVERSION, explain_timestamp_error(text))
    return value


# -- zones


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every IANA zone of the pinned data."""
    return frozenset((_zone_folder().parent / "zones").read_text(encoding="utf-8").split())


def time_zone_version() -> str:
    """The release of the pinned time-zone data, such as ``2026a``; part of what a history depends on."""
    import tzdata  # type: ignore[import-untyped]

    return str(tzdata.IANA_VERSION)


def zone_problem(name: str) -> str | None:
    """What is wrong with a zone name, or None."""
    if name in zone_names():
        return None
    from difflib import get_close_matches

    shown = name if len(name) <= 40 else name[:40] + "…"
    by_lower = {zone.lower(): zone for zone in sorted(zone_names())}
    near = get_close_matches(name.lower().replace(" ", "_")[:64], list(by_lower), 1, 0.75)
    hint = f"did you mean `{by_lower[near[0]]}`?" if near else "write an IANA zone such as `Europe/Berlin` or `UTC`"
    return f"`{shown}` is not a time zone; {hint}"


def _zone_folder() -> Path:
    from pathlib import Path  # slow to import, and only times that are written in a zone need it

    import tzdata

    assert tzdata.__file__ is not None
    return Path(tzdata.__file__).parent / "zoneinfo"


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    problem = zone_problem(name)
    if problem is not None:
        raise Fault(CONVERSION, problem)
    from zoneinfo import ZoneInfo

    # ``ZoneInfo(name)`` would prefer the machine's own data.
    with _zone_folder().joinpath(*name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


# -- format_time

_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _offset_text(moment: datetime, colon: str) -> str:
    offset = moment.utcoffset() or timedelta()
    total = abs(offset.days * _DAY_S + offset.seconds)
    hours, rest = divmod(total, 3_600)
    minutes, seconds = divmod(rest, 60)
    sign = "-" if offset < timedelta() else "+"
    return f"{sign}{hours:02d}{colon}{minutes:02d}" + (f"{colon}{seconds:02d}" if seconds else "")


def _week(moment: datetime, first_weekday: int) -> int:
    """The week of the year that begins on ``first_weekday`` (0 is Monday); days before the first one are week 0."""
    return (moment.timetuple().tm_yday + 6 - (moment.weekday() - first_weekday) % 7) // 7


_DIRECTIVES: Final[dict[str, Callable[[datetime], str]]] = {
    "%": lambda _: "%",
    "A": lambda t: _WEEKDAYS[t.weekday()],
    "B": lambda t: _MONTHS[t.month - 1],
    "C": lambda t: f"{t.year // 100:02d}",
    "G": lambda t: f"{t.isocalendar().year:04d}",
    "H": lambda t: f"{t.hour:02d}",
    "I": lambda t: f"{(t.hour + 11) % 12 + 1:02d}",
    "M": lambda t: f"{t.minute:02d}",
    "S": lambda t: f"{t.second:02d}",
    "U": lambda t: f"{_week(t, 6):02d}",
    "V": lambda t: f"{t.isocalendar().week:02d}",
    "W": lambda t: f"{_week(t, 0):02d}",
    "Y": lambda t: f"{t.year:04d}",
    "Z": lambda t: t.tzname() or "",
    "a": lambda t: _WEEKDAYS[t.weekday()][:3],
    "b": lambda t: _MONTHS[t.month - 1][:3],
    "d": lambda t: f"{t.day:02d}",
    "e": lambda t: f"{t.day:2d}",
    "f": lambda t: f"{t.microsecond:06d}",
    "g": lambda t: f"{t.isocalendar().year % 100:02d}",
    "h": lambda t: _MONTHS[t.month - 1][:3],
    "j": lambda t: f"{t.timetuple().tm_yday:03d}",
    "k": lambda t: f"{t.hour:2d}",
    "l": lambda t: f"{(t.hour + 11) % 12 + 1:2d}",
    "m": lambda t: f"{t.month:02d}",
    "n": lambda _: "\n",
    "p": lambda t: "AM" if t.hour < 12 else "PM",
    "s": lambda t: str((t - _EPOCH) // timedelta(seconds=1)),
    "t": lambda _: "\t",
    "u": lambda t: str(t.isoweekday()),
    "w": lambda t: str(t.isoweekday() % 7),
    "y": lambda t: f"{t.year % 100:02d}",
    "z": lambda t: _offset_text(t, ""),
    ":z": lambda t: _offset_text(t, ":"),
}
# Directives that stand for several others, as in the C locale.
_COMPOSED: Final[dict[str, str]] = {
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "c": "%a %b %e %H:%M:%S %Y",
    "r": "%I:%M:%S %p",
    "x": "%m/%d/%y",
}
_NUMERIC: Final = frozenset("CGHIMSUVWYdegjklmy")  # ``%-d`` writes these without padding
_DIRECTIVE = re.compile(r"%(-?)(:z|.)?", re.DOTALL)


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a strftime pattern, or None."""
    for match in _DIRECTIVE.finditer(pattern):
        flag, letter = match[1], match[2]
        if letter is None:
            return "the pattern ends in `%`; write `%%` for a percent sign"
        known = letter in _NUMERIC if flag else letter in _DIRECTIVES or letter in _COMPOSED
        if not known:
            return f"`{match[0]}` is not a strftime directive; use one such as `%Y`, `%m`, `%d`, `%H`, `%M` or `%S`"
    return None


def format_time(value: Timestamp, pattern: str, zone: str = "UTC") -> str:
    """``value`` in the IANA ``zone`` by a strftime pattern, with English names.

    ``fault.conversion`` for an unknown directive or zone; ``fault.range`` when the local time is outside of the years
    1 to 9999.
    """
    problem = pattern_problem(pattern)
    if problem is not None:
        raise Fault(CONVERSION, problem)
    try:
        moment = (_EPOCH + timedelta(microseconds=value.us)).astimezone(_zone(zone))
    except (OverflowError, ValueError):
        raise Fault(RANGE, "the local time is outside the years 1 to 9999") from None

    def write(match: re.Match[str]) -> str:
        letter = match[2]
        composed = _COMPOSED.get(letter)
        if composed is not None:
            return _DIRECTIVE.sub(write, composed)
        text = _DIRECTIVES[letter](moment)
        return (text.lstrip(" 0") or "0") if match[1] else text

    return _DIRECTIVE.sub(write, pattern)
