"""What the records of timers, events, states and child runs make of a state; a part of ``evolve``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim_runtime.core.frames import Accepted, Child, Entry, Frame, Run, State, StateTimer, Subscription, Wait
from sim_runtime.core.persistent import appended, with_entry
from sim_runtime.core.tree import put, update
from sim_runtime.history.paths import CHILD, Address
from sim_runtime.history.records import Record


def _timer_set(state: State, record: Record, address: Address) -> None:
    name, deadline = record.data["timer"], record.data["deadline"]

    def change(frame: Frame) -> None:
        frame.open += 1
        if name == "delay" and frame.recovery is not None:
            frame.recovery = frame.recovery._replace(stage="delay")
        elif name.startswith("state:"):
            timer = StateTimer(name[6:], deadline, record.data["to"])
            frame.info = frame.info._replace(timers=(*(frame.info.timers or ()), timer))
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(deadline=deadline, timed=True)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(deadline=deadline)
        else:
            frame.phase = "waiting"
            frame.info = Wait(deadline)

    update(state, address, record.seq, change)


def _timer_fired(state: State, record: Record, address: Address) -> None:
    name = record.data["timer"]

    def change(frame: Frame) -> None:
        if name == "retry":
            frame.phase = "due"
            frame.info = frame.info._replace(due=None)
            return
        frame.open -= 1
        if name == "delay" and frame.recovery is not None:
            frame.recovery = frame.recovery._replace(stage="elapsed")
        elif name.startswith("state:"):
            timers = tuple(
                timer._replace(fired=True) if timer.name == name[6:] else timer for timer in frame.info.timers or ()
            )
            frame.info = frame.info._replace(timers=timers)
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(fired=True, timed=False)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(fired=True, deadline=None)
        else:
            frame.info = frame.info._replace(fired=True)

    update(state, address, record.seq, change)


def _timer_released(state: State, record: Record, address: Address) -> None:
    name = record.data["timer"]

    def change(frame: Frame) -> None:
        frame.open -= 1
        if name == "delay":
            frame.recovery = None
        elif name.startswith("state:"):
            timers = tuple(timer for timer in frame.info.timers or () if timer.name != name[6:])
            frame.info = frame.info._replace(timers=timers)
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(timed=False)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(deadline=None)
        else:
            frame.phase = "left"

    update(state, address, record.seq, change)


def _subscribed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open += 1
        frame.phase = "open"
        frame.info = Subscription(data["trigger"], data["match"], data["connection"], record.seq)

    update(state, address, record.seq, change)


def _event(state: State, record: Record, address: Address) -> None:
    data = record.data
    event = Accepted(data["delivery"], record.at, data["payload"])

    def change(frame: Frame) -> None:
        frame.info = frame.info._replace(events=(*frame.info.events, event))

    update(state, address, record.seq, change)
    if data["delivery"] not in state.deliveries:
        state.deliveries = state.deliveries.set(data["delivery"], record.seq, state.making)


def _selected(state: State, record: Record, address: Address) -> None:
    delivery = record.data.get("delivery")

    def change(frame: Frame) -> None:
        events = frame.info.events
        payload = next((event.payload for event in events if event.delivery == delivery), None)
        frame.phase = "selected"
        frame.info = frame.info._replace(status=record.data["status"], event=payload)

    update(state, address, record.seq, change)


def _unsubscribed(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.open -= 1
        frame.info = frame.info._replace(subscribed=False)

    update(state, address, record.seq, change)


# ---- states and children ------------------------------------------------------------------------


def _entered(state: State, record: Record, address: Address) -> None:
    data = record.data
    segment = address[-1]
    frame = Frame("list", "running", info=Entry(data["state"], data["entry"], record.at))
    frame.seqs = (record.seq,)

    def change(run: Frame) -> None:
        entries = run.info.entries
        if entries and entries[-1] in run.children:
            last = run.children[entries[-1]].copy()
            last.phase = "left"
            run.children = with_entry(run.children, entries[-1], last)
        run.info = run.info._replace(entries=appended(entries, segment), next=None)

    put(state, address, frame, change)


def _route(state: State, record: Record, address: Address) -> None:
    frame = state.frame(address)
    if frame is None:
        return
    left = frame.copy()
    left.phase = "left"
    left.seqs = appended(left.seqs, record.seq)

    def change(run: Frame) -> None:
        run.info = run.info._replace(next=record.data["to"])

    put(state, address, left, change)


def _child_started(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open += 1
        frame.phase = "child"
        frame.info = Child(data["child"])
        run = Frame("run", "accepted", info=Run(data["child"], data["workflow"], data["inputs"], None))
        frame.children = {**frame.children, CHILD: run}

    update(state, address, record.seq, change)


def _child_finished(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open -= 1
        if frame.phase == "child":
            frame.phase = "returned"
        frame.info = frame.info._replace(
            outcome=data["outcome"], result=data.get("result"), failure=data.get("failure")
        )

    update(state, address, record.seq, change)


def _child_cancelled(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.info = frame.info._replace(cancel=True)

    update(state, address, record.seq, change)


WAIT_HANDLERS: Final[dict[str, Callable[[State, Record, Address], None]]] = {
    "timer.set": _timer_set,
    "timer.fired": _timer_fired,
    "timer.released": _timer_released,
    "subscription.opened": _subscribed,
    "event.accepted": _event,
    "wait.selected": _selected,
    "subscription.released": _unsubscribed,
    "state.entered": _entered,
    "route.selected": _route,
    "child.started": _child_started,
    "child.finished": _child_finished,
    "child.cancel_requested": _child_cancelled,
}
