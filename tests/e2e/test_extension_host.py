"""The extension in the extension host of the real workbench: the mocha tests below ``host/``."""

from __future__ import annotations

import queue
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.workbench import EXTENSION, HERE, page_of, served

SECONDS = 300
MARK = "[e2e] "


@pytest.mark.slow
@pytest.mark.xdist_group("workbench")
@pytest.mark.usefixtures("ready")
def test_mocha_in_the_extension_host(project: Path, tmp_path: Path) -> None:
    """All of them pass; their report is the message when one does not."""
    lines: list[str] = []
    ended: queue.Queue[int] = queue.Queue()

    def say(kind: str, words: list[Any]) -> None:
        text = " ".join(str(word) for word in words)
        if text.startswith(MARK):
            lines.append(text.removeprefix(MARK))

    with served(tmp_path) as bench, page_of(tmp_path) as page:
        page.expose_function("codeAutomationLog", say)
        page.expose_function("codeAutomationExit", lambda code, _logs=None: ended.put(code))
        payload = [
            ["extensionDevelopmentPath", bench.remote(EXTENSION)],
            ["extensionTestsPath", bench.remote(HERE / "host" / "index.js")],
            ["skipWelcome", "true"],
        ]
        page.goto(bench.url(project, payload))
        end = time.monotonic() + SECONDS
        while ended.empty() and time.monotonic() < end:
            page.wait_for_timeout(200)  # lets the page call back
    report = "\n".join(lines)
    print(report)
    assert not ended.empty(), f"The tests have not ended.\n{report}"
    assert ended.get() == 0, report
    assert "passing" in report
