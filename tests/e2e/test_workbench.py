"""What a person sees in the real workbench. With ``WORKFILE_E2E_IMAGES`` naming a folder, its pictures go there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="The Python package playwright is not installed.")

from tests.e2e.driving import FRAME_LINE, WAIT_MS, Desk, desk
from tests.e2e.workbench import VSIX, Workbench, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workbench")]

SCENARIO = """\
# The executor dies after the goods were sent off; whether they were is not known, and that holds the run.
workfile: ../order.workfile.yaml
inputs:
  order_id: o-1
  customer: c-1
  address: 1 Main Street
  amount: 40
  lines: [{ sku: a, quantity: 1 }, { sku: b, quantity: 2 }]
crashes:
  - { after: { record: action.dispatched, path: fulfil.ship }, down: 10m }
"""


def picture(seen: Desk, name: str) -> None:
    """Keep a picture of the window, when pictures are wanted."""
    folder = os.environ.get("WORKFILE_E2E_IMAGES")
    if folder:
        seen.rest(800)
        seen.page.screenshot(path=str(Path(folder) / f"{name}.png"))


def workfile(*words: str, cwd: Path) -> None:
    """Run the command."""
    command = os.environ.get("WORKFILE_COMMAND") or str(Path(sys.executable).with_name("workfile"))
    subprocess.run([command, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def bench(ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """The workbench with the packaged extension."""
    settings = {"debug.toolBarLocation": "floating", "workfile.explore.budget": "120s"}
    settings["workfile.install.package"] = "not-there-at-all.whl"
    with served(tmp_path_factory.mktemp("bench"), settings, VSIX) as running:
        yield running


def test_findings_and_the_graph(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """A mistake is underlined and listed; the graph shows the step under the cursor and leads back to it."""
    source = project / "order.workfile.yaml"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("payments.charge:", "payments.chrage:"), encoding="utf-8")
    with desk(bench, tmp_path, project) as seen:
        seen.open("order.workfile.yaml")
        seen.wait(".squiggly-error")
        seen.press("Control+Shift+M")
        row = seen.wait(".markers-panel .monaco-list-row:has-text('chrage')")
        assert "unknown-action" in row.inner_text()
        picture(seen, "problems")
        source.write_text(text, encoding="utf-8")
        seen.press("Control+Shift+M")
        seen.editor()
        seen.command("Workfile: Open Graph Preview to the Side")
        graph = seen.frame("g.node")
        graph.click("g.node[data-path='fulfil.charge']")
        graph.wait_for_selector("g.node.cursor[data-path='fulfil.charge']", timeout=WAIT_MS)
        assert {"fulfil.ship", "arrive"} <= {each.get_attribute("data-path") for each in graph.query_selector_all("g")}
        picture(seen, "graph")


def test_debugging_with_step_back(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """F5 without a configuration, stepping, a crash, and back in time."""
    with desk(bench, tmp_path, project) as seen:
        seen.open("order-retry-after-decline.scenario.yaml")
        seen.press("F5")
        seen.press("Control+Shift+D")
        seen.stopped_at("fulfil")
        for step in (
            "fulfil.reserve",
            "fulfil.reserve[0].hold",
            "fulfil.reserve[1].hold",
            "fulfil.charge",
            "fulfil.ship",
        ):
            seen.press("F11")
            seen.stopped_at(step)
        panel = seen.frame(".timeline")
        assert "payments.charge" in panel.inner_text(".side")
        seen.page.click(".debug-toolbar .codicon-debug-step-back")
        seen.stopped_at("fulfil.charge")
        panel.wait_for_selector(".side:not(:has-text('payments.charge'))", timeout=WAIT_MS)
        picture(seen, "debugging")
        panel.click("[data-key='control-Crash']")
        panel.wait_for_selector(".chip:has-text('executor down')", timeout=WAIT_MS)
        panel.click("[data-key='control-Resume']")
        panel.wait_for_selector("[data-key='control-Crash']:not([disabled])", timeout=WAIT_MS)
        assert panel.query_selector(".crash") is not None


def test_the_simulation_panel(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """A hold is decided in the panel, an event is delivered there, and the run ends."""
    (project / "scenarios" / "order-crash.scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    with desk(bench, tmp_path, project) as seen:
        seen.open("order-crash.scenario.yaml")
        seen.press("F5")
        seen.wait(FRAME_LINE)
        panel = seen.frame(".timeline")
        # The ambiguous attempt stops it as well, and the hold before nothing else can act.
        seen.press_until("F5", panel, "header .chip:has-text('held')")
        panel.click("button:has-text('It succeeded…')")
        seen.command("View: Toggle Maximized Panel")
        picture(seen, "simulation")
        panel.fill("textarea", '{"tracking": "t-1"}')
        panel.click(".form button:has-text('Decide')")
        panel.wait_for_selector(".card:has-text('Holds')", state="detached", timeout=WAIT_MS)
        seen.press_until("F11", panel, "button:has-text('Deliver…'):not([disabled])")
        panel.click("button:has-text('Deliver…')")
        assert "t-1" in panel.input_value("textarea")
        panel.click(".form button:has-text('Deliver')")
        panel.wait_for_selector(".form", state="detached", timeout=WAIT_MS)
        seen.press_until("F5", panel, "header .chip:has-text('succeeded')")
        assert "01-01 00:10:00" in panel.inner_text("header"), "the event came, no time passed"


def test_the_crash_matrix(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """What exploring found, and the way from a finding to the debugger."""
    with desk(bench, tmp_path, project) as seen:
        seen.open("sale.workfile.yaml")
        seen.wait(".codelens-decoration:has-text('Explore')")
        seen.page.click(".codelens-decoration a:has-text('Explore')")
        matrix = seen.frame(".matrix")
        assert "effect-twice" in matrix.inner_text(".findings")
        matrix.click(".cell.held")
        assert "not known" in matrix.inner_text(".details")
        seen.press("Control+B")
        matrix.evaluate("scrollTo(0, 0)")
        picture(seen, "matrix")
        matrix.click(".findings button:has-text('Debug')")
        seen.wait(FRAME_LINE)


def test_histories_and_the_testing_view(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """A history opens as a timeline and can be re-evaluated; scenarios run in the Testing view."""
    run = ["run", "order.workfile.yaml", "--scenario", "scenarios/order-retry-after-decline.scenario.yaml"]
    workfile(*run, "--history", "order.history.jsonl", cwd=project)
    with desk(bench, tmp_path, project) as seen:
        seen.open("order.history.jsonl")
        history = seen.frame(".timeline .mark")
        history.click("button:has-text('Re-evaluate') >> nth=0")
        history.wait_for_selector("pre.good:has-text('Compatible')", timeout=WAIT_MS)
        history.click(".mark.bad >> nth=0", force=True)
        history.wait_for_selector("pre:has-text('recovery.decided')", timeout=WAIT_MS)
        picture(seen, "history")
        seen.command("Test: Run All Tests with Coverage")
        seen.wait(".monaco-list-row:has-text('Close Test Coverage')")
        seen.wait(".monaco-list-row:has-text('payout-answer-lost')")
        seen.command("Testing: Focus on Test Explorer View")
        seen.open("order.workfile.yaml")
        seen.wait(".coverage-deco-gutter")
        picture(seen, "testing")


def test_two_installations_at_once(bench: Workbench, project: Path, tmp_path: Path) -> None:
    """The second waits for the first, and what fails is told once, in words, with what else can be done."""
    told = ".notification-list-item:has-text('could not be installed')"
    with desk(bench, tmp_path, project) as seen:
        seen.open("order.workfile.yaml")
        for _ in range(2):
            seen.command("Workfile: Install Workfile Tools")
        # The workbench shows no toasts while it is tested, and its list closes when the progress in it ends.
        for _ in range(WAIT_MS // 1000):
            if seen.page.query_selector(told) is not None:
                break
            if seen.page.query_selector(".notifications-center.visible") is None:
                seen.page.click("[id='status.notifications']")
            seen.rest(1_000)
        seen.rest(5_000)
        (found,) = [each.inner_text() for each in seen.page.query_selector_all(told)]
        assert "`not-there-at-all.whl`" in found
        assert "/" not in found
        assert "workfile.install.package" in found
        assert {"Set What Is Installed…", "Select Interpreter…", "Show Log"} <= set(found.split("\n"))
