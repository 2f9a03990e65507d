"""Names that a completion may offer: of connectors, actions, triggers, connections, steps, codes, files, records."""

from __future__ import annotations

import os
from collections.abc import Iterator

from analyzer.expressions.types import Type
from analyzer.language.scenario_vocabulary import DECISION_WORDS
from analyzer.language.vocabulary import FAULT_CODES, WAITABLE_SOURCES
from analyzer.model.nodes import Workflow, all_steps
from analyzer.syntax.nodes import Entry, Mapping, Scalar, Sequence
from analyzer.workspace.files import CONNECTOR_SUFFIX
from analyzer.workspace.manifests import ActionDecl, Manifest, TriggerDecl
from lsp_server.features.completion_items import Item, key_insert
from lsp_server.features.completion_place import Place
from lsp_server.features.hover import action_text, trigger_text
from lsp_server.nodes import key_text
from lsp_server.shapes import Shape


def name_items(place: Place, shape: Shape, taken: set[str]) -> Iterator[Item]:
    """The names that may be keys of a map of names."""
    request, colon = place.request, place.cursor.colon
    if shape.what == "connector":
        for name in request.project.connector_names(request.path):
            yield Item(name, "module", "connector", "", key_insert(name, "", colon), 1, True)
    if shape.what == "case":
        yield from _cases(place, taken)
    workflow = place.workflow
    if request.kind != "scenario" or workflow is None:
        return
    if shape.what in ("answered", "action"):
        for reference, action in used_actions(workflow).items():
            if reference not in taken:
                doc = action_text(reference, action)
                yield Item(reference, "function", "action", doc, key_insert(reference, "", colon), 1, True)
    if shape.what == "answered":
        for step in all_steps(workflow):
            if step.call is not None and step.path not in taken:
                insert = key_insert(step.path, "", colon)
                yield Item(step.path, "reference", step.call.reference, "", insert, 2, True)
    if shape.what == "binding":
        yield from (
            Item(name, "variable", "binding", "", key_insert(name, "", colon), 1, True) for name in _bindings(workflow)
        )


def _cases(place: Place, taken: set[str]) -> Iterator[Item]:
    """The constants that the subject of a ``wf.switch`` can be, without those that have a case."""
    step = next((shape.step for shape in reversed(place.shapes) if shape.step is not None), None)
    subject = None if step is None or step.subject is None else step.subject.value
    if step is None or not isinstance(subject, Scalar):
        return
    type_ = place.type_of(subject, step)
    for value in _constants(type_) if type_ is not None else ():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text not in taken:
            yield Item(text, "enumMember", "case", "", key_insert(text, "", place.cursor.colon), 1, True)


def _constants(type_: Type) -> tuple[object, ...]:
    return type_.values if type_.values is not None else (True, False) if type_.kind == "boolean" else ()


def _bindings(workflow: Workflow) -> list[str]:
    return list(dict.fromkeys(step.id for each in workflow.top_lists for step in each.steps))


def codes(shape: Shape) -> Iterator[Item]:
    """The codes that a handler or a retry can name."""
    step = shape.step
    action = step.call.action if step is not None and step.call is not None else None
    yield from _declared_codes(action)
    for code in FAULT_CODES:
        yield Item(code, "enumMember", "fault of an expression", rank=5)


def _declared_codes(action: ActionDecl | None) -> Iterator[Item]:
    for code, retryable in (action.errors if action is not None else {}).items():
        yield Item(code, "enumMember", "retryable" if retryable else "not retryable", rank=0)


def connections(place: Place, shape: Shape) -> Iterator[Item]:
    """The connections that the deployment has for the connector at hand."""
    step = shape.step
    connector = step.call.connector if step is not None and step.call is not None else ""
    if step is not None and step.kind == "wf.wait_for" and step.subject is not None:
        connector = step.subject.value.text.partition(".")[0] if isinstance(step.subject.value, Scalar) else ""
    declared = place.request.project.connections(connector)
    if declared is not None:
        for name in declared.names:
            yield Item(name, "value", "default" if name == declared.default else "connection")


def scenario_values(place: Place, shape: Shape, name: str) -> Iterator[Item]:
    """What the keys of a scenario take that only its Workfile, or the vocabulary of records, knows."""
    workflow = place.workflow
    if workflow is None:
        return
    if name in ("path", "on", "after"):
        for step in all_steps(workflow):
            if shape.what != "an event" or step.kind == "wf.wait_for":
                yield Item(step.path, "reference", step.call.reference if step.call is not None else step.kind)
    elif name == "action":
        for reference, action in used_actions(workflow).items():
            yield Item(reference, "function", "action", action_text(reference, action))
    elif name == "code":
        actions = [shape.action] if shape.action is not None else list(used_actions(workflow).values())
        for action in actions:
            yield from _declared_codes(action)
    elif name == "binding":
        yield from (Item(each, "variable", "binding") for each in _bindings(workflow))
    elif name == "record":
        from sim_runtime.history.records import KINDS  # slow to import, and only needed here

        yield from (Item(kind, "event", "record", found.doc) for kind, found in KINDS.items())
    elif name == "decide":
        yield from (Item(word, "keyword", "decision") for word in DECISION_WORDS)


def paths(place: Place, name: str) -> Iterator[Item]:
    """Files that a key names."""
    request = place.request
    wanted = {"manifest": CONNECTOR_SUFFIX, "overlay": ".overlay.yaml", "workfile": ".workfile.yaml"}.get(name, "")
    if wanted and (name != "workfile" or request.kind == "scenario"):
        for path in request.siblings:
            if path.endswith(wanted):
                shown = os.path.relpath(path, os.path.dirname(request.path)).replace(os.sep, "/")  # noqa: PTH120
                yield Item(shown, "file", insert=shown)


def declared_fields(place: Place) -> Iterator[Item]:
    """The fields that the schema around ``required``, or the payload beside ``correlate_on``, declares."""
    for crumb in reversed(place.crumbs):
        if not isinstance(crumb.node, Mapping) or crumb.entry is None or crumb.on_key:
            continue
        key = key_text(crumb.entry)
        if key == "correlate_on":
            payload = crumb.node.get("payload")
            yield from _properties(payload if isinstance(payload, Mapping) else None, crumb.entry)
        elif key == "required":
            yield from _properties(crumb.node, crumb.entry)
        return


def _properties(schema: Mapping | None, listed: Entry) -> Iterator[Item]:
    declared = None if schema is None else schema.get("properties")
    items = listed.value.items if isinstance(listed.value, Sequence) else []
    taken = {each.text for each in items if isinstance(each, Scalar)}
    for entry in declared.entries if isinstance(declared, Mapping) else ():
        if key_text(entry) not in taken:
            yield Item(key_text(entry), "field", "property")


def triggers(place: Place, *, waitable: bool) -> Iterator[Item]:
    """The triggers of the connectors at hand."""
    for reference, trigger in _declared_triggers(place):
        if not waitable or trigger.source in WAITABLE_SOURCES:
            yield Item(reference, "event", trigger.source, trigger_text(reference, trigger), reference, 1)


# ---- connectors ----------------------------------------------------------------------------------


def _connector_names(place: Place) -> list[str]:
    request, workflow = place.request, place.workflow
    listed = workflow.root.get("connectors") if workflow is not None else None
    names = [key_text(entry) for entry in listed.entries] if isinstance(listed, Mapping) else []
    return list(dict.fromkeys([*names, *request.project.connector_names(_workfile_path(place))]))


def _workfile_path(place: Place) -> str:
    target = place.request.target
    return target.path if target is not None else place.request.path


def _manifests(place: Place) -> Iterator[tuple[str, Manifest]]:
    workflow = place.workflow
    listed = workflow.root.get("connectors") if workflow is not None else None
    for name in _connector_names(place):
        entry = listed.entry(name) if isinstance(listed, Mapping) else None
        manifest = place.request.project.connector(_workfile_path(place), name, entry).manifest
        if manifest is not None:
            yield name, manifest


def declared_actions(place: Place) -> Iterator[tuple[str, ActionDecl]]:
    """Every action of the connectors at hand, by reference."""
    for name, manifest in _manifests(place):
        yield from ((f"{name}.{action.name}", action) for action in manifest.actions.values())


def _declared_triggers(place: Place) -> Iterator[tuple[str, TriggerDecl]]:
    for name, manifest in _manifests(place):
        yield from ((f"{name}.{trigger.name}", trigger) for trigger in manifest.triggers.values())


def used_actions(workflow: Workflow) -> dict[str, ActionDecl]:
    """The actions that a Workfile calls, by reference, in document order."""
    found: dict[str, ActionDecl] = {}
    for step in all_steps(workflow):
        for call in (step.call, step.undo):
            if call is not None and call.action is not None:
                found.setdefault(call.reference, call.action)
    return found
