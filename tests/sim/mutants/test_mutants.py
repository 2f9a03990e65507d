"""The list of mutants fits the code as it is: else the mutation run would prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.mutants.run import PACKAGE, ROOT, Mutant, changed, hinted, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: f"{each.number}-{Path(each.file).stem}")
def test_a_mutant_is_one_change_of_the_code_as_it_is(mutant: Mutant) -> None:
    assert mutant.text.count(mutant.old) == 1, "its old text must be there once: bring it up to date"
    assert changed(mutant), "it changes no function"
    assert mutant.breaks
    assert mutant.tests
    assert all(path.exists() for path in hinted(mutant))


def test_the_list_is_long_and_goes_over_all_of_the_core() -> None:
    assert len(MUTANTS) >= 60
    changed = {each.file for each in MUTANTS}
    core = {f"core/{path.name}" for path in (ROOT / PACKAGE / "core").glob("*.py")}
    data = {"core/__init__.py", "core/definition.py", "core/frames.py", "core/inputs.py", "core/programs.py"}
    assert core - changed <= data | {"core/places.py", "core/prior.py", "core/evolve_prior.py"}


def test_mutants_differ() -> None:
    assert len({(each.file, each.old, each.new) for each in MUTANTS}) == len(MUTANTS)
