"""Completion in the debug console: commands and what stands behind them, names, members, filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.values import Marked, Value
from lsp_server.dap.console import COMMANDS
from lsp_server.dap.expressions import BadExpression, read_expression
from lsp_server.dap.looking import scope_of
from lsp_server.dap.places import bound_at
from lsp_server.dap.session import Session
from lsp_server.dap.variables import type_of
from sim_runtime.core.looking import holds
from sim_runtime.core.reading import Scope
from sim_runtime.history.paths import shown_path

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

MAX_TARGETS: Final = 200
_COMMAND: Final = re.compile(r"\s*([a-z]*)\Z")
_BEHIND: Final = re.compile(r"\s*(deliver|decide)\s+([^\s]*)\Z")
_MEMBER: Final = re.compile(r"([A-Za-z_][\w.\[\]\"'?]*?)(\??\.)([A-Za-z_]\w*)?\Z")
_FILTER: Final = re.compile(r"\|\s*([a-z_]*)\Z")
_NAME: Final = re.compile(r"(?:\A|[^\w.])([A-Za-z_]\w*)?\Z")


def completions(session: Session, given: Arguments) -> Json:
    """What can be typed at a place of the console."""
    lines = given["text"].split("\n")
    line = given.get("line", session.client.lines_from) - session.client.lines_from
    text = lines[line] if 0 <= line < len(lines) else lines[-1]
    column = given["column"] - session.client.columns_from
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * max(column, 0)].decode("utf-16-le", "replace")
    found = list(_targets(session, before, given.get("frameId")))[:MAX_TARGETS]
    return {"targets": found}


def _targets(session: Session, before: str, frame_id: int | None) -> Iterator[Json]:
    behind = _BEHIND.match(before)
    if behind is not None:
        names = _triggers(session) if behind[1] == "deliver" else _holds(session)
        yield from _matching(names, behind[2], "value")
        return
    command = _COMMAND.match(before)
    if command is not None:
        words = {name: each.words for name, each in COMMANDS.items()}
        yield from _matching(words, command[1], "keyword")
    if session.stop is None:
        return
    scope = scope_of(session, frame_id)
    filter_ = _FILTER.search(before)
    member = _MEMBER.search(before)
    if filter_ is not None:
        yield from _matching(dict.fromkeys(FILTERS, "filter"), filter_[1], "function")
    elif member is not None:
        yield from _matching(_members(member[1], scope), member[3] or "", "property")
    else:
        name = _NAME.search(before)
        if name is not None:
            yield from _matching(_names(scope), name[1] or "", "variable")


def _matching(names: dict[str, str], prefix: str, kind: str) -> Iterator[Json]:
    for name, detail in names.items():
        if name.startswith(prefix):
            yield {"label": name, "text": name, "type": kind, "detail": detail, "length": _length(prefix)}


def _length(prefix: str) -> int:
    """How much is replaced before the cursor, in UTF-16 code units."""
    return len(prefix.encode("utf-16-le", "surrogatepass")) // 2


def _triggers(session: Session) -> dict[str, str]:
    return dict.fromkeys(session.course.definition.payloads, "trigger")


def _holds(session: Session) -> dict[str, str]:
    return {shown_path(each.id) or '""': each.hold.reason for each in holds(session.course.state)}


def _names(scope: Scope) -> dict[str, str]:
    found = {each.name: type_of(each.value) for each in bound_at(scope)}
    return {**found, "inputs": "map", "run": "map"}


def _members(text: str, scope: Scope) -> dict[str, str]:
    try:
        value: Value = evaluate(read_expression(text), scope)
    except (BadExpression, Fault, KeyError):
        return {}
    if isinstance(value, Marked):
        value = value.value
    return {name: type_of(each) for name, each in value.items()} if isinstance(value, dict) else {}
