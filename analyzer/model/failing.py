"""Which failures leave a step: past its retries, handlers and ``on_fail`` (language page, section 5).

``Step.may_fail`` is set by typing, inner steps first; these functions read it.
"""

from __future__ import annotations

from analyzer.model.nodes import Step, StepList


def list_escapes(steps: StepList) -> bool:
    """Whether a failure of some step can leave the list."""
    return any(map(escapes, steps.steps))


def escapes(step: Step) -> bool:
    """Whether a failure of the step can reach what encloses it."""
    return step.may_fail and step.on_fail == "fail" and handlers_escape(step)


def handlers_escape(step: Step) -> bool:
    """Whether a failure of the step can get past its handlers: no handler takes all, or a handler's step fails."""
    for handler in step.handlers:
        if handler.steps is not None and list_escapes(handler.steps):
            return True
        if handler.codes is None:
            return False
    return True
