"""``attach``: a recorded history is opened, on its own definition or on a Workfile of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from analyzer.report.common import plural
from analyzer.workspace.project import forget_projects
from lsp_server.dap.course import Place, first_place
from lsp_server.dap.exceptions import Told
from lsp_server.dap.motion import Stop
from lsp_server.dap.paths import file_path
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused
from lsp_server.dap.recorded import Recorded
from lsp_server.dap.session import Moment, Session
from lsp_server.dap.sources import Program
from lsp_server.dap.starting import refusal_words, verify_again
from sim_runtime.history import refusal
from sim_runtime.history.load import History
from sim_runtime.replay import definitions, evaluation, reading

Arguments: TypeAlias = dict[str, Any]


def open_history(session: Session, given: Arguments) -> Callable[[], None]:
    """Make a history what is debugged; what begins it. Raises ``Refused``."""
    forget_projects()  # the files may have changed since they were read
    path = file_path(given["history"], session.client.uris)
    program = given.get("program")
    try:
        history = reading.read(path)
        reading.validate(history)
        chosen = definitions.chosen(history.header, _prepared(session, program) if program else None)
        diverges = _divergence(history, chosen) if program else None
    except refusal.Refused as refused:
        raise Refused(f"`{given['history']}`: {refused}") from None
    records = history.records
    at = given.get("at", len(records))
    if at > len(records):
        raise Refused(f"`attach`: `at` is {at}, and the history has {len(records)} usable records", ERROR_ARGUMENTS)
    course = Recorded(records, chosen.definition, at)
    session.debug(course, Program.of(chosen.project, chosen.workflow, recorded=not program))
    session.watch.diverges = diverges
    verify_again(session)
    first = first_place(records)
    session.entry = Moment(Place(0 if first is None else first), first is not None)

    def begin() -> None:
        if history.cut:
            left = plural(history.cut, "record")
            session.say(f"left out: {left} after the last durable boundary, where the executor died")
        for each in history.withheld[:1]:
            session.say(f"values of this history are withheld, from record {each.seq} on (`{each.class_}`)")
        course.stand(0, False)
        session.stopped(Stop("entry"))

    return begin


def _prepared(session: Session, program: str) -> Any:
    from sim_runtime.simulation import CannotSimulate, prepare

    try:
        return prepare(file_path(program, session.client.uris))
    except CannotSimulate as error:
        raise Refused(refusal_words(error)) from None


def _divergence(history: History, chosen: definitions.Chosen) -> Told | None:
    """Where the Workfile decides otherwise than the history; None where it does not, or where that cannot be told."""
    try:
        found = evaluation.reevaluate(history, chosen).divergence
    except refusal.Refused:
        return None
    if found is None:
        return None
    instead = "nothing" if found.evaluated is None else f"`{found.evaluated.kind}` at `{found.evaluated.path}`"
    recorded = f"`{found.recorded.kind}` at `{found.recorded.path}`"
    text = f"here the Workfile comes to {instead} in place of {recorded} ({found.cause})"
    return Told("divergence", found.cause, text, found.recorded)
