"""What is known of each step of the root's list, and typing that does again only what may come out otherwise.

A step is typed again when its text has changed, when something was found in it, when a name that it reads stands for
something else, or when other facts hold in front of it. All the others bind what they bound before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.expressions.scope import Binding, Env, Facts
from analyzer.expressions.types import Lines, Type, same
from analyzer.incremental.alike import flags_of, forget_flags
from analyzer.incremental.splice import last_before
from analyzer.model.nodes import Step, Workflow
from analyzer.model.problems import Problems
from analyzer.model.typing import WorkflowTyper
from analyzer.syntax.nodes import Node
from analyzer.syntax.source import Source


@dataclass(slots=True, eq=False)
class Part:
    """One step of the root's list.

    ``sound``: nothing was found in it. ``seen``: the names that it looks up outside itself. ``reads``: the sources of
    what it reads. ``facts``: those in front of it; ``after``: those behind it, None when it always ends the run.
    ``unreached``: it stands behind such a step. ``stops``: what its ``wf.stop`` steps give. ``follows``: the part in
    front of it.
    """

    step: Step
    sound: bool = True
    typed: bool = False
    seen: set[str] = field(default_factory=set)
    reads: set[object] = field(default_factory=set)
    facts: Facts = field(default_factory=dict)
    after: Facts | None = None
    unreached: bool = False
    stops: list[Type] = field(default_factory=list)
    follows: Part | None = None


@dataclass(slots=True, eq=False)
class Parts:
    """The parts of a Workfile by their nodes, and what its typing shares from one time to the next.

    ``changed``: ids of steps that came or went since. ``successors``: the steps that stand in the place of others, by
    those. ``stirred``: the parts that may do something else than when the control flow was looked at last, as far as
    it can tell; ``loud``: those in which it found something then, None when it is to be looked at as a whole.
    ``string_keys``: nodes below which every key is known to be a string.
    """

    lines: Lines
    by_node: dict[Node, Part] = field(default_factory=dict)
    env: Env | None = None
    bindings: dict[str, Binding] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    successors: dict[Step, Step] = field(default_factory=dict)
    stirred: set[Part] = field(default_factory=set)
    loud: set[Part] | None = None
    string_keys: set[Node] = field(default_factory=set)


class _Names(dict[str, Binding]):
    """The names of the root's list; notes which are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def get(self, name: str, default: Binding | None = None) -> Binding | None:  # type: ignore[override]
        """The binding of a name."""
        self.seen.add(name)
        return super().get(name, default)


class PartTyper(WorkflowTyper):
    """Types a Workfile whose root has a list of steps, part by part."""

    def __init__(self, workflow: Workflow, source: Source, problems: Problems, parts: Parts) -> None:
        super().__init__(workflow, source, problems)
        self.lines = parts.lines
        self.lines.source = source
        self.parts = parts
        self._of = {part.step: part for part in parts.by_node.values()}

    def _root_env(self) -> Env:
        """The root's names: the same objects each time, as facts are about them."""
        if self.parts.env is None:
            self.parts.env = super()._root_env()
        return self.parts.env

    def walk_root(self, steps: list[Step], env: Env) -> tuple[dict[str, Binding], Facts | None]:
        """Type the root's list; parts of which nothing can have changed keep their types."""
        names = _Names()
        facts, ended = env.facts, False
        changed = set(self.parts.changed)
        self.names.enter_list(steps)
        for step in steps:
            part = self._of[step]
            if not self._is_as_before(part, facts, changed):
                self._type(part, names, env, facts, changed)
            else:
                self.stop_types += part.stops
            names[step.id] = self.parts.bindings[step.id]
            if part.after is None:
                ended = True
                self.expressions.dead = 1
            else:
                facts = part.after
        self.expressions.dead = 0
        self.names.leave_list()
        names.seen = set()  # what the result looks up is nobody's
        self._settle_reads()
        return names, None if ended else facts

    def _is_as_before(self, part: Part, facts: Facts, changed: set[str]) -> bool:
        return (
            part.sound
            and part.typed
            and part.unreached == bool(self.expressions.dead)
            and changed.isdisjoint(part.seen)
            and (part.facts is facts or same_facts(part.facts, facts))
        )

    def _type(self, part: Part, names: _Names, env: Env, facts: Facts, changed: set[str]) -> None:
        step = part.step
        flags = flags_of(step) if part.typed else None
        forget_flags(step)
        before, stops = len(self.problems.items), len(self.stop_types)
        part.seen = names.seen = set()
        self.reads.sources, outer = part.reads, self.reads.sources
        part.reads.clear()
        part.facts, part.unreached, part.typed = facts, bool(self.expressions.dead), True
        self._check_shadow(step, env)
        part.after = self.step(step, Env(env, names, facts))
        self.reads.sources = outer
        part.stops = self.stop_types[stops:]
        part.sound = part.sound and len(self.problems.items) == before
        self._bind(step, changed)
        if flags is not None and flags != flags_of(step):
            self.parts.stirred.add(part)

    def _bind(self, step: Step, changed: set[str]) -> None:
        """Bind what a step binds now: in the same object, which facts are kept by, noting whether it is the same."""
        assert step.binding is not None
        known = self.parts.bindings.get(step.id)
        if known is None:
            known = self.parts.bindings[step.id] = Binding(step.id, step.binding)
        elif not same_for_good(known.type, step.binding):
            changed.add(step.id)
        known.type, known.node, known.source = step.binding, step.id_node, step

    def _settle_reads(self) -> None:
        successors = self.parts.successors
        for part in self.parts.by_node.values():
            for gone in successors.keys() & part.reads if successors else ():
                part.reads.discard(gone)
                part.reads.add(successors[gone])
            self.reads.sources |= part.reads


def same_facts(before: Facts, now: Facts) -> bool:
    """Whether two sets of facts are the same, in all that what is typed under them keeps."""
    if len(before) != len(now):
        return False
    return all((known := before.get(key)) is not None and same_for_good(known, type_) for key, type_ in now.items())


def same_for_good(before: Type, now: Type) -> bool:
    """Whether a type may stay in the place of another: the same one, or the same and made of nothing in the file."""
    return before is now or (same(before, now) and _is_lasting(before) and _is_lasting(now))


def _is_lasting(type_: Type) -> bool:
    """Whether no part of a type tells of a place in the file or of a step."""
    stack: list[Type | None] = [type_]
    while stack:
        current = stack.pop()
        if current is None:
            continue
        if current.why or current.ways or any(each.source is not None for each in current.fields.values()):
            return False
        stack += [current.item, current.additional, *current.options, *(each.type for each in current.fields.values())]
    return True


def found_in(problems: Problems, nodes: Iterable[Node]) -> tuple[set[Node], bool]:
    """The nodes, which are in order, in which something was found; and whether something was found outside them."""
    ordered = list(nodes)
    inside: set[Node] = set()
    outside = False
    for problem in problems.items:
        position = last_before(ordered, problem.start)
        if position < 0 or problem.start > ordered[position].end:
            outside = True
        else:
            inside.add(ordered[position])
    return inside, outside
