"""Types and visibility over a whole Workfile: walks steps in order, keeping names and facts (language page, 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.expressions.ast import Expr, Name
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Binding, Env, Facts, in_doubt, join_facts
from analyzer.expressions.type_changes import bounded, merged, widened
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    NEVER,
    NULL,
    STRING,
    TIMESTAMP,
    Field,
    Lines,
    Reason,
    Type,
    describe,
    join,
    mismatch,
    record,
    same,
)
from analyzer.expressions.typing import ExpressionTyper
from analyzer.language.vocabulary import RESERVED_WORDS, RUN_FIELDS
from analyzer.model.constructs import BODIES, call_arguments, trigger_configuration
from analyzer.model.covering import leave_nothing
from analyzer.model.entering import Entries
from analyzer.model.failing import Escapes
from analyzer.model.names import NameFaults
from analyzer.model.nodes import Handler, State, Step, Workflow
from analyzer.model.outside import Outside, OutsideNames
from analyzer.model.problems import Problems
from analyzer.model.reading import is_template
from analyzer.model.values import ValueTyper
from analyzer.syntax.nodes import Mapping, Node, Scalar, is_broken
from analyzer.syntax.source import Source

ERROR_TYPE = record({"code": Field(STRING), "message": Field(STRING), "details": Field(ANY), "step": Field(STRING)})
RUN_TYPE = record({name: Field(TIMESTAMP if kind == "timestamp" else STRING) for name, kind in RUN_FIELDS.items()})
#: Each pass carries types over one more read of another state.
MAX_STATE_PASSES = 16


@dataclass(slots=True)
class Reads:
    """What expressions read: steps and inputs, by identity."""

    sources: set[object] = field(default_factory=set)

    def add(self, source: object) -> None:
        """Note that a binding's source was read."""
        self.sources.add(source)

    def __contains__(self, source: object) -> bool:
        return source in self.sources


class OwnBinding(Binding):
    """A state's own name inside the state: a record of what its steps have bound so far, made when it is read."""

    __slots__ = ("_fields", "_record")

    def __init__(self, state: State) -> None:
        self._fields: dict[str, Field] = {}
        super().__init__(state.name, record({}), state.entry.key)

    def bind(self, step: Step, type_: Type) -> None:
        """One more step is done."""
        self._fields[step.id] = Field(type_, False, step)
        self._record: Type | None = None

    @property
    def type(self) -> Type:
        """The record; one that was read does not change any more."""
        if self._record is None:
            self._record = record({**self._fields})
        return self._record

    @type.setter  # noqa: A003 - the binding's type is made when it is read
    def type(self, type_: Type) -> None:
        self._record = type_


#: Faults of a test after which it is not known what it was meant to tell.
_UNREADABLE = frozenset(
    {"expression-syntax", "unknown-name", "unknown-member", "unknown-filter", "used-before-bound", "not-visible"}
)
#: Faults of a test after which what it tells is known only as long as it is not mended.
_FAULTY = _UNREADABLE | {"nullable-access", "nullable-value", "type-mismatch", "not-boolean"}


class WorkflowTyper:
    """Types one resolved Workfile and reports what expressions get wrong. Run it once."""

    def __init__(self, workflow: Workflow, source: Source, problems: Problems) -> None:
        self.workflow = workflow
        self.source = source
        self.lines = Lines(source)
        self.reads = Reads()
        self.names = NameFaults(workflow)
        self.escapes = Escapes()
        self.stop_types: list[Type] = []
        self._use(problems)

    def _use(self, problems: Problems) -> None:
        self.problems = problems
        self.expressions = ExpressionTyper(self.source, problems, self._unknown_name, self.reads.add)
        self.expressions.unbound = self.names.unbound
        self.values = ValueTyper(self.expressions)

    def run(self) -> None:
        """Type everything: steps or states, then the result."""
        env = self._root_env()
        self._trigger(env)
        end: Facts | None = env.facts
        if self.workflow.states is not None:
            env = self._states(env)
            end = env.facts
        elif self.workflow.steps is not None:
            names, end = self.walk_root(self.workflow.steps.steps, env)
            env = env.child(names)
        self.expressions.dead += end is None
        self._result(env if end is None else env.with_facts(end))

    def walk_root(self, steps: list[Step], env: Env) -> tuple[dict[str, Binding], Facts | None]:
        """Type the root's list, as ``walk_list``."""
        return self.walk_list(steps, env)

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
        configuration = self.workflow.trigger_keys.get("configuration")
        root = Env(None, {"inputs": env.names["inputs"]})
        trigger_configuration(self, self.workflow.trigger, configuration, entry.key, root)

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
        outside = Outside(states, self.workflow.path)
        entries = Entries(self.workflow, env)
        loud, reads = self.problems, self.reads
        self._use(Problems())
        ordered = entries.ordered()
        if not self._settle_states(ordered, env, outside, entries):
            entries.close()
            self._settle_states(ordered, env, outside, entries)
        self.reads = reads
        self.names.begin()
        self.stop_types.clear()
        self._use(loud)
        self._states_once(states.values(), env, outside, entries)
        return Env(env, OutsideNames(outside, None), entries.end)

    def _settle_states(self, states: list[State], env: Env, outside: Outside, entries: Entries) -> bool:
        """Type the states until what they bind, and what is known at their entries, stays as it is."""
        before: list[Type] = []
        for _ in range(MAX_STATE_PASSES):
            entries.moved = False
            self._states_once(states, env, outside, entries)
            now = [step.binding or ANY for state in states for step in state.all_steps]
            if not entries.moved and len(before) == len(now) and all(map(same, before, now)):
                return True
            before = now
        return False

    def _states_once(self, states: Iterable[State], env: Env, outside: Outside, entries: Entries) -> None:
        entries.end = None
        for state in states:
            own = OwnBinding(state)
            scope = Env(env, OutsideNames(outside, state), entries.at(state))
            if state.name not in RESERVED_WORDS:
                scope.names[state.name] = own
            self.names.enter_state(state)
            names, end = self.walk_list(state.all_steps, scope, own)
            for timer in state.timers:
                entries.lead(state, timer.to, scope.facts)
            self._routes(state, Env(scope, names, end if end is not None else scope.facts), entries, end is not None)
            if state.final and end is not None:
                entries.finish(state, end)
            self.names.leave_state()
            outside.forget(state)

    def _routes(self, state: State, env: Env, entries: Entries, live: bool) -> None:
        """Type a state's routes; ``live``: its end can be reached, so that they lead on."""
        conditions: list[Expr] = []
        start = env
        state.covered = False
        for route in state.routes:
            if route.when is None:
                if live:
                    entries.lead(state, route.to, env.facts)
                continue
            self.expressions.may_fault = False
            held, failed = self.condition(route.when, env)
            route.may_fault = self.expressions.may_fault
            state.covered = state.covered or failed is None
            if live:
                entries.lead(state, route.to, (held or env).facts)
            env = failed or env
            if isinstance(route.when, Scalar) and is_template(route.when) and not is_broken(route.when):
                template = self.expressions.template(route.when)
                conditions += [template.interpolations[0].expr] if template.whole else []
        state.covered = state.covered or leave_nothing(conditions, start, self.expressions.narrowing)

    # ---- lists and steps -------------------------------------------------------------------------

    def walk_list(
        self, steps: Iterable[Step], env: Env, own: OwnBinding | None = None
    ) -> tuple[dict[str, Binding], Facts | None]:
        """Type an ordered list: the names that it binds, the facts at its end (None when it always ends the run)."""
        ordered = [*steps]
        names: dict[str, Binding] = {}
        facts, ended = env.facts, False
        dead = self.expressions.dead
        self.names.enter_list(ordered)
        for step in ordered:
            here = Env(env, names, facts)
            self._check_shadow(step, env)
            after = self.step(step, here)
            assert step.binding is not None
            names[step.id] = Binding(step.id, step.binding, step.id_node, step)
            if own is not None:
                own.bind(step, step.binding)
            if after is None:
                ended = True
                self.expressions.dead = dead + 1
            else:
                facts = after
        self.expressions.dead = dead
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
        held: Env | None = env
        skipped: Env | None = None
        untold = False
        if "when" in step.keys and (step.kind or step.is_untold):
            before = len(self.problems.items)
            held, skipped = self.condition(step.keys["when"].value, env)
            untold = self.is_faulty_since(before)
        guard_faults = self.expressions.may_fault
        self.expressions.dead += untold
        raw, facts = self._guarded_body(step, held, env, guard_faults)
        self.expressions.dead -= untold
        # A fault in `when` is a failure of the step too, and then nothing is known of what `when` tests.
        failed = env.with_facts(self._at_failure(step, held.facts) if held and not guard_faults else env.facts)
        binding, facts = self._outcomes(step, raw, raw if held is not None else NEVER, facts, failed)
        self.escapes.note(step, failed.facts)
        if skipped is not None:
            facts = None if step.is_untold else facts  # a guard is told of by the way that skips the step
            key = step.keys["when"].key
            binding = binding.with_null(self.reason(f"`{step.id}` is null when its `when` is false", key))
            facts = join_facts(facts, skipped.facts)
        step.binding = binding
        self.names.leave_step()
        self.expressions.may_fault = outer
        return facts

    def _guarded_body(self, step: Step, held: Env | None, env: Env, guard_faults: bool) -> tuple[Type, Facts | None]:
        """Type what a step does when its guard held (``held`` None: that cannot be, so nothing is reached)."""
        never = held is None
        self.expressions.dead += never
        body_env = env if held is None else held
        raw, facts = self._body(step, body_env)
        step.may_fault = self.expressions.may_fault
        step.may_fail = step.may_fail or step.may_fault
        self._attached(step, raw, body_env)
        self.expressions.dead -= never
        step.may_fail = step.may_fail or self.escapes.reach(step)
        if step.recovery is not None and step.recovery.then == "hold":
            step.may_fail = step.may_fault  # a hold keeps what fails inside the scope
        if never:
            step.may_fail = guard_faults
        if self.expressions.dead:
            step.may_fail = False
        return raw, None if never else facts

    def _at_failure(self, step: Step, start: Facts) -> Facts:
        """What is known when what a step does fails, ``start`` when it begins: what was known where it failed."""
        if not step.lists or step.may_fault or step.kind == "wf.wait_for":
            return start
        facts: Facts | None = None
        for each in step.lists:
            facts = join_facts(facts, self.escapes.known(each))
        return start if facts is None else facts

    def reason(self, text: str, node: Node) -> Reason:
        """Why something may be null: words, the line, and the place."""
        return Reason(text, self.workflow.path, node, self.lines)

    def is_faulty_since(self, before: int) -> bool:
        """Whether a test that was typed since there were ``before`` problems cannot be read as it was meant."""
        return any(each.rule in _UNREADABLE for each in self.problems.items[before:])

    def evidence(self, facts: Facts | None, env: Env, before: int) -> Facts | None:
        """The facts of a test that was typed since there were ``before`` problems: in doubt when it is faulty."""
        if self.expressions.dead or any(each.rule in _FAULTY for each in self.problems.items[before:]):
            return in_doubt(facts, env.facts)
        return facts

    def condition(self, node: Node, env: Env) -> tuple[Env | None, Env | None]:
        """Type a condition; the scopes where it held and where it did not (None when that cannot be)."""
        before = len(self.problems.items)
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
        type_ = self.expressions.scalar_type(node, env, BOOLEAN)
        if not template.whole:
            if not template.problems:
                self.problems.report(
                    "not-boolean", node, "Text around `{{ }}` makes this a string: a condition is one `{{ … }}` alone."
                )
            return env, env
        expr = template.interpolations[0].expr
        if type_.kind not in ("boolean", "any", "never", "null"):
            self.problems.report("not-boolean", node, f"A condition is true or false, but this is `{describe(type_)}`.")
            self.expressions.may_fault = True
            return env, env
        if type_.may_be_null:
            self.values.report_mismatch(node, mismatch(type_, BOOLEAN), "a condition", node)
        if type_.kind == "null":
            return env, env
        if type_.kind == "any":
            self.expressions.may_fault = True
        held, failed = (self.evidence(facts, env, before) for facts in self.expressions.outcomes(expr, env))
        return (
            None if held is None else env.with_facts(held),
            None if failed is None else env.with_facts(failed),
        )

    def _outcomes(
        self, step: Step, raw: Type, binding: Type, facts: Facts | None, env: Env
    ) -> tuple[Type, Facts | None]:
        """What handlers and ``on_fail`` make of the binding and of the facts; ``env`` is what is known at a failure."""
        uncaught = step.may_fail
        caught: set[str] = set()
        for handler in step.handlers:
            codes = None if handler.codes is None else {code.text for code in handler.codes}
            dead = not uncaught or (codes is not None and codes <= caught)
            self.expressions.dead += dead
            result, end = self.handler(step, handler, raw, env)
            self.expressions.dead -= dead
            if not dead and end is not None:
                facts = join_facts(facts, end)
                binding = merged(binding, result)
            uncaught = uncaught and codes is not None
            caught.update(codes or ())
        # A wait binds null by the profile's word (D-WAIT-12), also where nothing of it is seen to fail.
        fails = step.may_fail or step.kind == "wf.wait_for"
        if fails and step.on_fail == "continue" and self.escapes.past_handlers(step):
            text = f"`{step.id}` is null when it fails, under `on_fail: continue`"
            binding = binding.with_null(self.reason(text, step.keys["on_fail"].key))
            facts = join_facts(facts, self.escapes.at_failure(step, env.facts))
        return binding, facts

    def handler(self, step: Step, handler: Handler, raw: Type, env: Env) -> tuple[Type, Facts | None]:
        """Type a handler: what the step binds after it, and the facts at its end."""
        scope = env.child({"error": Binding("error", ERROR_TYPE, handler.node)})
        names: dict[str, Binding] = {}
        end: Facts | None = scope.facts
        if handler.steps is not None:
            names, end = self.walk_list(handler.steps.steps, scope)
        if handler.result is None:
            reason = self.reason(f"`{step.id}` is null when its handler without `result` runs", handler.node)
            return Type("null", why=(reason,)), end
        self.expressions.dead += end is None
        self.expressions.may_fault = False
        inner = Env(scope, names, end if end is not None else scope.facts)
        if not is_broken(handler.result) and raw.kind != "never":
            wanted = raw if step.kind == "action" else widened(raw)
            self.values.check(handler.result, wanted, inner, "the handler's `result`")
        type_ = self.values.infer(handler.result, inner)
        self.expressions.dead -= end is None
        if self.expressions.may_fault:
            self.escapes.note_fault(handler, inner.facts)
        return bounded(type_), end

    def _attached(self, step: Step, raw: Type, env: Env) -> None:
        """What hangs on an action: its key, ``reconcile`` and ``undo``; the latter two are not part of the step."""
        if step.kind == "action" and "idempotency_key" in step.keys:
            self.string(step.keys["idempotency_key"].value, env, "`idempotency_key`")
            step.may_fault = step.may_fault or self.expressions.may_fault
        if step.reconcile is not None:
            self._reconcile(step, raw, env)
        if step.undo is not None:
            own = {step.id: Binding(step.id, raw, step.id_node, step)}
            call_arguments(self, step.undo.arguments, step.undo, env.child(own))

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
            inner = self.condition(part.outcome, inner)[0] or inner
        if part.result is not None and not is_broken(part.result):
            wanted = raw if step.call is not None and step.call.action is not None else ANY
            self.values.check(part.result, wanted, inner, "the reconciled `result`")
        self.names.reconciling = None

    def string(self, node: Node, env: Env, what: str) -> None:
        if isinstance(node, Scalar) and not is_broken(node):
            self.values.check(node, STRING, env, what)

    def _unknown_name(self, expr: Name, site: Site, env: Env) -> Type:
        return self.names.unknown(expr, site, env, self.problems)

    def _body(self, step: Step, env: Env) -> tuple[Type, Facts | None]:
        """The binding of a step that succeeds, and the facts after it."""
        handler = BODIES.get(step.kind)
        if handler is None:
            return ANY, env.facts
        return handler(self, step, env)


def _in_other_state(source: Step, step: Step) -> bool:
    """Bindings of another state may be shadowed: an own id counts first."""
    return _state_of(source) is not _state_of(step)


def _state_of(step: Step) -> State | None:
    owner = step.parent.owner
    while isinstance(owner, Step):
        owner = owner.parent.owner
    return owner if isinstance(owner, State) else None
