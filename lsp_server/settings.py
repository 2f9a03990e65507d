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
    """All settings; what is not set has its default, what is of the wrong kind too."""

    inlay_hints: InlayHints = field(default_factory=InlayHints)

    @classmethod
    def of(cls, options: Any) -> Settings:
        """The settings of a JSON value: ``{"inlayHints": {"types": false}}``, alone or below ``workfile``."""
        if isinstance(options, dict) and isinstance(options.get("workfile"), dict):
            options = options["workfile"]
        given = options.get("inlayHints") if isinstance(options, dict) else None
        if not isinstance(given, dict):
            return cls()
        names = [each.name for each in fields(InlayHints)]
        return cls(InlayHints(**{name: given[name] for name in names if isinstance(given.get(name), bool)}))
