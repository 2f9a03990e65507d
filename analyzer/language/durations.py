"""Duration literals: ``250ms``, ``30s``, ``1h30m``, ISO 8601 (``PT24H``). Source: language page, section 3.

A duration is an integer number of microseconds. Units stand in descending order, each at most once, without a sign.
Calendar units (years, months) are refused: they have no fixed length.
"""

from __future__ import annotations

import re
from functools import lru_cache

MICROSECONDS_PER_SECOND = 1_000_000
MAX_DURATION_US = 10_000 * 365_250_000 * 24 * 3_600  # 10,000 Julian years: a bound, and safe in 64 bits

UNITS_US: dict[str, int] = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
}

# Spellings that people use elsewhere, for suggestions only.
_ALIASES_US: dict[str, int] = {
    **UNITS_US,
    **dict.fromkeys(("w", "week", "weeks"), 7 * UNITS_US["d"]),
    **dict.fromkeys(("day", "days"), UNITS_US["d"]),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), UNITS_US["h"]),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), UNITS_US["m"]),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), UNITS_US["s"]),
    **dict.fromkeys(("msec", "msecs", "milli", "millis", "millisecond", "milliseconds"), UNITS_US["ms"]),
    **dict.fromkeys(("us", "µs", "μs", "usec", "micros", "microsecond", "microseconds"), 1),
}
_WORDS: tuple[tuple[str, int], ...] = (
    ("day", UNITS_US["d"]),
    ("hour", UNITS_US["h"]),
    ("minute", UNITS_US["m"]),
    ("second", UNITS_US["s"]),
    ("millisecond", UNITS_US["ms"]),
    ("microsecond", 1),
)

_LITERAL = re.compile(r"(?:(\d{1,18})d)?(?:(\d{1,18})h)?(?:(\d{1,18})m)?(?:(\d{1,18})s)?(?:(\d{1,18})ms)?", re.ASCII)
_AMOUNT = r"(\d{1,18})(?:[.,](\d{1,9}))?"
# Compiled when first needed: most texts are plain literals, and compiling costs start-up time.
_ISO_WEEKS = rf"P{_AMOUNT}W"
_ISO = rf"P(?:{_AMOUNT}D)?(?:T(?=\d)(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?"
_LOOSE = r"(\d{1,18})(?:[.,](\d{1,9}))?\s*([a-zµμ]{1,12})\s*(?:,|and\b)?\s*"
_CALENDAR = r"P(?:\d+[YMWD])*\d+[YM]"
_SIGN = re.compile(r"\s*[-+−]")  # the typographic minus is what word processors write
_CLOCK = r"(\d{1,4}):([0-5]\d)"
_DATE = r"\d{4}-\d{1,2}-\d"

_LONGEST_TEXT = 128  # no duration below the bound needs more; longer text is not looked at
_FORMS = "write a duration as `250ms`, `30s`, `5m`, `24h`, `7d`, `1h30m` or `PT24H`"


@lru_cache(maxsize=1_024)  # a file says the same few durations over and over
def parse_duration(text: str) -> int | None:
    """The microseconds of a duration literal, or None when ``text`` is not one (or is past ``MAX_DURATION_US``)."""
    if not text or len(text) > _LONGEST_TEXT:
        return None
    if text[0] == "P":
        return _parse_iso(text)
    match = _LITERAL.fullmatch(text)
    if match is None:
        return None
    total = sum(int(digits) * unit for digits, unit in zip(match.groups("0"), UNITS_US.values(), strict=True))
    return total if total <= MAX_DURATION_US else None


def _parse_iso(text: str) -> int | None:
    match = re.fullmatch(_ISO_WEEKS, text, re.ASCII)
    if match is not None:
        units: list[int] = [7 * UNITS_US["d"]]
    else:
        match = re.fullmatch(_ISO, text, re.ASCII)
        units = [UNITS_US["d"], UNITS_US["h"], UNITS_US["m"], UNITS_US["s"]]
    if match is None or text == "P":
        return None
    total = 0
    fraction_seen = False
    for position, unit in enumerate(units):
        whole, fraction = match.group(2 * position + 1), match.group(2 * position + 2)
        if whole is None:
            continue
        if fraction_seen:  # ISO 8601: only the smallest component may have a fraction
            return None
        total += int(whole) * unit + _part(fraction, unit)
        fraction_seen = fraction is not None
    return total if total <= MAX_DURATION_US else None


def _part(fraction: str | None, unit_us: int) -> int:
    """The microseconds of the digits after the point; what is below a microsecond is dropped."""
    return 0 if fraction is None else unit_us * int(fraction) // int(10 ** len(fraction))


def format_duration(us: int) -> str:
    """The canonical literal: greatest units first, no zeros (``1h30m``); ISO 8601 below a millisecond.

    A negative duration (only a subtraction makes one) has a leading ``-`` and is no literal.
    """
    if us < 0:
        return "-" + format_duration(-us)
    if us % UNITS_US["ms"]:
        seconds, rest = divmod(us, MICROSECONDS_PER_SECOND)
        return f"PT{seconds}." + f"{rest:06d}".rstrip("0") + "S"
    parts: list[str] = []
    for name, unit in UNITS_US.items():
        count, us = divmod(us, unit)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts) or "0s"


def in_words(us: int) -> str:
    """``1 hour 30 minutes``, for messages and hovers."""
    if us < 0:
        return "minus " + in_words(-us)
    parts: list[str] = []
    for name, unit in _WORDS:
        count, us = divmod(us, unit)
        if count:
            parts.append(f"{count:,} {name}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def suggest_duration(text: str) -> str | None:
    """The literal that the author of a wrong duration most likely meant, or None."""
    if len(text) > _LONGEST_TEXT:
        return None
    plain = text.strip()
    upper = plain.upper()
    if plain != text or plain != upper:
        for candidate in (plain, upper):
            if parse_duration(candidate) is not None:
                return candidate
    clock = re.fullmatch(_CLOCK, plain, re.ASCII)
    if clock is not None:
        return _within_bound(int(clock[1]) * UNITS_US["h"] + int(clock[2]) * UNITS_US["m"])
    return _suggest_loose(_SIGN.sub("", plain).lower())


def _suggest_loose(text: str) -> str | None:
    total = position = 0
    loose = re.compile(_LOOSE, re.ASCII)
    while position < len(text):
        match = loose.match(text, position)
        if match is None or match[3] not in _ALIASES_US:
            return None
        unit = _ALIASES_US[match[3]]
        total += int(match[1]) * unit + _part(match[2], unit)
        position = match.end()
    return _within_bound(total) if position else None


def _within_bound(us: int) -> str | None:
    return format_duration(us) if us <= MAX_DURATION_US else None


def explain_duration_error(text: str) -> str:
    """Why ``parse_duration`` refused ``text``, and what to write instead; it ends as a sentence does."""
    words = _explanation(text)
    return words if words.endswith("?") else f"{words}."


def _explanation(text: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "…"
    suggestion = suggest_duration(text)
    hint = f"did you mean `{suggestion}`?" if suggestion is not None else _FORMS
    plain = text.strip()
    if not plain:
        return f"a duration is missing; {_FORMS}"
    if plain.isascii() and plain.isdigit():
        return f"`{shown}` has no unit; did you mean `{_short(plain)}s` (seconds) or `{_short(plain)}m` (minutes)?"
    if re.match(_DATE, plain, re.ASCII) is not None:
        return _of_date(plain, shown)
    if _SIGN.match(plain) is not None:
        return f"`{shown}` has a sign, and a duration has none; {hint}"
    if re.match(_CALENDAR, plain, re.ASCII) is not None:
        return f"`{shown}` counts years or months, which have no fixed length; write days, such as `30d`"
    if suggestion is None and _is_too_long(plain):
        return f"`{shown}` is longer than 10,000 years, the longest duration there is; write a shorter one"
    return f"`{shown}` is not a duration; {hint}"


def _of_date(text: str, shown: str) -> str:
    """A date where a duration stands: many places take both, so what is wrong with the timestamp comes first."""
    from analyzer.expressions.times import explain_timestamp_error, parse_timestamp  # it imports this module

    if parse_timestamp(text) is None:
        return explain_timestamp_error(text)
    return f"`{shown}` is a timestamp, and a duration belongs here; {_FORMS}"


def _short(digits: str) -> str:
    return digits if len(digits) <= 18 else "30"


def _is_too_long(text: str) -> bool:
    return (
        bool(_LITERAL.fullmatch(text) or re.fullmatch(_ISO, text, re.ASCII) or re.fullmatch(_ISO_WEEKS, text, re.ASCII))
        and text != "P"
    )
