"""A scenario against its Workfile: names that do not exist, answers that cannot be, events and crashes that come to
nothing (rules page, ``document.scenario``)."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from analyzer.check import check_file, engine_for
from analyzer.expressions.schema_faults import key_text
from analyzer.expressions.schema_literals import literal_faults, value_faults
from analyzer.expressions.types import Type
from analyzer.language.suggest import hint
from analyzer.language.words import shown
from analyzer.model.nodes import Call, Step, Workflow, all_steps
from analyzer.model.problems import Place, Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, walk
from analyzer.workspace.files import file_kind
from analyzer.workspace.manifests import ActionDecl, TriggerDecl
from analyzer.workspace.project import Document, Project, project_for
from sim_runtime.history.pins import called_by, listed_connector
from sim_runtime.world.binding_paths import lost_at
from sim_runtime.world.connectors import actions_of, same
from sim_runtime.world.paths import path_hint, target_of
from sim_runtime.world.reading import read_scenario
from sim_runtime.world.scenario import UNSET, EventEntry, Scenario, ScriptedAnswer
from sim_runtime.world.values import RULE

ANSWER_INVALID: Final = "answer-invalid"
BREAKS_OUTPUT: Final = "answer-breaks-output"
EVENT_UNMATCHED: Final = "event-unmatched"
_WORD: Final = re.compile(r"\w+")


def check_scenario(project: Project, document: Document, problems: Problems) -> None:
    """All findings of a scenario file; registered with the analyzer as the check of that kind of file."""
    scenario = read_scenario(document, problems)
    if scenario.root is None or not scenario.workfile:
        return
    if not _names_a_workfile(project, scenario, problems):
        return
    home = project_for(scenario.workfile)
    if home.root == project.root:
        _check_workfile(project, scenario, document, problems)
        return
    with home.trace() as trace:
        _check_workfile(home, scenario, document, problems)
    project.replay(trace)  # what was read under the Workfile's own configuration counts for this file too


def _check_workfile(home: Project, scenario: Scenario, document: Document, problems: Problems) -> None:
    """What needs the Workfile; ``home`` is its project."""
    workflow = engine_for(home).typed(scenario.workfile)
    if workflow is None:
        return
    check_against(home, scenario, workflow, problems)
    if not scenario.crashes or document.tree.problems or any(each.rule == RULE for each in problems.items):
        return
    from sim_runtime.world.crash_check import check_crashes

    check_crashes(home, scenario, workflow, problems)


def _names_a_workfile(project: Project, scenario: Scenario, problems: Problems) -> bool:
    """Whether a scenario's ``workfile`` can be read; what is wrong with it is reported."""
    assert scenario.root is not None
    node = scenario.root.get("workfile")
    assert node is not None
    if project.document(scenario.workfile) is None:
        problems.report(RULE, node, f"`{_text(node)}` cannot be read: {project.unreadable(scenario.workfile)}.")
        return False
    if file_kind(scenario.workfile) != "workflow":
        problems.report(RULE, node, f"`{_text(node)}` is not a Workfile: name one such as `order.workfile.yaml`.")
        return False
    return True


def workfile_is_sound(project: Project, path: str) -> bool:
    """Whether a Workfile has no findings of severity error."""
    return not any(each.severity == "error" for each in check_file(project, path).findings)


def check_against(project: Project, scenario: Scenario, workflow: Workflow, problems: Problems) -> None:
    """What of a scenario does not fit its Workfile."""
    _Checker(project, scenario, workflow, problems).run()


class _Checker:
    def __init__(self, project: Project, scenario: Scenario, workflow: Workflow, problems: Problems) -> None:
        self.project = project
        self.scenario = scenario
        self.workflow = workflow
        self.problems = problems
        self.workflows = (workflow, *called_by(workflow).values())
        self.actions = actions_of(workflow)
        self.written: set[str] | None = None

    def run(self) -> None:
        if self.scenario.trigger not in (UNSET, None) and self.workflow.trigger is None:
            root = self.scenario.root
            node = root.get("trigger") if root is not None else None
            self.report(node, "This Workfile has no root `trigger`, so nothing takes the payload: remove it.")
        for answers in self.scenario.actions.values():
            action = self.answered(answers.key, answers.node)
            if action is not None:
                for answer in answers.answers:
                    self.answer(answers.key, action, answer)
        for event in self.scenario.events:
            self.event(event)
        for crash in self.scenario.crashes:
            self.path(crash.point.path, crash.point_node.get("path"), empty=True)
        for entry in self.scenario.operator:
            self.hold(entry.decision.on, entry.node.get("on"))
        self.expectations()

    def report(self, node: Node | None, message: str, rule: str = RULE) -> None:
        if node is not None:
            self.problems.report(rule, node, message)

    # Names.

    def declared_action(self, reference: str) -> ActionDecl | None:
        """An action that a manifest declares, called here or not."""
        known = self.actions.get(reference)
        if known is not None:
            return known
        connector, _, name = reference.partition(".")
        manifests = (self.manifest(each, connector) for each in self.workflows)
        return next((each.actions[name] for each in manifests if each is not None and name in each.actions), None)

    def known_actions(self, reference: str) -> list[str]:
        """What an action's name may have been meant for: those that are called, and those of its connector."""
        connector = reference.partition(".")[0]
        manifests = (self.manifest(each, connector) for each in self.workflows)
        declared = (f"{connector}.{name}" for each in manifests if each is not None for name in each.actions)
        return [*self.actions, *declared]

    def declared_trigger(self, reference: str) -> TriggerDecl | None:
        connector, _, name = reference.partition(".")
        manifests = (self.manifest(each, connector) for each in self.workflows)
        return next((each.triggers[name] for each in manifests if each is not None and name in each.triggers), None)

    def manifest(self, workflow: Workflow, connector: str) -> Any:
        listed = listed_connector(workflow, connector)
        return self.project.connector(workflow.path, connector, listed).manifest if connector else None

    def path(self, path: str | None, node: Node | None, *, empty: bool = False) -> None:
        """A step path that must lead somewhere."""
        if path is None or (path == "" and empty) or target_of(self.workflow, path) is not None:
            return
        name = self.workflow.name or "the Workfile"
        if path == "":
            self.report(node, "A step path is empty here: write one such as `decide.(then).pay`.")
        else:
            advice = path_hint(self.workflow, path)
            self.report(node, f"`{shown(path)}` is not a step path of `{shown(name)}`.{advice}")

    def hold(self, path: str, node: Node | None) -> None:
        self.path(path, node, empty=True)

    def action_name(self, node: Node, reference: str) -> None:
        if self.declared_action(reference) is None:
            advice = hint(reference, self.known_actions(reference)) or " No manifest of this Workfile declares it."
            self.report(node, f"There is no action `{shown(reference)}`.{advice}")

    # Answers.

    def answered(self, key: str, node: Node | None) -> ActionDecl | None:
        """The action that a key of ``actions`` is about; None when there is none, which is reported."""
        action = self.declared_action(key)
        if action is not None:
            return action
        target = target_of(self.workflow, key)
        if isinstance(target, Step) and target.call is not None:
            return target.call.action
        if isinstance(target, Call):
            return target.action
        if target is not None:
            self.report(node, f"`{shown(key)}` is not an action: name an action, or the step path of one.")
            return None
        advice = hint(key, self.known_actions(key)) or path_hint(self.workflow, key)
        advice = advice or " Write `connector.action`, or the step path of an action."
        self.report(node, f"`{shown(key)}` is neither an action nor a step path of this Workfile.{advice}")
        return None

    def answer(self, key: str, action: ActionDecl, answer: ScriptedAnswer) -> None:
        assert answer.node is not None
        if answer.where is not None:
            self.where(key, action, answer.node.get("where"))
        entry = answer.node.entry(answer.kind)
        if entry is None:
            return
        if answer.kind == "ambiguous":
            if action.effect == "read":
                message = f"`{shown(key)}` is a read, and a read is never ambiguous: write `fail`, or a `latency`."
                self.report(entry.key, message, ANSWER_INVALID)
        elif answer.kind == "fail":
            code = entry.value.get("code") if isinstance(entry.value, Mapping) else None
            if answer.code not in action.errors and "errors" not in action.faulty:
                known = ", ".join(f"`{each}`" for each in list(action.errors)[:12])
                advice = hint(answer.code, action.errors) or (
                    f" It declares {known}." if known else " It declares none."
                )
                message = f"`{shown(answer.code)}` is not an error that `{shown(key)}` declares.{advice}"
                self.report(code, message, ANSWER_INVALID)
        else:
            self.output(key, action, entry)

    def where(self, key: str, action: ActionDecl, node: Node | None) -> None:
        if not isinstance(node, Mapping) or "input" in action.faulty or not action.input.closed:
            return
        for entry in node.entries:
            name = key_text(entry.key)
            if name is not None and name not in action.input.fields:
                advice = hint(name, action.input.fields) or " Such an answer fits no call: remove it."
                self.report(entry.key, f"`{shown(name)}` is not an argument of `{shown(key)}`.{advice}")

    def output(self, key: str, action: ActionDecl, entry: Entry) -> None:
        if "output" in action.faulty:
            return
        advice = "The call would fail as `output.invalid`."
        if action.output_schema is None:
            return
        if action.output_schema is False:
            self.report(entry.value, f"No answer fits the output of `{shown(key)}`. {advice}", BREAKS_OUTPUT)
        elif isinstance(action.output_schema, dict):
            for node, message in literal_faults(Type("any", schema=action.output_schema), entry.value):
                text = f"This breaks the output of `{shown(key)}`: {message} {advice}"
                self.report(node, text, BREAKS_OUTPUT)

    # Events.

    def event(self, entry: EventEntry) -> None:
        event, node = entry.event, entry.node
        trigger = self.declared_trigger(event.trigger)
        deliver = node.get("deliver")
        if trigger is None:
            waited = [each for workflow in self.workflows for each in _waited(workflow)]
            advice = hint(event.trigger, waited) or " No manifest of this Workfile declares it."
            self.report(deliver, f"There is no trigger `{shown(event.trigger)}`.{advice}")
            return
        after = node.get("after")
        if event.after is not None:
            target = target_of(self.workflow, event.after)
            if target is None:
                self.path(event.after, after)
                return
            if not isinstance(target, Step) or target.kind != "wf.wait_for":
                message = f"`{shown(event.after)}` is not a `wf.wait_for`, so it never takes events."
                self.report(after, message)
                return
        self.unmatched(entry, trigger, deliver)

    def unmatched(self, entry: EventEntry, trigger: TriggerDecl, deliver: Node | None) -> None:
        """Whether no wait can take an event: by its trigger, its payload, or the literals of ``match``."""
        event = entry.event
        waits = [step for each in self.workflows for step in all_steps(each) if _trigger_name(step) == event.trigger]
        if not waits:
            message = f"No wait of this Workfile takes `{shown(event.trigger)}`, so the event is refused."
            self.report(deliver, message, EVENT_UNMATCHED)
            return
        payload = entry.node.get("payload")
        faults = [] if "payload" in trigger.faulty else value_faults(trigger.payload_schema, event.payload)
        if faults:
            path, message = faults[0]
            place = ".".join(map(str, path))
            where = f" `{shown(place)}`:" if place else ""
            text = f"No wait takes this event, as its payload is not one of `{shown(event.trigger)}`:{where} {message}"
            self.report(_node_at(payload, path) or deliver, text, EVENT_UNMATCHED)
            return
        misses = [_missed(step, event.payload) for step in waits]
        if all(miss is not None for miss in misses):
            name = misses[0]
            node = payload.get(name) if isinstance(payload, Mapping) and name is not None else None
            related = [(_place(step), f"`{step.path}` matches another `{name}`") for step in waits]
            text = f"No wait takes this event: `{name}` is not the value that is matched."
            self.problems.report(EVENT_UNMATCHED, node or payload or deliver or entry.node, text, related=related)

    # Expectations.

    def expectations(self) -> None:
        root = self.scenario.root
        expect = root.get("expect") if root is not None else None
        if not isinstance(expect, Mapping):
            return
        for name in ("effects", "invocations"):
            counts = expect.get(name)
            for entry in counts.entries if isinstance(counts, Mapping) else ():
                reference = key_text(entry.key)
                if reference is not None:
                    self.action_name(entry.key, reference)
        for name in ("holds", "waiting"):
            for item in _strings(expect.get(name)):
                self.hold(item.text, item)
        for name in ("stop", "failure"):
            part = expect.get(name)
            node = part.get("path") if isinstance(part, Mapping) else None
            if isinstance(node, Scalar) and isinstance(node.value, str) and node.value != "result":
                self.path(node.value, node, empty=True)
        calls = expect.get("calls")
        for each in calls.items if isinstance(calls, Sequence) else ():
            self.call(each)
        for item in _strings(expect.get("absent")):
            self.binding(item.text, item)
        bindings = expect.get("bindings")
        for entry in bindings.entries if isinstance(bindings, Mapping) else ():
            text = key_text(entry.key)
            if text is not None:
                self.binding(text, entry.key)

    def call(self, node: Node) -> None:
        if not isinstance(node, Mapping):
            return
        action, path = node.get("action"), node.get("path")
        if isinstance(action, Scalar) and isinstance(action.value, str):
            self.action_name(action, action.value)
        if isinstance(path, Scalar) and isinstance(path.value, str):
            self.path(path.value, path)

    def binding(self, path: str, node: Node) -> None:
        """A binding path; in a dry run any value may be a placeholder, and only its first name is looked at."""
        whole = path.partition(".")[0].partition("[")[0] if self.scenario.dry_run else path
        lost = lost_at(self.workflow, whole, self.appears)
        if lost is None:
            return
        advice = " A binding path begins with a step of the root, or with a state."
        if lost.meant is not None:
            advice = f" Did you mean `{shown(lost.meant + path[len(whole) :])}`?"
        elif lost.before:
            below = ", ".join(f"`{name}`" for name in lost.names) or "nothing"
            advice = f" Below `{shown(lost.before)}` there is {below}."
        self.report(node, f"`{shown(path)}` is not a binding path of this Workfile.{advice}")

    def appears(self, name: str) -> bool:
        """Whether a name is written where values come from: in a Workfile, or in what the outside answers here."""
        if self.written is None:
            root = self.scenario.root
            nodes = [each.value for each in root.entries if key_text(each.key) != "expect"] if root is not None else []
            inner = [part for node in nodes for part in walk(node) if isinstance(part, Mapping)]
            self.written = {
                text for each in inner for entry in each.entries if (text := key_text(entry.key)) is not None
            }
            for workflow in self.workflows:
                document = self.project.document(workflow.path)
                self.written.update(_WORD.findall(document.source.text) if document is not None else ())
        return name in self.written


def _waited(workflow: Workflow) -> list[str]:
    return [name for step in all_steps(workflow) if (name := _trigger_name(step)) is not None]


def _trigger_name(step: Step) -> str | None:
    if step.kind != "wf.wait_for" or step.subject is None or not isinstance(step.subject.value, Scalar):
        return None
    return step.subject.value.text


def _missed(step: Step, payload: Any) -> str | None:
    """The field by which a wait's literal ``match`` refuses a payload; None when it may take it."""
    match = step.keys.get("match")
    node = match.value if match is not None else None
    for entry in node.entries if isinstance(node, Mapping) else ():
        name, value = key_text(entry.key), entry.value
        if name is None or not isinstance(value, Scalar) or (isinstance(value.value, str) and "{{" in value.value):
            continue
        if not isinstance(payload, dict) or name not in payload or not same(payload[name], value.value):
            return name
    return None


def _place(step: Step) -> Place:
    workflow: Any = step
    while not isinstance(workflow, Workflow):
        workflow = workflow.parent.owner if isinstance(workflow, Step) else None
        if workflow is None:
            return Place(step.anchor_node.start, step.anchor_node.end)
    return Place(step.anchor_node.start, step.anchor_node.end, workflow.path)


def _strings(node: Node | None) -> list[Scalar]:
    items = node.items if isinstance(node, Sequence) else ()
    return [item for item in items if isinstance(item, Scalar) and isinstance(item.value, str)]


def _node_at(node: Node | None, path: tuple[str | int, ...]) -> Node | None:
    for part in path:
        if isinstance(node, Mapping) and isinstance(part, str):
            inner = node.get(part)
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            inner = node.items[part]
        else:
            inner = None
        if inner is None:
            return node
        node = inner
    return node


def _text(node: Node) -> str:
    return shown(os.fspath(node.text)) if isinstance(node, Scalar) else "the Workfile"
