"""Types and visibility over a whole Workfile: walks steps in order, keeping names and facts (language page, 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.expressions.ast import Name
from analyzer.expressions.scope import Binding, Env, Facts, join_facts
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NEVER,
    NULL,
    STRING,
    TIMESTAMP,
    Field,
    Reason,
    Type,
    can_be_equal,
    constant,
    describe,
    enum_of,
    join,
    join_all,
    list_of,
    mismatch,
    record,
)
from analyzer.expressions.typing import ExpressionTyper, Site
from analyzer.language.vocabulary import RUN_FIELDS, WAIT_STATUSES
from analyzer.model.failing import escapes, handlers_escape, list_escapes
from analyzer.model.names import NameFaults
from analyzer.model.nodes import Handler, InputDecl, State, Step, StepList, Workflow
from analyzer.model.problems import Place, Problems
from analyzer.model.reading import is_broken, is_template
from analyzer.model.values import ValueTyper
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence
from analyzer.syntax.source import Source

ERROR_TYPE = record({"code": Field(STRING), "message": Field(STRING), "details": Field(ANY), "step": Field(STRING)})
RUN_TYPE = record({name: Field(TIMESTAMP if kind == "timestamp" else STRING) for name, kind in RUN_FIELDS.items()})
MAX_STATE_PASSES = 3


@dataclass(slots=True)
class Reads:
    """What expressions read: steps and inputs, by identity."""

    steps: set[int] = field(default_factory=set)

    def add(self, source: object) -> None:
        """Note that a binding's source was read."""
        self.steps.add(id(source))

    def __contains__(self, source: object) -> bool:
        return id(source) in self.steps


class WorkflowTyper:
    """Types one resolved Workfile and reports what expressions get wrong. Run it once."""

    def __init__(self, workflow: Workflow, source: Source, problems: Problems) -> None:
        self.workflow = workflow
        self.source = source
        self.reads = Reads()
        self.names = NameFaults(workflow)
        self.stop_types: list[Type] = []
        self._use(problems)

    def _use(self, problems: Problems) -> None:
        self.problems = problems
        self.expressions = ExpressionTyper(self.source, problems, self._unknown_name, self.reads.add)
        self.values = ValueTyper(self.expressions)

    def run(self) -> None:
        """Type everything: steps or states, then the result."""
        env = self._root_env()
        self._trigger(env)
        if self.workflow.states is not None:
            env, facts = self._states(env), env.facts
        elif self.workflow.steps is not None:
            names, end = self.walk_list(self.workflow.steps.steps, env)
            env, facts = env.child(names), end if end is not None else env.facts
        else:
            facts = env.facts
        self._result(env.with_facts(facts))

    def _root_env(self) -> Env:
        workflow = self.workflow
        inputs = record(
            {name: Field(decl.type, decl.optional, decl) for name, decl in workflow.inputs.items()}, closed=True
        )
        names = {"inputs": Binding("inputs", inputs), "run": Binding("run", RUN_TYPE)}
        if workflow.trigger_entry is not None:
            payload = workflow.trigger.payload if workflow.trigger is not None else ANY
            names["trigger"] = Binding("trigger", payload, workflow.trigger_entry.key)
        return Env(None, names)

    def _trigger(self, env: Env) -> None:
        entry = self.workflow.trigger_entry
        if entry is None or not isinstance(entry.value, Mapping):
            return
        configuration = entry.value.entry("configuration")
        root = Env(None, {"inputs": env.names["inputs"]})
        self._trigger_configuration(self.workflow.trigger, configuration, entry.key, root)

    def _trigger_configuration(self, trigger: object, entry: Entry | None, key: Node, env: Env) -> None:
        from analyzer.workspace.manifests import TriggerDecl

        if isinstance(trigger, TriggerDecl):
            what = f"the configuration of `{trigger.name}`"
            node = entry.value if entry is not None else Mapping(key.start, key.start, [])
            self.values.check_record(node, trigger.configuration, env, entry.key if entry is not None else key, what)
        elif entry is not None:
            self.values.infer(entry.value, env)

    def _result(self, env: Env) -> None:
        workflow = self.workflow
        self.expressions.may_fault = False
        if workflow.result is not None and not is_broken(workflow.result.value):
            workflow.result_type = self.values.infer(workflow.result.value, env)
        else:
            workflow.result_type = ANY if workflow.result is not None else NULL
        workflow.result_may_fault = self.expressions.may_fault
        for stopped in self.stop_types:
            workflow.result_type = join(workflow.result_type, stopped)

    # ---- states ----------------------------------------------------------------------------------

    def _states(self, env: Env) -> Env:
        """Type every state; bindings of other states are nullable, so their types are found in quiet passes first."""
        states = self.workflow.states or {}
        loud, reads = self.problems, self.reads
        self._use(Problems())
        before: list[str] = []
        for _ in range(MAX_STATE_PASSES):
            self._states_once(states, env)
            now = [describe(step.binding) for state in states.values() for step in state.all_steps if step.binding]
            if now == before:
                break
            before = now
        self.reads = reads
        self.stop_types.clear()
        self._use(loud)
        self._states_once(states, env)
        return self._foreign(states, None, env)

    def _states_once(self, states: dict[str, State], env: Env) -> None:
        for state in states.values():
            own = Binding(state.name, record({}), state.entry.key)
            scope = self._foreign(states, state, env)
            scope.names[state.name] = own
            self.names.enter_state(state)
            names, end = self.walk_list(state.all_steps, scope, own)
            after = Env(scope, names, end if end is not None else scope.facts)
            self._routes(state, after)
            self.names.leave_state()

    def _routes(self, state: State, env: Env) -> None:
        for route in state.routes:
            if route.when is None:
                continue
            self.expressions.may_fault = False
            env = self._condition(route.when, env)[1] or env
            route.may_fault = self.expressions.may_fault

    def _foreign(self, states: dict[str, State], own: State | None, env: Env) -> Env:
        """The bindings of other states: ``STATE.id``, and a bare id that only one other state has."""
        names: dict[str, Binding] = {}
        own_ids = {step.id for step in own.all_steps} if own is not None else set()
        owners: dict[str, int] = {}
        for state in states.values():
            if state is own:
                continue
            fields: dict[str, Field] = {}
            for step in state.all_steps:
                reason = Reason(f"state `{state.name}` may not have been entered", "", *_span(state.entry.key))
                type_ = (step.binding or ANY).with_null(reason)
                fields.setdefault(step.id, Field(type_, False, step))
                owners[step.id] = owners.get(step.id, 0) + 1
                names[step.id] = Binding(step.id, type_, step.id_node, step)
            names[state.name] = Binding(state.name, record(fields), state.entry.key)
        shared = {name for name, count in owners.items() if count > 1}
        kept = {name: each for name, each in names.items() if name not in shared and name not in own_ids}
        return env.child(kept)

    # ---- lists and steps -------------------------------------------------------------------------

    def walk_list(
        self, steps: Iterable[Step], env: Env, own: Binding | None = None
    ) -> tuple[dict[str, Binding], Facts | None]:
        """Type an ordered list: the names that it binds, and the facts at its end (None when it always ends the run)."""
        ordered = [*steps]
        names: dict[str, Binding] = {}
        facts, ended = env.facts, False
        self.names.enter_list(ordered)
        for step in ordered:
            here = Env(env, names, facts)
            self._check_shadow(step, env)
            after = self.step(step, here)
            assert step.binding is not None
            names[step.id] = Binding(step.id, step.binding, step.id_node, step)
            if own is not None:
                own.type = record({each.id: Field(names[each.id].type, False, each) for each in ordered if each.id in names})
            if after is None:
                ended = True
            else:
                facts = after
        self.names.leave_list()
        return names, None if ended else facts

    def _check_shadow(self, step: Step, env: Env) -> None:
        known = env.lookup(step.id)
        if known is None or known.node is None or step.id in ("inputs", "trigger", "run", "error"):
            states = self.workflow.states
            if states is not None and step.id in states:
                self.problems.report(
                    "shadowed-name",
                    step.id_node,
                    f"`{step.id}` is the name of a state: give the step another id.",
                    related=[(states[step.id].entry.key, "the state")],
                )
            return
        if isinstance(known.source, Step) and _in_other_state(known.source, step):
            return
        what = "the state" if self.workflow.states and step.id in self.workflow.states else f"`{step.id}`"
        self.problems.report(
            "shadowed-name",
            step.id_node,
            f"`{step.id}` is already a name that can be read here: give the step another id.",
            related=[(known.node, f"{what} stands here")],
        )

    def step(self, step: Step, env: Env) -> Facts | None:
        """Type one step; sets its binding, gives the facts after it (None when it always ends the run)."""
        outer = self.expressions.may_fault
        self.expressions.may_fault = False
        self.names.enter_step(step)
        skipped: Facts | None = None
        body_env = env
        guarded = False
        if "when" in step.keys and step.kind:
            held, failed = self._condition(step.keys["when"].value, env)
            skipped = failed.facts if failed is not None else None
            guarded = failed is not None
            body_env = held if held is not None else env
        raw, facts = self._body(step, body_env)
        step.may_fault = self.expressions.may_fault
        step.may_fail = step.may_fail or step.may_fault
        self._attached(step, raw, body_env)
        if step.recovery is not None and step.recovery.then == "hold":
            step.may_fail = step.may_fault  # a hold keeps what fails inside the scope
        binding, facts = self._outcomes(step, raw, facts, body_env)
        if guarded:
            line = self.source.line_column(step.keys["when"].key.start)[0] + 1
            binding = binding.with_null(
                Reason(f"`{step.id}` is null when its `when` is false (line {line})", "", *_span(step.keys["when"].key))
            )
            facts = join_facts(facts, skipped)
        step.binding = binding
        self.names.leave_step()
        self.expressions.may_fault = outer
        return facts

    def _condition(self, node: Node, env: Env) -> tuple[Env | None, Env | None]:
        """Type a condition; the scopes where it held and where it did not (None when that cannot be)."""
        if is_broken(node):
            return env, env
        if not isinstance(node, Scalar) or not is_template(node):
            type_ = self.values.infer(node, env)
            if type_.kind != "boolean":
                if type_.kind != "null" and isinstance(node, Scalar):
                    self.problems.report(
                        "not-boolean", node, f"A condition is true or false, but this is `{describe(type_)}`."
                    )
                return env, env
            return (env, None) if type_.values == (True,) else (None, env)
        template = self.expressions.template(node)
        type_ = self.expressions.scalar_type(node, env)
        if not template.whole:
            if not template.problems:
                self.problems.report(
                    "not-boolean", node, "Text around `{{ }}` makes this a string: a condition is one `{{ … }}` alone."
                )
            return env, env
        expr = template.interpolations[0].expr
        if type_.kind not in ("boolean", "any", "never", "null"):
            self.problems.report(
                "not-boolean", node, f"A condition is true or false, but this is `{describe(type_)}`."
            )
            self.expressions.may_fault = True
            return env, env
        if type_.may_be_null:
            self.values.report_mismatch(node, mismatch(type_, BOOLEAN), "a condition", node)
            return env, env
        if type_.kind == "any":
            self.expressions.may_fault = True
        held, failed = (self.expressions.assume(expr, truth, env) for truth in (True, False))
        return (
            None if held is None else env.with_facts(held),
            None if failed is None else env.with_facts(failed),
        )

    def _outcomes(self, step: Step, raw: Type, facts: Facts | None, env: Env) -> tuple[Type, Facts | None]:
        """What handlers and ``on_fail`` make of the binding and of the facts."""
        binding = raw
        failing = step.may_fail
        if failing and step.handlers:
            for handler in step.handlers:
                result, end = self._handler(step, handler, raw, env)
                if end is None:
                    continue
                facts = join_facts(facts, end)
                binding = join(binding, result)
        else:
            for handler in step.handlers:
                self._handler(step, handler, raw, env)
        if failing and step.on_fail == "continue" and handlers_escape(step):
            line = self.source.line_column(step.keys["on_fail"].key.start)[0] + 1
            reason = Reason(
                f"`{step.id}` is null when it fails, under `on_fail: continue` (line {line})",
                "",
                *_span(step.keys["on_fail"].key),
            )
            binding = binding.with_null(reason)
            facts = join_facts(facts, env.facts)
        return binding, facts

    def _handler(self, step: Step, handler: Handler, raw: Type, env: Env) -> tuple[Type, Facts | None]:
        """Type a handler: what the step binds after it, and the facts at its end."""
        scope = env.child({"error": Binding("error", ERROR_TYPE, handler.node)})
        names: dict[str, Binding] = {}
        end: Facts | None = scope.facts
        if handler.steps is not None:
            names, end = self.walk_list(handler.steps.steps, scope)
        if handler.result is None:
            line = self.source.line_column(handler.node.start)[0] + 1
            reason = Reason(
                f"`{step.id}` is null when its handler without `result` runs (line {line})", "", *_span(handler.node)
            )
            return Type("null", why=(reason,)), end
        inner = Env(scope, names, end if end is not None else scope.facts)
        if not is_broken(handler.result) and raw.kind != "never":
            self.values.check(handler.result, raw, inner, "the handler's `result`")
        type_ = self.values.infer(handler.result, inner)
        return type_, end

    def _attached(self, step: Step, raw: Type, env: Env) -> None:
        """What hangs on an action: its key, ``reconcile`` and ``undo``; none of it is evaluated with the step itself."""
        if step.kind == "action" and "idempotency_key" in step.keys:
            self._string(step.keys["idempotency_key"].value, env, "`idempotency_key`")
            step.may_fault = step.may_fault or self.expressions.may_fault
        if step.reconcile is not None:
            self._reconcile(step, raw, env)
        if step.undo is not None:
            own = {step.id: Binding(step.id, raw, step.id_node, step)}
            self._call_arguments(step.undo.arguments, step.undo, env.child(own))

    def _reconcile(self, step: Step, raw: Type, env: Env) -> None:
        part = step.reconcile
        assert part is not None
        self.names.reconciling = step
        names: dict[str, Binding] = {}
        facts: Facts | None = env.facts
        if part.steps is not None:
            names, facts = self.walk_list(part.steps.steps, env)
        inner = Env(env, names, facts if facts is not None else env.facts)
        if part.outcome is not None:
            inner = self._condition(part.outcome, inner)[0] or inner
        if part.result is not None and not is_broken(part.result):
            wanted = raw if step.call is not None and step.call.action is not None else ANY
            self.values.check(part.result, wanted, inner, "the reconciled `result`")
        self.names.reconciling = None

    def _string(self, node: Node, env: Env, what: str) -> None:
        if isinstance(node, Scalar) and not is_broken(node):
            self.values.check(node, STRING, env, what)

    def _unknown_name(self, expr: Name, site: Site, env: Env) -> Type:
        return self.names.unknown(expr, site, env, self.problems)

    # ---- bodies by kind --------------------------------------------------------------------------

    def _body(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        """The binding of a step that succeeds, and the facts after it."""
        handler = _BODIES.get(step.kind)
        if handler is None:
            return ANY, env.facts
        return handler(self, step, env)

    def _action(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        call = step.call
        assert call is not None
        self._call_arguments(call.arguments, call, env)
        if "timeout" in step.keys:
            self._moment(step.keys["timeout"].value, env, "`timeout`", timestamps=False)
        step.may_fail = True
        if call.action is None:
            return ANY, env.facts
        if call.action.output is None:
            reason = Reason(f"`{call.reference}` declares no output", "", *_span(call.entry.key))
            return Type("null", why=(reason,)), env.facts
        return call.action.output, env.facts

    def _call_arguments(self, arguments: Node, call: object, env: Env) -> None:
        from analyzer.model.nodes import Call

        assert isinstance(call, Call)
        if call.action is None:
            self.values.infer(arguments, env)
        else:
            self.values.check_record(arguments, call.action.input, env, call.entry.key, f"`{call.reference}`")

    def _moment(self, node: Node, env: Env, what: str, *, timestamps: bool) -> None:
        """A duration, or a timestamp too: the value of a timeout or a wait."""
        if not isinstance(node, Scalar) or not is_template(node):
            return
        template = self.expressions.template(node)
        if not template.whole:
            self._parts(node, env)
            if not template.problems:
                self.problems.report(
                    "not-whole-value", node, f"Text around `{{{{ }}}}` makes {what} a string: write one `{{{{ … }}}}` alone."
                )
            return
        type_ = self.expressions.scalar_type(node, env)
        allowed = ("duration", "timestamp", "any", "never", "null") if timestamps else ("duration", "any", "never", "null")
        wanted = "a duration or a timestamp" if timestamps else "a duration"
        if any(option.kind not in allowed for option in type_.options or (type_,)):
            self.expressions.may_fault = True
            self.problems.report(
                "type-mismatch", node, f"{what[:1].upper()}{what[1:]} needs {wanted}, but this is `{describe(type_)}`."
            )
        elif type_.may_be_null:
            self.values.report_mismatch(node, mismatch(type_, DURATION), what, node)

    def _parts(self, node: Scalar, env: Env) -> None:
        site = Site(self.source, node)
        for part in self.expressions.template(node).interpolations:
            self.expressions.infer(part.expr, env, site)

    def _wait(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        self._moment(step.subject.value, env, "`wf.wait`", timestamps=True)
        step.may_fail = is_template(step.subject.value)
        return NULL, env.facts

    def _wait_for(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        self.names.configuring = step
        trigger = step.trigger
        match = step.keys.get("match")
        if match is not None and isinstance(match.value, Mapping):
            for entry in match.value.entries:
                name = entry.key.value if isinstance(entry.key, Scalar) else None
                declared = trigger.payload.fields.get(name) if trigger is not None and isinstance(name, str) else None
                if declared is None:
                    self.values.infer(entry.value, env)
                else:
                    self.values.check(entry.value, declared.type, env, f"`{name}`")
        self._trigger_configuration(trigger, step.keys.get("configuration"), step.subject.key, env)
        timeout = step.keys.get("timeout")
        if timeout is not None:
            self._moment(timeout.value, env, "`timeout`", timestamps=True)
        self.names.configuring = None
        names: dict[str, Binding] = {}
        facts: Facts | None = env.facts
        for each in step.lists:
            names, facts = self.walk_list(each.steps, env)
        parts = [step.keys[key].value for key in ("match", "configuration", "timeout") if key in step.keys]
        step.may_fail = any(map(_has_template, parts)) or any(map(list_escapes, step.lists))
        return self._wait_binding(step, names), facts

    def _wait_binding(self, step: Step, names: dict[str, Binding]) -> Type:
        payload = step.trigger.payload if step.trigger is not None else ANY
        event = payload.with_null(Reason(f"`{step.id}.event` is null when the wait times out", "", *_span(step.id_node)))
        fields = {"status": Field(enum_of(WAIT_STATUSES)), "event": Field(event)}
        for name, binding in names.items():
            fields.setdefault(name, Field(binding.type, False, binding.source))
        tags = {"status": {"received": {"event": True}, "timeout": {"event": False}}}
        return Type("object", fields=fields, closed=True, tags=tags)

    def _if(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        held, failed = self._condition(step.subject.value, env)
        branches = []
        for each in step.lists:
            scope = held if each.role == "then" else failed
            branches.append(self._branch(each, scope or env, scope is not None))
        rest = failed if step.list_of("else") is None else None
        return self._union(step, branches, None if rest is None else rest.facts)

    def _branch(self, steps: StepList, env: Env, live: bool) -> tuple[StepList, dict[str, Binding], Facts | None]:
        names, end = self.walk_list(steps.steps, env)
        return steps, names, end if live else None

    def _union(
        self,
        step: Step,
        branches: list[tuple[StepList, dict[str, Binding], Facts | None]],
        rest: Facts | None,
    ) -> tuple[Type, Facts | None]:
        """The union of branches; ``rest`` are the facts of the way that takes none of them, if there is one."""
        step.may_fail = self.expressions.may_fault or any(map(list_escapes, step.lists))
        live = [branch for branch in branches if branch[2] is not None]
        fields: dict[str, Field] = {}
        for _, names, _ in branches:
            for name in names:
                if name not in fields:
                    fields[name] = self._union_field(step, name, live, branches, rest is not None)
        facts = rest
        for branch in live:
            facts = join_facts(facts, branch[2])
        return record(fields) if live or rest is not None else NEVER, facts

    def _union_field(
        self,
        step: Step,
        name: str,
        live: list[tuple[StepList, dict[str, Binding], Facts | None]],
        branches: list[tuple[StepList, dict[str, Binding], Facts | None]],
        rest: bool,
    ) -> Field:
        having = [names[name] for _, names, _ in live if name in names]
        type_ = join_all(binding.type for binding in having)
        source = next(names[name].source for _, names, _ in branches if name in names)
        without = next((steps for steps, names, _ in live if name not in names), None)
        if without is not None:
            key = without.entry.key if without.entry is not None else step.anchor_node
            line = self.source.line_column(key.start)[0] + 1
            text = f"`{step.id}.{name}` is null when `{step.id}` takes {_branch_words(without)} (line {line})"
            return Field(type_.with_null(Reason(text, "", *_span(key))), False, source)
        if rest or not having:
            text = f"`{step.id}.{name}` is null when `{step.id}` takes no branch that binds it"
            return Field(type_.with_null(Reason(text, "", *_span(step.anchor_node))), False, source)
        return Field(type_, False, source)

    def _switch(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        node = step.subject.value
        type_ = self.values.infer(node, env) if isinstance(node, Scalar) and not is_broken(node) else ANY
        expr = None
        if isinstance(node, Scalar) and is_template(node):
            template = self.expressions.template(node)
            expr = template.interpolations[0].expr if template.whole else None
        narrowing = self.expressions.narrowing
        rest: Facts | None = env.facts
        branches = []
        for each in step.lists:
            if each.role != "case" or each.entry is None or not isinstance(each.entry.key, Scalar):
                continue
            value = each.entry.key.value
            self._check_case(each.entry.key, value, type_)
            held: Facts | None = env.facts
            if expr is not None:
                held = narrowing.narrow_to(expr, constant(value), env)
                rest = None if rest is None else narrowing.narrow_not(expr, value, env.with_facts(rest))
            branches.append(self._branch(each, env if held is None else env.with_facts(held), held is not None))
        default = step.list_of("default")
        if default is not None:
            scope = env if rest is None else env.with_facts(rest)
            branches.append(self._branch(default, scope, rest is not None))
            rest = None
        return self._union(step, branches, rest)

    def _check_case(self, key: Scalar, value: object, type_: Type) -> None:
        if not can_be_equal(constant(value), type_):
            self.problems.report(
                "never-true", key, f"This case is never taken: `{describe(type_)}` never equals `{describe(constant(value))}`."
            )

    def _parallel(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        fields: dict[str, Field] = {}
        facts: Facts | None = env.facts
        tolerant = step.on_branch_fail == "continue"
        for each in step.lists:
            names, end = self.walk_list(each.steps, env)
            type_ = record({name: Field(b.type, False, b.source) for name, b in names.items()})
            if tolerant and list_escapes(each) and each.entry is not None:
                reason = Reason(
                    f"`{step.id}.{each.label}` is null when the branch fails, under `on_branch_fail: continue`",
                    "",
                    *_span(each.entry.key),
                )
                type_ = type_.with_null(reason)
                end = join_facts(end, env.facts)
            fields.setdefault(each.label, Field(type_))
            facts = None if facts is None or end is None else {**facts, **end}
        step.may_fail = not tolerant and any(map(list_escapes, step.lists))
        return record(fields), facts

    def _for_each(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        item = self._elements(step, env)
        own_fault = self.expressions.may_fault
        known = env.lookup(step.loop_name)
        if known is not None and isinstance(known.source, Step) and "as" in step.keys:
            self.problems.report(
                "shadowed-name",
                step.keys["as"].value,
                f"`{step.loop_name}` is already a name that can be read here: choose another.",
                related=[(known.node, "the other one")] if known.node is not None else (),
            )
        name_node = step.keys["as"].value if "as" in step.keys else None
        scope = env.child(
            {step.loop_name: Binding(step.loop_name, item, name_node), "index": Binding("index", INTEGER)}
        )
        names: dict[str, Binding] = {}
        for each in step.lists:
            names, _ = self.walk_list(each.steps, scope)
        inner = any(map(list_escapes, step.lists))
        element = record({name: Field(b.type, False, b.source) for name, b in names.items()})
        if step.on_iteration_fail == "continue" and inner:
            element = element.with_null(
                Reason(
                    f"an element of `{step.id}` is null when its iteration fails, under `on_iteration_fail: continue`",
                    "",
                    *_span(step.anchor_node),
                )
            )
            inner = False
        step.may_fail = own_fault or inner
        return list_of(element), env.facts

    def _elements(self, step: Step, env: Env) -> Type:
        """The type of a loop's elements."""
        assert step.subject is not None
        node = step.subject.value
        if isinstance(node, Sequence):
            return self.values.infer(node, env).item or ANY
        if not isinstance(node, Scalar) or not is_template(node) or node.broken:
            return ANY
        template = self.expressions.template(node)
        if not template.whole:
            self._parts(node, env)
            if not template.problems:
                self.problems.report(
                    "not-whole-value", node, "Text around `{{ }}` makes this a string: write one `{{ … }}` that gives a list."
                )
            return ANY
        type_ = self.expressions.scalar_type(node, env)
        if type_.kind == "any":
            self.expressions.may_fault = True
            return ANY
        plain = type_.not_null()
        if plain.kind not in ("list", "never"):
            self.expressions.may_fault = True
            self.problems.report(
                "type-mismatch", node, f"`wf.for_each` goes over a list, but this is `{describe(type_)}`."
            )
            return ANY
        if type_.may_be_null:
            self.values.report_mismatch(node, mismatch(type_, list_of(ANY)), "the list", node)
        return plain.item or ANY

    def _group(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        names: dict[str, Binding] = {}
        facts: Facts | None = env.facts
        for each in step.lists:
            names, facts = self.walk_list(each.steps, env)
        step.may_fail = any(map(list_escapes, step.lists))
        return record({name: Field(b.type, False, b.source) for name, b in names.items()}), facts

    def _call_workflow(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        entry = step.keys.get("inputs")
        callee = step.callee
        if callee is None:
            if entry is not None:
                self.values.infer(entry.value, env)
        else:
            wanted = record({name: Field(decl.type, decl.optional) for name, decl in callee.inputs.items()})
            node = entry.value if entry is not None else Mapping(step.subject.key.start, step.subject.key.start, [])
            self.values.check_record(node, wanted, env, step.subject.key, f"`{callee.name}`")
        if "timeout" in step.keys:
            self._moment(step.keys["timeout"].value, env, "`timeout`", timestamps=False)
        step.may_fail = True
        return (callee.result_type if callee is not None else None) or ANY, env.facts

    def _let(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        type_ = self.values.infer(step.subject.value, env)
        step.may_fail = self.expressions.may_fault
        return type_, env.facts

    def _fail(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        for name, entry in _string_entries(step.subject.value):
            if name in ("code", "message"):
                self._string(entry.value, env, f"`{name}`")
            else:
                self.values.infer(entry.value, env)
        step.may_fail = self.expressions.may_fault
        return NEVER, None

    def _stop(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        assert step.subject is not None
        result: Type = NULL
        for name, entry in _string_entries(step.subject.value):
            if name == "reason":
                self._string(entry.value, env, "`reason`")
            else:
                type_ = self.values.infer(entry.value, env)
                result = type_ if name == "result" else result
        self.stop_types.append(result)
        step.may_fail = self.expressions.may_fault
        return NEVER, None


_BODIES = {
    "action": WorkflowTyper._action,
    "wf.wait": WorkflowTyper._wait,
    "wf.wait_for": WorkflowTyper._wait_for,
    "wf.if": WorkflowTyper._if,
    "wf.switch": WorkflowTyper._switch,
    "wf.parallel": WorkflowTyper._parallel,
    "wf.for_each": WorkflowTyper._for_each,
    "wf.group": WorkflowTyper._group,
    "wf.call": WorkflowTyper._call_workflow,
    "wf.let": WorkflowTyper._let,
    "wf.fail": WorkflowTyper._fail,
    "wf.stop": WorkflowTyper._stop,
}


def _string_entries(node: Node) -> list[tuple[str, Entry]]:
    if not isinstance(node, Mapping):
        return []
    return [
        (entry.key.value, entry)
        for entry in node.entries
        if isinstance(entry.key, Scalar) and isinstance(entry.key.value, str)
    ]


def _has_template(node: Node) -> bool:
    if isinstance(node, Mapping):
        return any(_has_template(entry.value) for entry in node.entries)
    if isinstance(node, Sequence):
        return any(map(_has_template, node.items))
    return is_template(node)


def _in_other_state(source: Step, step: Step) -> bool:
    """Bindings of another state may be shadowed: an own id counts first."""
    return _state_of(source) is not _state_of(step)


def _state_of(step: Step) -> State | None:
    owner = step.parent.owner
    while isinstance(owner, Step):
        owner = owner.parent.owner
    return owner if isinstance(owner, State) else None


def _branch_words(steps: StepList) -> str:
    if steps.role == "case":
        return f"the case `{steps.label}`"
    return f"its `{steps.role}` branch"


def _span(node: Node) -> tuple[int, int]:
    return node.start, node.end


__all__ = ["BOOLEAN", "InputDecl", "Place", "Reads", "WorkflowTyper", "escapes"]
