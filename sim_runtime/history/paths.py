"""Identities and shown paths (language page, section 2, "Step paths", and section 5, "Several executions of one path").

An identity is a step path in which a state has its entry number (``waiting#2.ask``) and a reconcile scope its number
(``charge.(reconcile)#1.probe``). It splits into *segments*: ``each[2].send`` is ``each``, ``[2]``, ``send``, and
``call/step`` is ``call``, ``/``, ``step``. The text of a case is escaped, so that an identity splits in one way only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

#: The segments of an identity; the root run is the empty tuple.
Address: TypeAlias = tuple[str, ...]

CHILD: Final = "/"
UNDO: Final = "(undo)"
RECONCILE: Final = "(reconcile)"

_SEGMENT = re.compile(r"\[\d+\]|/|[^.\[/]+")
_NUMBER = re.compile(r"#\d+")
_CASE = re.compile(r"\(case:([^()]*)\)")
_KEPT: Final = " _-!$&'*+,:;=@?<>|{}^\"`~"


def case_segment(label: str) -> str:
    """The segment of a case of ``wf.switch``."""
    return f"(case:{quote(label, safe=_KEPT).replace('.', '%2E')})"


def join(id_: str, segment: str) -> str:
    """The identity of what stands below ``id_`` under ``segment``."""
    if not id_ or id_[-1] == "/" or segment[0] == "[" or segment == CHILD:
        return id_ + segment
    return f"{id_}.{segment}"


@lru_cache(maxsize=65_536)
def address_of(id_: str) -> Address:
    """The segments of an identity."""
    return tuple(_SEGMENT.findall(id_))


def identity_of(address: Address) -> str:
    """The identity of an address."""
    id_ = ""
    for segment in address:
        id_ = join(id_, segment)
    return id_


@lru_cache(maxsize=65_536)
def shown_path(id_: str) -> str:
    """The step path as people write it: without entry and reconcile numbers, a case's text as it stands, and a child
    run under its call's path."""
    if "#" not in id_ and "%" not in id_ and not id_.endswith("/"):
        return id_
    plain = _NUMBER.sub("", id_)
    plain = _CASE.sub(lambda match: f"(case:{unquote(match[1])})", plain)
    return plain.removesuffix("/")


def is_below(id_: str, above: str) -> bool:
    """Whether ``id_`` is ``above`` or stands below it."""
    if not id_.startswith(above):
        return False
    return len(id_) == len(above) or not above or above[-1] == "/" or id_[len(above)] in ".[/"
