"""Requests that look: threads, frames, scopes, variables, evaluation, exceptions, sources."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from lsp_server.dap.expressions import BadExpression, read_expression, reason_of
from lsp_server.dap.moving import frame_of, thread_of
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused
from lsp_server.dap.scopes import SCOPES, inside_of
from lsp_server.dap.session import Session
from lsp_server.dap.stack import StackFrame, frames_of
from lsp_server.dap.variables import MAX_CHILDREN, Inside, Variable, variable, whole_text
from sim_runtime.core.reading import Scope

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

MAX_FRAMES: Final = 200_000
CONTEXTS: Final = ("watch", "repl", "hover", "clipboard", "variables")


def threads(session: Session, _given: Arguments) -> Json:
    """The lines of execution; while the run goes on, those of its last boundary."""
    session.threads.look(session.course)
    down = " (the executor is down)" if session.down else ""
    ids = session.threads.ids
    return {"threads": [{"id": ids[each.address], "name": each.name + down} for each in session.threads.listed]}


def stack_trace(session: Session, given: Arguments) -> Json:
    """The scopes of a thread, innermost first."""
    found = frames_of(session.course, session.program, thread_of(session, given["threadId"]))
    start = given.get("startFrame", 0)
    levels = given.get("levels") or len(found)
    shown = found[start : start + levels]
    if len(session.frames) + len(shown) > MAX_FRAMES:
        raise Refused(f"more than {MAX_FRAMES:,} frames were asked for at this stop")
    return {"stackFrames": [_frame_json(session, each) for each in shown], "totalFrames": len(found)}


def _frame_json(session: Session, frame: StackFrame) -> Json:
    client, spot = session.client, frame.spot
    session.frames.append(frame)
    line, column = (spot.line, frame.file.column(spot)) if spot is not None else (0, 0)
    return {
        "id": len(session.frames),
        "name": frame.name,
        "source": session.source(frame.file),
        "line": line + client.lines_from,
        "column": column + client.columns_from,
        "canRestart": session.course.count > 0,
    }


def scopes(session: Session, given: Arguments) -> Json:
    """What can be looked at in a frame."""
    frame = frame_of(session, given["frameId"])
    found = []
    for name, hint in SCOPES:
        number = session.references.add(inside_of(name, session, frame))
        each: dict[str, Json] = {"name": name, "variablesReference": number, "expensive": False}
        if hint is not None:
            each["presentationHint"] = hint
        found.append(each)
    return {"scopes": found}


def variables(session: Session, given: Arguments) -> Json:
    """What is inside a scope or a value."""
    found = session.references.open(
        given["variablesReference"], given.get("filter"), given.get("start", 0), given.get("count", 0)
    )
    return {"variables": [_variable_json(session, each) for each in found[:MAX_CHILDREN]]}


def _variable_json(session: Session, each: Variable) -> Json:
    found: dict[str, Json] = {"name": each.name, "value": each.text, **_opens(session, each.inside)}
    if session.client.types and each.type:
        found["type"] = each.type
    if each.expression is not None:
        found["evaluateName"] = each.expression
    found["presentationHint"] = {"attributes": ["readOnly"]}
    return found


def _opens(session: Session, inside: Inside | None) -> dict[str, Json]:
    found: dict[str, Json] = {"variablesReference": session.references.add(inside)}
    if inside is not None and session.client.paging:
        found["namedVariables" if inside.named else "indexedVariables"] = inside.named or inside.indexed
    return found


def scope_of(session: Session, frame_id: int | None) -> Scope:
    """Where an expression is evaluated: in a frame, or else where the run stands."""
    if frame_id is not None:
        return frame_of(session, frame_id).scope
    course = session.course
    session.threads.look(course)
    thread = session.threads.by_id(session.threads.of(session.standing_id())) or session.threads.listed[0]
    return frames_of(course, session.program, thread)[0].scope


def evaluate_(session: Session, given: Arguments) -> Json:
    """The value of an expression; in the console, a command comes first."""
    from lsp_server.dap import console

    context = given.get("context", "repl")
    text = given["expression"]
    if context not in CONTEXTS:
        raise Refused(f"`evaluate`: `context` is one of {', '.join(CONTEXTS)}, not `{context[:40]}`", ERROR_ARGUMENTS)
    if context == "repl" and console.is_command(text):
        return console.perform(session, text)
    session.standing("evaluate")
    scope = scope_of(session, given.get("frameId"))
    try:
        value = evaluate(read_expression(text), scope)
    except BadExpression as error:
        raise Refused(str(error)) from None
    except (Fault, KeyError) as error:
        raise Refused(reason_of(error)) from None
    if context == "clipboard":
        return {"result": whole_text(value), "variablesReference": 0}
    each = variable("", value, text.strip())
    found: dict[str, Json] = {"result": each.text, **_opens(session, each.inside)}
    if session.client.types:
        found["type"] = each.type
    found["presentationHint"] = {"attributes": ["readOnly"]}
    return found


def exception_info(session: Session, given: Arguments) -> Json:
    """What an exception stop is about."""
    thread_of(session, given["threadId"])
    stop = session.stop
    if stop is None or stop.reason != "exception":
        raise Refused("the run did not stop at an exception")
    told = stop.told
    if told is None:
        return {"exceptionId": "simulation", "description": stop.text, "breakMode": "always"}
    details: dict[str, Json] = {"message": told.text, "typeName": told.filter}
    record = told.record
    if record is not None:
        details["fullTypeName"] = record.kind
        details["stackTrace"] = f"record {record.seq}, `{record.kind}` at `{record.path}`"
    return {"exceptionId": told.name, "description": told.text, "breakMode": "always", "details": details}


def source(session: Session, given: Arguments) -> Json:
    """The text of a Workfile that is no file of the client."""
    reference = given.get("sourceReference", 0) or (given.get("source") or {}).get("sourceReference", 0)
    file = session.program.by_reference(reference) if type(reference) is int else None
    if file is None:
        raise Refused(f"there is no source {reference}", ERROR_ARGUMENTS)
    return {"content": file.source.text, "mimeType": "text/x-yaml"}


def loaded_sources(session: Session, _given: Arguments) -> Json:
    """The Workfiles of the run."""
    return {"sources": [session.source(each) for each in session.program.files.values()]}
