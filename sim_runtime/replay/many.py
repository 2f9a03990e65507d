"""Many histories at once, in as many processes as are worth it; results are in the order of the paths."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sim_runtime.history.refusal import Refusal, Refused
from sim_runtime.replay.definitions import Chosen, Definitions
from sim_runtime.replay.divergence import Divergence
from sim_runtime.replay.evaluation import reevaluate
from sim_runtime.replay.explaining import Explanation, explain
from sim_runtime.replay.reading import read
from sim_runtime.replay.versions import first_invalid

if TYPE_CHECKING:
    from sim_runtime.history.load import History
    from sim_runtime.simulation import Prepared

Json: TypeAlias = Any

#: So many histories are worth a process of their own.
_WORTH: Final = 16
_CHUNK: Final = 8


@dataclass(slots=True)
class Result:
    """What became of one history. ``place`` is file, line, column and line's text where it diverges; ``changes`` are
    in words; ``fields`` are those of the record that differ. ``span`` is the place in the text of the file of
    ``workflow``, the Workfile in which it diverges. ``spliced``: it is compatible, and was made under another version
    of a connector, an overlay or time zone data."""

    path: str
    run: str | None
    definition: str
    outcome: str
    divergence: Json = None
    refusal: Refusal | None = None
    place: tuple[str, int, int, str] | None = None
    changes: list[str] = field(default_factory=list)
    span: tuple[int, int] | None = None
    fields: tuple[str, ...] = ()
    workflow: str | None = None
    spliced: bool = False

    def json(self) -> dict[str, Json]:
        """The entry of ``histories`` of the interfaces page."""
        return {
            "path": self.path,
            "run": self.run,
            "definition": self.definition,
            "outcome": self.outcome,
            "divergence": self.divergence,
            "refusal": None if self.refusal is None else self.refusal.json(),
        }


def evaluate_files(
    paths: Sequence[str],
    other: Prepared | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    going_on: bool = False,
) -> list[Result]:
    """Re-evaluate histories, on their own definitions or on a Workfile that stands for its name; ``progress`` is told
    how many of how many are done. ``going_on``: the question is whether the runs can go on, which those made under
    other versions of connectors, overlays or time zone data cannot."""
    jobs = min(jobs or os.cpu_count() or 1, max(1, len(paths) // _WORTH))
    if jobs <= 1:
        worker = _Worker(other, going_on)
        results = []
        for path in paths:
            results.append(worker.result(path))
            progress(len(results), len(paths))
        return results
    return _in_processes(paths, other, jobs, progress, going_on)


class _Worker:
    """Re-evaluates one history after the other; definitions are made once."""

    def __init__(self, other: Prepared | None, going_on: bool) -> None:
        self.going_on = going_on
        self.definitions = Definitions(other)
        self.pinned = Definitions()

    def result(self, path: str) -> Result:
        which = "pinned" if self.definitions.other is None else "other"
        history: History | None = None
        try:
            history = read(path)
            chosen = self.definitions.of(history.header)
            evaluation = reevaluate(history, chosen)
        except Refused as error:
            run = None if history is None else history.header.run
            return Result(path, run, which, "refused", refusal=error.refusal)
        finally:
            gc.collect(0)
        found = Result(path, history.header.run, which, "compatible")
        divergence = evaluation.divergence
        if not chosen.is_pinned and (self.going_on or divergence is None):
            first = first_invalid(history, chosen, divergence)
            found.spliced = divergence is not first and not self.going_on
            divergence = first if self.going_on else divergence
        if divergence is not None:
            self.tell(found, divergence, history, chosen)
        return found

    def tell(self, found: Result, divergence: Divergence, history: History, chosen: Chosen) -> None:
        found.outcome = "divergent"
        found.divergence = divergence.json()
        found.fields = divergence.fields
        explanation = explain(divergence, history.header, chosen, self.pinned)
        found.changes = [each.words for each in explanation.changes]
        found.workflow = explanation.workflow.name if explanation.workflow is not None else None
        if chosen.file is not None and explanation.workflow is chosen.file:
            self.place(found, explanation, chosen)

    def place(self, found: Result, explanation: Explanation, chosen: Chosen) -> None:
        """Where in the given file it is: at the step, else at the change, else at its beginning."""
        assert chosen.file is not None
        assert self.definitions.other is not None
        document = self.definitions.other.project.document(chosen.file.path)
        node = explanation.node or next((each.node for each in explanation.changes if each.node is not None), None)
        if document is None or node is None:
            return
        line, column = document.source.line_column(node.start)
        text = document.source.text.splitlines()
        shown = text[line] if line < len(text) else ""
        found.place = (chosen.file.path, line + 1, column + 1, shown.strip())
        found.span = (node.start, node.end)


_worker: _Worker | None = None


def _begin(other: Prepared | None, going_on: bool) -> None:
    global _worker  # noqa: PLW0603 - one worker a process, made when the process begins
    gc.disable()
    _worker = _Worker(other, going_on)


def _chunk(paths: Sequence[str]) -> list[Result]:
    assert _worker is not None
    return [_worker.result(path) for path in paths]


def _in_processes(
    paths: Sequence[str], other: Prepared | None, jobs: int, progress: Callable[[int, int], None], going_on: bool
) -> list[Result]:
    if "fork" not in multiprocessing.get_all_start_methods():
        # A compiled definition cannot be sent to another process.
        return evaluate_files(paths, other, 1, progress, going_on=going_on)
    chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
    results: list[Result] = []
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(other, going_on)) as executor:
        futures = [executor.submit(_chunk, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                found = future.result()
            except BrokenProcessPool:
                found = [_lost(path) for path in chunk]
            results.extend(found)
            progress(len(results), len(paths))
    return results


def _lost(path: str) -> Result:
    message = "The history was not evaluated: a worker process died; try `--jobs 1`."
    return Result(path, None, "pinned", "refused", refusal=Refusal("absent", "header", message))
