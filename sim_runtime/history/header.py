"""The header of a history: which run, of which workflow, and what it was started with (its pins).

A pin is the digest of the canonical content of a file; ``pins.content`` holds the content itself, so that a run goes on
with what it began with although the files have changed or are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from json import dumps
from typing import Any, Final

from sim_runtime.history.canonical import NotCanonical, canonical_bytes, digest_of
from sim_runtime.history.records import FORMAT, STANDARD_VERSION
from sim_runtime.history.refusal import Refusal, Refused

Json = dict[str, Any]

HEADER_KEYS: Final[dict[str, str]] = {
    "format": f"The format of the file, `{FORMAT}`.",
    "standard_version": "The version of the Standard that the run is under.",
    "run": "The run's id.",
    "workflow": "The workflow's name, stable over the life of the run.",
    "pins": "What the run was started with; see below.",
    "lineage": "`{run, seq}` of the history that a successor run comes from, or null.",
    "digest": "The SHA-256 of the header's canonical JSON without this field: the chain begins with it.",
}
PIN_KEYS: Final[dict[str, str]] = {
    "definition": "Digest of the Workfile's content.",
    "manifests": "Connector name to digest of its manifest. Where a child run's workflow means another manifest by the "
    "same name, that one stands under `WORKFLOW/CONNECTOR`.",
    "overlays": "The same for the overlays, where there are any.",
    "children": "Workflow name to digest, of all workflows that are called, at any depth.",
    "timezone": "The release of the time zone data, such as `2026a`.",
    "configuration": "Digest of what the deployment says of the connections of these connectors.",
    "content": "Digest to content, for all digests above; maps stand in the order of the file.",
}
OPTIONAL_PINS: Final = ("configuration", "content")


@dataclass(slots=True)
class Header:
    """The first line of a history, without its digest."""

    run: str
    workflow: str
    pins: Json
    lineage: Json | None = None
    standard_version: str = STANDARD_VERSION
    format: str = FORMAT
    _digest: str = field(default="", repr=False, compare=False)

    def json(self) -> Json:
        """The header as JSON data, without its digest."""
        return {
            "format": self.format,
            "standard_version": self.standard_version,
            "run": self.run,
            "workflow": self.workflow,
            "pins": self.pins,
            "lineage": self.lineage,
        }

    @property
    def digest(self) -> str:
        """The digest that the chain begins with."""
        if not self._digest:
            self._digest = digest_of(self.json())
        return self._digest

    def line(self) -> str:
        """The header as the first line of an exported history, without a line break.

        The pinned content stands in the order of the files: branches act in the order of the document, and what faults
        first is what stands first. Digests do not see that order.
        """
        json_ = {**self.json(), "digest": self.digest}
        parts = (f'"{key}":{dumps(json_[key], ensure_ascii=False, separators=(",", ":"))}' for key in HEADER_KEYS)
        return "{" + ",".join(parts) + "}"


def canonical_line(json: Json, order: tuple[str, ...]) -> str:
    """One line of JSON: the fields in a given order, so that people find them, each value canonical."""
    parts = (f'"{key}":{canonical_bytes(json[key]).decode()}' for key in order if key in json)
    return "{" + ",".join(parts) + "}"


def header_of(json: Json) -> Header:
    """The header of a parsed first line, checked. Raises ``Refused``."""
    absent = tuple(key for key in HEADER_KEYS if key not in json)
    version, format_ = json.get("standard_version"), json.get("format")
    if "format" not in absent and format_ != FORMAT:
        raise _refused("unsupported_version", f"its format is `{_shown(format_)}`, and only `{FORMAT}` is known")
    if "standard_version" not in absent and version != STANDARD_VERSION:
        message = f"it is of the Standard version `{_shown(version)}`, and only `{STANDARD_VERSION}` is supported"
        raise _refused("unsupported_version", message)
    if absent:
        raise _refused("absent", f"its header lacks {', '.join(f'`{key}`' for key in absent)}", absent)
    header = Header(json["run"], json["workflow"], json["pins"], json["lineage"])
    try:
        digest = digest_of({key: value for key, value in json.items() if key != "digest"})
    except NotCanonical as error:
        raise _refused("corrupt", f"its header is not canonical JSON: {error}") from None
    if digest != json["digest"]:
        raise _refused("corrupt", "the header's digest does not fit its content")
    if json.keys() - HEADER_KEYS.keys():
        raise _refused("inconsistent", f"its header has an unknown field `{min(json.keys() - HEADER_KEYS.keys())}`")
    if not (isinstance(header.run, str) and isinstance(header.workflow, str)):
        raise _refused("inconsistent", "`run` and `workflow` of its header are strings")
    _check_lineage(header.lineage)
    _check_pins(header.pins)
    return header


def _check_lineage(lineage: Any) -> None:
    if lineage is None:
        return
    sound = isinstance(lineage, dict) and isinstance(lineage.get("run"), str) and type(lineage.get("seq")) is int
    if not sound:
        raise _refused("inconsistent", "`lineage` of its header is null or `{run, seq}`")


def _check_pins(pins: Any) -> None:
    if not isinstance(pins, dict):
        raise _refused("inconsistent", "`pins` of its header is a map")
    absent = tuple(key for key in PIN_KEYS if key not in pins and key not in OPTIONAL_PINS)
    if absent:
        raise _refused("absent", f"the pins lack {', '.join(f'`{key}`' for key in absent)}", absent)
    maps = [pins[key] for key in ("manifests", "overlays", "children")] + [pins.get("content", {})]
    if not all(isinstance(each, dict) for each in maps) or not isinstance(pins["definition"], str):
        raise _refused("inconsistent", "the pins are a digest, maps of digests, and their content")
    for digest, content in pins.get("content", {}).items():
        if digest_of(content) != digest:
            raise _refused("corrupt", f"pinned content does not fit its digest `{digest[:12]}…`")


def missing_content(pins: Json) -> tuple[str, ...]:
    """The names of the pins whose content is not there: ``definition``, ``manifests.payments`` …"""
    content = pins.get("content", {})
    singles = ("definition", *(key for key in ("configuration",) if key in pins))
    missing = [key for key in singles if pins[key] not in content]
    for group in ("manifests", "overlays", "children"):
        missing.extend(f"{group}.{name}" for name, digest in pins[group].items() if digest not in content)
    return tuple(missing)


def _refused(reason: str, message: str, missing: tuple[str, ...] = ()) -> Refused:
    return Refused(Refusal(reason, "header", f"The history cannot be used: {message}.", missing))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
