"""The clock of the machine is set while a host works. Liveness does not read it; timers do."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from sim_runtime.host.timing import LEASE_MS
from tests.host.helpers import Outside, hosting, shop, until

pytestmark = pytest.mark.slow

HOUR = 3_600
CUSTOM = """
import os, time
_real, _file = time.time_ns, os.environ["CLOCK_OFFSET"]
def time_ns():
    with open(_file) as file:
        return _real() + int(file.read() or 0) * 10**9
time.time_ns = time_ns
"""


class Clock:
    """Sets the clock of every process of a host."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "offset"
        (folder / "custom").mkdir()
        (folder / "custom" / "sitecustomize.py").write_text(CUSTOM)
        self.environment = {"PYTHONPATH": str(folder / "custom"), "CLOCK_OFFSET": str(self._file)}
        self.set(0)

    def set(self, seconds: int) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self._file)


@pytest.mark.parametrize("hours", [-5, 5], ids=["back", "forward"])
def test_nothing_is_dispatched_twice(tmp_path: Path, hours: int) -> None:
    """Nobody is taken for dead, a call that is out stays out, and an answer counts."""
    clock = Clock(tmp_path)
    with Outside() as outside:
        gate = threading.Event()
        for action in ("charge", "ship"):
            outside.answers[action] = lambda _: (gate.wait(60), (200, {"id": "c-1"}))[1]
        flags = ("--workflows", str(shop(tmp_path, outside.url)), "--allow-private-effects")
        with hosting(tmp_path, *flags, **clock.environment) as host:
            runs = [host.create(name, inputs={"order": f"o-{name}"}) for name in ("charge", "ship")]
            until(lambda: len(outside.calls) == 2)
            clock.set(hours * HOUR)
            time.sleep(LEASE_MS / 1000 + 1)
            assert host.health()["status"] == "ok"
            later = host.create()
            assert host.ended(later) == "completed"
            gate.set()
            assert [host.ended(run) for run in runs] == ["completed"] * 2
            clock.set(0)
            assert host.ended(host.create()) == "completed"
            assert len(outside.calls) == 2
            assert host.rows("select max(deaths), max(epoch) from host_runs") == [(0, 1)]
            for run in runs:
                times = [each["timestamp"] for each in host.events(run)]
                assert times == sorted(times)


@pytest.mark.parametrize("whole", [False, True], ids=["a worker dies", "the host dies"])
def test_what_was_due_before_the_clock_was_set_back_is_due_after_it(tmp_path: Path, whole: bool) -> None:
    """Accepted, and no worker could take it; a claim whose owner died; a timer that still runs keeps its instant."""
    clock = Clock(tmp_path)
    with Outside() as outside:
        gate = threading.Event()
        outside.answers["charge"] = lambda _: (gate.wait(60), (200, {"id": "c-1"}))[1]
        flags = ("--workflows", str(shop(tmp_path, outside.url)), "--allow-private-effects")
        with hosting(tmp_path, *flags, **clock.environment) as host:
            nap = host.create("nap", inputs={"span": "1h"})
            until(lambda: host.status(nap) == "waiting-external")
            lost = host.create("charge", inputs={"order": "o-1"})
            until(lambda: outside.named("charge"))
            for pid in host.pids("worker").values():
                os.kill(pid, signal.SIGSTOP)
            accepted = [host.create() for _ in range(3)]
            clock.set(-5 * HOUR)
            gate.set()
            if whole:
                host.kill()
                host.start()
            else:
                for pid in host.pids("worker").values():
                    os.kill(pid, signal.SIGKILL)
            assert [host.ended(each) for each in (*accepted, lost)] == ["completed"] * 4
            assert len({key for _, key, _ in outside.named("charge")}) == 1
            assert host.status(nap) == "waiting-external"
            clock.set(2 * HOUR)
            assert host.ended(nap) == "completed"
