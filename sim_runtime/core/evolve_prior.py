"""What a successor run knows of the run before it: effects that were not taken over (profile: Continuation).

A part of ``evolve``. ``State.prior`` holds them until the same call is safely made again, its recorded outcome is taken
over, or an operator has decided. The holds for those that the definition has no step for stand at the run itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sim_runtime.core.frames import Ending, Frame, Hold, Prior, State, key_name
from sim_runtime.core.tree import put
from sim_runtime.history.paths import Address
from sim_runtime.history.records import Record


def is_orphan(state: State, address: Address) -> bool:
    """Whether nothing is in progress at an address that a hold could stand at."""
    frame = state.frame(address)
    return frame is None or frame.over


def hold_orphan(state: State, id_: str, entered: Hold) -> None:
    """Hold the run for an action that stands nowhere in it."""
    _count_hold(state, 1)
    state.orphans = {**state.orphans, id_: entered}


def decide_orphan(state: State, record: Record) -> None:
    """``operator.decided`` on such a hold: ``succeed`` lets the run go on, ``fail`` ends it as failed, whatever else
    holds it. The effect stands all the same."""
    failed = record.data["decision"] == "fail"
    decided = list(state.orphans) if failed else [record.id]
    _count_hold(state, -len(decided))
    state.orphans = {name: each for name, each in state.orphans.items() if name not in decided}
    settled = list(state.prior) if failed else decided
    state.prior = {
        name: each._replace(settled=True, reusable=False) if name in settled else each
        for name, each in state.prior.items()
    }
    if not failed:
        return
    told: dict[str, Any] = record.data["failure"]
    failure = {"code": told["code"], "message": told["message"], "details": told["details"], "path": record.path}

    def end(root: Frame) -> None:
        root.info = root.info._replace(ending=Ending("failed", failure=failure))

    _change_root(state, end)


def _count_hold(state: State, by: int) -> None:
    def count(root: Frame) -> None:
        root.held += by

    _change_root(state, count)


def _change_root(state: State, change: Callable[[Frame], None]) -> None:
    if state.root is not None:
        root = state.root.copy()
        change(root)
        put(state, (), root)


def forget_undone(state: State, of: str, undo: Prior | None) -> None:
    """What the run before did at the action ``of`` was ended by its ``undo``: it holds nothing, and the key that it was
    sent under is used up. What was sent again after the undo stands."""
    prior = state.prior.get(of)
    if prior is None or (undo is not None and prior.generation > undo.generation):
        return
    if prior.key is not None:
        state.ended |= {key_name(prior.action, prior.key)}
    if of in state.orphans:
        _count_hold(state, -1)
        state.orphans = {name: each for name, each in state.orphans.items() if name != of}
    forget_prior(state, of)


def forget_prior(state: State, id_: str) -> None:
    """What the run before did at an action is taken over, safely repeated, or decided."""
    if id_ in state.prior:
        state.prior = {name: each for name, each in state.prior.items() if name != id_}


def _invalidated(state: State, record: Record, _address: Address) -> None:
    """``boundary.invalidated``."""
    data = record.data
    found = {each["id"]: _prior_of(each) for each in data["effects"]}
    counted = data.get("compensated", {})
    state.prior = {name: each for name, each in state.prior.items() if name not in counted} | found
    for id_, count in counted.items():
        state.compensated = state.compensated.set(id_, max(count, state.compensated.get(id_) or 0))
    sent = [(each.action, each.key, each.arguments) for each in found.values() if each.key is not None]
    sent += [(each["action"], each["key"], each["arguments"]) for each in data.get("keys", ())]
    for action, key, arguments in sent:
        name = key_name(action, key)
        if name not in state.keys:
            state.keys = state.keys.set(name, arguments)
    state.ended |= {key_name(each["action"], each["key"]) for each in data.get("keys", ()) if each["ended"]}


def _prior_of(told: dict[str, Any]) -> Prior:
    """One of the ``effects`` that a record tells of. One written by a release before this has no ``number``."""
    return Prior(**{name: told[name] for name in Prior._fields if name != "settled" and name in told})


PRIOR_HANDLERS: Final[dict[str, Callable[[State, Record, Address], None]]] = {"boundary.invalidated": _invalidated}
