"""One HTTP request at a time, with limits on time and size; a lost answer is told as that and is never a verdict."""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from sim_runtime.qualify.ijson import NotIJson, NotJson, read_ijson

REQUEST_SECONDS: Final = 20.0
MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
PROTOCOL_VERSION: Final = "2.0"
DISCOVERY_PATH: Final = "/.well-known/openwop"
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,253}")


class TransportLoss(Exception):
    """No answer arrived: nothing was observed. ``refused`` when nobody listened or the connection was cut."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(f"transport-loss: {message}")
        self.refused = refused


class BadAddress(ValueError):
    """A URL that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. ``json`` is nothing when the body is not JSON."""

    status: int
    json: Any
    body: bytes

    @property
    def members(self) -> Mapping[str, Any]:
        """The body when it is an object, else an empty one."""
        return self.json if isinstance(self.json, dict) else {}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a host is: scheme, host, port and the path before the routes."""

    scheme: str
    host: str
    port: int
    base: str

    @property
    def url(self) -> str:
        """The base URL without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"

    @property
    def is_loopback(self) -> bool:
        """Whether it can only be this machine."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_address(url: str) -> Address:
    """The parts of an ``http`` or ``https`` URL. Raises ``BadAddress``."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress(f"`{url}` is not a URL.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadAddress(f"`{url}` is not an http or https URL such as `http://127.0.0.1:8080`.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise BadAddress(f"`{url}` holds more than scheme, host, port and path: leave the rest out.")
    if not _HOST.fullmatch(parts.hostname):
        raise BadAddress(f"`{url}` does not name a host that can be asked.")
    if not parts.path.isascii() or any(each <= " " for each in parts.path):
        raise BadAddress(f"the path of `{url}` holds characters that URLs do not have: percent-encode them.")
    default = 443 if parts.scheme == "https" else 80
    return Address(parts.scheme, parts.hostname, port or default, parts.path.rstrip("/"))


def run_path(run: str, rest: str = "") -> str:
    """The route of a run; its id is one segment, so a slash in it is encoded."""
    return f"/runs/{quote(run, safe='')}{rest}"


class Client:
    """Asks one host. Every request has a connection of its own, so that a death cannot spoil the next one."""

    def __init__(self, address: Address, key: str | None, seconds: float = REQUEST_SECONDS) -> None:
        self.address = address
        self._key = key
        self._seconds = seconds

    def get(self, path: str, seconds: float | None = None) -> Reply:
        """GET a route. Raises ``TransportLoss``."""
        reply, connection = self._ask("GET", path, None, seconds)
        connection.close()
        return reply

    def post(self, path: str, body: Mapping[str, Any]) -> Reply:
        """POST a JSON object to a route. Raises ``TransportLoss``."""
        reply, connection = self._ask("POST", path, body, None)
        connection.close()
        return reply

    def post_and_hold(self, path: str, body: Mapping[str, Any]) -> tuple[Reply, HeldConnection]:
        """POST, and keep the connection to the process that answered. Raises ``TransportLoss``."""
        reply, connection = self._ask("POST", path, body, None)
        return reply, HeldConnection(connection)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float | None
    ) -> tuple[Reply, http.client.HTTPConnection]:
        limit = seconds or self._seconds
        connection = self._connection(limit)
        # A timeout of the socket restarts with every byte; this one does not.
        watchdog = threading.Timer(limit, _cut, (connection,))
        watchdog.daemon = True
        watchdog.start()
        try:
            connection.request(method, self.address.base + path, _encoded(body), self._headers(body is not None))
            response = connection.getresponse()
            data = response.read(MAX_REPLY_BYTES + 1)
            if response.length and len(data) <= MAX_REPLY_BYTES:
                # The library takes a body that ends too early for a whole one.
                raise http.client.IncompleteRead(data, response.length)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise _lost(error, f"{method} {path}") from None
        finally:
            watchdog.cancel()
        if len(data) > MAX_REPLY_BYTES:
            connection.close()
            raise TransportLoss(f"{method} {path} answered more than {MAX_REPLY_BYTES} bytes")
        return Reply(response.status, _decoded(data), data), connection

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.address.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self.address.host, self.address.port, timeout=seconds, context=context)
        return http.client.HTTPConnection(self.address.host, self.address.port, timeout=seconds)

    def _headers(self, has_body: bool) -> dict[str, str]:
        headers = {"Accept": "application/json", "OpenWOP-Version": PROTOCOL_VERSION}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if has_body:
            headers["Content-Type"] = "application/json"
        return headers


class HeldConnection:
    """The open connection to the process that answered; that it breaks is how a death shows from outside."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        #: Nothing when the answer already announced that the connection would be closed.
        self._socket: socket.socket | None = connection.sock

    @property
    def tells(self) -> bool:
        """Whether the connection stayed open after the answer, so that its end means something."""
        return self._socket is not None

    def is_cut(self) -> bool:
        """Whether the other side is gone; does not wait."""
        if self._socket is None:
            return False
        try:
            self._socket.setblocking(False)
            return self._socket.recv(1) == b""
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Give the connection up."""
        self._connection.close()


def _encoded(body: Mapping[str, Any] | None) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def _decoded(data: bytes) -> Any:
    try:
        return read_ijson(data)
    except NotIJson as error:
        return error.value
    except NotJson:
        return None


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is None:
        return
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _lost(error: Exception, what: str) -> TransportLoss:
    refused = isinstance(error, ConnectionError | http.client.IncompleteRead)
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return TransportLoss(f"{what} got no answer ({reason[:160]})", refused=refused)


def read_discovery(url: str) -> tuple[int, bytes]:
    """GET a discovery document by its own URL: status and body. Raises ``BadAddress`` or ``TransportLoss``."""
    address = read_address(url)
    path = DISCOVERY_PATH if address.base == "" else ""
    reply = Client(address, None).get(path)
    return reply.status, reply.body
