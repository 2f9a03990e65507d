"""How fast every way that a run can go is explored: the figures that docs/exploring.md names.

Run it with ``python -m benchmarks.explore`` or ``python benchmarks/explore.py``; ``--json`` prints data, ``--profile``
says where the time of the plain sequence goes. Times are processor time of one process; nothing is asserted.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sim_runtime.explore import Bounds, Exploration, explore  # noqa: E402 - the path comes first
from sim_runtime.simulation import Prepared, prepare  # noqa: E402

SMALL, LARGE = 30, 200
CONNECTOR = """\
connector: lab
version: 1.0.0
actions:
  send:
    effect: write
    idempotency: keyed
    input: { text: string }
    output: { id: string }
    errors: { busy: { retryable: true } }
  drop: { effect: write, idempotency: inherent, input: { id: string } }
  look: { effect: read, input: { text: string }, output: { id: string }, errors: { busy: { retryable: true } } }
triggers:
  ping: { source: external, payload: { id: string }, correlate_on: [id] }
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One exploration: its states, how long it took in seconds, and states a second."""

    what: str
    states: int
    runs: int
    seconds: float
    rate: float
    complete: bool


def workfile(folder: Path, name: str, body: str) -> Prepared:
    """A Workfile, loaded and compiled; that is no part of what is measured."""
    connectors = folder / "connectors"
    connectors.mkdir(exist_ok=True)
    (connectors / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
    path = folder / f"{name}.workfile.yaml"
    path.write_text(f'workfile: "1.0"\nname: {name}\n{body}', encoding="utf-8")
    return prepare(str(path))


def plain(count: int) -> str:
    """A plain sequence of keyed writes."""
    return "steps:\n" + "".join(f'  - s{number}: {{ lab.send: {{ text: "t{number}" }} }}\n' for number in range(count))


def mixed(count: int) -> str:
    """Writes and reads with retries, waits for time and events, one recovery scope with undo around five of them."""
    lines = ["steps:"]
    scope = range(10, 15)
    for number in range(count):
        indent = "  "
        if number == scope.start:
            lines.extend(["  - scope:", "      wf.group:"])
        if number in scope:
            indent = "        "
        retry = "retry: { attempts: 3, delay: 1s }"
        undo = f"undo: {{ lab.drop: {{ id: '{{{{ s{number}.id }}}}' }} }}"
        if number in scope:
            lines.append(f"{indent}- s{number}: {{ lab.send: {{ text: t }}, {retry}, {undo} }}")
        elif number % 10 == 5:
            lines.append(f"{indent}- s{number}: {{ wf.wait: 1h }}")
        elif number % 10 == 8:
            lines.append(f"{indent}- s{number}: {{ wf.wait_for: lab.ping, match: {{ id: a }}, timeout: 1d }}")
        else:
            action = "look" if number % 3 == 0 else "send"
            lines.append(f"{indent}- s{number}: {{ lab.{action}: {{ text: t }}, {retry} }}")
        if number == scope.stop - 1:
            lines.append(
                "      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, delay: 5m, then: hold }"
            )
    return "\n".join(lines) + "\n"


def measured(what: str, ready: Prepared, bounds: Bounds) -> Figure:
    """Explore, and say how it went."""
    started = time.process_time()
    found: Exploration = explore(ready, bounds)
    seconds = time.process_time() - started
    assert not found.findings, found.findings[0].violation
    states = found.summary.states
    return Figure(what, states, found.summary.runs, seconds, states / seconds, found.complete)


def figures(folder: Path) -> list[Figure]:
    """All figures, in the order in which they are told."""
    only_crashes = Bounds(deviations=0, budget_s=None)
    everything = Bounds(budget_s=None)
    ready = {count: workfile(folder, f"plain-{count}", plain(count)) for count in (SMALL, LARGE)}
    rich = {count: workfile(folder, f"mixed-{count}", mixed(count)) for count in (SMALL, LARGE)}
    explore(ready[SMALL], only_crashes)
    return [
        *(measured(f"plain, {count} steps, crashes only", each, only_crashes) for count, each in ready.items()),
        *(measured(f"mixed, {count} steps, crashes only", each, only_crashes) for count, each in rich.items()),
        measured(f"plain, {SMALL} steps, crashes and deviations", ready[SMALL], everything),
        measured(f"mixed, {SMALL} steps, crashes and deviations", rich[SMALL], everything),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print data")
    parser.add_argument("--profile", action="store_true", help="where the time of the plain sequence goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.profile:
            ready = workfile(folder, "plain", plain(LARGE))
            profile = cProfile.Profile()
            profile.runcall(explore, ready, Bounds(deviations=0, budget_s=None))
            pstats.Stats(profile).sort_stats("tottime").print_stats(30)
            return
        found = figures(folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if options.json:
        print(json.dumps({"figures": [asdict(each) for each in found], "memory_mib": memory}, indent=1))
        return
    for each in found:
        print(f"{each.what:45} {each.states:>9,} states {each.seconds:>8.2f} s {each.rate:>9,.0f} states/s")
    print(f"{LARGE} steps cost {found[1].seconds / found[0].seconds:.1f} times what {SMALL} steps cost (plain)")
    print(f"{LARGE} steps cost {found[3].seconds / found[2].seconds:.1f} times what {SMALL} steps cost (mixed)")
    print(f"at most {memory} MiB of memory")


if __name__ == "__main__":
    main()
