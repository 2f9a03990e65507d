"""A short kill campaign; ``campaign.py`` says how to run a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.campaign import campaign

pytestmark = pytest.mark.slow


@pytest.mark.requirement("Q-ACC-02", "Q-DUP-01", "Q-LAD-03", "Q-LIV-04")
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    found = campaign(tmp_path, runs=80, seconds=20, seed=5)
    assert found["runs"] == 80
    assert sum(found["kills"].values()) >= 1
