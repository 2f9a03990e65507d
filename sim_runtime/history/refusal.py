"""Why a history cannot be used (interfaces page, "A refusal"; requirement R-GEN-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

REASONS: Final[dict[str, str]] = {
    "absent": "Something that is needed is not there: the file, a record, a field of a record, pinned content.",
    "withheld": "A value that the operation needs was withheld; `missing` says of which class.",
    "corrupt": "The file is not what was written: not JSON, or a digest that does not fit.",
    "inconsistent": "The digests fit, and the records contradict each other or the header.",
    "unsupported_version": "It is of a format or Standard version that this release does not know.",
    "unsupported_definition": "The definition uses something that this release does not run.",
}

#: The classes of withheld values.
CLASSES: Final = ("inputs", "trigger", "arguments", "result", "event.payload", "operator.decision")
WITHHELD: Final = "$withheld"

#: Text fields that people or expressions wrote, where a value that is withheld may have got into.
WRITTEN: Final = frozenset({"message", "key", "base", "delivery", "reason", "ends"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """``reason`` is one of ``REASONS``; ``boundary`` the first record that cannot be used, ``{seq, kind, path}``, or
    ``"header"``; ``missing`` the names of what is absent or the classes of what is withheld."""

    reason: str
    boundary: dict[str, Any] | str
    message: str
    missing: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The object of the interfaces page."""
        return {
            "reason": self.reason,
            "boundary": self.boundary,
            "missing": list(self.missing),
            "message": self.message,
        }


class Refused(Exception):
    """A history is refused; the text is the refusal's message."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def is_withheld(value: Any) -> bool:
    """Whether a JSON value stands for a withheld one."""
    return isinstance(value, dict) and value.keys() == {WITHHELD} and value[WITHHELD] in CLASSES


def refused_from(boundary: dict[str, Any], reason: str, message: str, missing: tuple[str, ...] = ()) -> Refusal:
    """The refusal of a history from a record ``{seq, kind, path}`` on, of which kind and path may not be known;
    ``message`` has no full stop. The run itself has no path."""
    kind, path = boundary["kind"], boundary["path"]
    where = f" at `{path}`" if path else " of the run" if path is not None else ""
    place = f"record {boundary['seq']}" + (f" (`{kind}`{where})" if kind is not None else "")
    return Refusal(reason, boundary, f"The history cannot be used from {place} on: {message}.", missing)
