"""Which package may import which (docs/architecture.md, "Invariants")."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each package with what of ours it may import; the analysis stands alone, and only the command line knows everything.
LAYERS = {
    "analyzer": {"analyzer"},
    "sim_runtime": {"analyzer", "sim_runtime"},
    "lsp_server": {"analyzer", "sim_runtime", "lsp_server"},
    "workfile_cli": {"analyzer", "sim_runtime", "lsp_server", "workfile_cli"},
}
NO_NETWORK = {"http", "socket", "ssl", "urllib", "asyncio", "requests", "socketserver", "xmlrpc", "ftplib", "smtplib"}


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", LAYERS)
def test_packages_import_only_what_is_below_them(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in files_of(package)
        for module in imported_modules(path)
        if (top := module.partition(".")[0]) in LAYERS and top not in LAYERS[package]
    ]
    assert not wrong


def test_the_analysis_uses_no_network() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in files_of("analyzer")
        for module in imported_modules(path)
        if module.partition(".")[0] in NO_NETWORK and module != "urllib.parse"
    ]
    assert not wrong


def test_every_imported_package_is_declared() -> None:
    """What a plain installation lacks must not be imported."""
    # The name that is imported, where it is not the name that is installed.
    distribution = {"_ruamel_yaml": "ruamel.yaml", "referencing": "jsonschema", "ruamel": "ruamel.yaml"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[\[<>=]", requirement)[0] for requirement in project["dependencies"]}
    found = {
        module.partition(".")[0]
        for package in LAYERS
        for path in files_of(package)
        for module in imported_modules(path)
        if module.partition(".")[0] not in sys.stdlib_module_names | LAYERS.keys()
    }
    # Only pytest itself loads its plugin.
    assert [path.name for path in files_of("sim_runtime") if "pytest" in imported_modules(path)] == ["pytest_plugin.py"]
    # The extra `dask` is asked for where it is used, and what to install is said.
    assert [path.name for path in files_of("sim_runtime") if "distributed" in imported_modules(path)] == ["shards.py"]
    assert {distribution.get(name, name) for name in found - {"pytest", "distributed"}} <= declared
