"""Going on and back: ``continue``, steps, ``pause``, ``stepBack``, ``reverseContinue``, ``goto``, ``restartFrame``."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.language.durations import format_duration
from lsp_server.dap.course import is_place, places_before
from lsp_server.dap.motion import Goal, Stop, count_hits, last_stop_before
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused
from lsp_server.dap.session import Moment, Session
from lsp_server.dap.setting import file_of
from lsp_server.dap.stack import StackFrame, Thread
from sim_runtime.history.paths import UNDO, Address, identity_of
from sim_runtime.history.records import Record

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

MAX_TARGETS: Final = 200

#: Where one can step into a step of a kind: words, and the records after which it stops.
_ANSWERS: Final = frozenset({"action.succeeded", "action.failed", "action.ambiguous", "action.suppressed"})
STEP_TARGETS: Final[dict[str, tuple[tuple[str, frozenset[str]], ...]]] = {
    "action": (
        ("its intent is written (action.prepared)", frozenset({"action.prepared"})),
        ("the call is out (action.dispatched)", frozenset({"action.dispatched"})),
        ("the answer is there", _ANSWERS),
    ),
    "wf.wait": (("its timer runs (timer.set)", frozenset({"timer.set"})),),
    "wf.wait_for": (
        ("it takes events (subscription.opened)", frozenset({"subscription.opened"})),
        ("an event was accepted (event.accepted)", frozenset({"event.accepted"})),
        ("it was decided (wait.selected)", frozenset({"wait.selected"})),
    ),
    "wf.call": (("the child run is linked (child.started)", frozenset({"child.started"})),),
}


def continue_(session: Session, _given: Arguments) -> Json:
    """On to the next stop."""
    session.up()
    session.keep()
    session.move(Goal("continue"))
    return {"allThreadsContinued": True}


def next_(session: Session, given: Arguments) -> Json:
    """Over the step at hand."""
    return _step(session, given, "next")


def step_out(session: Session, given: Arguments) -> Json:
    """Out of the list that the step at hand stands in."""
    return _step(session, given, "out")


def step_in(session: Session, given: Arguments) -> Json:
    """To the next step, wherever it is; to a place inside the step when one was chosen."""
    target = given.get("targetId")
    if target is None:
        return _step(session, given, "in")
    if not 1 <= target <= len(session.step_targets):
        raise Refused(f"`stepIn`: there is no target {target}: ask `stepInTargets` at this stop", ERROR_ARGUMENTS)
    session.up()
    session.keep()
    return session.move(session.step_targets[target - 1])


def _step(session: Session, given: Arguments, kind: str) -> Json:
    granularity = given.get("granularity", "statement")
    if granularity not in ("statement", "line", "instruction"):
        raise Refused("`granularity` is `statement`, `line` or `instruction`", ERROR_ARGUMENTS)
    thread = thread_of(session, given["threadId"])
    session.up()
    session.keep()
    return session.move(Goal("boundary" if granularity == "instruction" else kind, origin_of(thread)))


def thread_of(session: Session, number: int) -> Thread:
    """The thread of an id. Raises ``Refused``."""
    thread = session.threads.by_id(number)
    if thread is None:
        raise Refused(f"there is no thread {number}", ERROR_ARGUMENTS)
    return thread


def origin_of(thread: Thread) -> Address:
    """The step that stepping starts from."""
    at = thread.at or ()
    return at[:-1] if at and at[-1] == UNDO else at


def pause(session: Session, _given: Arguments) -> Json:
    """Stop at the next durable boundary; a run that stands already goes on standing."""
    if session.motion is not None:
        session.afterwards(lambda: _pause(session))
    return None


def _pause(session: Session) -> None:
    if session.motion is not None:
        session.stopped(Stop("pause"))


# ---- back ---------------------------------------------------------------------------------------


def step_back(session: Session, _given: Arguments) -> Json:
    """Undo the last command that moved the run; with none left, to the step before."""
    course = session.course
    here = Moment(course.place, course.standing)
    while session.past and session.past[-1] == here:
        session.past.pop()
    moment: Moment | None = None
    if session.past:
        moment = session.past.pop()
    else:
        before = list(places_before(course.seen(), course.count + 1))[-1:]
        if before and not session.down:
            moment = Moment(course.place_of(before[0].seq), True)
    if moment is None or moment == here:
        raise Refused("this is the beginning: there is nothing to go back to")
    _go(session, moment, Stop("step"))
    return None


def reverse_continue(session: Session, _given: Arguments) -> Json:
    """Back to the last stop before, or to the start."""
    course = session.course
    found = last_stop_before(course, session.watch, course.count + 1)
    moment, stop = session.entry, Stop("entry")
    if found is not None:
        record, stop, before = found
        moment = Moment(course.place_of(record.seq) if before else course.place_after(record.seq), before)
    session.past = type(session.past)((each for each in session.past if each.place < moment.place), session.past.maxlen)
    _go(session, moment, stop)
    return None


def goto_targets(session: Session, given: Arguments) -> Json:
    """The records at which the steps of a line began: one can go to each. A target's id is the record's number."""
    _, file, why = file_of(session, given["source"])
    if file is None:
        raise Refused(f"`gotoTargets`: {why}")
    client = session.client
    wanted = {(file.path, spot.path) for spot in file.at(given["line"] - client.lines_from).spots}
    found = [each for each in _all_places(session) if _key(session, each) in wanted]
    return {"targets": [_target(session, each) for each in found[-MAX_TARGETS:]]}


def _all_places(session: Session) -> list[Record]:
    course = session.course
    coming = course.upcoming()
    return [each for each in (*course.seen(), *coming) if is_place(each)]


def _key(session: Session, record: Record) -> tuple[str, str]:
    file, path = session.program.place(record.id)
    return file.path, path


def _target(session: Session, record: Record) -> Json:
    file, spot = session.program.locate(record.id)
    since = format_duration(record.at - session.course.start_us)
    line = spot.line if spot is not None else 0
    label = f"record {record.seq}, at +{since}: {record.path}"
    column = file.column(spot) if spot is not None else 0
    client = session.client
    return {"id": record.seq, "label": label, "line": line + client.lines_from, "column": column + client.columns_from}


def goto(session: Session, given: Arguments) -> Json:
    """Stand before a record that has happened, or that is known to come."""
    course, seq = session.course, given["targetId"]
    last = course.count + max(course.future, len(course.upcoming()))
    if not 1 <= seq <= last:
        raise Refused(f"there is no record {seq}: those from 1 to {last} are known", ERROR_ARGUMENTS)
    session.keep()
    # Before a step the clock has come to where it begins; before another record nothing was done yet.
    known = (*course.seen(), *course.upcoming())
    begins = seq <= len(known) and is_place(known[seq - 1])
    after = 1 < seq <= course.count + 1 and not begins
    moment = Moment(course.place_after(seq - 1) if after else course.place_of(seq), False)
    _go(session, moment, Stop("goto"), place=True)
    return None


def restart_frame(session: Session, given: Arguments) -> Json:
    """Back to before the step of a frame began."""
    frame = frame_of(session, given["frameId"])
    at = frame.at[:-1] if frame.at and frame.at[-1] == UNDO else frame.at
    if not at:
        return _restart_run(session)
    identity = identity_of(at)
    course = session.course
    begun = [each for each in places_before(course.seen(), course.count + 1) if each.id == identity]
    if begun:
        session.keep()
        _go(session, Moment(course.place_of(begun[-1].seq), True), Stop("step"))
    else:  # the session stands before it
        session.afterwards(lambda: session.stopped(Stop("step")))
    return None


def _restart_run(session: Session) -> None:
    session.keep()
    _go(session, session.entry, Stop("entry"))


def frame_of(session: Session, number: int) -> StackFrame:
    """The frame of an id. Raises ``Refused``."""
    if not 1 <= number <= len(session.frames):
        raise Refused(f"there is no frame {number}: it was of an earlier stop", ERROR_ARGUMENTS)
    return session.frames[number - 1]


def _go(session: Session, moment: Moment, stop: Stop, *, place: bool = False) -> None:
    """Go to a moment, and say so when the request is answered. ``place``: stand before a step that begins there."""
    course = session.course
    course.go_to(moment.place)
    coming = course.upcoming()
    standing = moment.standing or (place and bool(coming) and is_place(coming[0]))
    course.stand(0, standing)
    session.at_end = False
    count_hits(course, session.watch)
    session.afterwards(lambda: session.stopped(stop))


def step_in_targets(session: Session, given: Arguments) -> Json:
    """Where one can step into the step of a frame."""
    from sim_runtime.core.places import step_of

    frame = frame_of(session, given["frameId"])
    step = step_of(frame.definition, frame.at)
    session.step_targets = []
    targets = []
    for words, kinds in STEP_TARGETS.get(step.kind, ()) if step is not None else ():
        session.step_targets.append(Goal("target", frame.at, targets=kinds))
        targets.append({"id": len(session.step_targets), "label": words})
    return {"targets": targets}
