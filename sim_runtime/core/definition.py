"""A resolved Workfile as the interpreter runs it: steps with compiled values, policies and checks, nothing of YAML.

Definitions are made once and never change; several runs share one. They hold everything that deciding needs, so that
the same definition, state and input always give the same records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim_runtime.core.programs import Program

if TYPE_CHECKING:
    from analyzer.expressions.types import Type
    from sim_runtime.core.fitting import Fit, TypeGuide


@dataclass(slots=True, eq=False)
class ListDef:
    """An ordered list of steps. ``segment`` is its own part of the path below its owner, "" for none (a group's steps).

    ``role`` is ``root``, ``state``, ``branch`` (of ``wf.if`` and ``wf.switch``), ``parallel``, ``iteration``, ``inner``
    (a group's or a wait's), ``catch``, ``reconcile``. ``name`` is a state's, a branch's, or a loop's name for its
    element; ``home`` is the Workfile of a root list or a state's.
    """

    role: str
    segment: str
    owner: StepDef | None
    name: str = ""
    home: Definition | None = None
    steps: list[StepDef] = field(default_factory=list)
    by_id: dict[str, StepDef] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class CallDef:
    """An action call: a step's subject or an ``undo``. ``key`` is the explicit idempotency key."""

    action: str
    effect: str
    idempotency: str
    errors: dict[str, bool]
    arguments: Program
    input: Type
    input_fit: Fit
    input_optional: bool
    output: Type | None
    output_fit: Fit | None
    output_guide: TypeGuide | None
    output_schema: dict[str, Any] | bool | None
    connection: str | None
    key: Program | None = None

    @property
    def safe(self) -> bool:
        """Whether the same call may be sent again."""
        return self.idempotency != "none"


@dataclass(slots=True, eq=False)
class HandlerDef:
    """A handler of ``catch``; ``codes`` None means any."""

    index: int
    codes: frozenset[str] | None
    steps: ListDef
    result: Program | None


@dataclass(slots=True, eq=False)
class ReconcileDef:
    """The probe scope of an action."""

    steps: ListDef
    outcome: Program
    result: Program | None


@dataclass(slots=True, eq=False)
class RecoveryDef:
    """A recovery scope; times in microseconds. ``enclosed``: an enclosing scope of the same run can take over."""

    redo: str
    failures: int
    within_us: int
    then: str
    delay_us: int
    enclosed: bool


@dataclass(slots=True, eq=False)
class RetryDef:
    """``retry``; times in microseconds."""

    attempts: int
    delay_us: int
    backoff: float
    max_delay_us: int | None
    jitter: float
    on: frozenset[str] | None


@dataclass(slots=True, eq=False)
class TriggerUse:
    """The trigger of a ``wf.wait_for``."""

    trigger: str
    match: dict[str, Program]
    match_fits: dict[str, Fit]
    configuration: Program
    configuration_type: Type
    configuration_fit: Fit
    connection: str | None
    timeout: Program


@dataclass(slots=True, eq=False)
class PayloadDef:
    """What a trigger delivers."""

    fit: Fit
    guide: TypeGuide | None


@dataclass(slots=True, eq=False)
class StepDef:
    """One step. ``subject`` is the program of its condition, list, wait, map or ending, by kind; ``cases`` are the
    branches of ``wf.switch`` as (literal, segment). ``sparse`` is the type by which its binding is read when optional
    fields may be absent."""

    id: str
    kind: str
    parent: ListDef
    index: int
    when: Program | None = None
    subject: Program | None = None
    call: CallDef | None = None
    undo: CallDef | None = None
    timeout: Program | None = None
    retry: RetryDef | None = None
    on_fail: str = "fail"
    on_unknown: str | None = None
    on_member_fail: str = "fail"
    concurrency: int = 1
    handlers: list[HandlerDef] = field(default_factory=list)
    reconcile: ReconcileDef | None = None
    recovery: RecoveryDef | None = None
    lists: dict[str, ListDef] = field(default_factory=dict)
    cases: list[tuple[str | int | bool, str]] = field(default_factory=list)
    wait: TriggerUse | None = None
    callee: Definition | None = None
    inputs: Program | None = None
    sparse: Type | None = None

    @property
    def inner(self) -> ListDef:
        """The one list of a group, a wait or a loop."""
        return next(iter(self.lists.values()))


@dataclass(slots=True, eq=False)
class TimerDef:
    """A state timer."""

    name: str
    after_us: int
    to: str


@dataclass(slots=True, eq=False)
class RouteDef:
    """A route; ``when`` None always holds."""

    when: Program | None
    to: str


@dataclass(slots=True, eq=False)
class StateDef:
    """A state; ``steps`` is ``on_enter`` followed by ``steps``."""

    name: str
    steps: ListDef
    timers: list[TimerDef]
    routes: list[RouteDef]
    final: bool
    recovery: RecoveryDef | None


@dataclass(slots=True, eq=False)
class InputDef:
    """A declared input."""

    name: str
    optional: bool
    type: Type
    guide: TypeGuide | None
    fit: Fit


@dataclass(slots=True, eq=False)
class Definition:
    """One Workfile. ``bare`` names, for a state machine, the state of every step id that only one state has.
    ``payloads`` are those of every trigger that something waits for, children's included; ``sparse``: something in it
    has optional fields; ``inputs_cache`` is the last view that expressions had of inputs."""

    workflow: str
    inputs: dict[str, InputDef] = field(default_factory=dict)
    trigger: PayloadDef | None = None
    trigger_type: Type | None = None
    steps: ListDef | None = None
    states: dict[str, StateDef] | None = None
    initial: str = ""
    recovery: RecoveryDef | None = None
    result: Program | None = None
    bare: dict[str, str] = field(default_factory=dict)
    payloads: dict[str, PayloadDef] = field(default_factory=dict)
    sparse: bool = False
    inputs_cache: tuple[object, Any] | None = None
