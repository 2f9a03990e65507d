"""How a person uses the workbench: opening files, running commands, looking into the frames of webviews."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Error

from tests.e2e.workbench import Workbench, page_of

WAIT_MS = 60_000
FRAME_LINE = ".debug-top-stack-frame-line"


class Desk:
    """A window on a folder."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def wait(self, selector: str) -> Any:
        """An element that is seen."""
        return self.page.wait_for_selector(selector, timeout=WAIT_MS)

    def rest(self, milliseconds: int = 500) -> None:
        """Let what moves come to rest."""
        self.page.wait_for_timeout(milliseconds)

    def press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            self.page.keyboard.press(key)
            self.rest(300)

    def _pick(self, key: str, words: str) -> None:
        self.page.keyboard.press(key)
        self.wait(".quick-input-widget input")
        self.page.keyboard.type(words, delay=5)
        self.wait(f".quick-input-list .monaco-list-row.focused:has-text('{words}')")
        self.rest(400)
        self.page.keyboard.press("Enter")

    def open(self, name: str) -> None:
        """Open a file by its name."""
        self._pick("Control+P", name)
        self.wait(f".tab.active:has-text('{name}')")
        self.rest()

    def command(self, title: str) -> None:
        """Run a command by its title."""
        self._pick("F1", title)
        self.rest()

    def editor(self) -> None:
        """Put the focus into the editor."""
        self.page.click(".editor-instance .view-lines >> nth=0", position={"x": 5, "y": 5})

    def frame(self, selector: str) -> Any:
        """The frame of the webview that has an element."""
        end = time.monotonic() + WAIT_MS / 1000
        while time.monotonic() < end:
            for frame in self.page.frames:
                with suppress(Error):  # a frame that is being replaced
                    if frame.query_selector(selector) is not None:
                        return frame
            self.rest(100)
        raise AssertionError(f"No webview has `{selector}`.")

    def press_until(self, key: str, frame: Any, selector: str) -> None:
        """Press a key again and again, until a webview has an element."""
        end = time.monotonic() + WAIT_MS / 1000
        while frame.query_selector(selector) is None:
            assert time.monotonic() < end, f"The webview never has `{selector}`."
            self.press(key)
            self.rest(700)

    def stopped_at(self, step: str) -> None:
        """Wait until the debugger stands at a step."""
        self.wait(f".debug-call-stack .monaco-list-row[aria-label^='Stack Frame {step}, ']")
        self.wait(FRAME_LINE)
        self.rest()


@contextmanager
def desk(bench: Workbench, home: Path, folder: Path) -> Iterator[Desk]:
    """A window on a folder, in a browser of its own."""
    with page_of(home) as page:
        page.goto(bench.url(folder))
        page.wait_for_selector(".monaco-workbench", timeout=WAIT_MS)
        try:
            yield Desk(page)
        except BaseException:
            page.screenshot(path=str(home / "failed.png"))
            print(f"The window as it was: {home / 'failed.png'}")
            raise
