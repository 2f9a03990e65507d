"""The rules of ``document.control``, and those of ``document.durable`` that need the flow (rules page)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from analyzer.findings import MAX_FINDINGS
from analyzer.flow.analysis import Flow, analyse
from analyzer.flow.facts import carries_undo, is_write
from analyzer.flow.machine import may_find_no_route
from analyzer.flow.redo import ScopeRedo, needed_undos, redo_of
from analyzer.flow.scopes import enclosing_scope, scope_words
from analyzer.flow.unsafe import report_may_hold, report_unsafe
from analyzer.model.nodes import Owner, Recovery, State, Step, Workflow, all_steps, walk_steps
from analyzer.model.problems import EditDraft, FixDraft, Place, Problems
from analyzer.model.reading import listed
from analyzer.syntax.nodes import Node
from analyzer.syntax.source import Source

#: The Workfiles that call a Workfile.
Callers: TypeAlias = Callable[[Workflow], Sequence[Workflow]]

MAX_CALLERS: Final = 200
STORM_US: Final = 1_000_000
STORM_FAILURES: Final = 3


def check_control(
    workflow: Workflow, problems: Problems, source: Source | None = None, callers: Callers | None = None
) -> None:
    """Report what is wrong with the control flow of a resolved and typed Workfile.

    ``source`` is needed for fixes that insert text. ``callers`` is asked only about a Workfile with an ``undo`` that
    its own scopes never need: a caller's recovery may.
    """
    flow = analyse(workflow)
    scopes = redo_of(flow)
    _escalation(workflow, problems)
    for scope in scopes:
        if len(problems.items) < MAX_FINDINGS:  # scopes come in document order, and a file's findings are cut there
            report_unsafe(scope, flow, problems, source)
            report_may_hold(scope, flow, problems)
        _recovery(scope, problems)
    _undo(flow, scopes, problems, callers)
    _dead_steps(flow, problems)
    _handlers_and_retries(flow, problems, source)
    if workflow.states is not None:
        _states(flow, problems, source)


def recoveries(workflow: Workflow) -> list[Recovery]:
    """Every recovery of a Workfile, in document order."""
    found = [] if workflow.recovery is None else [workflow.recovery]
    owners: list[Owner] = [*(workflow.states or {}).values(), *all_steps(workflow)]
    found += [owner.recovery for owner in owners if owner.recovery is not None]
    return sorted(found, key=lambda recovery: recovery.entry.key.start)


def _escalation(workflow: Workflow, problems: Problems) -> None:
    for recovery in recoveries(workflow):
        if recovery.then != "escalate" or recovery.then_node is None or enclosing_scope(recovery, workflow) is not None:
            continue
        problems.report(
            "escalate-unscoped",
            recovery.then_node,
            f"{scope_words(recovery.owner)} has no recovery scope around it that `escalate` could go to: "
            "write `hold` or `fail`, or put `recovery` on something around it.",
        )


def _recovery(scope: ScopeRedo, problems: Problems) -> None:
    recovery = scope.recovery
    if not scope.failures:
        if _has_steps(scope.owner):
            problems.report(
                "recovery-unreachable",
                recovery.entry.key,
                f"No failure can reach the recovery of {scope_words(scope.owner, start=False)}: nothing there fails "
                "(bounds of evaluation aside), or each failure is consumed before it. Remove it, or let through the "
                "failures that it is meant for.",
            )
        return
    count = recovery.failures
    if count is not None and count >= STORM_FAILURES and count * recovery.delay_us < STORM_US:
        wait = "no delay" if recovery.delay_us == 0 else "delays that add up to under a second"
        problems.report(
            "recovery-storm",
            recovery.entry.key,
            f"This recovery starts again {count} times with {wait}, and is spent before anything outside can have "
            "changed: give it a `delay`.",
        )


def _has_steps(owner: Owner) -> bool:
    if isinstance(owner, Workflow):
        return any(each.steps for each in owner.top_lists)
    return any(each.steps for each in owner.lists)


# ---- undo --------------------------------------------------------------------------------------


def _undo(flow: Flow, scopes: list[ScopeRedo], problems: Problems, callers: Callers | None) -> None:
    carrying = [step for step in flow.live_steps() if carries_undo(step)]
    if not carrying:
        return
    needed = needed_undos(scopes)
    if callers is not None and any(step not in needed for step in carrying):
        needed |= _needed_by_callers(flow.workflow, callers)
    for step in carrying:
        assert step.undo_entry is not None
        if step not in needed:
            problems.report(
                "undo-unreachable",
                step.undo_entry.key,
                f"No recovery ever redoes `{step.id}` after it has succeeded, so this `undo` never runs: remove it, or "
                "put a recovery scope around the steps that it belongs to.",
                tags=("unreachable",),
            )
        elif step.undo is not None and step.undo.action is not None and step.undo.action.idempotency == "none":
            problems.report(
                "undo-may-hold",
                step.undo_entry.key,
                f"`{step.undo.reference}` is neither `inherent` nor `keyed`: a crash while it runs holds the run for "
                "an operator. If there is one, undo with an action that may be sent again.",
            )


def _needed_by_callers(workflow: Workflow, callers: Callers) -> set[Step]:
    """What the recoveries of all callers, and of theirs, may have to undo."""
    found: set[Step] = set()
    seen = {workflow: None}
    pending = [workflow]
    while pending and len(seen) <= MAX_CALLERS:
        for caller in callers(pending.pop()):
            if caller not in seen:
                seen[caller] = None
                pending.append(caller)
                found |= needed_undos(redo_of(analyse(caller)))
    return found


# ---- steps -------------------------------------------------------------------------------------


def _dead_steps(flow: Flow, problems: Problems) -> None:
    for step, before in flow.unreachable:
        problems.report(
            "unreachable-step",
            step.anchor_node,
            f"`{step.id}` never runs, because nothing gets past `{before.id}`, which always ends the run: guard "
            f"`{before.id}`, move it to the end, or remove what follows it.",
            related=[(before.anchor_node, "nothing gets past this step")],
            tags=("unreachable",),
        )


def _handlers_and_retries(flow: Flow, problems: Problems, source: Source | None) -> None:
    for step in flow.live_steps():
        if len(step.handlers) > 1:
            _dead_handlers(step, problems, source)
        if step.retry is not None and not _retry_used(step):
            action = step.call.reference if step.call is not None else step.id
            named = " and named in `on`" if step.retry.on is not None else ""
            problems.report(
                "retry-never-used",
                step.retry.entry.key,
                f"No declared error of `{action}` is retryable{named}, so it is never tried again: remove `retry`.",
                tags=("unused",),
            )


def _dead_handlers(step: Step, problems: Problems, source: Source | None) -> None:
    taken: dict[str, int] = {}
    everything: int | None = None
    for position, handler in enumerate(step.handlers):
        codes = None if handler.codes is None else [code.text for code in handler.codes]
        if everything is not None:
            _report_handler(step, position, everything, "takes every failure", problems, source)
        elif codes and all(code in taken for code in codes):
            _report_handler(step, position, taken[codes[0]], "takes its codes already", problems, source)
        if codes is None:
            everything = position if everything is None else everything
        else:
            for code in codes:
                taken.setdefault(code, position)


def _report_handler(
    step: Step, position: int, before: int, why: str, problems: Problems, source: Source | None
) -> None:
    problems.report(
        "catch-unreachable",
        step.handlers[position].node,
        f"This handler never runs: the one before it {why}. Move it in front, or remove it.",
        related=[(step.handlers[before].node, f"this handler {why}")],
        fixes=_without_handler(step, position, source),
        tags=("unreachable",),
    )


def _without_handler(step: Step, position: int, source: Source | None) -> list[FixDraft]:
    """Remove a handler, from the end of the one before it: there is one, which makes it unreachable.

    Of a block list the lines go, so that each handler keeps, or loses, the comments at its own.
    """
    before, handler = step.handlers[position - 1].node, step.handlers[position].node
    if position == 0 or before.end > handler.start:
        return []
    start, end = before.end, handler.end
    if source is not None:
        line = source.line_start(source.line_of(handler.start))
        if source.text[line : handler.start].strip() == "-" and before.end <= line:
            start = source.line_end(source.line_of(max(before.end - 1, before.start)))
            end = max(end, source.line_end(source.line_of(max(handler.end - 1, handler.start))))
    return [FixDraft("Remove the handler", "unsafe", (EditDraft(start, end, ""),))]


def _retry_used(step: Step) -> bool:
    """Whether a retryable failure of the step is known to be possible, or what it can be is not known."""
    action = step.call.action if step.call is not None else None
    if action is None or step.retry is None:
        return True
    if is_write(step) and step.on_unknown in ("reconcile", "halt"):
        return True
    retryable = [code for code, again in action.errors.items() if again]
    if action.effect == "read" and "timeout" in step.keys:
        retryable.append("timeout")
    if step.retry.on is None:
        return bool(retryable)
    allowed = {code.text for code in step.retry.on}
    return any(code in allowed for code in retryable)


# ---- states ------------------------------------------------------------------------------------


def _states(flow: Flow, problems: Problems, source: Source | None) -> None:
    states = flow.workflow.states or {}
    if flow.workflow.initial in states and not _open_targets(states.values()):
        _unreachable(states, flow, problems)
    for state in flow.run.completing:
        if not state.final and not state.partial and may_find_no_route(state):
            why = "has no routes" if not state.routes else "can find all its routes false"
            problems.report(
                "no-route",
                state.entry.key,
                f"The state `{state.name}` {why}, and then fails as `route.none`: add a last route without `when`.",
                fixes=_default_route(state, source),
            )
    for ring in flow.run.rings:
        _ring(ring, flow, problems)


def _unreachable(states: dict[str, State], flow: Flow, problems: Problems) -> None:
    """Report the states that are never entered, each with a way to it that is written and never taken."""
    written: dict[str | None, tuple[State, Node]] = {}
    for state in states.values():
        ways = [(each.to, each.to_node) for each in state.routes] + [(each.to, each.to_node) for each in state.timers]
        for to, node in ways:
            if node is not None and to != state.name:
                written.setdefault(to, (state, node))
    for state in states.values():
        if state in flow.run.reached:
            continue
        message = f"No route and no timer leads to the state `{state.name}`: add one, or remove the state."
        related: list[tuple[Node | Place, str]] = []
        if state.name in written:
            source, node = written[state.name]
            why = "takes no routes, as it is final" if source.final else "never goes this way"
            message = f"No way to the state `{state.name}` is ever taken: change that, or remove the state."
            related = [(node, f"the state `{source.name}` {why}")]
        problems.report("unreachable-state", state.entry.key, message, related=related, tags=("unreachable",))


def _default_route(state: State, source: Source | None) -> list[FixDraft]:
    """A last route that always holds, to where the last one leads."""
    if source is None or not state.routes or state.routes[-1].to is None:
        return []
    last = state.routes[-1]
    text = f"{{ to: {last.to} }}"
    before = source.text[source.line_start(source.line_of(last.node.start)) : last.node.start]
    if before.strip() == "-":  # the block list of routes: the new one stands under the last
        end = source.line_end(source.line_of(max(last.node.end - 1, last.node.start)))
        edit = EditDraft(end, end, f"{source.eol}{before}{text}")
    else:
        edit = EditDraft(last.node.end, last.node.end, f", {text}")
    return [FixDraft(f"Add a default route to `{last.to}`", "unsafe", (edit,))]


def _open_targets(states: Iterable[State]) -> bool:
    """Whether some route or timer leads nowhere known; what it was meant to reach is then not known either."""
    states = [*states]
    if any(state.partial for state in states):
        return True
    known = {state.name for state in states}
    ways: list[str | None] = []
    for state in states:
        ways += [route.to for route in state.routes]
        ways += [timer.to for timer in state.timers]
    return any(to not in known for to in ways)


def _ring(ring: list[State], flow: Flow, problems: Problems) -> None:
    members = set(ring)
    leaves = any(edge.source in members and edge.target not in members for edge in flow.run.edges)
    if leaves or any(state.final for state in ring) or _open_targets_of(ring, flow.workflow):
        return
    if any(_waits_or_ends(step) for state in ring for step in walk_steps(state.lists)):
        return
    first = ring[0]
    if len(ring) == 1:
        what = f"The state `{first.name}` leads only to itself"
    else:
        what = f"The states {listed([state.name for state in ring])} lead only to each other"
    problems.report(
        "endless-states",
        first.entry.key,
        f"{what}, without a wait, an event or a way out: a run goes round until it is cancelled. "
        "Add a wait, or a route that leads out.",
        related=[(state.entry.key, "also in the ring") for state in ring[1:]],
    )


def _open_targets_of(ring: list[State], workflow: Workflow) -> bool:
    states = workflow.states or {}
    targets = [route.to for state in ring for route in state.routes]
    targets += [timer.to for state in ring for timer in state.timers]
    return any(to not in states for to in targets)


def _waits_or_ends(step: Step) -> bool:
    if step.kind in ("wf.wait", "wf.wait_for", "wf.stop", "wf.fail", ""):
        return True
    if step.kind != "wf.call":
        return False
    pending, seen = [step.callee], {step.callee}
    while pending:
        callee = pending.pop()
        if callee is None:
            return True
        for inner in all_steps(callee):
            if inner.kind in ("wf.wait", "wf.wait_for"):
                return True
            if inner.kind == "wf.call" and inner.callee not in seen:
                seen.add(inner.callee)
                pending.append(inner.callee)
    return False
