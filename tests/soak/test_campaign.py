"""Short kill campaigns; ``campaign.py`` and ``effects.py`` say how to run long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.campaign import campaign
from tests.soak.effects import effects

pytestmark = pytest.mark.slow


@pytest.mark.requirement("Q-ACC-02", "Q-DUP-01", "Q-LAD-03", "Q-LIV-04")
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    found = campaign(tmp_path, runs=80, seconds=20, seed=5)
    assert found["runs"] == 80
    assert sum(found["kills"].values()) >= 1


@pytest.mark.requirement("Q-DUP-01", "R-REV-03")
def test_a_ledger_outside_finds_each_effect_once(tmp_path: Path) -> None:
    found = effects(tmp_path, runs=60, seconds=20, seed=3)
    assert found["runs"] == 60
    assert sum(found["kills"].values()) >= 1
