"""Every file of the corpus gives exactly the findings that its comments expect: rule, line, column, all severities.

The corpus was written from the language page and the rule tables, without a look at the analyzer. A folder is checked
as one, so that a finding which leaks into another file is seen; each file is a test of its own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conformance.corpus import FOLDER, cases, check_root, roots
from tests.conformance.expectations import Found, compare, load_expectations


@cache
def findings_under(root: Path) -> dict[Path, list[Found]]:
    return check_root(root)


@pytest.mark.parametrize(
    ("root", "path"),
    [pytest.param(root, path, id=path.relative_to(FOLDER).as_posix()) for root in roots() for path in cases(root)],
)
def test_a_file_gives_exactly_what_it_expects(root: Path, path: Path) -> None:
    difference = compare(load_expectations(path), findings_under(root).get(path, []))
    assert not difference, f"{path.relative_to(FOLDER)}\n{difference}"


@pytest.mark.parametrize("root", roots(), ids=lambda root: root.name)
def test_nothing_is_found_outside_the_cases(root: Path) -> None:
    strangers = {path for path, found in findings_under(root).items() if found} - set(cases(root))
    assert strangers == set()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_a_line_end_changes_no_finding(end: str, tmp_path: Path) -> None:
    source = FOLDER / "err" / "syntax-lf.workfile.yaml"
    copy = tmp_path / source.name
    copy.write_bytes(source.read_bytes().replace(b"\n", end.encode()))
    for manifest in (FOLDER / "err" / "connectors").iterdir():
        target = tmp_path / "connectors" / manifest.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(manifest.read_bytes())
    (tmp_path / "workfile.toml").write_text("", encoding="utf-8")
    found = check_root(tmp_path)[copy]
    assert found
    assert not compare(load_expectations(source), found)


@pytest.mark.parametrize(
    "name",
    ["structure-states", "structure-scope-recovery", "type-filters", "syntax-expression-block-scalars"],
)
def test_every_beginning_of_a_sound_file_is_analysed(name: str, tmp_path: Path) -> None:
    text = (FOLDER / "ok" / f"{name}.workfile.yaml").read_text(encoding="utf-8")
    (tmp_path / "workfile.toml").write_text("", encoding="utf-8")
    # Every ninth character keeps this short and still cuts inside keys, quotes, brackets and expressions.
    lengths = range(0, len(text), 9)
    for length in lengths:
        (tmp_path / f"cut-{length}.workfile.yaml").write_text(text[:length], encoding="utf-8")
    found = check_root(tmp_path)
    assert len(found) == len(lengths)
    assert all(found.values()), "a beginning without its connectors cannot be sound"
