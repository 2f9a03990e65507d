"""Null safety and static types against every execution of thousands of small Workfiles.

Sound: what faults on null in some execution is reported, static types contain the values at run time, `may_fault` false
means no fault, and a guard that is called needless never meets null. Precise: nothing is reported that cannot be null
with every guard free to go either way.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions import narrowing, scope, typing
from analyzer.expressions.ast import Member
from analyzer.expressions.reports import Reports
from analyzer.model import constructs
from analyzer.model import typing as model
from analyzer.model.entering import Entries
from analyzer.model.failing import Escapes
from analyzer.model.nodes import StepList
from tests.typing.executor import TooManyExecutions
from tests.typing.generator import Generator
from tests.typing.judge import faults_of
from tests.typing.machines import MachineGenerator
from tests.typing.test_cases import TRIED

CHUNK = 250
SMALL = 18  # chunks of Workfiles of up to about 6 steps
LARGE = 2  # of up to about 9
MACHINES = 6  # of state machines
MUTANT_SEEDS = 400


def wrong(seed: int | random.Random, size: int, kind: type[Generator] = Generator) -> str:
    """What the analyzer gets wrong about one Workfile, with its text; empty when nothing."""
    text = kind(seed, size).workfile()
    try:
        found = faults_of(text)
    except TooManyExecutions:
        return ""
    return "\n".join([*found, text]) if found else ""


@pytest.mark.parametrize("chunk", range(SMALL))
def test_small_workfiles(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        assert not (answer := wrong(seed, 6)), f"seed {seed}, size 6\n{answer}"


@pytest.mark.parametrize("chunk", range(LARGE))
def test_larger_workfiles(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        assert not (answer := wrong(seed, 9)), f"seed {seed}, size 9\n{answer}"


@pytest.mark.parametrize("chunk", range(MACHINES))
def test_state_machines(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        assert not (answer := wrong(seed, 6, MachineGenerator)), f"seed {seed}, size 6\n{answer}"


@given(st.randoms(use_true_random=False), st.integers(2, 7), st.sampled_from((Generator, MachineGenerator)))
def test_any_workfile(choices: random.Random, size: int, kind: type[Generator]) -> None:
    assert not (answer := wrong(choices, size, kind)), answer


def test_few_workfiles_have_too_many_executions_to_try() -> None:
    skipped = 0
    for seed in range(CHUNK):
        try:
            faults_of(Generator(seed, 6).workfile())
        except TooManyExecutions:
            skipped += 1
    assert skipped < CHUNK // 20


# -- that the oracle sees a fault of the analyzer


def first_answer() -> str:
    """The first thing that is wrong, over the cases and some seeds."""
    for path in TRIED:
        if found := faults_of(path.read_text(encoding="utf-8")):
            return found[0]
    tried = ((seed, kind) for seed in range(MUTANT_SEEDS) for kind in (Generator, MachineGenerator))
    return next(filter(None, (wrong(seed, 6, kind).partition("\n")[0] for seed, kind in tried)), "")


lead = Entries.lead


def last_failure(escapes: Escapes, steps: StepList) -> Any:
    """What is known at the last failure that leaves a list."""
    failing = [step for step in steps.steps if escapes.from_step(step)]
    return escapes._known[failing[-1]] if failing else None


Patch = tuple[object, str, Any]
#: What is broken, and how.
MUTANTS: dict[str, list[Patch]] = {
    "no failure leaves a step": [(Escapes, "past_handlers", lambda self, step: False)],
    "facts outlive their branch": [
        (module, "join_facts", lambda a, b: a if a is not None else b) for module in (narrowing, constructs, model)
    ],
    "an optional field is never null": [
        (module, "field_type", lambda field, name: field.type) for module in (scope, typing)
    ],
    "what is dead is not known": [(Reports, "dead", property(lambda self: 0, lambda self, value: None))],
    "tags tell nothing": [(narrowing, "_together", lambda facts, root, parent: facts)],
    "a list's end tells nothing of what it binds": [(constructs, "settled", lambda names, facts: names)],
    "only the last failure of a list counts": [(Escapes, "known", last_failure)],
    "the first way into a state counts": [
        (Entries, "lead", lambda self, state, target, facts: target in self._facts or lead(self, state, target, facts))
    ],
    "every form has each member": [(Reports, "forms_with", lambda self, name, target, *_: target.options[:1])],
    "any test tells the first form": [(narrowing, "_may_have", lambda form, *_: "label" in form.fields)],
    "a chain goes on after parentheses": [(typing, "same_chain", lambda expr: isinstance(expr, Member))],
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_fault_of_the_analyzer_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, replacement in MUTANTS[mutant]:
        monkeypatch.setattr(owner, name, replacement)
    assert first_answer()
