"""Places of a Workfile where values stand, compiled: YAML with interpolations to a function of a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from analyzer.expressions.ast import Interpolation
from analyzer.expressions.evaluate import evaluate, evaluate_template
from analyzer.expressions.parser import parse_template
from analyzer.expressions.values import Value, finish
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

#: What a name reads; raises ``KeyError`` for a name that nothing binds.
Lookup: TypeAlias = Callable[[str], Value]
#: The value of a place in a scope; raises ``Fault``.
Program: TypeAlias = Callable[[Lookup], Value]


def compile_value(node: Node) -> Program:
    """The program of a YAML value: scalars, lists and maps, with interpolations anywhere inside."""
    if isinstance(node, Scalar):
        return _scalar(node)
    if isinstance(node, Sequence):
        items = [compile_value(item) for item in node.items]
        return lambda lookup: [item(lookup) for item in items]
    assert isinstance(node, Mapping)
    entries: dict[str, Program] = {}
    for entry in node.entries:
        if isinstance(entry.key, Scalar):
            entries.setdefault(entry.key.text, compile_value(entry.value))
    pairs = tuple(entries.items())
    return lambda lookup: {name: program(lookup) for name, program in pairs}


def constant(value: Value) -> Program:
    """The program that always gives ``value``."""
    return lambda _lookup: value


def _scalar(node: Scalar) -> Program:
    value = node.value
    if isinstance(value, float):
        return constant(finish(value))
    if not isinstance(value, str) or "{{" not in value:
        return constant(value)
    template = parse_template(value)
    if template.whole:
        part = template.parts[0]
        assert isinstance(part, Interpolation)
        expr = part.expr
        return lambda lookup: evaluate(expr, lookup)
    return lambda lookup: evaluate_template(template, lookup)
