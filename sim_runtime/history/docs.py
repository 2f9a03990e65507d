"""Writes ``docs/history.md`` from the tables: ``python -m sim_runtime.history.docs [--check] [FILE]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sim_runtime.history.chain import RECORD_KEYS
from sim_runtime.history.header import HEADER_KEYS, PIN_KEYS
from sim_runtime.history.records import COMMON_FIELDS, KINDS, Field
from sim_runtime.history.refusal import CLASSES, REASONS

FILE: Final = Path(__file__).resolve().parents[2] / "docs" / "history.md"

_INTRODUCTION: Final = """\
# The history of a run

<!-- Written by `python -m sim_runtime.history.docs` from the tables in `sim_runtime/history`; change those. -->

A run's history is the only memory of it: an append-only list of records, from which the whole state of the run is
made. `workfile run --history OUT.history.jsonl` and `workfile history export` write it as a file: one JSON object a
line, a header first, then the records.

The records of one decision are one transaction, and the last of them has `"boundary": true`. A history that was cut
after any record is that of an executor that died there; one that was cut inside a transaction is read up to the
boundary before.

## Digests

Every line has a `digest`. The header's is the SHA-256 of its canonical JSON, a record's the SHA-256 of the previous
digest, as its 64 hexadecimal characters, followed by the record's own canonical JSON, both without the field `digest`
itself. So a record that was changed, moved or taken out is found by the first digest that does not fit, and two
histories are the same exactly when their last digests are.

Canonical JSON is that of RFC 8785, with one extension: a whole number past 2^53, which RFC 8785 cannot write without
loss, stands with all its digits. Half a character (a lone surrogate) and numbers that are not finite are refused.
"""

_VALUES: Final = """\

## Values

Values of the workflow stand as JSON. A timestamp or a duration stands as its text and a value that a dry run marked as
`{"$suppressed": VALUE}`; `kinds` in the record's data lists where they stand, as JSON pointers, so that a text which
only looks like a timestamp stays a text. Instants are RFC 3339 in UTC, durations literals of the language such as
`1h30m`.

A value that is withheld from an exported history stands as `{"$withheld": CLASS}`. CLASS is one of {classes}.
`--redact` withholds what a manifest or an input marks as `sensitive: true`, and the same texts and numbers wherever
else they stand, also inside a longer text. What an expression made of them (`| upper`, a part, a sum) is another
value and is not recognised: mark the output or input that it goes to. A text of fewer than 4 characters is recognised
only as a whole, and whole numbers below 1000, true, false and null are not followed. The chain of digests is made
anew, so that a redacted history can be checked like any other, and its digests differ from those of the original.

## Loading

Loading checks everything before anything is used: JSON without repeated names, the header and its pins, the digest of
each record, its shape and the fields of its kind, the order of numbers and times, and what must hold between records.
The first record that cannot be used is named. The reasons:

| reason | when |
| --- | --- |
"""


def page() -> str:
    """The text of the page."""
    parts = [_INTRODUCTION]
    parts.append("\n## The header\n\n" + _rows(HEADER_KEYS.items(), "field"))
    parts.append("\nThe pins are digests of canonical content: what a file says, without comments and layout.\n\n")
    parts.append(_rows(PIN_KEYS.items(), "pin"))
    parts.append("\n## A record\n\n" + _rows(RECORD_KEYS.items(), "field"))
    classes = ", ".join(f"`{each}`" for each in CLASSES)
    parts.append(_VALUES.replace("{classes}", classes))
    parts.extend(f"| `{reason}` | {text} |\n" for reason, text in REASONS.items())
    parts.append("\n## The kinds of records\n\nAny record's data may have, beside the fields of its kind:\n\n")
    parts.append(_fields(COMMON_FIELDS))
    for name, kind in KINDS.items():
        end = " Always ends its transaction." if kind.ends else ""
        parts.append(f"\n### `{name}`\n\n{kind.doc}{end}\n")
        if kind.fields:
            parts.append("\n" + _fields(kind.fields))
    return "".join(parts)


def _rows(rows: Iterable[tuple[str, str]], heading: str) -> str:
    return f"| {heading} | what it is |\n| --- | --- |\n" + "".join(
        f"| `{name}` | {_cell(doc)} |\n" for name, doc in rows
    )


def _fields(fields: dict[str, Field]) -> str:
    lines = ["| field | type | what it is |\n| --- | --- | --- |\n"]
    for name, field in fields.items():
        optional = ", optional" if field.optional else ""
        lines.append(f"| `{name}` | {field.type}{optional} | {_cell(field.doc)} |\n")
    return "".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(prog="python -m sim_runtime.history.docs", description="Write docs/history.md.")
    parser.add_argument("file", nargs="?", type=Path, default=FILE, help="where the page is (default: docs/history.md)")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the page is not as it should be")
    options = parser.parse_args(arguments)
    present = options.file.read_text(encoding="utf-8") if options.file.is_file() else None
    if present == page():
        return 0
    if options.check:
        what = "is missing" if present is None else "is stale"
        sys.stdout.write(f"{options.file.name} {what}: write it with `python -m sim_runtime.history.docs`\n")
        return 1
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"wrote {options.file.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
