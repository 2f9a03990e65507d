"""The axis of a picture: one place for each transaction and each crash, with the time that passes between them.

Simulated work takes no time, so what happens at one instant is spread in its order. Between instants the width grows
with the logarithm of the time: a second and a month both stay visible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sim_runtime.history.records import Record
from sim_runtime.observed import Crash

#: Transactions and crashes that are drawn; later ones are left out, which the picture says.
MAX_MOMENTS: Final = 3_000

_WIDTH: Final = 19.0
_NARROWEST: Final = 4.0
#: So many moments have their full width; with more of them all become narrower.
_WIDE: Final = 400
_GAP: Final = 26.0
_GAP_GROWTH: Final = 13.0
_MICROSECONDS: Final = 1_000_000


@dataclass(slots=True)
class Moment:
    """A transaction, or a crash. ``at`` is microseconds since the epoch, ``x`` its place on the axis."""

    at: int
    crash: Crash | None = None
    x: float = 0.0


@dataclass(frozen=True, slots=True)
class Gap:
    """Time that passes: from ``x`` on, ``width`` wide."""

    x: float
    width: float
    us: int


@dataclass(slots=True)
class Axis:
    """``places`` gives the moment of each record that is drawn, by position in the history."""

    moments: list[Moment] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    slot: float = _WIDTH
    width: float = 0.0

    def x(self, place: int) -> float:
        """Where a moment begins; past the last one, where the picture ends."""
        return self.moments[place].x if place < len(self.moments) else self.width


def axis_of(records: Sequence[Record], crashes: Sequence[Crash]) -> Axis:
    """The axis of a history, at most ``MAX_MOMENTS`` long."""
    axis = Axis()
    waiting = list(reversed(crashes))
    begins = True
    for position, record in enumerate(records):
        while waiting and waiting[-1].records <= position:
            axis.moments.append(Moment(waiting[-1].at, waiting.pop()))
            begins = True
        if begins and len(axis.moments) >= MAX_MOMENTS:
            break
        if begins:
            axis.moments.append(Moment(record.at))
        axis.places.append(len(axis.moments) - 1)
        begins = record.boundary
    else:
        axis.moments.extend(Moment(crash.at, crash) for crash in reversed(waiting))
    _lay_out(axis)
    return axis


def _lay_out(axis: Axis) -> None:
    axis.slot = max(_NARROWEST, min(_WIDTH, _WIDTH * _WIDE / max(1, len(axis.moments))))
    x = axis.slot / 2
    before: Moment | None = None
    for moment in axis.moments:
        passed = moment.at - before.at if before is not None else 0
        if passed > 0:
            width = _GAP + _GAP_GROWTH * math.log10(1 + passed / _MICROSECONDS)
            axis.gaps.append(Gap(round(x, 1), round(width, 1), passed))
            x += width
        moment.x = round(x, 1)
        x += axis.slot
        before = moment
    axis.width = round(x + axis.slot, 1)
