"""The examples of the rules' documentation as files, and the check of such a set of files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from analyzer.driver import DEFAULT_ENGINE, Options, check_files
from analyzer.findings import Finding
from analyzer.rules.registry import all_rules

ROOT = Path(__file__).resolve().parents[2]
CONNECTORS = ROOT / "examples" / "connectors"
SINGLE = "example.workfile.yaml"

_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)
_FENCE = re.compile(r"^```(?:yaml|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# file: (\S+)\n")


@dataclass(frozen=True, slots=True)
class Example:
    """One *Bad* or *Good* of a rule: its files by name, relative to a folder with the example connectors."""

    rule: str
    section: str
    files: tuple[tuple[str, str], ...]


def sections(documentation: str) -> dict[str, str]:
    """The sections of a rule's documentation by heading, in order."""
    pieces = _SECTION.split(documentation)
    assert pieces[0] == "", "nothing stands before the first heading"
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


@cache
def examples(section: str) -> tuple[Example, ...]:
    """The examples of every rule under that heading."""
    return tuple(
        Example(rule.name, section, tuple(_files(sections(rule.documentation)[section])))
        for rule in all_rules().values()
    )


def _files(text: str) -> Iterator[tuple[str, str]]:
    fences = _FENCE.findall(text)
    assert fences, "an example is a fence"
    for fence in fences:
        named = _FILE.match(fence)
        assert named or len(fences) == 1, "each of several files says its name"
        yield (named[1] if named else SINGLE), fence


def write_example(example: Example, folder: Path) -> None:
    """The example's files, the example connectors beside them, and an empty configuration to make it a root. Of the
    Workfiles under ``before/`` a run is recorded, and only its history stays."""
    shutil.copytree(CONNECTORS, folder / "connectors", ignore=shutil.ignore_patterns("*.overlay.yaml"))
    (folder / "workfile.toml").touch()
    for name, text in example.files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    if (folder / "before").is_dir():
        _record(folder)


def _record(folder: Path) -> None:
    from sim_runtime.simulation import Changes, simulate

    histories = folder / "histories"
    histories.mkdir()
    with TemporaryDirectory() as other:  # two Workfiles of one name do not stand under one root
        root = Path(other)
        shutil.copytree(folder / "connectors", root / "connectors")
        shutil.move(folder / "before", root / "before")
        (root / "workfile.toml").touch()
        for path in sorted((root / "before").glob("*.workfile.yaml")):
            inputs = {"amount": 5} if "inputs:" in path.read_text(encoding="utf-8") else {}
            lines = simulate(str(path), changes=Changes(inputs=inputs)).history_lines()
            (histories / f"{path.name}.history.jsonl").write_text("".join(lines), encoding="utf-8")


def check_folder(folder: Path) -> list[Finding]:
    """Everything that is found in a folder, suppressions applied."""
    discovery = DEFAULT_ENGINE.find_files([str(folder)])
    assert not discovery.problems, list(discovery.problems)
    options = Options(cache=False, jobs=1)
    if (folder / "histories").is_dir():
        from sim_runtime.rules.histories import FAMILY, find_histories, history_findings

        extra = history_findings(discovery.files, find_histories(str(folder / "histories")))
        options = replace(options, run_families=(FAMILY,), extra=extra)
    outcome = check_files(discovery.files, options)
    assert not outcome.problems, outcome.problems
    return outcome.findings


def shown(findings: list[Finding]) -> list[str]:
    """Findings as lines for a failing test."""
    return [
        f"{Path(found.path).name}:{found.range.start_line}:{found.range.start_column} {found.severity} {found.rule}: "
        f"{found.message}"
        for found in findings
    ]
