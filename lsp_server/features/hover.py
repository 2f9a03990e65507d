"""Hover: what stands here, what it does, its type and why that may be null, and what a crash at a step leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.expressions.ast import Binary, Expr, Filter, Interpolation, Literal, Member, Name, Unary
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.parser import parse_template
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Env
from analyzer.expressions.types import Type, describe
from analyzer.expressions.walk import children
from analyzer.flow.redo import members
from analyzer.language.durations import in_words, parse_duration
from analyzer.language.vocabulary import CONSTRUCTS, VALUE_KINDS, KeySpec
from analyzer.model.nodes import Call, InputDecl, Step
from analyzer.syntax.nodes import Node, Scalar
from analyzer.workspace.manifests import ActionDecl, TriggerDecl
from lsp_server.nodes import Crumb, key_text, trail
from lsp_server.occurrences import members_of, names_in, step_groups
from lsp_server.scopes import Scopes
from lsp_server.shapes import Shape, Shapes, description_of, inputs_type, property_schema
from lsp_server.snapshot import Snapshot, Span

_RUN_WORDS: Final = {
    "run": "The run itself: `run.id`, `run.workflow`, `run.started_at`.",
    "inputs": "The run's inputs, fixed when it is started.",
    "trigger": "The payload of the event that started the run.",
    "error": "The failure that this handler takes: `code`, `message`, `details` and the `step` that failed.",
    "index": "The number of the iteration, from 0.",
}
_UNKNOWN: Final = {
    "abort": "`on_unknown: abort` ends the run as aborted.",
    "fail": "`on_unknown: fail` makes it a failure that is not retried.",
    "reconcile": "`on_unknown: reconcile` finds out by its probes what happened.",
    "halt": "`on_unknown: halt` holds the run until an operator decides.",
}


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a span; ``word`` is the word of the language that it is about, if it has a page."""

    markdown: str
    span: Span
    word: str | None = None


def hover(snapshot: Snapshot, offset: int) -> Hover | None:
    """What is known of the place; None when nothing is."""
    crumbs = trail(snapshot.tree.root, offset)
    if not crumbs:
        return None
    last = crumbs[-1].node
    if isinstance(last, Scalar) and "{{" in last.text and not crumbs[-1].on_key:
        found = _expression(snapshot, last, offset)
        if found is not None:
            return found
    if len(crumbs) < 2:
        return None
    shapes = Shapes(snapshot.kind, snapshot.workflow).along(crumbs)
    holder = crumbs[-2]
    if holder.entry is None:
        return None
    if holder.on_key:
        text = _key(snapshot, shapes[-2], holder)
        word = key_text(holder.entry) if shapes[-2].kind in ("keys", "body") and snapshot.kind == "workflow" else None
        return None if text is None else Hover(text, (holder.entry.key.start, holder.entry.key.end), word)
    text = _value(snapshot, shapes[-1], last)
    return None if text is None else Hover(text, (last.start, last.end))


# ---- keys ----------------------------------------------------------------------------------------


def _key(snapshot: Snapshot, shape: Shape, crumb: Crumb) -> str | None:
    name = key_text(crumb.entry)
    step = shape.step
    if shape.kind == "step" and crumb.entry is not None:
        found = Shapes(snapshot.kind, snapshot.workflow).step(crumb.entry)
        return None if found is None else step_text(snapshot, found)
    if shape.kind == "body" and step is not None and crumb.entry is step.subject:
        if step.call is not None:
            return call_text(step.call)
        construct = CONSTRUCTS.get(name)
        return None if construct is None else f"**`{name}`**: {construct.doc}"
    if shape.kind == "call" and step is not None and step.undo is not None and "." in name:
        return call_text(step.undo)
    if shape.kind == "typed" and shape.type is not None:
        return _field_text(shape.type, shape.schema, name)
    if shape.kind == "names":
        return _name_text(snapshot, shape, name)
    spec = _spec_of(shape, name)
    return None if spec is None else spec_text(spec)


def _spec_of(shape: Shape, name: str) -> KeySpec | None:
    from analyzer.language.vocabulary import ALLOWED_KEYS

    if shape.kind == "body":
        kind = shape.step.kind if shape.step is not None and shape.step.kind else "action"
        return ALLOWED_KEYS.get(kind, {}).get(name)
    return shape.table.get(name) if shape.table is not None else None


def spec_text(spec: KeySpec) -> str:
    """A key of the vocabulary in words."""
    facts = [f"**`{spec.name}`**: {spec.doc}"]
    if spec.values:
        facts.append("One of " + ", ".join(f"`{value}`" for value in spec.values) + ".")
    elif spec.kind in VALUE_KINDS and spec.kind not in ("any", "map", "list"):
        facts.append(f"Takes {VALUE_KINDS[spec.kind]}.")
    if spec.required:
        facts.append("Required.")
    if spec.default is not None:
        facts.append(f"Default: `{spec.default}`.")
    return facts[0] + ("\n\n" + " ".join(facts[1:]) if len(facts) > 1 else "")


def _field_text(type_: Type, schema: object, name: str) -> str | None:
    field = type_.fields.get(name)
    if field is None:
        return None
    optional = ", optional" if field.optional else ""
    doc = description_of(property_schema(schema, name))
    return f"**`{name}`**: `{describe(field.type)}`{optional}" + (f"\n\n{doc}" if doc else "")


def _name_text(snapshot: Snapshot, shape: Shape, name: str) -> str | None:
    workflow = snapshot.workflow
    if shape.what == "input" and workflow is not None:
        decl = workflow.inputs.get(name.removesuffix("?"))
        return None if decl is None else _input_text(decl)
    if shape.what == "state" and workflow is not None and name in (workflow.states or {}):
        state = (workflow.states or {})[name]
        ends = "The run succeeds after its steps." if state.final else f"{len(state.routes)} routes lead on from it."
        return f"**state `{name}`**: {ends}"
    if shape.what == "connector" and workflow is not None:
        result = snapshot.project.connector(workflow.path, name, None)
        manifest = result.manifest
        if manifest is not None:
            return f"**connector `{name}`** {manifest.version or ''}\n\n{manifest.doc or ''}".strip()
    return None


def _input_text(decl: InputDecl) -> str:
    return f"**input `{decl.name}`**: `{describe(decl.type)}`{', optional' if decl.optional else ''}"


# ---- steps ---------------------------------------------------------------------------------------


def step_text(snapshot: Snapshot, step: Step) -> str:
    """What a step does and binds, whether it can be repeated, and what a crash there leads to."""
    parts = [f"**`{step.path}`**: {_doing(step)}"]
    if step.binding is not None and step.kind not in ("wf.fail", "wf.stop"):
        line = f"Binds `{describe(step.binding)}`."
        parts.append(line + _because(step.binding))
    if step.call is not None and step.call.action is not None:
        parts.append(crash_text(step, step.call.action))
    parts += redo_texts(snapshot, step)
    return "\n\n".join(parts)


def _doing(step: Step) -> str:
    if step.call is not None:
        action = step.call.action
        doc = f" {action.doc}" if action is not None and action.doc else ""
        return f"calls `{step.call.reference}`{_claims(action)}.{doc}"
    construct = CONSTRUCTS.get(step.kind)
    return f"`{step.kind}`. {construct.doc}" if construct is not None else "a step without a known subject."


def _claims(action: ActionDecl | None) -> str:
    return "" if action is None else f", a {action.effect}, idempotency `{action.idempotency}`"


def crash_text(step: Step, action: ActionDecl) -> str:
    """What it leads to when the executor dies after the call has left and before its answer is recorded."""
    start = "A crash between the call and its answer: "
    if action.effect == "read":
        return start + "the read is made again, as part of the same attempt."
    if step.on_unknown is not None:
        return f"{start}it is not known whether the effect took place. {_UNKNOWN.get(step.on_unknown, '')}".rstrip()
    if action.idempotency in ("inherent", "keyed"):
        how = "under the same key" if action.idempotency == "keyed" else "with the same arguments"
        return f"{start}the action is sent again {how}, three times at most; then the run is held."
    return f"{start}it is not known whether the effect took place, and the run is aborted. `on_unknown` changes that."


def redo_texts(snapshot: Snapshot, step: Step) -> list[str]:
    """In which redo sets a step is, and whether it may run twice."""
    found: list[str] = []
    for scope in snapshot.redo_in((step.id_node.start, step.id_node.end)):
        if step not in members(scope):
            continue
        where = f"of `{scope.path}`" if scope.path else "of the workflow"
        line = f"Redone by the recovery {where} (`{scope.recovery.redo}`)"
        if any(each.step is step for each in scope.unsafe):
            line += ": **not safe**, it would take effect twice."
        elif step.undo is not None:
            line += f", after its undo `{step.undo.reference}`."
        elif step.call is not None and step.call.action is not None:
            line += (
                f": safe, it is `{step.call.action.idempotency}`." if step.call.action.effect == "write" else ": safe."
            )
        else:
            line += "."
        found.append(line)
    return found


# ---- actions and triggers ------------------------------------------------------------------------


def call_text(call: Call) -> str:
    """An action as its manifest declares it."""
    action = call.action
    if action is None:
        return f"**`{call.reference}`**: there is no such action."
    return action_text(call.reference, action)


def action_text(reference: str, action: ActionDecl) -> str:
    """An action: effect, idempotency, arguments, result, failures."""
    parts = [f"**`{reference}`**: a {action.effect}, idempotency `{action.idempotency}`"]
    if action.doc:
        parts.append(action.doc)
    parts.append(_fields("Arguments", action.input))
    parts.append(f"Result: `{describe(action.output)}`" if action.output is not None else "Result: none (null)")
    if action.errors:
        codes = (f"`{code}`{' (retryable)' if retryable else ''}" for code, retryable in action.errors.items())
        parts.append("Failures: " + ", ".join(codes))
    return "\n\n".join(part for part in parts if part)


def trigger_text(reference: str, trigger: TriggerDecl) -> str:
    """A trigger: source, correlation fields, payload."""
    parts = [f"**`{reference}`**: a trigger, source `{trigger.source}`"]
    if trigger.doc:
        parts.append(trigger.doc)
    if trigger.correlate_on:
        parts.append("Correlates on " + ", ".join(f"`{name}`" for name in trigger.correlate_on) + ".")
    parts.append(_fields("Configuration", trigger.configuration))
    parts.append(f"Payload: `{describe(trigger.payload)}`")
    return "\n\n".join(part for part in parts if part)


def _fields(title: str, type_: Type) -> str:
    lines = [
        f"- `{name}`{'?' if each.optional else ''}: `{describe(each.type)}`" for name, each in type_.fields.items()
    ]
    return "" if not lines else f"{title}:\n" + "\n".join(lines)


# ---- values --------------------------------------------------------------------------------------


def _value(snapshot: Snapshot, shape: Shape, node: Node) -> str | None:
    if not isinstance(node, Scalar):
        return None
    spec = shape.spec
    if spec is not None and spec.kind == "reference" and shape.step is not None and shape.step.trigger is not None:
        return trigger_text(node.text, shape.step.trigger)
    if spec is not None and spec.name == "source" and snapshot.workflow is not None:
        trigger = snapshot.workflow.trigger
        return None if trigger is None else trigger_text(node.text, trigger)
    if shape.step is not None and shape.step.kind == "wf.call" and shape.step.subject is not None:
        callee = shape.step.callee
        if shape.step.subject.value is node and callee is not None:
            inputs = inputs_type(callee)
            result = describe(callee.result_type) if callee.result_type is not None else "any"
            parts = [f"**workflow `{callee.name}`**", "" if inputs is None else _fields("Inputs", inputs)]
            return "\n\n".join(part for part in (*parts, f"Result: `{result}`") if part)
    if (spec is not None and "duration" in spec.kind) or (spec is not None and "timeout" in spec.kind):
        us = parse_duration(node.text)
        return None if us is None else f"`{node.text}`: {in_words(us)}"
    if spec is not None and spec.values and node.text in spec.values:
        return spec_text(spec)
    return None


# ---- expressions ---------------------------------------------------------------------------------


def _expression(snapshot: Snapshot, scalar: Scalar, offset: int) -> Hover | None:
    scopes = snapshot.scopes
    env = None if scopes is None else scopes.of_scalar(scalar)
    if scopes is None or env is None:
        return None
    site = Site(snapshot.source, scalar)
    template = parse_template(scalar.text)
    for part in template.interpolations:
        start, end = site.span(part.start, part.end)
        if start <= offset <= end:
            return _in_interpolation(snapshot, scopes, env, site, part, offset)
    if template.whole or template.problems or not template.interpolations:
        return None
    count = len(template.interpolations)
    values = "the value of its interpolation" if count == 1 else f"the values of its {count} interpolations"
    return Hover(f"`string`: this text with {values} put in. One that is null is a fault.", (scalar.start, scalar.end))


def _in_interpolation(
    snapshot: Snapshot, scopes: Scopes, env: Env, site: Site, part: Interpolation, offset: int
) -> Hover | None:
    expr = smallest(part.expr, site, offset)
    if isinstance(expr, Filter):
        name = site.span(expr.name_start, expr.name_end)
        known = FILTERS.get(expr.name)
        if name[0] <= offset <= name[1] and known is not None:
            type_ = describe(scopes.type_of(expr, scopes.env_inside(part.expr, expr, env)))
            text = f"**`| {known.signature}`**: {known.doc}\n\nExample: `{known.example}`\n\nGives `{type_}` here."
            return Hover(text, name)
    if isinstance(expr, Literal):
        return None
    inner = scopes.env_inside(part.expr, expr, env)
    type_found = scopes.type_of(expr, inner)
    place = site.span(expr.start, expr.end)
    written = snapshot.text[place[0] : place[1]]
    lines = [f"`{' '.join(written.split())}`: `{describe(type_found)}`" + _because(type_found)]
    if isinstance(expr, Name) and expr.name in _RUN_WORDS:
        lines.append(_RUN_WORDS[expr.name])
    if isinstance(expr, Name | Member):
        lines += _origin(snapshot, part, env, site, offset)
    span = site.span(expr.name_start, expr.name_end) if isinstance(expr, Member) else place
    return Hover("\n\n".join(lines), span)


def _origin(snapshot: Snapshot, part: Interpolation, env: Env, site: Site, offset: int) -> list[str]:
    """The step that binds what is read here."""
    workflow, scopes = snapshot.workflow, snapshot.scopes
    if workflow is None or scopes is None:
        return []
    for first, last, symbol in names_in(part.expr, env, scopes, step_groups(workflow)):
        start, end = site.span(first, last)
        if start <= offset <= end and symbol.kind == "step":
            steps = members_of(workflow, symbol)[:3]
            return [f"Bound by `{s.path}`, which {'' if s.call is not None else 'is '}{_doing(s)}" for s in steps]
    return []


def smallest(root: Expr, site: Site, offset: int) -> Expr:
    """The innermost expression at an offset; of a chain the part that ends with the member there."""
    current = root
    while True:
        below = next((part for part in children(current) if _on(site, part, offset)), None)
        if below is None or (isinstance(current, Binary | Unary) and not _on(site, below, offset)):
            return current
        current = below


def _on(site: Site, expr: Expr, offset: int) -> bool:
    start, end = site.span(expr.start, expr.end)
    return start <= offset <= end


def _because(type_: Type) -> str:
    if not type_.may_be_null or not type_.why:
        return ""
    return "\n\n" + "\n\n".join(f"May be null: {reason.text}." for reason in type_.why)
