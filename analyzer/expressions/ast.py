"""The expression tree. Offsets count code points of the *decoded* scalar that holds the template.

``analyzer.syntax.scalars`` turns them into places of the file (inside block scalars and escapes too).
"""

from __future__ import annotations

from typing import TypeAlias

LiteralValue: TypeAlias = str | int | float | bool | None


class Expr:
    """A part of an expression; ``start`` and ``end`` are offsets in the decoded scalar, ``end`` exclusive."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class Literal(Expr):
    """A number, string, ``true``, ``false`` or ``null``."""

    __slots__ = ("value",)

    def __init__(self, start: int, end: int, value: LiteralValue) -> None:
        super().__init__(start, end)
        self.value = value


class ListLiteral(Expr):
    """``[a, b]``."""

    __slots__ = ("items",)

    def __init__(self, start: int, end: int, items: list[Expr]) -> None:
        super().__init__(start, end)
        self.items = items


class MapItem:
    """One ``key: value`` of a map literal; the key's own span is kept for messages."""

    __slots__ = ("end", "key", "start", "value")

    def __init__(self, start: int, end: int, key: str, value: Expr) -> None:
        self.start = start
        self.end = end
        self.key = key
        self.value = value


class MapLiteral(Expr):
    """``{"a": x, b: y}``; keys are strings or bare identifiers."""

    __slots__ = ("items",)

    def __init__(self, start: int, end: int, items: list[MapItem]) -> None:
        super().__init__(start, end)
        self.items = items


class Name(Expr):
    """A root: ``inputs``, ``trigger``, ``run``, a step id, a loop name, ``error``."""

    __slots__ = ("name",)

    def __init__(self, start: int, end: int, name: str) -> None:
        super().__init__(start, end)
        self.name = name


class Member(Expr):
    """``target.name`` or ``target?.name``; ``name_start`` and ``name_end`` are the span of the name."""

    __slots__ = ("name", "name_end", "name_start", "optional", "target")

    def __init__(self, target: Expr, name: str, name_start: int, name_end: int, optional: bool) -> None:
        super().__init__(target.start, name_end)
        self.target = target
        self.name = name
        self.name_start = name_start
        self.name_end = name_end
        self.optional = optional


class Index(Expr):
    """``target[index]``."""

    __slots__ = ("index", "target")

    def __init__(self, end: int, target: Expr, index: Expr) -> None:
        super().__init__(target.start, end)
        self.target = target
        self.index = index


class Unary(Expr):
    """``not x`` or ``-x``."""

    __slots__ = ("op", "operand")

    def __init__(self, start: int, end: int, op: str, operand: Expr) -> None:
        super().__init__(start, end)
        self.op = op
        self.operand = operand


class Binary(Expr):
    """``left op right``; ``op`` is one of ``?? or and == != < <= > >= in + - * / %``."""

    __slots__ = ("left", "op", "op_end", "op_start", "right")

    def __init__(self, left: Expr, op: str, op_start: int, op_end: int, right: Expr) -> None:
        super().__init__(left.start, right.end)
        self.left = left
        self.op = op
        self.op_start = op_start
        self.op_end = op_end
        self.right = right


class Filter(Expr):
    """``target | name(args)``."""

    __slots__ = ("args", "name", "name_end", "name_start", "target")

    def __init__(self, end: int, target: Expr, name: str, name_start: int, name_end: int, args: list[Expr]) -> None:
        super().__init__(target.start, end)
        self.target = target
        self.name = name
        self.name_start = name_start
        self.name_end = name_end
        self.args = args


class Bad(Expr):
    """A stand-in where an operand is missing or unreadable; a problem was reported for it."""

    __slots__ = ()


class Problem:
    """Text inside ``{{ }}`` that does not parse."""

    __slots__ = ("end", "message", "start")

    def __init__(self, start: int, end: int, message: str) -> None:
        self.start = start
        self.end = end
        self.message = message


class Interpolation:
    """``{{ expr }}``; the span includes the braces."""

    __slots__ = ("end", "expr", "start")

    def __init__(self, start: int, end: int, expr: Expr) -> None:
        self.start = start
        self.end = end
        self.expr = expr


class Template:
    """A string with interpolations: literal text and ``Interpolation`` parts in order.

    ``whole`` when the string is one interpolation and nothing else (it keeps the value's type).
    """

    __slots__ = ("parts", "problems", "whole")

    def __init__(self, parts: list[str | Interpolation], problems: list[Problem], whole: bool) -> None:
        self.parts = parts
        self.problems = problems
        self.whole = whole

    @property
    def interpolations(self) -> list[Interpolation]:
        """The ``{{ }}`` parts in order."""
        return [part for part in self.parts if isinstance(part, Interpolation)]

    def unread(self) -> Template:
        """The same without its expressions: what stands for a template that does not parse."""
        parts = [
            Interpolation(part.start, part.end, Bad(part.expr.start, part.expr.end))
            if isinstance(part, Interpolation)
            else part
            for part in self.parts
        ]
        return Template(parts, self.problems, self.whole)
