"""A small host for the harness to kill: real processes, a real store, real SIGKILL, and faults to choose from.

``python fake_host.py ROLE --port N --store FILE [--fault NAME] [--bound MS] …``. ROLE: ``all`` is one process that
serves and works; ``launcher`` starts such a process and waits; ``supervise`` keeps an ``api`` and ``--workers``
processes alive and counts their deaths. Standard library only: it starts in a tenth of a second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

SCHEMA = """
create table if not exists runs (id text primary key, workflow text, mode text, status text, held_by text,
  claimed_by text, lease real, wanted text, url text);
create table if not exists events (run text, type text, payload text);
create table if not exists effects (key text primary key, run text, state text, by text);
create table if not exists instances (token text primary key, pid integer);
create table if not exists deaths (token text, signal integer);
"""
KEY = os.environ.get("FAKE_HOST_KEY", "secret")
TOKEN = "t-" + secrets.token_hex(12)


class Store:
    """One connection for each use: simple, and no worse than needed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=normal")
        return connection

    def all(self, query: str, *values: object) -> list[sqlite3.Row]:
        with closing(self.open()) as connection:
            return connection.execute(query, values).fetchall()

    def change(self, query: str, *values: object) -> int:
        with closing(self.open()) as connection:
            return connection.execute(query, values).rowcount


def log(run: str, kind: str, **payload: object) -> None:
    STORE.change("insert into events values (?, ?, ?)", run, kind, json.dumps({"incarnation": TOKEN, **payload}))


#: The instances that this one has seen alive.
OLD: set[str] = set()


def die() -> None:
    """The crash, or what a faulty host takes for one."""
    if ARGS.fault == "in-process":
        return
    if ARGS.fault == "orderly-exit":
        os._exit(3)
    if ARGS.fault == "launcher":
        os.kill(os.getppid(), signal.SIGKILL)
        return
    os.kill(os.getpid(), signal.SIGKILL)


# Working.


def alive() -> set[str]:
    return {row["token"] for row in STORE.all("select token from instances")}


def claim() -> sqlite3.Row | None:
    """A run that nobody works at, by the first that asks."""
    living, now = alive(), time.time()
    OLD.update(living)  # also while there is no work: who is seen only with work may die unseen
    for run in STORE.all("select * from runs where status not in ('completed', 'failed')"):
        if run["wanted"] is not None and run["claimed_by"] is None and run["wanted"] != TOKEN:
            continue
        if ARGS.fault == "only-the-new" and run["claimed_by"] is not None and run["claimed_by"] in OLD:
            continue
        if run["held_by"] is not None and run["held_by"] in living and ARGS.fault != "in-process":
            continue
        if run["claimed_by"] is not None and (run["lease"] > now or ARGS.fault == "wedged"):
            continue
        if ARGS.fault == "wedged" and run["held_by"] is not None:
            continue
        took = STORE.change(
            "update runs set claimed_by = ?, lease = ?, held_by = null where id = ? and claimed_by is ?",
            TOKEN,
            now + (3600 if run["workflow"] == "conformance-failure" else ARGS.lease / 1000),
            run["id"],
            run["claimed_by"],
        )
        if took:
            return run
    return None


def work() -> None:
    time.sleep(ARGS.first_sweep / 1000)
    while True:
        run = claim()
        if run is None:
            time.sleep(0.02)
        elif run["workflow"] == "conformance-failure":
            threading.Thread(target=fail, args=(run["id"],)).start()
        else:
            execute(run)


def execute(run: sqlite3.Row) -> None:
    name, again = run["id"], run["claimed_by"] is not None
    if ARGS.fault == "silent" and again:
        STORE.change("update runs set status = 'completed' where id = ?", name)
        return
    log(name, "workflow.restored" if again else "run.started")
    log(name, "node.started", nodeId="only")
    STORE.change("update runs set status = 'running' where id = ?", name)
    if run["mode"] in ("during-execution", "peer-resume") and not again and ARGS.fault != "kills-before-claim":
        die()
        if ARGS.fault == "in-process":
            STORE.change("update runs set lease = 0 where id = ?", name)
            return
    time.sleep(ARGS.work / 1000)
    log(name, "node.completed", nodeId="only")
    log(name, "run.completed", outputs={})
    STORE.change("update runs set status = 'completed' where id = ?", name)


def fail(name: str) -> None:
    log(name, "run.started")
    log(name, "node.started", nodeId="only", attempt=0)
    attempt = 0
    while attempt < 2 or ARGS.fault == "endless-attempts":
        attempt += 1
        time.sleep(0.05)
        log(name, "node.retried", nodeId="only", attempt=attempt)
    log(name, "node.failed", nodeId="only", error={"code": "always", "message": "it always fails"})
    log(name, "run.failed", error={"code": "always", "message": "it always fails"})
    STORE.change("update runs set status = 'failed' where id = ?", name)
    while ARGS.fault == "retries-after-end":
        time.sleep(0.1)
        log(name, "node.retried", nodeId="only", attempt=9)


# The same work, delivered twice.


def send(url: str, key: str) -> bool:
    request = urllib.request.Request(url, data=b"{}", method="POST", headers={"Idempotency-Key": key})
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return reply.status < 300
    except OSError:
        return False


def deliver(name: str, url: str, second: bool) -> None:
    key = hashlib.sha256((url if ARGS.fault != "coarse-identity" else "one effect").encode()).hexdigest()
    if second and ARGS.fault == "no-heartbeat":
        time.sleep(0.3)  # the lease of the first, which still works, is over
    if ARGS.fault == "released":
        STORE.change("insert or ignore into effects values (?, ?, 'released', ?)", key, name, "inv")
        finish(name)
        return
    mine = STORE.change("insert or ignore into effects values (?, ?, 'claimed', ?)", key, name, "inv-" + name) == 1
    earlier = STORE.all("select run from effects where key = ?", key)[0]["run"]
    if not mine and earlier != name:
        STORE.change(
            "insert or ignore into effects values (?, ?, 'completed', ?)",
            key + name,
            name,
            "deduplicated-of:" + earlier,
        )
        finish(name)
        return
    if mine or ARGS.fault in ("loser-fires", "no-heartbeat"):
        if ARGS.fault == "no-heartbeat":
            time.sleep(0.5)
        send(url, key)
        if ARGS.fault == "fires-twice":
            send(url, key)
        STORE.change("update effects set state = 'completed' where key = ?", key)
    while STORE.all("select state from effects where key = ?", key)[0]["state"] != "completed":
        time.sleep(0.01)
    finish(name)
    while not STORE.all("select 1 from events where run = ? and type = 'run.completed'", name):
        time.sleep(0.01)
    if second and ARGS.fault == "ends-twice":
        log(name, "run.completed", outputs={})
    if second and ARGS.fault == "fails-after-end":
        log(name, "node.failed", nodeId="only", error={"code": "x", "message": "x"})


def finish(name: str) -> None:
    if STORE.change("update runs set status = 'completed' where id = ? and status <> 'completed'", name):
        log(name, "run.completed", outputs={})


# Serving.


def bounds() -> dict[str, object]:
    rest = ARGS.bound - 200
    terms = [{"name": "lease.ttl", "ms": rest, "enforcedBy": "x"}, {"name": "sweep.period", "ms": 200}]
    if ARGS.fault == "wrong-sum":
        terms = terms[:1]
    if ARGS.fault == "aggregate":
        return {"bound": ARGS.bound}
    classes = [{"class": "leased", "bound": ARGS.bound, "terms": terms}]
    if ARGS.held_bound:
        classes.append({"class": "held", "bound": ARGS.held_bound, "terms": [{"name": "sweep", "ms": ARGS.held_bound}]})
    return {"bound": 1, "classes": classes, "relaxations": RELAXATIONS()}


def RELAXATIONS() -> list[dict[str, str]]:  # noqa: N802 - read late, when the arguments are known
    if not ARGS.declare_relaxation:
        return []
    return [{"obligation": "effects.egress-guard", "durability": "deployment", "reason": "exercises on loopback"}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def reply(self, status: int, body: object, kind: str = "application/json") -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def seam(self, path: str) -> str | None:
        prefix = "/v1/host/durability/" if ARGS.fault == "wrong-prefix" else "/host/durability/"
        return path.removeprefix(prefix) if path.startswith(prefix) and not ARGS.no_seam else None

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/.well-known/openwop":
            self.reply(200, discovery())
            return
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self.reply(401, {"error": "unauthenticated", "message": "no key"})
            return
        seam = self.seam(path)
        if seam == "kill":
            self.reply(200, {"relaxations": RELAXATIONS()})
        elif seam == "bound" and ARGS.fault != "no-bounds":
            self.reply(200, bounds())
        elif seam == "incarnations" and ARGS.role == "api":
            deaths = STORE.all("select * from deaths order by rowid")
            self.reply(
                200,
                {
                    "instances": [{"token": each} for each in sorted(alive())],
                    "deaths": [{"token": row["token"], "signal": row["signal"]} for row in deaths],
                },
            )
        elif path.startswith("/runs/"):
            self.get_run(path.split("/")[2:])
        else:
            self.reply(404, {"error": "not_found", "message": "no such route"})

    def get_run(self, parts: list[str]) -> None:
        Handler.asked += 1
        if ARGS.fault == "flaky" and Handler.asked % 3 == 0:
            self.close_connection = True
            return
        name, rest = unquote(parts[0]), "/".join(parts[1:])
        runs = STORE.all("select * from runs where id = ?", name)
        if not runs or ARGS.fault == "forgets":
            self.reply(404, {"error": "not_found", "message": "no such run"})
        elif rest == "":
            self.reply(200, {"runId": name, "status": runs[0]["status"]})
        elif rest == "events/poll" and ARGS.fault == "streams":
            self.reply(200, "event: run.started\ndata: {}\n\n", "text/event-stream")
        elif rest == "events/poll":
            rows = [] if ARGS.fault == "empty-log" else STORE.all("select * from events where run = ?", name)
            events = [{"type": row["type"], "payload": json.loads(row["payload"])} for row in rows]
            self.reply(200, {"runId": name, "events": events})
        elif rest == "effects":
            rows = STORE.all("select * from effects where run = ?", name)
            self.reply(
                200,
                {
                    "effects": [
                        {"effectId": row["key"], "state": row["state"], "invocationId": row["by"]} for row in rows
                    ]
                },
            )
        else:
            self.reply(404, {"error": "not_found", "message": "no such route"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/runs":
            self.reply(201, {"runId": make_run(body["workflowId"], None, None), "status": "pending"})
        elif self.seam(self.path) == "kill":
            self.kill(body)
        else:
            self.reply(404, {"error": "not_found", "message": "no such route"})

    def kill(self, body: dict[str, str]) -> None:
        mode = body["mode"]
        if mode == "duplicate-delivery":
            if ARGS.fault == "refuses-effect":
                self.reply(400, {"error": "validation_error", "message": "loopback is refused"})
                return
            name = make_run("effectful", mode, body["effectUrl"], held_by="nobody else")
            STORE.change("update runs set claimed_by = ?, lease = ? where id = ?", TOKEN, time.time() + 3600, name)
            for second in (False, True):
                threading.Thread(target=deliver, args=(name, body["effectUrl"], second)).start()
            self.reply(202, {"runId": name, "mode": mode, "deliveries": 2})
            return
        early = ARGS.fault == "kills-before-claim" and mode == "during-execution"
        holds = mode == "after-accept" or early
        wanted = max(alive()) if mode == "peer-resume" else None
        if ARGS.fault == "acceptor-not-live":
            wanted = min(alive())
        name = make_run(body["workflowId"], mode, None, held_by=TOKEN if holds else None, wanted=wanted)
        if early:
            log(name, "run.started")  # logged before the lease is taken
        told = {"runId": name, "mode": mode, "recoveryClass": "leased", "recoveryBoundMs": ARGS.bound}
        if ARGS.fault == "no-class":
            del told["recoveryClass"]
        if wanted is not None:
            told["acceptor"] = wanted
        self.reply(202, told)
        if holds:
            die()


def make_run(
    workflow: str, mode: str | None, url: str | None, held_by: str | None = None, wanted: str | None = None
) -> str:
    name = f"tenant/{secrets.token_hex(12)}"
    STORE.change(
        "insert into runs values (?, ?, ?, 'pending', ?, null, null, ?, ?)", name, workflow, mode, held_by, wanted, url
    )
    return name


def discovery() -> dict[str, object]:
    keys = [json.loads(ARGS.publish)] if ARGS.publish else []
    return {
        "protocolVersions": ["2.0"],
        "preferredVersion": "2.0",
        "implementation": {"name": "fake-host", "version": "1.0"},
        "fixtures": [] if ARGS.no_fixtures else ["conformance-noop", "conformance-failure"],
        "signingKeys": keys,
    }


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def serve() -> None:
    Server(("127.0.0.1", ARGS.port), Handler).serve_forever(0.05)


# Roles.


def child(role: str) -> subprocess.Popen[bytes]:
    arguments = sys.argv[1:]
    arguments[0] = role
    return subprocess.Popen([sys.executable, __file__, *arguments])


#: How long a dead worker's work is left to its peers before the worker is started again, in seconds. Without it the new
#: process and the peer race for the lease that ran out, and which of them resumes the work is chance.
HANDOVER = 3.0


def waits_for_peer(until: float, token: str) -> bool:
    """Whether a dead worker's work is still to be taken over by a peer that lives."""
    if time.monotonic() > until or ARGS.fault == "only-the-new" or not alive():
        return False
    return bool(STORE.all("select 1 from runs where claimed_by = ? and status <> 'completed'", token))


def supervise() -> None:
    """Keep them alive, and keep the books: a death is known by who died of what."""
    children = {index: child("api" if index == 0 else "worker") for index in range(ARGS.workers + 1)}
    waits: dict[int, tuple[float, str]] = {}

    def end(number: int, frame: object) -> None:
        for each in children.values():
            each.kill()
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        for index, process in children.items():
            status = process.poll()
            if status is None:
                continue
            for row in STORE.all("select token from instances where pid = ?", process.pid):
                STORE.change("insert into deaths values (?, ?)", row["token"], -status if status < 0 else None)
                STORE.change("delete from instances where token = ?", row["token"])
                waits[index] = (time.monotonic() + HANDOVER, row["token"])
            if ARGS.fault != "no-restart" and not waits_for_peer(*waits.get(index, (0.0, ""))):
                children[index] = child("api" if index == 0 else "worker")
        time.sleep(0.02)


def main() -> None:
    with closing(STORE.open()) as connection:
        connection.executescript(SCHEMA)
    if ARGS.role == "supervise":
        supervise()
    elif ARGS.role == "launcher":
        child("all").wait()
    elif ARGS.role == "worker":
        STORE.change("insert into instances values (?, ?)", TOKEN, os.getpid())
        work()
    elif ARGS.role == "api":
        serve()
    else:
        time.sleep(ARGS.boot / 1000)
        STORE.change("delete from instances")
        STORE.change("insert into instances values (?, ?)", TOKEN, os.getpid())
        threading.Thread(target=work, daemon=True).start()
        serve()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("role")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--fault", default="")
    for name, default in (
        ("bound", 6000),
        ("held-bound", 0),
        ("lease", 150),
        ("work", 0),
        ("first-sweep", 0),
        ("boot", 0),
        ("workers", 2),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--publish", default="")
    for name in ("no-seam", "no-fixtures", "declare-relaxation"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    ARGS = arguments()
    STORE = Store(ARGS.store)
    main()
