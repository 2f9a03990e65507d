"""Recorded histories for the replay operations: from Workfiles as text, and from those made at random."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from sim_runtime.driver.run import Run
from sim_runtime.history.canonical import canonical_bytes, chained, digest_of
from sim_runtime.history.chain import export_lines
from sim_runtime.history.header import Header
from sim_runtime.history.load import History, read_history
from sim_runtime.history.pins import pins_of
from sim_runtime.replay.definitions import Chosen
from sim_runtime.simulation import Prepared
from sim_runtime.world.scenario import Scenario
from tests.sim.lab import definition, loaded

Json = dict[str, Any]


def lines_of_run(run: Run, text: str, *children: str) -> list[bytes]:
    """The lines of a run's history; ``text`` and ``children`` are those that it was made of."""
    header = Header(run.run_id, "test", pins_of(*loaded(text, *children)))
    return [line.encode() for line in export_lines(header, run.records)]


def history_of(run: Run, text: str, *children: str) -> History:
    """A run's history, as it is read from a file."""
    return read_history(lines_of_run(run, text, *children))


def prefixes(lines: Sequence[bytes], random: Random | None = None, most: int = 0) -> list[History]:
    """The history cut after each record, as far as it has a durable boundary; with ``random`` some of them."""
    counts = list(range(2, len(lines) + 1))
    if random is not None:
        counts = random.sample(counts, min(most, len(counts)))
    found = []
    for count in counts:
        history = read_history(lines[:count], unfinished=True)
        if history.records:
            found.append(history)
    return found


def chosen_of(text: str, *children: str) -> Chosen:
    """A definition as it stands for the history's own."""
    workflow, project = loaded(text, *children)
    return Chosen(definition(text, *children), workflow, project, pins_of(workflow, project))


def prepared_of(text: str, *children: str) -> Prepared:
    """A Workfile that stands for the one of its name."""
    workflow, project = loaded(text, *children)
    return Prepared(project, workflow, definition(text, *children), Scenario())


def rechained(lines: Sequence[bytes], change: Callable[[list[Json]], None]) -> list[bytes]:
    """Lines in which something was changed, with all digests made anew: what is wrong then is what they say."""
    parsed = [json.loads(line) for line in lines]
    change(parsed)
    header = {key: value for key, value in parsed[0].items() if key != "digest"}
    digest = digest_of(header)
    found = [{**header, "digest": digest}]
    for record in parsed[1:]:
        plain = {key: value for key, value in record.items() if key != "digest"}
        digest = chained(digest, canonical_bytes(plain))
        found.append({**plain, "digest": digest})
    return [json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in found]
