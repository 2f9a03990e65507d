"""The commands that take long: simulate, test, explore, and what an edit means for runs under way."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lsprotocol import types

from analyzer.report.common import plural
from analyzer.workspace.files import file_kind
from lsp_server.features.code_lenses import scenarios_of, version_of
from lsp_server.protocol import INVALID_PARAMS, Refused
from lsp_server.results import Covered, Result, difference_text
from lsp_server.tool import run_tool
from lsp_server.uris import VIRTUAL, path_of

if TYPE_CHECKING:
    from lsp_server.server import WorkfileServer

Work: TypeAlias = Coroutine[Any, Any, Any]
Token: TypeAlias = str | int | None

_EXPLORE_OPTIONS: Final[dict[str, type]] = {
    "scenario": str,
    "crashes": int,
    "deviations": int,
    "budget": str,
    "states": int,
}


def simulate(server: WorkfileServer, arguments: list[Any], token: Token) -> Work:
    """``[URI, scenario URI?]``: the JSON of ``workfile run``, that of ``workfile check`` when there are errors."""
    path = _file(server, arguments, 0, "workflow", "simulate")
    scenario = _file(server, arguments, 1, "scenario", "simulate") if len(arguments) > 1 else None
    return _simulate(server, path, scenario, token)


async def _simulate(server: WorkfileServer, path: str, scenario: str | None, token: Token) -> Any:
    given = [] if scenario is None else ["--scenario", scenario]
    done = await run_tool(server, ["run", path, *given], _folder(path), f"Simulating {_name(path)}", token)
    report = done.report
    if "status" not in report:
        _tell(server, f"{_name(path)} has errors, so nothing was run.", False)
        return report
    failure = report.get("failure") or {}
    why = f": {failure.get('code')}, {failure.get('message')}" if failure else ""
    _tell(server, f"{_name(path)}: {report.get('status')} at {report.get('clock', {}).get('now')}{why}", done.code == 0)
    return report


def test(server: WorkfileServer, arguments: list[Any], token: Token) -> Work:
    """``[URI]`` of a scenario, or of a Workfile for all of its scenarios: the JSON of ``workfile test``."""
    path = _file(server, arguments, 0, None, "test")
    if file_kind(path) == "scenario":
        return _test(server, path, [path], token)
    snapshot = server.files.snapshot(path)
    scenarios = [] if snapshot is None else scenarios_of(snapshot, server.files)
    if not scenarios:
        raise Refused(f"No scenario of the workspace runs `{_name(path)}`: write one, `*.scenario.yaml`.")
    return _test(server, path, scenarios, token)


async def _test(server: WorkfileServer, path: str, scenarios: list[str], token: Token) -> Any:
    import tempfile

    versions = {each: version_of(each, server.files) for each in scenarios}
    with tempfile.TemporaryDirectory() as folder:
        measured = str(Path(folder) / "coverage.json")
        arguments = ["test", *scenarios, "--coverage-json", measured]
        done = await run_tool(server, arguments, _folder(path), f"Testing {_name(path)}", token)
        coverage = _read(measured)
    _keep(server, path, done.report, versions)
    if file_kind(path) == "workflow":
        _keep_coverage(server, path, coverage)
    counts = done.report.get("summary", {})
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    _tell(server, f"{_name(path)}: {told or 'nothing was run'}", done.code == 0)
    _refresh(server)
    return done.report


def _read(path: str) -> Any:
    import json

    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _keep(server: WorkfileServer, path: str, report: Any, versions: dict[str, str]) -> None:
    for each in report.get("scenarios", []):
        scenario = os.path.normpath(Path(_folder(path)) / each.get("path", ""))
        if scenario in versions:
            differences = tuple(difference_text(one) for one in each.get("differences", [])[:20])
            result = Result(str(each.get("outcome")), differences, versions[scenario])
            server.results.put(scenario, result)


def _keep_coverage(server: WorkfileServer, path: str, coverage: Any) -> None:
    snapshot = server.files.snapshot(path)
    for each in coverage.get("workfiles", []) if isinstance(coverage, dict) else ():
        here = os.path.normpath(Path(_folder(path)) / each.get("path", ""))
        if here == path and snapshot is not None:
            server.results.put_coverage(path, Covered(float(each.get("percent", 0)), snapshot.document.digest))


def explore(server: WorkfileServer, arguments: list[Any], token: Token) -> Work:
    """``[URI, {"scenario", "crashes", "deviations", "budget", "states"}?]``: the JSON of ``workfile explore``."""
    path = _file(server, arguments, 0, "workflow", "explore")
    options = arguments[1] if len(arguments) > 1 and arguments[1] is not None else {}
    if isinstance(options, str):
        options = {"scenario": options}
    if not isinstance(options, dict):
        raise Refused("`workfile.server.explore` takes the URI of a Workfile and a map of options.", INVALID_PARAMS)
    given: list[str] = []
    for name, value in options.items():
        kind = _EXPLORE_OPTIONS.get(name)
        if kind is None or type(value) is not kind:
            known = ", ".join(f"`{each}`" for each in _EXPLORE_OPTIONS)
            raise Refused(
                f"`{name}` is not an option of an exploration, or is of another kind: {known}.", INVALID_PARAMS
            )
        given += [f"--{name}", path_of(str(value)) if name == "scenario" else str(value)]
    return _explore(server, path, given, token)


async def _explore(server: WorkfileServer, path: str, given: list[str], token: Token) -> Any:
    done = await run_tool(server, ["explore", path, *given], _folder(path), f"Exploring {_name(path)}", token)
    report = done.report
    if "states" not in report:
        _tell(server, f"{_name(path)} has errors, so nothing was explored.", False)
        return report
    findings = report.get("findings", [])
    told = "nothing is broken" if not findings else f"{len(findings)} found: {findings[0].get('message')}"
    extent = "" if report.get("complete") else ", not complete"
    _tell(server, f"{_name(path)}: {plural(report['states'], 'state')}{extent}; {told}", done.code == 0)
    return report


def impact(server: WorkfileServer, arguments: list[Any], token: Token) -> Work:
    """``[new URI, old URI, folder of histories?]``: the JSON of ``workfile history impact``."""
    new = _file(server, arguments, 0, "workflow", "impact")
    old = _file(server, arguments, 1, "workflow", "impact")
    given: list[str] = []
    if len(arguments) > 2 and arguments[2] is not None:
        if not isinstance(arguments[2], str):
            raise Refused("The folder of histories is a URI.", INVALID_PARAMS)
        given = ["--histories", path_of(arguments[2])]
    return _impact(server, old, new, given, token)


async def _impact(server: WorkfileServer, old: str, new: str, given: list[str], token: Token) -> Any:
    arguments = ["history", "impact", old, new, *given]
    done = await run_tool(server, arguments, _folder(new), f"Impact of {_name(new)}", token)
    _tell(server, f"{_name(new)}: {done.report.get('class', 'it cannot be compared')}", done.code == 0)
    return done.report


# ---- what they share -----------------------------------------------------------------------------


def _file(server: WorkfileServer, arguments: list[Any], position: int, kind: str | None, command: str) -> str:
    uri = arguments[position] if len(arguments) > position else None
    what = {"workflow": "a Workfile", "scenario": "a scenario", None: "a Workfile or a scenario"}[kind]
    if not isinstance(uri, str):
        raise Refused(f"`workfile.server.{command}` takes the URI of {what}.", INVALID_PARAMS)
    path = path_of(uri)
    if path.startswith(VIRTUAL) or not Path(path).is_file():
        raise Refused("This file is not saved: save it, what is saved is run.")
    if kind is not None and file_kind(path) != kind:
        raise Refused(f"`{_name(path)}` is not {what}.", INVALID_PARAMS)
    document = server.files.open.get(path)
    if document is not None and document.text != _saved(path):
        _tell(server, f"{_name(path)} has changes that are not saved: what is saved is run.", True)
    return path


def _saved(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _folder(path: str) -> str:
    return str(Path(path).parent)


def _name(path: str) -> str:
    return Path(path).name


def _tell(server: WorkfileServer, message: str, good: bool) -> None:
    """Say how it went; a client with commands of its own shows that itself."""
    if not server.settings.client_commands:
        kind = types.MessageType.Info if good else types.MessageType.Warning
        server.window_show_message(types.ShowMessageParams(kind, message))


def _refresh(server: WorkfileServer) -> None:
    workspace = server.client.workspace
    if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
        server.protocol.ask(types.WORKSPACE_CODE_LENS_REFRESH)
