"""``wf.if``, ``wf.switch``, ``wf.group``, ``wf.parallel`` and ``wf.for_each``."""

from __future__ import annotations

from analyzer.expressions.faults import KIND, Fault
from analyzer.expressions.values import equal
from sim_runtime.core.advance import advance_list, advances, succeed, take
from sim_runtime.core.definition import ListDef, StepDef
from sim_runtime.core.failing import emit_failed, fail_by_fault, settle_between
from sim_runtime.core.frames import TERMINAL, Frame, Members
from sim_runtime.core.persistent import Chunk
from sim_runtime.core.transaction import AGAIN, BUSY, CLOSED, DONE, HELD, OUT, Raised, Tx
from sim_runtime.history.paths import Address, identity_of

_IN_PROGRESS = OUT | HELD | BUSY


# ---- choices and groups -------------------------------------------------------------------------


@advances("wf.if", "wf.switch")
def advance_choice(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Evaluate the condition once; run the branch."""
    if frame.phase == "started":
        if draining:
            return 0
        assert step.subject is not None
        try:
            value = tx.condition(step.subject, step.parent, at[:-1])
            branch = _branch(step, value)
        except Fault as fault:
            return fail_by_fault(tx, at, step, fault)
        tx.emit("branch.selected", identity_of(at), branch=branch, on=value)
        frame = tx.frame(at)
    segment = frame.info.segment
    if segment is None:
        return succeed(tx, at)
    return _inside(tx, at, step, advance_list(tx, (*at, segment), step.lists[segment], draining), draining)


def _branch(step: StepDef, value: object) -> str | None:
    """The segment of the branch for a value, None when there is none."""
    if step.kind == "wf.if":
        if not isinstance(value, bool):
            raise Fault(KIND, "the condition of `wf.if` is true or false")
        segment = "(then)" if value else "(else)"
    else:
        found = (name for literal, name in step.cases if equal(value, literal))  # type: ignore[arg-type]
        segment = next(found, "(default)")
    return segment if segment in step.lists else None


@advances("wf.group")
def advance_group(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Run the steps."""
    if draining and frame.phase == "started" and not frame.children:
        return 0
    return _inside(tx, at, step, advance_list(tx, at, step.inner, draining), draining)


def _inside(tx: Tx, at: Address, step: StepDef, result: int | Raised, draining: bool) -> int | Raised:
    if isinstance(result, Raised):
        return take(tx, at, step, result, draining)
    return succeed(tx, at) if result == DONE else result


# ---- wf.parallel --------------------------------------------------------------------------------


@advances("wf.parallel")
def advance_parallel(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Start and advance the branches in document order; join them."""
    if draining and frame.phase == "started":
        return 0
    if not step.lists:
        return succeed(tx, at)
    while True:
        frame = tx.frame(at)
        failing = isinstance(frame.info, Members) and frame.info.broken > 0
        mask = 0
        for name, steps in step.lists.items():
            here = (*at, name)
            branch = tx.frame(at).children.get(name)
            if branch is None:
                if failing or draining:
                    continue
                tx.emit("step.started", identity_of(here), step="branch")
            elif branch.over or branch.broken is not None:
                continue
            result = _member(tx, here, steps, step, failing or draining)
            if isinstance(result, Raised) or result == CLOSED:
                return result
            if tx.frame(here).broken is not None and not failing:
                break  # its siblings come to a stand from here on
            if result >= 0:
                mask |= result
        else:
            return _joined(tx, at, step, mask, draining)


def _member(tx: Tx, at: Address, steps: ListDef, step: StepDef, draining: bool) -> int | Raised:
    """Advance a branch or iteration and write its end. A failure that stands in it is not answered: it is written."""
    result = advance_list(tx, at, steps, draining)
    if isinstance(result, Raised):
        if step.on_member_fail == "continue" and not result.escalating:
            if not settle_between(tx, result.failure.failed, at):
                return CLOSED
            emit_failed(tx, identity_of(at), result.failure, "continue")
        else:
            how = "escalate" if result.escalating else "raise"
            emit_failed(tx, identity_of(at), result.failure, how)
        return DONE
    if result == DONE:
        tx.emit("step.succeeded", identity_of(at))
    return result


def _joined(tx: Tx, at: Address, step: StepDef, mask: int, draining: bool) -> int | Raised:
    """All branches or iterations were looked at: wait, fail, or be done."""
    frame = tx.frame(at)
    members: Members = frame.info
    if members.broken:
        if mask & _IN_PROGRESS:
            return mask
        return take(tx, at, step, _first_broken(frame), draining)
    return mask if members.active else succeed(tx, at)


def _first_broken(frame: Frame) -> Raised:
    """Of several failures the first recorded one."""
    broken = [member.broken for _, member in frame.below() if member.broken is not None]
    first = min(broken, key=lambda each: each.failure.seq)
    return Raised(first.failure, first.how == "escalate")


# ---- wf.for_each --------------------------------------------------------------------------------


@advances("wf.for_each")
def advance_for_each(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Evaluate the list once; keep as many iterations in progress as may be."""
    if frame.phase == "started":
        if draining:
            return 0
        assert step.subject is not None
        try:
            items = tx.condition(step.subject, step.parent, at[:-1])
            if not isinstance(items, list):
                raise Fault(KIND, "`wf.for_each` goes over a list")
        except Fault as fault:
            return fail_by_fault(tx, at, step, fault)
        tx.emit("iterations.planned", identity_of(at), items=items, concurrency=step.concurrency)
    while True:
        members: Members = tx.frame(at).info
        failing = members.broken > 0
        mask = _look_through(tx, at, step, failing or draining)
        if isinstance(mask, Raised) or mask == CLOSED:
            return mask
        if mask == AGAIN:
            continue
        members = tx.frame(at).info
        if failing or draining or members.next >= len(members.items) or members.active >= members.concurrency:
            return _joined(tx, at, step, mask, draining)
        if tx.full:
            return tx.close()
        index = members.next
        tx.emit("step.started", identity_of((*at, f"[{index}]")), step="iteration", index=index)


def _look_through(tx: Tx, at: Address, step: StepDef, draining: bool) -> int | Raised:
    """Advance every iteration in progress, in index order; what is known to stand still is passed over. ``AGAIN`` when
    a failure left an iteration: its siblings come to a stand from here on."""
    mask = place = 0
    items = tx.frame(at).items
    assert items is not None
    while place < len(items.chunks):
        chunk = items.chunks[place]
        rest = chunk.rest_draining if draining else chunk.rest
        if rest < 0:
            found = _look_through_chunk(tx, at, step, chunk, place * items.width, draining)
            if isinstance(found, Raised) or found == CLOSED:
                return found
            frame = tx.frame(at)
            items = frame.items
            assert items is not None
            if found == AGAIN:
                if frame.info.broken and not draining:
                    return AGAIN
                continue
            rest = found
        mask |= rest
        place += 1
    return mask


def _look_through_chunk(tx: Tx, at: Address, step: StepDef, chunk: Chunk, start: int, draining: bool) -> int | Raised:
    """The iterations of one chunk; ``AGAIN`` when something was done in it, so that it is another one now."""
    mask = 0
    steps = step.inner
    for offset, member in enumerate(chunk.items):
        if member is None or member.phase in TERMINAL or member.broken is not None:
            continue
        rest = member._rest_draining if draining else member._rest
        if rest < 0:
            written = len(tx.records)
            result = _member(tx, (*at, f"[{start + offset}]"), steps, step, draining)
            if isinstance(result, Raised) or result == CLOSED:
                return result
            if len(tx.records) != written:
                return AGAIN
            rest = result
            if draining:
                member._rest_draining = rest
            else:
                member._rest = rest
        mask |= rest
    if draining:
        chunk.rest_draining = mask
    else:
        chunk.rest = mask
    return mask
