"""How fast recorded histories are read, reconstructed, re-evaluated and continued.

Run it with ``python -m benchmarks.replay`` or ``python benchmarks/replay.py``; ``--json`` prints data, ``--records N``
and ``--histories N`` set the size, ``--profile`` says where the time of reading and reconstructing goes. Figures are
processor time of this process but for the one with two processes. What they are compared with was measured in the
same run; nothing is asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import platform
import pstats
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sim_runtime import replay  # noqa: E402 - the path comes first
from sim_runtime.replay.many import evaluate_files  # noqa: E402
from sim_runtime.simulation import Changes, Prepared, prepare  # noqa: E402

CONNECTOR = """\
connector: lab
version: 1.0.0
actions:
  send: { effect: write, idempotency: keyed, input: { text: string }, output: { id: string } }
"""
HEAD = 'workfile: "1.0"\nname: bench\n'
#: Records of one iteration or step of an action.
PER_STEP = 5
PER_ITEM = 7


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the figure, and what it is compared with ("" for nothing)."""

    what: str
    figure: float
    unit: str
    beside: str = ""
    other: float | None = None


def project(folder: Path, body: str, name: str = "bench") -> Path:
    """A Workfile with its connector."""
    (folder / "connectors").mkdir(exist_ok=True)
    (folder / "workfile.toml").touch()
    (folder / "connectors" / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
    path = folder / f"{name}.workfile.yaml"
    path.write_text(HEAD.replace("bench", name) + body, encoding="utf-8")
    return path


def large(folder: Path, records: int) -> Path:
    """A history of about so many records: one loop with an action."""
    body = (
        'inputs: { items: "list[integer]" }\nsteps:\n  - each:\n      wf.for_each: "{{ inputs.items }}"\n'
        '      steps:\n        - a: { lab.send: { text: "{{ item | string }}" } }\n'
    )
    prepared = prepare(str(project(folder, body, "loop")))
    return written(prepared, folder / f"large{records}.history.jsonl", {"items": list(range(records // PER_ITEM))})


def written(prepared: Prepared, path: Path, inputs: dict[str, object]) -> Path:
    """The history of one run, in a file."""
    prepared.changes = Changes(inputs=inputs)
    path.write_text("".join(prepared.simulation().finish().history_lines()), encoding="utf-8")
    return path


def many(folder: Path, count: int, records: int) -> tuple[list[str], Prepared]:
    """So many histories of about so many records each, and the file with a change at its end."""
    steps = "".join(
        f'  - s{number}: {{ lab.send: {{ text: "{number} {{{{ inputs.n }}}}" }} }}\n'
        for number in range(records // PER_STEP)
    )
    body = f"inputs: {{ n: integer }}\nsteps:\n{steps}result: "
    prepared = prepare(str(project(folder, body + '"{{ s0.id }}"\n')))
    paths = [str(written(prepared, folder / f"{n}.history.jsonl", {"n": n})) for n in range(count)]
    changed = folder / "changed"
    changed.mkdir()
    return paths, prepare(str(project(changed, body + '"{{ s1.id }}"\n')))


def cpu(work: Callable[[], object]) -> float:
    """The processor seconds of one call."""
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def measure(folder: Path, records: int, histories: int) -> list[Figure]:
    """All figures."""
    found: list[Figure] = []
    path = large(folder, records)
    lines = path.read_bytes().splitlines()
    parse = cpu(lambda: [json.loads(line) for line in lines])
    whole = cpu(lambda: replay.reconstruct(replay.read(str(path))).json())
    found.append(
        Figure(
            f"reconstruct at the end of {len(lines) - 1:,} records, reading included",
            whole,
            "s",
            "json.loads alone",
            parse,
        )
    )
    middle = cpu(lambda: replay.reconstruct(replay.read(str(path)), len(lines) // 2).json())
    found.append(Figure("the same, at the middle", middle, "s"))
    shorter = large(folder, records // 4)
    quarter = cpu(lambda: replay.reconstruct(replay.read(str(shorter))).json())
    found.append(
        Figure(
            "a record of that, against a quarter of them",
            whole / records * 1e6,
            "µs",
            "a quarter",
            quarter / records * 4e6,
        )
    )
    history = replay.read(str(path))
    evaluated = cpu(lambda: replay.reevaluate(history))
    found.append(Figure("re-evaluate a record of it", evaluated / records * 1e6, "µs"))
    paths, changed = many(folder, histories, 100)
    every = cpu(lambda: evaluate_files(paths, changed, 1))
    found.append(
        Figure(f"re-evaluate {histories:,} histories of 100 records against a changed file, one process", every, "s")
    )
    part = cpu(lambda: evaluate_files(paths[: histories // 4], changed, 1))
    found.append(
        Figure(
            "one history of these, against a quarter of them",
            every / histories * 1e3,
            "ms",
            "a quarter",
            part / histories * 4e3,
        )
    )
    started = time.perf_counter()
    evaluate_files(paths, changed, 2)
    found.append(Figure("the same with two processes, by the clock", time.perf_counter() - started, "s"))
    one = replay.read(paths[0])
    found.append(
        Figure("continue one as a successor run", cpu(lambda: replay.continue_(one, changed).finish()) * 1e3, "ms")
    )
    return found


def profile(folder: Path, records: int) -> None:
    """Where the time of reading and reconstructing goes."""
    path = large(folder, records)
    profiler = cProfile.Profile()
    profiler.enable()
    replay.reconstruct(replay.read(str(path))).json()
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| what | figure | beside it | |", "| --- | --- | --- | --- |"]
    for each in figures:
        other = "" if each.other is None else f"{each.other:,.2f} {each.unit}"
        lines.append(f"| {each.what} | {each.figure:,.2f} {each.unit} | {each.beside} | {other} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Measure what is done with recorded histories.")
    parser.add_argument("--json", action="store_true", help="print data")
    parser.add_argument("--profile", action="store_true", help="profile reading and reconstructing instead")
    parser.add_argument("--records", type=int, default=100_000, help="records of the large history")
    parser.add_argument("--histories", type=int, default=1_000, help="how many histories at once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        if options.profile:
            profile(folder, options.records)
            return
        figures = measure(folder, options.records, options.histories)
    if options.json:
        about = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        sys.stdout.write(json.dumps({"about": about, "figures": [asdict(each) for each in figures]}, indent=1) + "\n")
    else:
        sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
