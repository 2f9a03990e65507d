"""An outside that takes idempotency keys as real providers do, and notes what would go wrong there.

It lives longer than a run: a history that was cut is continued under the outside as it was at the cut.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from sim_runtime.core.frames import Attempt, Frame
from sim_runtime.core.looking import Held, holds
from sim_runtime.driver.protocol import Answer, Call, Decision, Effect
from sim_runtime.driver.run import Run
from tests.sim.lab import H

UNDO = ".(undo)"


@dataclass
class Took:
    """Something that took effect; ``undone`` once a compensation ended it."""

    action: str
    id: str
    key: str | None
    arguments: str
    result: dict[str, str]
    undone: bool = False


@dataclass
class Slot:
    """A key: the arguments that were first sent under it, and what took effect."""

    arguments: str
    took: Took | None = None


class Provider:
    """Every effect has a result of its own. ``wrong`` are the keys that were misused. ``trouble`` of all calls fail, or
    are answered so that the caller cannot know."""

    def __init__(self, seed: int, trouble: float = 0.3) -> None:
        self.random = Random(seed)
        self.trouble = trouble
        self.slots: dict[tuple[str, str], Slot] = {}
        self.took: list[Took] = []
        self.wrong: list[str] = []

    def fork(self) -> Provider:
        return deepcopy(self)

    def effects(self) -> list[Effect]:
        return [Effect(each.action, each.key, each.id, 1, 1) for each in self.took]

    def dispatch(self, call: Call) -> Answer:
        latency = self.random.choice([0, 0, 60_000_000])
        if call.effect == "read":
            return self.failure(latency) or Answer("success", {"value": "read"}, latency_us=latency)
        arguments = json.dumps(call.arguments, sort_keys=True)
        slot = self.slot(call, arguments)
        known = slot.took if slot is not None else self.inherent(call, arguments)
        if known is not None:
            return Answer("success", known.result, latency_us=latency)
        failed = self.failure(latency)
        if failed is not None:
            return failed
        took = Took(call.action, call.id, call.key, arguments, {"value": f"{call.action}{len(self.took)}"})
        self.took.append(took)
        if slot is not None:
            slot.took = took
        if call.undoes is not None:
            self.undo(call)
        if self.random.random() < self.trouble / 4:
            return Answer("ambiguous", code="lost", latency_us=latency)
        return Answer("success", took.result, latency_us=latency)

    def failure(self, latency: int) -> Answer | None:
        if self.random.random() >= self.trouble:
            return None
        return Answer("failure", code=self.random.choice(["busy", "broken"]), latency_us=latency)

    def slot(self, call: Call, arguments: str) -> Slot | None:
        if call.key is None:
            return None
        slot = self.slots.setdefault((call.action, call.key), Slot(arguments))
        if slot.arguments != arguments:
            self.wrong.append(f"{call.key} of {call.action} is used for {slot.arguments} and {arguments}")
        if slot.took is not None and slot.took.undone:
            self.wrong.append(f"{call.key} of {call.action} was compensated, and is sent again")
        return slot

    def inherent(self, call: Call, arguments: str) -> Took | None:
        if call.idempotency != "inherent" or call.undoes is not None:
            return None
        return next((each for each in self.standing(call.action) if each.arguments == arguments), None)

    def standing(self, action: str) -> list[Took]:
        return [each for each in self.took if each.action == action and not each.undone]

    def undo(self, call: Call) -> None:
        undone = call.undoes
        assert undone is not None
        arguments = json.dumps(undone.arguments, sort_keys=True)
        for each in reversed(self.standing(undone.action)):
            same = each.key == undone.key if undone.key is not None else each.arguments == arguments
            if same and (undone.key is not None or each.id == call.id.removesuffix(UNDO)):
                each.undone = True
                return

    def knows(self, action: str, key: str | None, id_: str) -> Took | None:
        """What stands of a call."""
        found = [each for each in self.standing(action) if (each.key == key if key is not None else each.id == id_)]
        return found[-1] if found else None


def decision(run: Run, held: Held) -> Decision | None:
    """What an operator who looks outside decides: the truth."""
    world = run.world
    assert isinstance(world, Provider)
    if "authorize_recovery" in held.hold.allowed:
        return None
    of = held.id.removesuffix(UNDO)
    prepared = [each.data for each in run.records if each.kind == "action.prepared" and each.id == of]
    told = run.state.prior.get(of)
    action, key = (told.action, told.key) if told is not None else ("", None)
    if prepared:
        action, key = prepared[-1]["action"], prepared[-1]["key"]
    stands = world.knows(action, key, of)
    if held.id.endswith(UNDO):
        return Decision(held.id, "dana", "fail" if stands else "succeed", code="stands", result={"value": "undone"})
    if stands is not None:
        return Decision(held.id, "dana", "succeed", result=stands.result)
    return Decision(held.id, "dana", "fail", code="no_effect")


def followed(run: Run, decide: bool = True) -> dict[int, Provider]:
    """Run as far as it goes; the outside as it was at every boundary, by the number of records. ``decide``: somebody
    decides what is held."""
    found = {}
    for _ in range(5_000):
        world = run.world
        assert isinstance(world, Provider)
        found[len(run.records)] = world.fork()
        if run.step():
            continue
        due = run.next_due()
        if due is not None and due <= run.start_us + 1000 * H:
            run.now = max(run.now, due)
            continue
        open_ = [decision(run, each) for each in holds(run.state)] if decide and not run.over else []
        if not any(each is not None and run.decide(each).accepted for each in open_):
            break
    return found


def believed(frame: Frame) -> list[tuple[str, str]]:
    """The action and key of every keyed success that a run counts on: what is superseded waits to be compensated."""
    found: list[tuple[str, str]] = []
    info = frame.info
    if frame.gone:
        return found
    if isinstance(info, Attempt) and info.key is not None and info.success and not info.undone:
        found.append((info.action, info.key))
    for _, child in frame.below():
        found.extend(believed(child))
    return found


def judge(run: Run, what: Any) -> None:
    """No key was misused; what the run counts on stands outside, and what it takes for compensated does not."""
    world = run.world
    assert isinstance(world, Provider)
    assert not world.wrong, (world.wrong, what)
    assert run.state.root is not None
    prepared: dict[str, dict[str, Any]] = {}
    decided = {each.id for each in run.records if each.kind == "operator.decided"}
    for record in run.records:
        if record.kind in ("action.prepared", "compensation.prepared"):
            prepared[record.id] = record.data
        elif record.kind == "compensation.succeeded" and record.data["of"] not in decided:
            data = prepared[record.data["of"]]
            if data["key"] is not None:
                assert world.knows(data["action"], data["key"], "") is None, (record, data["key"], what)
    for action, key in believed(run.state.root):
        took = world.knows(action, key, "")
        assert took is not None or (decided and not world.slots.get((action, key))), (action, key, what)
