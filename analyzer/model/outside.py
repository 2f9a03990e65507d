"""What can be read of other states: ``STATE.id``, and a bare id that only one other state has (language page, 6)."""

from __future__ import annotations

from collections.abc import ItemsView

from analyzer.expressions.scope import Binding
from analyzer.expressions.types import ANY, Field, Reason, record
from analyzer.language.vocabulary import RESERVED_WORDS
from analyzer.model.nodes import State, Step


class Outside:
    """The states of a Workfile, as other states see them; made when read, so that many states stay linear."""

    __slots__ = ("owners", "path", "seen", "states")

    def __init__(self, states: dict[str, State], path: str = "") -> None:
        self.path = path
        self.states = states
        self.seen: dict[str, Binding] = {}
        self.owners: dict[str, list[tuple[State, Step]]] = {}
        for state in states.values():
            for step in {step.id: step for step in state.all_steps}.values():
                self.owners.setdefault(step.id, []).append((state, step))

    def forget(self, state: State) -> None:
        """The state was typed again: what was kept of its bindings is old."""
        self.seen.pop(state.name, None)
        for step in state.all_steps:
            self.seen.pop(f"{state.name}.{step.id}", None)

    def state(self, name: str) -> Binding | None:
        """A state's name: a record of its steps, each null while the state was not entered."""
        state = self.states.get(name)
        if state is None:
            return None
        if name in RESERVED_WORDS:
            return Binding(name, ANY, state.entry.key)  # reported where it stands; what a read of it means is not known
        known = self.seen.get(name)
        if known is None:
            fields: dict[str, Field] = {}
            for step in state.all_steps:
                fields.setdefault(step.id, Field(self.step(state, step).type, False, step))
            known = self.seen[name] = Binding(name, record(fields), state.entry.key)
        return known

    def step(self, state: State, step: Step) -> Binding:
        """A step of a state, null while the state was not entered."""
        key = f"{state.name}.{step.id}"
        known = self.seen.get(key)
        if known is None:
            reason = Reason(f"state `{state.name}` may not have been entered", self.path, state.entry.key)
            known = self.seen[key] = Binding(step.id, (step.binding or ANY).with_null(reason), step.id_node, step)
        return known


class OutsideNames(dict[str, Binding]):
    """The names that a scope sees of all states but ``own``; found when they are looked up."""

    def __init__(self, outside: Outside, own: State | None) -> None:
        super().__init__()
        self.outside = outside
        self.own = own
        self._not_there: set[str] = set()

    def get(self, name: str, default: Binding | None = None) -> Binding | None:  # type: ignore[override]
        """The binding of a name, or ``default``."""
        if name in self:
            return self[name]
        found = None if name in self._not_there else self._find(name)
        if found is not None:
            self[name] = found
            return found
        self._not_there.add(name)
        return default

    def _find(self, name: str) -> Binding | None:
        owners = self.outside.owners.get(name, ())
        if self.own is not None and any(state is self.own for state, _ in owners):
            return None
        if self.own is None or name != self.own.name or name in RESERVED_WORDS:
            state = self.outside.state(name)
            if state is not None:
                return state
        return self.outside.step(*owners[0]) if len(owners) == 1 else None

    def items(self) -> ItemsView[str, Binding]:  # type: ignore[override]
        """Every name with its binding."""
        for name in (*self.outside.owners, *self.outside.states):
            self.get(name)
        return super().items()
