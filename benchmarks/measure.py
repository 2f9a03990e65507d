"""Whole processes, timed against what users would run instead, in the same run on the same machine.

Absolute figures say little about another machine, so every row is a ratio against a baseline that was measured beside
it. Nothing is asserted: a slow machine is no failure.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generate import HOSTILE, write_project

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "workfile.schema.json"
BIN = Path(sys.executable).parent
TIMEOUT_S = 120.0
YAMLLINT_RULES = "{extends: relaxed, rules: {line-length: disable, braces: disable}}"


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: wall time in seconds, peak memory in MiB (of it or its largest child), exit status.

    ``status`` is None when it was ended after ``TIMEOUT_S``.
    """

    seconds: float
    memory_mib: float
    status: int | None


@dataclass(frozen=True, slots=True)
class Bench:
    """What the measurements share: where files and the cache are, and how often each command runs."""

    work: Path
    runs: int
    env: dict[str, str]

    def sample(self, command: Sequence[str], cwd: Path | None = None) -> Sample:
        """Run one process to its end."""
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd or self.work, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = started + TIMEOUT_S
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            now = time.perf_counter()
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return Sample(now - started, usage.ru_maxrss / 1024, process.returncode)
            if now > deadline:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = -9
                return Sample(now - started, usage.ru_maxrss / 1024, None)
            time.sleep(0.0005)

    def median(self, command: Sequence[str], cwd: Path | None = None) -> float:
        """The median wall time in seconds; a warm-up run comes first and does not count."""
        times: list[float] = []
        for turn in range(self.runs + 1):
            sample = self.sample(command, cwd)
            if sample.status is None or sample.status not in (0, 1):
                print(f"`{' '.join(map(str, command))[:100]}` ended with {sample.status}", file=sys.stderr)
            if turn:
                times.append(sample.seconds)
        return statistics.median(times)


def workfile(*arguments: str) -> list[str]:
    """A command line of ours."""
    return [str(BIN / "workfile"), *arguments]


def baselines(*files: str) -> dict[str, list[str]]:
    """What users would run over the same files."""
    return {
        "check-jsonschema": [str(BIN / "check-jsonschema"), "--schemafile", str(SCHEMA), *files],
        "yamllint": [str(BIN / "yamllint"), "-d", YAMLLINT_RULES, *files],
    }


class Table:
    """Rows of a Markdown table, printed as they come."""

    def __init__(self, *columns: str) -> None:
        self._print(columns)
        self._print(["---"] * len(columns))

    def row(self, *cells: str) -> None:
        """Print one row."""
        self._print(cells)

    @staticmethod
    def _print(cells: Sequence[str]) -> None:
        print("| " + " | ".join(cells) + " |", flush=True)


def ms(seconds: float) -> str:
    """A time, in milliseconds."""
    return f"{seconds * 1000:,.0f} ms"


def measure_speed(bench: Bench) -> None:
    """Start-up, one file of several sizes, many files cold and warm."""
    table = Table("what", "ours", "baseline", "", "baseline ÷ ours")

    def compare(what: str, ours: float, name: str, theirs: float) -> None:
        table.row(what, ms(ours), name, ms(theirs), f"{theirs / ours:.1f}")

    compare(
        "`workfile --version`",
        bench.median(workfile("--version")),
        "`python -c pass`",
        bench.median([sys.executable, "-c", "pass"]),
    )
    times: dict[int, float] = {}
    for steps in (20, 1_000, 10_000):
        folder = bench.work / f"one-{steps}"
        path = str(write_project(folder, 1, steps)[0])
        times[steps] = bench.median(workfile("check", "--no-cache", path), folder)
        if steps < 10_000:
            for name, command in baselines(path).items():
                compare(f"check, {steps:,} steps", times[steps], name, bench.median(command, folder))
    compare("check, 1,000 steps", times[1_000], "ours, 10,000 steps", times[10_000])

    folder = bench.work / "many"
    paths = [str(path) for path in write_project(folder, 200, 100)]
    rate = len(paths)
    cold = bench.median(workfile("check", "--no-cache", "--jobs", "2", "."), folder)
    warm = bench.median(workfile("check", "--jobs", "2", "."), folder)
    for name, command in baselines(*paths).items():
        theirs = bench.median(command, folder)
        for state, ours in (("cold", cold), ("warm", warm)):
            table.row(
                f"200 files × 100 steps, 2 jobs, {state}",
                f"{rate / ours:,.0f} files/s",
                name,
                f"{rate / theirs:,.0f} files/s",
                f"{theirs / ours:.1f}",
            )


def measure_hostile(bench: Bench) -> None:
    """Inputs made to be slow or large: each ends, with findings, in bounded time and memory."""
    small = bench.work / "one-20"
    path = str(write_project(small, 1, 20)[0])
    normal = bench.sample(workfile("check", "--no-cache", path), small)
    table = Table("hostile input", "size", "exit", "time", "÷ 20 steps", "peak memory", "÷ 20 steps")
    folder = bench.work / "hostile"
    write_project(folder, 1, 20)
    for number, (name, make) in enumerate(HOSTILE.items()):
        text = make()
        file = folder / f"hostile-{number}.workfile.yaml"
        file.write_text(text, encoding="utf-8")
        sample = bench.sample(workfile("check", "--no-cache", file.name), folder)
        file.unlink()
        table.row(
            name,
            f"{len(text) / 1024:,.0f} KiB",
            "none in time" if sample.status is None else str(sample.status),
            ms(sample.seconds),
            f"{sample.seconds / normal.seconds:.1f}",
            f"{sample.memory_mib:,.0f} MiB",
            f"{sample.memory_mib / normal.memory_mib:.1f}",
        )


def main() -> int:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the tools against what users would run instead.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median counts (default: 5)")
    parser.add_argument("--only", choices=["speed", "hostile"], help="measure a part only")
    options = parser.parse_args()
    for tool in ("workfile", "check-jsonschema", "yamllint"):
        if not (BIN / tool).exists():
            print(f"`{tool}` is not beside {sys.executable}; run: pip install -e '.[bench]'", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory(prefix="workfile-bench-") as name:
        work = Path(name)
        env = {**os.environ, "WORKFILE_CACHE_DIR": str(work / "cache")}
        bench = Bench(work, max(1, options.runs), env)
        print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores, ", end="")
        print(f"median of {bench.runs} runs, whole processes, caches off unless warm\n")
        if options.only != "hostile":
            measure_speed(bench)
        if options.only is None:
            print()
        if options.only != "speed":
            measure_hostile(bench)
    return 0
