"""How fast simulated runs are, each figure beside a baseline that was measured in the same run.

Run it with ``python -m benchmarks.simulation`` or ``python benchmarks/simulation.py``; ``--json`` prints data,
``--profile`` says where the time of the plain sequence goes. DBOS with SQLite and moto's Step Functions interpreter are
measured on the same shape when they are installed (``pip install -e '.[peers]'``); nothing is asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import platform
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import simulation_peers as peers  # noqa: E402 - the path comes first
from sim_runtime.driver.store import SqliteStore  # noqa: E402
from sim_runtime.simulation import Prepared, prepare  # noqa: E402

STEPS = 100
TIMERS = 10_000
YEAR_S = 365 * 24 * 3600
CONNECTOR = """\
connector: lab
version: 1.0.0
actions:
  send: { effect: write, idempotency: keyed, input: { text: string }, output: { id: string } }
"""
HEAD = 'workfile: "1.0"\nname: bench\n'


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, ours and a baseline in ``unit``, and how many times better ours is.

    ``baseline`` is "" where there is nothing to compare with.
    """

    what: str
    ours: float
    unit: str
    baseline: str = ""
    theirs: float | None = None
    ratio: float | None = None


def workfile(folder: Path, name: str, body: str) -> Prepared:
    """A Workfile, loaded and compiled; that is no part of what is measured."""
    connectors = folder / "connectors"
    connectors.mkdir(exist_ok=True)
    (connectors / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
    path = folder / f"{name}.workfile.yaml"
    path.write_text(HEAD.replace("bench", name) + body, encoding="utf-8")
    return prepare(str(path))


def sequence(folder: Path) -> Prepared:
    """A plain sequence of actions."""
    steps = "".join(f'  - s{number}: {{ lab.send: {{ text: "t{number}" }} }}\n' for number in range(STEPS))
    return workfile(folder, "sequence", f"steps:\n{steps}")


def loop(folder: Path, count: int) -> Prepared:
    """A loop with one action over so many items."""
    body = (
        'inputs: { items: "list[integer]" }\nsteps:\n  - each:\n      wf.for_each: "{{ inputs.items }}"\n      steps:\n'
    )
    prepared = workfile(folder, "loop", body + '        - a: { lab.send: { text: "{{ item | string }}" } }\n')
    prepared.scenario.inputs = {"items": list(range(count))}
    return prepared


def timers(folder: Path) -> Prepared:
    """Timers over a year, all running at once."""
    body = f"""\
inputs: {{ delays: "list[string]" }}
steps:
  - each:
      wf.for_each: "{{{{ inputs.delays }}}}"
      concurrency: {TIMERS}
      steps:
        - a: {{ wf.wait: "{{{{ item | duration }}}}" }}
"""
    prepared = workfile(folder, "timers", body)
    prepared.scenario.inputs = {"delays": [f"{YEAR_S // TIMERS * (number + 1)}s" for number in range(TIMERS)]}
    return prepared


def finished(prepared: Prepared) -> int:
    """Run to the end, history with digests included; how many records it has."""
    simulation = prepared.simulation().finish()
    report = simulation.report
    assert report["status"] == "succeeded", report["failure"]
    return int(report["history"]["records"])


def seconds(work: Callable[[], object], runs: int) -> float:
    """The median of several runs; one comes first and does not count."""
    times = []
    for turn in range(runs + 1):
        gc.collect()
        started = time.perf_counter()
        work()
        if turn:
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def timed(work: Callable[[], object]) -> float:
    """One run."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(folder: Path, runs: int) -> list[Figure]:
    """All figures."""
    plain = sequence(folder)
    rate = STEPS / seconds(lambda: finished(plain), runs)
    found = [Figure(f"steps of a plain sequence of {STEPS}, in memory, with digests", rate, "steps/s")]
    found.extend(
        Figure(f"the same, against {name}", rate, "steps/s", name, theirs, rate / theirs)
        for name, theirs in peers.rates(folder, STEPS, runs).items()
    )
    found.append(_store(plain, folder, runs))
    year = timed(lambda: finished(timers(folder)))
    found.append(Figure(f"a year with {TIMERS:,} timers, compiling included", year, "s"))
    small, large = loop(folder, 1_000), loop(folder, 10_000)
    each_small = timed(lambda: finished(small)) / 1_000 * 1e6
    each_large = timed(lambda: finished(large)) / 10_000 * 1e6
    found.append(
        Figure(
            "an item of `wf.for_each`: 10,000 against 1,000",
            each_large,
            "µs",
            "1,000",
            each_small,
            each_small / each_large,
        )
    )
    found.append(_memory(folder))
    found.append(_command(folder, runs))
    return found


def _store(plain: Prepared, folder: Path, runs: int) -> Figure:
    """Durable boundaries written to SQLite, the run included; the baseline is the bare transactions."""
    records = plain.simulation().finish().run.records
    boundaries = sum(record.boundary for record in records)
    numbers = iter(range(1_000_000))

    def run() -> None:
        store = SqliteStore(str(folder / f"s{next(numbers)}.sqlite"))
        plain.simulation(store).finish()
        store.close()

    rate = boundaries / seconds(run, runs)
    bare = peers.sqlite_transactions(folder, 2_000)
    return Figure("boundaries of the same, into SQLite", rate, "1/s", "bare transactions", bare, rate / bare)


def _memory(folder: Path) -> Figure:
    """What a record takes in memory, its part of the state included: the growth from 1,000 to 5,000 items."""
    sizes = []
    for count in (1_000, 5_000):
        prepared = loop(folder, count)
        gc.collect()
        tracemalloc.start()
        simulation = prepared.simulation().finish()
        gc.collect()
        sizes.append((tracemalloc.get_traced_memory()[0], len(simulation.run.records)))
        tracemalloc.stop()
    (less, few), (more, many) = sizes
    first, growth = less / few, (more - less) / (many - few)
    return Figure(
        "memory of a record, 5,000 items against 1,000", growth, "bytes", "1,000 items", first, first / growth
    )


def _command(folder: Path, runs: int) -> Figure:
    """``workfile run`` of a small file as a whole process."""
    (folder / "small.workfile.yaml").write_text(
        f"{HEAD}steps:\n  - a: {{ lab.send: {{ text: x }} }}\n  - b: {{ wf.wait: 1h }}\n", encoding="utf-8"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "WORKFILE_CACHE_DIR": str(folder / "cache")}

    def process(*arguments: str) -> float:
        command = [sys.executable, *arguments]
        return seconds(lambda: subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True), runs)

    ours = process("-m", "workfile_cli", "run", "small.workfile.yaml")
    bare = process("-c", "pass")
    return Figure("`workfile run` of a small file", ours * 1e3, "ms", "`python -c pass`", bare * 1e3, bare / ours)


def profile(folder: Path) -> None:
    """Where the time of the plain sequence goes."""
    plain = sequence(folder)
    finished(plain)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(20):
        finished(plain)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| what | ours | baseline | | ours is better by |", "| --- | --- | --- | --- | --- |"]
    for each in figures:
        theirs = "" if each.theirs is None else f"{each.theirs:,.{_places(each.theirs)}f} {each.unit}"
        ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
        ours = f"{each.ours:,.{_places(each.ours)}f} {each.unit}"
        lines.append(f"| {each.what} | {ours} | {each.baseline} | {theirs} | {ratio} |")
    return "\n".join(lines) + "\n"


def _places(value: float) -> int:
    return 0 if value >= 100 else 2


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Measure simulated runs.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each; the median counts (default: 5)")
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    parser.add_argument("--profile", action="store_true", help="profile the plain sequence instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workfile-bench-") as name:
        folder = Path(name)
        (folder / "workfile.toml").write_text("", encoding="utf-8")
        if options.profile:
            profile(folder)
            return
        figures = measure(folder, max(1, options.runs))
    if options.json:
        sys.stdout.write(json.dumps([asdict(each) for each in figures], indent=1) + "\n")
        return
    sys.stdout.write(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores\n\n")
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
