"""What docs/exploring.md shows is what comes out today: the report, the scenario, the picture, the rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim_runtime.explore import Bounds, Exploration, explore, write_scenarios
from sim_runtime.explore.monitor import RULES
from sim_runtime.explore.report import text_report
from sim_runtime.picture import picture_of
from sim_runtime.picture.drawing import svg
from sim_runtime.simulation import prepare, simulate

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "exploring.md").read_text(encoding="utf-8")
CARELESS = ROOT / "examples" / "careless" / "sale.workfile.yaml"
FOUND = CARELESS.parent / "found"


@pytest.fixture(scope="module")
def careless() -> Exploration:
    return explore(prepare(str(CARELESS)), Bounds(budget_s=None))


def test_the_report_is_the_one_on_the_page(careless: Exploration) -> None:
    block = re.search(r"\$ workfile explore careless/sale.workfile.yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    assert block[1] == text_report(careless, {}, lambda text, _: text)


def test_the_files_are_those_that_are_written(
    careless: Exploration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each begins with the same words, but for the command, which tells where the file is."""
    monkeypatch.chdir(ROOT)
    files = [Path(each) for each in write_scenarios(careless, str(tmp_path)).values()]
    assert [each.name for each in files] == sorted(each.name for each in FOUND.iterdir())
    for path in files:
        ours = [line for line in path.read_text(encoding="utf-8").splitlines() if not _tells_where(line)]
        kept = (FOUND / path.name).read_text(encoding="utf-8").splitlines()
        assert ours == [line for line in kept if not _tells_where(line)]


def _tells_where(line: str) -> bool:
    return line.startswith(("# workfile run", "workfile:"))


def test_the_scenario_and_its_picture_are_those_on_the_page() -> None:
    path = FOUND / "01-effect-twice-sale-charge.scenario.yaml"
    assert path.read_text(encoding="utf-8") in PAGE
    run = simulate(str(CARELESS), str(path))
    drawn = svg(picture_of(run.run, run.report))
    assert (ROOT / "docs" / "images" / "charged-twice.svg").read_text(encoding="utf-8") == drawn


def test_every_rule_is_on_the_page() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \| [A-Z]", PAGE, re.MULTILINE) == list(RULES)
    assert all(f"| `{kind}` | {text} |" in PAGE for kind, text in RULES.items())


def test_the_python_on_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    block = re.search(r"## From Python\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    monkeypatch.chdir(ROOT / "examples")
    exec(block[1], {})
