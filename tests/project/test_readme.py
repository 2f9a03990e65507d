"""The README's commands are the ones that the checks run, and its sample is what the command prints."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import sessions

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [text.strip() for language, text in BLOCKS if language == "sh"]


def workfile(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workfile_cli", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})


def parts(command: str) -> list[list[str]]:
    return [shlex.split(part) for part in command.split(" && ")]


def test_there_are_two_commands_of_one_line() -> None:
    assert len(COMMANDS) == 2
    assert not any("\n" in command for command in COMMANDS)
    for command in COMMANDS:
        assert parts(command)[0] == ["python3", "-m", "venv", ".venv"]


def test_the_first_command_finds_nothing_in_the_examples() -> None:
    program, *arguments = parts(COMMANDS[0])[-1]
    assert (program, arguments) == (".venv/bin/workfile", ["check", "examples/"])
    finished = workfile(arguments, ROOT)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "error" not in finished.stdout


def test_the_second_command_is_what_the_checks_run() -> None:
    *_, install, tests = parts(COMMANDS[1])
    assert shlex.join(install).removeprefix(".venv/bin/") in CI.replace('"$bin/pip"', "pip")
    assert f"tests=({shlex.join(tests).removeprefix('.venv/bin/')})" in CI


def test_contributing_names_the_same_command() -> None:
    assert COMMANDS[1] in (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sessions.PAGES)
def test_sessions_are_what_the_commands_print(page: str) -> None:
    """``python -m tests.project.sessions`` writes them anew."""
    assert sessions.fresh(page) == (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))])
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []
