"""``redo-unsafe`` and ``redo-may-hold``: one path in words, and the repairs."""

from __future__ import annotations

from typing import Final

from analyzer.expressions.types import mismatch
from analyzer.flow.analysis import Flow
from analyzer.flow.facts import Failed, Failure, may_take_effect_and_fail
from analyzer.flow.redo import RedoneAction, ScopeRedo, narrower
from analyzer.flow.scopes import place_of
from analyzer.model.edits import add_entry
from analyzer.model.nodes import State, Step, Workflow
from analyzer.model.problems import EditDraft, FixDraft, Place, Problems
from analyzer.syntax.nodes import Mapping, Node
from analyzer.syntax.source import Source

#: More pairs of an action and a failure than this are not searched for the failure that reads best.
MAX_PAIRS: Final = 200_000
MAX_CAUSES: Final = 64
_SPREADING: Final = frozenset({"wf.parallel", "wf.for_each"})


def report_unsafe(scope: ScopeRedo, flow: Flow, problems: Problems, source: Source | None) -> None:
    """Report every action that the scope may repeat although it must not be."""
    if not scope.unsafe:
        return
    search = len(scope.unsafe) * len(scope.failures) <= MAX_PAIRS
    narrow = _narrow_fix(scope)
    for each in scope.unsafe:
        failure = _best_failure(scope, each) if search else each.failure
        again = _again(scope, each, flow.workflow)
        carries = "is `idempotency: none` and has no `undo`"
        fixes = [fix for fix in (narrow, _undo_fix(each, flow.workflow, source)) if fix is not None]
        problems.report(
            "redo-unsafe",
            scope.recovery.entry.key,
            f"{_success(each, failure, flow.workflow)} → {_failure_words(failure, each.bit)} → {again}: it "
            f"{carries}. Give it an `undo`, use a `keyed` or `inherent` action, or redo less.",
            related=[
                (_place(each.step.anchor_node, each.home, flow.workflow), "the action that would be repeated"),
                (_failed_node(failure.step), "its failure brings the redo about"),
            ],
            fixes=fixes,
        )


def report_may_hold(scope: ScopeRedo, flow: Flow, problems: Problems) -> None:
    """Report actions whose earlier attempt may have taken effect without a success; unsafe ones say more already."""
    said = {each.step for each in scope.unsafe}
    for each in scope.may_hold:
        if each.step in said:
            continue
        step = each.step
        why = "an answer that breaks its output is a failure whose effect has happened"
        if step.on_unknown == "fail":
            why = "an ambiguous attempt counts as failed under `on_unknown: fail`"
        elif not may_take_effect_and_fail(step):
            ending = "a timer may elapse"
            if each.home is not flow.workflow:
                ending = "the called run may be aborted or cancelled"
            why = f"{ending} while it is not known what its attempt did"
        problems.report(
            "redo-may-hold",
            scope.recovery.entry.key,
            f"A redo here may have to send {_name(each, flow.workflow)} again although it may have taken effect: "
            f"{why}, and it is `idempotency: none`. The run is then held for an operator, reason `reissue`.",
            related=[(_place(step.anchor_node, each.home, flow.workflow), "the action that may have taken effect")],
        )


# ---- one path in words -------------------------------------------------------------------------


def _best_failure(scope: ScopeRedo, action: RedoneAction) -> Failure:
    """A failure that reads best: of a step behind the action if there is one, the first of those."""
    found = [each.failure for each in scope.failures if each.found & action.bit]
    behind = [failure for failure in found if failure.step.entry.key.start > action.step.entry.key.start]
    return (behind or found)[0]


def _success(action: RedoneAction, failure: Failure, workflow: Workflow) -> str:
    name = f"{_name(action, workflow)} succeeds"
    if action.home is not workflow or not isinstance(failure.step, Step):
        return name
    mine = place_of(action.step)
    if not any(isinstance(around, Step) and around.kind in _SPREADING for _, around in mine):
        return name
    theirs = dict(place_of(failure.step))
    for place, around in mine:
        if place in theirs:
            break
        if isinstance(around, Step) and around.kind == "wf.parallel" and any(each in theirs for each in around.lists):
            return f"{name} in the branch `{place.label}`"
    if failure.step.entry.key.start <= action.step.entry.key.start:
        for place, around in mine:
            if place in theirs and isinstance(around, Step) and around.kind == "wf.for_each":
                return f"{name} in {'another' if around.concurrency > 1 else 'an earlier'} iteration of `{around.id}`"
    return name


def _failure_words(failure: Failure, bit: int) -> str:
    """How the failure comes about, the innermost cause that has the success behind it first."""
    words: list[str] = []
    current: Failure | None = failure
    while current is not None and len(words) < MAX_CAUSES:
        words.append(_one_failure(current))
        current = next((cause for cause in current.causes if cause.executed & bit), None)
    words = list(dict.fromkeys(reversed(words)))
    if len(words) > 3:
        words = [words[0], "…", words[-1]]
    return " → ".join(words)


def _one_failure(failure: Failure) -> str:
    step = failure.step
    if isinstance(step, State):
        if failure.how != "route":
            return f"the state `{step.name}` fails, its recovery spent"
        if any(route.when is None for route in step.routes):
            return f"an expression in a route of the state `{step.name}` faults"
        return f"the state `{step.name}` finds no route"
    name = f"`{step.path}`"
    if failure.how == "fault":
        return f"an expression of {name} faults"
    if failure.how == "handler":
        return f"{name} fails in its handler"
    if failure.how == "limit":
        return f"{name} fails, its recovery spent"
    if step.retry is not None and step.retry.attempts > 1:
        return f"{name} fails after its retries"
    return f"{name} fails"


def _again(scope: ScopeRedo, action: RedoneAction, workflow: Workflow) -> str:
    where = f"of `{scope.path}` " if scope.path else ""
    return f"`{scope.recovery.redo}` {where}runs {_name(action, workflow)} again"


def _name(action: RedoneAction, workflow: Workflow) -> str:
    if action.home is workflow:
        return f"`{action.step.path}`"
    home = f"`{action.home.name}`" if action.home.name else "the called workflow"
    return f"`{action.step.path}` of {home}"


def _place(node: Node, home: Workflow, workflow: Workflow) -> Node | Place:
    return node if home is workflow else Place(node.start, node.end, home.path)


def _failed_node(failed: Failed) -> Node:
    return failed.entry.key if isinstance(failed, State) else failed.anchor_node


# ---- repairs -----------------------------------------------------------------------------------


def _narrow_fix(scope: ScopeRedo) -> FixDraft | None:
    """Redo less, when nothing unsafe is then repeated and ``redo`` is written there."""
    value = scope.recovery.entry.value
    redo = value.get("redo") if isinstance(value, Mapping) else None
    wanted = narrower(scope)
    if redo is None or wanted is None or redo.origin is not None:
        return None
    return FixDraft(f"Redo `{wanted}` only", "unsafe", (EditDraft(redo.start, redo.end, wanted),))


def _undo_fix(action: RedoneAction, workflow: Workflow, source: Source | None) -> FixDraft | None:
    """An undo by the one action of the same connector whose required arguments the result provides."""
    step = action.step
    body = step.entry.value
    if source is None or action.home is not workflow or not isinstance(body, Mapping) or not body.entries:
        return None
    call = step.call
    if call is None or call.action is None or call.manifest is None or call.action.output is None or body.origin:
        return None
    found: list[tuple[bool, str, list[str]]] = []
    for name, other in call.manifest.actions.items():
        wanted = [key for key, field in other.input.fields.items() if not field.optional]
        if name == call.name or other.effect != "write" or not wanted:
            continue
        given = call.action.output.fields
        if all(
            key in given and not given[key].optional and mismatch(given[key].type, other.input.fields[key].type) is None
            for key in wanted
        ):
            found.append((other.idempotency == "none", name, wanted))
    safe = [each for each in found if not each[0]] or found
    if len(safe) != 1:
        return None
    _, name, wanted = safe[0]
    arguments = ", ".join(f'{key}: "{{{{ {step.id}.{key} }}}}"' for key in wanted)
    reference = f"{call.connector}.{name}"
    text = f"undo: {{ {reference}: {{ {arguments} }} }}"
    return FixDraft(
        f"Undo `{step.id}` with `{reference}`", "unsafe", (add_entry(source, body, body.entries[-1], text),)
    )
