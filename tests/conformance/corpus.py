"""Where the corpus is, and how a folder of it is checked."""

from __future__ import annotations

from pathlib import Path

from analyzer.driver import DEFAULT_ENGINE, Options, check_files
from tests.conformance.expectations import Found

FOLDER = Path(__file__).parent.resolve()

_ENDINGS = (".workfile.yaml", ".workfile.yml", ".connector.yaml", ".overlay.yaml")


def roots() -> list[Path]:
    """The folders that are checked as one: ``err``, ``ok`` and each project."""
    return [FOLDER / "err", FOLDER / "ok", *sorted(path for path in (FOLDER / "projects").iterdir() if path.is_dir())]


def cases(root: Path = FOLDER) -> list[Path]:
    """Every Workfile, manifest and overlay below a folder, sorted."""
    return sorted(path for path in root.rglob("*") if path.name == "Workfile" or path.name.endswith(_ENDINGS))


def connectors_of(root: Path) -> list[Path]:
    """The manifests in the ``connectors`` folder of a root."""
    return sorted((root / "connectors").glob("*.connector.yaml"))


def check_root(root: Path) -> dict[Path, list[Found]]:
    """The findings of every file that is found in a folder, by file; a file without findings has an empty list.

    Raises:
        AssertionError: when the analyzer could not do all of its work.
    """
    discovery = DEFAULT_ENGINE.find_files([str(root)])
    assert list(discovery.problems) == []
    outcome = check_files(discovery.files, Options(cache=False, jobs=1))
    assert outcome.problems == []
    found: dict[Path, list[Found]] = {Path(path): [] for path in outcome.files}
    for finding in outcome.findings:
        place = Found(finding.range.start_line, finding.range.start_column, finding.rule)
        found.setdefault(Path(finding.path), []).append(place)
    return found
