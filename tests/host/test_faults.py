"""What goes wrong under a host: a full disk, a damaged store, owners that stand still, work that kills its worker."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from analyzer.shown import shown_path
from sim_runtime.driver.store import StoreDamaged, StoreError, StoreUnavailable
from sim_runtime.host.store import HostStore, create_store
from sim_runtime.host.timing import LEASE_MS, MAX_ATTEMPTS
from tests.host.helpers import KEY, PATIENCE, ROOT, WORKFILE, Host, Outside, hosting, shop, until

pytestmark = pytest.mark.slow

LINUX = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes are Linux's")


def call(*words: str, key: str | None = KEY, user: int | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WORKFILE_HOST_KEY"}
    if key is not None:
        environment["WORKFILE_HOST_KEY"] = key
    return subprocess.run(
        [*WORKFILE, "host", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        cwd=ROOT,
        env=environment,
        user=user,
    )


# ---- a host that cannot start ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "nowhere"), "ADDRESS:PORT"),
        (("--listen", "127.0.0.1:99999"), "ADDRESS:PORT"),
        (("--listen", "192.0.2.1:0"), "cannot listen"),
        (("--workflows", "/no/such/folder"), "no folder"),
        (("--store", "/no/such/folder/s.sqlite"), "/no/such/folder"),
        (("--workers", "0"), "--workers"),
        (("--rate", "fast"), "--rate"),
        (("--signing-keys", "/no/such/file"), "cannot read"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_one_line(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    found = call("--store", str(tmp_path / "s.sqlite"), "--listen", "127.0.0.1:0", *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr
    assert "Traceback" not in found.stderr


def test_without_a_key_it_does_not_start(tmp_path: Path) -> None:
    for key in (None, "", "with space"):
        found = call("--store", str(tmp_path / "s.sqlite"), key=key)
        assert (found.returncode, "WORKFILE_HOST_KEY" in found.stderr) == (2, True)


def test_a_store_has_one_host(tmp_path: Path) -> None:
    with hosting(tmp_path, workers=1) as host:
        found = call("--store", str(host.store), "--listen", "127.0.0.1:0")
        assert (found.returncode, "another host" in found.stderr) == (2, True)
        assert f"`{tmp_path}" not in found.stderr
        link = tmp_path / "link.sqlite"
        link.symlink_to(host.store)
        found = call("--store", str(link), "--listen", "127.0.0.1:0")
        assert (found.returncode, "another host" in found.stderr) == (2, True)
        found = call("--store", str(tmp_path / "other.sqlite"), "--listen", f"127.0.0.1:{host.port}")
        assert (found.returncode, "cannot listen" in found.stderr) == (2, True)


def test_files_that_are_no_store_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("some notes of mine\n" * 100)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as db:
        db.execute("create table mine (x)")
    for path in (text, other):
        before = path.read_bytes()
        found = call("--store", str(path), "--listen", "127.0.0.1:0")
        assert (found.returncode, len(found.stderr.strip().splitlines())) == (2, 1), found.stderr
        assert path.read_bytes() == before


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    create_store(str(path))
    store = HostStore(str(path), read_only=True)
    with pytest.raises(StoreUnavailable, match="read-only"):
        store.change("insert into host_meta values ('x', 'y')")
    store.close()


def test_a_damaged_page_is_told_at_the_start(tmp_path: Path) -> None:
    with hosting(tmp_path, workers=1) as host:
        for _ in range(30):
            run = host.create()
        host.ended(run)
    with closing(sqlite3.connect(host.store)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        size = db.execute("pragma page_size").fetchone()[0]
        pages = db.execute("select rootpage from sqlite_schema where name in ('host_runs', 'transactions')").fetchall()
    with host.store.open("r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)
    found = call("--store", str(host.store), "--listen", "127.0.0.1:0")
    assert (found.returncode, "damaged" in found.stderr, "copy" in found.stderr) == (2, True, True)
    assert len(found.stderr.strip().splitlines()) == 1


# ---- a store that fails under way --------------------------------------------------------------


def limit(host: Host, size: int) -> None:
    """No file of the host may grow beyond a size: a disk without room."""
    for pid in [*host.pids("api").values(), *host.pids("worker").values()]:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@LINUX
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Outside() as outside:
        gate = threading.Event()
        outside.answers["charge"] = lambda _: (gate.wait(60), (200, {"id": "full"}))[1]
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects") as host:
            under_way = host.create("charge", inputs={"order": "full"})
            until(lambda: outside.named("charge"))
            limit(host, 4096)
            refused = until(lambda: (found := host.ask("POST", "/runs", NOOP)).status == 503 and found)
            assert (refused.body["error"], refused.headers["retry-after"]) == ("store_unavailable", "1")
            gate.set()  # the answer comes when it cannot be written
            until(lambda: "nothing is lost" in host.log)
            assert host.status(under_way) == "running"
            limit(host, resource.RLIM_INFINITY)
            assert host.ended(under_way) == "completed"
            assert host.ended(host.create()) == "completed"
            assert "Traceback" not in host.log
            assert len({key for _, key, _ in outside.named("charge")}) == 1


NOOP = {"workflowId": "conformance-noop"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    """It often is on the disk that is full."""
    host = Host(tmp_path / "s.sqlite", ("--workers", "1"), errors=Path("/dev/full")).start()
    try:
        host.up(1)
        limit(host, 4096)
        until(lambda: host.ask("POST", "/runs", NOOP).status == 503)
        time.sleep(1)
        for pid in [*host.pids("worker").values(), *host.pids("api").values()]:
            os.kill(pid, signal.SIGKILL)
        assert host.ended(host.create()) == "completed"
        assert host.up(1).end() == 0
    finally:
        host.kill()


def test_a_store_that_another_program_locks_costs_time_and_nothing_else(tmp_path: Path) -> None:
    """Nobody can say that it lives for longer than a lease; nobody is taken for dead because of that."""
    with Outside() as outside:
        gate = threading.Event()
        outside.answers["charge"] = lambda _: (gate.wait(60), (200, {"id": "locked"}))[1]
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects") as host:
            run = host.create("charge", inputs={"order": "locked"})
            until(lambda: outside.named("charge"))
            with closing(sqlite3.connect(host.store, timeout=30, isolation_level=None)) as db:
                db.execute("begin immediate")
                time.sleep(LEASE_MS / 1000 + 2)
                db.execute("rollback")
            time.sleep(2)
            gate.set()
            assert host.ended(run) == "completed"
            assert host.rows("select epoch, deaths from host_runs where id = ?", run) == [(1, 0)]
            assert len(outside.named("charge")) == 1


def test_a_run_whose_history_is_torn_is_put_aside(tmp_path: Path) -> None:
    with Outside() as outside:
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), workers=1) as host:
            torn, whole = (host.create("nap", inputs={"span": "8s"}) for _ in range(2))
            until(lambda: host.status(torn) == host.status(whole) == "waiting-external")
            host.kill()
            with closing(sqlite3.connect(host.store)) as db:
                db.execute("update transactions set records = replace(records, '8s', '9s') where run = ?", (torn,))
                db.commit()
            host.start().up(1)
            assert host.ended(whole) == "completed"
            until(lambda: host.status(torn) == "paused")
            error = host.of(torn).body["error"]
            assert (error["code"], "torn" in error["message"]) == ("store_damaged", True)
            # Where the file is concerns the operator only, who reads of it from where the host was started.
            assert str(tmp_path) not in host.of(torn).data.decode()
            assert f"({error['code']}): the store `{shown_path(str(host.store))}` is torn: of the run" in host.log
            assert host.ended(host.create()) == "completed"


# ---- owners that stand still or die ------------------------------------------------------------


@pytest.mark.requirement("Q-LIV-04")
def test_a_sweep_that_stands_still_is_seen_and_mended(tmp_path: Path) -> None:
    """Every worker is stopped: the bounds would be as good as ever, and nothing would be recovered."""
    with hosting(tmp_path) as host:
        before = host.pids("worker")
        for pid in before.values():
            os.kill(pid, signal.SIGSTOP)
        run = host.create()
        until(lambda: host.health().get("status") == "degraded")
        assert host.ended(run) == "completed"
        assert "no sweep ran" in host.log
        assert not set(before) & set(host.pids("worker"))
        host.up(2)
        assert host.health()["status"] == "ok"


@pytest.mark.requirement("Q-DUP-02")
def test_work_that_kills_its_worker_every_time_is_given_up(tmp_path: Path) -> None:
    with Outside() as outside:
        outside.answers["stock"] = lambda _: (time.sleep(30), (200, {"id": "x"}))[1]
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects") as host:
            run = host.create("look")
            for death in range(MAX_ATTEMPTS):
                owner = until(lambda: host.owner(run))
                until(lambda count=death: len(outside.named("stock")) > count)
                os.kill(owner, signal.SIGKILL)
                until(lambda dead=owner: host.owner(run) != dead)
            assert host.ended(run) == "failed"
            assert host.of(run).body["error"]["code"] == "attempts_exhausted"
            types = host.types(run)
            assert types[-2:] == ["run.dead-lettered", "run.failed"]
            calls = len(outside.named("stock"))
            assert calls == MAX_ATTEMPTS
            host.up(2)
            time.sleep(1)
            assert len(outside.named("stock")) == calls
            assert host.types(run) == types


def test_children_die_with_their_supervisor(tmp_path: Path) -> None:
    with hosting(tmp_path) as host:
        children = [*host.pids("api").values(), *host.pids("worker").values()]
        assert len(children) == 3
        host.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), 10)


def test_an_orderly_end_spends_no_attempt(tmp_path: Path) -> None:
    with Outside() as outside:
        flows = shop(tmp_path, outside.url)
        with hosting(tmp_path, "--workflows", str(flows), workers=1) as host:
            run = host.create("nap", inputs={"span": "8s"})
            until(lambda: host.status(run) == "waiting-external")
            began = time.monotonic()
            assert host.end() == 0
            assert time.monotonic() - began < PATIENCE
            host.start().up(1)
            assert host.ended(run) == "completed"
            assert host.rows("select deaths from host_runs where id = ?", run) == [(0,)]


def test_errors_of_the_store_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no folder"):
        create_store(str(tmp_path / "none" / "s.sqlite"))
    with pytest.raises(StoreError):
        HostStore(str(tmp_path / "absent.sqlite")).one("select 1 from host_runs")
    path = tmp_path / "newer.sqlite"
    create_store(str(path))
    with closing(sqlite3.connect(path)) as db:
        db.execute("update host_meta set value = '99' where name = 'version'")
        db.commit()
    with pytest.raises(StoreError, match="version 99"):
        create_store(str(path))
    broken = tmp_path / "broken.sqlite"
    create_store(str(broken))
    data = bytearray(broken.read_bytes())
    data[100:200] = b"\xff" * 100
    broken.write_bytes(data)
    with pytest.raises(StoreDamaged, match="copy"):
        create_store(str(broken))
