"""``workspace/executeCommand``: what the server does for a client that asks by name.

The names begin with ``workfile.server.`` so that a client can keep ``workfile.…`` for commands of its own. Those that
take long run beside everything else; the client sees their progress and can cancel them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from lsp_server.convert import Converter
from lsp_server.features.code_lenses import scenarios_of
from lsp_server.features.graph import drawing
from lsp_server.protocol import INVALID_PARAMS, Refused
from lsp_server.running import Work, explore, impact, simulate, test
from lsp_server.uris import path_of

if TYPE_CHECKING:
    from lsp_server.server import WorkfileServer


def execute(server: WorkfileServer, params: types.ExecuteCommandParams) -> Any:
    """Carry a command out. Raises ``Refused``."""
    work = LONG_COMMANDS.get(params.command)
    if work is not None:
        return asyncio.ensure_future(work(server, list(params.arguments or ()), params.work_done_token))
    command = SHORT_COMMANDS.get(params.command)
    if command is None:
        known = ", ".join(f"`{name}`" for name in COMMANDS)
        raise Refused(f"There is no command `{params.command}`; there is {known}.", INVALID_PARAMS)
    return command(server, list(params.arguments or ()))


def _graph(server: WorkfileServer, arguments: list[Any]) -> Any:
    """``[URI, {"redo": bool}?]`` to the graph in DOT and the places of its parts; null where nothing can be drawn."""
    uri = arguments[0] if arguments else None
    options = arguments[1] if len(arguments) > 1 else {}
    if not isinstance(uri, str) or not isinstance(options, dict):
        raise Refused("`workfile.server.graph` takes the URI of a file and a map of options.", INVALID_PARAMS)
    path = path_of(uri)
    document = server.files.open.get(path)
    snapshot = server.files.snapshot(path) if document is None or document.ours else None
    if snapshot is None:
        return None
    drawn = drawing(snapshot, server.files.check(path).findings, options.get("redo") is True)
    if drawn is None:
        return None
    converter = Converter(server.files, {path: uri})
    places = [
        {
            "path": place.path,
            "kind": place.kind,
            "range": converter.range(path, place.whole),
            "keyRange": converter.range(path, place.name),
        }
        for place in drawn.places
    ]
    return {"dot": drawn.dot, "places": places}


def _scenarios(server: WorkfileServer, arguments: list[Any]) -> Any:
    """``[URI]`` of a Workfile to the URIs of the scenarios that run it."""
    uri = arguments[0] if arguments else None
    if not isinstance(uri, str):
        raise Refused("`workfile.server.scenarios` takes the URI of a Workfile.", INVALID_PARAMS)
    path = path_of(uri)
    snapshot = server.files.snapshot(path)
    converter = Converter(server.files, {path: uri})
    return [] if snapshot is None else [converter.uri(each) for each in scenarios_of(snapshot, server.files)]


SHORT_COMMANDS: Final[dict[str, Callable[[WorkfileServer, list[Any]], Any]]] = {
    "workfile.server.graph": _graph,
    "workfile.server.scenarios": _scenarios,
}
LONG_COMMANDS: Final[dict[str, Callable[[WorkfileServer, list[Any], Any], Work]]] = {
    "workfile.server.simulate": simulate,
    "workfile.server.test": test,
    "workfile.server.explore": explore,
    "workfile.server.impact": impact,
}
COMMANDS: Final = (*SHORT_COMMANDS, *LONG_COMMANDS)
