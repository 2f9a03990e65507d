"""Each offered fix, applied alone: the file still reads, the finding is gone, and nothing else has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from analyzer.driver import Options, check_files
from analyzer.findings import Finding, Fix
from analyzer.fixes import apply_once
from analyzer.rules.registry import all_rules
from tests.conformance.corpus import roots
from tests.rules.examples import SINGLE, Example, check_folder, examples, write_example

BOM = "\ufeff"
HEAD = 'workfile: "1.0"\nname: case\n'

#: Fixes that no example and no file of the corpus offers.
CASES = {
    "always-true": (
        f"{HEAD}steps:\n  - ask:\n      wf.wait_for: messaging.approval\n"
        "      match: { request_id: r }\n      timeout: 1h\n"
        "result: \"{{ ask.status != 'recieved' }}\"\n"
    ),
    "subject-count": f"{HEAD}steps:\n  - both:\n      group:\n        - pause: {{ wf.wait: 1m }}\n",
    "reconcile-incomplete": (
        f"{HEAD}steps:\n  - pay:\n      payments.charge: {{ amount: 5, customer: c-1 }}\n      on_unknown: reconcile\n"
    ),
    "needless-guard": f'{HEAD}inputs: {{ who: {{ name: string }} }}\nsteps: []\nresult: "{{{{ inputs.who?.name }}}}"\n',
    "unknown-never": (
        f"{HEAD}steps:\n  - list: {{ directory.list_accounts: {{ system: a }}, on_unknown: fail, timeout: 5s }}\n"
        'result: "{{ list.accounts }}"\n'
    ),
    "unknown-outcome-unhandled": (
        f"{HEAD}recovery: {{ stop_after: {{ failures: 1, within: 1h }}, then: hold }}\nsteps:\n"
        '  - tell: { messaging.post: { channel: "#a", text: b } }\n'
    ),
}
#: Repairs whose arguments are left to the author, so that they are never taken for an answer.
SKELETONS = {"reconcile-incomplete"}
MANIFEST = "connector: lamp\nactions:\n  switch:\n    effect: write\n    inputs: { on: boolean }\n"
WAITING = f"{HEAD}steps:\n  - a: {{ wf.wait: 1m }}\n"
SCENARIO = "workfile: w.workfile.yaml\nexpct: { status: succeeded }\n"


@cache
def corpus() -> tuple[Finding, ...]:
    """The findings of the corpus."""
    return tuple(found for root in roots() for found in check_folder(root))


def lines_of(text: str) -> list[int]:
    """Where each line begins; only LF, CRLF and CR end one."""
    return [0, *(found.end() for found in re.finditer("\r\n|\r|\n", text))]


def kept(text: str, fix: Fix) -> list[str]:
    """The parts of a text that a fix leaves alone, in order."""
    body = text.removeprefix(BOM)
    starts = lines_of(body)
    parts: list[str] = []
    end = 0
    for edit in sorted(fix.edits, key=lambda edit: edit.range):
        place = edit.range
        first = starts[place.start_line - 1] + place.start_column - 1
        assert first >= end, "the edits of a fix do not overlap"
        parts.append(body[end:first])
        end = starts[place.end_line - 1] + place.end_column - 1
    parts.append(body[end:])
    parts[0] = text[: len(text) - len(body)] + parts[0]
    return parts


def wrong_with(finding: Finding, fix: Fix, text: str, before: list[Finding]) -> Iterator[str]:
    """What is wrong with a fix, in words."""
    if {edit.path for edit in fix.edits} != {finding.path}:
        yield "it edits another file"
        return
    changed, applied = apply_once({finding.path: text}, [replace(finding, fixes=(fix,))], unsafe=True)
    if applied != 1 or finding.path not in changed:
        yield "it changes nothing"
        return
    after = changed[finding.path]
    pattern = "(?s)" + ".*?".join(map(re.escape, kept(text, fix)))
    if re.fullmatch(pattern, after) is None:
        yield "it changes what is outside its edits"
    if "\r\n" in text and re.search("(?<!\r)\n", after) and not re.search("(?<!\r)\n", text):
        yield "its line ends are not those of the file"
    found = check_files([finding.path], Options(cache=False, jobs=1), {finding.path: after}).findings
    if count(found, "yaml-syntax") > count(before, "yaml-syntax"):
        yield "the file does not read any more"
    for rule in sorted({each.rule for each in found if each.severity == "error" and each.path == finding.path}):
        left = rule == "missing-argument" and finding.rule in SKELETONS
        if count(found, rule) > count(before, rule) and not left:
            yield f"it brings another error, {rule}"
    same = [each for each in found if (each.rule, each.message, each.route) == key(finding)]
    if len(same) >= sum(1 for each in before if key(each) == key(finding)):
        yield "the finding is still there"


def key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.message, finding.route


def count(findings: list[Finding], rule: str) -> int:
    return sum(1 for each in findings if each.rule == rule)


def faults(findings: list[Finding]) -> list[str]:
    """What is wrong with the fixes of these findings; one alone never leads to another error."""
    problems: list[str] = []
    for finding in findings:
        text = Path(finding.path).read_bytes().decode("utf-8")
        before = [each for each in findings if each.path == finding.path]
        for fix in finding.fixes:
            place = f"{Path(finding.path).name}:{finding.range.start_line} {finding.rule}: {fix.title}"
            problems.extend(f"{place}: {wrong}" for wrong in wrong_with(finding, fix, text, before))
    return problems


@pytest.mark.slow
def test_the_fixes_of_the_corpus() -> None:
    found = list(corpus())
    assert sum(1 for each in found if each.fixes) > 50
    assert faults(found) == []


@pytest.mark.parametrize(
    ("end", "bom"), [("\n", ""), ("\r\n", ""), ("\r\n", BOM), ("\r", "")], ids=["lf", "crlf", "bom", "cr"]
)
def test_the_fixes_of_the_examples(end: str, bom: str, tmp_path: Path) -> None:
    problems: list[str] = []
    fixable = [example for example in examples("Bad") if all_rules()[example.rule].fixable]
    cases = [Example(rule, "Bad", ((SINGLE, text),)) for rule, text in CASES.items()]
    cases.append(Example("manifest-invalid", "Bad", (("connectors/lamp.connector.yaml", MANIFEST),)))
    cases.append(Example("scenario-invalid", "Bad", (("w.workfile.yaml", WAITING), ("s.scenario.yaml", SCENARIO))))
    for number, example in enumerate([*fixable, *cases]):
        folder = tmp_path / str(number)
        write_example(example, folder)
        for name, text in example.files:
            if name.endswith(".yaml"):
                (folder / name).write_bytes((bom + text.replace("\n", end)).encode())
        found = check_folder(folder)
        assert any(each.rule == example.rule for each in found), example.rule
        if example in cases:
            assert any(each.rule == example.rule and each.fixes for each in found), example.rule
        problems.extend(faults(found))
    assert problems == []


@pytest.mark.slow
def test_rules_say_whether_they_can_be_fixed(tmp_path: Path) -> None:
    offered = (
        {found.rule for found in corpus() if found.fixes} | CASES.keys() | {"manifest-invalid", "scenario-invalid"}
    )
    for example in examples("Bad"):
        write_example(example, tmp_path / example.rule)
        offered |= {found.rule for found in check_folder(tmp_path / example.rule) if found.fixes}
    assert {rule.name for rule in all_rules().values() if rule.fixable} == offered


def test_a_removed_handler_takes_its_own_comments_with_it(tmp_path: Path) -> None:
    file = tmp_path / "w.workfile.yaml"
    before = f"{HEAD}steps:\n  - g:\n      wf.group: [ {{ p: {{ wf.wait: 1m }} }} ]\n      catch:\n"
    kept_handler, after = "        - steps: [] # any\n", "  - q: { wf.wait: 1m } # then\n"
    text = f"{before}{kept_handler}        # never\n        - codes: [x]\n          steps: [] # tail\n{after}"
    file.write_text(text, encoding="utf-8")
    found = [each for each in check_folder(tmp_path) if each.rule == "catch-unreachable"]
    changed, _ = apply_once({str(file): text}, found, unsafe=True)
    assert changed[str(file)] == before + kept_handler + after
