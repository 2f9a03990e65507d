"""A run that goes on from a history: the driver's ``Run`` with its past given.

What a plan lets it take over is answered from the history instead of by the world, when the very same call comes up;
every such boundary is noted as ``boundary.reused``.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sim_runtime.core.definition import Definition
from sim_runtime.core.evolve import evolve
from sim_runtime.core.fitting import json_of
from sim_runtime.core.frames import Attempt, Subscription
from sim_runtime.core.inputs import Answered, Interrupted
from sim_runtime.core.looking import flights, walk
from sim_runtime.driver.agenda import Event, Queued
from sim_runtime.driver.protocol import Decision, Script, World
from sim_runtime.driver.run import Run, _Pending
from sim_runtime.history.paths import address_of, identity_of
from sim_runtime.history.records import Record
from sim_runtime.replay.calls import CONTEXT, RecordedCall
from sim_runtime.replay.comparing import same
from sim_runtime.replay.inputs import decision_of, input_of
from sim_runtime.replay.plan import Plan

Json: TypeAlias = Any


class ContinuedRun(Run):
    """A run whose ``past`` is not made but given; ``plan`` says what else of the history it may take over.

    Times of the script count from the past's last record. ``taken`` are the source records taken over on the way,
    ``given`` is the number of records that the past had.
    """

    def __init__(
        self, definition: Definition, world: World, past: Sequence[Record], script: Script, plan: Plan, run_id: str
    ) -> None:
        self._plan = plan
        self._known: dict[int, list[Record]] = {}
        self._notes: list[Record] = []
        self.taken: list[Record] = []
        self.given = len(past)
        end = past[-1].at
        super().__init__(definition, world, start_us=end, script=_named(script, past[-1].seq), run_id=run_id)
        self._start = None
        self.start_us = past[0].at
        if self.script.until_us is not None:
            self.script = replace(self.script, until_us=self.script.until_us + end - self.start_us)
        self._store.append(run_id, past)
        self.down = True
        self.resume()
        self._offer()
        self._schedule_open()

    # ---- what is taken over ---------------------------------------------------------------------

    def resume(self, down_us: int = 0) -> None:
        """As after a crash; the answers that the history knows are not lost."""
        super().resume(down_us)
        for flight in flights(self.state):
            known = self._known.get(flight.seq)
            if known is None and flight.seq <= len(self.records) and flight.id in self._plan.outcomes:
                known = self._known[flight.seq] = [self._plan.outcomes.pop(flight.id)]
            if known:
                self._answers = [each for each in self._answers if each.given.seq != flight.seq]
                heapq.heapify(self._answers)
                self._answer(flight.seq, flight.id, known[-1])

    def _offer(self) -> None:
        """Put what was accepted and decided in branches that are taken over to the run again."""
        for record in self._plan.offered:
            data = record.data
            if record.kind == "event.accepted":
                event = Event(data["trigger"], data["delivery"], json_of(data["payload"]))
                self._outside.put(event, max(self.now, record.at))
            else:
                self._waiting_decisions.insert(0, Decision(record.id, **decision_of(record)))

    def _dispatch(self, record: Record) -> None:
        call = self._recorded(record)
        if call is None:
            self._leave(record.id)
            super()._dispatch(record)
            return
        known = [call.prepared, call.dispatched, *([call.outcome] if call.outcome is not None else [])]
        self._known[record.seq] = known
        if call.outcome is None:
            given = Interrupted(self.now, record.seq, record.id)
            heapq.heappush(self._answers, _Pending(self.now, record.seq, given, -1))
        else:
            self._answer(record.seq, record.id, call.outcome)

    def _recorded(self, record: Record) -> RecordedCall | None:
        """The recorded call that this dispatch is, everything that was fixed before it being the same."""
        if record.kind != "action.dispatched":
            return None
        place = (record.id, record.generation, record.data["attempt"], record.data["reissue"])
        call = self._plan.calls.get(place)
        frame = self.state.frame(address_of(record.id))
        if call is None or frame is None or not isinstance(frame.info, Attempt):
            return None
        fixed = call.prepared.data
        met = all(same(getattr(frame.info, name), fixed[name]) for name in CONTEXT)
        if not met or frame.info.timeout != fixed.get("timeout"):
            return None
        del self._plan.calls[place]
        return call

    def _answer(self, seq: int, id_: str, outcome: Record) -> None:
        """Let a recorded outcome come when it came, or at once."""
        given = input_of(self.state, outcome)
        if not isinstance(given, Answered | Interrupted):
            return
        due = max(self.now, outcome.at)
        heapq.heappush(self._answers, _Pending(due, seq, replace(given, at=due, seq=seq, id=id_), -1))

    # ---- the notes ------------------------------------------------------------------------------

    def _told(self, source: Queued | _Pending | None, records: Sequence[Record]) -> None:
        super()._told(source, records)
        for each in records:
            if each.kind == "compensation.succeeded":
                self._leave(each.data["of"])
        if isinstance(source, _Pending):
            self._take(self._known.pop(source.given.seq, []))
        elif source is not None and records[0].kind in ("event.accepted", "operator.decided"):
            first = records[0]
            name = "delivery" if first.kind == "event.accepted" else "actor"
            for each in self._plan.offered:
                if (each.kind, each.id) == (first.kind, first.id) and each.data[name] == first.data[name]:
                    self._plan.offered.remove(each)
                    self._take([each])
                    break
            else:
                self._leave(first.id)

    def _leave(self, id_: str) -> None:
        """What is recorded of an action is not taken over any more: it was sent, decided or compensated here, so that
        what comes next is another call, however much it looks like one of the history."""
        self._plan.calls = {place: each for place, each in self._plan.calls.items() if place[0] != id_}

    def _take(self, sources: Sequence[Record]) -> None:
        self.taken.extend(sources)
        self._notes.extend(sources)

    def step(self) -> list[Record]:
        """One transaction; what was taken over is noted in one of its own."""
        if not self._notes or self.down:
            return super().step()
        sources, self._notes = self._notes, []
        notes = notes_of(sources, self.state.seq, self.now, self.state.generation)
        notes[-1].boundary = True
        self._store.append(self.run_id, notes)
        self.records.extend(notes)
        for note in notes:
            self.state = evolve(self.state, note)
        return notes

    def _schedule_open(self) -> None:
        """Events that were to come some time after a subscription that is active already."""
        for at, frame in list(walk(self.state)):
            if isinstance(frame.info, Subscription) and frame.info.subscribed:
                self._schedule_after(Record(0, self.now, "subscription.opened", identity_of(at), 0, {}))


def notes_of(sources: Sequence[Record], seq: int, at: int, generation: int) -> list[Record]:
    """The ``boundary.reused`` of source records, numbered after ``seq``."""
    return [
        Record(seq + place, at, "boundary.reused", each.id, generation, {"source": each.seq, "of": each.kind})
        for place, each in enumerate(sources, 1)
    ]


def _named(script: Script, seq: int) -> Script:
    """Events without a name of their own get one that the history cannot have used."""
    events = tuple(
        each if each.delivery is not None else replace(each, delivery=f"event-{seq}-{number}")
        for number, each in enumerate(script.events, 1)
    )
    return replace(script, events=events)
