"""From the analyzer's resolved Workfile to a ``Definition``. The Workfile has no findings of severity error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analyzer.expressions.schema_types import schema_of
from analyzer.expressions.types import ANY, Type
from analyzer.flow.scopes import enclosing_scope
from analyzer.model.nodes import Call, Handler, Recovery, Retry, State, Step, StepList, Workflow
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar
from sim_runtime.core.definition import (
    CallDef,
    Definition,
    HandlerDef,
    InputDef,
    ListDef,
    PayloadDef,
    ReconcileDef,
    RecoveryDef,
    RetryDef,
    RouteDef,
    StateDef,
    StepDef,
    TimerDef,
    TriggerUse,
)
from sim_runtime.core.fitting import Fit, guide_of, has_optional
from sim_runtime.core.programs import Program, compile_value, constant
from sim_runtime.history.paths import RECONCILE, case_segment

if TYPE_CHECKING:
    from analyzer.workspace.project import Project


class CannotRun(Exception):
    """The Workfile has a part that is missing or did not resolve; ``workfile check`` says which."""


def definition_of(workflow: Workflow, project: Project | None = None) -> Definition:
    """The definition of a resolved Workfile and of those that it calls; ``project`` knows the default connections.

    Raises ``CannotRun`` for a Workfile with error findings.
    """
    compiler = _Compiler(project, workflow)
    found = compiler.definition(workflow)
    found.sparse = compiler.sparse
    return found


class _Compiler:
    def __init__(self, project: Project | None, workflow: Workflow) -> None:
        self.project = project
        self.workflow = workflow
        self.done: dict[int, Definition] = {}
        self.fits: dict[int, Fit] = {}
        self.payloads: dict[str, PayloadDef] = {}
        self.sparse = False

    def definition(self, workflow: Workflow) -> Definition:
        known = self.done.get(id(workflow))
        if known is not None:
            return known
        found = Definition(_needed(workflow.name, "name"), payloads=self.payloads)
        self.done[id(workflow)] = found
        outer, self.workflow = self.workflow, workflow
        try:
            self.fill(workflow, found)
        finally:
            self.workflow = outer
        return found

    def fill(self, workflow: Workflow, found: Definition) -> None:
        for name, each in workflow.inputs.items():
            fit = Fit(each.type.schema if each.type.schema is not None else schema_of(each.type))
            self.sparse = self.sparse or has_optional(each.type)
            found.inputs[name] = InputDef(name, each.optional, each.type, guide_of(each.type), fit)
        if workflow.trigger is not None:
            found.trigger = PayloadDef(self.fit(workflow.trigger.payload_schema), guide_of(workflow.trigger.payload))
            found.trigger_type = workflow.trigger.payload
            self.sparse = self.sparse or has_optional(found.trigger_type)
        if workflow.recovery is not None:
            found.recovery = _recovery(workflow.recovery, workflow)
        if workflow.result is not None:
            found.result = compile_value(workflow.result.value)
        if workflow.states is not None:
            self.states(workflow, found)
        elif workflow.steps is not None:
            found.steps = ListDef("root", "", None, home=found)
            for step in workflow.steps.steps:
                self.add(found.steps, step)
        else:
            raise CannotRun("the Workfile has neither `steps` nor `states`")

    def fit(self, schema: dict[str, Any] | bool) -> Fit:
        """One check for each schema, however often it is used."""
        found = self.fits.get(id(schema))
        if found is None:
            found = self.fits[id(schema)] = Fit(schema)
        return found

    # ---- states and lists -----------------------------------------------------------------------

    def states(self, workflow: Workflow, found: Definition) -> None:
        assert workflow.states is not None
        found.initial = _needed(workflow.initial, "initial")
        found.states = {name: self.state(state, found) for name, state in workflow.states.items()}
        seen: dict[str, list[str]] = {}
        for state in found.states.values():
            for step in state.steps.steps:
                seen.setdefault(step.id, []).append(state.name)
        found.bare = {name: states[0] for name, states in seen.items() if len(states) == 1}

    def state(self, state: State, home: Definition) -> StateDef:
        steps = ListDef("state", "", None, state.name, home)
        for each in state.all_steps:
            self.add(steps, each)
        timers = [TimerDef(t.name, _needed(t.after_us, "after"), _needed(t.to, "to")) for t in state.timers]
        routes = [RouteDef(_program(r.when), _needed(r.to, "to")) for r in state.routes]
        recovery = _recovery(state.recovery, self.workflow) if state.recovery is not None else None
        return StateDef(state.name, steps, timers, routes, state.final, recovery)

    def list(self, steps: StepList | None, role: str, segment: str, owner: StepDef, name: str = "") -> ListDef:
        found = ListDef(role, segment, owner, name)
        for each in steps.steps if steps is not None else ():
            self.add(found, each)
        return found

    def add(self, steps: ListDef, step: Step) -> None:
        """Append a step to its list."""
        found = self.step(step, steps, len(steps.steps))
        steps.steps.append(found)
        steps.by_id[step.id] = found

    # ---- steps ----------------------------------------------------------------------------------

    def step(self, step: Step, parent: ListDef, index: int) -> StepDef:
        if not step.kind or step.subject is None:
            raise CannotRun(f"the step `{step.path}` has no subject")
        found = StepDef(step.id, step.kind, parent, index, when=_value(step.keys.get("when")))
        found.on_fail, found.on_unknown = step.on_fail, step.on_unknown
        if step.kind in ("action", "wf.call"):
            found.timeout = _value(step.keys.get("timeout"))
        if step.recovery is not None:
            found.recovery = _recovery(step.recovery, self.workflow)
        if step.retry is not None:
            found.retry = _retry(step.retry)
        if step.binding is not None and has_optional(step.binding):
            found.sparse = step.binding
            self.sparse = True
        if step.call is not None:
            found.call = self.call(step.call)
            found.call.key = _value(step.keys.get("idempotency_key"))
        if step.undo is not None:
            found.undo = self.call(step.undo)
        for handler in step.handlers:
            found.handlers.append(self.handler(handler, found))
        if step.reconcile is not None:
            reconcile = step.reconcile
            outcome = compile_value(_needed(reconcile.outcome, "outcome"))
            probes = self.list(reconcile.steps, "reconcile", RECONCILE, found)
            found.reconcile = ReconcileDef(probes, outcome, _program(reconcile.result))
        _CONFIGURE.get(step.kind, _Compiler.subject)(self, step, found)
        return found

    def handler(self, handler: Handler, owner: StepDef) -> HandlerDef:
        codes = None if handler.codes is None else frozenset(str(code.value) for code in handler.codes)
        steps = self.list(handler.steps, "catch", f"(catch:{handler.index})", owner)
        return HandlerDef(handler.index, codes, steps, _program(handler.result))

    def call(self, call: Call) -> CallDef:
        action = call.action
        if action is None:
            raise CannotRun(f"the action `{call.reference}` did not resolve")
        return CallDef(
            action=call.reference,
            effect=action.effect,
            idempotency=action.idempotency,
            errors=action.errors,
            arguments=compile_value(call.arguments),
            input=action.input,
            input_fit=self.fit(action.input_schema),
            input_optional=has_optional(action.input),
            output=action.output,
            output_fit=self.fit(action.output_schema) if action.output_schema is not None else None,
            output_guide=guide_of(action.output),
            output_schema=action.output_schema,
            connection=self.connection(call.connector, call.connection),
        )

    def connection(self, connector: str, entry: Entry | None) -> str | None:
        """The named connection, or the deployment's unambiguous default."""
        if entry is not None and isinstance(entry.value, Scalar):
            return str(entry.value.value)
        declared = self.project.connections(connector) if self.project is not None else None
        if declared is None:
            return None
        if declared.default is not None:
            return declared.default
        return declared.names[0] if len(declared.names) == 1 else None

    # ---- configuration by construct -------------------------------------------------------------

    def subject(self, step: Step, found: StepDef) -> None:
        """A construct whose subject is a value: ``wf.wait``, ``wf.let``, ``wf.fail``, ``wf.stop``."""
        assert step.subject is not None
        found.subject = compile_value(step.subject.value)

    def action(self, _step: Step, _found: StepDef) -> None:
        """All of an action is in its call."""

    def choice(self, step: Step, found: StepDef) -> None:
        self.subject(step, found)
        for each in step.lists:
            segment = case_segment(each.label) if each.role == "case" else f"({each.role})"
            found.lists[segment] = self.list(each, "branch", segment, found)
            key = each.entry.key if each.role == "case" and each.entry is not None else None
            if isinstance(key, Scalar) and isinstance(key.value, str | int | bool):
                found.cases.append((key.value, segment))

    def parallel(self, step: Step, found: StepDef) -> None:
        found.on_member_fail = step.on_branch_fail
        for each in step.lists:
            found.lists[each.label] = self.list(each, "parallel", each.label, found, each.label)

    def for_each(self, step: Step, found: StepDef) -> None:
        self.subject(step, found)
        found.on_member_fail = step.on_iteration_fail
        found.concurrency = step.concurrency
        found.lists["[]"] = self.list(step.list_of("steps"), "iteration", "[]", found, step.loop_name)

    def group(self, step: Step, found: StepDef) -> None:
        found.lists[""] = self.list(step.list_of("group"), "inner", "", found)

    def wait_for(self, step: Step, found: StepDef) -> None:
        trigger, subject = step.trigger, step.subject
        assert subject is not None
        if trigger is None or not isinstance(subject.value, Scalar):
            raise CannotRun(f"the trigger of `{step.path}` did not resolve")
        found.lists[""] = self.list(step.list_of("steps"), "inner", "", found)
        reference = str(subject.value.value)
        self.payloads[reference] = PayloadDef(self.fit(trigger.payload_schema), guide_of(trigger.payload))
        match, fits = self.match(step, trigger.payload)
        configuration = step.keys.get("configuration")
        found.wait = TriggerUse(
            trigger=reference,
            match=match,
            match_fits=fits,
            configuration=compile_value(configuration.value) if configuration is not None else constant({}),
            configuration_type=trigger.configuration,
            configuration_fit=self.fit(trigger.configuration_schema),
            connection=self.connection(reference.partition(".")[0], step.keys.get("connection")),
            timeout=_needed(_value(step.keys.get("timeout")), "timeout"),
        )

    def match(self, step: Step, payload: Type) -> tuple[dict[str, Program], dict[str, Fit]]:
        entry = step.keys.get("match")
        assert entry is not None
        programs: dict[str, Program] = {}
        fits: dict[str, Fit] = {}
        for each in entry.value.entries if isinstance(entry.value, Mapping) else ():
            if isinstance(each.key, Scalar):
                name = each.key.text
                declared = payload.fields.get(name)
                type_ = declared.type if declared is not None else payload.additional or ANY
                programs[name] = compile_value(each.value)
                fits[name] = Fit(type_.schema if type_.schema is not None else schema_of(type_))
        return programs, fits

    def call_workflow(self, step: Step, found: StepDef) -> None:
        if step.callee is None:
            raise CannotRun(f"the workflow that `{step.path}` calls did not resolve")
        found.callee = self.definition(step.callee)
        inputs = step.keys.get("inputs")
        found.inputs = compile_value(inputs.value) if inputs is not None else constant({})


_CONFIGURE: dict[str, Callable[[_Compiler, Step, StepDef], None]] = {
    "action": _Compiler.action,
    "wf.if": _Compiler.choice,
    "wf.switch": _Compiler.choice,
    "wf.parallel": _Compiler.parallel,
    "wf.for_each": _Compiler.for_each,
    "wf.group": _Compiler.group,
    "wf.wait_for": _Compiler.wait_for,
    "wf.call": _Compiler.call_workflow,
}


def _needed(value: Any, name: str) -> Any:
    if value is None:
        raise CannotRun(f"`{name}` is missing or faulty")
    return value


def _program(node: Node | None) -> Program | None:
    return None if node is None else compile_value(node)


def _value(entry: Entry | None) -> Program | None:
    return None if entry is None else compile_value(entry.value)


def _recovery(recovery: Recovery, workflow: Workflow) -> RecoveryDef:
    return RecoveryDef(
        recovery.redo,
        _needed(recovery.failures, "failures"),
        _needed(recovery.within_us, "within"),
        _needed(recovery.then, "then"),
        recovery.delay_us,
        enclosing_scope(recovery, workflow) is not None,
    )


def _retry(retry: Retry) -> RetryDef:
    on = None if retry.on is None else frozenset(str(code.value) for code in retry.on)
    return RetryDef(retry.attempts, retry.delay_us, retry.backoff, retry.max_delay_us, retry.jitter, on)
