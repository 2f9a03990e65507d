"""Names to things: connectors, actions, triggers, connections, workflows, states (language page, sections 1, 5, 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from analyzer.language.suggest import hint, nearest
from analyzer.language.vocabulary import CONNECTOR_KEYS, NAME, REFERENCE, WAITABLE_SOURCES
from analyzer.language.words import shown
from analyzer.model.nodes import Call, State, Step, Workflow, all_steps
from analyzer.model.problems import Problems
from analyzer.model.reading import Reader, is_template, listed, rename_fix
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, is_broken

if TYPE_CHECKING:
    from analyzer.workspace.manifests import Manifest, TriggerDecl
    from analyzer.workspace.project import Project


class Resolver:
    """Resolves one Workfile against its project. ``callee`` gives the typed Workfile at a path."""

    def __init__(
        self,
        workflow: Workflow,
        project: Project,
        problems: Problems,
        callee: Callable[[str], Workflow | None],
    ) -> None:
        self.workflow = workflow
        self.project = project
        self.problems = problems
        self.callee = callee
        self.listed: dict[str, Entry] = {}
        self.missing: set[str] = set()
        self.manifests: dict[str, Manifest | None] = {}

    def run(self) -> None:
        """Resolve everything, reporting what does not resolve."""
        self._connectors()
        self._root_trigger()
        for step in all_steps(self.workflow):
            self._step(step)
        self._states()
        self._own_name()

    def run_for(self, steps: Iterable[Step]) -> None:
        """Resolve these steps of a Workfile in which everything else is resolved."""
        self._connectors()
        for step in steps:
            self._step(step)

    # ---- connectors ------------------------------------------------------------------------------

    def _connectors(self) -> None:
        entry = self.workflow.connectors_entry
        if entry is None:
            return
        reader = Reader(self.problems)
        mapping = reader.mapping(entry, "a map of connector names to manifest paths")
        for name, item in reader.string_entries(mapping).items() if mapping is not None else ():
            if not NAME.match(name):
                self.problems.report("invalid-value", item.key, f"`{shown(name)}` is not a connector name.")
                continue
            if isinstance(item.value, Mapping):
                keys = reader.fields(item.value, CONNECTOR_KEYS, item.key, f"the connector `{name}`")
                faulty = [key for key, part in keys.items() if reader.literal(part, CONNECTOR_KEYS[key]) is None]
                if faulty or "manifest" not in keys:
                    self.missing.add(name)
            elif not isinstance(item.value, Scalar) or not isinstance(item.value.value, str):
                reader.wrong_kind(item, "the path of a manifest, or `{ manifest: path, overlay: path }`")
                self.missing.add(name)
            self.listed[name] = item
        for name, item in self.listed.items():
            if name not in self.missing:
                self._listed_manifest(name, item)

    def _listed_manifest(self, name: str, item: Entry) -> None:
        """A listed manifest that is not there is one fault, at its path."""
        result = self.project.connector(self.workflow.path, name, item)
        self.manifests[name] = result.manifest
        if result.manifest is None and not result.problems_exist:
            where: Node = item.value
            if isinstance(where, Mapping):
                where = where.get(result.part) or where
            self.problems.report("unknown-connector", where, f"The connector `{name}` cannot be read: {result.reason}")
            self.missing.add(name)

    def manifest(self, name: str, where: Node) -> Manifest | None:
        """The manifest of a connector; one that is not there is reported where it is named."""
        if name in self.missing or not name:
            return None
        if name in self.manifests:
            return self.manifests[name]
        result = self.project.connector(self.workflow.path, name, None)
        if result.manifest is not None or result.problems_exist:
            self.manifests[name] = result.manifest
        else:
            known = [*self.listed, *self.project.connector_names(self.workflow.path)]
            near = nearest(name, [each for each in known if each not in self.missing])
            fixes = []
            if near is not None and isinstance(where, Scalar):
                part = self._part_of(near, where.text.partition(".")[2])
                fixes = [rename_fix(where, f"{near}.{part}")]
            message = f"There is no connector `{name}`. Did you mean `{near}`?"
            if near is None:
                message = f"The connector `{name}` is not known. {result.reason} Add its manifest there."
            self.problems.report("unknown-connector", where, message, fixes=fixes)
        return result.manifest

    def _part_of(self, connector: str, name: str) -> str:
        """The action or trigger of a connector that a name was meant to be."""
        found = self.project.connector(self.workflow.path, connector, self.listed.get(connector)).manifest
        parts = [*found.actions, *found.triggers] if found is not None else []
        return name if name in parts else nearest(name, parts) or name

    def _call(self, call: Call) -> None:
        key = call.entry.key
        call.manifest = self.manifest(call.connector, key)
        if call.manifest is None:
            return
        call.action = call.manifest.actions.get(call.name)
        if call.action is not None:
            self._connection(call.connector, call.connection, key)
            return
        near = nearest(call.name, call.manifest.actions)
        suffix = f"Did you mean `{near}`?" if near else f"It has {_some(call.manifest.actions)}."
        fixes = [rename_fix(key, f"{call.connector}.{near}")] if near else []
        self.problems.report(
            "unknown-action",
            key,
            f"The connector `{call.connector}` has no action `{shown(call.name)}`. {suffix}",
            fixes=fixes,
        )

    def _trigger(
        self, reference: object, where: Node, connection: Entry | None, key: Node, *, root: bool = False
    ) -> TriggerDecl | None:
        """The trigger that a literal reference names; ``key`` is where a missing connection is reported.

        ``root``: it starts runs, and need not be one that can be waited for.
        """
        match = REFERENCE.match(reference) if isinstance(reference, str) else None
        if match is None:
            return None
        connector, name = match.groups()
        manifest = self.manifest(connector, where)
        if manifest is None:
            return None
        trigger = manifest.triggers.get(name)
        if trigger is None:
            able = [each.name for each in manifest.triggers.values() if root or each.source in WAITABLE_SOURCES]
            near = nearest(name, able)
            suffix = f"Did you mean `{near}`?" if near else f"It has {_some(manifest.triggers)}."
            fixes = [rename_fix(where, f"{connector}.{near}")] if near else []
            self.problems.report(
                "unknown-trigger", where, f"The connector `{connector}` has no trigger `{name}`. {suffix}", fixes=fixes
            )
            return None
        self._connection(connector, connection, key)
        self._available(trigger, where)
        return trigger

    def _available(self, trigger: TriggerDecl, where: Node) -> None:
        """The target must be able to initiate triggers of this kind (D-ACT-03)."""
        able = self.project.config.target.triggers
        if trigger.source and trigger.source not in able:
            self.problems.report(
                "profile-unsupported",
                where,
                f"`{trigger.name}` is a {trigger.source} trigger, and the target takes "
                f"{f'only {_some(able)}' if able else 'none'}. Add it to `[target] triggers`, or use another trigger.",
            )

    def _connection(self, connector: str, entry: Entry | None, key: Node) -> None:
        declared = self.project.connections(connector)
        if declared is None:
            return
        if entry is None:
            if len(declared.names) > 1 and declared.default is None:
                self.problems.report(
                    "ambiguous-connection",
                    key,
                    f"The deployment has several connections for `{connector}` and no default: "
                    f"add `connection`, one of {listed(declared.names)}.",
                )
            return
        node = entry.value
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or is_template(node) or not node.value:
            return
        if declared.names and node.value not in declared.names:
            near = nearest(node.value, declared.names)
            fixes = [rename_fix(node, near)] if near else []
            self.problems.report(
                "unknown-connection",
                node,
                f"The deployment has no connection `{shown(node.value)}` for `{connector}`; "
                f"it has {listed(declared.names)}.{hint(node.value, declared.names)}",
                fixes=fixes,
            )

    def _root_trigger(self) -> None:
        entry = self.workflow.trigger_entry
        if entry is None or not isinstance(entry.value, Mapping) or self.workflow.trigger_source is None:
            return
        keys = self.workflow.trigger_keys
        self.workflow.trigger = self._trigger(
            self.workflow.trigger_source, keys["source"].value, keys.get("connection"), entry.key, root=True
        )

    # ---- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        if step.call is not None:
            self._call(step.call)
            self._idempotency_key(step)
        if step.undo is not None:
            if step.undo.connection is None and step.call is not None and step.undo.connector == step.call.connector:
                step.undo.connection = step.call.connection
            self._call(step.undo)
        if step.kind == "wf.wait_for" and step.subject is not None:
            node = step.subject.value
            reference = node.value if isinstance(node, Scalar) and not is_template(node) else None
            step.trigger = self._trigger(reference, node, step.keys.get("connection"), step.subject.key)
        if step.kind == "wf.call" and step.subject is not None:
            self._callee(step, step.subject.value)

    def _idempotency_key(self, step: Step) -> None:
        entry, call = step.keys.get("idempotency_key"), step.call
        if entry is None or call is None or call.action is None or call.action.idempotency == "keyed":
            return
        self.problems.report(
            "misplaced-modifier",
            entry.key,
            f"`idempotency_key` is for actions declared `keyed`, and `{call.reference}` is "
            f"`{call.action.idempotency}`: remove it.",
        )

    def _callee(self, step: Step, node: Node) -> None:
        if not isinstance(node, Scalar) or is_broken(node) or is_template(node):
            return
        name = node.value
        if not isinstance(name, str) or not NAME.match(name):
            return
        index = self.project.workflows()
        paths = index.get(name)
        if name == self.workflow.name and not paths:
            paths = [self.workflow.path]
        if not paths:
            near = nearest(name, [each for each in index if each != self.workflow.name])
            if near is not None and self._reaches_itself(index[near][0]):
                near = None  # it calls this workflow
            suffix = f"Did you mean `{near}`?" if near else "Workfiles under the configuration's root are searched."
            if self.project.index_problems:
                suffix += f" Not all could be: {self.project.index_problems[0]}."
            fixes = [rename_fix(node, near)] if near else []
            self.problems.report("unknown-workflow", node, f"There is no workflow `{name}`. {suffix}", fixes=fixes)
            return
        if self._reaches_itself(paths[0]):
            self.problems.report(
                "call-cycle",
                node,
                f"This call is part of a ring: `{name}` calls this workflow again, itself or through others. "
                "Break the ring.",
            )
            return
        step.callee = self.callee(paths[0])

    def _reaches_itself(self, start: str) -> bool:
        """Whether the workflow at ``start`` can call the one at hand again."""
        index = self.project.workflows()
        seen: set[str] = set()
        stack = [start]
        while stack:
            path = stack.pop()
            if path == self.workflow.path:
                return True
            if path in seen:
                continue
            seen.add(path)
            for called in self.project.calls_of(path):
                stack.extend(index.get(called, ())[:1])
        return False

    # ---- states and names ------------------------------------------------------------------------

    def _states(self) -> None:
        states = self.workflow.states
        if states is None:
            return
        if states and self.workflow.initial is not None and self.workflow.initial_node is not None:
            self._state_name(self.workflow.initial, self.workflow.initial_node, states)
        for state in states.values():
            for timer in state.timers:
                if timer.to is not None and timer.to_node is not None:
                    self._state_name(timer.to, timer.to_node, states)
            for route in state.routes:
                if route.to is not None and route.to_node is not None:
                    self._state_name(route.to, route.to_node, states)

    def _state_name(self, name: str, node: Node, states: dict[str, State]) -> None:
        if name in states:
            return
        near = nearest(name, states)
        suffix = f"Did you mean `{near}`?" if near else f"There are {_some(states)}."
        fixes = [rename_fix(node, near)] if near else []
        self.problems.report("unknown-state", node, f"There is no state `{name}`. {suffix}", fixes=fixes)

    def _own_name(self) -> None:
        """Two Workfiles with one name under one root (language page, section 5)."""
        workflow = self.workflow
        if workflow.name is None or workflow.name_node is None:
            return
        others = [path for path in self.project.workflows().get(workflow.name, ()) if path != workflow.path]
        if others:
            places = [(self.project.name_place(path), "the other one") for path in others[:3]]
            self.problems.report(
                "duplicate-workflow",
                workflow.name_node,
                f"Another Workfile is named `{workflow.name}` too: a name must be the only one under one root.",
                related=places,
            )


def _some(words: Iterable[str]) -> str:
    return listed(words, 8)
