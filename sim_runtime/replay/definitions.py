"""Which definition a history is held against: the one that it pinned, or a Workfile from a file.

A pinned definition is made of the header alone, whatever became of the files. A file stands for the Workfile of its
name: the root's, or that of a child run, which is then put into the pinned rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.check import check_file, engine_for
from analyzer.expressions.times import time_zone_version
from analyzer.model.nodes import Workflow
from analyzer.workspace.project import Project
from sim_runtime.core.compiling import CannotRun, definition_of
from sim_runtime.core.definition import Definition
from sim_runtime.history.canonical import digest_of
from sim_runtime.history.header import Header, missing_content
from sim_runtime.history.pins import called_by, pinned_project, pins_of
from sim_runtime.history.refusal import Refusal, Refused

if TYPE_CHECKING:
    from sim_runtime.simulation import Prepared

Json: TypeAlias = dict[str, Any]

#: What a pinned Workfile lacks, by the rule that finds it, as the pins name it.
_UNPINNED: Final = {"unknown-connector": "manifests", "unknown-workflow": "children"}
#: The one filter that reads time zone data.
_ZONED = "format_time"


@dataclass(slots=True)
class Chosen:
    """A definition to hold histories against. ``pins`` are those of a run of it; ``file`` is the Workfile that stands
    in it for the one of its name, None when all is as pinned."""

    definition: Definition
    workflow: Workflow
    project: Project
    pins: Json
    file: Workflow | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether it is the history's own."""
        return self.file is None


@dataclass(slots=True)
class Definitions:
    """Definitions by what they pin, each made once; ``other`` is the Workfile that stands for its name."""

    other: Prepared | None = None
    _known: dict[str, Chosen] = field(default_factory=dict)
    _own: Chosen | None = None

    def of(self, header: Header) -> Chosen:
        """The definition for a history. Raises ``Refused``."""
        other = self.other
        if other is None:
            return self.pinned(header.pins)
        name = other.workflow.name
        if name == header.workflow:
            if self._own is None:
                pins = pins_of(other.workflow, other.project)
                self._own = Chosen(other.definition, other.workflow, other.project, pins, other.workflow)
            return self._own
        if name not in header.pins["children"]:
            raise _refused(
                "unsupported_definition",
                f"it is of `{header.workflow}`, which does not call `{name}`; the Workfile given stands for `{name}`",
            )
        _refuse_missing(header.pins)
        found = self.pinned(with_child(header.pins, pins_of(other.workflow, other.project), str(name)))
        return Chosen(found.definition, found.workflow, found.project, found.pins, other.workflow)

    def concerns(self, header: Header) -> bool:
        """Whether a history is of the given Workfile, or of one that calls it."""
        other = self.other
        return other is None or other.workflow.name in (header.workflow, *header.pins["children"])

    def pinned(self, pins: Json) -> Chosen:
        """The definition that pins make. Raises ``Refused``."""
        _refuse_missing(pins)
        key = dumps(pins, separators=(",", ":"))  # no digest: the order of maps counts
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _resolved(pins)
        return found


def chosen(header: Header, other: Prepared | None = None) -> Chosen:
    """The definition for one history. Raises ``Refused``."""
    return Definitions(other).of(header)


def _refuse_missing(pins: Json) -> None:
    missing = missing_content(pins)
    if missing:
        words = ", ".join(f"`{each}`" for each in missing)
        raise _refused("absent", f"the pinned content of {words} is not in its header", missing)


def _resolved(pins: Json) -> Chosen:
    with pinned_project(pins) as (project, path):
        workflow = engine_for(project).typed(path)
        if workflow is None:
            raise _refused("unsupported_definition", "the pinned Workfile cannot be analysed")
        for each in (workflow, *called_by(workflow).values()):
            errors = [finding for finding in check_file(project, each.path).findings if finding.severity == "error"]
            if errors:
                name = each.name or "the pinned Workfile"
                first = errors[0].message.rstrip(".")
                if errors[0].rule in _UNPINNED:
                    missing = (_UNPINNED[errors[0].rule],)
                    raise _refused("absent", f"its pins lack some of what `{name}` uses: {first}", missing)
                raise _refused("unsupported_definition", f"this release does not run `{name}` as it is pinned: {first}")
        try:
            return Chosen(definition_of(workflow, project), workflow, project, pins)
        except CannotRun as error:
            raise _refused("unsupported_definition", f"the pinned definition cannot be run: {error}") from None


def with_child(pins: Json, fresh: Json, name: str) -> Json:
    """``pins`` in which the child workflow ``name`` is the one that ``fresh`` pins, with everything that it needs."""
    content = {**pins["content"], **fresh["content"]}
    own = f"{name}/"
    manifests = {key: each for key, each in pins["manifests"].items() if not key.startswith(own)}
    overlays = {key: each for key, each in pins["overlays"].items() if not key.startswith(own)}
    for key, digest in fresh["manifests"].items():
        overlay = fresh["overlays"].get(key)
        place = key
        if "/" not in key and key in manifests and (manifests[key], overlays.get(key)) != (digest, overlay):
            place = own + key
        manifests[place] = digest
        overlays.pop(place, None)
        if overlay is not None:
            overlays[place] = overlay
    configuration = _connections(fresh) | _connections(pins)
    merged = {"connections": configuration}
    digest = digest_of(merged)
    content[digest] = merged
    return {
        **pins,
        "manifests": manifests,
        "overlays": overlays,
        "children": {**pins["children"], **fresh["children"], name: fresh["definition"]},
        "configuration": digest,
        "content": content,
    }


def _connections(pins: Json) -> Json:
    found: Json = pins["content"].get(pins.get("configuration"), {}).get("connections", {})
    return found


def refuse_other_zones(header: Header) -> None:
    """Refuse a pinned evaluation that would read other time zone data than was pinned."""
    if header.pins["timezone"] == time_zone_version() or not uses_zones(header.pins):
        return
    raise _refused(
        "unsupported_definition",
        f"it uses `{_ZONED}` under the time zone data {header.pins['timezone']!s:.40}, and this release has "
        f"{time_zone_version()}",
        ("timezone",),
    )


def uses_zones(pins: Json) -> bool:
    """Whether a pinned definition may read time zone data."""
    content = pins.get("content", {})
    return any(_mentions(content.get(digest)) for digest in (pins["definition"], *pins["children"].values()))


def _mentions(content: Any) -> bool:
    stack = [content]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            if _ZONED in each:
                return True
        elif isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
    return False


def _refused(reason: str, message: str, missing: tuple[str, ...] = ()) -> Refused:
    return Refused(Refusal(reason, "header", f"The history cannot be used: {message}.", missing))
