"""Canonical JSON (RFC 8785) and the digests that are made of it.

The bytes are those of the `rfc8785` library, with one extension: a whole number past 2**53, which RFC 8785 cannot
write without loss, stands with all its digits, as the language's whole numbers are exact. Everything that is no I-JSON
(half a character, a number that is not finite) is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, Final

from analyzer.expressions.faults import Fault
from analyzer.expressions.values import MAX_VALUE_NODES, Budget, canonical_json
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

_PLAIN: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False, check_circular=False
)


def _encoder() -> Callable[[Any], str]:
    """``json``'s encoder, made once: ``encode`` makes one anew for every call."""
    if c_make_encoder is None:
        return _PLAIN.encode
    made: Any = c_make_encoder(None, _PLAIN.default, encode_basestring, None, ":", ",", True, False, False)
    return lambda value: "".join(made(value, 0))


_encode: Final = _encoder()
#: Past it JSON's whole numbers are not exact, and RFC 8785 writes them otherwise.
_MAX_EXACT: Final = 2**53
_TEXTS: Final = frozenset({str, bool, type(None)})


class NotCanonical(ValueError):
    """Data that has no canonical JSON; the message says why."""


def canonical_bytes(value: Any) -> bytes:
    """The canonical JSON of plain JSON data. Raises ``NotCanonical``."""
    try:
        if type(value) is dict or type(value) is list:
            text = _encode(value)
            # Keys are sorted by code point here and by UTF-16 there: the same for ASCII.
            if (text.isascii() or _has_ascii_keys(value)) and _has_small_numbers(value):
                return text.encode()
        return _by_library(value)
    except UnicodeEncodeError:
        raise NotCanonical("a string holds half a character (a lone surrogate)") from None
    except RecursionError:
        raise NotCanonical("it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise error if isinstance(error, NotCanonical) else NotCanonical(str(error)) from None


def digest_of(value: Any) -> str:
    """The SHA-256, in hexadecimal, of the canonical JSON of plain JSON data. Raises ``NotCanonical``."""
    return sha256(canonical_bytes(value)).hexdigest()


def chained(previous: str, data: bytes) -> str:
    """The next digest of a chain: SHA-256 of the previous digest (its hexadecimal text) and canonical JSON."""
    return sha256(previous.encode("ascii") + data).hexdigest()


def _has_ascii_keys(value: Any) -> bool:
    stack = [value]
    while stack:
        each = stack.pop()
        if type(each) is dict:
            if not all(map(str.isascii, each)):
                return False
            stack.extend(each.values())
        elif type(each) is list:
            stack.extend(each)
    return True


def _has_small_numbers(value: Any) -> bool:
    """Whether all numbers are whole and exact: those the encoder writes as RFC 8785 does."""
    for each in value.values() if type(value) is dict else value:
        kind = type(each)
        if kind in _TEXTS:
            continue
        if kind is int:
            if not -_MAX_EXACT < each < _MAX_EXACT:
                return False
        elif (kind is not dict and kind is not list) or not _has_small_numbers(each):
            return False
    return True


def _by_library(value: Any) -> bytes:
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return _with_all_digits(value)
    except rfc8785.FloatDomainError:
        raise NotCanonical("a number is not finite") from None
    except rfc8785.CanonicalizationError as error:
        raise NotCanonical(str(error)) from None


def _with_all_digits(value: Any) -> bytes:
    try:
        return canonical_json(value, Budget(MAX_VALUE_NODES)).encode()
    except Fault as fault:
        raise NotCanonical(fault.message) from None
    except TypeError as error:
        raise NotCanonical(str(error)) from None


# Content of files.

ENTRIES: Final = "$entries"
NUMBER: Final = "$number"


def content_of(node: Node | None) -> Any:
    """What a YAML file says, as plain JSON: comments, layout and the order of keys do not count.

    A map with a key that is no string (cases of ``wf.switch``) is ``{"$entries": [[key, value], …]}``, a number that
    JSON does not have ``{"$number": ".inf"}``.
    """
    if node is None:
        return None
    if isinstance(node, Sequence):
        return [content_of(item) for item in node.items]
    if isinstance(node, Mapping):
        return _map_content(node)
    assert isinstance(node, Scalar)
    value = node.value
    if isinstance(value, float) and value - value != 0:
        return {NUMBER: node.text}
    return value


def _map_content(node: Mapping) -> Any:
    entries = [(entry.key.value if isinstance(entry.key, Scalar) else None, entry.value) for entry in node.entries]
    if all(type(key) is str for key, _ in entries):
        found: dict[str, Any] = {}
        for key, value in entries:
            found.setdefault(str(key), content_of(value))
        return found
    return {ENTRIES: [[key, content_of(value)] for key, value in entries]}


_WIDTH: Final = 100
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NO_TEXTS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_of(content: Any) -> str:
    """A YAML text of a file's content, for reading it again, by people too: what is short stands on one line."""
    found = _laid_out(content)
    return found if isinstance(found, str) else "\n".join(found)


def _laid_out(content: Any) -> str | list[str]:
    """The text of some content on one line, or its lines."""
    if isinstance(content, dict) and content.keys() == {NUMBER}:
        return str(content[NUMBER])
    if isinstance(content, dict):
        entries = content[ENTRIES] if content.keys() == {ENTRIES} else content.items()
        return _map_of([(_key(key), _laid_out(value)) for key, value in entries])
    if not isinstance(content, list):
        return _scalar(content)
    items = [_laid_out(each) for each in content]
    flow = "[" + ", ".join(each for each in items if isinstance(each, str)) + "]"
    if all(isinstance(each, str) for each in items) and (not items or len(flow) <= _WIDTH):
        return flow
    lines: list[str] = []
    for item in items:
        first, *rest = [item] if isinstance(item, str) else item
        lines.append(f"- {first}")
        lines.extend(f"  {line}" for line in rest)
    return lines


def _map_of(pairs: list[tuple[str, str | list[str]]]) -> str | list[str]:
    flow = "{" + ", ".join(f"{key}: {value}" for key, value in pairs if isinstance(value, str)) + "}"
    if all(isinstance(value, str) for _, value in pairs) and (not pairs or len(flow) <= _WIDTH):
        return flow
    lines: list[str] = []
    for key, value in pairs:
        if isinstance(value, str):
            lines.append(f"{key}: {value}")
        else:
            lines.append(f"{key}:")
            lines.extend(f"  {line}" for line in value)
    return lines


def _key(key: Any) -> str:
    plain = isinstance(key, str) and _PLAIN_KEY.fullmatch(key) is not None and key.lower() not in _NO_TEXTS
    return key if plain else _scalar(key)


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
