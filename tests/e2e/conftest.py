"""What the tests in the real workbench share: it is made ready once, and where that cannot be, they are skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e import workbench

EXAMPLES = workbench.ROOT / "examples"


@pytest.fixture(scope="session")
def ready() -> None:
    """The workbench, a browser and the packaged extension are there."""
    wanted = os.environ.get("WORKFILE_E2E", "")
    if importlib.util.find_spec("playwright") is None:
        reason: str | None = "The Python package playwright is not installed."
    elif not wanted and not workbench.INSTALLED.exists():
        reason = "The workbench is not there: tests/e2e/setup.sh fetches it (0.5 GB), and so does WORKFILE_E2E=1."
    else:
        reason = workbench.setup()
    if reason is not None:
        # Where they must run, a test that does not run is a test that fails.
        if wanted == "required":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples that tests may change."""
    folder = tmp_path_factory.mktemp("project") / "examples"
    shutil.copytree(EXAMPLES, folder)
    return folder
