"""A rule begins with one command, and what it writes is a rule whose tests fail until it is there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from analyzer.rules import scaffold
from analyzer.rules.base import HEADINGS, Rule
from analyzer.rules.docs import page
from tests.conformance.expectations import parse_expectations


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "analyzer" / "rules").mkdir(parents=True)
    (tmp_path / "tests" / "conformance" / "err").mkdir(parents=True)
    return tmp_path


def _loaded(path: Path) -> Rule:
    spec = importlib.util.spec_from_file_location("begun", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RULE


def test_it_writes_a_rule_with_its_page_and_a_case(root: Path) -> None:
    module, case = scaffold.begin("slow-wait", "document.durable", "warning", root)
    rule = _loaded(module)
    assert (rule.name, rule.code, rule.severity) == ("slow-wait", "document.durable", "warning")
    assert module.name == "slow_wait.py"
    wanted = [f"## {each}" for each in HEADINGS if each != "Limits"]
    assert [line for line in page(rule).splitlines() if line.startswith("## ")] == wanted
    expected = parse_expectations(case.read_text(encoding="utf-8"))
    assert [each.rule for each in expected] == ["slow-wait"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("SlowWait", "document.durable", "not a name of a rule"),
        ("redo-unsafe", "document.control", "already"),
        ("slow-wait", "document.durabel", "document.durable"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    name: str, code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scaffold.main([name, "--code", code]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_nothing_is_overwritten(root: Path) -> None:
    scaffold.begin("slow-wait", "document.durable", "warning", root)
    with pytest.raises(ValueError, match="is there already"):
        scaffold.begin("slow-wait", "document.durable", "warning", root)
