"""What an exploration is about: the Workfile, the world that deviations start from, and how far it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from analyzer.expressions.schema_types import schema_of
from analyzer.language.durations import parse_duration
from analyzer.model.nodes import Workflow, all_steps
from analyzer.syntax.nodes import Scalar
from analyzer.workspace.manifests import ActionDecl, TriggerDecl
from sim_runtime.core.definition import Definition, RecoveryDef
from sim_runtime.core.places import step_of
from sim_runtime.explore.branch import Branch
from sim_runtime.explore.choices import Option, full
from sim_runtime.explore.keys import Keys
from sim_runtime.explore.monitor import Limits, Monitor, Policy
from sim_runtime.explore.world import ExploreWorld
from sim_runtime.history.paths import CHILD, address_of
from sim_runtime.history.pins import called_by
from sim_runtime.samples import NoSample
from sim_runtime.simulation import CannotSimulate, Prepared
from sim_runtime.world.connectors import actions_of
from sim_runtime.world.scenario import Unset

Json: TypeAlias = Any

DEFAULT_STATES: Final = 300_000
DEFAULT_BUDGET_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far an exploration goes. ``crashes``, ``deviations`` (answers and events other than the expected ones),
    ``decisions`` (of operators) and ``cancellations`` (one at the most) count for one run; ``down_us`` is how long a
    crashed executor is down. ``states`` and ``budget_s`` (seconds, None for no end) end it early."""

    crashes: int = 1
    deviations: int = 1
    decisions: int = 1
    cancellations: int = 0
    down_us: int = 0
    states: int = DEFAULT_STATES
    budget_s: float | None = DEFAULT_BUDGET_S


@dataclass(slots=True)
class Plan:
    """Everything that a search starts from; made once a process."""

    prepared: Prepared
    bounds: Bounds
    inputs: dict[str, Json]
    made_inputs: dict[str, Json]
    trigger: Json
    keys: Keys
    actions: dict[str, ActionDecl]
    triggers: dict[str, TriggerDecl]
    steps: list[str]
    calls: bool
    variants: dict[str, list[Option]] = field(default_factory=dict)

    @property
    def definition(self) -> Definition:
        """The compiled Workfile."""
        return self.prepared.definition

    def monitor(self) -> Monitor:
        """A judge that knows the policies of this Workfile."""
        return Monitor(policy_of(self.definition), limits_of(self.definition))

    def start(self) -> Branch:
        """The run of which nothing is done."""
        scenario, changes = self.prepared.scenario, self.prepared.changes
        return Branch(
            self.definition,
            ExploreWorld(self.actions, scenario.actions, self.keys),
            self.monitor(),
            inputs=self.inputs,
            trigger=self.trigger,
            start_us=scenario.start_us if changes.start_us is None else changes.start_us,
            seed=scenario.seed if changes.seed is None else changes.seed,
            dry_run=scenario.dry_run or changes.dry_run,
            script=replace(scenario.script(), until_us=self.prepared.until_us),
        )


def plan_of(prepared: Prepared, bounds: Bounds) -> Plan:
    """A plan; inputs and trigger data that are not given are made up. Raises ``CannotSimulate``."""
    definition, scenario, changes = prepared.definition, prepared.scenario, prepared.changes
    given = prepared.inputs
    made = _made_inputs(definition, given)
    trigger = scenario.trigger if isinstance(changes.trigger, Unset) else changes.trigger
    if isinstance(trigger, Unset):
        trigger = _made_trigger(prepared.workflow)
    workflows = [prepared.workflow, *called_by(prepared.workflow).values()]
    return Plan(
        prepared,
        bounds,
        {**made, **given},
        made,
        trigger,
        Keys(absolute=_reads_instants(workflows)),
        actions_of(prepared.workflow),
        _triggers_of(workflows),
        [step.path for step in all_steps(prepared.workflow)],
        len(workflows) > 1,
    )


def _made_inputs(definition: Definition, given: dict[str, Json]) -> dict[str, Json]:
    """Small values for the inputs that are missing, with one element in each list."""
    made = {}
    for name, declared in definition.inputs.items():
        if name in given or declared.optional:
            continue
        schema = declared.type.schema if declared.type.schema is not None else schema_of(declared.type)
        try:
            made[name] = full(schema, name)
        except NoSample:
            raise CannotSimulate(
                f"no value could be made up for the input `{name}`: give one with `--input` or a scenario"
            ) from None
    return made


def _made_trigger(workflow: Workflow) -> Json:
    trigger = workflow.trigger
    if trigger is None:
        return None
    try:
        return full(trigger.payload_schema, "trigger")
    except NoSample:
        raise CannotSimulate("no payload could be made up for the trigger: give one with `--trigger`") from None


def _triggers_of(workflows: list[Workflow]) -> dict[str, TriggerDecl]:
    found: dict[str, TriggerDecl] = {}
    for workflow in workflows:
        for step in all_steps(workflow):
            if step.trigger is not None and step.subject is not None and isinstance(step.subject.value, Scalar):
                found.setdefault(step.subject.value.text, step.trigger)
    return found


def _reads_instants(workflows: list[Workflow]) -> bool:
    """Whether anything waits for an instant, not for a duration: then the clock itself affects what happens."""
    for workflow in workflows:
        for step in all_steps(workflow):
            nodes = []
            if step.kind == "wf.wait" and step.subject is not None:
                nodes.append(step.subject.value)
            if "timeout" in step.keys:
                nodes.append(step.keys["timeout"].value)
            for node in nodes:
                if not isinstance(node, Scalar) or parse_duration(node.text) is None:
                    return True
    return False


def policy_of(definition: Definition) -> Callable[[str], Policy]:
    """What the Workfile says of the action at an identity."""

    @lru_cache(maxsize=65_536)
    def policy(id_: str) -> Policy:
        step = step_of(definition, address_of(id_))
        if step is None:
            return Policy(False, 1)
        return Policy(step.undo is not None, step.retry.attempts if step.retry is not None else 1)

    return policy


def limits_of(definition: Definition) -> Callable[[str], Limits | None]:
    """What the recovery scope at an identity says of its limit."""

    @lru_cache(maxsize=4096)
    def limits(id_: str) -> Limits | None:
        recovery = _recovery_at(definition, id_)
        return None if recovery is None else Limits(recovery.failures, recovery.within_us)

    return limits


def _recovery_at(definition: Definition, id_: str) -> RecoveryDef | None:
    address = address_of(id_)
    step = step_of(definition, address)
    if step is not None:
        return step.recovery
    home = definition
    if CHILD in address:
        last = len(address) - 1 - address[::-1].index(CHILD)
        caller = step_of(definition, address[:last])
        if caller is None or caller.callee is None:
            return None
        home, address = caller.callee, address[last + 1 :]
    if not address:
        return home.recovery
    state = (home.states or {}).get(address[0].partition("#")[0])
    return None if state is None else state.recovery
