"""A disk that becomes read-only under a running host, as the kernel makes it at an error, and is put right again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sim_runtime.host.timing import LEASE_MS
from tests.host.helpers import Host, Outside, hosting, shop, until

pytestmark = pytest.mark.slow

NOOP = {"workflowId": "conformance-noop"}
HELD = {"on": "go", "actor": "ann", "decide": {"succeed": None}}
PAID = {"trigger": "shop.paid", "id": "d-1", "payload": {"order": "o-1", "amount": 1}}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What makes a disk read-only for the processes that load it."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("it needs Linux and a C compiler")
    made = tmp_path_factory.mktemp("library") / "read_only.so"
    source = Path(__file__).with_name("read_only.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    return str(made)


def refusals(host: Host, held: str, waits: str) -> list[tuple[int, str]]:
    """What clients are told of everything that would have to be written."""
    asked = (
        host.ask("POST", "/runs", NOOP),
        host.tell(held, "decisions", HELD),
        host.tell(waits, "events", PAID),
        host.tell(waits, "cancel", {}),
    )
    return [(each.status, each.body["message"]) for each in asked]


@pytest.mark.parametrize("killed", [(), ("worker", "api")], ids=["all live", "two die meanwhile"])
def test_nothing_is_accepted_and_nothing_lost(tmp_path: Path, library: str, killed: tuple[str, ...]) -> None:
    flag = tmp_path / "read-only"
    with Outside() as outside:
        gate = threading.Event()
        outside.answers["charge"] = lambda _: (gate.wait(60), (200, {"id": "c-1"}))[1]
        outside.answers["ship"] = lambda _: (500, b"no idea")
        flags = ("--workflows", str(shop(tmp_path, outside.url)), "--allow-private-effects")
        with hosting(tmp_path, *flags, LD_PRELOAD=library, RO_FLAG=str(flag)) as host:
            held = host.create("ship", inputs={"order": "o-held"})
            waits = host.create("await", inputs={"order": "o-1"})
            until(lambda: (host.status(held), host.status(waits)) == ("waiting-approval", "waiting-external"))
            charge = host.create("charge", inputs={"order": "o-2"})
            nap = host.create("nap", inputs={"span": "3s"})
            until(lambda: outside.named("charge") and host.status(nap) == "waiting-external")
            flag.touch()
            refused = [(503, "the store cannot be used; nothing was accepted")] * 4
            assert refusals(host, held, waits) == refused
            for role in killed:
                os.kill(next(iter(host.pids(role).values())), signal.SIGKILL)
            gate.set()  # the answer comes when it cannot be written
            time.sleep(LEASE_MS / 1000 + 1)
            assert refusals(host, held, waits) == refused
            assert host.status(charge) == "running"
            flag.unlink()
            assert (host.ended(charge), host.ended(nap)) == ("completed", "completed")
            until(lambda: host.ask("POST", "/runs", NOOP).status == 201)
            assert host.tell(held, "decisions", HELD).body["accepted"] is True
            assert host.tell(waits, "events", PAID).body["accepted"] is True
            assert (host.ended(held), host.ended(waits)) == ("completed", "completed")
            host.up(2)
            assert len(outside.named("ship")) == 1
            assert len({key for _, key, _ in outside.named("charge")}) == 1
            if not killed:
                assert len(outside.named("charge")) == 1
                assert host.rows("select max(deaths) from host_runs") == [(0,)]
            assert "Traceback" not in host.log
