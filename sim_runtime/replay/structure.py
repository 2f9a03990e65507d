"""What differs between two Workfiles, step by step: the words for "what in the file changed".

Steps are compared by their path (indexes left out), each key by its content: comments, layout and the order of keys do
not count. A step that is gone here and new there with the same body is one that was renamed or moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar
from sim_runtime.history.canonical import content_of

Json: TypeAlias = Any

_INDEX: Final = re.compile(r"\[\d+\]")
#: Keys that hold steps, which are compared by themselves.
_LISTS: Final = frozenset({"steps", "then", "else", "cases", "default"})
_LIST_SUBJECTS: Final = frozenset({"wf.group", "wf.parallel"})
#: Root keys that no run depends on, and those that are compared in their parts.
WITHOUT_MEANING: Final = frozenset({"description", "version"})
_APART: Final = frozenset({"steps", "states", "name", "workfile", "connectors"})
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``kind`` is ``added``, ``removed``, ``renamed``, ``moved`` or ``changed``; ``key`` is what of the
    step changed, "" for the whole step; ``path`` the step's in the new file (in the old one when it is removed), ""
    for the root's own keys. ``node`` is the place in the new file."""

    kind: str
    path: str
    key: str = ""
    old: Json = None
    new: Json = None
    node: Node | None = None

    @property
    def words(self) -> str:
        """The change on one line."""
        step = f"the step `{self.path}`" if self.path else "the root"
        if self.kind == "added":
            return f"{step} is new"
        if self.kind == "removed":
            return f"{step} is gone"
        if self.kind == "renamed":
            return f"the step `{self.old}` is `{self.path}` now"
        if self.kind == "moved":
            return f"{step} stands in another place"
        return f"`{self.key}` of {step} was {_shown(self.old)} and is {_shown(self.new)}"


@dataclass(slots=True)
class _Shape:
    """One step as it is compared."""

    step: Step
    keys: dict[str, Json]
    nodes: dict[str, Node]
    before: str


def static_path(path: str) -> str:
    """A recorded path as the Workfile has it: without the positions of iterations."""
    return _INDEX.sub("[]", path)


def own_path(path: str) -> str:
    """The part of a static path that is in its own Workfile: what stands after the last call of a child run."""
    return path.rpartition("/")[2]


def step_at(workflow: Workflow, path: str) -> Step | None:
    """The step that a recorded path of the Workfile's own is about, or the innermost one around it."""
    steps = {each.path: each for each in all_steps(workflow)}
    wanted = static_path(path)
    while wanted:
        found = steps.get(wanted)
        if found is not None:
            return found
        wanted = wanted.rpartition(".")[0] if "." in wanted else ""
    return None


def compare(old: Workflow, new: Workflow) -> list[Change]:
    """All differences between two Workfiles, in the order of the new file; what is gone comes last."""
    found = list(_of_root(old, new))
    before, after = _shapes(old), _shapes(new)
    gone = {path: each for path, each in before.items() if path not in after}
    for path, shape in after.items():
        known = before.get(path)
        if known is not None:
            found.extend(_of_step(known, shape, path))
            continue
        was = next((each for each, other in gone.items() if _is_renamed(other, shape)), None)
        if was is None:
            found.append(Change("added", path, node=shape.step.anchor_node))
        else:
            del gone[was]
            found.append(Change("renamed", path, old=was, node=shape.step.anchor_node))
    found.extend(_moves(before, after))
    found.extend(Change("removed", path) for path in gone)
    return found


def _is_renamed(old: _Shape, new: _Shape) -> bool:
    return old.step.kind == new.step.kind and old.keys == new.keys and old.step.parent.prefix == new.step.parent.prefix


def _shapes(workflow: Workflow) -> dict[str, _Shape]:
    found: dict[str, _Shape] = {}
    for step in all_steps(workflow):
        index = step.index
        before = step.parent.steps[index - 1].id if index else ""
        keys: dict[str, Json] = {}
        nodes: dict[str, Node] = {}
        for name, entry in _entries(step):
            keys[name] = _content(name, entry)
            nodes[name] = entry.value
        found[step.path] = _Shape(step, keys, nodes, before)
    return found


def _entries(step: Step) -> Iterator[tuple[str, Entry]]:
    body = step.entry.value
    for entry in body.entries if isinstance(body, Mapping) else ():
        name = entry.key.text if isinstance(entry.key, Scalar) else ""
        if name not in _LISTS:
            yield name, entry


def _content(name: str, entry: Entry) -> Json:
    """What a key says, without the steps in it."""
    content = content_of(entry.value)
    if name in _LIST_SUBJECTS:
        return sorted(content) if isinstance(content, dict) else None
    if name == "catch" and isinstance(content, list):
        return [{k: v for k, v in each.items() if k != "steps"} if isinstance(each, dict) else each for each in content]
    if name == "reconcile" and isinstance(content, dict):
        return {key: value for key, value in content.items() if key != "steps"}
    return content


def _of_step(old: _Shape, new: _Shape, path: str) -> Iterator[Change]:
    anchor = new.step.anchor_node
    for name in dict.fromkeys((*old.keys, *new.keys)):
        before, after = old.keys.get(name, _MISSING), new.keys.get(name, _MISSING)
        if before is _MISSING or after is _MISSING or not _equal(before, after):
            told = [None if each is _MISSING else each for each in (before, after)]
            yield Change("changed", path, name, told[0], told[1], new.nodes.get(name, anchor))


def _moves(before: dict[str, _Shape], after: dict[str, _Shape]) -> Iterator[Change]:
    """Steps that stand after another one than before, among those that both files have in that list."""
    lists: dict[int, list[str]] = {}
    for path, shape in after.items():
        lists.setdefault(id(shape.step.parent), []).append(path)
    for paths in lists.values():
        kept = [each for each in paths if each in before]
        order = sorted(kept, key=lambda each: before[each].step.index)
        for place, (now, then) in enumerate(zip(kept, order, strict=True)):
            if now != then and now not in order[:place]:
                yield Change("moved", now, node=after[now].step.anchor_node)


def _of_root(old: Workflow, new: Workflow) -> Iterator[Change]:
    before, after = old.root, new.root
    for name in dict.fromkeys((*_names(before), *_names(after))):
        if name not in _APART:
            yield from _root_key(name, before, after)
    if old.states is None or new.states is None:
        return
    for name in dict.fromkeys((*old.states, *new.states)):
        yield from _of_state(name, _state(before, name), _state(after, name), after)


def _root_key(name: str, before: Mapping, after: Mapping) -> Iterator[Change]:
    old, new = content_of(before.get(name)), content_of(after.get(name))
    if not _equal(old, new) or (before.get(name) is None) != (after.get(name) is None):
        yield Change("changed", "", name, old, new, after.get(name) or after)


def _of_state(name: str, old: Mapping | None, new: Mapping | None, root: Mapping) -> Iterator[Change]:
    if old is None or new is None:
        yield Change("added" if old is None else "removed", name, node=new or root)
        return
    for key in dict.fromkeys((*_names(old), *_names(new))):
        if key in ("steps", "on_enter"):
            continue
        before, after = content_of(old.get(key)), content_of(new.get(key))
        if not _equal(before, after):
            yield Change("changed", name, key, before, after, new.get(key) or new)


def _state(root: Mapping, name: str) -> Mapping | None:
    states = root.get("states")
    found = states.get(name) if isinstance(states, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _names(node: Mapping) -> list[str]:
    return [entry.key.text for entry in node.entries if isinstance(entry.key, Scalar)]


def _equal(left: Json, right: Json) -> bool:
    from sim_runtime.replay.comparing import same

    return same(left, right)


def _shown(value: Json) -> str:
    import json

    if value is None:
        return "not there"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= 80 else f"`{text[:79]}…`"
