"""How long someone who debugs waits: a real adapter process on stdio, and a run of ten thousand records.

    python -m benchmarks.dap [--records 10000] [--json]

prints milliseconds (median and worst) from a request to the ``stopped`` event that it leads to, and the adapter's CPU
time for one of them (on Linux), which does not depend on what else the machine does; beside it stand the round trip of
a request that does nothing, and the figures that are promised (docs/debugging.md).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONNECTOR = """\
connector: lab
actions:
  send: { effect: write, idempotency: keyed, input: { n: integer }, output: { id: string } }
"""
WORKFILE = """\
workfile: "1.0"
name: bench
inputs: { items: "list[integer]" }
steps:
  - first: { wf.let: { n: 1 } }
  - each:
      wf.for_each: "{{ inputs.items }}"
      steps:
        - send: { lab.send: { n: "{{ item }}" } }
  - last: { wf.let: { n: 2 } }
"""
RECORDS_FOR_EACH = 7
PROMISED_MS = {"launch to stopped on entry": 1_500, "a step": 30, "step back at the end": 100}


class Client:
    """A client of one adapter process that waits for each answer."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "workfile_cli", "dap"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._seq = 0

    def ask(self, command: str, **arguments: Any) -> Any:
        """The body of the response to a request."""
        self._seq += 1
        self._send({"seq": self._seq, "type": "request", "command": command, "arguments": arguments})
        message = self._until(lambda each: each.get("request_seq") == self._seq)
        if not message["success"]:
            raise SystemExit(message["message"])
        return message.get("body")

    def stop(self, command: str, **arguments: Any) -> float:
        """Milliseconds from a request to the stop that follows."""
        start = time.perf_counter()
        self.ask(command, **arguments)
        self._until(lambda each: each.get("event") == "stopped")
        return (time.perf_counter() - start) * 1_000

    def stopped(self) -> None:
        """Wait for the next stop."""
        self._until(lambda each: each.get("event") == "stopped")

    @property
    def cpu_ms(self) -> float:
        """The CPU time that the adapter has used; 0 where that cannot be told."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _until(self, fits: Any) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = int(stream.readline().partition(b":")[2])
            stream.readline()
            message: dict[str, Any] = json.loads(stream.read(length))
            if fits(message):
                return message


class Measured:
    """Milliseconds and CPU milliseconds of what was done, by what it was."""

    def __init__(self) -> None:
        self.took: dict[str, list[float]] = {}
        self.cpu: dict[str, float] = {}

    def add(self, what: str, took: list[float], cpu: float) -> None:
        """Note one kind of thing; ``cpu`` is that of all of them."""
        self.took[what] = took
        self.cpu[what] = cpu / len(took)


def launched(path: str, records: int) -> tuple[Client, float]:
    """A session that stands on entry, and the milliseconds that it took from the start of the process."""
    start = time.perf_counter()
    client = Client()
    client.ask("initialize", adapterID="workfile")
    client.ask("launch", program=path, inputs={"items": list(range(records // RECORDS_FOR_EACH))}, stopOnEntry=True)
    client.ask("configurationDone")
    client.stopped()
    return client, (time.perf_counter() - start) * 1_000


def measure(records: int, times: int) -> Measured:
    """Everything."""
    found = Measured()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "connectors").mkdir()
        (Path(folder) / "connectors" / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
        path = Path(folder) / "bench.workfile.yaml"
        path.write_text(WORKFILE, encoding="utf-8")
        starts, cpu = [], 0.0
        for _ in range(times):
            client, took = launched(str(path), records)
            starts.append(took)
            cpu += client.cpu_ms
            client.ask("disconnect")
            client.process.wait()
        found.add("launch to stopped on entry", starts, cpu)
        client, _ = launched(str(path), records)
        _in_a_session(client, str(path), times, found)
        client.ask("disconnect")
        client.process.wait()
    return found


def _in_a_session(client: Client, path: str, times: int, found: Measured) -> None:
    line = WORKFILE.splitlines().index("  - last: { wf.let: { n: 2 } }") + 1
    client.ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": line}])

    def each(what: str, count: int, act: Callable[[int], float]) -> None:
        before = client.cpu_ms
        took = [act(number) for number in range(count)]
        found.add(what, took, client.cpu_ms - before)

    def nothing(_number: int) -> float:
        start = time.perf_counter()
        client.ask("threads")
        return (time.perf_counter() - start) * 1_000

    each("a request that does nothing", 20 * times, nothing)
    each("a step", 20 * times, lambda _: client.stop("stepIn", threadId=1))
    each("continue over the whole run", 1, lambda _: client.stop("continue", threadId=1))
    total = client.ask("workfile/timeline", limit=1)["recordsTotal"]
    client.stop("goto", threadId=1, targetId=total - 300)
    for _ in range(times):
        client.stop("next", threadId=1, granularity="instruction")
    each("step back at the end", times, lambda _: client.stop("stepBack", threadId=1))
    client.stop("goto", threadId=1, targetId=total - 150)
    each("a step at the end", times, lambda _: client.stop("stepIn", threadId=1))
    each("goto the middle", times, lambda number: client.stop("goto", threadId=1, targetId=total // 2 + number))
    client.stop("goto", threadId=1, targetId=total - 10)
    each("reverse continue over the whole run", 1, lambda _: client.stop("reverseContinue", threadId=1))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000, help="records of the run (default 10000)")
    parser.add_argument("--times", type=int, default=10, help="how often each is measured (default 10)")
    parser.add_argument("--json", action="store_true", help="print data")
    options = parser.parse_args()
    found = measure(options.records, options.times)
    if options.json:
        print(json.dumps({what: {"ms": took, "cpu_ms": found.cpu[what]} for what, took in found.took.items()}))
        return 0
    print(f"a run of about {options.records:,} records; load average {os.getloadavg()[0]:.1f}")
    for what, took in found.took.items():
        promised = f", promised {PROMISED_MS[what]:,} ms" if what in PROMISED_MS else ""
        times = f"median {statistics.median(took):,.1f} ms, worst {max(took):,.1f} ms"
        print(f"{what}: {times}, CPU {found.cpu[what]:,.1f} ms{promised}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
