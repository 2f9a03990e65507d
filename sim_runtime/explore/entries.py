"""What counts for the future where a state was just entered, so that a state machine that goes round is followed for
one round, not for ever.

A state that was left is over for good: nothing redoes it (a machine whose root recovers is left as it is), and of what
it bound only the latest entry of each state is read. So entry numbers, what was sent under keys of earlier entries, and
the numbers in made-up texts do not count: texts are told apart, and which number they have is left out. What stands of
the effects of earlier entries counts once for each different way in which an entry can leave things.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sim_runtime.core.frames import State
from sim_runtime.core.reading import latest_entry, scope_value
from sim_runtime.explore.keys import frozen
from sim_runtime.explore.world import ExploreWorld
from sim_runtime.history.paths import address_of, identity_of
from sim_runtime.history.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.core.definition import Definition
    from sim_runtime.explore.branch import Branch

Number: TypeAlias = "dict[tuple[str, str], int]"

#: What may end a made-up text: a step path, and how many effects there were.
_MADE: Final = re.compile(r"([\w.\[\]():/%-]+)#(\d+)")


def is_entry(entered: Record, definition: Definition, state: State) -> bool:
    """Whether a state was entered with which a round may close: one of the root run, which nothing redoes."""
    return (
        definition.states is not None
        and definition.recovery is None
        and len(address_of(entered.id)) == 1
        and not state.prior
        and not state.orphans
    )


def entry_key(branch: Branch) -> Any:
    """What of the run and of its world counts for the future, as something hashable; the rest is what any key has."""
    state, world, texts = branch.state, branch.world, _Texts(branch.world)
    run, states = state.run, branch.definition.states
    assert states is not None
    bound = []
    for name, each in states.items():
        entry = latest_entry(run, name)
        if entry is not None and entry != run.entries[-1]:
            frame = state.frame((entry,))
            bound.append((name, texts.plain(frozen(scope_value(frame, each.steps)))))
    entered = run.entries[-1].partition("#")[0]
    own = f"{state.key_run}:"
    sent = sorted(
        repr(texts.plain((name, frozen(arguments))))
        for name, arguments in state.keys.items()
        if not name.partition(" ")[2].startswith(own)
    )
    coming = {each.delivery for each in branch.coming}
    seen = sorted(name for name, _ in state.deliveries.items() if name in coming)
    took = frozenset(_took(world, texts, own))
    used = tuple(sorted((name, tuple(sorted(places))) for name, places in world._used.items() if places))
    return (
        ("entered", entered, state.status, state.dry_run, tuple(bound), tuple(sent), tuple(seen)),
        (took, _left_standing(world), used, world.disturbance()),
    )


def _took(world: ExploreWorld, texts: _Texts, own: str) -> Iterator[Any]:
    """The effects that another call could be the same as: not those under keys of entries that are over, nor those
    whose arguments nobody knows any more."""
    for identity, value in world._values.items():
        kind, action, what = identity
        if kind == "key" and what.startswith(own):
            continue
        told = texts.known(what)
        if told is not None:
            yield kind, action, told, texts.plain(value)


def _left_standing(world: ExploreWorld) -> frozenset[Any]:
    """The different ways in which entries that are over left their effects."""
    entries: dict[str, list[tuple[str, str, int]]] = {}
    for (action, id_, _), count in world.net.items():
        if count:
            address = address_of(id_)
            entries.setdefault(address[0], []).append((action, identity_of(address[1:]), count))
    return frozenset((name.partition("#")[0], tuple(sorted(lines))) for name, lines in entries.items())


class _Texts:
    """Made-up texts, numbered in the order in which they are met."""

    def __init__(self, world: ExploreWorld) -> None:
        self._paths = world._calls
        self._numbers: Number = {}

    def plain(self, value: Any) -> Any:
        """A frozen value in which made-up texts have the numbers of this place."""
        if type(value) is str:
            return _MADE.sub(self._renamed, value) if "#" in value else value
        if type(value) is tuple:
            return tuple(map(self.plain, value))
        return value

    def known(self, text: str) -> str | None:
        """As ``plain``; None when there is a made-up text in it that was not met."""
        if "#" not in text:
            return text
        for match in _MADE.finditer(text):
            path = self._path(match[1])
            if path is not None and (path, match[2]) not in self._numbers:
                return None
        return _MADE.sub(self._renamed, text)

    def _renamed(self, match: re.Match[str]) -> str:
        path = self._path(match[1])
        if path is None:
            return match[0]
        return f"{match[1]}#{self._numbers.setdefault((path, match[2]), len(self._numbers))}"

    def _path(self, text: str) -> str | None:
        """The step path that a text ends with."""
        return next((text[start:] for start in range(len(text)) if text[start:] in self._paths), None)
