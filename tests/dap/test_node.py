"""A second, independent client: ``@vscode/debugadapter-testsupport`` under ``node --test``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent / "node"


@pytest.mark.slow
def test_with_the_client_of_vs_code(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    for name in ("package.json", "package-lock.json", "adapter.test.mjs"):
        shutil.copy(HERE / name, tmp_path / name)
    install = [
        npm,
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=0",
        "--fetch-timeout=20000",
    ]
    made = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    if made.returncode:
        if os.environ.get("WORKFILE_E2E") == "required":
            pytest.fail(made.stderr)
        pytest.skip(f"the client cannot be installed: {made.stderr.strip()[-200:]}")
    adapter = tmp_path / "adapter.py"
    adapter.write_text("import sys\nfrom workfile_cli.main import main\nsys.exit(main(['dap']))\n", encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "ADAPTER": str(adapter),
        "EXAMPLES": str(ROOT / "examples"),
        "PYTHONPATH": paths,
    }
    run = [node, "--test", "--test-concurrency=1", "adapter.test.mjs"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
