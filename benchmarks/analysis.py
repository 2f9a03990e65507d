"""The cost of each pass over one Workfile, in this process: ``python -m benchmarks.analysis`` prints JSON.

CPU milliseconds, the best of several turns; garbage collection is off, as it is in a check. Parsing an expression is
counted with parsing, so expressions are parsed before types are measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from analyzer.expressions.parser import parse_afresh, parse_template
from analyzer.flow.control import check_control
from analyzer.model.build import build_workflow
from analyzer.model.durable import check_durable
from analyzer.model.problems import Problems
from analyzer.model.resolve import Resolver
from analyzer.model.typing import WorkflowTyper
from analyzer.syntax.nodes import Scalar, walk
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.project import project_for
from benchmarks.generate import write_project

Result = TypeVar("Result")


class Clock:
    """The best CPU time of each pass, in milliseconds."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Result]) -> Result:
        """Do the work once."""
        started = time.process_time()
        result = work()
        spent = (time.process_time() - started) * 1000
        self.best[name] = min(spent, self.best.get(name, spent))
        return result


def measure(steps: int, turns: int) -> dict[str, float]:
    """CPU milliseconds of each pass over a Workfile of ``steps`` steps."""
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="workfile-bench-") as name:
        path = str(write_project(Path(name), 1, steps)[0])
        text = Path(path).read_text(encoding="utf-8")
        gc.disable()
        for turn in range(turns):
            _turn(clock, path, text, pure=turn < 2)
            gc.collect()
    return clock.best


def _turn(clock: Clock, path: str, text: str, *, pure: bool) -> None:
    source = Source(text, path)
    if pure:
        clock.time("parse, pure", lambda: parse(source, backend="pure"))
    tree = clock.time("parse", lambda: parse(source))
    assert tree.root is not None
    texts = [node.text for node in walk(tree.root) if isinstance(node, Scalar) and "{{" in node.text]
    clock.time("expressions", lambda: [parse_afresh(each) for each in dict.fromkeys(texts)])
    for each in texts:
        parse_template(each)
    problems = Problems()
    workflow = clock.time("model", lambda: build_workflow(path, tree.root, problems))
    clock.time("resolve", lambda: Resolver(workflow, project_for(path), problems, lambda _: None).run())
    clock.time("types and null", lambda: WorkflowTyper(workflow, source, problems).run())
    clock.time("flow", lambda: check_control(workflow, problems, source))
    clock.time("durable", lambda: check_durable(workflow, source, problems))


def main() -> None:
    """Print the figures of one size."""
    parser = argparse.ArgumentParser(description="Time each pass of the analysis in this process.")
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps(measure(options.steps, options.turns)))


if __name__ == "__main__":
    main()
