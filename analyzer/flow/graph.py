"""The control-flow graph of a Workfile, built once from what the flow analysis knows, as flat tables.

``build_graph`` makes the tables without any library; ``analyzer.flow.build`` turns them into a networkx ``DiGraph``.
Edges that cannot happen are left out: a step that cannot fail has no failure node, a handler that nothing enters has no
edge to it. The nodes of a called workflow are not copied: a call is one step that names the workflow.

| node kind | stands for |
| --- | --- |
| `run.start` | the run begins |
| `run.succeeded`, `run.failed`, `run.stopped`, `run.aborted`, `run.held` | how it ends, or where it is held |
| `state` | an entry of a state |
| `route` | the choice of a state's route |
| `timer` | a state timer elapses |
| `start` | a step begins; its guard is evaluated here |
| `skip` | the guard was false |
| `attempt` | an attempt of an action with `retry` failed |
| `success` | the step succeeded, was handled, or its failure was consumed |
| `failure` | the step failed, before its `catch` |
| `uncaught` | the failure got past the handlers, or came out of one |
| `handler` | a handler of `catch` is entered |
| `reconcile` | an ambiguous attempt is reconciled |
| `iteration` | the next iteration of a loop, or its end |
| `join` | all branches of a parallel have ended |
| `recovery` | a recovery scope decides |

| edge kind | from, to |
| --- | --- |
| `next` | what is done to what follows |
| `branch` | a construct to one of its lists; a fork to its branches |
| `skip` | a start to `skip` |
| `back` | the end of an iteration to the next |
| `fail` | to a failure, and outwards |
| `catch` | a failure to a handler |
| `consume` | a failure that `continue` consumes to what follows |
| `retry` | an attempt to the start |
| `unknown` | a start to `reconcile` |
| `recover` | a failure to the recovery scope that it reaches |
| `redo` | a recovery to where its redo sets begin |
| `escalate` | a recovery to the next one outwards |
| `route`, `timer` | to the state that is entered |
| `end` | to the end of the run |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from analyzer.flow.analysis import Flow, StepFlow
from analyzer.flow.facts import aborts_when_unknown, always_runs, iteration_count, reconcile_steps
from analyzer.flow.machine import route_codes, taken_routes
from analyzer.flow.redo import ScopeRedo, redo_of, suffix
from analyzer.flow.scopes import enclosing_scope
from analyzer.model.nodes import Owner, Recovery, State, Step, StepList, Timer, Workflow

Part: TypeAlias = Step | State | Recovery | Timer | None

NODE_KINDS: Final = (
    "run.start",
    "run.succeeded",
    "run.failed",
    "run.stopped",
    "run.aborted",
    "run.held",
    "state",
    "route",
    "timer",
    "start",
    "skip",
    "attempt",
    "success",
    "failure",
    "uncaught",
    "handler",
    "reconcile",
    "iteration",
    "join",
    "recovery",
)
EDGE_KINDS: Final = (
    "next",
    "branch",
    "skip",
    "back",
    "fail",
    "catch",
    "consume",
    "retry",
    "unknown",
    "recover",
    "redo",
    "escalate",
    "route",
    "timer",
    "end",
)


@dataclass(slots=True, eq=False)
class FlowGraph:
    """Nodes by number: ``kinds``, ``names`` (unique, ``path#kind``) and the ``parts`` of the model that they stand for.

    ``edges`` are (from, to, kind, label), in document order and each once.
    """

    kinds: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    edges: list[tuple[int, int, str, str]] = field(default_factory=list)

    def successors(self) -> list[list[int]]:
        """For each node the nodes that it leads to."""
        found: list[list[int]] = [[] for _ in self.kinds]
        for source, target, _, _ in self.edges:
            found[source].append(target)
        return found


def build_graph(flow: Flow, scopes: list[ScopeRedo] | None = None) -> FlowGraph:
    """The graph of an analysed Workfile; ``scopes`` are its redo sets when they are known already."""
    return _Builder(flow, redo_of(flow) if scopes is None else scopes).build()


class _Builder:
    def __init__(self, flow: Flow, scopes: list[ScopeRedo]) -> None:
        self.flow = flow
        self.scopes = {scope.owner: scope for scope in scopes}
        self.graph = FlowGraph()
        self.known: dict[tuple[Part, str], int] = {}
        self.taken: dict[str, int] = {}
        self.seen: set[tuple[int, int, str]] = set()

    def build(self) -> FlowGraph:
        workflow = self.flow.workflow
        start = self.node(None, "run.start", "run")
        if workflow.states is not None:
            initial = workflow.states.get(workflow.initial or "")
            if initial is not None:
                self.edge(start, self.state(initial), "next")
            for state in self.flow.run.reached:
                self._state(state)
        elif workflow.steps is not None:
            self.edge(start, self.entry(workflow.steps), "next")
        steps = list(self.flow.live_steps(idle=False))
        for step in steps:
            self._step(step)
        # Inner failures and ends lead to nodes of what is around them, so they come first.
        for step in reversed(steps):
            self._failure(step)
        for state in self.flow.run.reached:
            self._recovery(state)
        self._recovery(workflow)
        for step in reversed(steps):
            if self.flow.steps[step].completes and (step, "success") in self.known:
                self.edge(self.at(step, "success"), self.after(step), "next")
        if workflow.result_may_fault and self.flow.run.summary.out is not None:
            self.edge(self.end("succeeded"), self.end("failed"), "end", "a fault in `result`")
        return self.graph

    # ---- nodes -----------------------------------------------------------------------------------

    def node(self, part: Part, kind: str, path: str) -> int:
        key = (part, kind if part is not None else f"{path}#{kind}")
        known = self.known.get(key)
        if known is not None:
            return known
        name = f"{path}#{kind}"
        count = self.taken.get(name, 0)
        self.taken[name] = count + 1
        graph = self.graph
        number = self.known[key] = len(graph.kinds)
        graph.kinds.append(kind.partition("@")[0])
        graph.names.append(name if count == 0 else f"{name}~{count + 1}")
        graph.parts.append(part)
        return number

    def at(self, step: Step, kind: str) -> int:
        return self.node(step, kind, step.path)

    def state(self, state: State) -> int:
        return self.node(state, "state", state.name)

    def end(self, how: str) -> int:
        return self.node(None, f"run.{how}", "run")

    def recovery(self, recovery: Recovery) -> int:
        owner = recovery.owner
        path = owner.path if isinstance(owner, Step) else owner.name if isinstance(owner, State) else "run"
        return self.node(recovery, "recovery", path)

    def edge(self, source: int, target: int, kind: str, label: str = "") -> None:
        key = (source, target, kind)
        if key not in self.seen:
            self.seen.add(key)
            self.graph.edges.append((source, target, kind, label))

    # ---- where control goes ------------------------------------------------------------------------

    def entry(self, steps: StepList) -> int:
        """Where a list begins; an empty one is at its end at once."""
        return self.at(steps.steps[0], "start") if steps.steps else self.exit(steps)

    def exit(self, steps: StepList) -> int:
        """Where control is once the list is done."""
        owner = steps.owner
        if isinstance(owner, Workflow):
            return self.end("succeeded")
        if isinstance(owner, State):
            if steps is owner.on_enter and owner.steps is not None:
                return self.entry(owner.steps)
            return self.end("succeeded") if owner.final else self.node(owner, "route", owner.name)
        if steps.role == "branch":
            return self.at(owner, "join")
        if owner.kind == "wf.for_each" and steps in owner.lists:
            return self.at(owner, "iteration")
        return self.at(owner, "success")

    def outward(self, steps: StepList) -> tuple[int, str]:
        """Where a failure goes that leaves a list, and by what edge."""
        owner = steps.owner
        if not isinstance(owner, Step):
            return self.beyond(owner)
        if steps.role == "catch":
            return self.at(owner, "uncaught"), "fail"
        if steps.role == "reconcile":
            return self.end("held"), "fail"
        if steps.role == "branch" and owner.on_branch_fail == "continue":
            return self.at(owner, "join"), "consume"
        if owner.kind == "wf.for_each" and owner.on_iteration_fail == "continue":
            return self.at(owner, "iteration"), "consume"
        if owner.recovery is not None:
            return self.recovery(owner.recovery), "recover"
        return self.at(owner, "failure"), "fail"

    def beyond(self, owner: Owner) -> tuple[int, str]:
        """Where a failure of a state's step, or of a root step, goes."""
        if owner.recovery is not None:
            return self.recovery(owner.recovery), "recover"
        return self.past(owner)

    def past(self, owner: Owner) -> tuple[int, str]:
        """Where a failure of a state, or of the run, goes."""
        root = self.flow.workflow.recovery
        if isinstance(owner, State) and root is not None:
            return self.recovery(root), "recover"
        return self.end("failed"), "end"

    # ---- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        start = self.at(step, "start")
        if not always_runs(step):
            skip = self.at(step, "skip")
            self.edge(start, skip, "skip")
            self.edge(skip, self.after(step), "next")
        if step.kind in ("wf.stop", "wf.fail"):
            self.edge(start, self.end("stopped" if step.kind == "wf.stop" else "failed"), "end")
        else:
            self._body(step, start)

    def after(self, step: Step) -> int:
        """Where control is once a step is done or skipped."""
        steps = step.parent.steps
        return self.at(steps[step.index + 1], "start") if step.index + 1 < len(steps) else self.exit(step.parent)

    def _body(self, step: Step, start: int) -> None:
        if step.kind == "wf.for_each" and step.lists:
            loop = self.at(step, "iteration")
            self.edge(start, loop, "next")
            count = iteration_count(step)
            if count != 0:
                self.edge(loop, self.entry(step.lists[0]), "branch", f"{step.loop_name} of the list")
            self.edge(loop, self.at(step, "success"), "next", "no more")
        elif step.lists:
            for each in step.lists:
                self.edge(start, self.entry(each), "branch", list_label(each))
            if step.kind == "wf.parallel":
                self.edge(self.at(step, "join"), self.at(step, "success"), "next")
            if step.kind == "wf.if" and step.list_of("else") is None:
                self.edge(start, self.at(step, "success"), "branch", "else")
            if step.kind == "wf.switch" and step.list_of("default") is None:
                self.edge(start, self.at(step, "success"), "branch", "default")
        else:
            self.edge(start, self.at(step, "success"), "next")
        probes = reconcile_steps(step)
        if probes is not None:
            reconcile = self.at(step, "reconcile")
            self.edge(start, reconcile, "unknown")
            self.edge(reconcile, self.entry(probes), "branch")
        if step.kind == "action" and aborts_when_unknown(step):
            self.edge(start, self.end("aborted"), "end", "ambiguous")

    def _failure(self, step: Step) -> None:
        facts = self.flow.steps[step]
        start = self.at(step, "start")
        self._recovery(step)
        if facts.own:
            failure = self.at(step, "failure")
            if step.retry is not None and step.retry.attempts > 1:
                attempt = self.at(step, "attempt")
                self.edge(start, attempt, "fail")
                self.edge(attempt, start, "retry")
                self.edge(attempt, failure, "fail", "gives up")
            else:
                self.edge(start, failure, "fail")
        for position, handler in enumerate(step.handlers):
            if position < len(facts.entered) and facts.entered[position]:
                node = self.at(step, f"handler@{position}")
                self.edge(self.at(step, "failure"), node, "catch", handler_label(step, position))
                target = self.entry(handler.steps) if handler.steps is not None else self.at(step, "success")
                self.edge(node, target, "branch")
        self._uncaught(step, facts)

    def _uncaught(self, step: Step, facts: StepFlow) -> None:
        """Past the handlers, or without any."""
        last = "uncaught" if any(facts.entered) else "failure"
        if last == "uncaught" and all(handler.codes is not None for handler in step.handlers):
            self.edge(self.at(step, "failure"), self.at(step, "uncaught"), "fail")
        if (step, last) not in self.known:
            return
        if step.on_fail == "continue":
            self.edge(self.at(step, last), self.at(step, "success"), "consume")
        elif step.on_fail == "abort":
            self.edge(self.at(step, last), self.end("aborted"), "end")
        elif facts.fails:
            self.edge(self.at(step, last), *self.outward(step.parent))

    # ---- states and recovery -------------------------------------------------------------------------

    def _state(self, state: State) -> None:
        workflow = self.flow.workflow
        node = self.state(state)
        lists = [each for each in state.lists if each.steps]
        if lists:
            self.edge(node, self.entry(lists[0]), "next")
        elif state.final:
            self.edge(node, self.end("succeeded"), "next")
        else:
            self.edge(node, self.node(state, "route", state.name), "next")
        targets = workflow.states or {}
        if not state.final and state in self.flow.run.completing:
            routes = self.node(state, "route", state.name)
            for route in taken_routes(state):
                if route.to in targets:
                    self.edge(routes, self.state(targets[route.to]), "route")
            if route_codes(state) is not None:
                self.edge(routes, *self.past(state))
        for timer in state.timers:
            if timer.to in targets:
                elapsed = self.node(timer, "timer", f"{state.name}.{timer.name}")
                self.edge(node, elapsed, "timer")
                self.edge(elapsed, self.state(targets[timer.to]), "timer")

    def _recovery(self, owner: Owner) -> None:
        scope = self.scopes.get(owner)
        if scope is None or not scope.failures:
            return
        recovery = scope.recovery
        node = self.recovery(recovery)
        for target in self._redo_targets(scope):
            self.edge(node, target, "redo")
        if recovery.then == "hold":
            self.edge(node, self.end("held"), "end")
            return
        outer = enclosing_scope(recovery, self.flow.workflow)
        if recovery.then == "escalate" and outer is not None:
            self.edge(node, self.recovery(outer), "escalate")
        elif isinstance(scope.owner, Step):
            self.edge(node, self.at(scope.owner, "failure"), "fail")
        else:
            self.edge(node, *self.past(scope.owner))

    def _redo_targets(self, scope: ScopeRedo) -> Iterator[int]:
        """Where control goes on after a recovery, each place once."""
        owner, redo = scope.owner, scope.recovery.redo
        if redo == "whole_group":
            yield from self._beginnings(owner)
            return
        for failed in dict.fromkeys(each.step for each in scope.failures):
            if isinstance(failed, State):
                yield self.state(failed)
            elif redo == "this_step":
                yield self.at(failed, "start")
            elif isinstance(owner, Workflow) and owner.states is not None:
                yield self.state(_state_of(failed))
            else:
                yield self.at(suffix(owner, failed)[0], "start")

    def _beginnings(self, owner: Owner) -> Iterator[int]:
        if isinstance(owner, Workflow):
            initial = owner.states.get(owner.initial or "") if owner.states is not None else None
            if initial is not None:
                yield self.state(initial)
            elif owner.steps is not None:
                yield self.entry(owner.steps)
        elif isinstance(owner, State):
            yield from (self.entry(each) for each in owner.lists[:1])
        elif owner.kind == "wf.for_each":
            yield self.at(owner, "iteration")
        else:
            yield from (self.entry(each) for each in owner.lists)


def _state_of(step: Step) -> State:
    owner = step.parent.owner
    while isinstance(owner, Step):
        owner = owner.parent.owner
    assert isinstance(owner, State)
    return owner


def list_label(steps: StepList) -> str:
    """What takes control into a list: the case, the branch, ``then`` or ``else``."""
    if steps.role in ("case", "branch"):
        return steps.label
    return steps.role if steps.role in ("then", "else", "default") else ""


def handler_label(step: Step, position: int) -> str:
    """The codes that a handler takes, shortened."""
    codes = step.handlers[position].codes
    if codes is None:
        return "any code"
    names = [code.text for code in codes]
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
