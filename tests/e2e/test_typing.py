"""What happens to the text and to the focus while a person types in the real workbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="The Python package playwright is not installed.")

from tests.e2e.driving import WAIT_MS, Desk, desk
from tests.e2e.workbench import VSIX, Workbench, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workbench")]

TYPED = """\
workfile: "1.0"
name: typed
inputs:
  amount: number
  customer: string
steps:
  - take:
      payments.charge:
        amount: 1
        customer: c-1
      on_fail: continue
result:
  paid: 1
"""


@pytest.fixture(scope="module")
def bench(ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """The workbench with the packaged extension; what is changed is saved at once."""
    settings = {"files.autoSave": "afterDelay", "files.autoSaveDelay": 100, "workfile.simulation.openOnDebug": False}
    with served(tmp_path_factory.mktemp("bench"), settings, VSIX) as running:
        yield running


def type_lines(seen: Desk, lines: list[str]) -> None:
    """Type lines as an author does: Enter behind each, Shift+Tab or Backspace where one goes further left."""
    for line in lines:
        seen.page.keyboard.type(line, delay=30)
        seen.rest(1_000)  # whatever is offered is offered now
        seen.page.keyboard.press("Enter")
        seen.rest(700)


def test_lines_are_indented_and_enter_begins_the_next(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """Nothing that is offered behind a key is taken by Enter, and the next line begins in its column."""
    target = project / "typed.workfile.yaml"
    target.write_text("", encoding="utf-8")
    with desk(bench, tmp_path, project) as seen:
        seen.open("typed.workfile.yaml")
        seen.editor()
        type_lines(seen, ['workfile: "1.0"', "name: typed", "inputs:", "amount: number", "customer: string"])
        seen.press("Backspace")
        type_lines(seen, ["steps:", "- take:", "payments.charge:", "amount: 1", "customer: c-1"])
        seen.press("Backspace")
        type_lines(seen, ["on_fail: continue"])
        seen.press("Backspace", 3)
        type_lines(seen, ["result:", "paid: 1"])
        seen.rest(1_000)
        assert target.read_text(encoding="utf-8").rstrip() == TYPED.rstrip()


def test_commands_in_the_console_leave_the_focus_there(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """The run moves, the editor shows where it is, and what is typed next is the next command."""
    source = project / "order.workfile.yaml"
    text = source.read_text(encoding="utf-8")
    with desk(bench, tmp_path, project) as seen:
        seen.open("order-retry-after-decline.scenario.yaml")
        seen.press("F5")
        seen.press("Control+Shift+D")
        seen.stopped_at("fulfil")
        seen.press("Control+Shift+Y")
        seen.wait(".repl .repl-input-wrapper")
        for command, step in (
            ("in", "fulfil.reserve"),
            ("in", "fulfil.reserve[0].hold"),
            ("in", "fulfil.reserve[1].hold"),
            ("next", "fulfil.charge"),
            ("back", "fulfil.reserve[1].hold"),
        ):
            seen.page.keyboard.type(command, delay=30)
            seen.page.keyboard.press("Enter")
            seen.stopped_at(step)
        seen.page.keyboard.type("run.workflow", delay=30)
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector(".repl .monaco-list-row:has-text('order-fulfilment')", timeout=WAIT_MS)
        focused = seen.page.query_selector(".debug-call-stack .monaco-list-row.selected")
        assert focused is not None
        assert "fulfil.reserve[1].hold" in (focused.get_attribute("aria-label") or "")
    assert source.read_text(encoding="utf-8") == text
