"""What the user can set: by ``initializationOptions`` or ``workspace/didChangeConfiguration``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class InlayHints:
    """Which inlay hints are shown."""

    types: bool = True
    nullability: bool = True
    redo: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; what is not set has its default, what is of the wrong kind too.

    ``code_lens``: whether lenses are shown. ``client_commands``: the client has commands of its own for what lenses do
    (``workfile.simulate``, ``workfile.explore``, ``workfile.runScenario``, ``workfile.debugScenario``), and shows how
    they went.
    """

    inlay_hints: InlayHints = field(default_factory=InlayHints)
    code_lens: bool = True
    client_commands: bool = False

    @classmethod
    def of(cls, options: Any, before: Settings | None = None) -> Settings:
        """The settings of a JSON value: ``{"inlayHints": {"types": false}}``, alone or below ``workfile``.

        ``clientCommands`` says what the client can do and is only told at the start: later it stays as ``before``.
        """
        if isinstance(options, dict) and isinstance(options.get("workfile"), dict):
            options = options["workfile"]
        if not isinstance(options, dict):
            options = {}
        given = options.get("inlayHints")
        given = given if isinstance(given, dict) else {}
        names = [each.name for each in fields(InlayHints)]
        hints = InlayHints(**{name: given[name] for name in names if isinstance(given.get(name), bool)})
        told = options.get("clientCommands") is True or (before is not None and before.client_commands)
        return cls(hints, options.get("codeLens") is not False, told)
