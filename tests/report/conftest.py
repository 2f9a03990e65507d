"""Findings to report on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyzer.findings import Edit, Finding, Fix, Range, Related


def make(
    path: str = "a.workfile.yaml",
    place: tuple[int, int, int, int] = (1, 1, 1, 4),
    severity: str = "error",
    message: str = "`abc` is wrong; write `abd`.",
    rule: str = "bad-value",
    **rest,
) -> Finding:
    return Finding(path, rule, "document.structure", severity, message, Range(*place), **rest)


@pytest.fixture
def finding() -> Callable[..., Finding]:
    return make


@pytest.fixture
def rich_finding() -> Finding:
    """One with everything: related places, a fix of each kind, a route."""
    place = Range(1, 1, 1, 4)
    return make(
        related=(Related("b c/ä.yaml", Range(3, 2, 3, 5), "declared here"),),
        fixes=(
            Fix("write `abd`", "safe", (Edit("a.workfile.yaml", place, "abd"), Edit("b c/ä.yaml", place, ""))),
            Fix("remove it", "unsafe", (Edit("a.workfile.yaml", place, ""),)),
        ),
        route="steps[0].abc",
    )
