"""What a successor run knows of the run before it: effects that were not taken over (profile: Continuation).

A part of ``evolve``. ``State.prior`` holds them until the same call is safely made again, its recorded outcome is taken
over, or an operator has decided. The holds for those that the definition has no step for stand at the run itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sim_runtime.core.frames import Ending, Frame, Hold, Prior, State
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


def forget_prior(state: State, id_: str) -> None:
    """What the run before did at an action is taken over, safely repeated, or decided."""
    if id_ in state.prior:
        state.prior = {name: each for name, each in state.prior.items() if name != id_}


def _invalidated(state: State, record: Record, _address: Address) -> None:
    """``boundary.invalidated``."""
    names = [name for name in Prior._fields if name != "settled"]
    found = {each["id"]: Prior(**{name: each[name] for name in names}) for each in record.data["effects"]}
    state.prior = {**state.prior, **found}
    for each in found.values():
        name = f"{each.action} {each.key}"
        if each.key is not None and name not in state.keys:
            state.keys = state.keys.set(name, each.arguments)


PRIOR_HANDLERS: Final[dict[str, Callable[[State, Record, Address], None]]] = {"boundary.invalidated": _invalidated}
