"""Bundles to tamper with and hosts to kill."""

from __future__ import annotations

import copy
import json
import shlex
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_runtime.qualify.bundle import attested_bytes, totals_of, witness_digest
from sim_runtime.qualify.client import Address, Client, TransportLoss, read_address
from sim_runtime.qualify.harness import Request, Result, qualify
from sim_runtime.qualify.keys import SigningKey, key_from_seed
from sim_runtime.qualify.timing import Limits

HERE = Path(__file__).parent
EXAMPLE_TEXT = (HERE / "example-bundle.json").read_bytes()
#: The public toy key of the example: its seed is the bytes 01 to 20.
TOY = key_from_seed(bytes(range(1, 33)))
OTHER = key_from_seed(bytes(range(2, 34)))
FAKE_HOST = HERE / "fake_host.py"
BEARER = "secret"

#: Short enough for tests on one machine; every wait is still a wait.
QUICK = Limits(
    back=8,
    back_step=0.05,
    watch_step=0.05,
    death=1.0,
    undeclared_bound=2,
    delivered_terminal=5,
    poisoned_terminal=3,
    first_arrival=1,
    quiet=0.5,
    request=3,
    start=15,
    stop=3,
)

Bundle = dict[str, Any]


def example() -> Bundle:
    return copy.deepcopy(json.loads(EXAMPLE_TEXT))


def document() -> Bundle:
    return example()["discovery"]["document"]


def row_of(bundle: Bundle, name: str) -> Bundle:
    return next(row for row in bundle["results"]["requirements"] if row["id"].endswith(name))


def sign(bundle: Bundle, key: SigningKey = TOY) -> Bundle:
    bundle["signature"]["sig"] = key.sign(attested_bytes(bundle))
    return bundle


def reseal(bundle: Bundle, key: SigningKey = TOY) -> Bundle:
    """What a judge would have written for these rows: everything that follows from them, and a signature."""
    rows = bundle["results"]["requirements"]
    bundle["results"]["totals"] = totals_of(rows)
    bundle["assertionCount"] = sum(row.get("assertions", 0) for row in rows)
    host = bundle["host"]
    bundle["witnessSha256"] = witness_digest(rows, host.get("relaxations", []), host.get("deployment"))
    unmet = [row for row in rows if row["result"] != "executed-pass"]
    bundle.pop("detail", None)
    if unmet:
        listed = [{"id": row["id"], "result": row["result"], "reason": row.get("detail", "")} for row in unmet]
        bundle["detail"] = {"nonPass": listed}
    return sign(bundle, key)


def changed(change: Callable[[Bundle], object]) -> Bundle:
    """The example after a change that its judge made."""
    bundle = example()
    change(bundle)
    return reseal(bundle)


def text(bundle: Bundle) -> bytes:
    return json.dumps(bundle).encode()


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def wait_up(port: int) -> Address:
    """Until a host answers."""
    address = read_address(f"http://127.0.0.1:{port}")
    client = Client(address, BEARER)
    deadline = time.monotonic() + 15
    while True:
        try:
            client.get("/.well-known/openwop")
        except TransportLoss:
            assert time.monotonic() < deadline, "the host did not come up"
            time.sleep(0.05)
        else:
            return address


def command(folder: Path, port: int, role: str, *flags: str) -> str:
    return shlex.join(
        [sys.executable, str(FAKE_HOST), role, "--port", str(port), "--store", str(folder / "store.sqlite"), *flags]
    )


def judged(
    folder: Path,
    fault: str,
    *flags: str,
    rows: tuple[str, ...] = (),
    role: str = "all",
    rung: str = "durable-single-instance",
    limits: Limits = QUICK,
) -> Result:
    """A faulty host, started and judged; all rows, or some by the end of their names."""
    from sim_runtime.qualify.rows import EXERCISES

    port = free_port()
    wanted = tuple(name for name in EXERCISES if not rows or name.rpartition(".")[2] in rows)
    start = command(folder, port, role, "--fault", fault, *flags)
    address = read_address(f"http://127.0.0.1:{port}")
    request = Request(address, BEARER, rung=rung, start=start, limits=limits, rows=wanted)
    return qualify(request, lambda row, seconds: None)
