"""Faults: the definite, non-retryable failures that evaluating an expression can end in (language page, section 4)."""

from __future__ import annotations

from typing import Final

NULL_MEMBER: Final = "fault.null_member"
MISSING_MEMBER: Final = "fault.missing_member"
KIND: Final = "fault.kind"
DIVISION: Final = "fault.division"
RANGE: Final = "fault.range"
CONVERSION: Final = "fault.conversion"
LIMIT: Final = "fault.limit"

FAULT_CODES: tuple[str, ...] = (NULL_MEMBER, MISSING_MEMBER, KIND, DIVISION, RANGE, CONVERSION, LIMIT)


class Fault(Exception):
    """An expression has no value: ``code`` is one of ``FAULT_CODES``, ``message`` is for people.

    ``start`` and ``end`` are the place in the decoded scalar (-1 while no expression is known). ``marked`` is true when
    the fault came from a placeholder of a dry run, so that a real run might not have it (section 7).
    """

    def __init__(self, code: str, message: str, start: int = -1, end: int = -1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.marked = False
