"""One debug session: what may come when, what is answered, and which events follow.

Phases: ``new`` (before ``initialize``), ``ready`` (until launch or attach), ``started``, ``ended`` (after
``terminated``). Execution begins when the session is both started and configured. While it runs, ``work`` goes on for a
slice at a time, so that requests are answered between slices.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from analyzer.expressions.types import sentence
from analyzer.language.suggest import hint
from analyzer.language.words import shown
from lsp_server.dap.breakpoints import Breakpoint, Breakpoints
from lsp_server.dap.course import END, HELD, IDLE, Place
from lsp_server.dap.exceptions import Filters
from lsp_server.dap.live import Live
from lsp_server.dap.mirror import Mirror
from lsp_server.dap.motion import Goal, Motion, Stop, Watch
from lsp_server.dap.protocol import (
    ERROR_INTERNAL,
    ERROR_STATE,
    ERROR_UNKNOWN,
    REQUESTS,
    Arguments,
    Refused,
    read_arguments,
)
from lsp_server.dap.recorded import Recorded
from lsp_server.dap.sources import Program
from lsp_server.dap.stack import StackFrame, Threads
from lsp_server.dap.variables import References
from sim_runtime.driver.protocol import Effect
from sim_runtime.driver.run import LimitReached
from sim_runtime.driver.store import StoreError
from sim_runtime.samples import NoSample
from sim_runtime.world.connectors import CannotAnswer

Json: TypeAlias = Any
Send: TypeAlias = Callable[[dict[str, Json]], None]
#: Answers a request; the body of the response, or ``LATER``.
Handler: TypeAlias = Callable[["Session", Arguments], Json]

#: The response follows when the motion that was begun has stopped.
LATER: Final = object()
MAX_BACK: Final = 10_000
#: Why a simulation cannot go on; each says so in words.
NO_SIMULATION: Final = (CannotAnswer, LimitReached, NoSample)
MAX_TOLD: Final = 20_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Client:
    """What the client said of itself."""

    lines_from: int = 1
    columns_from: int = 1
    uris: bool = False
    types: bool = False
    paging: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that is answered when the motion at hand has stopped; ``body`` makes the answer's body."""

    seq: int
    command: str
    body: Callable[[Stop], Json]


@dataclass(frozen=True, slots=True)
class Moment:
    """What ``stepBack`` returns to."""

    place: Place
    standing: bool


class Session:
    """The state of a session. ``course``, ``program`` and ``watch`` are there once it has started. ``asked`` tells
    whether the client wants a request to be given up."""

    def __init__(self, send: Send, handlers: dict[str, Handler], asked: Callable[[int], bool]) -> None:
        self._send = send
        self._asked = asked
        self._handlers = handlers
        self._seq = 0
        self.phase = "new"
        self.finished = False
        self.client = Client()
        self.configured = False
        self.begin: Callable[[], None] | None = None
        self.breakpoints = Breakpoints()
        self.filters = Filters()
        self._course: Live | Recorded | None = None
        self._program: Program | None = None
        self._watch: Watch | None = None
        self.mirror: Mirror | None = None
        #: The arguments of the launch, for ``restart``.
        self.restartable: Arguments = {}
        self.stop_at_end = False
        self.at_end = False
        self.entry = Moment(Place(0), False)
        self.past: deque[Moment] = deque(maxlen=MAX_BACK)
        self.motion: Motion | None = None
        self.waiting: Waiting | None = None
        self.stop: Stop | None = None
        self._stopped_thread = 0
        self.threads = Threads()
        self.frames: list[StackFrame] = []
        self.step_targets: list[Goal] = []
        self.references = References()
        self.exit_code = 0
        self._afterwards: list[Callable[[], None]] = []
        self._request: tuple[int, str] = (0, "")

    # ---- what is debugged -----------------------------------------------------------------------

    @property
    def course(self) -> Live | Recorded:
        """What is debugged. Raises ``Refused`` before the start."""
        if self._course is None:
            raise Refused("nothing is debugged yet: send `launch` or `attach` first", ERROR_STATE)
        return self._course

    @property
    def program(self) -> Program:
        """The Workfiles of the run."""
        if self._program is None:
            raise Refused("nothing is debugged yet: send `launch` or `attach` first", ERROR_STATE)
        return self._program

    @property
    def known_program(self) -> Program | None:
        """The Workfiles of the run, None before the start."""
        return self._program

    @property
    def watch(self) -> Watch:
        """What stops the run."""
        assert self._watch is not None
        return self._watch

    @property
    def live(self) -> Live:
        """The run. Raises ``Refused`` for a recorded history."""
        course = self.course
        if not isinstance(course, Live):
            raise Refused("this is a recorded history: it can be looked at, and nothing can be done to it")
        return course

    @property
    def down(self) -> bool:
        """Whether the executor is dead."""
        return isinstance(self._course, Live) and self._course.down

    @property
    def status(self) -> str:
        """The run's status. One that was decided on, or given its event, goes on: it says so with its next record."""
        course = self.course
        status = course.state.status
        if self.down or not isinstance(course, Live) or status not in ("suspended", "held"):
            return status
        return "running" if course.upcoming() else status

    @property
    def crashes(self) -> list[tuple[int, int, int | None]]:
        """When the executor died, after how many records, and when it was back."""
        return self._course.crashes if isinstance(self._course, Live) else []

    def effects(self) -> list[Effect] | None:
        """What the outside world saw; None of a history."""
        return self._course.run.world.effects() if isinstance(self._course, Live) else None

    def debug(self, course: Live | Recorded, program: Program) -> None:
        """Begin to debug something."""
        self._course = course
        self._program = program
        self._watch = Watch(program, self.breakpoints, self.filters)
        self.threads = Threads()
        self._stopped_thread = 0
        self.past.clear()
        self.stop = None
        self.at_end = False

    # ---- messages -------------------------------------------------------------------------------

    def handle(self, message: Json) -> None:
        """Answer one message; whatever it is, nothing is raised."""
        if not isinstance(message, dict):
            self.refuse_unread("a message is a JSON object")
            return
        seq = message.get("seq")
        if type(seq) is not int:
            self.refuse_unread("a message has a whole number `seq`")
            return
        kind, command = message.get("type"), message.get("command")
        if kind == "response":
            return  # nothing is asked of the client
        self._request = (seq, command if isinstance(command, str) else "")
        self._afterwards = []
        try:
            if kind != "request" or not isinstance(command, str):
                raise Refused("a message of a client has `type: request` and a `command`", ERROR_UNKNOWN)
            body = self._answer(command, message.get("arguments"))
        except Refused as refused:
            self._refuse(seq, self._request[1], refused)
        except NO_SIMULATION as error:
            self._refuse(seq, self._request[1], Refused(str(error)))
        except Exception as error:
            log.exception("%s failed", command)
            self._refuse(seq, self._request[1], Refused(self._internal(error), ERROR_INTERNAL))
        else:
            if body is not LATER:
                self._respond(seq, self._request[1], body)
        self._follow()

    def _follow(self) -> None:
        """What follows the answer to a request."""
        for each in self._afterwards:
            try:
                each()
            except Exception as error:
                log.exception("what follows %s failed", self._request[1])
                self.say(self._internal(error), "stderr")

    def _internal(self, error: Exception) -> str:
        """A fault of the adapter itself, in words; all of it stands in the log."""
        return f"`{shown(self._request[1])}` failed inside the adapter ({type(error).__name__}); the session goes on"

    def _answer(self, command: str, arguments: Json) -> Json:
        request = REQUESTS.get(command)
        if request is None:
            raise Refused(f"there is no request `{shown(command)}`.{hint(command, REQUESTS)}", ERROR_UNKNOWN)
        if self.phase == "new" and command not in ("initialize", "disconnect"):
            raise Refused(f"`initialize` comes before `{command}`", ERROR_STATE)
        given = read_arguments(command, arguments)
        if self.phase == "ended" and command not in _AFTER_THE_END:
            raise Refused("the session has ended", ERROR_STATE)
        if request.when != "any" and self._course is None:
            raise Refused(f"`{command}` comes after `launch` or `attach`", ERROR_STATE)
        if request.when == "begun" and self.stop is None and self.motion is None:
            raise Refused(f"`{command}` comes after `configurationDone`: the run has not begun", ERROR_STATE)
        if request.when == "stopped":
            self.standing(command)
        return self._handlers[command](self, given)

    def refuse_unread(self, reason: str) -> None:
        """Say that something could not be read as a message."""
        self._refuse(0, "", Refused(reason, ERROR_UNKNOWN))

    def cancelled(self) -> bool:
        """Whether the client has cancelled the request at hand, or wants to end."""
        return self._asked(self._request[0])

    def withdraw(self, seq: int, command: str) -> None:
        """Answer a request that the client has cancelled before its turn."""
        self._refuse(seq, command, Refused("the request was cancelled", short="cancelled"))

    def cancel_waiting(self, seq: int) -> None:
        """Cancel the request that waits for its motion, if it is this one."""
        if self.waiting is not None and self.waiting.seq == seq:
            self.interrupt()
            self.stopped(Stop("pause", "cancelled"))

    def interrupt(self) -> None:
        """The run stands at its boundary, and what waited for it is answered."""
        self.motion = None
        if self.waiting is not None:
            self.withdraw(self.waiting.seq, self.waiting.command)
            self.waiting = None

    def _refuse(self, seq: int, command: str, refused: Refused) -> None:
        text = str(refused)[:MAX_TOLD]
        text = text if "\n" in text else sentence(text)
        error = {"id": refused.number, "format": text, "showUser": True}
        self._out(
            "response",
            request_seq=seq,
            success=False,
            command=command,
            message=refused.short or text,
            body={"error": error},
        )

    def _respond(self, seq: int, command: str, body: Json) -> None:
        more = {} if body is None else {"body": body}
        self._out("response", request_seq=seq, success=True, command=command, **more)

    def event(self, name: str, **body: Json) -> None:
        """Send an event."""
        more = {"body": body} if body else {}
        self._out("event", event=name, **more)

    def _out(self, kind: str, **fields: Json) -> None:
        self._seq += 1
        self._send({"seq": self._seq, "type": kind, **fields})

    def afterwards(self, act: Callable[[], None]) -> None:
        """Do something when the request at hand has been answered."""
        self._afterwards.append(act)

    def say(self, text: str, category: str = "console", breakpoint_: Breakpoint | None = None) -> None:
        """Print a line in the client's console."""
        place: dict[str, Json] = {}
        if breakpoint_ is not None and breakpoint_.file is not None and breakpoint_.spots:
            place = {
                "source": self.source(breakpoint_.file),
                "line": breakpoint_.spots[0].line + self.client.lines_from,
            }
        self.event("output", category=category, output=f"{text}\n", **place)

    def source(self, file: Any) -> Json:
        """A Workfile as the protocol's source."""
        from lsp_server.uris import Spellings

        if file.reference:
            return {"name": file.name, "sourceReference": file.reference, "origin": "recorded in the history"}
        return {"name": file.name, "path": Spellings().uri_of(file.path) if self.client.uris else file.path}

    # ---- going on -------------------------------------------------------------------------------

    def standing(self, command: str) -> None:
        """Raises ``Refused`` while the run goes on."""
        if self.stop is None:
            raise Refused(f"`{command}` is for a run that is stopped, and this one is not", ERROR_STATE, "notStopped")

    def up(self) -> None:
        """Raises ``Refused`` while the executor is dead."""
        if self.down:
            raise Refused("the executor is down: `workfile/resume` (in the console: `resume`) brings it back")

    def keep(self) -> None:
        """Remember where the session stands, for ``stepBack``."""
        self.past.append(Moment(self.course.place, self.course.standing))

    def move(self, goal: Goal, body: Callable[[Stop], Json] | None = None) -> Json:
        """Begin a motion; with ``body`` the request at hand is answered when it has stopped."""
        self.motion = Motion(self.course, self.watch, goal, lambda text, at: self.say(text, "console", at))
        self.stop = None
        self.references.clear()
        self.frames = []
        if body is None:
            return None
        self.waiting = Waiting(*self._request, body)
        return LATER

    def work(self) -> None:
        """A slice of the motion under way."""
        assert self.motion is not None
        before = len(self.crashes)
        try:
            stop = self.motion.work()
        except NO_SIMULATION as error:
            stop = self._failed(str(error))
        except Exception as error:
            log.exception("a motion failed")
            stop = self._failed(self._internal(error))
        for at, records, back in self.crashes[before:]:
            self.say(_crash_words(at, records, back))
        if stop is not None:
            self.stopped(stop)

    def _failed(self, words: str) -> Stop:
        """The simulation cannot go on from here."""
        self.exit_code = 1
        self.say(words, "stderr")
        return Stop("exception", words, ended=IDLE if self.watch.muted else None)

    def stopped(self, stop: Stop) -> None:
        """The run stands: answer what waits for that, and tell the client, or end."""
        motion, self.motion = self.motion, None
        waiting, self.waiting = self.waiting, None
        command = waiting.command if waiting is not None else self._request[1] if motion is None else ""
        asked = waiting is not None and waiting.command != "evaluate"
        if stop.ended is not None and self._ends(stop.ended, asked):
            if waiting is not None:
                self._respond(waiting.seq, waiting.command, waiting.body(stop))
            self.terminate()
            return
        self.stop = stop
        self.references.clear()
        self.frames = []
        self.step_targets = []
        course = self.course
        self.threads.look(course)
        self._keep()
        if waiting is not None:
            self._respond(waiting.seq, waiting.command, waiting.body(stop))
        thread = self.threads.of(stop.id or self.standing_id())
        body: dict[str, Json] = {
            "reason": stop.reason,
            "description": self._description(stop),
            "threadId": thread,
            "allThreadsStopped": True,
        }
        # Who moves the run from a console or a panel goes on typing there; which of several threads stands is shown.
        alone = thread == self._stopped_thread and len(self.threads.listed) == 1
        if alone and (command == "evaluate" or command.startswith("workfile/")):
            body["preserveFocusHint"] = True
        self._stopped_thread = thread
        if stop.text:
            body["text"] = stop.text
        if stop.breakpoints:
            body["hitBreakpointIds"] = list(stop.breakpoints)
        self.event("stopped", **body)

    def _ends(self, why: str, asked: bool) -> bool:
        """Whether the session ends where nothing can act any more: not where it is held, nor in a request of ours."""
        if self.watch.muted:
            return True
        if why in (HELD, IDLE, END):
            return False
        stays = asked or (self.stop_at_end and not self.at_end)
        self.at_end = True
        return not stays

    def standing_id(self) -> str:
        course = self.course
        coming = course.upcoming() if course.standing else ()
        if coming:
            return coming[0].id
        count = course.count
        return course.record(count).id if count else ""

    def _description(self, stop: Stop) -> str:
        if stop.ended is not None:
            return stop.text.capitalize()
        if stop.told is not None:
            return f"Paused on {stop.told.filter}"
        return _DESCRIPTIONS.get(stop.reason, f"Paused on {stop.reason}")

    def stand_after(self, reason: str) -> None:
        """Say that the run stands when the request at hand has been answered; the last reason counts."""
        self._afterwards = [lambda: self.stopped(Stop(reason))]

    def settle(self) -> Stop | None:
        """Stand before the step that comes next, when it is known; what it hits."""
        course = self.course
        if isinstance(course, Live):
            course.settle()
        coming = course.upcoming()
        if not course.standing or not coming:
            return None
        return self.watch.before(
            course, coming[0], lambda: course.state_before(0), lambda text, at: self.say(text, "console", at)
        )

    def _keep(self) -> None:
        """Let the store hold what the run has written; the session goes on without a store that cannot."""
        if self.mirror is None or not isinstance(self._course, Live):
            return
        try:
            self.mirror.copy(self._course.durable)
        except StoreError as error:
            self.say(f"the run is kept in the store no more: {error}", "stderr")
            self.mirror.close()
            self.mirror = None

    # ---- the end --------------------------------------------------------------------------------

    def terminate(self) -> None:
        """End the session; the events of the end come once."""
        if self.phase == "ended":
            return
        self.interrupt()
        self.stop = None
        if self._course is not None:
            self._tell_outcome()
        started = self.phase == "started"
        self.phase = "ended"
        self._keep()
        if self.mirror is not None:
            self.mirror.close()
            self.mirror = None
        if started:
            self.event("exited", exitCode=self.exit_code)
            self.event("terminated")

    def _tell_outcome(self) -> None:
        from sim_runtime.timeline import describe

        course = self._course
        if not isinstance(course, Live):
            return
        ended = next((each for each in reversed(course.durable) if each.kind == "run.finished" and not each.id), None)
        words = describe(ended) if ended is not None else None
        status = course.run.status
        self.say(f"the run {words[0]}" if words is not None else f"the run was left {status}")
        if course.run.over and course.simulation.unfired:
            from sim_runtime.simulation import unfired_words

            self.exit_code = 1
            left = "; ".join(unfired_words(each) for each in course.simulation.unfired)
            self.say(f"the scenario's crashes never came: {left}", "stderr")


_AFTER_THE_END: Final = frozenset({"disconnect", "terminate", "cancel", "workfile/timeline", "source", "loadedSources"})
_DESCRIPTIONS: Final = {
    "entry": "Paused on entry",
    "step": "Paused after a step",
    "pause": "Paused",
    "goto": "Paused at the record",
    "crash": "The executor is down",
    "resume": "The executor is back",
    "advance": "The clock was moved",
    "deliver": "An event arrived",
    "decide": "An operator decided",
    "cancel": "The run was cancelled",
    "explore": "Explored from here",
}


def _crash_words(at: int, records: int, back: int | None) -> str:
    from analyzer.language.durations import format_duration

    later = f", and is back after {format_duration(back - at)}" if back is not None and back > at else ""
    return f"the executor dies after record {records}{later}"
