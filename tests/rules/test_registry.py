"""The registry against the rule tables and against what the code reports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.rules import registry
from tests.rules.examples import ROOT

TABLE = """
syntax E yaml-syntax duplicate-key non-string-key custom-tag merge-key multiple-documents recursive-alias
syntax E expression-syntax
structure E unknown-key missing-key wrong-kind invalid-value subject-count misplaced-modifier
structure E unsupported-version unsupported-construct literal-required
reference E unknown-name unknown-member used-before-bound not-visible duplicate-step shadowed-name reserved-name
reference E duplicate-workflow
reference E unknown-connector unknown-action unknown-trigger unknown-workflow unknown-state unknown-filter
reference E ambiguous-connection unknown-connection call-cycle
reference I unused-input unused-step-result
type E type-mismatch missing-argument unknown-argument not-boolean not-whole-value manifest-invalid overlay-widens
type W never-true always-true
null E nullable-access nullable-value
null I needless-guard
control E escalate-unscoped redo-unsafe
control W recovery-unreachable undo-unreachable catch-unreachable unreachable-step unreachable-state no-route
control W endless-states retry-never-used
durable E match-empty match-not-correlated match-uses-own-steps trigger-not-waitable reconcile-incomplete
durable E reconcile-uses-own-result
durable W unknown-outcome-unhandled reconcile-writes wait-deadline-past recovery-storm
durable I redo-may-hold unknown-never undo-may-hold
profile E profile-unsupported
scenario E scenario-invalid answer-invalid
scenario W answer-breaks-output event-unmatched crash-unmatched
limit E limit-exceeded
suppression I unused-suppression
replay E history-diverges history-unusable
"""
SEVERITIES = {"E": "error", "W": "warning", "I": "information"}
EXPECTED = {
    name: (f"document.{family}", SEVERITIES[letter])
    for family, letter, *names in (line.split() for line in TABLE.strip().splitlines())
    for name in names
}
#: The rules of these families are found by the simulator's package, which brings their modules.
OF_THE_SIMULATOR = ("document.scenario", "document.replay")
TAGS = {"unused", "unreachable"}
PACKAGES = ("analyzer", "sim_runtime", "lsp_server", "workfile_cli")


def test_every_rule_of_the_tables_is_there() -> None:
    wanted = {name for name, (code, _) in EXPECTED.items() if code not in OF_THE_SIMULATOR}
    assert wanted - set(registry.names()) == set()


def test_codes_and_severities_are_those_of_the_tables() -> None:
    found = {name: (rule.code, rule.severity) for name, rule in registry.all_rules().items()}
    assert {name: found[name] for name in found if name in EXPECTED} == {
        name: EXPECTED[name] for name in found if name in EXPECTED
    }


def test_rules_beyond_the_tables_are_information() -> None:
    beyond = {rule.name: rule.severity for rule in registry.all_rules().values() if rule.name not in EXPECTED}
    assert set(beyond.values()) <= {"information"}, beyond


def test_names_are_kebab_case_and_sorted() -> None:
    names = registry.names()
    assert list(names) == sorted(set(names))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in names)
    assert list(registry.all_rules()) == list(names)


def test_tags_are_those_that_editors_know() -> None:
    assert all(set(rule.tags) <= TAGS for rule in registry.all_rules().values())


def test_families_hold_every_rule_once() -> None:
    families = registry.families()
    assert list(families) == sorted(families)
    assert sorted(name for members in families.values() for name in members) == list(registry.names())


def test_a_name_of_no_rule_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        registry.rule("no-such-rule")
    with pytest.raises(KeyError):
        registry.rule("base")


def test_a_rule_is_loaded_alone() -> None:
    code = (
        "import sys; from analyzer.rules import registry; registry.names(); registry.rule('redo-unsafe');"
        "print(*sorted(name for name in sys.modules if name.startswith('analyzer.rules.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["analyzer.rules.base", "analyzer.rules.redo_unsafe", "analyzer.rules.registry"]


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "rules" not in path.relative_to(ROOT).parts:
                yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_whatever_the_code_reports_is_a_rule() -> None:
    strangers = [
        f"{path.relative_to(ROOT)}:{call.lineno}: {first.value}"
        for path, tree in modules()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and _reports(call.func) and call.args
        for first in [call.args[0]]
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value not in registry.names()
    ]
    assert strangers == []


def _reports(function: ast.expr) -> bool:
    """``….report("rule", …)`` and ``Problem("rule", …)``."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("report", "Problem", "SyntaxProblem")


def test_every_rule_is_reported_by_some_code() -> None:
    named = {
        node.value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(registry.names()) - named == set()
