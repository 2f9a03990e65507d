"""What the flow analysis knows of each part of a Workfile: plain data, and the predicates on single steps.

Sets of actions are Python integers (``analyzer.flow.actions``). All joins are unions, so an answer about one action
never depends on what else is in a set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from analyzer.expressions.ast import Binary, Expr, Filter, Index, Member, Name
from analyzer.expressions.parser import parse_template
from analyzer.expressions.walk import walk as parts_of
from analyzer.language.vocabulary import FAULT_CODES
from analyzer.model.nodes import Handler, State, Step, StepList
from analyzer.syntax.nodes import Entry, Node, Scalar, Sequence, walk

Failed: TypeAlias = Step | State

WAITS: Final = ("wf.wait", "wf.wait_for")
DESCENDS: Final = ("wf.if", "wf.switch", "wf.for_each")
#: The filters that can fault on operands of the right type.
PARTIAL_FILTERS: Final = frozenset({"number", "duration", "timestamp", "format_time", "round"})


class Codes(NamedTuple):
    """A set of failure codes: ``names``, or when ``open`` every code but ``names`` (what no manifest can list: codes of
    connectors, operators and children)."""

    open: bool
    names: frozenset[str]

    def taken_by(self, codes: frozenset[str] | None) -> bool:
        """Whether a handler with these codes (None: any) can take one of the set."""
        if codes is None:
            return True
        return bool(codes - self.names) if self.open else bool(codes & self.names)

    def without(self, codes: frozenset[str] | None) -> Codes | None:
        """What is left behind such a handler; None when nothing is."""
        if codes is None:
            return None
        if self.open:
            return Codes(True, self.names | codes)
        rest = self.names - codes
        return Codes(False, rest) if rest else None


ANY_CODE: Final = Codes(True, frozenset())
FAULTS: Final = Codes(False, frozenset(FAULT_CODES))
WAIT_CODES: Final = Codes(False, frozenset((*FAULT_CODES, "config.invalid")))
ENDED_CODES: Final = Codes(False, frozenset(("child.aborted", "child.cancelled")))
TIMEOUT_CODES: Final = Codes(False, frozenset(("timeout",)))
OUTPUT_CODES: Final = Codes(False, frozenset(("output.invalid",)))


class Failure:
    """A failure on its way outwards, as the construct (or list) sees it that it has reached.

    ``step`` is the failed step of the language page; a ``State`` stands for its entry. ``how`` it failed: ``attempt``
    (of an action, or a call that does not come to its end), ``fault`` (an expression), ``handler`` (a step or the
    result of its ``catch``), ``limit`` (its recovery gave up under ``then: fail``), ``child`` (of a call), ``route``.
    The sets say what may have succeeded before it: ``inside`` the failed step; ``after`` in what ``this_and_after`` of
    a scope around this place runs again; ``whole`` in this place when it runs again as a whole (completed branches of
    a parallel that contains the failed step stay); ``executed`` in this place at all. ``escalating`` ones go straight
    to the next recovery scope. ``causes`` are the failures that it came from.
    """

    __slots__ = ("after", "causes", "codes", "escalating", "executed", "how", "inside", "step", "whole")

    def __init__(
        self,
        step: Failed,
        how: str,
        codes: Codes,
        inside: int,
        after: int,
        whole: int,
        executed: int,
        escalating: bool = False,
        causes: tuple[Failure, ...] = (),
    ) -> None:
        self.step = step
        self.how = how
        self.codes = codes
        self.inside = inside
        self.after = after
        self.whole = whole
        self.executed = executed
        self.escalating = escalating
        self.causes = causes

    def seen(self, after: int, whole: int, executed: int, *, escalating: bool | None = None) -> Failure:
        """The same failure one place further out."""
        keep = self.escalating if escalating is None else escalating
        return Failure(self.step, self.how, self.codes, self.inside, after, whole, executed, keep, self.causes)

    def with_codes(self, codes: Codes) -> Failure:
        """The same failure, when only these of its codes are left."""
        return Failure(
            self.step, self.how, codes, self.inside, self.after, self.whole, self.executed, self.escalating, self.causes
        )


def failure_of(step: Failed, how: str, codes: Codes, inside: int = 0, causes: tuple[Failure, ...] = ()) -> Failure:
    """A failure whose failed step is the place itself: everything that succeeded in it is inside."""
    return Failure(step, how, codes, inside, inside, inside, inside, False, causes)


# ---- single steps ------------------------------------------------------------------------------


def carries_undo(step: Step) -> bool:
    """Whether the step declares ``undo``; a faulty one counts (rules page)."""
    return step.undo is not None or step.undo_entry is not None


def unsafe_to_repeat(step: Step) -> bool:
    """An action that is known to be neither inherent nor keyed; what does not resolve is not judged."""
    return step.call is not None and step.call.action is not None and step.call.action.idempotency == "none"


def is_write(step: Step) -> bool:
    """A write, or an action that does not resolve and so may be one."""
    return step.call is not None and (step.call.action is None or step.call.action.effect == "write")


def has_template(node: Node | None) -> bool:
    """Whether there is an interpolation anywhere in a value."""
    if node is None:
        return False
    return any(isinstance(each, Scalar) and type(each.value) is str and "{{" in each.value for each in walk(node))


def own_failures(step: Step, effect: int) -> list[Failure]:
    """The failures that begin at the step itself, before its ``catch``: attempts, and faults of its own expressions.

    ``effect`` is the set of an action's failed attempt that may have taken effect, 0 when that makes no difference.
    """
    kind = step.kind
    if kind == "action":
        return _action_failures(step, effect)
    if kind == "wf.call" or not kind:
        return [failure_of(step, "attempt", ANY_CODE)]
    if kind in WAITS and any(has_template(entry.value) for entry in _evaluated(step)):
        return [failure_of(step, "fault", WAIT_CODES)]
    return [failure_of(step, "fault", FAULTS)] if step.may_fault else []


def _evaluated(step: Step) -> Iterator[Entry]:
    if step.subject is not None and step.kind == "wf.wait":
        yield step.subject
    if step.kind == "wf.wait_for":
        yield from (step.keys[key] for key in ("match", "configuration", "timeout") if key in step.keys)


def _action_failures(step: Step, effect: int) -> list[Failure]:
    """Any code: declared ones, a timeout, an operator's decision; apart from them those that may have taken effect."""
    if not may_take_effect_and_fail(step):
        effect = 0
    if step.on_unknown == "fail" or not effect:
        return [failure_of(step, "attempt", ANY_CODE, effect)]
    return [failure_of(step, "attempt", ANY_CODE), failure_of(step, "attempt", OUTPUT_CODES, effect)]


def may_take_effect_and_fail(step: Step) -> bool:
    """Whether an attempt that is no success may have taken effect, and sending it again is not known to be safe."""
    action = step.call.action if step.call is not None else None
    if action is None or not (unsafe_to_repeat(step) and is_write(step)):
        return False
    return step.on_unknown == "fail" or action.output is not None


def handler_codes(handler: Handler) -> frozenset[str] | None:
    """The codes that a handler takes; None for all."""
    if handler.codes is None:
        return None
    return frozenset(str(scalar.text) for scalar in handler.codes)


def handler_may_fault(handler: Handler) -> bool:
    """Whether evaluating a handler's ``result`` may fault, given that it types.

    It may by an index, a division, a conversion, or a member of ``error.details``, which has no type.
    """
    if handler.result is None:
        return False
    texts = [each.text for each in walk(handler.result) if isinstance(each, Scalar) and type(each.value) is str]
    return any(
        _may_fault(part)
        for text in texts
        if "{{" in text
        for inner in parse_template(text).interpolations
        for part in parts_of(inner.expr)
    )


def _may_fault(part: Expr) -> bool:
    if isinstance(part, Index):
        return True
    if isinstance(part, Binary):
        return part.op in ("/", "%")
    if isinstance(part, Filter):
        return part.name in PARTIAL_FILTERS
    if isinstance(part, Member) and not part.optional and isinstance(part.target, Member):
        owner = part.target
        return owner.name == "details" and isinstance(owner.target, Name) and owner.target.name == "error"
    return False


def aborts_when_unknown(step: Step) -> bool:
    """Whether an ambiguous attempt ends the run as aborted: said so, or by default when no reissue is safe."""
    if step.on_unknown is not None:
        return step.on_unknown == "abort" and is_write(step)
    return is_write(step) and unsafe_to_repeat(step)


def reconcile_steps(step: Step) -> StepList | None:
    """The probes that can run: ``reconcile`` with its policy, on a write."""
    if step.reconcile is None or step.on_unknown != "reconcile" or not is_write(step):
        return None
    return step.reconcile.steps


def iteration_count(step: Step) -> int | None:
    """How many iterations a literal list gives; None when it is only known at run time."""
    value = step.subject.value if step.subject is not None else None
    return len(value.items) if isinstance(value, Sequence) else None


def always_runs(step: Step) -> bool:
    """Whether no guard can skip the step."""
    guard = step.keys.get("when")
    return guard is None or (isinstance(guard.value, Scalar) and guard.value.value is True)
