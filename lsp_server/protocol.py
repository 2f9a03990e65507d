"""The protocol's rules that hold for every message: the life of the server, error codes, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, default_converter

from lsp_server.transport import Inbox, Unreadable

if TYPE_CHECKING:
    from lsp_server.server import WorkfileServer

log = logging.getLogger("workfile.lsp")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_INITIALIZED: Final = -32002
REQUEST_FAILED: Final = -32803
CANCELLED: Final = -32800


class Refused(JsonRpcException):
    """A request that is understood and not carried out; the message says why."""

    CODE = REQUEST_FAILED
    MESSAGE = "Request failed"

    def __init__(self, message: str, code: int = REQUEST_FAILED) -> None:
        super().__init__(message=message, code=code)


def strict_converter() -> Any:
    """pygls' converter, but numbers are numbers and texts are texts: anything else is a malformed message."""
    converter: Any = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(str, _text)
    return converter


def _integer(value: Any, kind: Any) -> Any:
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is not true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError(f"{value!r} is not an integer")
    return int(value) if kind is int else kind(int(value))


def _text(value: Any, kind: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value if kind is str else kind(value)


class WorkfileProtocol(LanguageServerProtocol):
    """Takes parsed messages, answers what is wrong with them, and hands the others on."""

    def __init__(self, server: WorkfileServer, converter: Any) -> None:
        super().__init__(server, converter)
        self.workfile = server
        self.inbox: Inbox | None = None
        self.stopped = False
        self.initialized = False
        #: The methods of requests that are being carried out, for what is logged of them.
        self._methods: dict[str | int, str] = {}

    @property
    def exit_code(self) -> int:
        """What the process ends with: 0 after ``shutdown``, otherwise 1."""
        return 0 if self._shutdown else 1

    def shut_down(self) -> None:
        """Answer nothing any more but ``exit``."""
        for future in self._request_futures.values():
            future.cancel()
        self._shutdown = True

    def attach(self, inbox: Inbox) -> None:
        """The messages come from this inbox."""
        self.inbox = inbox

    def dispatch(self, message: Any) -> None:
        """Handle one message. Whatever is in it, the next one is handled too."""
        try:
            self._dispatch(message)
        except Exception as error:
            log.exception("a message could not be handled: %s", error)
            number = _id_of(message) if isinstance(message, dict) and "method" in message else None
            if number is not None:
                self._refuse(number, INTERNAL_ERROR, f"A fault of workfile itself: {type(error).__name__}: {error}")

    def _dispatch(self, message: Any) -> None:
        if isinstance(message, Unreadable):
            self._refuse(None, PARSE_ERROR, f"The message cannot be read: {message.reason}.")
            return
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "A message is a JSON object.")
            return
        if "method" not in message:
            self._response(message)
            return
        method = message["method"]
        if not isinstance(method, str):
            self._refuse(_id_of(message), INVALID_REQUEST, "`method` is a string.")
        elif "id" in message:
            self._request(message, method)
        else:
            self._notification(message, method)

    def _request(self, message: dict[str, Any], method: str) -> None:
        number = _id_of(message)
        if number is None:
            self._refuse(None, INVALID_REQUEST, "`id` is a number or a string.")
        elif self.inbox is not None and self.inbox.withdraw(number):
            self._refuse(number, CANCELLED, "The request was cancelled.")
        elif self._shutdown:
            self._refuse(number, INVALID_REQUEST, "The server was shut down: only `exit` may follow.")
        elif not self.initialized and method != types.INITIALIZE:
            self._refuse(number, NOT_INITIALIZED, "The server is not initialized: `initialize` comes first.")
        elif self.initialized and method == types.INITIALIZE:
            self._refuse(number, INVALID_REQUEST, "The server is initialized already.")
        elif method not in self.fm.builtin_features and method not in self.fm.features:
            self._refuse(number, METHOD_NOT_FOUND, f"There is no method `{method}` here.")
        else:
            request = self._structured(message)
            if request is None:
                self._refuse(number, INVALID_PARAMS, f"The parameters of `{method}` are not as the protocol has them.")
                return
            if method == types.INITIALIZE:
                self.initialized = True
            self._methods[number] = method
            contextvars.copy_context().run(self._handle_request, number, method, getattr(request, "params", None))

    def _notification(self, message: dict[str, Any], method: str) -> None:
        if method == types.EXIT:
            self.stopped = True
            return
        if self._shutdown or not self.initialized:
            return
        if method not in self.fm.builtin_features and method not in self.fm.features and method != types.CANCEL_REQUEST:
            return
        notification = self._structured(message)
        if notification is None:
            log.warning("a malformed notification `%s` was passed over", method)
            return
        contextvars.copy_context().run(self._handle_notification, method, getattr(notification, "params", None))

    def _response(self, message: dict[str, Any]) -> None:
        number = _id_of(message)
        if number is None:
            return
        future = self._request_futures.pop(number, None)
        self._result_types.pop(number, None)
        if future is None or future.done():
            return
        # What clients answer is not used but to know that they did.
        future.set_result(None)

    def _structured(self, message: dict[str, Any]) -> Any:
        kind = self.get_message_type(message["method"])
        assert kind is not None
        if message.get("jsonrpc") != self.VERSION:
            message = {**message, "jsonrpc": self.VERSION}
        try:
            return self._converter.structure(message, kind)
        except Exception:  # noqa: BLE001
            # Whatever the converter stumbles over: the message is not one of the protocol.
            return None

    def _refuse(self, number: str | int | None, code: int, text: str) -> None:
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": {"code": code, "message": text}})

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        if not isinstance(msg_id, str | int):
            return  # no request has such a number
        if self.inbox is not None:
            self.inbox.withdraw(msg_id)  # it was answered already, or is being carried out
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        self._request_futures.pop(msg_id, None)
        method = self._methods.pop(msg_id, "")
        if future.cancelled():
            self._refuse(msg_id, CANCELLED, "The request was cancelled.")
            return
        error = future.exception()
        result = None if error is not None else future.result()
        if isinstance(result, asyncio.Future):
            # Work that goes on beside other messages; it can be cancelled as any request.
            work: Any = result
            self._methods[msg_id] = method
            self._request_futures[msg_id] = work
            work.add_done_callback(lambda done: self._send_handler_result(done, msg_id=msg_id))
        elif error is None:
            self._send_response(msg_id, result=result)
        elif isinstance(error, JsonRpcException):
            self._refuse(msg_id, error.code or REQUEST_FAILED, error.message or "The request failed.")
        else:
            log.error("the request `%s` failed: %s", method, error, exc_info=error)
            self._refuse(msg_id, INTERNAL_ERROR, f"A fault of workfile itself: {type(error).__name__}: {error}")

    def _check_handler_result(self, future: Future[Any]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            log.error("a notification failed: %s", error, exc_info=error)

    def later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back on the loop; a fault in it is logged."""

        def guarded() -> None:
            try:
                call()
            except Exception as error:
                log.exception("work in the background failed: %s", error)

        return asyncio.get_running_loop().call_later(seconds, guarded)

    def ask(self, method: str, params: Any = None) -> None:
        """Send a request whose answer is not needed."""
        with contextlib.suppress(RuntimeError):
            self.send_request(method, params)


def _id_of(message: dict[str, Any]) -> str | int | None:
    number = message.get("id")
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None
