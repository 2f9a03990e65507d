"""An end in order while requests wait: each gets an answer that says what is known, and nothing kept is lost."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.host.helpers import KEY, Answer, Host, Outside, hosting, shop, until

pytestmark = pytest.mark.slow

HELD = {"on": "go", "actor": "ann", "decide": {"succeed": None}}


class Asked:
    """A request under way in a thread of its own."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self.answer: Any = None
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._ask, args=(ask,))
        self._thread.start()

    def _ask(self, ask: Callable[[], Any]) -> None:
        try:
            self.answer = ask()
        except OSError as problem:
            self.problem = problem

    def told(self) -> Any:
        self._thread.join(60)
        assert self.problem is None, self.problem
        return self.answer


def half_a_request(host: Host) -> str:
    """A request whose body does not come; the whole reply as text."""
    with socket.create_connection(("127.0.0.1", host.port), timeout=60) as sock:
        head = f"POST /runs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {KEY}\r\nContent-Length: 50\r\n\r\n{{"
        sock.sendall(head.encode())
        return b"".join(iter(lambda: sock.recv(65_536), b"")).decode()


def held(host: Host) -> str:
    run = host.create("ship", inputs={"order": "o-held"})
    until(lambda: host.status(run) == "waiting-approval")
    return run


def stop(host: Host, number: signal.Signals) -> None:
    """As a service manager or a terminal does: Ctrl-C reaches every process of the group."""
    assert host.process is not None
    if number == signal.SIGINT:
        for pid in [*host.pids("api").values(), *host.pids("worker").values()]:
            os.kill(pid, number)
    host.process.send_signal(number)


def kept_in_order(host: Host, log_before: int) -> None:
    told = host.log[log_before:].splitlines()
    assert all(line.startswith("workfile host: ") for line in told), told
    assert not any("Traceback" in line or "CancelledError" in line for line in told), told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_that_wait_are_answered_and_what_they_brought_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    with Outside() as outside:
        outside.answers["ship"] = lambda _: (500, b"no idea")
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects", workers=1) as host:
            decided = held(host)
            waits, cancelled = (host.create("await", inputs={"order": name}) for name in ("o-1", "o-2"))
            until(lambda: all(host.status(each) == "waiting-external" for each in (waits, cancelled)))
            last = host.events(waits)[-1]["sequence"]
            (worker,) = host.pids("worker").values()
            os.kill(worker, signal.SIGSTOP)  # nobody takes what is brought
            event = {"trigger": "shop.paid", "id": "d-1", "payload": {"order": "o-1", "amount": 1}}
            brought = [
                Asked(lambda: host.tell(decided, "decisions", HELD)),
                Asked(lambda: host.tell(waits, "events", event)),
                Asked(lambda: host.tell(cancelled, "cancel", {})),
            ]
            poll = Asked(lambda: host.of(waits, f"/events/poll?afterSequence={last}&timeout=60"))
            stream = Asked(lambda: host.of(waits, "/events"))
            half = Asked(lambda: half_a_request(host))
            until(lambda: host.rows("select count(*) from host_inbox") == [(3,)])
            time.sleep(0.3)
            before = len(host.log)
            stop(host, number)
            for each in brought:
                answer: Answer = each.told()
                assert (answer.status, answer.body["accepted"]) == (202, None)
            assert (poll.told().status, poll.told().body["events"]) == (200, [])
            assert stream.told().status == 200
            assert stream.told().data.count(b"\n\n") == last + 1
            reply = half.told()
            assert reply.startswith("HTTP/1.1 503 "), reply
            assert '"the host is ending; nothing was accepted"' in reply
            assert host.end() == 0
            kept_in_order(host, before)
            outside.answers["ship"] = lambda _: (200, {})
            host.start().up(1)
            assert host.ended(decided) == "completed"
            assert host.ended(waits) == "completed"
            assert host.of(waits).body["workfile"]["result"] == "received"
            assert host.ended(cancelled) == "cancelled"
            assert len(outside.named("ship")) == 1


def test_what_cannot_be_written_before_the_end_is_refused(tmp_path: Path) -> None:
    with hosting(tmp_path, workers=1) as host:
        known = host.create()
        host.ended(known)
        with closing(sqlite3.connect(host.store, timeout=30, isolation_level=None)) as db:
            db.execute("begin immediate")
            asked = []
            for _ in range(2):
                asked.append(Asked(lambda: host.ask("POST", "/runs", {"workflowId": "conformance-noop"})))
                time.sleep(0.3)  # the first one waits for the lock, the second one for the first
            before = len(host.log)
            stop(host, signal.SIGTERM)
            told = [(each.told().status, each.told().body) for each in asked]
            db.execute("rollback")
        refused = {"error": "store_unavailable", "message": "the host is ending; nothing was accepted"}
        assert told == [(503, refused)] * 2
        assert host.end() == 0
        kept_in_order(host, before)
        host.start().up(1)
        assert host.rows("select id from host_runs") == [(known,)]


def test_calls_that_are_out_have_a_moment_to_come_back(tmp_path: Path) -> None:
    """What comes in time counts; what does not is a crash to the Workfile, and spends no attempt of the host."""
    with Outside() as outside:
        gone = threading.Event()

        def answer(body: Any) -> tuple[int, Any]:
            gone.wait(60)
            time.sleep(1 if body["order"].startswith("soon") else 10)
            return 200, {"id": "c-1"}

        outside.answers.update(charge=answer, ship=answer)
        flags = ("--workflows", str(shop(tmp_path, outside.url)), "--allow-private-effects")
        with hosting(tmp_path, *flags) as host:
            names = [(action, order) for action in ("charge", "ship") for order in ("soon", "late")]
            runs = {name: host.create(name[0], inputs={"order": f"{name[1]}-{name[0]}"}) for name in names}
            until(lambda: len(outside.calls) == 4)
            stop(host, signal.SIGTERM)
            gone.set()
            assert host.end() == 0
            assert host.rows("select count(*) from host_runs where claimed_by is not null") == [(0,)]
            outside.answers.clear()
            host.start().up(2)
            ended = {name: host.ended(run) for name, run in runs.items() if name != ("ship", "late")}
            assert set(ended.values()) == {"completed"}
            until(lambda: host.status(runs["ship", "late"]) == "waiting-approval")
            assert host.rows("select max(deaths) from host_runs") == [(0,)]
            sent = Counter((path.rpartition("/")[2], key, body["order"]) for path, key, body in outside.calls)
            assert sorted((action, order, count) for (action, _, order), count in sent.items()) == [
                ("charge", "late-charge", 2),
                ("charge", "soon-charge", 1),
                ("ship", "late-ship", 1),
                ("ship", "soon-ship", 1),
            ]


def test_a_decision_outlives_the_worker_that_should_take_it(tmp_path: Path) -> None:
    with Outside() as outside:
        outside.answers["ship"] = lambda _: (500, b"no idea")
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects", workers=1) as host:
            run = held(host)
            (worker,) = host.pids("worker").values()
            os.kill(worker, signal.SIGSTOP)
            decision = Asked(lambda: host.tell(run, "decisions", HELD))
            until(lambda: host.rows("select count(*) from host_inbox") == [(1,)])
            os.kill(worker, signal.SIGKILL)
            answer = decision.told()
            assert (answer.status, answer.body) == (200, {"runId": run, "accepted": True})
            assert host.ended(run) == "completed"
            assert len(outside.named("ship")) == 1


def test_a_stream_survives_a_store_that_fails(tmp_path: Path) -> None:
    """It ends, with one line for the operator, and the reader goes on from there."""
    with hosting(tmp_path, workers=1) as host:
        run = host.create("conformance-noop")
        host.ended(run)
        before = len(host.log)
        with closing(sqlite3.connect(host.store)) as db:
            db.execute("alter table host_events rename to host_events_gone")
        answer = host.ask("GET", f"/runs/{quote(run, safe='')}/events/poll?timeout=1")
        assert (answer.status, answer.body["error"]) == (503, "store_unavailable")
        with pytest.raises(OSError, match=r".*"):
            host.of(run, "/events")
        kept_in_order(host, before)
        with closing(sqlite3.connect(host.store)) as db:
            db.execute("alter table host_events_gone rename to host_events")
        assert host.of(run, "/events").status == 200
