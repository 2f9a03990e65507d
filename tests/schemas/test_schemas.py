"""The JSON Schemas: they never refuse what is valid, they do refuse broken structure, and the files are fresh."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from analyzer.driver import Options, check_files
from analyzer.expressions.schema_faults import json_value
from analyzer.expressions.times import parse_timestamp
from analyzer.findings import Finding
from analyzer.language import schemas
from analyzer.language.durations import format_duration, parse_duration
from analyzer.language.scenario_vocabulary import SCENARIO_KINDS
from analyzer.language.schema_values import DURATION, KINDS, POSITIVE_DURATION, TIMESTAMP
from analyzer.language.vocabulary import VALUE_KINDS
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.config import CONFIG_NAME, PYPROJECT_NAME
from sim_runtime.rules.engine import register
from tests.conformance.corpus import FOLDER
from tests.rules.examples import ROOT, check_folder, examples
from tests.schemas.changed import changed
from tests.schemas.changed import text_of as text_of_changed
from workfile_cli.main import main
from workfile_cli.reports import REPORTS
from workfile_cli.schema import KINDS as OFFERED
from workfile_cli.schema import text_of

UNREADABLE = ("document.syntax", "document.limit")
SEEN_BY_THE_ANALYZER_ONLY = {
    "structure-misplaced-idempotency-key.workfile.yaml": "depends on the manifest",
    "structure-not-finite.workfile.yaml": "JSON has no such numbers, so no schema speaks of them",
    "structure-subject-two.workfile.yaml": "two actions: names that fit a pattern cannot be counted",
}


SOUND = [FOLDER / "ok", FOLDER / "scenarios", *sorted((FOLDER / "projects").iterdir()), ROOT / "examples"]
CHANGES_AT_ONCE = 15

Sound: TypeAlias = Callable[[str], list[tuple[Path, Any]]]

register()  # so that scenarios are checked too


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.schema(kind))


def kind_of(name: str) -> str | None:
    for kind, entry in schemas.KINDS_OF_FILES.items():
        if any(name == pattern or (pattern[0] == "*" and name.endswith(pattern[1:])) for pattern in entry.files):
            return kind
    return None


def refusals(name: str, text: str) -> list[str]:
    """What the schema says of a file, by its name."""
    kind = kind_of(name)
    tree = parse(Source(text))
    if kind is None or tree.root is None:
        return []
    found = validator(kind).iter_errors(json_value(tree.root))
    return sorted(f"{error.json_path}: {error.message}" for error in found)


def checked(folder: Path) -> Iterator[tuple[Path, list[Finding]]]:
    """The files of a folder that read as YAML, with their findings."""
    found = check_folder(folder)
    for path in sorted(folder.rglob("*")):
        own = [each for each in found if each.path == str(path)]
        if path.is_file() and kind_of(path.name) and not any(each.code in UNREADABLE for each in own):
            yield path, own


@pytest.mark.parametrize("kind", schemas.KINDS_OF_FILES)
def test_a_schema_is_a_schema(kind: str) -> None:
    Draft202012Validator.check_schema(schemas.schema(kind))
    assert json.loads(text_of(kind)) == schemas.schema(kind)


def test_every_kind_of_value_has_a_fragment() -> None:
    assert (VALUE_KINDS.keys() | SCENARIO_KINDS.keys()) - KINDS.keys() == {"enum"}


@pytest.mark.parametrize("kind", schemas.KINDS_OF_FILES)
def test_every_key_has_a_text(kind: str) -> None:
    def bare(part: Any, path: str) -> Iterator[str]:
        if isinstance(part, list):
            for index, each in enumerate(part):
                yield from bare(each, f"{path}[{index}]")
        if not isinstance(part, dict):
            return
        for name, each in part.get("properties", {}).items():
            if each and "description" not in each and name not in ("succeed", "fail", "type"):
                yield f"{path}.{name}"
        for name, each in part.items():
            yield from bare(each, f"{path}.{name}")

    assert list(bare(schemas.schema(kind), kind)) == []


@pytest.mark.parametrize("folder", SOUND, ids=lambda f: f.name)
def test_what_is_valid_is_never_refused(folder: Path) -> None:
    refused = {
        path.name: refusals(path.name, path.read_bytes().decode("utf-8"))
        for path, found in checked(folder)
        if not any(each.severity == "error" for each in found)
    }
    assert {name: said for name, said in refused.items() if said} == {}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """By kind, the files of the sound folders that can be written as JSON, copied to where they may be changed."""
    found: dict[str, list[tuple[Path, Any]]] = {kind: [] for kind in schemas.KINDS_OF_FILES}
    for folder in SOUND:
        copied = shutil.copytree(folder, tmp_path_factory.mktemp("sound") / folder.name)
        if not any((copied / name).exists() for name in (CONFIG_NAME, PYPROJECT_NAME)):
            (copied / CONFIG_NAME).touch()
        for path in sorted(each for each in copied.rglob("*") if each.is_file()):
            kind = kind_of(path.name)
            tree = parse(Source(path.read_bytes().decode("utf-8", "replace"))) if kind else None
            if kind and tree is not None and tree.root is not None and not tree.problems:
                found[kind].append((path, json_value(tree.root)))
    return lambda kind: found[kind]  # not the map, all of which hypothesis would print when the test fails


@pytest.mark.slow
@pytest.mark.parametrize("kind", schemas.KINDS_OF_FILES)
@settings(phases=[Phase.generate])  # a seed is no nearer to the fault for being smaller
@given(seed=st.integers(0, 2**32))
def test_what_check_takes_no_schema_refuses(kind: str, sound: Sound, seed: int) -> None:
    random = Random(seed)
    for _ in range(CHANGES_AT_ONCE):
        path, document = random.choice(sound(kind))
        text = text_of_changed(changed(document, random))
        refused = refusals(path.name, text)
        if refused:
            outcome = check_files([str(path)], Options(cache=False, jobs=1), {str(path): text})
            assert not outcome.problems
            assert any(each.severity == "error" for each in outcome.findings), f"{path.name}: {refused[0]}\n{text}"


def test_the_good_examples_of_the_rules_are_not_refused() -> None:
    said = {
        f"{example.rule}: {name}": refusals(name, text) for example in examples("Good") for name, text in example.files
    }
    assert len(said) > 70
    assert {name: each for name, each in said.items() if each} == {}


def test_broken_structure_is_refused() -> None:
    passed = {
        path.name
        for path, found in checked(FOLDER / "err")
        if any(each.code == "document.structure" for each in found)
        and not refusals(path.name, path.read_bytes().decode("utf-8"))
    }
    assert passed == SEEN_BY_THE_ANALYZER_ONLY.keys()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.scenario.yaml", "workfile: a.workfile.yaml\nacions: {}\n"),
        ("a.scenario.yaml", "inputs: {}\n"),
        ("a.scenario.yaml", "workfile: a\nactions: { a.b: [{ succeed: 1, fail: { code: x } }] }\n"),
        ("a.scenario.yaml", "workfile: a\nactions: { a.b: { succeed: 1, fail: { code: x } } }\n"),
        ("a.scenario.yaml", "workfile: a\nactions: { a.b: [] }\n"),
        ("a.scenario.yaml", "workfile: a\nexpect: { calls: [{ actoin: a.b }] }\n"),
        ("a.scenario.yaml", "workfile: a\nevents: [{ deliver: a.b }]\n"),
        ("a.scenario.yaml", "workfile: a\ncrashes: [{ after: { path: x } }]\n"),
        ("a.scenario.yaml", "workfile: a\noperator: [{ on: x, decide: again }]\n"),
        ("a.scenario.yaml", "workfile: a\nexpect: { status: done }\n"),
        ("a.scenario.yaml", "workfile: a\nuntil: tomorrow\n"),
        ("a.connector.yaml", "actions: {}\n"),
        ("a.connector.yaml", "connector: wf\nactions: {}\n"),
        ("a.connector.yaml", "connector: a\nactions: { b: { idempotency: keyed } }\n"),
        ("a.connector.yaml", "connector: a\nactions: 5\n"),
        ("a.connector.yaml", "connector: a\nactions: { b: { effect: read, output: { a: strnig } } }\n"),
        ("a.connector.yaml", "connector: a\ntriggers: { b: { source: external, correlate_on: [c, c] } }\n"),
        ("a.overlay.yaml", "actions: {}\n"),
        ("a.overlay.yaml", "overlay: a\nactions: { b: { effect: writes } }\n"),
    ],
)
def test_faults_of_the_other_kinds_are_refused(name: str, text: str) -> None:
    assert refusals(name, text)


def test_a_scenario_with_every_key_is_taken() -> None:
    text = """
workfile: ../order.workfile.yaml
start: 2026-01-01T00:00:00Z
seed: 1
until: 30d
inputs: { amount: 5 }
trigger: { any: thing }
dry_run: false
actions:
  payments.charge:
    - fail: { code: rate_limited, retryable: true, retry_after: 30s }
    - ambiguous: { code: timeout, effect: happened }
    - succeed: null
      latency: 200ms
      where: { amount: 5 }
  payments.refund: { succeed: {}, latency: 1s }
events:
  - { at: 2h, deliver: messaging.approval, id: evt-1, payload: { request_id: r-1 } }
  - { after: approval, by: 1m, deliver: messaging.approval }
crashes:
  - { after: { record: action.dispatched, path: charge }, down: 10m }
  - { before: { record: action.succeeded, path: charge, nth: 2 } }
  - { after: { seq: 17 } }
operator:
  - { on: charge, actor: dana, decide: { succeed: { charge_id: ch_9 } } }
  - { on: charge, actor: dana, decide: { fail: { code: no_effect, retryable: false, details: {} } } }
  - { on: charge.(undo), actor: dana, decide: reissue }
  - { on: "", actor: dana, decide: authorize_recovery, at: 3h }
cancel: { at: 5h, reason: customer withdrew }
expect:
  status: succeeded
  result: { a: 1 }
  bindings: { approval.status: received }
  effects: { payments.charge: 1, payments.refund: 0 }
  invocations: { payments.charge: 3 }
  failure: { code: x }
  holds: [ charge ]
  absent: [ decide.pay ]
  waiting: [ approval ]
  stop: { path: a, reason: b }
  calls: [ { action: payments.charge }, { action: payments.refund } ]
  crashes: 1
  clock: 2h
  generation: 1
"""
    assert refusals("all.scenario.yaml", text) == []


def fits(pattern: str, text: str) -> bool:
    return Draft202012Validator({"pattern": pattern}).is_valid(text)


@given(st.integers(0, 10**16).map(format_duration) | st.text("0123456789dhmsPTWDHMS.,- ", max_size=12))
def test_the_patterns_of_durations_are_those_of_the_language(text: str) -> None:
    known = parse_duration(text)
    if known is not None:
        assert fits(DURATION, text)
    if known:
        assert fits(POSITIVE_DURATION, text)
    if known == 0 and "." not in text and "," not in text:
        assert not fits(POSITIVE_DURATION, text)


@pytest.mark.parametrize("text", ["", "P", "PT", "5", "-5s", "1h 30m", "s", "5x", "30m1h", "2026-01-01"])
def test_what_is_no_duration_does_not_fit(text: str) -> None:
    assert not fits(DURATION, text)


@pytest.mark.parametrize(
    "text", ["2026-01-01T00:00:00Z", "2026-01-01t10:00:00.123456+02:00", "2026-01-01T00:00:00-00:00"]
)
def test_the_pattern_of_timestamps(text: str) -> None:
    assert parse_timestamp(text) is not None
    assert fits(TIMESTAMP, text)
    assert not fits(TIMESTAMP, text.rstrip("Z")[:19])


# The command.


def test_the_files_of_the_project_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--check", str(ROOT / "schemas")]) == 0, capsys.readouterr().out


def test_kinds_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert (*schemas.KINDS_OF_FILES, *REPORTS) == OFFERED
    assert main(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(OFFERED)
    assert main(["schema", "overlay"]) == 0
    assert capsys.readouterr().out == text_of("overlay")


def test_files_are_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "schemas"
    assert main(["schema", "--check", str(folder)]) == 1
    assert capsys.readouterr().out.count("is missing") == len(OFFERED)
    assert main(["schema", "scenario", "--write", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["scenario.schema.json"]
    assert main(["schema", "--write", str(folder)]) == 0
    assert main(["schema", "--check", str(folder)]) == 0
    (folder / "overlay.schema.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert main(["schema", "--check", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{folder / 'overlay.schema.json'} is stale: write it with `--write`"
    ]


def test_a_call_that_cannot_be_carried_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main(["schema", "--write", str(file / "below")]) == 2
    assert main(["schema", "--write", "a", "--check", "b"]) == 2
    assert main(["schema", "workflow"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(": error: " in line for line in lines)
