"""Canonical JSON (RFC 8785) and the digests that are made of it.

The bytes are those of the `rfc8785` library, with one extension: a whole number past 2**53, which RFC 8785 cannot
write without loss, stands with all its digits, as the language's whole numbers are exact. Everything that is no I-JSON
(half a character, a number that is not finite) is refused.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, Final

from analyzer.expressions.faults import Fault
from analyzer.expressions.values import MAX_VALUE_NODES, Budget, canonical_json
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False, check_circular=False
).encode

#: A number that the C encoder may write otherwise: a fraction, an exponent, or so long that it may be past 2**53. Where
#: it stands inside a text it is nothing of the kind, and the slower way is taken for nothing.
_UNSURE = re.compile(r"[\[,:]-?\d+(?:[.eE]|(?<=\d{16}))")


class NotCanonical(ValueError):
    """Data that has no canonical JSON; the message says why."""


def canonical_bytes(value: Any) -> bytes:
    """The canonical JSON of plain JSON data. Raises ``NotCanonical``."""
    try:
        if type(value) is dict or type(value) is list:
            text = _encode(value)
            # Keys are sorted by code point here and by UTF-16 there: the same for ASCII.
            if (text.isascii() or _has_ascii_keys(value)) and _UNSURE.search(text) is None:
                return text.encode()
        return _by_library(value)
    except UnicodeEncodeError:
        raise NotCanonical("a text holds half a character (a lone surrogate)") from None
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


def yaml_of(content: Any) -> str:
    """A YAML text (flow style) of a file's content, for reading it again."""
    if isinstance(content, dict):
        if content.keys() == {NUMBER}:
            return str(content[NUMBER])
        if content.keys() == {ENTRIES}:
            pairs = [(_scalar(key), yaml_of(value)) for key, value in content[ENTRIES]]
        else:
            pairs = [(_scalar(key), yaml_of(value)) for key, value in content.items()]
        return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
    if isinstance(content, list):
        return "[" + ", ".join(map(yaml_of, content)) + "]"
    return _scalar(content)


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
