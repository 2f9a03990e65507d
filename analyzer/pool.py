"""Checking in several processes. Results are by path, so that their order does not depend on which is done first."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeAlias

from analyzer.cache import Digests, Record
from analyzer.driver import Engine, check_one, collect_when_due

CHUNKS_PER_JOB = 24
MAX_CHUNK = 32

_DIGESTS = Digests()
"""The digests that a worker process has found; it lives for one run."""

Results: TypeAlias = dict[str, Record | str]


def check_in_processes(
    paths: Sequence[str],
    engine: Engine,
    profiles: tuple[str, ...] | None,
    jobs: int,
    done: Callable[[int], None],
) -> Results:
    """The record of every file, or in words why there is none; ``done`` is told how many were finished each time.

    A process that dies (killed, out of memory) costs the files that were not finished, each with a word about it.
    """
    size = max(1, min(MAX_CHUNK, len(paths) // (jobs * CHUNKS_PER_JOB)))
    chunks = [paths[start : start + size] for start in range(0, len(paths), size)]
    results: Results = {}
    context = multiprocessing.get_context(_start_method())
    if context.get_start_method() == "fork":
        engine.check_file()  # loaded once here and shared by every process
        gc.freeze()
    executor = ProcessPoolExecutor(min(jobs, len(chunks)), mp_context=context, initializer=_quiet_worker)
    try:
        futures: list[Future[Results]] = [executor.submit(_check_chunk, chunk, engine, profiles) for chunk in chunks]
        for future in as_completed(futures):
            finished = future.result()
            results.update(finished)
            done(len(finished))
    except BrokenProcessPool:
        for path in paths:
            results.setdefault(path, f"`{path}` was not checked: a worker process died; try `--jobs 1`")
    except BaseException:
        _end(executor)
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        gc.unfreeze()
    return results


def _start_method() -> str:
    """Forking is fast, and safe where no other thread can hold a lock at that moment."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _quiet_worker() -> None:
    """An interrupt is for the process that the user sees; it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _check_chunk(paths: Sequence[str], engine: Engine, profiles: tuple[str, ...] | None) -> Results:
    results: Results = {}
    for path in paths:
        results[path] = check_one(engine, path, None, profiles, _DIGESTS)
        collect_when_due()
    return results


def _end(executor: ProcessPoolExecutor) -> None:
    """Stop the workers of an interrupted run at once, whatever they are at."""
    for pid in list(getattr(executor, "_processes", None) or {}):
        try:
            os.kill(pid, signal.SIGTERM)
        except OSError:
            continue
