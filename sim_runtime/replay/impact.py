"""What an edit of a Workfile means for runs under way (``workfile history impact``).

Two definitions are compared step by step, and every change is classed by what it asks of a run:

- ``compatible``: every run goes on under the new file;
- ``before``: runs that have not come to the changed step go on; where one has, nothing outside depends on it;
- ``successor``: as ``before``, and a run that has come there needs a successor run, whose calls are safe to make again;
- ``unsafe``: as ``successor``, and the successor is held: an action whose effect may stand could not be sent again.

With recorded histories the verdict for each of them is found by deciding it anew, not by the class of a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.syntax.nodes import Scalar
from analyzer.workspace.manifests import ActionDecl
from sim_runtime.core.looking import holds
from sim_runtime.history.load import History
from sim_runtime.history.pins import pins_of
from sim_runtime.history.records import OUTCOMES, Record
from sim_runtime.history.refusal import Refused
from sim_runtime.replay.continuation import CannotContinue, Continuation, continue_
from sim_runtime.replay.definitions import Chosen, Definitions
from sim_runtime.replay.divergence import PINS, Divergence
from sim_runtime.replay.evaluation import reevaluate
from sim_runtime.replay.explaining import explain
from sim_runtime.replay.reading import read
from sim_runtime.replay.structure import WITHOUT_MEANING, Change, compare, own_path, static_path
from sim_runtime.replay.versions import connector_of, first_invalid

if TYPE_CHECKING:
    from sim_runtime.simulation import Prepared

Json: TypeAlias = Any

COMPATIBLE: Final = "compatible"
BEFORE: Final = "before"
SUCCESSOR: Final = "successor"
UNSAFE: Final = "unsafe"

CLASSES: Final[dict[str, str]] = {
    COMPATIBLE: "every run goes on",
    BEFORE: "runs that have not come to the point go on",
    SUCCESSOR: "a run past the point needs a successor run",
    UNSAFE: "a successor of a run past the point is held: an effect may stand that cannot be sent again safely",
}
#: Keys of a step that say only what comes of its failure, or how its call is made again: no call depends on them.
_POLICIES: Final = frozenset(
    {"retry", "catch", "on_fail", "on_unknown", "reconcile", "undo", "recovery", "on_branch_fail", "on_iteration_fail"}
)
_NOTIFY: Final = "notify"
_CONNECTOR: Final = "connector"
_OVERLAY: Final = "overlay"
#: What the records about a root run say of its status; the end of one says it itself.
_STATUSES: Final = {
    "run.finished": "",
    "run.suspended": "suspended",
    "run.held": "held",
    "run.resumed": "running",
}


@dataclass(slots=True)
class Judged:
    """One change, what it asks of runs, and the histories that it touches. ``line`` is in the new file."""

    change: Change
    class_: str
    point: str | None
    line: int | None = None
    runs: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Json]:
        """The change in the JSON of ``workfile history impact``."""
        change = self.change
        return {
            "change": change.kind,
            "path": change.path,
            "key": change.key or None,
            "old": change.old,
            "new": change.new,
            "line": self.line,
            "class": self.class_,
            "point": self.point,
            "message": f"{change.words}: {CLASSES[self.class_]}",
            "runs": self.runs,
        }


@dataclass(slots=True)
class RunImpact:
    """What the edit means for one recorded run; ``status`` is how its history ends, None when that is refused."""

    path: str
    run: str | None
    class_: str | None
    status: str | None = None
    divergence: Json = None
    refusal: Json = None
    holds: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Json]:
        """The run in the JSON of ``workfile history impact``."""
        return {
            "path": self.path,
            "run": self.run,
            "status": self.status,
            "class": self.class_,
            "divergence": self.divergence,
            "holds": self.holds,
            "refusal": self.refusal,
        }


@dataclass(slots=True)
class Impact:
    """All changes in the order of the new file, and all histories of the workflow in the order given."""

    changes: list[Judged]
    runs: list[RunImpact]

    @property
    def worst(self) -> str:
        """The class of the whole edit: of the histories when there are any, else of the changes."""
        found = [each.class_ for each in self.runs if each.class_ is not None] or [c.class_ for c in self.changes]
        order = list(CLASSES)
        return max(found, key=order.index, default=COMPATIBLE)


def impact_of(old: Prepared, new: Prepared, histories: Sequence[str] = (), *, under_way: bool = False) -> Impact:
    """What an edit means: ``old`` and ``new`` are a Workfile before and after it. ``under_way``: histories of runs that
    are over are left out."""
    changes = [_judged(change, old.workflow, new) for change in compare(old.workflow, new.workflow)]
    changes.extend(_of_connectors(old, new))
    runs = _runs(new, histories, changes, under_way)
    return Impact(changes, runs)


# ---- changes ------------------------------------------------------------------------------------


def _judged(change: Change, old: Workflow, new: Prepared) -> Judged:
    line = _line(change, new)
    if not change.path:
        return _judged_root(change, old, line)
    if change.kind == "changed" and change.key == "recovery" and _only_notify(change):
        return Judged(change, COMPATIBLE, None, line)
    point = change.path
    old_path = change.old if change.kind == "renamed" else change.path
    step = next((each for each in all_steps(old) if each.path == old_path), None)
    if change.kind == "changed" and change.key in _POLICIES:
        return Judged(change, BEFORE, point, line)
    after = _from(old, step) if step is not None else _behind(old, new.workflow, point)
    own = change.kind in ("removed", "renamed") or change.key in ("", _subject(step))
    return Judged(change, _class_of(after, step, own, change), point, line)


def _subject(step: Step | None) -> str:
    """The text of a step's subject key."""
    key = step.subject.key if step is not None and step.subject is not None else None
    return key.text if isinstance(key, Scalar) else ""


def _judged_root(change: Change, old: Workflow, line: int | None) -> Judged:
    if change.key in WITHOUT_MEANING or (change.key == "recovery" and _only_notify(change)):
        return Judged(change, COMPATIBLE, None, line)
    if change.key == "result":
        return Judged(change, BEFORE, "result", line)
    if change.key == "recovery":
        return Judged(change, BEFORE, "", line)
    return Judged(change, _class_of(all_steps(old), None, False, change), "", line)


def _only_notify(change: Change) -> bool:
    """Whether of a recovery only ``notify`` differs, which has no meaning for a run."""
    sides = [each if isinstance(each, dict) else {} for each in (change.old, change.new)]
    if not all(sides):
        return False
    plain = [{name: value for name, value in side.items() if name != _NOTIFY} for side in sides]
    return bool(plain[0] == plain[1])


def _class_of(after: list[Step], step: Step | None, own: bool, change: Change) -> str:
    """By the writes that a run past the point may have made there or after it."""
    actions = [each.call.action for each in after if each.call is not None and each.call.action is not None]
    kinds = {each.idempotency for each in actions if each.effect == "write"}
    if "none" in kinds:
        return UNSAFE
    if own and step is not None and _is_keyed(step.call.action if step.call is not None else None):
        return UNSAFE  # another call, or none, under a key that was used
    if change.kind == "renamed" and "keyed" in kinds:
        return UNSAFE  # what is in it has other paths, and so other keys
    waits = any(each.kind in ("wf.wait_for", "wf.call", "wf.wait") for each in after)
    return SUCCESSOR if actions or waits else BEFORE


def _is_keyed(action: ActionDecl | None) -> bool:
    return action is not None and action.effect == "write" and action.idempotency == "keyed"


def _from(workflow: Workflow, step: Step) -> list[Step]:
    """The step, what is in it, and what comes after it: by the order of the document."""
    steps = all_steps(workflow)
    place = next((at for at, each in enumerate(steps) if each is step), 0)
    return steps[place:]


def _behind(old: Workflow, new: Workflow, path: str) -> list[Step]:
    """What of the old file comes after a step that is new."""
    steps = all_steps(new)
    place = next((at for at, each in enumerate(steps) if each.path == path), len(steps))
    behind = {each.path for each in steps[place:]}
    return [each for each in all_steps(old) if each.path in behind]


def _line(change: Change, new: Prepared) -> int | None:
    document = new.project.document(new.workflow.path)
    if document is None or change.node is None:
        return None
    return int(document.source.line_column(change.node.start)[0]) + 1


def _of_connectors(old: Prepared, new: Prepared) -> list[Judged]:
    """Manifests, overlays and called workflows that differ: what was recorded under the one is not spliced with the
    other."""
    before, after = pins_of(old.workflow, old.project), pins_of(new.workflow, new.project)
    found: list[Judged] = []
    for group, what in (("manifests", _CONNECTOR), ("overlays", _OVERLAY), ("children", "workflow")):
        both = before[group].keys() & after[group].keys()
        # An overlay may come or go alone; with a connector or a called workflow, steps do.
        names = before[group].keys() | after[group].keys() if what == _OVERLAY else both
        for name in sorted(names):
            old_digest, new_digest = (pins[group].get(name) for pins in (before, after))
            if old_digest == new_digest:
                continue
            told = [None if each is None else each[:12] for each in (old_digest, new_digest)]
            change = Change("changed", "", f"{what} {name}", *told)
            steps = [each for each in all_steps(old.workflow) if _uses(each, group, name)]
            behind = _from(old.workflow, steps[0]) if steps else []
            class_ = _class_of(behind, None, False, change) if steps else COMPATIBLE
            found.append(Judged(change, class_, steps[0].path if steps else None))
    return found


def _uses(step: Step, group: str, name: str) -> bool:
    if group == "children":
        return step.callee is not None and step.callee.name == name
    connector = name.rpartition("/")[2]
    used = {each.connector for each in (step.call, step.undo) if each is not None}
    if step.kind == "wf.wait_for" and step.subject is not None and isinstance(step.subject.value, Scalar):
        used.add(step.subject.value.text.partition(".")[0])
    return connector in used


# ---- recorded runs ------------------------------------------------------------------------------


def _runs(new: Prepared, histories: Sequence[str], changes: list[Judged], under_way: bool) -> list[RunImpact]:
    definitions, pinned = Definitions(new), Definitions()
    found: list[RunImpact] = []
    for path in histories:
        run = None
        try:
            history = read(path)
            run = history.header.run
            if not definitions.concerns(history.header):
                continue
            chosen = definitions.of(history.header)
            status = _status(history.records)
            if under_way and status in OUTCOMES:
                continue
            divergence = first_invalid(history, chosen, reevaluate(history, chosen).divergence)
            if divergence is None:
                found.append(RunImpact(path, run, COMPATIBLE, status))
                continue
            held = _holds(continue_(history, new))
        except Refused as error:
            found.append(RunImpact(path, run, None, refusal=error.refusal.json()))
            continue
        for each in _touching(changes, divergence, history, chosen, pinned):
            if run not in each.runs:
                each.runs.append(run)
        class_ = UNSAFE if held else SUCCESSOR
        found.append(RunImpact(path, run, class_, status, divergence.json(), holds=held))
    return found


def _touching(
    changes: list[Judged], divergence: Divergence, history: History, chosen: Chosen, pinned: Definitions
) -> list[Judged]:
    """The changes that make a run come out differently there, or leave what it did."""
    if divergence.cause == PINS:
        name = connector_of(divergence.recorded) if divergence.recorded.id else ""
        return [each for each in changes if name and _is_of_connector(each.change.key, name)]
    explanation = explain(divergence, history.header, chosen, pinned)
    return [each for each in changes if each.change in explanation.changes] or _at(changes, divergence)


def _is_of_connector(key: str, connector: str) -> bool:
    what, _, name = key.partition(" ")
    return what in (_CONNECTOR, _OVERLAY) and name.rpartition("/")[2] == connector


def _status(records: Sequence[Record]) -> str:
    """How a run stands at its end: by the last record that tells, and before any of these it has just begun."""
    for record in reversed(records):
        if not record.id and record.kind in _STATUSES:
            return _STATUSES[record.kind] or str(record.data["outcome"])
    return "running"


def _holds(going: Continuation) -> list[str]:
    """Where a successor is held for what the run before did, or will be at its end: it goes on in a world in which
    nothing else happens. That is also where it would make another call under a key that was sent."""
    with suppress(CannotContinue):  # as far as it comes
        going.finish()
    state, own = going.run.state, going.run.records[going.run.given :]
    clashes = {each.id for each in own if each.kind == "hold.entered" and each.data["reason"] == "reissue"}
    held = [
        each.id
        for each in holds(state)
        if each.hold.reason == "unsafe_continuation" or (each.hold.reason == "reissue" and each.id in clashes)
    ]
    to_come = [] if state.over else [id_ for id_, prior in state.prior.items() if not prior.settled]
    return sorted({static_path(each) for each in (*held, *to_come)})


def _at(changes: list[Judged], divergence: Divergence) -> list[Judged]:
    path = own_path(static_path(divergence.recorded.path))
    return [each for each in changes if each.change.path and path.startswith(each.change.path)]


__all__ = ["CLASSES", "Impact", "Judged", "RunImpact", "impact_of"]
