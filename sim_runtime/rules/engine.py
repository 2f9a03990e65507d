"""The analyzer's ``check_file`` with the checks of this package registered.

The command line and the editor name ``sim_runtime.rules.engine:check_file`` as their engine. Importing this loads
nothing of the simulator; that waits for the first scenario.
"""

from __future__ import annotations

from analyzer.check import FILE_CHECKS, FileResult, check_file
from analyzer.model.problems import Problems
from analyzer.workspace.project import Document, Project

__all__ = ["FileResult", "check_file", "register"]


def register() -> None:
    """Let the analyzer check scenario files in this process; calling it again changes nothing."""
    FILE_CHECKS["scenario"] = _check_scenario


def _check_scenario(project: Project, document: Document, problems: Problems) -> None:
    from sim_runtime.world.checks import check_scenario

    check_scenario(project, document, problems)


register()
