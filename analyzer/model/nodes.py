"""The resolved Workfile: steps, lists, states, scopes and paths, as plain slotted data.

Built by ``analyzer.model.build`` from the positioned tree and resolved by ``analyzer.model.resolve``; read by typing,
flow, rules, the simulator and the editor. Every part keeps the tree nodes that it was read from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar

if TYPE_CHECKING:
    from analyzer.expressions.types import Type
    from analyzer.workspace.manifests import ActionDecl, Manifest, TriggerDecl


@dataclass(slots=True, eq=False)
class Call:
    """One action call: a step's subject or an ``undo``. ``action`` is None when it does not resolve."""

    entry: Entry
    connector: str
    name: str
    arguments: Node
    connection: Entry | None = None
    manifest: Manifest | None = None
    action: ActionDecl | None = None

    @property
    def reference(self) -> str:
        """``connector.action``."""
        return f"{self.connector}.{self.name}"


@dataclass(slots=True, eq=False)
class StepList:
    """An ordered list of steps.

    ``role``: ``steps`` (root, state or construct), ``on_enter``, ``then``, ``else``, ``case``, ``default``, ``branch``,
    ``group``, ``catch``, ``reconcile``. ``label``: the case value as text, the branch name, the handler position.
    ``prefix``: the step path in front of its ids ("" at the root), its reserved segment included.
    """

    role: str
    label: str
    prefix: str
    node: Node
    entry: Entry | None
    owner: Owner
    steps: list[Step] = field(default_factory=list)

    def step(self, step_id: str) -> Step | None:
        """The first step of this list with that id."""
        return next((step for step in self.steps if step.id == step_id), None)


@dataclass(slots=True, eq=False)
class Handler:
    """One entry of ``catch``; ``codes`` None means any code."""

    index: int
    node: Node
    codes: list[Scalar] | None
    steps: StepList | None
    result: Node | None


@dataclass(slots=True, eq=False)
class Reconcile:
    """``reconcile``; a missing part is None."""

    entry: Entry
    steps: StepList | None
    outcome: Node | None
    result: Node | None


@dataclass(slots=True, eq=False)
class Recovery:
    """A recovery scope. ``within_us`` and ``delay_us`` are microseconds; None where the literal is missing or bad."""

    entry: Entry
    owner: Owner
    redo: str = "this_step"
    then: str | None = None
    then_node: Node | None = None
    failures: int | None = None
    within_us: int | None = None
    delay_us: int = 0
    notify: str | None = None


@dataclass(slots=True, eq=False)
class Retry:
    """``retry``; times in microseconds; ``on`` None means every retryable failure."""

    entry: Entry
    attempts: int = 1
    delay_us: int = 1_000_000
    backoff: float = 1
    max_delay_us: int | None = None
    jitter: float = 0
    on: list[Scalar] | None = None


@dataclass(slots=True, eq=False)
class Step:
    """One step. ``kind`` is ``action``, a construct's name (``wf.if``), or "" when its subject is missing or unknown.

    ``keys`` are the body's entries by key (the first of duplicates). ``lists`` are the step lists of the construct in
    document order (handlers and reconcile have their own). ``path`` is the shown step path.
    """

    id: str
    entry: Entry
    parent: StepList
    index: int
    path: str
    kind: str = ""
    subject: Entry | None = None
    keys: dict[str, Entry] = field(default_factory=dict)
    call: Call | None = None
    lists: list[StepList] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)
    reconcile: Reconcile | None = None
    undo: Call | None = None
    undo_entry: Entry | None = None
    recovery: Recovery | None = None
    retry: Retry | None = None
    on_fail: str = "fail"
    on_unknown: str | None = None
    on_branch_fail: str = "fail"
    on_iteration_fail: str = "fail"
    loop_name: str = "item"
    concurrency: int = 1
    timeout_us: int | None = None
    trigger: TriggerDecl | None = None
    callee: Workflow | None = None
    # Set by typing: the type that reads of the binding see, and whether evaluating the step's own expressions (guard,
    # arguments, condition, list, configuration …; not its handlers', reconcile's or undo's) may fault.
    binding: Type | None = None
    may_fault: bool = False
    # Whether the step itself can fail (an action, a call, what it evaluates, a step inside it), before its handlers.
    may_fail: bool = False

    @property
    def id_node(self) -> Node:
        """The node of the step's id."""
        return self.entry.key

    @property
    def is_untold(self) -> bool:
        """Whether what it does is not known: its subject is a construct that there is not. It may end the run."""
        key = None if self.kind or self.subject is None else self.subject.key
        return isinstance(key, Scalar) and key.text.startswith("wf.")

    @property
    def anchor_node(self) -> Node:
        """Where step-level findings stand: the subject key, else the id."""
        return self.subject.key if self.subject is not None else self.entry.key

    def list_of(self, role: str) -> StepList | None:
        """The first step list of that role."""
        return next((each for each in self.lists if each.role == role), None)


@dataclass(slots=True, eq=False)
class Timer:
    """A state timer; ``after_us`` None when the duration is missing or bad."""

    name: str
    entry: Entry
    after_us: int | None
    to: str | None
    to_node: Node | None


@dataclass(slots=True, eq=False)
class Route:
    """A route; ``when`` None makes it the default. ``may_fault`` is set by typing."""

    node: Node
    when: Node | None
    to: str | None
    to_node: Node | None
    may_fault: bool = False


@dataclass(slots=True, eq=False)
class State:
    """One state of a state machine."""

    name: str
    entry: Entry
    on_enter: StepList | None = None
    steps: StepList | None = None
    timers: list[Timer] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    final: bool = False
    # Set by typing: the routes cannot all be false.
    covered: bool = False
    # Something of it could not be read, so nothing is said of what it lacks.
    partial: bool = False
    recovery: Recovery | None = None

    @property
    def lists(self) -> list[StepList]:
        """``on_enter`` then ``steps``, those that stand there."""
        return [each for each in (self.on_enter, self.steps) if each is not None]

    @property
    def all_steps(self) -> list[Step]:
        """The one ordered list of the profile: ``on_enter`` followed by ``steps``."""
        return [step for each in self.lists for step in each.steps]


@dataclass(slots=True, eq=False)
class Workflow:
    """A Workfile. ``path`` is the file's absolute path; of ``steps`` and ``states`` the one that is absent is None."""

    path: str
    root: Mapping
    name: str | None = None
    name_node: Node | None = None
    inputs: dict[str, InputDecl] = field(default_factory=dict)
    inputs_entry: Entry | None = None
    connectors_entry: Entry | None = None
    trigger_entry: Entry | None = None
    trigger_keys: dict[str, Entry] = field(default_factory=dict)
    trigger_source: str | None = None
    trigger: TriggerDecl | None = None
    recovery: Recovery | None = None
    steps: StepList | None = None
    states: dict[str, State] | None = None
    initial: str | None = None
    initial_node: Node | None = None
    result: Entry | None = None
    result_may_fault: bool = False
    result_type: Type | None = None
    # All steps, filled by ``all_steps`` at its first call (the tree of steps does not change once built).
    every_step: list[Step] | None = None

    @property
    def top_lists(self) -> list[StepList]:
        """The root step list, or every state's lists in document order."""
        if self.states is not None:
            return [each for state in self.states.values() for each in state.lists]
        return [self.steps] if self.steps is not None else []


@dataclass(slots=True, eq=False)
class InputDecl:
    """One declared input."""

    name: str
    entry: Entry
    type: Type
    optional: bool


Owner: TypeAlias = Workflow | State | Step


def child_lists(step: Step) -> list[StepList]:
    """Every step list below a step: the construct's, its reconcile scope's, its handlers'."""
    if step.reconcile is None and not step.handlers:
        return step.lists
    lists = list(step.lists)
    if step.reconcile is not None and step.reconcile.steps is not None:
        lists.append(step.reconcile.steps)
    lists.extend(handler.steps for handler in step.handlers if handler.steps is not None)
    return lists


def walk_steps(lists: list[StepList]) -> list[Step]:
    """Every step of ``lists`` and below, parents first, in document order."""
    found: list[Step] = []
    stack = [step for each in reversed(lists) for step in reversed(each.steps)]
    while stack:
        step = stack.pop()
        found.append(step)
        below = child_lists(step)
        if below:
            stack.extend([inner for each in reversed(below) for inner in reversed(each.steps)])
    return found


def all_steps(workflow: Workflow) -> list[Step]:
    """Every step of a built Workfile, in document order; walked once."""
    if workflow.every_step is None:
        workflow.every_step = walk_steps(workflow.top_lists)
    return workflow.every_step


def span_of(node: Node) -> tuple[int, int]:
    """The code point span of a tree node."""
    return node.start, node.end
