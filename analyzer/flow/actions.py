"""Numbers for the actions whose repetition can matter, so that sets of them are Python integers.

In a table, action ``n`` has bit ``2n`` for "it succeeded" and bit ``2n + 1`` for "an attempt that may have taken effect
failed, or was left without an answer". Sets are only ever compared inside one outermost recovery scope, so each of
those has a table that begins anew, and sets stay narrow in long files; the actions of called workflows come first in
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analyzer.flow.facts import carries_undo, is_write, unsafe_to_repeat
from analyzer.model.nodes import Recovery, State, Step, StepList, Workflow, child_lists

NO_BITS: Final = (0, 0)
FEW: Final = 16


class Actions:
    """The numbered actions of one outermost scope: their steps and Workfiles, and the sets of those that must not be
    repeated (``unsafe``), that carry ``undo`` (``undoable``), and that may be in doubt (``effectful``)."""

    __slots__ = ("base", "effectful", "first", "homes", "steps", "undoable", "unsafe")

    def __init__(self, base: Actions | None = None) -> None:
        self.base = base
        self.first: int = 0 if base is None else base.first + len(base.steps)
        self.steps: list[Step] = []
        self.homes: list[Workflow] = []
        self.unsafe: int = 0 if base is None else base.unsafe
        self.undoable: int = 0 if base is None else base.undoable
        self.effectful: int = 0 if base is None else base.effectful

    def add(self, step: Step, home: Workflow) -> tuple[int, int]:
        """Number an action step: the sets of its success and of its attempt in doubt (0 when there is none)."""
        success = 1 << 2 * (self.first + len(self.steps))
        self.steps.append(step)
        self.homes.append(home)
        if carries_undo(step):
            self.undoable |= success
        elif unsafe_to_repeat(step):
            self.unsafe |= success
        if not (unsafe_to_repeat(step) and is_write(step)):
            return success, 0
        self.effectful |= success << 1
        return success, success << 1

    def step(self, bit: int) -> tuple[Step, Workflow]:
        """The action step of a bit's number, and its Workfile."""
        number = bit >> 1
        if self.base is not None and number < self.first:
            return self.base.step(bit)
        return self.steps[number - self.first], self.homes[number - self.first]

    def named(self, found: int) -> Iterator[Step]:
        """The steps that succeeded in a set, those of called workflows first, else in document order."""
        for bit in bits(found):
            if not bit & 1:
                yield self.step(bit)[0]


class Numbers:
    """The numbers of one analysis: the two sets of each numbered step, and the table of each recovery scope."""

    __slots__ = ("bits", "tables")

    def __init__(self) -> None:
        self.bits: dict[Step, tuple[int, int]] = {}
        self.tables: dict[Recovery, Actions] = {}


def number_actions(workflow: Workflow, called: dict[Workflow, list[StepList]], *, every: bool) -> Numbers:
    """Number what ``workflow`` and the workflows that it calls do inside its recovery scopes.

    ``every`` numbers harmless actions too; otherwise only those that must not be repeated or that carry ``undo``.
    """
    numbers = Numbers()
    base = Actions()
    for home, lists in called.items():
        for each in lists:
            for called_step in each.steps:
                if called_step.call is not None and (every or _matters(called_step)):
                    numbers.bits[called_step] = base.add(called_step, home)
    root = _table(workflow.recovery, None, base, numbers)
    tops: list[Workflow | State] = [workflow] if workflow.states is None else list(workflow.states.values())
    stack: list[tuple[Iterator[Step], Actions | None]] = []
    for top in reversed(tops):
        table = root if isinstance(top, Workflow) else _table(top.recovery, root, base, numbers)
        lists = top.top_lists if isinstance(top, Workflow) else top.lists
        stack += [(iter(each.steps), table) for each in reversed(lists)]
    while stack:
        steps, table = stack[-1]
        step = next(steps, None)
        if step is None:
            stack.pop()
            continue
        if step.call is not None and table is not None and (every or _matters(step)):
            numbers.bits[step] = table.add(step, workflow)
        if step.lists or step.handlers or step.reconcile is not None or step.recovery is not None:
            inner = _table(step.recovery, table, base, numbers)
            own = set(step.lists)
            below = [(iter(each.steps), inner if each in own else table) for each in child_lists(step)]
            stack += reversed(below)
    return numbers


def _table(recovery: Recovery | None, outer: Actions | None, base: Actions, numbers: Numbers) -> Actions | None:
    if recovery is None:
        return outer
    table = outer or Actions(base)
    numbers.tables[recovery] = table
    return table


def _matters(step: Step) -> bool:
    return carries_undo(step) or unsafe_to_repeat(step)


def bits(found: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    if found.bit_count() <= FEW:
        while found:
            lowest = found & -found
            yield lowest.bit_length() - 1
            found ^= lowest
        return
    text = bin(found)[:1:-1]  # linear in the width, however many are set
    position = text.find("1")
    while position >= 0:
        yield position
        position = text.find("1", position + 1)
