"""Every rule's page is complete, and its examples give what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.rules import docs
from analyzer.rules.base import HEADINGS, Rule
from analyzer.rules.registry import all_rules
from tests.rules.examples import ROOT, Example, check_folder, examples, sections, shown, write_example

RULES = sorted(all_rules().values(), key=lambda rule: rule.name)


def named(section: str) -> list[object]:
    return [pytest.param(example, id=example.rule) for example in examples(section)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_page_has_its_sections_in_order(rule: Rule) -> None:
    found = sections(rule.documentation)
    wanted = [heading for heading in HEADINGS if heading != "Limits" or heading in found]
    assert list(found) == wanted
    assert all(text.strip() for text in found.values())
    assert rule.documentation.endswith("\n")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_summary_is_one_short_sentence(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z`].{10,110}\.", rule.summary), rule.summary


@pytest.mark.parametrize("example", named("Bad"))
def test_the_bad_example_gives_exactly_its_rule(example: Example, tmp_path: Path) -> None:
    write_example(example, tmp_path)
    found = check_folder(tmp_path)
    others = [each for each in found if each.rule != example.rule and each.severity != "information"]
    assert any(each.rule == example.rule for each in found), shown(found)
    assert not others, shown(others)


@pytest.mark.parametrize("example", named("Good"))
def test_the_good_example_is_sound(example: Example, tmp_path: Path) -> None:
    write_example(example, tmp_path)
    found = [each for each in check_folder(tmp_path) if each.rule == example.rule or each.severity != "information"]
    assert not found, shown(found)


def test_the_pages_are_fresh() -> None:
    assert docs.stale(ROOT / "docs" / "rules") == []


def test_pages_are_written_checked_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rules"
    assert docs.main([str(folder), "--check"]) == 1
    assert docs.main([str(folder)]) == 0
    assert docs.main([str(folder), "--check"]) == 0
    (folder / "redo-unsafe.md").write_text("old", encoding="utf-8")
    (folder / "gone.md").write_text("of no rule", encoding="utf-8")
    capsys.readouterr()
    assert docs.main([str(folder), "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "gone.md is of no rule: remove it",
        "redo-unsafe.md is stale: write the pages again",
    ]
    assert docs.main([str(folder)]) == 0
    assert docs.stale(folder) == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = docs.pages()
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert target in pages, f"{name} links to {target}"
