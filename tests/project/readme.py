"""Writes the README's sample of a finding anew: ``python -m tests.project.readme``."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALL = "$ workfile check expense.workfile.yaml"
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def printed() -> str:
    """What the command prints on the sample."""
    command = [sys.executable, "-m", "workfile_cli", *shlex.split(CALL)[2:], "--no-cache"]
    finished = subprocess.run(
        command,
        cwd=Path(__file__).parent / "sample",
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )
    if finished.returncode != 1:
        raise RuntimeError(f"exit {finished.returncode}: {finished.stderr}")
    return finished.stdout


def main() -> None:
    """Put it into the README."""
    path = ROOT / "README.md"
    sample = f"{CALL}\n{printed()}"
    path.write_text(_BLOCK.sub(lambda _: sample, path.read_text(encoding="utf-8"), count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
