"""The pytest plugin: scenario files are tests, and ``workfile_run`` simulates Workfiles in tests that are written in
Python. Registered with the distribution; nothing of the simulator is loaded before a scenario is run or the fixture is
used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from sim_runtime.api import Simulation

SUFFIX: Final = ".scenario.yaml"
SWITCH: Final = "workfile_scenarios"
MAX_FINDINGS: Final = 20


class ScenarioFailed(Exception):
    """A scenario did not come out as it expects, or could not be played; the message is for people."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--no-workfile-scenarios`` and the setting ``workfile_scenarios``."""
    group = parser.getgroup("workfile", "Workfile scenarios")
    group.addoption(
        "--no-workfile-scenarios",
        action="store_true",
        default=False,
        help="do not collect *.scenario.yaml files as tests",
    )
    parser.addini(SWITCH, "collect *.scenario.yaml files as tests (default: true)", type="bool", default=True)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """A scenario file is a test, unless that is switched off."""
    if not file_path.name.endswith(SUFFIX):
        return None
    config = parent.config
    if config.getoption("no_workfile_scenarios") or not config.getini(SWITCH):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


class ScenarioFile(pytest.File):
    """A ``*.scenario.yaml`` file."""

    def collect(self) -> Iterator[ScenarioItem]:
        """Its one test."""
        yield ScenarioItem.from_parent(self, name=self.path.name.removesuffix(SUFFIX))


class ScenarioItem(pytest.Item):
    """A scenario that is played, and compared with what it expects."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # There are plugins (pytest-lsp) whose hooks break on items without it, as doctests and functions have it.
        self.funcargs: dict[str, object] = {}

    def runtest(self) -> None:
        """Play it. Raises ``ScenarioFailed``."""
        from sim_runtime.api import CannotSimulate, simulate
        from sim_runtime.simulation import unfired_words

        try:
            run = simulate(scenario=self.path)
        except CannotSimulate as error:
            raise ScenarioFailed("\n".join(_findings(error, self.config.rootpath) or [str(error)])) from None
        words = [f"the crash {unfired_words(point)} never came" for point in run.unfired]
        words.extend(f"{each.at}: {each.words}" for each in run.differences())
        if words:
            raise ScenarioFailed("\n".join(words))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences in words; what is no failure of the scenario is shown as pytest does."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is, and what it is called in reports."""
        return self.path, 0, f"scenario: {self.name}"


def _findings(error: Any, root: Path) -> list[str]:
    """The findings that keep a scenario from being played, a line each; paths from the root of the test run."""
    lines = []
    for each in error.findings[:MAX_FINDINGS]:
        path = Path(each.path)
        shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else each.path
        at = f"{each.range.start_line}:{each.range.start_column}"
        lines.append(f"{shown}:{at}: {each.rule}: {each.message}")
    return lines


@pytest.fixture
def workfile_run(request: pytest.FixtureRequest) -> Callable[..., Simulation]:
    """Simulate a Workfile: ``workfile_run("order.workfile.yaml", inputs={"amount": 5}).expect(status="succeeded")``.

    The arguments are those of ``sim_runtime.simulate``; relative paths count from the folder of the test's file.
    """
    folder = request.path.parent

    def run(workfile: Any = None, scenario: Any = None, **parts: Any) -> Simulation:
        from sim_runtime.api import simulate

        named = None if workfile is None else folder / workfile
        played = folder / scenario if isinstance(scenario, str | Path) else scenario
        return simulate(named, played, **parts)

    return run
