"""What a rule is: its metadata and its page of documentation (rules page)."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.findings import Severity

HEADINGS = ("What it finds", "Why it matters", "Bad", "Good", "How to fix", "Options", "Limits")
"""The sections of a rule's documentation, in this order; ``Limits`` may be left out."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    ``name`` is kebab-case and stable, ``code`` the family (``document.control``), ``summary`` one line without
    markup other than backticks, ``documentation`` markdown with the sections of ``HEADINGS``. ``fixable`` says that
    some of its findings come with a fix. ``tags`` are ``unused`` or ``unreachable``: editors fade such code.
    """

    name: str
    code: str
    severity: Severity
    summary: str
    documentation: str
    fixable: bool = False
    tags: tuple[str, ...] = ()
