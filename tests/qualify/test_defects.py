"""Hosts with the known defects of durable hosts: each is started, killed, and caught.

Every host here is a real process that really dies; see ``fake_host.py`` for the faults.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sim_runtime.qualify.bundle import Row
from sim_runtime.qualify.harness import Result
from tests.qualify.helpers import QUICK, judged

pytestmark = pytest.mark.slow

A, B, C, D, E = (
    "kill-after-accept",
    "kill-during-execution",
    "duplicate-delivery",
    "bound-is-derived",
    "poison-exhaustion",
)


def only(result: Result) -> Row:
    assert len(result.rows) == 1
    return result.rows[0]


def outcome(folder: Path, fault: str, row: str, *flags: str, role: str = "all") -> tuple[str, str]:
    found = only(judged(folder, fault, *flags, rows=(row,), role=role))
    return found.result, found.detail or ""


# Recovery.


@pytest.mark.requirement("Q-LIV-04")
def test_a_lease_that_is_never_renewed_is_found_by_its_bound(tmp_path: Path) -> None:
    """Detection takes the whole duration cap, far over the bound that is declared."""
    result, detail = outcome(tmp_path, "", B, "--lease", "60000", "--bound", "900")
    assert (result, "was not resumed" in detail) == ("executed-fail", True)


@pytest.mark.requirement("Q-ACC-02", "Q-LIV-04")
def test_a_wedged_sweeper_passes_on_paper_and_fails_where_something_dies(tmp_path: Path) -> None:
    result = judged(tmp_path, "wedged", "--bound", "900", rows=(A, B, D))
    assert [row.result for row in result.rows] == ["executed-fail", "executed-fail", "executed-pass"]
    assert result.deaths == 2
    assert result.earned is None


@pytest.mark.requirement("Q-LAD-03")
def test_a_silent_recovery_is_work_that_was_seen_completed_and_not_resumed(tmp_path: Path) -> None:
    result, detail = outcome(tmp_path, "silent", B, "--bound", "900")
    assert (result, "seen as completed" in detail) == ("executed-fail", True)


@pytest.mark.requirement("Q-LAD-04")
def test_a_late_resumption_inside_the_bound_passes(tmp_path: Path) -> None:
    """One reading at the host's return would find nothing."""
    row = only(judged(tmp_path, "", "--first-sweep", "900", "--bound", "8000", rows=(A,)))
    assert row.result == "executed-pass"
    assert row.evidence is not None
    assert 900 <= row.evidence["recovery"]["observedMs"] < 8000


@pytest.mark.requirement("Q-LAD-04")
def test_the_time_to_the_end_of_the_run_is_not_counted(tmp_path: Path) -> None:
    row = only(judged(tmp_path, "", "--work", "5000", "--bound", "4500", rows=(B,)))
    assert row.result == "executed-pass"
    assert row.evidence is not None
    assert row.evidence["recovery"]["observedMs"] < 4500


def test_answers_that_are_lost_are_no_verdict(tmp_path: Path) -> None:
    result, _ = outcome(tmp_path, "flaky", B)
    assert result == "executed-pass"


@pytest.mark.requirement("Q-LAD-06")
def test_a_log_that_cannot_be_read_is_blocked(tmp_path: Path) -> None:
    """The stream of events is another route; read as JSON it would be an empty log."""
    result = judged(tmp_path, "streams", "--bound", "600", rows=(A, B, E))
    assert [row.result for row in result.rows] == ["blocked", "blocked", "blocked"]
    assert all("cannot be read" in (row.detail or "") for row in result.rows)


@pytest.mark.requirement("Q-LAD-06")
def test_a_host_that_stays_down_is_blocked_on_a_supervisor(tmp_path: Path) -> None:
    limits = replace(QUICK, back=1.0)
    row = judged(tmp_path, "no-restart", rows=(A,), role="supervise", limits=limits).rows[0]
    assert (row.result, "supervisor" in (row.detail or "")) == ("blocked", True)


@pytest.mark.requirement("Q-LIV-04", "Q-LAD-06")
def test_a_bound_over_the_ceiling_is_blocked_and_not_failed(tmp_path: Path) -> None:
    limits = replace(QUICK, ceiling=0.6)
    result = judged(tmp_path, "wedged", "--bound", "750000", rows=(A, B), limits=limits)
    assert [row.result for row in result.rows] == ["blocked", "blocked"]
    assert all("raise the ceiling" in (row.detail or "") for row in result.rows)


@pytest.mark.requirement("Q-EVD-03", "Q-LIV-04")
def test_a_recovery_over_its_bound_gives_no_rung(tmp_path: Path) -> None:
    """The boot takes longer than the bound; the watch begins only when the host answers again."""
    result = judged(tmp_path, "", "--boot", "700", "--bound", "650", rows=(A, B, D))
    assert [row.result for row in result.rows] == ["executed-pass"] * 3
    assert result.earned is None
    assert any("outside the 650 ms" in each for each in result.remarks)


def test_a_kill_before_the_claim_is_remarked_on(tmp_path: Path) -> None:
    """No arithmetic refuses it: the row passes inside the longer bound of the class that it names."""
    result = judged(tmp_path, "kills-before-claim", "--bound", "60000", "--held-bound", "4000", rows=(B, D))
    assert [(row.result, row.detail) for row in result.rows] == [("executed-pass", None)] * 2
    assert any("before the work was claimed" in each for each in result.remarks)
    honest = judged(tmp_path / "..", "", "--bound", "60000", rows=(B, D))
    assert not any("before the work was claimed" in each for each in honest.remarks)


def test_a_kill_without_a_class_is_no_evidence(tmp_path: Path) -> None:
    result = judged(tmp_path, "no-class", rows=(A,))
    assert (result.rows[0].result, result.rows[0].evidence) == ("executed-pass", None)
    assert any("no recovery class" in each for each in result.remarks)


# Deaths.


@pytest.mark.requirement("Q-LAD-02", "Q-LAD-03")
@pytest.mark.parametrize(
    ("fault", "role", "told"),
    [
        ("in-process", "all", "no process of the host died"),
        ("orderly-exit", "all", "ended with status 3"),
        ("launcher", "launcher", "the wrong one died"),
    ],
)
def test_what_is_no_real_death_is_no_pass(tmp_path: Path, fault: str, role: str, told: str) -> None:
    row = only(judged(tmp_path, fault, rows=(A,), role=role))
    assert (row.result, told in (row.detail or "")) == ("executed-fail", True)


@pytest.mark.requirement("Q-LAD-02")
def test_a_simulated_crash_during_execution_is_no_pass(tmp_path: Path) -> None:
    result = judged(tmp_path, "in-process", rows=(B,))
    assert (result.rows[0].result, result.deaths) == ("executed-fail", 0)


# Duplicate delivery.


@pytest.mark.requirement("Q-DUP-01")
@pytest.mark.parametrize("fault", ["loser-fires", "fires-twice", "no-heartbeat"])
def test_an_effect_that_arrives_twice_is_counted_where_it_lands(tmp_path: Path, fault: str) -> None:
    """The host's own ledger is keyed by identity and shows one entry each time."""
    result, detail = outcome(tmp_path, fault, C)
    assert (result, "arrived 2 times" in detail) == ("executed-fail", True)


@pytest.mark.parametrize(("fault", "told"), [("ends-twice", "a run ends once"), ("fails-after-end", "after the end")])
def test_a_second_delivery_that_ends_the_run_again(tmp_path: Path, fault: str, told: str) -> None:
    result, detail = outcome(tmp_path, fault, C)
    assert (result, told in detail) == ("executed-fail", True)


@pytest.mark.requirement("Q-LAD-06")
@pytest.mark.parametrize(
    ("fault", "told"),
    [("released", "gave it up"), ("refuses-effect", "allowed to call")],
)
def test_an_effect_that_never_arrives_is_blocked_with_its_cause(tmp_path: Path, fault: str, told: str) -> None:
    result, detail = outcome(tmp_path, fault, C)
    assert (result, told in detail) == ("blocked", True)


def test_each_exercise_is_an_effect_of_its_own(tmp_path: Path) -> None:
    """A host that has seen the URL before rightly does nothing; ours is new each time."""
    for _ in range(2):
        assert outcome(tmp_path, "", C)[0] == "executed-pass"


def test_a_host_that_takes_two_exercises_for_one_effect_is_blocked(tmp_path: Path) -> None:
    assert outcome(tmp_path, "coarse-identity", C)[0] == "executed-pass"
    result, detail = outcome(tmp_path, "coarse-identity", C)
    assert (result, "deduplicated-of:" in detail) == ("blocked", True)


def test_a_relaxation_that_shows_is_recorded_although_it_is_not_declared(tmp_path: Path) -> None:
    result = judged(tmp_path, "", rows=(C,))
    assert [each.obligation for each in result.host.relaxations] == ["effects.egress-guard"]
    assert "observed" in result.host.relaxations[0].reason
    declared = judged(tmp_path, "", "--declare-relaxation", rows=(C,))
    assert [each.reason for each in declared.host.relaxations] == ["exercises on loopback"]


# Bounds and attempts.


@pytest.mark.requirement("Q-LIV-02", "Q-LIV-03")
@pytest.mark.parametrize(
    ("fault", "result", "told"),
    [
        ("wrong-sum", "executed-fail", "add up to"),
        ("aggregate", "executed-fail", "1 to 16 terms"),
        ("no-bounds", "blocked", "serves no bounds"),
    ],
)
def test_a_bound_that_does_not_follow(tmp_path: Path, fault: str, result: str, told: str) -> None:
    found, detail = outcome(tmp_path, fault, D)
    assert (found, told in detail) == (result, True)


@pytest.mark.requirement("Q-DUP-02")
@pytest.mark.parametrize(
    ("fault", "told"), [("endless-attempts", "not at an end"), ("retries-after-end", "still being tried")]
)
def test_work_that_is_tried_for_ever(tmp_path: Path, fault: str, told: str) -> None:
    result, detail = outcome(tmp_path, fault, E)
    assert (result, told in detail) == ("executed-fail", True)


def test_an_empty_log_shows_no_bound(tmp_path: Path) -> None:
    """Nought attempts before and nought after would be equal."""
    result, detail = outcome(tmp_path, "empty-log", E)
    assert (result, "no node.failed" in detail) == ("blocked", True)


# What is not offered.


@pytest.mark.requirement("Q-LAD-06")
@pytest.mark.parametrize(("fault", "flags"), [("wrong-prefix", ()), ("", ("--no-seam",))])
def test_without_a_seam_the_rows_do_not_apply_and_nothing_is_earned(
    tmp_path: Path, fault: str, flags: tuple[str, ...]
) -> None:
    result = judged(tmp_path, fault, *flags)
    assert [row.result for row in result.rows] == ["inapplicable"] * 4 + ["executed-pass"]
    assert all("no durability seam at /host/durability/kill" in (row.detail or "") for row in result.rows[:4])
    assert not result.passed


def test_without_fixtures_there_is_no_work(tmp_path: Path) -> None:
    result = judged(tmp_path, "", "--no-fixtures", rows=(A, B, E))
    assert [row.result for row in result.rows] == ["inapplicable"] * 3
