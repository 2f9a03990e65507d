"""From records to what a picture shows: bars and marks on rows, and lines over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analyzer.language.durations import format_duration
from sim_runtime.history.records import Record
from sim_runtime.observed import Crash
from sim_runtime.picture.axis import Axis, axis_of
from sim_runtime.picture.rows import Bar, Mark, Row, Rows
from sim_runtime.timeline import describe

#: What a mark is drawn as when several things happen at one moment of a row: the first of these.
PRIORITY: Final = (
    "failure",
    "ambiguous",
    "hold",
    "recovery",
    "undo",
    "operator",
    "event",
    "refused",
    "timer",
    "handler",
    "late",
    "skipped",
    "suppressed",
    "success",
    "attempt",
    "route",
    "note",
)
_RANK: Final = {kind: rank for rank, kind in enumerate(PRIORITY)}
MAX_LINES: Final = 12


@dataclass(slots=True)
class Line:
    """A line from top to bottom at a moment. ``kind``: ``crash``, ``generation``, ``cancel``, ``end``."""

    kind: str
    place: int
    text: str
    title: str


@dataclass(slots=True)
class Picture:
    """Everything that is drawn. ``records`` is how many the history has, ``drawn`` how many of them are in here."""

    title: str
    status: str
    facts: list[str]
    start_us: int
    axis: Axis
    rows: list[Row]
    lines: list[Line] = field(default_factory=list)
    records: int = 0
    drawn: int = 0
    left_out: int = 0

    @property
    def omissions(self) -> list[str]:
        """What is not shown, a sentence each."""
        found = []
        if self.drawn < self.records:
            last = format_duration(self.axis.moments[-1].at - self.start_us)
            rest = f"{self.records - self.drawn:,} later records are left out"
            found.append(f"The picture ends at record {self.drawn:,}, +{last}; {rest}.")
        if self.left_out:
            found.append(f"{self.left_out:,} more steps, branches or iterations have no row of their own.")
        return found


def read_picture(
    records: Sequence[Record], crashes: Sequence[Crash], start_us: int, title: str, status: str, facts: Sequence[str]
) -> Picture:
    """The picture of a run's history and crashes."""
    axis = axis_of(records, crashes)
    rows = Rows(title)
    picture = Picture(title, status, list(facts), start_us, axis, [], records=len(records), drawn=len(axis.places))
    reader = _Reader(picture, rows)
    for place, record in zip(axis.places, records, strict=False):
        reader.read(place, record)
    for place, moment in enumerate(axis.moments):
        if moment.crash is not None:
            picture.lines.append(_crash(place, moment.crash, start_us))
    picture.rows = rows.in_order()
    picture.left_out = rows.left_out
    for row in picture.rows:
        for bar in row.bars:
            bar.stale = bar.seq in reader.superseded
    return picture


def _crash(place: int, crash: Crash, start_us: int) -> Line:
    when = f"+{format_duration(crash.at - start_us)}, after record {crash.records}"
    if crash.back is None:
        return Line("crash", place, "crash", f"the executor died at {when}, and is down")
    down = crash.back - crash.at
    text = "crash" if not down else f"crash, down {format_duration(down)}"
    back = "at once" if not down else f"after {format_duration(down)}"
    return Line("crash", place, text, f"the executor died at {when}, and was back {back}")


class _Reader:
    """Reads record by record; ``superseded`` are the sequence numbers of superseded records."""

    def __init__(self, picture: Picture, rows: Rows) -> None:
        self.picture = picture
        self.rows = rows
        self.superseded: set[int] = set()

    def read(self, place: int, record: Record) -> None:
        row = self.rows.row(record.id)
        if record.kind == "history.superseded":
            self.superseded.update(record.data["records"])
        if row is None:
            return
        act = _ACTIONS.get(record.kind)
        if act is not None and row.lane != "rest":
            act(self, place, record, row)
        mark = _MARKS.get(record.kind)
        kind = mark if not callable(mark) else mark(record.data)
        if kind is not None and (row.lane != "rest" or kind in ("failure", "ambiguous", "hold")):
            self.mark(place, record, row, kind)
        elif row.lane == "rest":
            self.begin(place, record, row, "step")
            row.open["step"].end = place

    # ---- bars -----------------------------------------------------------------------------------

    def begin(self, place: int, record: Record, row: Row, kind: str) -> None:
        """A bar that is not there already."""
        if kind not in row.open:
            bar = row.open[kind] = Bar(kind, place, record.seq, self.words(record, _BAR_WORDS[kind]))
            row.bars.append(bar)

    def end(self, place: int, row: Row, kind: str, outcome: str = "") -> None:
        """The end of a bar, where there is one."""
        bar = row.open.pop(kind, None)
        if bar is not None:
            bar.end, bar.outcome = place, outcome

    def end_all(self, place: int, row: Row, outcome: str = "") -> None:
        """The end of everything on a row and below it."""
        stack = [row]
        while stack:
            each = stack.pop()
            for kind in list(each.open):
                self.end(place, each, kind, outcome if each is row and kind == "step" else "")
            stack.extend(each.rows.values())

    def words(self, record: Record, text: str) -> str:
        """A tooltip: where, what, when."""
        since = format_duration(record.at - self.picture.start_us)
        return f"{record.path or 'the run'} {text}\n+{since}, record {record.seq}"

    def mark(self, place: int, record: Record, row: Row, kind: str) -> None:
        """A mark; several at one place become one."""
        said = describe(record)
        words = self.words(record, said[0] if said is not None else record.kind)
        before = row.marks.get(place - 1)
        if record.kind == "step.failed" and before is not None and before.kind == "failure":
            place -= 1  # the attempt that failed and the step that failed with it are one cross
        known = row.marks.get(place)
        if known is None:
            row.marks[place] = Mark(kind, [words])
            return
        if _RANK[kind] < _RANK[known.kind]:
            known.kind = kind
        if len(known.lines) < MAX_LINES:
            known.lines.append(words)
        elif len(known.lines) == MAX_LINES:
            known.lines.append("and more")

    def line(self, place: int, record: Record, kind: str, text: str) -> None:
        """A line over all rows."""
        said = describe(record)
        self.picture.lines.append(Line(kind, place, text, self.words(record, said[0] if said is not None else text)))

    # ---- records --------------------------------------------------------------------------------

    def started(self, place: int, record: Record, row: Row) -> None:
        kind = record.data["step"]
        if kind == "branch":
            row.lane = row.note = "branch"
        elif not row.lane and kind != "action":
            row.note = kind
        self.begin(place, record, row, "step")

    def succeeded(self, place: int, _record: Record, row: Row) -> None:
        self.end_all(place, row, "good")

    def failed(self, place: int, _record: Record, row: Row) -> None:
        self.end_all(place, row, "bad")

    def prepared(self, place: int, record: Record, row: Row) -> None:
        row.note = row.note if row.note and row.lane else record.data["action"]
        self.end(place, row, "retry")
        self.begin(place, record, row, "step")

    def dispatched(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "call")
        row.open["call"].title += f", attempt {record.data['attempt']}"

    def answered(self, place: int, record: Record, row: Row) -> None:
        self.end(place, row, "call", record.kind.removeprefix("action."))

    def suppressed(self, place: int, record: Record, row: Row) -> None:
        row.note = record.data["action"]
        self.begin(place, record, row, "step")

    def retried(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "retry")

    def timer_set(self, place: int, record: Record, row: Row) -> None:
        if record.data["timer"] in ("wait", "delay"):
            self.begin(place, record, row, "wait")

    def timer_over(self, place: int, record: Record, row: Row) -> None:
        if record.data["timer"] in ("wait", "delay"):
            self.end(place, row, "wait")

    def subscribed(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "wait")

    def waited(self, place: int, _record: Record, row: Row) -> None:
        self.end(place, row, "wait")

    def held(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "hold")

    def decided(self, place: int, _record: Record, row: Row) -> None:
        self.end(place, row, "hold")

    def branch(self, _place: int, record: Record, row: Row) -> None:
        taken = record.data["branch"]
        row.note = f"{row.note.partition(' → ')[0]} → {taken.strip('()') if taken is not None else 'none'}"

    def undoing(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "undo")

    def undone(self, place: int, _record: Record, row: Row) -> None:
        self.end(place, row, "undo")

    def state(self, place: int, record: Record, row: Row) -> None:
        self.leave(place, record, row)
        self.begin(place, record, row, "step")

    def leave(self, place: int, record: Record, row: Row) -> None:
        """The state before ends where the next one begins."""
        above = self.rows.row(record.id.rpartition("/")[0] + "/" if "/" in record.id else "")
        for each in above.rows.values() if above is not None else ():
            if each.lane == "state" and each is not row and "step" in each.open:
                self.end_all(place, each, "good")

    def run_started(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "step")

    def suspended(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "wait")

    def run_held(self, place: int, record: Record, row: Row) -> None:
        self.begin(place, record, row, "hold")

    def resumed(self, place: int, _record: Record, row: Row) -> None:
        self.end(place, row, "wait")
        self.end(place, row, "hold")

    def finished(self, place: int, record: Record, row: Row) -> None:
        outcome = "good" if record.data["outcome"] in ("succeeded", "stopped") else "bad"
        for each in row.rows.values():
            if each.lane == "state":
                self.end_all(place, each, outcome)
        self.end_all(place, row, outcome)
        if row is self.rows.root:
            self.line(place, record, "end", str(record.data["outcome"]))

    def child(self, _place: int, record: Record, row: Row) -> None:
        below = self.rows.row(f"{record.id}/")
        if below is not None and below is not row:
            below.note = record.data["workflow"]

    def generation(self, place: int, record: Record, _row: Row) -> None:
        self.line(place, record, "generation", f"generation {record.data['started']}")

    def superseding(self, place: int, record: Record, _row: Row) -> None:
        """What a recovery supersedes is over, however it stood."""
        gone = set(record.data["records"])
        for row in self.rows.in_order():
            for kind in [kind for kind, bar in row.open.items() if bar.seq in gone]:
                self.end(place, row, kind)

    def cancelled(self, place: int, record: Record, _row: Row) -> None:
        self.line(place, record, "cancel", "cancelled")


_BAR_WORDS: Final = {
    "step": "starts",
    "call": "is sent; its answer is waited for",
    "wait": "waits",
    "retry": "waits for its next attempt",
    "hold": "is held",
    "undo": "is undone",
}

_Act = Callable[[_Reader, int, Record, Row], None]

_ACTIONS: Final[dict[str, _Act]] = {
    "run.started": _Reader.run_started,
    "run.suspended": _Reader.suspended,
    "run.held": _Reader.run_held,
    "run.resumed": _Reader.resumed,
    "run.finished": _Reader.finished,
    "step.started": _Reader.started,
    "step.succeeded": _Reader.succeeded,
    "step.failed": _Reader.failed,
    "branch.selected": _Reader.branch,
    "action.prepared": _Reader.prepared,
    "action.dispatched": _Reader.dispatched,
    "action.suppressed": _Reader.suppressed,
    "action.succeeded": _Reader.answered,
    "action.failed": _Reader.answered,
    "action.ambiguous": _Reader.answered,
    "retry.scheduled": _Reader.retried,
    "timer.set": _Reader.timer_set,
    "timer.fired": _Reader.timer_over,
    "timer.released": _Reader.timer_over,
    "subscription.opened": _Reader.subscribed,
    "subscription.released": _Reader.waited,
    "state.entered": _Reader.state,
    "child.started": _Reader.child,
    "hold.entered": _Reader.held,
    "operator.decided": _Reader.decided,
    "history.superseded": _Reader.superseding,
    "compensation.prepared": _Reader.undoing,
    "compensation.succeeded": _Reader.undone,
    "compensation.failed": _Reader.undone,
    "compensation.ambiguous": _Reader.undone,
    "generation.started": _Reader.generation,
    "cancel.decided": _Reader.cancelled,
}


def _timer(data: dict[str, Any]) -> str | None:
    return None if data["timer"] == "retry" else "timer"


_MARKS: Final[dict[str, str | Callable[[dict[str, Any]], str | None]]] = {
    "step.skipped": "skipped",
    "step.failed": "failure",
    "handler.entered": "handler",
    "action.dispatched": "attempt",
    "action.suppressed": "suppressed",
    "action.succeeded": "success",
    "action.failed": "failure",
    "action.ambiguous": "ambiguous",
    "late_result.recorded": "late",
    "timer.fired": _timer,
    "event.accepted": "event",
    "event.refused": "refused",
    "route.selected": "route",
    "child.started": "note",
    "child.finished": "note",
    "reconcile.decided": "note",
    "hold.entered": "hold",
    "operator.decided": "operator",
    "recovery.decided": "recovery",
    "compensation.dispatched": "attempt",
    "compensation.succeeded": "undo",
    "compensation.failed": "failure",
    "compensation.ambiguous": "ambiguous",
    "step.started": lambda data: "note" if data["step"] == "wf.let" else None,
}
