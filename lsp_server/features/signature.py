"""Signature help: the arguments of an action while they are written, and those of a filter."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.expressions.ast import Filter
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.reports import Site
from analyzer.expressions.types import describe
from analyzer.expressions.walk import walk
from analyzer.syntax.nodes import Mapping, Scalar
from analyzer.workspace.manifests import ActionDecl
from lsp_server.nodes import Crumb, key_text, trail
from lsp_server.scopes import interpolations
from lsp_server.shapes import Shapes, description_of, property_schema
from lsp_server.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: how it is shown in the label, and what is known of it."""

    label: str
    doc: str


@dataclass(frozen=True, slots=True)
class Signature:
    """A call; ``active`` is the number of the argument at the cursor, None when it is none of them."""

    label: str
    doc: str
    parameters: tuple[Parameter, ...]
    active: int | None


def signature(snapshot: Snapshot, offset: int) -> Signature | None:
    """The signature of the call around an offset."""
    crumbs = trail(snapshot.tree.root, offset)
    if not crumbs:
        return None
    last = crumbs[-1].node
    if isinstance(last, Scalar) and "{{" in last.text:
        found = _filter(snapshot, last, offset)
        if found is not None:
            return found
    return _action(snapshot, crumbs)


def _action(snapshot: Snapshot, crumbs: list[Crumb]) -> Signature | None:
    shapes = Shapes(snapshot.kind, snapshot.workflow).along(crumbs)
    for crumb, shape in zip(reversed(crumbs), reversed(shapes), strict=True):
        call = shape.call
        if shape.kind != "typed" or call is None or call.action is None or shape.type is not call.action.input:
            continue
        parameters = tuple(
            Parameter(f"{name}{'?' if field.optional else ''}: {describe(field.type)}", _doc(call.action, name))
            for name, field in call.action.input.fields.items()
        )
        label = f"{call.reference}({', '.join(each.label for each in parameters)})"
        names = list(call.action.input.fields)
        name = key_text(crumb.entry)
        active = names.index(name) if name in names else _next(crumb, names)
        return Signature(label, call.action.doc or "", parameters, active)
    return None


def _doc(action: ActionDecl, name: str) -> str:
    return description_of(property_schema(action.input_schema, name))


def _next(crumb: Crumb, names: list[str]) -> int | None:
    """The first argument that is not given yet."""
    node = crumb.node
    given = {key_text(entry) for entry in node.entries} if isinstance(node, Mapping) else set()
    return next((number for number, name in enumerate(names) if name not in given), None)


def _filter(snapshot: Snapshot, scalar: Scalar, offset: int) -> Signature | None:
    site = Site(snapshot.source, scalar)
    for part in interpolations(scalar):
        for expr in walk(part.expr):
            if not isinstance(expr, Filter) or expr.name not in FILTERS:
                continue
            name_end = site.span(expr.name_start, expr.name_end)[1]
            end = site.span(expr.start, expr.end)[1]
            known = FILTERS[expr.name]
            if known.params and name_end < offset <= end:
                before = snapshot.text[name_end:offset]
                parameters = tuple(Parameter(param.name, " or ".join(param.takes)) for param in known.params)
                active = min(before.count(","), len(parameters) - 1)
                return Signature(known.signature, known.doc, parameters, active)
    return None
