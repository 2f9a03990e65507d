"""For random small Workfiles the analyzer's redo sets are exactly what trying everything finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.flow.compare import actual, answers_of, expected, unsafe_among, unsafe_of
from tests.flow.generator import Generator
from tests.flow.mini import Program, every_node, model
from tests.flow.oracle import TooBig
from tests.flow.text import analysed, faults_are_expressible, write

CHUNK = 1000
LIMIT = 1500


def compare(program: Program, *, redos: int = 1) -> bool:
    """Compare unless trying everything is too much; whether it was done."""
    try:
        wanted = expected(program, LIMIT, redos)
    except TooBig:
        return False
    assert actual(program) == wanted
    assert unsafe_of(model(program)) == unsafe_among(wanted, program)
    return True


def compare_many(programs: list[Program], *, redos: int = 1) -> None:
    done = sum(compare(program, redos=redos) for program in programs)
    assert done > len(programs) * 0.8, "most programs must be small enough, or the test says little"


def test_redo_sets_are_exact() -> None:
    compare_many([Generator(seed).program() for seed in range(800)])


def test_what_stays_over_a_redo_counts() -> None:
    compare_many([Generator(seed).standing() for seed in range(150)])


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(1, 9))
def test_redo_sets_of_many_workfiles_are_exact(chunk: int) -> None:
    compare_many([Generator(seed).program() for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK)])


@pytest.mark.slow
@pytest.mark.parametrize("redos", [1, 2])
def test_what_stays_over_several_redos_counts(redos: int) -> None:
    start = 10_000 * redos
    compare_many([Generator(seed).standing() for seed in range(start, start + 500)], redos=redos)


@given(st.randoms(use_true_random=False))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_redo_sets_hold_under_shrinking(random: object) -> None:
    generator = Generator(0)
    generator.random = random  # type: ignore[assignment]
    compare(generator.program())


def test_the_generator_reaches_every_kind_of_step_and_policy() -> None:
    nodes = [node for seed in range(800) for node in every_node(Generator(seed).program())]
    kinds = {"act", "let", "wait", "stop", "fail", "group", "if", "parallel", "each", "wait_for", "call"}
    assert {node.kind for node in nodes} == kinds
    assert {node.on_fail for node in nodes} == {"fail", "continue", "abort"}
    assert {(node.redo, node.then) for node in nodes if node.redo} == {
        (redo, then) for redo in ("this_step", "this_and_after", "whole_group") for then in ("hold", "fail", "escalate")
    }
    assert any(node.probes for node in nodes)


@pytest.mark.parametrize("start", range(0, 240, 60))
def test_files_on_disk_give_the_same_redo_sets(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 60):
        program = Generator(seed).program()
        if not faults_are_expressible(program):
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert answers_of(analysed(write(program, folder))) == actual(program), seed
