"""Hosts of ours to run and to kill, and the outside world that they call."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
KEY = "test-key-0123456789"
WORKFILE = (sys.executable, "-m", "workfile_cli")
#: Long enough for a loaded machine; nothing waits so long where all is well.
PATIENCE = 60.0


def until(what: Callable[[], Any], seconds: float = PATIENCE, step: float = 0.03) -> Any:
    """Ask again and again; the first true answer."""
    deadline = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, f"it did not happen within {seconds} s: {what}"
        time.sleep(step)


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]
    data: bytes


@dataclass
class Host:
    """A `workfile host` of ours, and how to reach it."""

    store: Path
    flags: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None
    port: int = 0
    #: Where what the operator reads goes; beside the store by default.
    errors: Path | None = None

    @property
    def log(self) -> str:
        """What the operator reads."""
        return self.store.with_suffix(".log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> Host:
        listen = f"127.0.0.1:{self.port}"
        with (self.errors or self.store.with_suffix(".log")).open("ab") as log:
            self.process = subprocess.Popen(
                [*WORKFILE, "host", "--listen", listen, "--store", str(self.store), *self.flags],
                cwd=ROOT,
                env={**os.environ, "WORKFILE_HOST_KEY": KEY, **self.environment},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        with self.process.stdout as output:
            line = output.readline()
        assert line, f"the host did not start: {self.log}"
        self.port = int(line.split()[0].rpartition(":")[2])
        return self

    def up(self, workers: int) -> Host:
        until(lambda: self.health().get("workers") == workers)
        return self

    def health(self) -> dict[str, Any]:
        try:
            found = self.ask("GET", "/health").body
        except OSError:
            return {}
        return found if isinstance(found, dict) else {}

    def end(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """The whole host at once: its children die with it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    # ---- asking ---------------------------------------------------------------------------------

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = KEY,
        headers: dict[str, str] | None = None,
        seconds: float = 30,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {key}"} if key is not None else {}
        try:
            connection.request(method, path, data, {**sent, **(headers or {})})
            response = connection.getresponse()
            found = response.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        try:
            parsed = json.loads(found) if found else None
        except ValueError:
            parsed = None
        return Answer(response.status, parsed, {k.lower(): v for k, v in response.getheaders()}, found)

    def create(self, workflow: str = "conformance-noop", **given: Any) -> str:
        answer = self.ask("POST", "/runs", {"workflowId": workflow, **given})
        assert answer.status == 201, answer.body
        return str(answer.body["runId"])

    def of(self, run: str, rest: str = "") -> Answer:
        return self.ask("GET", f"/runs/{quote(run, safe='')}{rest}")

    def status(self, run: str) -> str:
        return str(self.of(run).body["status"])

    def events(self, run: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.of(run, "/events/poll?timeout=1").body["events"]
        return found

    def types(self, run: str) -> list[str]:
        return [each["type"] for each in self.events(run)]

    def tell(self, run: str, what: str, body: Any) -> Answer:
        return self.ask("POST", f"/runs/{quote(run, safe='')}/{what}", body)

    def ended(self, run: str, seconds: float = PATIENCE) -> str:
        return str(until(lambda: (told := self.status(run)) in ("completed", "failed", "cancelled") and told, seconds))

    # ---- looking behind -------------------------------------------------------------------------

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=30)) as db:
            return db.execute(query, values).fetchall()

    def pids(self, role: str) -> dict[str, int]:
        """The processes of a role by their tokens."""
        return dict(self.rows("select token, pid from host_instances where role = ? and ended = 0", role))

    def owner(self, run: str) -> int | None:
        """The process that holds the claim of a run."""
        found = self.rows(
            "select i.pid from host_runs r join host_instances i on i.token = r.claimed_by where r.id = ?", run
        )
        return found[0][0] if found else None


@contextmanager
def hosting(folder: Path, *flags: str, workers: int = 2, **environment: str) -> Iterator[Host]:
    """A host that is up; it is gone afterwards, and so are its children."""
    host = Host(folder / "store.sqlite", ("--workers", str(workers), *flags), environment).start()
    try:
        yield host.up(workers)
    finally:
        assert host.process is not None
        for pid in [*host.pids("worker").values(), *host.pids("api").values()]:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
        host.end()


class Outside:
    """What actions are called at: counts what arrives, by path and key, and answers as it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str | None, Any]] = []
        self.lock = threading.Lock()
        #: By the last segment of the path: a function from the arguments to (status, body); the default is 200.
        self.answers: dict[str, Callable[[Any], tuple[int, Any]]] = {}
        #: One for all that comes, from the action, the key and the arguments; a status of 0 is no reply at all.
        self.service: Callable[[str, str | None, Any], tuple[int, Any]] | None = None
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
                with outside.lock:
                    outside.calls.append((self.path, self.headers.get("Idempotency-Key"), body))
                action = self.path.rpartition("/")[2]
                if outside.service is not None:
                    status, reply = outside.service(action, self.headers.get("Idempotency-Key"), body)
                else:
                    status, reply = outside.answers.get(action, lambda _: (200, {"id": "x-1"}))(body)
                if not status:
                    self.close_connection = True
                    return
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's signature
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that was killed is no error of the outside."""
                if not isinstance(sys.exception(), ConnectionError):
                    super().handle_error(request, client_address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/actions"

    def __enter__(self) -> Outside:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def named(self, action: str) -> list[tuple[str, str | None, Any]]:
        with self.lock:
            return [each for each in self.calls if each[0].endswith(f"/{action}")]


CONNECTOR = """
connector: shop
version: 1.0.0
actions:
  charge:
    effect: write
    idempotency: keyed
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
    output: { type: object, properties: { id: { type: string } }, required: [id] }
    errors: { declined: { retryable: false }, busy: { retryable: true } }
  ship:
    effect: write
    idempotency: none
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
  stock:
    effect: read
    input: { type: object, additionalProperties: false }
    output: { type: object, properties: { id: { type: string } }, required: [id] }
    errors: { busy: { retryable: true } }
triggers:
  paid:
    source: external
    configuration: { type: object, additionalProperties: false }
    payload:
      type: object
      properties: { order: { type: string }, amount: { type: integer } }
      required: [order, amount]
    correlate_on: [order]
"""

WORKFLOWS = {
    "charge": """
workfile: "1.0"
name: charge
inputs: { order: string }
steps:
  - pay:
      shop.charge: { order: "{{ inputs.order }}" }
      retry: { attempts: 3, delay: 50ms }
result: { id: "{{ pay.id }}" }
""",
    "ship": """
workfile: "1.0"
name: ship
inputs: { order: string }
steps:
  - go:
      shop.ship: { order: "{{ inputs.order }}" }
      on_unknown: halt
""",
    "look": """
workfile: "1.0"
name: look
steps:
  - first: { shop.stock: {} }
  - second: { shop.stock: {} }
result: "{{ second.id }}"
""",
    "nap": """
workfile: "1.0"
name: nap
inputs: { span: duration }
steps:
  - rest: { wf.wait: "{{ inputs.span }}" }
""",
    "await": """
workfile: "1.0"
name: await
inputs: { order: string }
steps:
  - paid:
      wf.wait_for: shop.paid
      match: { order: "{{ inputs.order }}" }
      timeout: 10m
result: "{{ paid.status }}"
""",
}


def shop(folder: Path, url: str) -> Path:
    """A folder of workflows whose actions are called at a URL."""
    place = folder / "flows"
    (place / "connectors").mkdir(parents=True)
    (place / "connectors" / "shop.connector.yaml").write_text(CONNECTOR)
    (place / "workfile.toml").write_text(f'connectors = ["connectors"]\n[connections.shop]\nurl = "{url}"\n')
    for name, text in WORKFLOWS.items():
        (place / f"{name}.workfile.yaml").write_text(text.lstrip())
    return place
