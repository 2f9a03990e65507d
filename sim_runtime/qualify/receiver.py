"""Where effects land: a receiver of our own that counts what arrives.

A host's ledger of effects is keyed by identity and shows one entry however often the effect fired; only the destination
can count. Each exercise has a path with a number used once, so that two exercises are never one effect.
"""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

NONCE_BYTES: Final = 9
MAX_BODY: Final = 1024 * 1024
MAX_ARRIVALS: Final = 10_000


class EffectReceiver:
    """Counts requests whose path holds the nonce; others are foreign. Answers all with 204."""

    def __init__(self, listen: tuple[str, int] = ("127.0.0.1", 0), front: str | None = None) -> None:
        """Listen at an address; ``front`` is the URL by which the host reaches it, if that is another.

        Raises ``OSError`` when the address cannot be listened at.
        """
        self.nonce = secrets.token_hex(NONCE_BYTES)
        self._lock = threading.Lock()
        self._mine = 0
        self._foreign = 0
        self._server = ThreadingHTTPServer(listen, self._handler())
        self._server.daemon_threads = True
        host, port = self._server.server_address[:2]
        base = front.rstrip("/") if front is not None else f"http://{host!s}:{port}"
        #: What the host is told to call.
        self.url = f"{base}/effect/{self.nonce}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def arrivals(self) -> int:
        """How often the effect of this exercise arrived."""
        with self._lock:
            return self._mine

    @property
    def foreign(self) -> int:
        """How many other requests arrived."""
        with self._lock:
            return self._foreign

    def _count(self, path: str) -> None:
        with self._lock:
            if self.nonce in path:
                self._mine = min(self._mine + 1, MAX_ARRIVALS)
            else:
                self._foreign = min(self._foreign + 1, MAX_ARRIVALS)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        count = self._count

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def arrived(self) -> None:
                # Counted before the answer: what was sent has happened, whatever becomes of the answer.
                count(self.path)
                length = self.headers.get("Content-Length", "")
                if length.isdecimal():
                    self.rfile.read(min(int(length), MAX_BODY))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's signature
                """Say nothing."""

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.arrived)
        return Handler
