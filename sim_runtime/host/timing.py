"""Every duration of the host, once: the mechanisms and the bounds that are declared both read it here.

A *recovery bound* is the longest time between an instance ceasing to make progress and another one going on with its
work. There is one for each way in which that happens (a recovery class), each the sum of the terms that enforce it, and
no total over all of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: How long an instance counts as alive after it last said so, and how often it says so.
LEASE_MS: Final = 5_000
HEARTBEAT_MS: Final = 500
#: How often each worker looks for work whose owner is gone.
SWEEP_MS: Final = 500
#: Without a sweep for so long the supervisor takes the workers for wedged.
SWEEP_STALL_MS: Final = 15_000
#: Without a sweep for so long, and with a store that cannot be written, a process that was stopped is ended.
LOCK_STALL_MS: Final = 3_000
#: A worker whose loop made no turn for so long ends itself: its heartbeat would otherwise lie.
STALL_MS: Final = 30_000
#: How often a worker looks whether something in the store changed.
POLL_MS: Final = 5
#: How far the clock may go back before it counts as set back.
CLOCK_SLACK_MS: Final = 2_000
#: From the moment at which work may be taken over to the first event of it: claiming, reading its history, deciding.
FIRST_EVENT_MS: Final = 5_000
#: The supervisor's delay before it starts a process again, and how long it leaves a dead worker's work to its peers.
RESTART_MS: Final = 200
HANDOVER_MS: Final = 1_000
#: What the start of a process may take; a start that takes longer is told in the log.
BOOT_MS: Final = 10_000
#: What an operator's own supervisor, such as systemd, takes to start the whole host again: not ours to keep.
OPERATOR_RESTART_MS: Final = 2_000

#: How long work may run. These say nothing about liveness: a call or a run far below its limit is taken over as soon as
#: its owner is gone.
CALL_LIMIT_MS: Final = 15 * 60_000
RUN_LIMIT_MS: Final = 366 * 24 * 3_600_000

#: A run whose owner died so often, with no progress between, is given up. Deaths are counted in the store.
MAX_ATTEMPTS: Final = 8


class Term(NamedTuple):
    """A part of a bound."""

    name: str
    ms: int


class RecoveryClass(NamedTuple):
    """A way in which work is recovered. The bound is the sum of the terms."""

    name: str
    terms: tuple[Term, ...]

    @property
    def bound_ms(self) -> int:
        """The declared bound."""
        return sum(term.ms for term in self.terms)

    def as_json(self) -> dict[str, object]:
        """As the bound route serves it."""
        terms = [{"name": term.name, "ms": term.ms} for term in self.terms]
        return {"class": self.name, "bound": self.bound_ms, "terms": terms}


_SWEEP = Term("sweep.period", SWEEP_MS)
_FIRST = Term("first.event", FIRST_EVENT_MS)
_TAKEOVER = (
    Term("lease.ttl", LEASE_MS),
    Term("worker.handover", HANDOVER_MS),
    Term("worker.restart", RESTART_MS),
    Term("worker.boot", BOOT_MS),
    _SWEEP,
    _FIRST,
)

#: Accepted work that was held back by the process that accepted it. The service is away until that one is back.
ACCEPTED = RecoveryClass(
    "accepted-unclaimed",
    (Term("api.restart", RESTART_MS), Term("api.boot", BOOT_MS), Term("lease.ttl", LEASE_MS), _SWEEP, _FIRST),
)
#: Work whose worker died. Without a peer it is the restarted worker itself that goes on.
CLAIMED = RecoveryClass("claimed", _TAKEOVER)
#: Work whose worker lives and makes no progress.
STALLED = RecoveryClass("stalled-worker", (Term("stall.limit", STALL_MS), *_TAKEOVER))
#: Everything of the host died at once.
HOST = RecoveryClass(
    "host-restart",
    (
        Term("operator.restart", OPERATOR_RESTART_MS),
        Term("supervisor.boot", BOOT_MS),
        Term("worker.boot", BOOT_MS),
        _SWEEP,
        _FIRST,
    ),
)

CLASSES: Final = (ACCEPTED, CLAIMED, STALLED, HOST)
