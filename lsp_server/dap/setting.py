"""Requests that set breakpoints and filters."""

from __future__ import annotations

from typing import Any, TypeAlias

from analyzer.check import engine_for
from analyzer.expressions.types import sentence
from analyzer.workspace.files import file_kind
from analyzer.workspace.project import project_for
from lsp_server.dap.breakpoints import Breakpoint
from lsp_server.dap.motion import count_hits
from lsp_server.dap.paths import source_path
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Argument, Refused, check_arguments
from lsp_server.dap.session import Session
from lsp_server.dap.sources import WorkFile

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

_TEXT = Argument("text")
_LINE = {
    "line": Argument("integer", True),
    "column": Argument("integer"),
    "condition": _TEXT,
    "hitCondition": _TEXT,
    "logMessage": _TEXT,
}
_FUNCTION = {"name": Argument("text", True), "condition": _TEXT, "hitCondition": _TEXT}


def set_breakpoints(session: Session, given: Arguments) -> Json:
    """The breakpoints of one file."""
    wanted = given.get("breakpoints")
    if wanted is None:
        lines = given.get("lines", [])
        if not isinstance(lines, list):
            raise Refused("`setBreakpoints`: `lines` is a list of whole numbers", ERROR_ARGUMENTS)
        wanted = [{"line": line} for line in lines]
    entries = [check_arguments("setBreakpoints", each, _LINE) for each in wanted]
    key, file, why = file_of(session, given["source"])
    client = session.client

    def position(entry: Arguments) -> tuple[int, int | None]:
        column = entry.get("column")
        return entry["line"] - client.lines_from, None if column is None else max(column - client.columns_from, 0)

    found = session.breakpoints.set_lines(key, file, entries, why, position)
    program = session.known_program
    if program is not None:
        session.breakpoints.look_again(program)
        count_hits(session.course, session.watch)
    return {"breakpoints": [breakpoint_json(session, each) for each in found]}


def set_function_breakpoints(session: Session, given: Arguments) -> Json:
    """The breakpoints by step path."""
    entries = [check_arguments("setFunctionBreakpoints", each, _FUNCTION) for each in given["breakpoints"]]
    program = session.known_program
    found = session.breakpoints.set_functions(entries, program)
    if program is not None:
        count_hits(session.course, session.watch)
    return {"breakpoints": [breakpoint_json(session, each) for each in found]}


def set_exception_breakpoints(session: Session, given: Arguments) -> Json:
    """The filters of exceptions."""
    return {"breakpoints": session.filters.set(given["filters"], given.get("filterOptions", []))}


def breakpoint_locations(session: Session, given: Arguments) -> Json:
    """Where breakpoints can stand on some lines."""
    _, file, _ = file_of(session, given["source"])
    if file is None:
        return {"breakpoints": []}
    client = session.client
    first = given["line"] - client.lines_from
    last = given["endLine"] - client.lines_from if "endLine" in given else first
    places = {(spot.line, file.column(spot)) for spot in file.spots if first <= spot.line <= last}
    return {
        "breakpoints": [
            {"line": line + client.lines_from, "column": column + client.columns_from}
            for line, column in sorted(places)
        ]
    }


def file_of(session: Session, source: Json) -> tuple[str, WorkFile | None, str]:
    """A key for a source, its Workfile, and why there is none."""
    program = session.known_program
    reference = source.get("sourceReference")
    if type(reference) is int and reference > 0:
        file = program.by_reference(reference) if program is not None else None
        return f"\x00{reference}" if file is None else file.path, file, "there is no such source"
    path = source_path(source, session.client.uris)
    if path is None:
        raise Refused("`source` lacks its `path`", ERROR_ARGUMENTS)
    if program is not None and path in program.files:
        return path, program.files[path], ""
    project = project_for(path)
    if file_kind(path) != "workflow":
        return path, None, "this is not a Workfile: breakpoints stand on steps"
    document = project.document(path)
    workflow = None if document is None else engine_for(project).typed(path)
    if document is None or workflow is None:
        return path, None, f"the file cannot be read: {project.unreadable(path) or 'it cannot be analysed'}"
    return path, WorkFile(path, document.source, workflow), ""


def breakpoint_json(session: Session, breakpoint_: Breakpoint) -> Json:
    """A breakpoint as the protocol has it."""
    found: dict[str, Json] = {"id": breakpoint_.id, "verified": breakpoint_.verified}
    if breakpoint_.message:
        found["message"] = sentence(breakpoint_.message)
    file = breakpoint_.file
    if file is not None:
        found["source"] = session.source(file)
        if breakpoint_.spots:
            found["line"] = breakpoint_.spots[0].line + session.client.lines_from
            found["column"] = file.column(breakpoint_.spots[0]) + session.client.columns_from
    return found
