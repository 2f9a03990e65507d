"""Binding paths as scenario files write them (``a.b``, ``a[0].b``): whether one can lead anywhere in a Workfile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from analyzer.expressions.types import ANY, Type, field_type
from analyzer.language.suggest import nearest
from analyzer.model.nodes import State, Step, StepList, Workflow

#: What a path leads to: the whole run, a step, the steps of a branch or iteration, or a part of a value.
Spot: TypeAlias = Workflow | State | Step | StepList | Type
Segment: TypeAlias = str | int

_SEGMENT: Final = re.compile(r"\[(\d{1,9})\]|([^.\[\]]+)")
_UNION: Final = frozenset({"wf.if", "wf.switch", "wf.group", "wf.wait_for"})
_MOST: Final = 8


class Lost(NamedTuple):
    """Where a path stops: the part before, what stands there, and the path that was likely meant."""

    before: str
    names: list[str]
    meant: str | None


def segments_of_binding(path: str) -> list[Segment] | None:
    """The segments of a binding path, or None when it is not one."""
    found: list[Segment] = []
    position = 0
    while position < len(path):
        if path[position] == "." and position:
            position += 1
        match = _SEGMENT.match(path, position)
        if match is None:
            return None
        found.append(match[2] if match[1] is None else int(match[1]))
        position = match.end()
    return found


def lost_at(workflow: Workflow, path: str, appears: Callable[[str], bool]) -> Lost | None:
    """Where a binding path cannot go on; None when it may lead to something.

    ``appears`` tells whether a name that a type leaves open is written anywhere that values come from.
    """
    segments = segments_of_binding(path)
    if not segments:
        return Lost("", [], None)
    position, spots = _walk(workflow, segments, appears)
    if position == len(segments):
        return None
    names = list(dict.fromkeys(name for spot in spots for name in _names(spot)))
    segment = segments[position]
    near = nearest(segment, names) if isinstance(segment, str) else None
    meant = None
    if near is not None:
        changed = [*segments[:position], near, *segments[position + 1 :]]
        meant = _joined(changed) if _walk(workflow, changed, appears)[0] == len(segments) else None
    return Lost(_joined(segments[:position]), names[:_MOST], meant)


def _walk(workflow: Workflow, segments: list[Segment], appears: Callable[[str], bool]) -> tuple[int, list[Spot]]:
    """How many segments lead somewhere, and where those lead."""
    spots: list[Spot] = [workflow]
    for position, segment in enumerate(segments):
        below = [each for spot in spots for each in _below(spot, segment, appears)]
        if not below:
            return position, spots
        spots = below
    return len(segments), spots


def _below(spot: Spot, segment: Segment, appears: Callable[[str], bool]) -> Iterator[Spot]:
    if isinstance(spot, Type):
        yield from _in_value(spot, segment, appears)
    elif isinstance(spot, Step):
        yield from _in_value(_value(spot), segment, appears)
        if spot.kind == "wf.for_each":
            yield from spot.lists if isinstance(segment, int) else ()
        elif spot.kind == "wf.parallel":
            yield from (each for each in spot.lists if each.label == segment)
        elif spot.kind in _UNION:
            yield from (step for each in spot.lists for step in each.steps if step.id == segment)
    elif isinstance(spot, Workflow) and spot.states is not None:
        yield from (state for name, state in spot.states.items() if name == segment)
    else:
        yield from (step for step in _steps(spot) if step.id == segment)


def _in_value(type_: Type, segment: Segment, appears: Callable[[str], bool]) -> Iterator[Type]:
    for each in type_.options or (type_,):
        if each.kind == "any":
            yield ANY
        elif each.kind == "union":
            yield from _in_value(each, segment, appears)
        elif each.kind == "list" and isinstance(segment, int):
            yield each.item or ANY
        elif each.kind == "object" and isinstance(segment, str):
            field = each.fields.get(segment)
            if field is not None:
                yield field_type(field, segment)
            elif each.additional is not None:
                yield each.additional
            elif not each.closed and (not each.fields or appears(segment)):
                yield ANY


def _value(step: Step) -> Type:
    """What a step binds; of one that never succeeds, the steps in it are still shown."""
    type_ = step.binding or ANY
    return ANY if type_.kind == "never" and not step.lists else type_


def _steps(spot: Workflow | State | StepList) -> list[Step]:
    if isinstance(spot, StepList):
        return spot.steps
    return spot.all_steps if isinstance(spot, State) else [step for each in spot.top_lists for step in each.steps]


def _names(spot: Spot) -> Iterator[str]:
    """The names that may stand below."""
    if isinstance(spot, Type):
        for each in spot.options or (spot,):
            yield from each.fields
    elif isinstance(spot, Step):
        yield from _names(_value(spot))
        if spot.kind == "wf.parallel":
            yield from (each.label for each in spot.lists)
        elif spot.kind in _UNION:
            yield from (step.id for each in spot.lists for step in each.steps)
    elif isinstance(spot, Workflow) and spot.states is not None:
        yield from spot.states
    else:
        yield from (step.id for step in _steps(spot))


def _joined(segments: list[Segment]) -> str:
    text = ""
    for each in segments:
        text += f"[{each}]" if isinstance(each, int) else f".{each}" if text else each
    return text
