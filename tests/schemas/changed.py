"""Files that are sound, with a thing or two in them changed: what somebody may write who knows the language by half."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.5, "", " ", "x", "1", "2h", "0s", "a.b", "string", "reissue"),
    *("{{ x }}", "2026-01-01T00:00:00Z", [], {}, [None], [1], ["x"], {"x": 1}, {"a": "string"}, {"succeed": {}}),
)
KEYS: Final = (
    *("zzz", "x?", "a.b", "succeed", "where", "latency", "connection", "recovery", "retry", "catch", "undo", "when"),
    *("timeout", "as", "description", "version", "type", "properties", "default", "on_unknown", "wf.let"),
)


def changed(document: Any, random: Random) -> Any:
    """A copy of a document of JSON values in which one or two things are others, gone, new, or one level off."""
    result = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2))):
        places = list(_places(result))
        if not places:
            break
        parent, key = random.choice(places)
        other, its_key = random.choice(places)
        _change(parent, key, copy.deepcopy(other[its_key]), random)
    return result


def _change(parent: Any, key: Any, other: Any, random: Random) -> None:
    value = parent[key]
    match random.randrange(7):
        case 0 | 1:
            parent[key] = copy.deepcopy(random.choice(VALUES))
        case 2:
            parent[key] = [value]
        case 3:
            parent[key] = value[0] if isinstance(value, list) and value else other
        case 4:
            del parent[key]
        case 5 if isinstance(value, dict):
            value[random.choice(KEYS)] = copy.deepcopy(random.choice(VALUES))
        case _:
            parent[key] = other


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in a document but itself: what holds it, and at which key or index."""
    keys = document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in keys:
        yield document, key
        yield from _places(document[key])


def text_of(document: Any) -> str:
    """A document as YAML: JSON is that too."""
    return json.dumps(document, ensure_ascii=False)
