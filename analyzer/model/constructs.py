"""What each kind of step evaluates and binds (language page, section 2, *Constructs*)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from analyzer.expressions.narrowing import meant
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Binding, Env, Facts, all_facts, join_facts, settled
from analyzer.expressions.type_changes import bounded
from analyzer.expressions.types import (
    ANY,
    DURATION,
    INTEGER,
    MAX_WAYS,
    NEVER,
    NULL,
    Field,
    Reason,
    Type,
    can_be_equal,
    constant,
    describe,
    enum_of,
    join_all,
    list_of,
    mismatch,
    record,
)
from analyzer.language.vocabulary import WAIT_STATUSES
from analyzer.model.nodes import Call, Step, StepList
from analyzer.model.reading import is_template, rename_fix
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken

if TYPE_CHECKING:
    from analyzer.model.typing import WorkflowTyper
    from analyzer.workspace.manifests import TriggerDecl

#: The binding of a step that succeeds, and the facts after it (None when it always ends the run).
Body: TypeAlias = "tuple[Type, Facts | None]"
#: A branch: its list, the names that it binds, the facts at its end (None when the way never gets past it).
Branch: TypeAlias = "tuple[StepList, dict[str, Binding], Facts | None]"


def _action(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    call = step.call
    assert call is not None
    call_arguments(typer, call.arguments, call, env)
    if "timeout" in step.keys:
        _moment(typer, step.keys["timeout"].value, env, "`timeout`", timestamps=False)
    step.may_fail = True
    if call.action is None:
        return ANY, env.facts
    if call.action.output is None:
        reason = Reason(f"`{call.reference}` declares no output", typer.workflow.path, call.entry.key)
        return Type("null", why=(reason,)), env.facts
    return call.action.output, env.facts


def trigger_configuration(
    typer: WorkflowTyper, trigger: TriggerDecl | None, entry: Entry | None, key: Node, env: Env
) -> None:
    """Check a trigger's configuration; ``key`` is where a missing one is reported."""
    if trigger is not None:
        what = f"the configuration of `{trigger.name}`"
        node = entry.value if entry is not None else Mapping(key.start, key.start, [])
        typer.values.check_record(node, trigger.configuration, env, entry.key if entry is not None else key, what)
    elif entry is not None:
        typer.values.infer(entry.value, env)


def call_arguments(typer: WorkflowTyper, arguments: Node, call: Call, env: Env) -> None:
    """Check the arguments of an action call, or of an ``undo``."""
    if call.action is None:
        typer.values.infer(arguments, env)
    else:
        typer.values.check_record(arguments, call.action.input, env, call.entry.key, f"`{call.reference}`")


def _moment(typer: WorkflowTyper, node: Node, env: Env, what: str, *, timestamps: bool) -> None:
    """A duration, or a timestamp too: the value of a timeout or a wait."""
    if not isinstance(node, Scalar) or not is_template(node):
        return
    if not _is_whole(typer, node, env, what, "alone"):
        return
    type_ = typer.expressions.scalar_type(node, env)
    allowed = ("duration", "timestamp", "any", "never", "null") if timestamps else ("duration", "any", "never", "null")
    wanted = "a duration or a timestamp" if timestamps else "a duration"
    if any(option.kind not in allowed for option in type_.options or (type_,)):
        typer.expressions.may_fault = True
        typer.problems.report(
            "type-mismatch", node, f"{what[:1].upper()}{what[1:]} needs {wanted}, but this is `{describe(type_)}`."
        )
    elif type_.may_be_null:
        typer.values.report_mismatch(node, mismatch(type_, DURATION), what, node)


def _is_whole(typer: WorkflowTyper, node: Scalar, env: Env, what: str, wanted: str) -> bool:
    """Whether a template is one whole ``{{ }}``; if not, that is reported, and its parts are checked all the same."""
    template = typer.expressions.template(node)
    if template.whole:
        return True
    if template.problems:
        typer.expressions.scalar_type(node, env)
        return False
    site = Site(typer.source, node)
    for part in template.interpolations:
        typer.expressions.infer(part.expr, env, site)
    typer.problems.report(
        "not-whole-value",
        node,
        f"Text around `{{{{ }}}}` makes {what} a string: write one `{{{{ … }}}}` {wanted}.",
    )
    return False


def _wait(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    _moment(typer, step.subject.value, env, "`wf.wait`", timestamps=True)
    step.may_fail = is_template(step.subject.value)
    return NULL, env.facts


def _wait_for(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    typer.names.configuring = step
    trigger = step.trigger
    match = step.keys.get("match")
    if match is not None and isinstance(match.value, Mapping):
        for entry in match.value.entries:
            name = entry.key.value if isinstance(entry.key, Scalar) else None
            declared = trigger.payload.fields.get(name) if trigger is not None and isinstance(name, str) else None
            if declared is None:
                typer.values.infer(entry.value, env)
            else:
                typer.values.check(entry.value, declared.type, env, f"`{name}`")
    trigger_configuration(typer, trigger, step.keys.get("configuration"), step.subject.key, env)
    timeout = step.keys.get("timeout")
    if timeout is not None:
        _moment(typer, timeout.value, env, "`timeout`", timestamps=True)
    typer.names.configuring = None
    names: dict[str, Binding] = {}
    facts: Facts | None = env.facts
    for each in step.lists:
        names, facts = typer.walk_list(each.steps, env)
        names = settled(names, facts)
    parts = [step.keys[key].value for key in ("match", "configuration", "timeout") if key in step.keys]
    step.may_fail = any(map(_has_template, parts)) or any(map(typer.escapes.from_list, step.lists))
    return _wait_binding(typer, step, names) if facts is not None else NEVER, facts


def _wait_binding(typer: WorkflowTyper, step: Step, names: dict[str, Binding]) -> Type:
    payload = step.trigger.payload if step.trigger is not None else ANY
    event = payload.with_null(typer.reason(f"`{step.id}.event` is null when the wait times out", step.id_node))
    fields = {"status": Field(enum_of(WAIT_STATUSES)), "event": Field(event)}
    for name, binding in names.items():
        fields.setdefault(name, Field(binding.type, False, binding.source))
    # In one way the event is there, in the other it is not; the nested steps have run in both.
    nested = {name: binding.type for name, binding in names.items()}
    received, timeout = WAIT_STATUSES
    ways = (
        {**nested, "status": constant(received), "event": payload},
        {**nested, "status": constant(timeout)},
    )
    return Type("object", fields=fields, closed=True, ways=ways)


def _if(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    before = len(typer.problems.items)
    held, failed = typer.condition(step.subject.value, env)
    untold = typer.is_faulty_since(before)
    branches = []
    typer.expressions.dead += untold
    for each in step.lists:
        scope = held if each.role == "then" else failed
        branches.append(_branch(typer, each, scope or env, scope is not None))
    typer.expressions.dead -= untold
    rest = failed if step.list_of("else") is None else None
    return _union(typer, step, branches, None if rest is None else rest.facts)


def _branch(typer: WorkflowTyper, steps: StepList, env: Env, live: bool) -> Branch:
    typer.expressions.dead += not live
    names, end = typer.walk_list(steps.steps, env)
    typer.expressions.dead -= not live
    return steps, settled(names, end), end if live else None


def _union(
    typer: WorkflowTyper,
    step: Step,
    branches: list[Branch],
    rest: Facts | None,
) -> Body:
    """The union of branches; ``rest`` are the facts of the way that takes none of them, if there is one."""
    step.may_fail = typer.expressions.may_fault or any(map(typer.escapes.from_list, step.lists))
    live = [branch for branch in branches if branch[2] is not None]
    told = [branch for branch in live if not _is_untold(branch[0])] or live
    fields: dict[str, Field] = {}
    for _, names, _ in branches:
        for name in names:
            if name not in fields:
                fields[name] = _union_field(typer, step, name, told, branches, rest is not None)
    facts = rest
    for branch in told:
        facts = join_facts(facts, branch[2])
    if not live and rest is None:
        return NEVER, facts
    ways = [{name: binding.type for name, binding in names.items()} for _, names, _ in told]
    if rest is not None:
        ways.append({})
    type_ = Type("object", fields=fields, closed=True, ways=tuple(ways) if 1 < len(ways) <= MAX_WAYS else ())
    return type_, facts


def _is_untold(steps: StepList) -> bool:
    """Whether it is not known how a list ends."""
    return any(step.is_untold and "when" not in step.keys for step in steps.steps)


def _union_field(
    typer: WorkflowTyper,
    step: Step,
    name: str,
    told: list[Branch],
    branches: list[Branch],
    rest: bool,
) -> Field:
    live = [names for _, names, end in branches if end is not None]
    having = [names[name] for names in live if name in names]
    type_ = join_all(binding.type for binding in having)
    source = next(names[name].source for _, names, _ in branches if name in names)
    without = next((steps for steps, names, _ in told if name not in names), None)
    if without is not None:
        key = without.entry.key if without.entry is not None else step.anchor_node
        text = f"`{step.id}.{name}` is null when `{step.id}` takes {_branch_words(without)}"
        return Field(type_.with_null(typer.reason(text, key)), False, source)
    if rest or not having:
        words = f"the condition of `{step.id}` is false" if step.kind == "wf.if" else f"`{step.id}` takes no case"
        if not having:
            words = f"`{step.id}` takes another branch than the one that binds it"
        text = f"`{step.id}.{name}` is null when {words}"
        return Field(type_.with_null(typer.reason(text, step.anchor_node)), False, source)
    return Field(type_ if len(having) == len(live) else ANY, False, source)


def _switch(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    before = len(typer.problems.items)
    node = step.subject.value
    type_ = typer.values.infer(node, env) if isinstance(node, Scalar) and not is_broken(node) else ANY
    expr = None
    if isinstance(node, Scalar) and is_template(node):
        template = typer.expressions.template(node)
        expr = template.interpolations[0].expr if template.whole else None
    rest: Facts | None = env.facts
    branches = []
    for each in step.lists:
        if each.role != "case" or each.entry is None or not isinstance(each.entry.key, Scalar):
            continue
        value = each.entry.key.value
        _check_case(typer, step, each.entry.key, value, type_)
        held: Facts | None = env.facts
        if expr is not None:
            here = None if rest is None else env.with_facts(rest)
            ways = (None, None) if here is None else typer.expressions.cases(expr, value, here)
            held, rest = (typer.evidence(facts, env, before) for facts in ways)
        branches.append(_branch(typer, each, env if held is None else env.with_facts(held), held is not None))
    default = step.list_of("default")
    if default is not None:
        scope = env if rest is None else env.with_facts(rest)
        branches.append(_branch(typer, default, scope, rest is not None))
        rest = None
    return _union(typer, step, branches, rest)


def _check_case(typer: WorkflowTyper, step: Step, key: Scalar, value: object, type_: Type) -> None:
    if not can_be_equal(constant(value), type_) and not typer.expressions.dead and not is_template(key):
        near = meant(constant(value), type_)
        if any(each.role == "case" and each.label == near for each in step.lists):
            near = None  # that case is there
        typer.problems.report(
            "never-true",
            key,
            f"This case is never taken: `{describe(type_)}` never equals `{describe(constant(value))}`."
            + (f" Did you mean `{near}`?" if near is not None else ""),
            fixes=[] if near is None else [rename_fix(key, near)],
        )


def _parallel(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    fields: dict[str, Field] = {}
    ends: list[Facts | None] = []
    tolerant = step.on_branch_fail == "continue"
    for each in step.lists:
        names, end = typer.walk_list(each.steps, env)
        type_ = _scope_type(names, end)
        if tolerant and typer.escapes.from_list(each) and each.entry is not None:
            text = f"`{step.id}.{each.label}` is null when the branch fails, under `on_branch_fail: continue`"
            type_ = type_.with_null(typer.reason(text, each.entry.key))
            end = join_facts(end, typer.escapes.known(each))
        fields.setdefault(each.label, Field(type_))
        ends.append(end)
    facts = all_facts(env.facts, ends)
    step.may_fail = not tolerant and any(map(typer.escapes.from_list, step.lists))
    return record(fields) if facts is not None else NEVER, facts


def _scope_type(names: dict[str, Binding], end: Facts | None) -> Type:
    """What a scope binds: the names of its list, as they are at its end; nothing when that is never reached."""
    if end is None:
        return NEVER
    return record({name: Field(b.type, False, b.source) for name, b in settled(names, end).items()})


def _for_each(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    item = _elements(typer, step, env)
    own_fault = typer.expressions.may_fault
    known = env.lookup(step.loop_name)
    if known is not None and isinstance(known.source, Step) and "as" in step.keys:
        typer.problems.report(
            "shadowed-name",
            step.keys["as"].value,
            f"`{step.loop_name}` is already a name that can be read here: choose another.",
            related=[(known.node, "the other one")] if known.node is not None else (),
        )
    name_node = step.keys["as"].value if "as" in step.keys else None
    scope = env.child({step.loop_name: Binding(step.loop_name, item, name_node), "index": Binding("index", INTEGER)})
    names: dict[str, Binding] = {}
    end: Facts | None = env.facts
    typer.expressions.dead += item.kind == "never"
    for each in step.lists:
        names, end = typer.walk_list(each.steps, scope)
    typer.expressions.dead -= item.kind == "never"
    inner = any(map(typer.escapes.from_list, step.lists))
    element = _scope_type(names, end)
    if step.on_iteration_fail == "continue" and inner:
        text = f"an element of `{step.id}` is null when its iteration fails, under `on_iteration_fail: continue`"
        element = element.with_null(typer.reason(text, step.anchor_node))
        for each in step.lists:
            end = join_facts(end, typer.escapes.known(each))
        inner = False
    step.may_fail = own_fault or inner
    # Only of a list that stands there is it known that there is an iteration.
    literal = isinstance(step.subject.value, Sequence) and bool(step.subject.value.items)
    return list_of(element), end if literal else env.facts


def _elements(typer: WorkflowTyper, step: Step, env: Env) -> Type:
    """The type of a loop's elements."""
    assert step.subject is not None
    node = step.subject.value
    if isinstance(node, Sequence):
        return typer.values.infer(node, env).item or ANY
    if not isinstance(node, Scalar) or not is_template(node) or node.broken:
        return ANY
    if not _is_whole(typer, node, env, "this", "that gives a list"):
        return ANY
    type_ = typer.expressions.scalar_type(node, env)
    if type_.kind == "any":
        typer.expressions.may_fault = True
        return ANY
    plain = type_.not_null()
    if plain.kind not in ("list", "never"):
        typer.expressions.may_fault = True
        typer.problems.report(
            "type-mismatch", node, f"`wf.for_each` goes over a list, but this is `{describe(type_)}`."
        )
        return ANY
    if type_.may_be_null:
        typer.values.report_mismatch(node, mismatch(type_, list_of(ANY)), "the list", node)
    return plain.item or ANY


def _group(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    names: dict[str, Binding] = {}
    facts: Facts | None = env.facts
    for each in step.lists:
        names, facts = typer.walk_list(each.steps, env)
    step.may_fail = any(map(typer.escapes.from_list, step.lists))
    return _scope_type(names, facts), facts


def _call_workflow(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    entry = step.keys.get("inputs")
    callee = step.callee
    if callee is None:
        if entry is not None:
            typer.values.infer(entry.value, env)
    else:
        wanted = record({name: Field(decl.type, decl.optional) for name, decl in callee.inputs.items()})
        node = entry.value if entry is not None else Mapping(step.subject.key.start, step.subject.key.start, [])
        typer.values.check_record(node, wanted, env, step.subject.key, f"`{callee.name}`")
    if "timeout" in step.keys:
        _moment(typer, step.keys["timeout"].value, env, "`timeout`", timestamps=False)
    step.may_fail = True
    return (callee.result_type if callee is not None else None) or ANY, env.facts


def _let(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    type_ = bounded(typer.values.infer(step.subject.value, env))
    step.may_fail = typer.expressions.may_fault
    return type_, env.facts


def _fail(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    for name, entry in _string_entries(step.subject.value):
        if name in ("code", "message"):
            typer.string(entry.value, env, f"`{name}`")
        else:
            typer.values.infer(entry.value, env)
    step.may_fail = typer.expressions.may_fault
    return NEVER, None


def _stop(typer: WorkflowTyper, step: Step, env: Env) -> Body:
    assert step.subject is not None
    result: Type = NULL
    for name, entry in _string_entries(step.subject.value):
        if name == "reason":
            typer.string(entry.value, env, "`reason`")
        else:
            type_ = typer.values.infer(entry.value, env)
            result = type_ if name == "result" else result
    typer.stop_types.append(result)
    step.may_fail = typer.expressions.may_fault
    return NEVER, None


BODIES: Final[dict[str, Callable[[WorkflowTyper, Step, Env], Body]]] = {
    "action": _action,
    "wf.wait": _wait,
    "wf.wait_for": _wait_for,
    "wf.if": _if,
    "wf.switch": _switch,
    "wf.parallel": _parallel,
    "wf.for_each": _for_each,
    "wf.group": _group,
    "wf.call": _call_workflow,
    "wf.let": _let,
    "wf.fail": _fail,
    "wf.stop": _stop,
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


def _branch_words(steps: StepList) -> str:
    if steps.role == "case":
        return f"the case `{steps.label}`"
    return f"its `{steps.role}` branch"
