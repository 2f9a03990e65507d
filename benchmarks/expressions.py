"""How long expressions take, in microseconds and as a multiple of ``json.loads`` of a text of the same size.

Run it with ``python -m benchmarks.expressions`` or ``python benchmarks/expressions.py``; ``--json`` prints data.
The multiple is what to compare: it is about the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analyzer.expressions import parser
from analyzer.expressions.evaluate import evaluate_template
from analyzer.expressions.times import Timestamp
from analyzer.expressions.values import Value

ROUNDS = 7
RUNS = 5_000

SCOPE: dict[str, Value] = {
    "inputs": {"amount": 120, "customer": "c-1", "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1}], "note": None},
    "approval": {"status": "received", "event": {"approved": True}},
    "run": {"id": "r-1", "started_at": Timestamp(1_767_225_600_000_000)},
}
CASES = {
    "a path": "{{ inputs.customer }}",
    "a comparison": "{{ approval.status == 'received' }}",
    "a condition": "{{ approval.status == 'received' and approval.event.approved }}",
    "a default": "{{ approval.event?.approved ?? false }}",
    "arithmetic": "{{ (inputs.amount + 5) * 2 - inputs.amount / 4 }}",
    "filters": "{{ inputs.customer | upper | replace('C', 'k') | default('') }}",
    "literals": "{{ {a: [1, 2.5, true], b: 'text', \"c\": null} }}",
    "a sentence": "Order {{ run.id }} of {{ inputs.customer }} costs {{ inputs.amount }} today.",
}


def microseconds(work: Callable[[], object]) -> float:
    """The best of several rounds, for one run."""
    return min(timeit.repeat(work, number=RUNS, repeat=ROUNDS)) / RUNS * 1e6


def json_of_size(size: int) -> str:
    """A JSON text of about ``size`` characters with the mix of an ordinary record."""
    record: dict[str, object] = {}
    while len(json.dumps(record)) < size:
        position = len(record)
        record[f"key{position}"] = [position, True, "text", 1.5][position % 4]
    return json.dumps(record)


def measure(text: str) -> dict[str, float]:
    """Times of one template: parsing it, finding it in the cache, evaluating it, and the JSON yardstick."""
    template = parser.parse_template(text)
    data = json_of_size(len(text))
    return {
        "parse": microseconds(lambda: parser.parse_afresh(text)),
        "cached": microseconds(lambda: parser.parse_template(text)),
        "evaluate": microseconds(lambda: evaluate_template(template, SCOPE)),
        "json": microseconds(lambda: json.loads(data)),
    }


def main() -> None:
    """Print the table, or data with ``--json``."""
    options = argparse.ArgumentParser(description="Time expressions against json.loads.")
    options.add_argument("--json", action="store_true", help="print data instead of a table")
    as_data = options.parse_args().json
    results = {name: {"size": float(len(text)), **measure(text)} for name, text in CASES.items()}
    if as_data:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
        return
    lines = [f"{'case':14}{'size':>6}{'parse µs':>10}{'× json':>8}{'cached µs':>11}{'evaluate µs':>13}{'× json':>8}"]
    for name, row in results.items():
        parse, evaluate, unit = row["parse"], row["evaluate"], row["json"]
        lines.append(
            f"{name:14}{row['size']:6.0f}{parse:10.2f}{parse / unit:8.1f}{row['cached']:11.2f}"
            f"{evaluate:13.2f}{evaluate / unit:8.1f}"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
