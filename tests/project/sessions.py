"""Plays the sessions of the documentation: ``python -m tests.project.sessions [--check] [PAGE…]`` writes them anew.

A page's files and commands are played in order, in a folder of its own. A fence that follows ``<!-- file: NAME -->`` is
written to that file; one that follows ``<!-- in: FOLDER -->`` first copies that folder of the project. In a fence
``console`` each line ``$ workfile …`` is run, and what follows it is what the command prints (standard output, then
standard error). Nothing else of a page is touched.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/tutorial.md")
TIMEOUT_S = 120
_FENCE = re.compile(
    r"^(?:<!-- (?P<order>file|in): (?P<name>\S+) -->\n+)?```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def played(text: str, folder: Path) -> str:
    """The text of a page with every session as it goes now."""

    def fresh(found: re.Match[str]) -> str:
        order, name = found["order"], found["name"]
        if order == "in":
            shutil.copytree(ROOT / name, folder, dirs_exist_ok=True)
        if order == "file":
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(found["body"], encoding="utf-8")
        if found["language"] != "console":
            return found[0]
        start = found.start("body") - found.start()
        return found[0][:start] + _session(found["body"], folder) + "```"

    return _FENCE.sub(fresh, text)


def _session(body: str, folder: Path) -> str:
    calls = [line for line in body.splitlines() if line.startswith("$ ")]
    return "\n".join(f"{call}\n{_printed(call[2:], folder)}" for call in calls)


def _printed(call: str, folder: Path) -> str:
    program, *arguments = shlex.split(call)
    if program != "workfile":
        raise ValueError(f"`{call}`: only `workfile` is run")
    environment = {
        "PYTHONPATH": str(ROOT),
        "PATH": os.environ.get("PATH", ""),
        "WORKFILE_CACHE_DIR": str(folder / ".cache"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "workfile_cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment,
    )
    return done.stdout + done.stderr


def fresh(page: str) -> str:
    """A page of the project as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        return played((ROOT / page).read_text(encoding="utf-8"), Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or only tell which are stale."""
    parser = argparse.ArgumentParser(prog="python -m tests.project.sessions", description="Play the documentation.")
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    stale = 0
    for page in given.pages:
        text = fresh(page)
        if text != (ROOT / page).read_text(encoding="utf-8"):
            stale += 1
            sys.stdout.write(f"{page} {'is stale' if given.check else 'written'}\n")
            if not given.check:
                (ROOT / page).write_text(text, encoding="utf-8")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
