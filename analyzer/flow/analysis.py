"""The flow analysis: what every list, step, state and run can do, composed from the inside out in one pass.

A Workfile's control flow is structured, so "is there a path in the control-flow graph from this success to that
failure, inside this execution of that scope" has an exact answer by composition (guards are not correlated, language
page, section 5). One pass over the steps, innermost first, without recursion, gives it for all scopes at once; plain
reachability in the flat graph could not tell this execution of a scope from the one before in a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from analyzer.flow.actions import NO_BITS, Numbers, number_actions
from analyzer.flow.facts import (
    ANY_CODE,
    DESCENDS,
    ENDED_CODES,
    FAULTS,
    TIMEOUT_CODES,
    Failure,
    aborts_when_unknown,
    always_runs,
    failure_of,
    handler_codes,
    handler_may_fault,
    iteration_count,
    own_failures,
    reconcile_steps,
)
from analyzer.flow.machine import RunFlow, summarize_states
from analyzer.flow.scopes import Arrivals, enclosing_scope
from analyzer.flow.staying import Standing, staying_inside
from analyzer.flow.summary import (
    Line,
    Summary,
    beside,
    consumed,
    copied,
    incomplete,
    join,
    lifted,
    merged,
    others,
    time_passes,
    union,
)
from analyzer.model.nodes import Handler, Recovery, State, Step, StepList, Workflow, child_lists

NOTHING = Summary()


class StepFlow:
    """What a step can do, for graphs and findings: ``completes``; the failures that begin at it (``own``); which of its
    handlers can be entered; whether a failure leaves it by the ordinary way."""

    __slots__ = ("completes", "entered", "fails", "own")

    def __init__(self, completes: bool, own: bool, entered: tuple[bool, ...], fails: bool) -> None:
        self.completes = completes
        self.own = own
        self.entered = entered
        self.fails = fails


class Flow:
    """The flow of one Workfile. ``lists`` and ``steps`` tell of each part, ``run`` of the whole; ``arrivals`` are the
    failures that reach each recovery scope of code that can run. ``unreachable``: the first step of each list that
    control never reaches, with the step that it does not get past; ``dead``: the lists that follow from that;
    ``idle``: the lists that never run for another reason (a handler that no failure enters)."""

    __slots__ = ("arrivals", "dead", "idle", "lists", "numbers", "run", "steps", "unreachable", "workflow")

    def __init__(self, workflow: Workflow, numbers: Numbers) -> None:
        self.workflow = workflow
        self.numbers = numbers
        self.lists: dict[StepList, Summary] = {}
        self.steps: dict[Step, StepFlow] = {}
        self.arrivals: dict[Recovery, Arrivals] = {}
        self.unreachable: list[tuple[Step, Step]] = []
        self.dead: set[StepList] = set()
        self.idle: set[StepList] = set()
        self.run = RunFlow()

    def live_steps(self, *, idle: bool = True) -> Iterator[Step]:
        """The steps that control can reach, in document order: none behind what always ends the run.

        ``idle``: those of lists that never run although their step does, too.
        """
        ends = {step for step, _ in self.unreachable}
        stack = [iter(each.steps) for each in reversed(self.workflow.top_lists) if each not in self.dead]
        while stack:
            step = next(stack[-1], None)
            if step is None or step in ends:
                stack.pop()
                continue
            yield step
            below = [each for each in child_lists(step) if idle or each not in self.idle]
            stack.extend(iter(each.steps) for each in reversed(below))


def analyse(workflow: Workflow, *, every: bool = False) -> Flow:
    """The flow of a Workfile; those that it calls are analysed first and count where they are called.

    A call that is part of a ring of workflows, and one that does not resolve, counts as a call of an empty one.
    ``every``: the sets tell of harmless actions too.
    """
    lists: dict[Workflow, list[StepList]] = {workflow: _lists_of(workflow)}
    order: list[Workflow] = []
    pending = [(workflow, _callees(lists[workflow]))]
    while pending:
        current, callees = pending[-1]
        if not callees:
            order.append(current)
            pending.pop()
            continue
        callee = callees.pop()
        if callee not in lists:
            lists[callee] = _lists_of(callee)
            pending.append((callee, _callees(lists[callee])))
    called = {each: lists[each] for each in lists if each is not workflow}
    numbers = number_actions(workflow, called, every=every)
    done: dict[Workflow, Flow] = {}
    for each in order:
        done[each] = _composed(each, lists[each], numbers, done)
    return done[workflow]


def _composed(workflow: Workflow, lists: list[StepList], numbers: Numbers, done: dict[Workflow, Flow]) -> Flow:
    """One Workfile's flow; a second time when completed branches stay inside work that runs again."""
    flow = _Composer(workflow, numbers, done, Standing()).compose(lists)
    standing = staying_inside(flow.arrivals, flow.lists)
    return _Composer(workflow, numbers, done, standing).compose(lists) if standing.own else flow


def _lists_of(workflow: Workflow) -> list[StepList]:
    """Every step list, outer before inner."""
    lists: list[StepList] = []
    stack = list(reversed(workflow.top_lists))
    while stack:
        current = stack.pop()
        lists.append(current)
        below = [
            inner
            for step in current.steps
            if step.lists or step.handlers or step.reconcile is not None
            for inner in child_lists(step)
        ]
        stack += reversed(below)
    return lists


def _callees(lists: list[StepList]) -> list[Workflow]:
    """The workflows that are called, the last one first."""
    found = dict.fromkeys(step.callee for each in lists for step in each.steps if step.callee is not None)
    return [callee for callee in reversed(found) if callee is not None]


class _Composer:
    def __init__(self, workflow: Workflow, numbers: Numbers, done: dict[Workflow, Flow], standing: Standing) -> None:
        self.flow = Flow(workflow, numbers)
        self.standing = standing.own
        self.ahead = standing.ahead
        self.bits = numbers.bits
        self.done = done

    def compose(self, lists: list[StepList]) -> Flow:
        flow, workflow = self.flow, self.flow.workflow
        for each in reversed(lists):
            flow.lists[each] = self._list(each)
        if workflow.states is not None:
            states = {state: self._state(state) for state in workflow.states.values()}
            flow.run = summarize_states(workflow, states)
        elif workflow.steps is not None:
            flow.run = RunFlow(flow.lists[workflow.steps])
        summary = flow.run.summary
        if workflow.recovery is not None:
            self._arrive(workflow.recovery, summary.failures)
            self._stand(summary, workflow.recovery, summary.failures)
            if workflow.recovery.then == "hold":
                summary.failures = []
        self._drop_dead_code(lists)
        return flow

    def _arrive(self, recovery: Recovery, failures: list[Failure]) -> None:
        self.flow.arrivals[recovery] = Arrivals(recovery, list(failures))

    def _drop_dead_code(self, lists: list[StepList]) -> None:
        """Scopes and endings inside code that never runs follow from its own finding and are left out."""
        flow = self.flow
        dead = flow.dead
        for state in flow.workflow.states.values() if flow.workflow.states is not None else ():
            if state not in flow.run.reached:
                dead.update(state.lists)
                if state.recovery is not None:
                    flow.arrivals.pop(state.recovery, None)
            elif state.on_enter is not None and state.steps is not None and state.steps.steps:
                ending = next((step for step in state.on_enter.steps if not flow.steps[step].completes), None)
                if ending is not None:
                    flow.unreachable.append((state.steps.steps[0], ending))
                    dead.add(state.steps)
        idle = flow.idle
        for each in lists:
            ended = each in dead
            idles = each in idle
            for position, step in enumerate(each.steps):
                if ended:
                    dead.update(child_lists(step))
                    if step.recovery is not None:
                        flow.arrivals.pop(step.recovery, None)
                    continue
                idle.update(child_lists(step) if idles else self._idle_lists(step))
                if idles and step.recovery is not None:
                    self._arrive(step.recovery, [])
                if not flow.steps[step].completes and position + 1 < len(each.steps):
                    ended = True
                    flow.unreachable.append((each.steps[position + 1], step))
        flow.unreachable.sort(key=lambda pair: pair[0].entry.key.start)

    def _idle_lists(self, step: Step) -> Iterator[StepList]:
        """The lists that never run although their step does: no failure enters them, or the loop is over nothing."""
        for handler, entered in zip_longest(step.handlers, self.flow.steps[step].entered, fillvalue=False):
            if isinstance(handler, Handler) and handler.steps is not None and not entered:
                yield handler.steps
        if step.reconcile is not None and step.reconcile.steps is not None and reconcile_steps(step) is None:
            yield step.reconcile.steps
        if step.kind == "wf.for_each" and iteration_count(step) == 0:
            yield from step.lists

    # ---- lists and states ------------------------------------------------------------------------

    def _list(self, steps: StepList) -> Summary:
        line = Line()
        last = len(steps.steps) - 1
        behind = self._behind(steps.steps) if self.ahead else None
        for position, step in enumerate(steps.steps):
            found = self._step(step)
            if line.out is not None:
                line.add(found, position == last, behind[position] if behind is not None else 0)
        return line.summary()

    def _behind(self, steps: list[Step]) -> list[int]:
        """For each step what stands already inside the steps behind it."""
        found = [0] * len(steps)
        for position in range(len(steps) - 2, -1, -1):
            found[position] = found[position + 1] | self.ahead.get(steps[position + 1], 0)
        return found

    def _standing_in(self, steps: StepList) -> int:
        """What stands already inside the steps of a list."""
        found = 0
        for step in steps.steps if self.ahead else ():
            found |= self.ahead.get(step, 0)
        return found

    def _state(self, state: State) -> Summary:
        """A state's one ordered list, as its recovery and then the state machine see it."""
        line = Line()
        parts = [each for each in state.lists if each.steps]
        for each in parts:
            if line.out is not None:
                last = each is parts[-1]
                line.add(self.flow.lists[each], last, 0 if last else self._standing_in(parts[-1]))
        total = line.summary()
        recovery = state.recovery
        if recovery is not None:
            self._arrive(recovery, total.failures)
            total.failures = self._recovered(total, recovery, state, total.failures)
        total.failures = [failure.seen(failure.whole, failure.whole, failure.executed) for failure in total.failures]
        return total

    def _recovered(
        self, total: Summary, recovery: Recovery, owner: Step | State, found: list[Failure]
    ) -> list[Failure]:
        """What leaves a recovery scope once it has given up."""
        self._stand(total, recovery, found)
        if recovery.then == "hold":
            return []
        if recovery.then == "escalate" and enclosing_scope(recovery, self.flow.workflow) is not None:
            return [failure.seen(failure.after, failure.whole, failure.executed, escalating=True) for failure in found]
        return merged(owner, "limit", found)

    @staticmethod
    def _stand(total: Summary, recovery: Recovery, found: list[Failure]) -> None:
        """Time passes in a delay and in a hold."""
        if found and (recovery.delay_us or recovery.then == "hold"):
            total.stand = join(total.stand, union(found))

    # ---- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> Summary:
        body = self._body(step)
        kind = step.kind
        leaving: list[Failure] = []
        ordinary = body.failures
        if step.lists:
            if step.recovery is not None:
                body.early |= union(ordinary)
                self._arrive(step.recovery, ordinary)
                ordinary = self._recovered(body, step.recovery, step, ordinary)
            if kind not in DESCENDS:
                ordinary = [each.seen(each.whole, each.whole, each.executed) for each in ordinary]
            leaving = [each for each in ordinary if each.escalating]
            ordinary = [each for each in ordinary if not each.escalating]
            own = own_failures(step, self.bits.get(step, NO_BITS)[1])
        else:
            leaving = [each for each in ordinary if each.escalating]
            ordinary = [each for each in ordinary if not each.escalating]
            own = self._leaf_failures(step)
            if step.recovery is not None:
                self._arrive(step.recovery, [])
        begins = bool(own) or kind == "wf.call"
        standing = self.standing.get(step, 0)
        if standing:
            own = [failure_of(step, each.how, each.codes, each.inside | standing) for each in own]
            body.early |= standing
        ordinary = [*own, *ordinary]
        entered: tuple[bool, ...] = ()
        if step.handlers and ordinary:
            ordinary, entered = self._catch(step, body, ordinary, leaving)
        if ordinary and step.on_fail != "fail":
            consumed = union(ordinary)
            aborted, ordinary = ordinary, []
            if step.on_fail == "continue":
                body.out = join(body.out, consumed)
            else:
                body.ended = join(body.ended, consumed)
                # A sibling's failure keeps a step inside standing, and what is around it then does not abort.
                body.early |= union(each for each in aborted if kind != "action" or each.how == "handler")
        if not always_runs(step):
            body.out = join(body.out, standing)
        body.failures = [*ordinary, *leaving]
        body.may |= body.early | union(body.failures) | (body.out or 0)
        self.flow.steps[step] = StepFlow(body.out is not None, begins, entered, bool(ordinary))
        return body

    def _leaf_failures(self, step: Step) -> list[Failure]:
        """The failures of a step without lists; those of an action know what its probes did."""
        if step.kind == "wf.call":
            return []
        own = own_failures(step, self.bits.get(step, NO_BITS)[1])
        probed = self._settled(step)
        if step.kind == "action" and probed:
            own = [failure_of(step, each.how, each.codes, each.inside | probed) for each in own]
        return own

    def _catch(
        self, step: Step, body: Summary, failures: list[Failure], leaving: list[Failure]
    ) -> tuple[list[Failure], tuple[bool, ...]]:
        """Run failures past the handlers. What is left and what the handlers make of it, and which can be entered."""
        made: list[Failure] = []
        entered: list[bool] = []
        for handler in step.handlers:
            taken, failures = _split(failures, handler)
            entered.append(bool(taken))
            if taken:
                # What stands inside the handler itself is counted where the failures in it are.
                standing = self._standing_in(handler.steps) if handler.steps is not None else 0
                self._handle(step, body, handler, union(taken) & ~standing, (made, leaving))
        return [*failures, *made], tuple(entered)

    def _handle(
        self, step: Step, body: Summary, handler: Handler, caught: int, results: tuple[list[Failure], list[Failure]]
    ) -> None:
        made, leaving = results
        found = self.flow.lists[handler.steps] if handler.steps is not None else NOTHING
        for failure in found.failures:
            if failure.escalating:
                whole = caught | failure.whole
                leaving.append(failure.seen(whole, whole, caught | failure.executed))
        inner = [failure for failure in found.failures if not failure.escalating]
        made.extend(merged(step, "handler", inner, caught))
        if found.out is not None:
            if handler_may_fault(handler):
                made.append(failure_of(step, "handler", FAULTS, caught | found.out))
            body.out = join(body.out, caught | found.out)
        body.may |= found.may
        if handler.steps is not None and handler.steps.steps:
            body.early |= caught | found.early
        body.stand = join(body.stand, lifted(found.stand, caught))
        body.ended = join(body.ended, lifted(found.ended, caught))
        body.stopped = join(body.stopped, lifted(found.stopped, caught))

    # ---- what happens inside a step ----------------------------------------------------------------

    def _body(self, step: Step) -> Summary:
        kind = step.kind
        if kind == "action":
            return self._action(step)
        if kind in ("wf.if", "wf.switch"):
            return self._choice(step)
        if kind == "wf.parallel":
            return self._parallel(step)
        if kind == "wf.for_each":
            return self._for_each(step)
        if kind in ("wf.group", "wf.wait_for"):
            return self._sequence(step)
        if kind == "wf.call":
            return self._call(step)
        if kind == "wf.fail":
            return Summary(out=None, ended=0)
        if kind == "wf.stop":
            return Summary(out=None, stopped=0)
        return Summary(stand=0 if kind != "wf.let" else None)

    def _action(self, step: Step) -> Summary:
        probes = reconcile_steps(step)
        found = self.flow.lists[probes] if probes is not None else NOTHING
        success, doubt = self.bits.get(step, NO_BITS)
        settled = self._settled(step)
        # While time passes its call is out, or not settled: what ends that leaves it in doubt.
        stand = (found.stand or 0) | settled | doubt
        body = Summary(success | settled, success | found.may, found.early | settled, stand)
        body.failures = [each.seen(each.whole, each.whole, each.executed) for each in found.failures if each.escalating]
        body.ended, body.stopped = found.ended, found.stopped
        if aborts_when_unknown(step):
            body.ended = join(body.ended, doubt)
        return body

    def _settled(self, step: Step) -> int:
        """What the probes may have done when they, or an operator after them, settle an ambiguous attempt."""
        probes = reconcile_steps(step)
        if probes is None:
            return 0
        found = self.flow.lists[probes]
        return (found.out or 0) | union(each for each in found.failures if not each.escalating)

    def _sequence(self, step: Step) -> Summary:
        found = self.flow.lists[step.lists[0]] if step.lists else NOTHING
        body = copied(found)
        if step.kind == "wf.wait_for":
            body.early = found.may
            body.stand = join(found.stand, found.out)
        return body

    def _choice(self, step: Step) -> Summary:
        body = Summary(out=None)
        elsewhere = others([self._standing_in(each) for each in step.lists])
        for each, other in zip(step.lists, elsewhere, strict=True):
            found = beside(self.flow.lists[each], other)
            body.out = join(body.out, found.out)
            body.may |= found.may
            body.early |= found.early
            body.stand = join(body.stand, found.stand)
            body.ended = join(body.ended, found.ended)
            body.stopped = join(body.stopped, found.stopped)
            body.failures.extend(found.failures)
        otherwise = "else" if step.kind == "wf.if" else "default"
        if (otherwise not in step.keys or not step.lists) and not _covered(step):
            body.out = join(body.out, 0)
        return body

    def _for_each(self, step: Step) -> Summary:
        found = self.flow.lists[step.lists[0]] if step.lists else NOTHING
        count = iteration_count(step)
        if count == 0:
            return Summary()
        end, failures = consumed(found, step.on_iteration_fail)
        concurrent = step.concurrency > 1 and count != 1
        before = 0 if count == 1 else found.may if concurrent else (end or 0)
        body = Summary(out=end, may=found.may, early=found.early if count == 1 else found.may)
        if count is None:
            body.out = join(end, 0)
        started = incomplete(found, step.on_iteration_fail) if concurrent else 0
        if step.lists and count != 1 and (concurrent or end is not None):
            waiting = self._standing_in(step.lists[0])
            before, started = before | waiting, started | waiting
        for each in failures:
            body.failures.append(each.seen(each.after | started, each.whole | before, each.executed | before))
        settled = before if not concurrent else (end or 0) | (found.stand or 0)
        body.stand = lifted(found.stand, settled)
        body.ended = lifted(found.ended, before)
        body.stopped = lifted(found.stopped, before)
        return body

    def _parallel(self, step: Step) -> Summary:
        branches = [self.flow.lists[each] for each in step.lists]
        others_may = others([each.may for each in branches])
        others_early = others([incomplete(each, step.on_branch_fail) for each in branches])
        busy = sum(1 for each in step.lists if each.steps)
        body = Summary()
        for found, may, early in zip(branches, others_may, others_early, strict=True):
            end, failures = consumed(found, step.on_branch_fail)
            body.out = None if body.out is None or end is None else body.out | end
            body.may |= found.may
            body.early |= found.may if busy > 1 else found.early
            for each in failures:
                whole = each.whole | early
                body.failures.append(each.seen(whole, whole, each.executed | may))
            body.ended = join(body.ended, lifted(found.ended, may))
            body.stopped = join(body.stopped, lifted(found.stopped, may))
        body.stand = time_passes([(found.stand, consumed(found, step.on_branch_fail)[0]) for found in branches])
        return body

    def _call(self, step: Step) -> Summary:
        callee = self.done.get(step.callee) if step.callee is not None else None
        if callee is None:
            return Summary(stand=0, failures=[failure_of(step, "attempt", ANY_CODE)])
        run = callee.run.summary
        body = Summary(join(run.out, run.stopped), run.may, run.early, join(run.stand, 0))
        body.failures = [failure_of(step, "attempt", ANY_CODE), *merged(step, "child", run.failures)]
        if run.ended:
            body.failures.append(failure_of(step, "attempt", ENDED_CODES, run.ended))
        if run.stand and "timeout" in step.keys:
            body.failures.append(failure_of(step, "attempt", TIMEOUT_CODES, run.stand))
        if callee.workflow.result_may_fault and run.out is not None:
            body.failures.append(failure_of(step, "child", FAULTS, run.out))
        return body


def _split(failures: list[Failure], handler: Handler) -> tuple[list[Failure], list[Failure]]:
    """The failures that a handler can take, and those that can pass it."""
    codes = handler_codes(handler)
    taken = [failure for failure in failures if failure.codes.taken_by(codes)]
    passed: list[Failure] = []
    for failure in failures:
        rest = failure.codes.without(codes)
        if rest is not None:
            passed.append(failure.with_codes(rest))
    return taken, passed


def _covered(step: Step) -> bool:
    """Whether typing found that a switch without default covers its enum, and that every case ends the run."""
    return step.kind == "wf.switch" and step.binding is not None and step.binding.kind == "never"
