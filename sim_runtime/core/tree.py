"""Changing one frame of a state: the frames on the way to the root are copied, everything else is shared."""

from __future__ import annotations

from collections.abc import Callable

from sim_runtime.core.frames import Frame, State
from sim_runtime.core.persistent import appended, with_entry
from sim_runtime.history.paths import Address

Change = Callable[[Frame], None]


def put(state: State, address: Address, frame: Frame | None, parent_change: Change | None = None) -> None:
    """Set what stands at ``address`` (a frame that no other state has; None removes it) in a state that may still be
    changed; ``parent_change`` is done to the copy of the frame above it, and counts nothing that is open or held. A
    place whose frames above are not there stays as it is."""
    if frame is not None:
        frame.owner = state.making
    if not address:
        state.root = frame
        return
    chain = state.way(address)
    if len(chain) < len(address):
        return
    current = chain.pop() if len(chain) > len(address) else None
    opened = (frame.open if frame is not None else 0) - (current.open if current is not None else 0)
    held = (frame.held if frame is not None else 0) - (current.held if current is not None else 0)
    _rebuild(state, address, chain, (current, frame), opened, held, parent_change)


def _rebuild(
    state: State,
    address: Address,
    chain: list[Frame],
    change: tuple[Frame | None, Frame | None],
    opened: int,
    held: int,
    parent_change: Change | None,
) -> None:
    """The frames of ``chain``, those from the root down to ``address``, anew around what ``change`` puts in place
    of something; ``opened`` and ``held`` is what it has more than before."""
    old, child = change
    for depth in range(len(chain) - 1, -1, -1):
        before = chain[depth]
        parent = own(state, before)
        if child is not old:
            _set_child(parent, address[depth], child)
        elif not opened and not held and parent_change is None:
            return  # it was changed in place, and nothing further up says otherwise
        old = before
        if opened:
            parent.open += opened
        if held:
            parent.held += held
        if parent_change is not None:
            parent_change(parent)
            parent_change = None
        child = parent
    state.root = child


def _set_child(parent: Frame, segment: str, child: Frame | None) -> None:
    if segment[0] == "[":
        assert parent.items is not None
        parent.items = parent.items.set(int(segment[1:-1]), child)
    elif child is not None:
        parent.children = with_entry(parent.children, segment, child)
    elif segment in parent.children:
        parent.children = {name: each for name, each in parent.children.items() if name != segment}


def update(state: State, address: Address, seq: int, change: Change, parent_change: Change | None = None) -> None:
    """Change the frame at ``address``; ``seq`` is the record that says so. Nothing happens where there is no frame."""
    chain = state.way(address)
    if len(chain) <= len(address):
        return
    frame = chain.pop()
    opened, held = frame.open, frame.held
    new = own(state, frame)
    change(new)
    if address:
        new.seqs = appended(new.seqs, seq)
    _rebuild(state, address, chain, (frame, new), new.open - opened, new.held - held, parent_change)


def own(state: State, frame: Frame) -> Frame:
    """A frame that may be changed: the same one when no other state has it, else a copy."""
    making = state.making
    if making is None:
        return frame.copy()
    if frame.owner is making:
        return frame
    new = frame.copy()
    new.owner = making
    return new
