"""Which failures leave a step: past its retries, handlers and ``on_fail`` (language page, section 5).

``Step.may_fail`` is set by typing, inner steps first; these questions read it.
"""

from __future__ import annotations

from analyzer.model.nodes import Handler, Step, StepList


class Escapes:
    """Answers for one Workfile; typing tells it which handlers' results may fault."""

    __slots__ = ("_faulting",)

    def __init__(self) -> None:
        self._faulting: set[int] = set()

    def note_fault(self, handler: Handler) -> None:
        """The ``result`` of a handler may fault: a new failure of its step."""
        self._faulting.add(id(handler))

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
