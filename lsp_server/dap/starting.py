"""``initialize``, ``launch``, ``attach``, ``configurationDone``, ``restart``, and the ways to end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.report.text import render_headline
from analyzer.shown import shown_path
from analyzer.workspace.files import file_kind
from analyzer.workspace.project import forget_projects
from lsp_server.dap.breakpoints import Breakpoint
from lsp_server.dap.course import Place
from lsp_server.dap.live import Live
from lsp_server.dap.mirror import Mirror
from lsp_server.dap.motion import Goal, Stop
from lsp_server.dap.paths import file_path
from lsp_server.dap.protocol import CAPABILITIES, ERROR_ARGUMENTS, ERROR_STATE, LAUNCH, Refused, check_arguments
from lsp_server.dap.session import Client, Moment, Session
from lsp_server.dap.sources import Program

if TYPE_CHECKING:
    from sim_runtime.simulation import CannotSimulate, Changes, Prepared

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

MAX_FINDINGS: Final = 20


def initialize(session: Session, given: Arguments) -> Json:
    """Say what the adapter can do; then the client may configure it."""
    if session.phase != "new":
        raise Refused("`initialize` comes once", ERROR_STATE)
    format_ = given.get("pathFormat", "path")
    if format_ not in ("path", "uri"):
        raise Refused(f"`initialize`: `pathFormat` is `path` or `uri`, not `{format_[:40]}`", ERROR_ARGUMENTS)
    session.client = Client(
        1 if given.get("linesStartAt1", True) else 0,
        1 if given.get("columnsStartAt1", True) else 0,
        format_ == "uri",
        given.get("supportsVariableType", False),
        given.get("supportsVariablePaging", False),
    )
    session.phase = "ready"
    session.afterwards(lambda: session.event("initialized"))
    return CAPABILITIES


def launch(session: Session, given: Arguments) -> Json:
    """Load and compile a Workfile; it runs when the client is done with the configuration."""
    _only_once(session, "launch")
    start_live(session, given)
    session.phase = "started"
    _begin_when_ready(session)
    return None


def attach(session: Session, given: Arguments) -> Json:
    """Open a recorded history."""
    from lsp_server.dap.attaching import open_history

    _only_once(session, "attach")
    session.begin = open_history(session, given)
    session.phase = "started"
    _begin_when_ready(session)
    return None


def configuration_done(session: Session, _given: Arguments) -> Json:
    """The client has set its breakpoints."""
    if session.configured:
        raise Refused("`configurationDone` comes once", ERROR_STATE)
    session.configured = True
    _begin_when_ready(session)
    return None


def restart(session: Session, given: Arguments) -> Json:
    """Begin again, with new arguments where there are some."""
    _ = session.live  # a history is not begun again: one goes back in it with `reverseContinue`
    arguments = given.get("arguments")
    start_live(session, session.restartable if arguments is None else check_arguments("restart", arguments, LAUNCH))
    session.interrupt()
    session.breakpoints.forget_hits()
    _begin_when_ready(session)
    return None


def disconnect(session: Session, _given: Arguments) -> Json:
    """End the session, and the adapter with it."""
    session.terminate()
    session.finished = True
    return None


def terminate(session: Session, _given: Arguments) -> Json:
    """End the run; the client still disconnects."""
    session.afterwards(session.terminate)
    return None


def _only_once(session: Session, command: str) -> None:
    if session.phase != "ready":
        raise Refused(f"`{command}` comes once in a session", ERROR_STATE)


def _begin_when_ready(session: Session) -> None:
    if session.configured and session.phase == "started" and session.begin is not None:
        session.afterwards(session.begin)


# ---- a run --------------------------------------------------------------------------------------


def start_live(session: Session, given: Arguments) -> None:
    """Make the run of these arguments what is debugged. Raises ``Refused``."""
    from sim_runtime.simulation import CannotSimulate, prepare

    forget_projects()  # the files may have changed since they were read
    program, scenario = given.get("program"), given.get("scenario")
    if program and not scenario and file_kind(program) == "scenario":
        program, scenario = None, program  # the file at hand, in an editor
    if not program and not scenario:
        raise Refused(
            "`launch`: `program` is missing: the path of a Workfile (a `scenario` may name it)", ERROR_ARGUMENTS
        )
    try:
        prepared = prepare(
            file_path(program, session.client.uris) if program else None,
            file_path(scenario, session.client.uris) if scenario else None,
        )
        prepared.changes = _changes(given, prepared.scenario.start_us)
        _debug(session, prepared, given)
    except CannotSimulate as error:
        raise Refused(refusal_words(error)) from None


def _debug(session: Session, prepared: Prepared, given: Arguments) -> None:
    from sim_runtime.driver.store import StoreError

    def dropped(first: int, last: int) -> None:
        if last >= first:
            what = f"record {first}" if first == last else f"records {first} to {last}"
            session.say(f"the future was dropped ({what}): the run goes another way from here")

    course = Live(prepared, dropped)
    store = given.get("store")
    if store:
        path = file_path(store, session.client.uris)
        if session.mirror is not None and (session.mirror.path, session.mirror.run_id) != (path, course.run.run_id):
            session.mirror.close()
            session.mirror = None
        try:
            if session.mirror is None:
                session.mirror = Mirror(path, course.run.run_id, course.simulation.header.json())
        except StoreError as error:
            raise Refused(str(error)) from None
    session.debug(course, Program.of(prepared.project, prepared.workflow))
    session.restartable = given
    session.stop_at_end = given.get("stopAtEnd", False)
    session.watch.muted = given.get("noDebug", False)
    verify_again(session)
    on_entry = given.get("stopOnEntry", False) and not session.watch.muted
    session.begin = lambda: _begin_run(session, on_entry)


def verify_again(session: Session) -> None:
    """Now that the run's Workfiles are known: tell which breakpoints have no place in it, or another one."""
    for each in session.breakpoints.look_again(session.program):
        session.afterwards(partial(_changed, session, each))


def _changed(session: Session, breakpoint_: Breakpoint) -> None:
    from lsp_server.dap.setting import breakpoint_json

    session.event("breakpoint", reason="changed", breakpoint=breakpoint_json(session, breakpoint_))


def _begin_run(session: Session, on_entry: bool) -> None:
    """Accept the run, and go on to the first stop."""
    course = session.live
    course.act()
    course.settle()
    session.entry = Moment(course.place, course.standing)
    if on_entry and not course.run.over:
        hit = session.settle()
        session.stopped(Stop("entry", breakpoints=hit.breakpoints if hit is not None else ()))
    else:
        course.go_to(Place(0))
        session.move(Goal("continue"))


def _changes(given: Arguments, start_us: int) -> Changes:
    from lsp_server.dap.values import plain_json
    from sim_runtime.simulation import Changes
    from sim_runtime.world.scenario import UNSET

    inputs = given.get("inputs", {})
    plain_json(inputs, "inputs")
    trigger = given.get("trigger", UNSET)
    if "trigger" in given:
        plain_json(trigger, "trigger")
    until = given.get("until")
    return Changes(
        inputs=inputs,
        trigger=trigger,
        until_us=None if until is None else _until(until, start_us),
        seed=given.get("seed"),
        dry_run=given.get("dryRun", False),
    )


def _until(text: str, start_us: int) -> int:
    from lsp_server.dap.values import instant_of

    us = instant_of(text, start_us, "until")
    if us < start_us:
        raise Refused(f"`until`: `{text[:40]}` is before the start of the simulated clock")
    return us - start_us


def refusal_words(error: CannotSimulate) -> str:
    """Why nothing is run, with the findings, a line each."""
    told = error.findings[:MAX_FINDINGS]
    lines = [str(error), *(render_headline(replace(each, path=shown_path(each.path))) for each in told)]
    left = len(error.findings) - MAX_FINDINGS
    if left > 0:
        lines.append(f"and {left} more: `workfile check` lists them all")
    return "\n".join(lines)
