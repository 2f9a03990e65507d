"""Findings of files that are not open: ``workspace/diagnostic``."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types

from lsp_server.handlers.diagnostics import REQUESTS

BROKEN = 'workfile: "1.0"\nname: a\nsteps:\n  - s: { no.such: {} }\n'


def ask(server: Any, *known: types.PreviousResultId) -> dict[str, Any]:
    params = types.WorkspaceDiagnosticParams(list(known))
    report = asyncio.run(REQUESTS[types.WORKSPACE_DIAGNOSTIC](server.server, params))
    return {item.uri.rpartition("/")[2]: item for item in report.items}


def test_every_file_of_the_folders_has_its_findings(server: Any, files: Any) -> None:
    files.write("a.workfile.yaml", BROKEN)
    server.start({"textDocument": {"diagnostic": {}}})
    first = ask(server)
    assert {"a.workfile.yaml", "pay.connector.yaml"} <= first.keys()
    broken = first["a.workfile.yaml"]
    assert (broken.kind, len(broken.items)) == ("full", 1)
    again = ask(server, types.PreviousResultId(broken.uri, broken.result_id))
    assert again["a.workfile.yaml"].kind == "unchanged"


def test_a_file_that_is_gone_has_none(server: Any, files: Any) -> None:
    server.start({"textDocument": {"diagnostic": {}}})
    gone = ask(server, types.PreviousResultId(files.uri("gone.workfile.yaml"), "x"))["gone.workfile.yaml"]
    assert (gone.kind, gone.items) == ("full", [])
