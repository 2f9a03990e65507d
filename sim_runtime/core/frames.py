"""The state of a run: a tree of frames, one for each execution of a run, a list or a step that active history knows.

Values, nothing changes them after they were made (the slots named ``_…`` are caches of what the rest says). A change
copies the frames on the way to the root and shares everything else, so that keeping an old state costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.expressions.values import Value
from sim_runtime.core.persistent import Items, PMap, same_entries
from sim_runtime.history.paths import Address


class _Unset:
    """No value yet (null is a value)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Any] = _Unset()


class Failure(NamedTuple):
    """A definite failure. ``failed`` is the identity of the failed step, ``seq`` the record that told of it."""

    code: str
    message: str
    details: Value
    failed: str
    retryable: bool = False
    retry_after: int | None = None
    seq: int = 0


class Hold(NamedTuple):
    """The run needs a decision here."""

    reason: str
    allowed: tuple[str, ...]
    code: str | None = None


class Attempt(NamedTuple):
    """An action in progress or done. ``dispatched`` is the sequence number of the last dispatch, ``success`` that of
    the record that established success, ``due`` when the next attempt is made. ``unsure``: an attempt may have taken
    effect without a success. ``suppressed``: a dry run did not send it. ``undone``: its success was compensated."""

    action: str
    effect: str
    idempotency: str
    arguments: Value
    connection: str | None
    key: str | None
    timeout: int | None
    attempt: int
    reissue: int = 0
    dispatched: int = 0
    deadline: int | None = None
    due: int | None = None
    success: int = 0
    unsure: bool = False
    suppressed: bool = False
    reconciles: int = 0
    undone: bool = False


class Wait(NamedTuple):
    """A ``wf.wait``."""

    deadline: int
    fired: bool = False


class Accepted(NamedTuple):
    """An event that a wait keeps."""

    delivery: str
    at: int
    payload: Value


class Subscription(NamedTuple):
    """A ``wf.wait_for``. ``opened`` is the record since which it takes events, ``deadline`` None until its timer is
    set, ``status`` set once something was selected."""

    trigger: str
    match: Value
    connection: str | None
    opened: int
    deadline: int | None = None
    events: tuple[Accepted, ...] = ()
    fired: bool = False
    subscribed: bool = True
    timed: bool = False
    status: str | None = None
    event: Value = None


class Branch(NamedTuple):
    """The selected branch of ``wf.if`` or ``wf.switch``, None for none."""

    segment: str | None


class Members(NamedTuple):
    """A ``wf.for_each`` (``items`` are its elements) or ``wf.parallel``. ``next`` is the lowest index that did not
    start, ``active`` and ``broken`` count iterations or branches in progress and those whose failure stands."""

    items: tuple[Value, ...]
    concurrency: int
    next: int = 0
    active: int = 0
    broken: int = 0


class Child(NamedTuple):
    """A ``wf.call``. ``deadline`` is that of its timeout while its timer runs."""

    run_id: str
    deadline: int | None = None
    fired: bool = False
    cancel: bool = False
    outcome: str | None = None
    result: Value = None
    failure: Value = None


class StateTimer(NamedTuple):
    """A running state timer."""

    name: str
    deadline: int
    to: str
    fired: bool = False


class Entry(NamedTuple):
    """One entry of a state; ``timers`` None until they were set."""

    state: str
    number: int
    at: int
    timers: tuple[StateTimer, ...] | None = None


class Ending(NamedTuple):
    """How a run is about to end."""

    outcome: str
    result: Value = None
    failure: Value = None
    stop: Value = None
    cancel: Value = None


class Run(NamedTuple):
    """A run, the root's or a child's. ``entries`` are the segments of state entries in order, ``next`` the state that
    is entered next. ``ending`` is set when its end is decided, ``ended`` when it has ended."""

    run_id: str
    workflow: str
    inputs: Value
    trigger: Value
    started_at: int = 0
    entries: Sequence[str] = ()
    next: str | None = None
    ending: Ending | None = None
    ended: Ending | None = None


class Undo(NamedTuple):
    """The compensation in progress: ``phase`` is ``prepared``, ``dispatched``, ``ambiguous`` or ``failed``."""

    of: str
    phase: str
    number: int = 1
    action: str = ""
    effect: str = "write"
    idempotency: str = "none"
    arguments: Value = None
    connection: str | None = None
    key: str | None = None
    reissue: int = 0
    dispatched: int = 0
    code: str = ""
    hold: Hold | None = None


class Recovering(NamedTuple):
    """An activation of a recovery scope, whose delay counts from ``since``. ``stage`` is ``decided``, ``delay``,
    ``elapsed`` or ``superseded``."""

    failure: Failure
    redo: tuple[str, ...]
    generation: int
    since: int
    delay: int
    stage: str = "decided"
    queue: tuple[str, ...] = ()
    undo: Undo | None = None

    @property
    def until(self) -> int:
        """When the delay is over; time ends with the year 9999."""
        return min(self.since + self.delay, MAX_TIMESTAMP_US)


class Broken(NamedTuple):
    """A failure that left a branch or an iteration (``how`` is ``raise``), or a scope whose recovery gave up
    (``limit``: the scope fails; ``escalate``: the next scope outwards acts)."""

    failure: Failure
    how: str


class Authorization(NamedTuple):
    """An operator allowed one recovery past the limit."""

    actor: str
    at: int


class Prior(NamedTuple):
    """What a run that this one succeeds did at an action, where that does not count here and its effect may stand.
    ``number`` is that of the compensation, of an undo. ``reusable``: the outcome is taken over when the very same call
    is made in ``generation``. ``settled``: an operator let the run go on although it stands."""

    action: str
    idempotency: str
    arguments: Value
    connection: str | None
    key: str | None
    timeout: int | None
    generation: int
    number: int = 0
    reusable: bool = False
    settled: bool = False


class Handling(NamedTuple):
    """The handler that a step is in."""

    number: int
    error: Value


#: The phases of an attempt whose effect is not known.
UNKNOWN_EFFECT: Final = frozenset({"dispatched", "ambiguous", "reconciling", "unresolved"})
TERMINAL: Final = frozenset({"succeeded", "skipped", "continued", "failed", "left"})


class Frame:
    """One execution of a run, list or step. ``index`` is the place in its list, ``cursor`` how far a list has come.
    ``open`` and ``held`` count timers, subscriptions and child runs, and holds, in it and below it. ``seqs`` are the
    active records about it. ``gone``: it is superseded, and kept because its compensation reads it.
    ``authorized`` allows one recovery past the limit."""

    __slots__ = (
        "_binding",
        "_rest",
        "_rest_draining",
        "authorized",
        "broken",
        "children",
        "cursor",
        "failure",
        "gone",
        "handling",
        "held",
        "hold",
        "index",
        "info",
        "items",
        "open",
        "owner",
        "phase",
        "recovery",
        "role",
        "seqs",
        "value",
    )

    def __init__(self, role: str, phase: str, index: int = 0, info: Any = None) -> None:
        self.role = role
        self.phase = phase
        self.index = index
        self.info = info
        self.cursor = 0
        self.children: Mapping[str, Frame] = {}
        self.items: Items | None = None
        self.value: Any = UNSET
        self.failure: Failure | None = None
        self.broken: Broken | None = None
        self.handling: Handling | None = None
        self.hold: Hold | None = None
        self.recovery: Recovering | None = None
        self.authorized: Authorization | None = None
        self.open = 0
        self.held = 0
        self.gone = False
        self.seqs: Sequence[int] = ()
        self._rest = -1
        self._rest_draining = -1
        self._binding: Any = UNSET
        self.owner: object = None

    def copy(self) -> Frame:
        """A frame that may still be changed, with no caches."""
        new = Frame.__new__(Frame)
        new.role = self.role
        new.phase = self.phase
        new.index = self.index
        new.info = self.info
        new.cursor = self.cursor
        new.children = self.children
        new.items = self.items
        new.value = self.value
        new.failure = self.failure
        new.broken = self.broken
        new.handling = self.handling
        new.hold = self.hold
        new.recovery = self.recovery
        new.authorized = self.authorized
        new.open = self.open
        new.held = self.held
        new.gone = self.gone
        new.seqs = self.seqs
        new._rest = -1
        new._rest_draining = -1
        new._binding = UNSET
        new.owner = None
        return new

    def child(self, segment: str) -> Frame | None:
        """What stands below under a segment."""
        if segment[0] == "[":
            found: Frame | None = self.items.get(int(segment[1:-1])) if self.items is not None else None
            return found
        return self.children.get(segment)

    def below(self) -> Iterator[tuple[str, Frame]]:
        """Everything directly below, with its segment: in the order in which it began."""
        yield from self.children.items()
        if self.items is not None:
            for index, frame in self.items.present():
                yield f"[{index}]", frame

    @property
    def over(self) -> bool:
        """Whether nothing happens in it any more."""
        return self.phase in TERMINAL

    def _all(self) -> tuple[Any, ...]:
        return (
            self.role,
            self.phase,
            self.index,
            self.info,
            self.cursor,
            self.value,
            self.failure,
            self.broken,
            self.handling,
            self.hold,
            self.recovery,
            self.authorized,
            self.open,
            self.held,
            self.gone,
            self.seqs,
            self.items,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Frame) and self._all() == other._all() and same_entries(self.children, other.children)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.role} {self.phase} {list(self.children)}>"


class State:
    """Everything that history says of a run at one record. ``keys`` has the arguments first sent under each key. Of a
    successor run: ``prior`` is what the run before did that was not taken over, by identity; ``orphans`` are the holds
    for those that this definition does not have; ``ended`` are keys whose effect the run before compensated."""

    __slots__ = (
        "activations",
        "at",
        "bases",
        "compensated",
        "deliveries",
        "dry_run",
        "ended",
        "generation",
        "key_run",
        "keys",
        "last_generation",
        "making",
        "orphans",
        "prior",
        "root",
        "seed",
        "seq",
        "status",
        "unsure",
    )

    def __init__(self) -> None:
        self.root: Frame | None = None
        self.seq = 0
        self.at = 0
        self.status = "new"
        self.generation = 0
        self.last_generation = 0
        self.seed = 1
        self.dry_run = False
        self.key_run = ""
        self.keys: PMap[Value] = PMap()
        self.bases: PMap[str] = PMap()
        self.compensated: PMap[int] = PMap()
        self.unsure: PMap[bool] = PMap()
        self.deliveries: PMap[int] = PMap()
        self.activations: PMap[Sequence[int]] = PMap()
        self.ended: frozenset[str] = frozenset()
        self.prior: dict[str, Prior] = {}
        self.orphans: dict[str, Hold] = {}
        self.making: object = None

    def copy(self) -> State:
        """A state that may still be changed."""
        new = State.__new__(State)
        new.activations = self.activations
        new.at = self.at
        new.bases = self.bases
        new.compensated = self.compensated
        new.deliveries = self.deliveries
        new.dry_run = self.dry_run
        new.ended = self.ended
        new.generation = self.generation
        new.key_run = self.key_run
        new.keys = self.keys
        new.last_generation = self.last_generation
        new.orphans = self.orphans
        new.prior = self.prior
        new.root = self.root
        new.seed = self.seed
        new.seq = self.seq
        new.status = self.status
        new.unsure = self.unsure
        new.making = None
        return new

    @property
    def over(self) -> bool:
        """Whether the root run has ended."""
        return self.root is not None and self.run.ended is not None

    @property
    def run(self) -> Run:
        """The root run."""
        assert self.root is not None
        run: Run = self.root.info
        return run

    def frame(self, address: Address) -> Frame | None:
        """The frame at an address."""
        frame = self.root
        for segment in address:
            if frame is None:
                return None
            # What ``Frame.child`` does, written out: every record asks for some frames.
            if segment[0] != "[":
                frame = frame.children.get(segment)
            else:
                frame = frame.child(segment)
        return frame

    def way(self, address: Address) -> list[Frame]:
        """The frames from the root down to an address, as far as there are any: one more than it has segments when it
        is there."""
        found: list[Frame] = []
        frame = self.root
        for segment in address:
            if frame is None:
                return found
            found.append(frame)
            frame = frame.child(segment)
        if frame is not None:
            found.append(frame)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and all(getattr(self, name) == getattr(other, name) for name in State.__slots__)

    __hash__ = None  # type: ignore[assignment]


def key_name(action: str, key: str) -> str:
    """What an idempotency key is known by: actions do not share keys."""
    return f"{action} {key}"


#: The state before the first record.
EMPTY: Final = State()
