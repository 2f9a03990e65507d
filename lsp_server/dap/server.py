"""The adapter as a process: one client on standard input and output, or on a local port."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any, BinaryIO, Final, TypeAlias

from lsp_server.dap import completing, looking, moving, own, setting, starting
from lsp_server.dap.session import Handler, Session
from lsp_server.dap.timeline import timeline
from lsp_server.transport import ByteWriter, Unreadable, over_stdio, over_tcp, read_messages

Json: TypeAlias = Any

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
MAX_WAITING: Final = 4_096
MAX_CANCELLED: Final = 10_000

_END: Final = object()
_NOTHING: Final = object()


def cancel(session: Session, given: dict[str, Any]) -> Json:
    """Cancel a request. One that waits for its turn was withdrawn when it came; one at work stops."""
    wanted = given.get("requestId")
    if wanted is not None:
        session.afterwards(lambda: session.cancel_waiting(wanted))


HANDLERS: Final[dict[str, Handler]] = {
    "initialize": starting.initialize,
    "launch": starting.launch,
    "attach": starting.attach,
    "configurationDone": starting.configuration_done,
    "disconnect": starting.disconnect,
    "terminate": starting.terminate,
    "restart": starting.restart,
    "cancel": cancel,
    "setBreakpoints": setting.set_breakpoints,
    "setFunctionBreakpoints": setting.set_function_breakpoints,
    "setExceptionBreakpoints": setting.set_exception_breakpoints,
    "breakpointLocations": setting.breakpoint_locations,
    "threads": looking.threads,
    "stackTrace": looking.stack_trace,
    "scopes": looking.scopes,
    "variables": looking.variables,
    "evaluate": looking.evaluate_,
    "completions": completing.completions,
    "exceptionInfo": looking.exception_info,
    "source": looking.source,
    "loadedSources": looking.loaded_sources,
    "continue": moving.continue_,
    "next": moving.next_,
    "stepIn": moving.step_in,
    "stepOut": moving.step_out,
    "stepBack": moving.step_back,
    "reverseContinue": moving.reverse_continue,
    "stepInTargets": moving.step_in_targets,
    "gotoTargets": moving.goto_targets,
    "goto": moving.goto,
    "restartFrame": moving.restart_frame,
    "pause": moving.pause,
    "workfile/crash": own.crash,
    "workfile/resume": own.resume,
    "workfile/advance": own.advance,
    "workfile/deliver": own.deliver,
    "workfile/decide": own.decide,
    "workfile/cancel": own.cancel,
    "workfile/explore": own.explore,
    "workfile/timeline": timeline,
}


class Inbox:
    """Messages that have come in; a thread fills it, so that a request can be cancelled before its turn."""

    def __init__(self) -> None:
        self._messages: queue.Queue[Any] = queue.Queue(MAX_WAITING)
        self._cancelled: dict[int, None] = {}
        self._ending = False

    def put(self, message: Any) -> None:
        """Add a message; waits while there are too many."""
        if isinstance(message, dict) and message.get("command") == "cancel":
            arguments = message.get("arguments")
            wanted = arguments.get("requestId") if isinstance(arguments, dict) else None
            if type(wanted) is int:
                self._cancelled[wanted] = None
                while len(self._cancelled) > MAX_CANCELLED:
                    del self._cancelled[next(iter(self._cancelled))]
        if message is _END or (isinstance(message, dict) and message.get("command") in ("disconnect", "terminate")):
            self._ending = True
        self._messages.put(message)

    def wants_to_end(self, seq: int) -> bool:
        """Whether the client has cancelled a request that is at work, or wants to end the session."""
        return self._ending or seq in self._cancelled

    def take(self, wait: bool) -> Any:
        """The oldest message; ``_NOTHING`` when there is none and nothing is waited for."""
        try:
            return self._messages.get(block=wait)
        except queue.Empty:
            return _NOTHING

    def withdrawn(self, message: Any) -> bool:
        """Whether the client has cancelled a request before its turn; asked once."""
        seq = message.get("seq") if isinstance(message, dict) else None
        if type(seq) is not int or seq not in self._cancelled:
            return False
        del self._cancelled[seq]
        return True


def serve(stream: BinaryIO, out: BinaryIO) -> int:
    """Serve one client until it disconnects, or its stream ends; the exit code of the process."""
    writer = ByteWriter(out)

    def send(message: dict[str, Json]) -> None:
        data = json.dumps(message).encode()
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))

    inbox = Inbox()
    session = Session(send, HANDLERS, inbox.wants_to_end)

    def read() -> None:
        read_messages(stream, inbox.put, MAX_MESSAGE_BYTES, "a header has no usable Content-Length")
        inbox.put(_END)

    threading.Thread(target=read, name="reader", daemon=True).start()
    while not session.finished and not writer.closed:
        message = inbox.take(wait=session.motion is None)
        if message is _NOTHING:
            session.work()
        elif message is _END:
            session.terminate()
            break
        elif isinstance(message, Unreadable):
            session.refuse_unread(message.reason)
        elif inbox.withdrawn(message):
            session.withdraw(message["seq"], str(message.get("command")))
        else:
            session.handle(message)
    return 0


def run_stdio() -> int:
    """Serve the client on standard input and output."""
    return over_stdio(serve)


def run_tcp(port: int) -> int:
    """Serve one client that connects to a port of this machine. Raises ``OSError`` when the port cannot be had."""
    return over_tcp(port, "dap", serve)
