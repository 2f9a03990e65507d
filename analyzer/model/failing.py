"""Which failures leave a step, past its retries, handlers and ``on_fail``, and what is known then (language page, 5).

``Step.may_fail`` is set by typing, inner steps first; these questions read it.
"""

from __future__ import annotations

from analyzer.expressions.scope import Facts, join_facts
from analyzer.model.nodes import Handler, Step, StepList


class Escapes:
    """Answers for one Workfile; typing tells it which handlers' results may fault, and what is known at a failure."""

    __slots__ = ("_escalating", "_faulting", "_known")

    def __init__(self) -> None:
        self._faulting: dict[int, Facts] = {}
        self._known: dict[Step, Facts] = {}
        self._escalating: set[Step] = set()

    def note_fault(self, handler: Handler, facts: Facts) -> None:
        """The ``result`` of a handler may fault: a new failure of its step."""
        self._faulting[id(handler)] = facts

    def note(self, step: Step, failed: Facts) -> None:
        """The step was typed; ``failed`` is what is known at its failure, before its handlers."""
        if not (step.lists or step.handlers):
            self._known[step] = failed
            return
        inner = [handler.steps for handler in step.handlers if handler.steps is not None]
        own = step.recovery is not None
        if any(map(self._lets_escalate, inner if own else (*inner, *step.lists))) or (
            step.recovery is not None and step.recovery.then == "escalate" and step.may_fail
        ):
            self._escalating.add(step)
        past = self.at_failure(step, failed)
        self._known[step] = failed if step in self._escalating else past

    def reach(self, step: Step) -> bool:
        """Whether a failure inside escalates to the step's own recovery scope, past all that stands between."""
        return step.recovery is not None and any(map(self._lets_escalate, step.lists))

    def _lets_escalate(self, steps: StepList) -> bool:
        return bool(self._escalating) and not self._escalating.isdisjoint(steps.steps)

    def from_list(self, steps: StepList) -> bool:
        """Whether a failure of some step can leave the list."""
        return any(map(self.from_step, steps.steps))

    def from_step(self, step: Step) -> bool:
        """Whether a failure of the step can reach what encloses it."""
        return step.may_fail and step.on_fail == "fail" and self.past_handlers(step)

    def past_handlers(self, step: Step) -> bool:
        """Whether a failure of the step can get past its handlers: none takes all, or a handler itself fails."""
        for handler in step.handlers:
            if id(handler) in self._faulting or (handler.steps is not None and self.from_list(handler.steps)):
                return True
            if handler.codes is None:
                return False
        return True

    def known(self, steps: StepList) -> Facts | None:
        """What is known whenever a failure leaves the list; None when none does."""
        facts: Facts | None = None
        for step in steps.steps:
            if step in self._escalating or self.from_step(step):
                facts = join_facts(facts, self._known[step])
        return facts

    def at_failure(self, step: Step, failed: Facts) -> Facts:
        """What is known when a failure of the step gets past its handlers; ``failed`` is known before them."""
        facts: Facts | None = None
        for handler in step.handlers:
            facts = join_facts(facts, self._faulting.get(id(handler)))
            facts = join_facts(facts, None if handler.steps is None else self.known(handler.steps))
            if handler.codes is None:
                break
        else:
            facts = join_facts(facts, failed)
        return failed if facts is None else facts
