"""What the documentation shows is what happens: its Python runs, its console output is printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.sim.plugin.test_plugin import OPTIONS
from workfile_cli.main import main

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[3]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def examples(pytester: pytest.Pytester) -> pytest.Pytester:
    """The examples in the working directory."""
    shutil.copytree(ROOT / "examples", pytester.path, dirs_exist_ok=True)
    return pytester


@pytest.mark.parametrize(("document", "tests"), [("testing.md", 2), ("simulation.md", 0)])
def test_the_python_of_the_documentation_runs(examples: pytest.Pytester, document: str, tests: int) -> None:
    found = blocks(document, "python")
    assert found
    for number, text in enumerate(found):
        (examples.path / f"test_block_{number}.py").write_text(text, encoding="utf-8")
    names = [f"test_block_{number}.py" for number in range(len(found))]
    result = examples.runpytest_inprocess(*OPTIONS, *names)
    result.assert_outcomes(passed=tests)


@pytest.mark.parametrize("block", blocks("testing.md", "console"), ids=lambda text: text.partition("\n")[0])
def test_the_console_of_the_documentation_is_printed(
    examples: pytest.Pytester, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call, _, printed = block.partition("\n")
    if call.endswith(" scenarios"):
        for path in (examples.path / "scenarios").iterdir():
            if not path.name.startswith("payout"):
                path.unlink()
    assert main(shlex.split(call.removeprefix("$ workfile "))) == 0
    assert capsys.readouterr().out == printed
