"""A run that also notes its crashes. History does not know of them: an executor that died wrote nothing about it."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim_runtime.driver.run import Run


class Crash(NamedTuple):
    """The executor died at ``at`` with ``records`` records written, and was back at ``back`` (None: it is down)."""

    at: int
    records: int
    back: int | None = None


class ObservedRun(Run):
    """A run with ``crash_log``, its crashes in order. Times are microseconds since 1970-01-01T00:00:00Z."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.crash_log: list[Crash] = []
        super().__init__(*args, **options)

    def crash(self) -> None:
        """The executor dies."""
        self.crash_log.append(Crash(self.now, len(self.records)))
        super().crash()

    def resume(self, down_us: int = 0) -> None:
        """The executor is back after ``down_us``."""
        super().resume(down_us)
        if self.crash_log and self.crash_log[-1].back is None:
            self.crash_log[-1] = self.crash_log[-1]._replace(back=self.now)

    def fork(self) -> ObservedRun:
        """A copy that goes its own way."""
        copy = ObservedRun.__new__(ObservedRun)
        copy.__dict__.update(super().fork().__dict__)
        copy.crash_log = list(self.crash_log)
        return copy


def crashes_of(run: Run) -> list[Crash]:
    """The crashes that a run noted; a run that is not observed has none to tell."""
    return run.crash_log if isinstance(run, ObservedRun) else []
