"""The durable rules that need no flow: waits, ambiguity, reconcile, deadlines, and what activates the profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.expressions.times import parse_timestamp
from analyzer.language.suggest import nearest
from analyzer.language.vocabulary import RECONCILE_KEYS, WAITABLE_SOURCES
from analyzer.model.edits import add_entry, remove_entry
from analyzer.model.nodes import Step, StepList, Workflow, all_steps, child_lists, walk_steps
from analyzer.model.problems import FixDraft, Problems
from analyzer.model.reading import Reader, is_partial, is_template, listed
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, is_broken
from analyzer.syntax.source import Source


def activations(workflow: Workflow) -> list[tuple[Node, str]]:
    """Every place that activates the Durable Execution Profile, in document order (D-ACT-01): its key and its words."""
    return sorted(_activations(workflow), key=lambda place: place[0].start)


def _activations(workflow: Workflow) -> Iterator[tuple[Node, str]]:
    """The same as they come: one is enough to know that there are any."""
    if workflow.recovery is not None:
        yield workflow.recovery.entry.key, "`recovery`"
    states = (workflow.states or {}).values()
    yield from ((each.recovery.entry.key, "`recovery`") for each in states if each.recovery is not None)
    for step in all_steps(workflow):
        if step.kind == "wf.wait_for" and step.subject is not None:
            yield step.subject.key, "`wf.wait_for`"
        if step.recovery is not None:
            yield step.recovery.entry.key, "`recovery`"
        if step.reconcile is not None:
            yield step.reconcile.entry.key, "`reconcile`"
        if step.undo_entry is not None:
            yield step.undo_entry.key, "`undo`"
        if step.on_unknown in ("reconcile", "halt"):
            yield step.keys["on_unknown"].key, f"`on_unknown: {step.on_unknown}`"


def check_profile(workflow: Workflow, problems: Problems, profiles: Sequence[str]) -> None:
    """A Workfile that needs the profile is refused for a target that does not claim it (D-ACT-02)."""
    if "durable" in profiles:
        return
    found = activations(workflow)
    if not found:
        return
    node, words = found[0]
    problems.report(
        "profile-unsupported",
        node,
        f"{words} needs the Durable Execution Profile, which the target does not claim: "
        "run it elsewhere, or claim `durable` in `[target] profiles`.",
        related=[(place, f"{text} needs it too") for place, text in found[1:50]],
    )


def check_durable(workflow: Workflow, source: Source, problems: Problems) -> None:
    """All of ``document.durable`` that needs neither expressions nor flow."""
    durable = next(_activations(workflow), None) is not None
    for step in all_steps(workflow):
        if step.kind == "wf.wait_for":
            _wait_for(step, problems)
        if step.kind == "action":
            _ambiguity(step, source, problems, durable)
            _reconcile(step, source, problems)
    for each in workflow.top_lists:
        _deadlines(each, None, problems)


def _wait_for(step: Step, problems: Problems) -> None:
    trigger = step.trigger
    match = step.keys.get("match")
    waitable = True
    if trigger is not None and step.subject is not None:
        waitable = _waitable(step, problems)
    if match is None or not isinstance(match.value, Mapping):
        return
    if not match.value.entries:
        problems.report(
            "match-empty", match.value, "`match` is empty: name at least one correlation field of the trigger."
        )
        return
    if trigger is None or not waitable:
        return
    for name, entry in Reader(problems).string_entries(match.value).items():
        if name not in trigger.correlate_on:
            near = nearest(name, trigger.correlate_on)
            hint = f" Did you mean `{near}`?" if near else ""
            problems.report(
                "match-not-correlated",
                entry.key,
                f"`{name}` is not a correlation field of `{trigger.name}`; "
                f"match by {listed(trigger.correlate_on)}.{hint}",
            )


def _waitable(step: Step, problems: Problems) -> bool:
    trigger, subject = step.trigger, step.subject
    assert trigger is not None
    assert subject is not None
    if trigger.faulty & {"source", "correlate_on"}:
        return False  # the manifest says it
    if trigger.source and trigger.source not in WAITABLE_SOURCES:
        problems.report(
            "trigger-not-waitable",
            subject.value,
            f"`{trigger.name}` is a {trigger.source} trigger: only external and poll triggers can be waited for.",
        )
        return False
    if not trigger.correlate_on:
        problems.report(
            "trigger-not-waitable",
            subject.value,
            f"`{trigger.name}` declares no `correlate_on`, so no event of it can be matched to a run: "
            "declare it in the manifest, or wait for another trigger.",
        )
        return False
    return True


def _ambiguity(step: Step, source: Source, problems: Problems, durable: bool) -> None:
    """Policies for ambiguous outcomes: never needed on reads, wanted on writes without idempotency (D-AMB-01)."""
    action = step.call.action if step.call is not None else None
    if action is None or step.subject is None or not action.effect:
        return
    entry = step.keys.get("on_unknown")
    body = step.entry.value
    assert isinstance(body, Mapping)
    if action.effect == "read":
        if entry is not None:
            problems.report(
                "unknown-never",
                entry.key,
                f"`{step.call.reference if step.call else ''}` is a read, and a read is never ambiguous: "
                "`on_unknown` has no effect here.",
                fixes=_removal(source, body, entry, step),
            )
        return
    if durable and action.idempotency == "none" and entry is None and step.on_unknown is None:
        if step.reconcile is not None:
            return  # that the policy is missing has been said
        edit = add_entry(source, body, step.subject, "on_unknown: halt")
        problems.report(
            "unknown-outcome-unhandled",
            step.subject.key,
            f"An attempt of `{action.name}` whose answer is lost ends the run as aborted: it is `idempotency: none` "
            "and has no `on_unknown`. Say what to do: `halt`, `reconcile`, `fail`, or `abort` to keep it so.",
            fixes=[FixDraft("Add `on_unknown: halt`", "unsafe", (edit,))],
        )


def _removal(source: Source, body: Mapping, entry: Entry, step: Step) -> list[FixDraft]:
    if step.on_unknown not in ("abort", "fail"):
        return []  # removing it would also take the profile away that it activates
    edit = remove_entry(source, body, entry)
    return [] if edit is None else [FixDraft("Remove `on_unknown`", "safe", (edit,))]


def _reconcile(step: Step, source: Source, problems: Problems) -> None:
    """D-AMB-02: the policy and the map belong together, and the map needs all its parts."""
    part, wanted = step.reconcile, step.on_unknown == "reconcile"
    policy = step.keys.get("on_unknown")
    if part is None and "reconcile" in step.keys:
        return
    if part is None:
        if wanted and policy is not None:
            problems.report(
                "reconcile-incomplete",
                policy.key,
                "`on_unknown: reconcile` needs a `reconcile` map beside it, with `steps` and `outcome`.",
                fixes=_skeleton(step, source),
            )
        return
    if not wanted:
        cut = isinstance(step.entry.value, Mapping) and is_partial(step.entry.value)
        if (policy is None and not cut) or (policy is not None and not is_broken(policy.value)):
            problems.report(
                "reconcile-incomplete",
                policy.key if policy is not None else part.entry.key,
                "`reconcile` is used only under `on_unknown: reconcile`: add the policy, or remove `reconcile`.",
            )
        return
    _reconcile_parts(step, problems)
    if part.steps is not None:
        for probe in walk_steps([part.steps]):
            action = probe.call.action if probe.call is not None else None
            if action is not None and action.effect == "write" and "effect" not in action.faulty:
                problems.report(
                    "reconcile-writes",
                    probe.anchor_node,
                    f"`{action.name}` is a write: a probe that changes something can itself be ambiguous. Use a read.",
                )


def _reconcile_parts(step: Step, problems: Problems) -> None:
    part = step.reconcile
    assert part is not None
    if not isinstance(part.entry.value, Mapping):
        return
    present = Reader(problems).string_entries(part.entry.value)
    output = step.call.action.output if step.call is not None and step.call.action is not None else None
    needed = ["steps", "outcome"] + (["result"] if output is not None else [])
    unknown = [name for name in present if name not in RECONCILE_KEYS]
    excused = {nearest(name, [each for each in needed if each not in present]) for name in unknown}
    missing = [name for name in needed if name not in present and name not in excused]
    if missing and not is_partial(part.entry.value):
        problems.report(
            "reconcile-incomplete",
            step.keys["on_unknown"].key,
            f"`reconcile` lacks {' and '.join(f'`{name}`' for name in missing)}: "
            + ("the action declares an output, so a result is needed. Add " if "result" in missing else "add ")
            + ("it." if len(missing) == 1 else "them."),
        )


def _skeleton(step: Step, source: Source) -> list[FixDraft]:
    """A ``reconcile`` map around a read of the same connector that can tell what happened.

    That is a read with a boolean field, and with a field for each one that the action's output needs. Its arguments are
    left to the author, so that a skeleton alone is never taken for an answer.
    """
    body, call = step.entry.value, step.call
    if not isinstance(body, Mapping) or body.flow or call is None or call.action is None or call.manifest is None:
        return []
    output = call.action.output
    needed = [name for name, each in output.fields.items() if not each.optional] if output is not None else []
    for probe in call.manifest.actions.values():
        fields = probe.output.fields if probe.effect == "read" and probe.output is not None else {}
        found = next((name for name, each in fields.items() if each.type.kind == "boolean" and not each.optional), None)
        if found is None or any(name not in fields for name in needed) or not probe.input.fields:
            continue
        lines = [
            "reconcile:",
            "  steps:",
            f"    - probe: {{ {call.connector}.{probe.name}: {{}} }}",
            f'  outcome: "{{{{ probe.{found} }}}}"',
        ]
        if output is not None:
            result = ", ".join(f'{name}: "{{{{ probe.{name} }}}}"' for name in needed)
            lines.append(f"  result: {{ {result} }}" if result else "  result: {}")
        edit = add_entry(source, body, step.keys["on_unknown"], "\n".join(lines))
        return [FixDraft(f"Add a `reconcile` that asks `{probe.name}`", "unsafe", (edit,))]
    return []


def _deadlines(steps: StepList, past: int | None, problems: Problems) -> int | None:
    """Literal deadlines in order; ``past`` is the latest instant that has surely passed. Gives it at the list's end."""
    for step in steps.steps:
        if step.kind == "wf.wait" and step.subject is not None:
            instant = _instant(step.subject.value)
            if instant is not None:
                past = _compare(step.subject.value, instant, past, problems, moves="when" not in step.keys)
        elif step.kind == "wf.wait_for" and (entry := step.keys.get("timeout")) is not None:
            if step.timeout_us == 0:
                problems.report(
                    "wait-deadline-past", entry.value, "A timeout of zero is over at once: no event can be received."
                )
            instant = _instant(entry.value)
            if instant is not None:
                _compare(entry.value, instant, past, problems, moves=False)
        ends = [_deadlines(each, past, problems) for each in child_lists(step)]
        passed = [end for each, end in zip(child_lists(step), ends, strict=True) if each.role in ("group", "branch")]
        if passed and _completes(step):
            past = max((end for end in passed if end is not None), default=None)
    return past


def _completes(step: Step) -> bool:
    """Whether all that stands in a group or parallel has been done when what follows it begins."""
    tolerant = step.on_branch_fail == "continue" or step.on_fail == "continue" or bool(step.handlers)
    return not tolerant and "when" not in step.keys


def _instant(node: Node) -> int | None:
    """The microseconds since 1970 of a literal timestamp."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or is_template(node):
        return None
    timestamp = parse_timestamp(node.value)
    return None if timestamp is None else timestamp.us


def _compare(node: Node, instant: int, past: int | None, problems: Problems, *, moves: bool) -> int | None:
    if past is not None and instant < past:
        problems.report(
            "wait-deadline-past",
            node,
            "This instant is before one that has been waited for already: it is over at once.",
        )
        return past
    return instant if moves else past
