"""Figures of the host: python benchmarks/host.py [--runs N] [--kills N] [--clients N]

Accept to dispatch with four workers, runs accepted and completed in a second with every wait for the disk, recovery of
killed work against the declared bound, and the verifier. All clients are in this process, on the same machine, so their
work counts against the host's figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

KEY: Final = "benchmark-key"
NOOP: Final = json.dumps({"workflowId": "conformance-noop"}).encode()


class Host:
    """A host of four workers on a port of its own, with its store in a folder that is thrown away."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.store = folder / "store.sqlite"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "workfile_cli", "host", "--listen", "127.0.0.1:0"),
                *("--store", str(self.store), "--workers", "4", "--rate", "off", *flags),
            ],
            env={**os.environ, "WORKFILE_HOST_KEY": KEY},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[0].rpartition(":")[2])

    async def ready(self) -> None:
        """Until all workers live."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                status, body = await Connection(self.port).ask("GET", "/health")
                if status == 200 and body["workers"] == 4:
                    return
            except (OSError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(0.1)
        raise SystemExit("the host did not come up")

    def end(self) -> None:
        """Stop it in order."""
        self.process.terminate()
        self.process.wait(30)


class Connection:
    """A kept HTTP connection, as lean as a client can be."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """One request."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        data = await reader.readexactly(length)
        return int(head.split()[1]), json.loads(data) if data else None


class Receiver:
    """What the action of the benchmark is called at."""

    def __init__(self) -> None:
        self.arrived: dict[int, asyncio.Future[float]] = {}
        self.port = 0

    async def listen(self) -> None:
        """Begin, on a free port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    def expect(self, number: int) -> None:
        """A call with this number is to come."""
        self.arrived[number] = asyncio.get_running_loop().create_future()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
        self.arrived[json.loads(body)["number"]].set_result(time.monotonic())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


def workflows(folder: Path, port: int) -> Path:
    """A workflow of one call."""
    (folder / "flows" / "connectors").mkdir(parents=True)
    (folder / "flows" / "workfile.toml").write_text(
        f'connectors = ["connectors"]\n[connections.bench]\nurl = "http://127.0.0.1:{port}"\n'
    )
    (folder / "flows" / "connectors" / "bench.connector.yaml").write_text(
        "connector: bench\nversion: 1.0.0\nactions:\n  call:\n    effect: write\n    idempotency: keyed\n"
        "    input: { type: object, properties: { number: { type: integer } }, required: [number] }\n"
    )
    (folder / "flows" / "call.workfile.yaml").write_text(
        'workfile: "1.0"\nname: call\ninputs: { number: integer }\nsteps:\n'
        '  - call: { bench.call: { number: "{{ inputs.number }}" } }\n'
    )
    return folder / "flows"


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """A query on the store of a host."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def percentile(values: list[float], share: float) -> float:
    """The value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def throughput(host: Host, runs: int, clients: int) -> str:
    """Runs accepted and completed in a second, all clients busy all the time."""
    before = waits_for_disk(host)
    left = iter(range(runs))
    began = time.monotonic()

    async def client() -> None:
        connection = Connection(host.port)
        for _ in left:
            status, _body = await connection.ask("POST", "/runs", NOOP)
            assert status == 201, status

    await asyncio.gather(*(client() for _ in range(clients)))
    accepted = time.monotonic() - began
    while rows(host.store, "select 1 from host_runs where ended_at is null limit 1"):
        await asyncio.sleep(0.02)
    done = time.monotonic() - began
    waits = waits_for_disk(host) - before
    return (
        f"throughput: {runs / done:.0f} runs/s accepted and completed ({runs} runs, {clients} clients; accepted at"
        f" {runs / accepted:.0f}/s; {waits / runs:.2f} waits for the disk a run)"
    )


def waits_for_disk(host: Host) -> int:
    """The commits that waited for the disk, as all processes tell with their heartbeats."""
    time.sleep(1.1)
    return int(rows(host.store, "select sum(commits) from host_instances")[0][0])


async def dispatch(host: Host, receiver: Receiver, runs: int, every: float) -> str:
    """From the moment at which the client knows that a run was accepted to the arrival of its first call."""
    connection, taken = Connection(host.port), []
    for number in range(runs):
        receiver.expect(number)
        body = json.dumps({"workflowId": "call", "inputs": {"number": number}}).encode()
        status, reply = await connection.ask("POST", "/runs", body)
        assert status == 201, reply
        accepted = time.monotonic()
        taken.append(max(0.0, (await asyncio.wait_for(receiver.arrived[number], 30) - accepted) * 1000))
        await asyncio.sleep(every)
    return (
        f"accept to dispatch: p50 {statistics.median(taken):.1f} ms, p95 {percentile(taken, 0.95):.1f} ms, longest"
        f" {max(taken):.1f} ms ({len(taken)} runs one after the other, from the reply to the call's arrival, 4 workers)"
    )


async def recovery(host: Host, kills: int) -> str:
    """Kill the worker that holds a run, and see when another one goes on with it."""
    connection, inside, observed, bound = Connection(host.port), 0, [], 0
    for _ in range(kills):
        status, body = await connection.ask(
            "POST", "/host/durability/kill", b'{"mode":"during-execution","workflowId":"conformance-noop"}'
        )
        assert status == 202, (status, body)
        bound, began = body["recoveryBoundMs"], time.monotonic()
        path = f"/runs/{quote(body['runId'], safe='')}/events/poll?timeout=1"
        while time.monotonic() - began < bound / 1000:
            _, log = await connection.ask("GET", path)
            if any(each["type"] == "workflow.restored" for each in log["events"]):
                observed.append((time.monotonic() - began) * 1000)
                inside += 1
                break
            await asyncio.sleep(0.02)
    return (
        f"recovery: {inside} of {kills} kills inside the bound of {bound} ms (p50 {statistics.median(observed):.0f} ms,"
        f" longest {max(observed):.0f} ms)"
    )


def verifier() -> str:
    """Judging a bundle, in a process that has the library loaded."""
    from sim_runtime.qualify.verify import Expected, verify_text

    root = Path(__file__).resolve().parents[1]
    data = (root / "tests" / "qualify" / "example-bundle.json").read_bytes()
    document = json.loads(data)["discovery"]["document"]
    verify_text(data, Expected(discovery=document))
    began = time.process_time()
    for _ in range(50):
        verify_text(data, Expected(discovery=document))
    return f"verifier: {(time.process_time() - began) / 50 * 1000:.1f} ms of CPU a bundle"


async def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        receiver = Receiver()
        await receiver.listen()
        flows = workflows(Path(folder), receiver.port)
        flags = ("--durability-exercises", "--allow-private-effects", "--workflows", str(flows))
        host = Host(Path(folder), *flags)
        try:
            await host.ready()
            print(await dispatch(host, receiver, 300, 0.02))
            print(await throughput(host, options.runs, options.clients))
            print(await recovery(host, options.kills))
        finally:
            host.end()
    print(verifier())


if __name__ == "__main__":
    asyncio.run(main())
