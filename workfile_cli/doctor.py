"""``workfile doctor``: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

import click

from workfile_cli.console import ColourChoice, use_colour, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.options import colour_option, format_option

_NAME: Final = re.compile(r"[^A-Za-z0-9._-].*", re.DOTALL)
"""What follows the name in a requirement."""

Status: TypeAlias = Literal["ok", "absent", "slow", "wrong"]

DISTRIBUTION: Final = "workfile-tools"
_STYLES: Final[dict[Status, str]] = {"ok": "\x1b[32m", "absent": "\x1b[2m", "slow": "\x1b[33m", "wrong": "\x1b[31m"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: ``absent`` costs a feature, ``slow`` costs time, ``wrong`` must be mended."""

    name: str
    status: Status
    found: str
    advice: str = ""


@click.command("doctor")
@format_option("text", "json")
@colour_option
def doctor(format_: str, colour: ColourChoice) -> int:
    """Tell what is installed, what is missing and what to do about it.

    The exit status is 1 when something must be mended.
    """
    checks = [look() for look in LOOKS]
    healthy = all(check.status != "wrong" for check in checks)
    if format_ == "json":
        found = {"version": 1, "ok": healthy, "checks": [asdict(check) for check in checks]}
        write_result(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    else:
        write_result(_text(checks, colour))
    return EXIT_OK if healthy else EXIT_FINDINGS


def _text(checks: list[Check], colour: ColourChoice) -> str:
    names = max(len(check.name) for check in checks)
    lines: list[str] = []
    for check in checks:
        word = f"{check.status:6}"
        if use_colour(colour):
            word = f"{_STYLES[check.status]}{word}\x1b[0m"
        lines.append(f"{word}  {check.name:{names}}  {check.found}")
        if check.advice:
            lines.append(f"{'':6}  {'':{names}}  {check.advice}")
    return "\n".join(lines) + "\n"


def _tools() -> Check:
    from analyzer.__about__ import __version__

    try:
        installed = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return Check("workfile-tools", "absent", f"{__version__}, not installed as a distribution", _INSTALL)
    if installed != __version__:
        return Check("workfile-tools", "wrong", f"{__version__}, but {installed} is registered", _INSTALL)
    return Check("workfile-tools", "ok", __version__)


_INSTALL: Final = f"Install it into this environment again: `pip install --force-reinstall {DISTRIBUTION}`."


def _python() -> Check:
    return Check(
        "Python", "ok", f"{platform.python_version()} ({platform.python_implementation()}) on {platform.system()}"
    )


def _parser() -> Check:
    from analyzer.syntax.events import HAS_C

    if HAS_C:
        return Check("YAML parser", "ok", "in C (libyaml)")
    advice = "Checking is some ten times slower: `pip install 'ruamel.yaml[oldlibyaml]'` brings it as a wheel."
    return Check("YAML parser", "slow", "in Python only", advice)


def _dependencies() -> Check:
    """Every package that is always needed, by what this distribution declares."""
    missing: list[str] = []
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        declared = []
    for requirement in declared:
        if "extra ==" in requirement:
            continue
        name = _NAME.sub("", requirement)
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "wrong", f"missing: {', '.join(sorted(missing))}", _INSTALL)
    return Check("packages", "ok", "all that are needed")


def _time_zones() -> Check:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo("Europe/Berlin")
    except (zoneinfo.ZoneInfoNotFoundError, OSError):
        return Check("time zones", "wrong", "no data", "`pip install tzdata` brings it.")
    return Check("time zones", "ok", "data found")


def _configuration() -> Check:
    from analyzer.workspace.project import project_for

    project = project_for(os.path.join(os.getcwd(), "any.workfile.yaml"))  # noqa: PTH109, PTH118 - paths are texts there
    if project.problems:
        return Check(
            "configuration", "wrong", project.problems[0], "`workfile check` refuses it too until it is mended."
        )
    path = project.config.path
    return Check("configuration", "ok", "none here; the defaults hold" if path is None else _from_home(path))


def _cache() -> Check:
    from analyzer.cache import ENVIRONMENT, default_folder

    folder = default_folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = f"Every check starts anew. Name a folder that can be written to in `{ENVIRONMENT}`."
        return Check("cache", "slow", f"cannot be written ({error.strerror or error})", advice)
    return Check("cache", "ok", _from_home(folder))


def _from_home(path: str) -> str:
    """A path as a user may show it to others: without the name of the home folder."""
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111
    return "~" + path[len(home) :] if home and path.startswith(home + os.sep) else path


def _graphviz() -> Check:
    if shutil.which("dot") is None:
        return Check("Graphviz", "absent", "`dot` is not on the PATH", "`workfile graph --format svg` needs it.")
    return Check("Graphviz", "ok", "`dot` is on the PATH")


def _optional(package: str, extra: str, used_by: str) -> Callable[[], Check]:
    def look() -> Check:
        if find_spec(package) is None:
            advice = f"{used_by} needs it: `pip install '{DISTRIBUTION}[{extra}]'`."
            return Check(package, "absent", "not installed", advice)
        return Check(package, "ok", "installed")

    return look


def _encoding() -> Check:
    found = (sys.stdout.encoding or "unknown").lower()
    if found.replace("-", "") in ("utf8", "utf16", "utf32"):
        return Check("output", "ok", found)
    return Check(
        "output", "absent", found, "What it cannot encode is escaped; `PYTHONUTF8=1` in the environment helps."
    )


LOOKS: Final[tuple[Callable[[], Check], ...]] = (
    _tools,
    _python,
    _dependencies,
    _parser,
    _time_zones,
    _configuration,
    _cache,
    _encoding,
    _graphviz,
    _optional("dask", "dask", "`workfile explore --dask`"),
)
