"""The corpus itself is sound: its names, the rules it speaks of, and a case for every rule of a family."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.driver import is_excluded
from tests.conformance.corpus import FOLDER, cases, connectors_of, roots
from tests.conformance.expectations import load_expectations

INFORMATION = {
    "needless-guard",
    "redo-may-hold",
    "undo-may-hold",
    "unknown-never",
    "unused-input",
    "unused-step-result",
    "unused-suppression",
}
FAMILIES = {
    "syntax": (
        "yaml-syntax duplicate-key non-string-key custom-tag merge-key multiple-documents recursive-alias "
        "expression-syntax"
    ),
    "structure": (
        "unknown-key missing-key wrong-kind invalid-value subject-count misplaced-modifier unsupported-version "
        "unsupported-construct literal-required"
    ),
    "reference": (
        "unknown-name unknown-member used-before-bound not-visible duplicate-step shadowed-name reserved-name "
        "unknown-connector unknown-action unknown-trigger unknown-workflow unknown-state "
        "unknown-filter ambiguous-connection unknown-connection call-cycle unused-input unused-step-result"
    ),
    "type": (
        "type-mismatch missing-argument unknown-argument not-boolean not-whole-value never-true always-true "
        "manifest-invalid overlay-widens"
    ),
    "null": "nullable-access nullable-value needless-guard",
    "control": (
        "escalate-unscoped redo-unsafe recovery-unreachable undo-unreachable catch-unreachable unreachable-step "
        "unreachable-state no-route endless-states retry-never-used"
    ),
    "durable": (
        "match-empty match-not-correlated match-uses-own-steps trigger-not-waitable reconcile-incomplete "
        "reconcile-uses-own-result unknown-outcome-unhandled redo-may-hold unknown-never undo-may-hold "
        "reconcile-writes wait-deadline-past recovery-storm"
    ),
    "profile": "profile-unsupported",
    "limit": "limit-exceeded",
    "suppression": "unused-suppression",
}
RULES = {rule for rules in FAMILIES.values() for rule in rules.split()}


def expected_rules(paths: list[Path]) -> set[str]:
    return {expectation.rule for path in paths for expectation in load_expectations(path)}


def test_every_expectation_names_a_rule() -> None:
    unknown = {(path.name, e.rule) for path in cases() for e in load_expectations(path) if e.rule not in RULES}
    assert unknown == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_rule_of_a_family_has_a_case(family: str) -> None:
    assert set(FAMILIES[family].split()) - expected_rules(cases()) == set()


def test_files_under_ok_expect_information_only() -> None:
    quiet = [path for path in cases() if path.is_relative_to(FOLDER / "ok")]
    assert expected_rules(quiet) <= INFORMATION


def test_files_under_err_expect_something() -> None:
    silent = [path.name for path in cases() if path.parent == FOLDER / "err" and not load_expectations(path)]
    assert silent == []


def test_file_names_begin_with_their_family() -> None:
    strange = [
        path.name
        for path in cases()
        if path.parent in (FOLDER / "err", FOLDER / "ok") and path.name.split("-")[0] not in FAMILIES
    ]
    assert strange == []


@pytest.mark.parametrize("root", roots(), ids=lambda root: root.name)
def test_workflow_names_are_unique_under_a_root(root: Path) -> None:
    names: dict[str, Path] = {}
    for path in cases(root):
        text = path.read_bytes().decode("utf-8-sig")
        if is_excluded(str(path)):
            continue  # a copy that the project does not count
        for name in re.findall(r"(?:^|[\r\n])name: ([a-z][a-z0-9_-]*)", text)[:1]:
            assert names.setdefault(name, path) == path
    assert names or not connectors_of(root)


def test_shared_connectors_are_the_same_everywhere() -> None:
    for path in connectors_of(FOLDER / "err"):
        assert (FOLDER / "ok" / "connectors" / path.name).read_bytes() == path.read_bytes()


def test_every_sidecar_has_its_file() -> None:
    lost = [path.name for path in FOLDER.rglob("*.expect") if not path.with_suffix("").is_file()]
    assert lost == []
