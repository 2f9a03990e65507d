"""Calls of the outside: one POST each, to an address that was checked, with no redirect and no second try.

2xx is the result, ``{"error": {"code": …}}`` a definite failure, anything else ambiguous. A second try is the
interpreter's to decide, under the same key.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from analyzer.language.durations import parse_duration
from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.host.timing import CALL_LIMIT_MS

MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
#: How much longer than the attempt's own limit the connection is kept: the interpreter's clock decides.
_SLACK_SECONDS: Final = 1.0
EGRESS_REFUSED: Final = "egress.refused"
UNCONFIGURED: Final = "connection.unconfigured"


class EgressRefused(Exception):
    """The address may not be called; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes: the address that was checked is the one that is connected to."""

    scheme: str
    host: str
    address: str
    port: int
    path: str


def target_of(url: str, *, allow_private: bool) -> Target:
    """Check a URL, and resolve its host once. Raises ``EgressRefused``; ``OSError`` when the name does not resolve."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EgressRefused(f"`{url}` is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EgressRefused(f"`{url}` is not an http or https URL")
    if parts.username is not None or parts.password is not None:
        raise EgressRefused("a URL with a user name is not called")
    port = port or (443 if parts.scheme == "https" else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(each <= " " for each in path):
        raise EgressRefused(f"the path of `{url}` holds characters that URLs do not have")
    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    for family, _, _, _, place in found:
        address = str(place[0])
        if family in (socket.AF_INET, socket.AF_INET6) and (allow_private or is_public(address)):
            return Target(parts.scheme, parts.hostname, address, port, path)
    raise EgressRefused(
        f"`{parts.hostname}` is on this machine or in a private network: `--allow-private-effects` allows that"
    )


def is_public(address: str) -> bool:
    """Whether an address is neither of this machine nor of a private, local or reserved range."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if mapped is not None:
        return is_public(str(mapped))
    return found.is_global and not found.is_multicast


class Outside:
    """Performs the calls of one worker. Thread-safe."""

    def __init__(self, urls: Mapping[str, Mapping[str, str]], *, allow_private: bool) -> None:
        self._urls = urls
        self._allow_private = allow_private

    def url_of(self, call: Call) -> str | None:
        """Where an action is called: the URL of its connection, and its name."""
        connector, _, action = call.action.partition(".")
        known = self._urls.get(connector, {})
        base = known.get(call.connection) if call.connection is not None else None
        if base is None and call.connection is None and len(known) == 1:
            base = next(iter(known.values()))
        return None if base is None else f"{base.rstrip('/')}/{quote(action, safe='')}"

    def perform(self, call: Call, key: str | None, *, builtin: bool) -> Answer:
        """Send a call and wait for its answer. Never raises for what the other side does."""
        if builtin and call.action == "core.effect":
            url: str | None = call.arguments["url"]
            body: Any = {}
        else:
            url, body = self.url_of(call), call.arguments
        if url is None:
            message = f"no URL is configured for `{call.action}`: give its connection one in `workfile.toml`"
            return Answer("failure", code=UNCONFIGURED, message=message, retryable=False)
        limit = CALL_LIMIT_MS / 1000 if call.timeout_us is None else call.timeout_us / 1e6 + _SLACK_SECONDS
        try:
            target = target_of(url, allow_private=self._allow_private)
        except EgressRefused as refused:
            return Answer("failure", code=EGRESS_REFUSED, message=str(refused), retryable=False)
        except OSError as error:
            return _lost("unresolved", error)
        return _post(target, json.dumps(body, ensure_ascii=False).encode(), key, limit)


def _post(target: Target, body: bytes, key: str | None, seconds: float) -> Answer:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "workfile-host"}
    if key is not None:
        headers["Idempotency-Key"] = key
    connection = _Connection(target, seconds)
    # A timeout of a socket begins anew with every byte; this one does not.
    watchdog = threading.Timer(seconds, connection.cut)
    watchdog.daemon = True
    watchdog.start()
    try:
        connection.request("POST", target.path, body, headers)
        response = connection.getresponse()
        data = response.read(MAX_REPLY_BYTES + 1)
        if response.length and len(data) <= MAX_REPLY_BYTES:
            raise http.client.IncompleteRead(data, response.length)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _lost("timeout" if isinstance(error, TimeoutError) else "connection_lost", error)
    finally:
        watchdog.cancel()
        connection.close()
    return answer_of(response.status, data, response.headers.get("Retry-After"))


class _Connection(http.client.HTTPConnection):
    """To the address that was checked, whatever its name resolves to meanwhile."""

    def __init__(self, target: Target, seconds: float) -> None:
        super().__init__(target.host, target.port, timeout=seconds)
        self._target = target

    def connect(self) -> None:
        """Connect to the address that was checked; over TLS, for the name."""
        sock = socket.create_connection((self._target.address, self._target.port), self.timeout)
        if self._target.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=self._target.host)
        self.sock = sock

    def cut(self) -> None:
        """End it from another thread."""
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def answer_of(status: int, data: bytes, retry_after: str | None) -> Answer:
    """What a reply says of the attempt."""
    try:
        body = json.loads(data) if data.strip() else None
    except (ValueError, RecursionError):
        body = None
    if len(data) > MAX_REPLY_BYTES:
        body = None
    if 200 <= status < 300:
        return Answer("success", result=body)
    error = body.get("error") if isinstance(body, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if not isinstance(error, dict) or not isinstance(code, str) or not code:
        return Answer("ambiguous", code=f"http_{status}", message=f"the reply was {status} without an error code")
    retryable, message = error.get("retryable"), error.get("message")
    return Answer(
        "failure",
        code=code,
        message=message if isinstance(message, str) else "",
        details=error.get("details"),
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_us=_span(error.get("retry_after"), retry_after),
    )


def _span(told: object, header: str | None) -> int | None:
    """``retry_after`` of an error, a duration or seconds, else the header of that name."""
    if isinstance(told, str):
        return parse_duration(told)
    if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < 1e9:
        return int(told * 1e6)
    if header is not None and header.isascii() and header.isdecimal() and len(header) < 10:
        return int(header) * 1_000_000
    return None


def _lost(code: str, error: Exception) -> Answer:
    return Answer("ambiguous", code=code, message=str(error)[:200])
