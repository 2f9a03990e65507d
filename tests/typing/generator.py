"""Random small Workfiles: every construct that can make a value null, and expressions that read what is visible.

Expressions are well typed but for null, so that whatever is reported about them is about null.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.typing.shapes import (
    ACTIONS,
    BOOLEAN,
    INPUTS,
    INTEGER,
    NULL,
    PAYLOAD,
    STRING,
    Shape,
    enum,
    list_of,
    schema,
)

Visible = dict[str, Shape]
OPAQUE = Shape("opaque")
TEXT = Shape("text")
TEXTS = ("string", "enum", "opaque", "text")
MIXED = Shape("mixed", nullable=True)
STATUS = enum("received", "timeout")


class Generator:
    """Workfiles from a seed, or from a source of random choices; ``size`` bounds the number of steps, roughly."""

    def __init__(self, seed: int | random.Random, size: int = 6) -> None:
        self.random = random.Random(seed) if isinstance(seed, int) else seed
        self.size = size
        self.number = 0
        self.loops = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def workfile(self) -> str:
        """The text of a Workfile."""
        self.budget = self.random.randint(2, self.size)
        chosen = [name for name in INPUTS if self.chance(0.5)]
        visible: Visible = {}
        if chosen:
            fields = tuple((name.rstrip("?"), INPUTS[name], name.endswith("?")) for name in chosen)
            visible["inputs"] = Shape("record", fields=fields)
        steps: list[Any] = []
        while self.budget > 0:
            steps.extend(self.list(visible, 0, most=4))
        head: dict[str, Any] = {"workfile": "1.0", "name": "generated"}
        if chosen:
            head["inputs"] = {name: schema(INPUTS[name]) for name in chosen}
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
        text += "steps:\n" + _block(steps, 2)
        if self.chance(0.5):
            text += "result: " + json.dumps({"r": self.value(visible)}) + "\n"
        return text

    def name(self) -> str:
        self.number += 1
        return f"s{self.number}"

    # -- steps

    def list(self, visible: Visible, depth: int, most: int = 3) -> list[dict[str, Any]]:
        """Some steps; what they bind is added to ``visible``."""
        steps = []
        for _ in range(self.random.randint(1, most)):
            if self.budget <= 0 and steps:
                break
            steps.append(self.step(visible, depth))
        return steps

    def step(self, visible: Visible, depth: int) -> dict[str, Any]:
        self.budget -= 1
        makers: list[Callable[[Visible, int], tuple[dict[str, Any], Shape]]] = [self.action] * 4 + [self.let, self.end]
        if self.budget > 0 and depth < 3:
            makers += [self.branch, self.switch, self.group, self.parallel, self.loop, self.wait]
            makers += [self.branch, self.wait]
        name = self.name()
        told = self.told_form(visible) if self.chance(0.25) else None
        if told is not None:
            visible[name] = NULL
            return {name: told}
        body, shape = self.random.choice(makers)(visible, depth)
        guarded = self.chance(0.85 if "wf.stop" in body or "wf.fail" in body else 0.3)
        if "wf.stop" not in body and "wf.fail" not in body:
            shape = self.policy(body, visible, depth, shape)
        if guarded:
            body["when"] = self.whole(self.condition(visible))
            shape = shape.or_null()
        visible[name] = shape
        return {name: body}

    def told_form(self, visible: Visible) -> dict[str, Any] | None:
        """A step that reads a member of one form, under a test of which it is; None where there are no forms."""
        found = [name for name, shape in visible.items() if shape.kind == "forms"]
        if not found:
            return None
        name = self.random.choice(found)
        tag = self.random.choice(("one", "two", "many"))
        link = self.random.choice((".", ".", "?."))
        tests = (f"{name}{link}tag == '{tag}'", f"{name}{link}tag != '{tag}'", f"{name}{link}tag in ['{tag}', 'two']")
        test = self.random.choice(tests)
        if self.chance(0.3):
            test = self.random.choice((f"not ({test})", f"{name} != null and {test}"))
        own = {"one": "label", "two": "note", "many": "rows[0]"}[tag]
        member = own if self.chance(0.6) else self.random.choice(("label", "note", "same"))
        return {"lab.label": {"mark": self.whole(f"{name}.{member}")}, "when": self.whole(test)}

    def policy(self, body: dict[str, Any], visible: Visible, depth: int, shape: Shape) -> Shape:
        if self.chance(0.2):
            body["catch"] = [self.handler(visible, depth, shape) for _ in range(self.random.choice((1, 1, 2)))]
            shape = shape.or_null()
        if self.chance(0.2):
            body["on_fail"] = self.random.choice(("continue", "continue", "abort"))
            shape = shape.or_null()
        return shape

    def handler(self, visible: Visible, depth: int, shape: Shape) -> dict[str, Any]:
        handler: dict[str, Any] = {}
        inner = dict(visible)
        if self.chance(0.4):
            handler["codes"] = [self.random.choice(("busy", "broken"))]
        if self.budget > 0 and self.chance(0.6):
            handler["steps"] = self.list(inner, depth + 1, 2)
        result = self.literal_of(shape) if self.chance(0.5) else None
        if result is not None:
            handler["result"] = result
        return handler or {"codes": ["busy"]}

    def literal_of(self, shape: Shape) -> Any:
        """A literal that fits, or None where there is none to be had."""
        if shape.kind == "record":
            parts = {name: self.literal_of(field) for name, field, optional in shape.fields if not optional}
            if any(part is None for part in parts.values()):
                return None
            return {**parts, **{name: None for name, _, optional in shape.fields if optional}}
        known = {"string": "z", "integer": 0, "boolean": True, "list": [], "any": {"x": "s?"}}
        return shape.members[0] if shape.kind == "enum" else known.get(shape.kind)

    def action(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        name = "form" if self.chance(0.1) else self.random.choice(list(ACTIONS))
        output, arguments = ACTIONS[name]
        given = {each: self.argument(visible, shape) for each, shape in arguments.items()}
        return {f"lab.{name}": given}, NULL if output is None else output

    def argument(self, visible: Visible, shape: Shape) -> Any:
        if shape.kind == "record":
            return {name: self.argument(visible, field) for name, field, _ in shape.fields}
        if shape.kind == "string" and self.chance(0.2):
            return "x-{{ " + self.text(visible) + " }}"
        return self.whole(self.text(visible) if shape.kind == "string" else self.integer(visible))

    def let(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        value, shape = self.typed_value(visible)
        return {"wf.let": {"v": value}}, Shape("record", fields=(("v", shape, False),))

    def end(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        if self.chance(0.5):
            return {"wf.stop": {"reason": "r", "result": self.value(visible)}}, NULL
        return {"wf.fail": {"code": "x"}}, NULL

    def branch(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        body: dict[str, Any] = {"wf.if": self.whole(self.condition(visible))}
        scopes = [self.scope(body, "then", visible, depth)]
        if self.chance(0.5):
            scopes.append(self.scope(body, "else", visible, depth))
        self.same_id(body, scopes)
        return body, _union(scopes)

    def same_id(self, body: dict[str, Any], scopes: list[Visible]) -> None:
        """Let both branches bind one id, when their last steps have one shape."""
        if "else" not in body or not self.chance(0.6):
            return
        (then_id,), (else_id,) = body["then"][-1], body["else"][-1]
        scopes[1][then_id] = scopes[1].pop(else_id)
        body["else"][-1] = {then_id: body["else"][-1][else_id]}

    def scope(self, body: dict[str, Any], key: str, visible: Visible, depth: int) -> Visible:
        inner = dict(visible)
        body[key] = self.list(inner, depth + 1, 2)
        return {name: shape for name, shape in inner.items() if name not in visible}

    def switch(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        kinds = [path for path in _paths(visible) if path[1].kind == "enum"]
        if not kinds:
            return self.branch(visible, depth)
        path, shape = self.random.choice(kinds)
        cases: dict[str, Any] = {}
        body: dict[str, Any] = {"wf.switch": self.whole(self.reference(path, visible)), "cases": cases}
        wanted = shape.members if self.chance(0.6) else shape.members[:1]
        scopes = [self.scope(cases, member, visible, depth) for member in wanted]
        if self.chance(0.4):
            scopes.append(self.scope(body, "default", visible, depth))
        return body, _union(scopes)

    def group(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        body: dict[str, Any] = {}
        inner = self.scope(body, "wf.group", visible, depth)
        return body, _record(inner)

    def parallel(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        branches: dict[str, Any] = {}
        tolerant = self.chance(0.6)
        shapes = {name: _record(self.scope(branches, name, visible, depth)) for name in ("left", "right")}
        body: dict[str, Any] = {"wf.parallel": branches}
        if tolerant:
            body["on_branch_fail"] = "continue"
            shapes = {name: shape.or_null() for name, shape in shapes.items()}
        return body, _record(shapes)

    def loop(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        lists = [path for path in _paths(visible) if path[1].kind == "list"]
        source: Any = ["a", "b"]
        item = TEXT
        if lists and self.chance(0.8):
            path, shape = self.random.choice(lists)
            source = self.whole(self.reference(path, visible))
            assert shape.item is not None
            item = shape.item
        self.loops += 1
        name = f"one{self.loops}"
        inner = {**visible, name: item, "index": INTEGER}
        steps = self.list(inner, depth + 1, 2)
        scope = {each: shape for each, shape in inner.items() if each not in visible and each not in (name, "index")}
        body: dict[str, Any] = {"wf.for_each": source, "as": name, "steps": steps}
        element = _record(scope)
        if self.chance(0.5):
            body["on_iteration_fail"] = "continue"
            element = element.or_null()
        return body, list_of(element)

    def wait(self, visible: Visible, depth: int) -> tuple[dict[str, Any], Shape]:
        key = "{{ run.id }}" if self.chance(0.7) else self.whole(self.text(visible))
        body: dict[str, Any] = {"wf.wait_for": "lab.signal", "match": {"key": key}, "timeout": "1h"}
        inner: Visible = {}
        if self.chance(0.4):
            inner = self.scope(body, "steps", visible, depth)
        return body, _record({"status": STATUS, "event": PAYLOAD.or_null(), **inner})

    # -- expressions

    @staticmethod
    def whole(text: str) -> str:
        return "{{ " + text + " }}"

    def reference(self, path: tuple[str, ...], visible: Visible) -> str:
        """A path as text, with `.` or `?.` between, now and then in parentheses."""
        text = path[0]
        shape = visible[path[0]]
        for name in path[1:]:
            optional = self.chance(0.35 if shape.nullable else 0.05)
            if name == "[]":
                assert shape.item is not None
                text, shape = f"{text}[0]", shape.item
                continue
            text += f"{'?.' if optional else '.'}{name}"
            shape = shape.field(name) if shape.kind in ("record", "forms") else OPAQUE
            if self.chance(0.06):
                text = f"({text})"
        return text

    def pick(self, visible: Visible, *kinds: str) -> str | None:
        """A reference of one of the kinds; those that may be null more often."""
        found = [
            (path, shape)
            for path, shape in _paths(visible)
            # Nothing is known of null in what is read of `any`.
            if (shape.kind in kinds if kinds else shape.kind not in ("opaque", "mixed"))
            and (shape.nullable or shape.kind != "any")
        ]
        if not found:
            return None
        recent = [*visible][-2:]
        weights = [(3 if shape.nullable else 1) * (4 if path[0] in recent else 1) for path, shape in found]
        path, _ = self.random.choices(found, weights)[0]
        return self.reference(path, visible)

    def text(self, visible: Visible) -> str:
        reference = self.pick(visible, *TEXTS)
        if reference is None or self.chance(0.1):
            return "'lit'"
        roll = self.random.random()
        if roll < 0.15:
            return f"{reference} ?? 'none'"
        if roll < 0.22:
            return f"{reference} | default({self.text(visible)})"
        if roll < 0.3:
            return f"({reference} + '!') | upper"
        if roll < 0.36:
            return f"({reference} ?? {self.pick(visible, *TEXTS)}) ?? 'none'"
        return reference

    def integer(self, visible: Visible) -> str:
        reference = self.pick(visible, "integer")
        roll = self.random.random()
        rows = self.pick(visible, "list") if roll < 0.3 else None
        if rows is not None:
            return f"{rows} | length"
        if reference is None or roll < 0.4:
            return "1"
        if roll < 0.55:
            return f"({reference} ?? 0) + 1"
        return f"{reference} + 1" if roll < 0.7 else reference

    def typed_value(self, visible: Visible) -> tuple[Any, Shape]:
        roll = self.random.random()
        if roll < 0.2:
            return self.whole(self.condition(visible)), BOOLEAN
        if roll < 0.35:
            return self.whole(self.integer(visible)), INTEGER
        if roll < 0.55:
            return self.whole(self.text(visible)), TEXT.or_null()
        found = list(_paths(visible))
        if not found:
            return "lit", STRING
        path, shape = self.random.choice(found)
        return self.whole(self.reference(path, visible)), shape.or_null()

    def value(self, visible: Visible) -> Any:
        return self.typed_value(visible)[0]

    def condition(self, visible: Visible, depth: int = 0) -> str:
        roll = self.random.random()
        if depth < 2 and roll < 0.3:
            op = self.random.choice(("and", "or"))
            return f"({self.condition(visible, depth + 1)} {op} {self.condition(visible, depth + 1)})"
        if depth < 2 and roll < 0.38:
            return f"not {self.condition(visible, depth + 1)}"
        if roll < 0.68:
            reference = self.pick(visible)
            if reference is not None:
                op = self.random.choice(("==", "!="))
                return f"{reference} {op} null" if self.chance(0.85) else f"null {op} {reference}"
        waits = any(path[-1] == "status" for path, _ in _paths(visible))
        if roll < (0.94 if waits else 0.82):
            return self.comparison(visible)
        reference = self.pick(visible, "boolean")
        if reference is None:
            return self.random.choice(("true", "false")) if self.chance(0.2) else self.comparison(visible)
        return f"({reference} ?? false)" if self.chance(0.3) else reference

    def comparison(self, visible: Visible) -> str:
        enums = [path for path in _paths(visible) if path[1].kind == "enum"]
        if not enums:
            reference = self.pick(visible, "string")
            return "run.id == 'x'" if reference is None else f"{reference} == 's'"
        weights = [8 if path[-1] == "status" else 1 for path, _ in enums]
        path, shape = self.random.choices(enums, weights)[0]
        reference = self.reference(path, visible)
        member = self.random.choice(shape.members)
        roll = self.random.random()
        if roll < 0.15:
            return f"{reference} in ['{member}']"
        if roll < 0.25:
            return f"'{member}' == {reference}"
        return f"{reference} {self.random.choice(('==', '!='))} '{member}'"


def _record(fields: Visible) -> Shape:
    return Shape("record", fields=tuple((name, shape, False) for name, shape in fields.items()))


def _union(scopes: list[Visible]) -> Shape:
    """The union of branches; an id whose shapes differ is ``mixed``, and nothing reads more of it."""
    fields: Visible = {}
    spoiled = set()
    for scope in scopes:
        for name, shape in scope.items():
            if name in fields and fields[name].or_null() != shape.or_null():
                spoiled.add(name)
            fields[name] = shape.or_null()
    return _record({name: MIXED if name in spoiled else shape for name, shape in fields.items()})


def _paths(visible: Visible) -> list[tuple[tuple[str, ...], Shape]]:
    """Every reference that can be written, at most five links long."""
    found: list[tuple[tuple[str, ...], Shape]] = []
    stack: list[tuple[tuple[str, ...], Shape]] = [((name,), shape) for name, shape in visible.items()]
    while stack:
        path, shape = stack.pop()
        found.append((path, shape))
        if len(path) > 5:
            continue
        if shape.kind == "list" and shape.item is not None:
            stack.append(((*path, "[]"), shape.item))
        elif shape.kind == "any":
            stack.append(((*path, "x"), OPAQUE))
        names = dict.fromkeys(name for each in (shape, *shape.forms) for name, _, _ in each.fields)
        stack.extend(((*path, name), shape.field(name)) for name in names)
    return [each for each in found if each[0] != ("inputs",)]


def _block(steps: list[dict[str, Any]], indent: int) -> str:
    """Steps as YAML: lists of steps as blocks, everything else as JSON."""
    text = ""
    pad = " " * indent
    for step in steps:
        ((name, body),) = step.items()
        text += f"{pad}- {name}:\n"
        for key, value in body.items():
            text += _entry(key, value, indent + 6)
    return text


def _entry(key: str, value: Any, indent: int) -> str:
    pad = " " * indent
    if key in ("then", "else", "default", "steps", "wf.group"):
        return f"{pad}{key}:\n{_block(value, indent + 2)}"
    if key in ("cases", "wf.parallel"):
        return f"{pad}{key}:\n" + "".join(
            f"{pad}  {name}:\n{_block(steps, indent + 4)}" for name, steps in value.items()
        )
    if key == "catch":
        text = f"{pad}{key}:\n"
        for handler in value:
            entries = "".join(_entry(each, part, indent + 4) for each, part in handler.items())
            text += f"{pad}  - " + entries.lstrip()
        return text
    return f"{pad}{key}: {json.dumps(value)}\n"
