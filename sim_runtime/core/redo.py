"""Redo sets: what a recovery activation supersedes (language page, section 5, "Redo sets")."""

from __future__ import annotations

from sim_runtime.core.frames import Entry, Frame, Members
from sim_runtime.core.transaction import Tx
from sim_runtime.history.paths import Address, address_of, identity_of, join


def redo_set(tx: Tx, scope: Address, redo: str, failed: str) -> list[str]:
    """The identities that are superseded, with all below them, innermost branches in document order."""
    target = address_of(failed)
    if redo == "this_step":
        return [failed] if len(target) > len(scope) else _members(tx, scope)
    if redo == "whole_group" or len(target) <= len(scope):
        return _members(tx, scope)
    found: list[str] = []
    _suffix(tx, scope, target, found)
    return found


def _members(tx: Tx, scope: Address) -> list[str]:
    """All direct children of a scope; a choice has its active branch's steps. What handles the scope's failure begins
    only when its recovery has given up."""
    inside = _active_branch(scope, tx.frame(scope))
    return [join(identity_of(inside), name) for name, _ in tx.frame(inside).below()]


def _active_branch(at: Address, frame: Frame) -> Address:
    segment = getattr(frame.info, "segment", None)
    return at if segment is None else (*at, segment)


def _suffix(tx: Tx, around: Address, target: Address, found: list[str]) -> None:
    """``this_and_after`` inside ``around``, which contains the failed step: its child that does runs again as a whole;
    while that is a choice or a loop, the rule is applied inside. Of a ``wf.parallel`` on the way completed branches
    stay."""
    frame = tx.frame(around)
    if isinstance(frame.info, Members):
        _members_again(tx, around, frame, target, found)
        return
    inside = _active_branch(around, frame)
    if len(target) <= len(inside) or target[: len(inside)] != inside:
        found.append(identity_of(around))  # the failure is the construct's own: it runs again as a whole
        return
    child = (*inside, target[len(inside)])
    if child == target:
        found.append(identity_of(child))
    elif _descends(tx.frame(child)):
        _suffix(tx, child, target, found)
    else:
        _as_a_whole(tx, child, target, found)


def _descends(frame: Frame) -> bool:
    """Whether the rule is applied inside: a choice, or a loop or parallel in progress (not one that is handling)."""
    if frame.handling is not None:
        return False
    return isinstance(frame.info, Members) or getattr(frame.info, "segment", None) is not None


def _members_again(tx: Tx, at: Address, frame: Frame, target: Address, found: list[str]) -> None:
    """The stopped iterations and branches are rebuilt from their start; completed ones stay. Inside the failed
    iteration the rule goes on; a failed branch is rebuilt as a whole."""
    own = target[len(at)]
    for name, member in frame.below():
        if name.startswith("(") or member.over:
            continue
        if name == own and frame.items is not None and len(target) > len(at) + 1:
            _suffix(tx, (*at, name), target, found)
        else:
            found.append(join(identity_of(at), name))


def _as_a_whole(tx: Tx, at: Address, target: Address, found: list[str]) -> None:
    """Run ``at`` again as a whole, but for the completed branches of a ``wf.parallel`` in it that contains the failed
    step. Only groups may stand around that: anything else evaluates or waits anew when it runs again."""
    for depth in range(len(at), len(target)):
        here = target[:depth]
        frame = tx.frame(here)
        if frame.handling is not None or (frame.info is not None and not isinstance(frame.info, Entry)):
            if isinstance(frame.info, Members) and frame.items is None and _has_completed(frame):
                _around(tx, at, here, found)
                _members_again(tx, here, frame, target, found)
                return
            break
    found.append(identity_of(at))


def _has_completed(parallel: Frame) -> bool:
    return parallel.handling is None and any(member.over for _, member in parallel.below())


def _around(tx: Tx, at: Address, kept: Address, found: list[str]) -> None:
    """Everything in ``at`` but the frame ``kept`` and those that it stands in."""
    for depth in range(len(at), len(kept)):
        frame = tx.frame(kept[:depth])
        for name, _ in frame.below():
            if name != kept[depth]:
                found.append(join(identity_of(kept[:depth]), name))
