"""JSON, YAML and times that the client writes as values."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from analyzer.expressions.schema_faults import json_value
from analyzer.expressions.times import MAX_TIMESTAMP_US, parse_timestamp
from analyzer.language.durations import explain_duration_error, parse_duration
from analyzer.language.words import shown
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused

Json: TypeAlias = Any


def plain_json(value: Json, what: str) -> str:
    """The text of a JSON value. Raises ``Refused`` for what JSON cannot say: NaN, half characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        raise Refused(
            f"`{what}` is not JSON: it has NaN, an infinite number, or half a character", ERROR_ARGUMENTS
        ) from None
    return text


def yaml_value(text: str, what: str) -> Json:
    """The JSON value of a YAML text. Raises ``Refused``."""
    tree = parse(Source(text))
    if tree.problems:
        raise Refused(f"{what} is not YAML: {tree.problems[0].message}")
    if tree.root is None:
        raise Refused(f'{what} has no value: write one, `null`, or `""` for an empty string')
    return json_value(tree.root)


def span_of(text: str, what: str) -> int:
    """The microseconds of a duration. Raises ``Refused``."""
    us = parse_duration(text)
    if us is None:
        raise Refused(f"`{what}`: {explain_duration_error(text)}", ERROR_ARGUMENTS)
    return us


def instant_of(text: str, start_us: int, what: str) -> int:
    """The instant of a timestamp, or of a duration from the start. Raises ``Refused``."""
    us = parse_duration(text)
    if us is not None:
        return min(start_us + us, MAX_TIMESTAMP_US)
    instant = parse_timestamp(text)
    if instant is None:
        raise Refused(f"`{what}`: `{shown(text)}` is neither a duration nor a timestamp", ERROR_ARGUMENTS)
    return instant.us
