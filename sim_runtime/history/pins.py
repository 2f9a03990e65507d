"""Pins: what a run is started with, taken from a project and, later, resolved again without it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.expressions.times import time_zone_version
from analyzer.model.nodes import Workflow, all_steps
from analyzer.syntax.nodes import Entry, Mapping, Scalar
from sim_runtime.history.canonical import ENTRIES, content_of, digest_of, yaml_of

if TYPE_CHECKING:
    from analyzer.workspace.manifests import Manifest
    from analyzer.workspace.project import Project

Json = dict[str, Any]


def pins_of(workflow: Workflow, project: Project) -> Json:
    """The pins of a run of a resolved Workfile."""
    return _Pinning(project).pins(workflow)


def called_by(workflow: Workflow) -> dict[str, Workflow]:
    """The workflows that a Workfile calls, at any depth, by name, in document order."""
    found: dict[str, Workflow] = {}
    pending = [workflow]
    while pending:
        current = pending.pop(0)
        for step in all_steps(current):
            callee = step.callee
            if callee is not None and callee.name is not None and callee.name not in found:
                found[callee.name] = callee
                pending.append(callee)
    return found


def used_connectors(workflow: Workflow) -> list[str]:
    """The connectors that a Workfile itself uses, sorted."""
    names: set[str] = set()
    for step in all_steps(workflow):
        names.update(call.connector for call in (step.call, step.undo) if call is not None)
        if step.kind == "wf.wait_for" and step.subject is not None and isinstance(step.subject.value, Scalar):
            names.add(step.subject.value.text.partition(".")[0])
    if workflow.trigger_source:
        names.add(workflow.trigger_source.partition(".")[0])
    return sorted(names)


def listed_connector(workflow: Workflow, name: str) -> Entry | None:
    """A connector's entry in a Workfile's ``connectors``."""
    connectors = workflow.root.get("connectors")
    return connectors.entry(name) if isinstance(connectors, Mapping) else None


class _Pinning:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.content: Json = {}
        self.manifests: dict[str, str] = {}
        self.overlays: dict[str, str] = {}

    def pins(self, workflow: Workflow) -> Json:
        children = called_by(workflow)
        names = set(used_connectors(workflow))
        self.connectors(workflow, "")
        for name, child in children.items():
            self.connectors(child, f"{name}/")
            names.update(used_connectors(child))
        return {
            "definition": self.pin(content_of(workflow.root)),
            "manifests": dict(sorted(self.manifests.items())),
            "overlays": dict(sorted(self.overlays.items())),
            "children": {name: self.pin(content_of(children[name].root)) for name in sorted(children)},
            "timezone": time_zone_version(),
            "configuration": self.pin(self.connections(sorted(names))),
            "content": dict(sorted(self.content.items())),
        }

    def pin(self, content: Any) -> str:
        digest = digest_of(content)
        self.content[digest] = content
        return digest

    def connectors(self, workflow: Workflow, prefix: str) -> None:
        for name in used_connectors(workflow):
            result = self.project.connector(workflow.path, name, listed_connector(workflow, name))
            manifest = result.manifest
            if manifest is not None:
                self.connector(name, prefix, manifest)

    def connector(self, name: str, prefix: str, manifest: Manifest) -> None:
        base = self.project.manifest(manifest.path)
        digest = self.pin(content_of((base or manifest).root))
        overlay = None
        if manifest.overlay_path is not None:
            document = self.project.document(manifest.overlay_path)
            overlay = None if document is None else self.pin(content_of(document.tree.root))
        key = name
        if self.manifests.get(name, digest) != digest or (
            name in self.manifests and self.overlays.get(name) != overlay
        ):
            key = prefix + name
        self.manifests[key] = digest
        if overlay is not None:
            self.overlays[key] = overlay

    def connections(self, names: list[str]) -> Json:
        found: Json = {}
        for name in names:
            declared = self.project.connections(name)
            if declared is not None:
                found[name] = {"names": list(declared.names), "default": declared.default}
        return {"connections": found}


@contextmanager
def pinned_project(pins: Json) -> Iterator[tuple[Project, str]]:
    """A project of the pinned content alone, and the path of the Workfile in it; it is gone after the block.

    Everything that a pin names must be there (``header.missing_content``).
    """
    from analyzer.workspace.config import Config, ConnectionConfig
    from analyzer.workspace.project import Project

    with tempfile.TemporaryDirectory(prefix="workfile-pins-") as folder:
        root = os.path.realpath(folder)
        path = _write(pins, root)
        configuration = pins["content"].get(pins.get("configuration"), {"connections": {}})
        connections = {
            name: ConnectionConfig(tuple(each["names"]), each["default"])
            for name, each in configuration["connections"].items()
        }
        yield Project(root, Config(root=root, connections=connections)), path


def _write(pins: Json, root: str) -> str:
    """Lay the content out: each Workfile with its connectors listed under the names of the files written here."""
    content = pins["content"]
    files: dict[str, str] = {}
    for group, suffix in (("manifests", "connector"), ("overlays", "overlay")):
        for key, digest in pins[group].items():
            files[f"{key.replace('/', '--')}.{suffix}.yaml"] = yaml_of(content[digest])
    names = {"": pins["definition"], **{f"{name}/": digest for name, digest in pins["children"].items()}}
    for prefix, digest in names.items():
        definition = _with_connectors(content[digest], pins, prefix)
        files[f"{prefix.rstrip('/') or 'Workfile-root'}.workfile.yaml"] = yaml_of(definition)
    for name, text in files.items():
        (Path(root) / name).write_text(text + "\n", encoding="utf-8")
    return str(Path(root) / "Workfile-root.workfile.yaml")


def _with_connectors(definition: Any, pins: Json, prefix: str) -> Any:
    if not isinstance(definition, dict) or ENTRIES in definition:
        return definition
    listed: Json = {}
    for key in pins["manifests"]:
        if "/" in key and not key.startswith(prefix or "/"):
            continue
        name = key.rpartition("/")[2]
        if name in listed and "/" not in key:
            continue
        place = key.replace("/", "--")
        listed[name] = {"manifest": f"{place}.connector.yaml"}
        if key in pins["overlays"]:
            listed[name]["overlay"] = f"{place}.overlay.yaml"
    return {**definition, "connectors": listed} if listed else definition
