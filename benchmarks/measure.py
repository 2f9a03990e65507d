"""Whole processes, timed against what users would run instead, in the same run on the same machine.

Absolute figures say little about another machine, so ours and the baselines run in turn and every row is a ratio. CPU
seconds are the operating system's own for the process and its children; they hold on a machine that is shared, wall
time only on a quiet one. Nothing is asserted: a slow machine is no failure.
"""

from __future__ import annotations

import argparse
import json
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
from typing import Final

from benchmarks.generate import write_project
from benchmarks.hostile import FOLDER_FILES, SHAPES, TEXTS, write_folder

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
SCHEMA = ROOT / "schemas" / "workfile.schema.json"
BIN = Path(sys.executable).parent
TIMEOUT_S = 120.0
SLOW_S = 3.0
"""A command that takes longer than this is run twice only, so that all of it ends within some five minutes."""
YAMLLINT_RULES = "{extends: relaxed, rules: {line-length: disable, braces: disable}}"
WHOLE_S = 10.0
WHOLE_MIB = 1024
SHAPE_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: wall and CPU seconds, peak memory in MiB (of it or its largest child), exit status.

    ``status`` is None when it was ended after ``TIMEOUT_S``.
    """

    wall: float
    cpu: float
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
        ended = False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            now = time.perf_counter()
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                cpu = usage.ru_utime + usage.ru_stime
                return Sample(now - started, cpu, usage.ru_maxrss / 1024, None if ended else process.returncode)
            if now - started > TIMEOUT_S and not ended:
                process.kill()
                ended = True
            time.sleep(0.0005)

    def in_turn(self, commands: Sequence[Sequence[str]], cwd: Path | None = None) -> list[list[Sample]]:
        """The samples of each command: a round that does not count, then A B C A B C …, so that drift hits all."""
        first = [self._checked(command, cwd) for command in commands]
        if sum(sample.wall for sample in first) > SLOW_S * len(commands):
            rounds = [first, [self._checked(command, cwd) for command in commands]]
        else:
            rounds = [[self._checked(command, cwd) for command in commands] for _ in range(self.runs)]
        return [list(samples) for samples in zip(*rounds, strict=True)]

    def _checked(self, command: Sequence[str], cwd: Path | None) -> Sample:
        sample = self.sample(command, cwd)
        if sample.status not in (0, 1):
            print(f"`{' '.join(map(str, command))[:100]}` ended with {sample.status}", file=sys.stderr)
        return sample


def workfile(*arguments: str) -> list[str]:
    """A command line of ours."""
    return [str(BIN / "workfile"), *arguments]


def baselines(*files: str) -> dict[str, list[str]]:
    """What users would run over the same files."""
    return {
        "check-jsonschema": [str(BIN / "check-jsonschema"), "--schemafile", str(SCHEMA), *files],
        "yamllint": [str(BIN / "yamllint"), "-d", YAMLLINT_RULES, *files],
    }


class Report:
    """Markdown that is printed as it grows, and kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str = "") -> None:
        """Add a line."""
        self.lines.append(text)
        print(text, flush=True)

    def table(self, *columns: str) -> None:
        """Begin a table."""
        self.line()
        self.row(*columns)
        self.row(*(["---"] * len(columns)))

    def row(self, *cells: str) -> None:
        """Add a row of the table."""
        self.line("| " + " | ".join(cells) + " |")


def ms(seconds: float) -> str:
    """A time, in milliseconds."""
    return f"{seconds * 1000:,.0f} ms"


def middle(samples: Sequence[Sample]) -> str:
    """The median CPU and wall time."""
    return f"{ms(statistics.median(s.cpu for s in samples))} / {ms(statistics.median(s.wall for s in samples))}"


def ratio(above: Sequence[Sample], below: Sequence[Sample]) -> str:
    """How many times the first takes as long as the second, in CPU and wall time: the median over the rounds.

    Of commands that were not run in turn it is the ratio of the medians.
    """
    if len(above) != len(below):
        above, below = [_median(above)], [_median(below)]
    pairs = list(zip(above, below, strict=True))
    cpu = statistics.median(a.cpu / max(b.cpu, 0.001) for a, b in pairs)
    wall = statistics.median(a.wall / b.wall for a, b in pairs)
    return f"{cpu:.1f} / {wall:.1f}"


def _median(samples: Sequence[Sample]) -> Sample:
    """A sample of the medians of the times."""
    wall, cpu = (statistics.median(times) for times in zip(*((s.wall, s.cpu) for s in samples), strict=True))
    return Sample(wall, cpu, samples[0].memory_mib, samples[0].status)


def measure_speed(bench: Bench, report: Report) -> None:
    """Start-up, one file of several sizes, many files cold and warm."""
    report.table("what", "ours: CPU / wall", "baseline", "CPU / wall", "baseline ÷ ours", "ours ÷ baseline", "aim")

    def row(what: str, ours: list[Sample], name: str, theirs: list[Sample], aim: str) -> None:
        cells = (middle(ours), name, middle(theirs), ratio(theirs, ours), ratio(ours, theirs))
        report.row(what, *cells, aim)

    nothing = [sys.executable, "-c", "pass"]
    ours, empty = bench.in_turn([workfile("--version"), nothing])
    row("`workfile --version`", ours, "`python -c pass`", empty, "under 5 ×")
    aims = {20: "under 300 ms", 1_000: "at least 2.5 × faster"}
    for steps, aim in aims.items():
        folder = bench.work / f"one-{steps}"
        path = str(write_project(folder, 1, steps)[0])
        names = baselines(path)
        ours, *others = bench.in_turn([workfile("check", "--no-cache", path), *names.values()], folder)
        for name, theirs in zip(names, others, strict=True):
            row(f"check, {steps:,} steps", ours, name, theirs, aim)
    large = str(write_project(bench.work / "one-10000", 1, 10_000)[0])
    ours, small = bench.in_turn(
        [workfile("check", "--no-cache", each) for each in (large, str(bench.work / "one-1000" / Path(large).name))]
    )
    row("check, 10,000 steps", ours, "ours, 1,000 steps", small, "at most 12 ×")
    measure_files(bench, report, 200)


def measure_files(bench: Bench, report: Report, count: int) -> None:
    """Many files, cold and from the cache."""
    folder = bench.work / "many"
    names = baselines(*(str(path) for path in write_project(folder, count, 100)))
    cold = workfile("check", "--no-cache", "--jobs", "2", ".")
    warm = workfile("check", "--jobs", "2", ".")
    cold_runs, *others = bench.in_turn([cold, *names.values()], folder)
    bench.sample(warm, folder)
    [warm_runs] = bench.in_turn([warm], folder)

    def rate(samples: list[Sample]) -> str:
        return f"{count / statistics.median(sample.wall for sample in samples):,.0f} files/s"

    rows = (("cold", cold_runs, "150 files/s, at least 8 × faster"), ("from the cache", warm_runs, "660 files/s"))
    for state, runs, aim in rows:
        for name, theirs in zip(names, others, strict=True):
            report.row(
                f"{count} files × 100 steps, 2 jobs, {state}",
                f"{middle(runs)}: {rate(runs)}",
                name,
                f"{middle(theirs)}: {rate(theirs)}",
                ratio(theirs, runs),
                ratio(runs, theirs),
                aim,
            )


def measure_analysis(bench: Bench, report: Report) -> None:
    """What the flow and null analyses cost beside the parse, in one process of their own each."""
    report.table("CPU, one process", "1,000 steps", "10,000 steps", "×", "÷ pure parse", "aim")
    found: list[dict[str, float]] = []
    for steps, turns in ((1_000, 7), (10_000, 2)):
        command = [sys.executable, "-m", "benchmarks.analysis", "--steps", str(steps), "--turns", str(turns)]
        done = subprocess.run(command, cwd=ROOT, env=bench.env, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    for each in found:
        each["flow and null together"] = each["types and null"] + each["flow"]
    small, large = found
    aims = {"flow and null together": "at most 60 ms, 12 ×, less than the pure parse"}
    for name in small:
        share = small[name] / small["parse, pure"]
        cells = (f"{small[name]:,.1f} ms", f"{large[name]:,.0f} ms", f"{large[name] / small[name]:.1f}", f"{share:.2f}")
        report.row(name, *cells, aims.get(name, ""))


def measure_hostile(bench: Bench, report: Report) -> None:
    """Inputs made to be slow or large: each ends, with findings, in bounded time and memory."""
    folder = bench.work / "hostile"
    path = str(write_project(folder, 1, 20)[0])
    normal = bench.sample(workfile("check", "--no-cache", path), folder)
    report.table("hostile input", "size", "exit", "CPU / wall", "peak memory", "CPU ÷ 20 steps", "aim")

    def row(name: str, size: str, sample: Sample, aim: str) -> None:
        status = "none in time" if sample.status is None else str(sample.status)
        times = f"{sample.cpu:.2f} s / {sample.wall:.2f} s"
        report.row(name, size, status, times, f"{sample.memory_mib:,.0f} MiB", f"{sample.cpu / normal.cpu:.1f}", aim)

    row("20 ordinary steps", "4 KiB", normal, "")
    file = folder / "hostile.workfile.yaml"
    for names, aim in ((SHAPES, f"{SHAPE_S:.0f} s"), (TEXTS, f"{WHOLE_S:.0f} s, {WHOLE_MIB:,} MiB")):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.hostile", name, str(file)]
            subprocess.run(command, cwd=ROOT, env=bench.env, check=True)
            size = f"{file.stat().st_size / 1024:,.0f} KiB"
            row(name, size, bench.sample(workfile("check", "--no-cache", str(file)), folder), aim)
            file.unlink()
    large = bench.work / "folder"
    write_folder(large)
    for state, more in (("cold", ["--no-cache"]), ("from the cache", [])):
        if not more:
            bench.sample(workfile("check", "."), large)
        sample = bench.sample(workfile("check", *more, "."), large)
        row(f"a folder of {FOLDER_FILES:,} files, {state}", f"{FOLDER_FILES:,} files", sample, "10 s, 1,024 MiB")


def measure_program(report: Report, name: str) -> None:
    """What another program of this folder measures, with its own baselines, as it prints it."""
    title, module, options = PROGRAMS[name]
    report.line()
    report.line(f"## {title}")
    report.line()
    command = [sys.executable, "-m", f"benchmarks.{module}", *options]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PROGRAM_S, check=False)
    except subprocess.TimeoutExpired:
        report.line(f"Not measured: `{' '.join(command[1:])}` took more than {PROGRAM_S:.0f} s.")
        return
    text = done.stdout.strip()
    if text and "\n|" not in text:
        text = f"```\n{text}\n```"  # what is no table keeps its lines
    report.line(text or f"Not measured: it ended with {done.returncode}.")
    if done.returncode:
        print(done.stderr.strip()[-2000:], file=sys.stderr)


#: Each with its title, its module, and its options.
PROGRAMS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "simulation": ("Simulated runs", "simulation", ()),
    "explore": ("Exploration", "explore", ()),
    "replay": ("Recorded histories", "replay", ()),
    "lsp": ("The language server", "lsp", ()),
    "dap": ("The debug adapter", "dap", ()),
    "host": ("The host", "host", ()),
}
PROGRAM_S = 1800.0


def machine() -> str:
    """The machine and how busy it is, in one line."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass  # not Linux: what platform says must do
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, {python}; load average {load}"


SHORT = Path(__file__).with_name("short.md")
"""What falls short of its aim, and why: judged by people."""

METHOD = """\
# How fast it is

Written by `benchmarks/run --write`. Every command is a whole process, from its start to its exit, in a folder of
generated Workfiles (about 155 bytes a step, steps of every kind) with their connectors. Ours and the baselines run in
turn, so that whatever else the machine does hits all of them; figures are medians, ratios those of the rounds. CPU
seconds are those of the process and its children and are the ones to compare on a machine that is shared. Wall time,
and files a second with it, only means something when the load average is near nothing: two jobs then take about half
their CPU time, and on a busy machine all of it. Caches are off unless a row says otherwise; Python's own bytecode is
cached, as in any installation. Peak memory is that of the largest process. The baselines are check-jsonschema with our
own JSON Schema, and yamllint with its relaxed rules. The sections from "Simulated runs" on are each a program
of its own (`python -m benchmarks.NAME`), which says what it measures beside what."""


def main() -> int:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the tools against what users would run instead.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median counts (default: 5)")
    parser.add_argument("--only", choices=["speed", "analysis", "hostile", *PROGRAMS], help="measure a part only")
    parser.add_argument("--write", action="store_true", help=f"write it to {RESULTS.relative_to(ROOT)} too")
    options = parser.parse_args()
    for tool in ("workfile", "check-jsonschema", "yamllint"):
        if not (BIN / tool).exists():
            print(f"`{tool}` is not beside {sys.executable}; run: pip install -e '.[bench]'", file=sys.stderr)
            return 2
    parts = {"speed": measure_speed, "analysis": measure_analysis, "hostile": measure_hostile}
    with tempfile.TemporaryDirectory(prefix="workfile-bench-") as name:
        work = Path(name)
        env = {**os.environ, "WORKFILE_CACHE_DIR": str(work / "cache")}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        bench = Bench(work, max(1, options.runs), env)
        report = Report()
        report.line(METHOD)
        report.line()
        report.line(f"Before: {machine()}.")
        for part, measure in parts.items():
            if options.only in (None, part):
                measure(bench, report)
        for program in PROGRAMS:
            if options.only in (None, program):
                measure_program(report, program)
        report.line()
        report.line(f"After: {machine()}.")
        report.line()
        report.line(SHORT.read_text(encoding="utf-8").rstrip())
    if options.write:
        RESULTS.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    return 0
