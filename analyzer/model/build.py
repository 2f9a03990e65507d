"""From the positioned tree to the Workfile model: roots, states and step lists (language page, sections 1, 2 and 6).

Reads tolerantly: what is faulty is reported once and left out, the rest stands. Names are resolved later
(``analyzer.model.resolve``).
"""

from __future__ import annotations

from analyzer.expressions.schema_faults import kind_words
from analyzer.expressions.schema_types import read_type
from analyzer.expressions.types import ANY
from analyzer.language.vocabulary import (
    IDENTIFIER,
    RECOVERY_KEYS,
    RESERVED_WORDS,
    ROOT_KEYS,
    ROUTE_KEYS,
    STATE_KEYS,
    STOP_AFTER_KEYS,
    TIMER_KEYS,
    TRIGGER_KEYS,
    VALUE_KINDS,
)
from analyzer.language.words import shown
from analyzer.model.nodes import InputDecl, Owner, Recovery, Route, State, Timer, Workflow
from analyzer.model.problems import Problems
from analyzer.model.reading import Reader, is_absent, is_null, is_partial, is_template
from analyzer.model.steps import StepReader
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, is_broken, is_cut


def build_workflow(path: str, root: Node | None, problems: Problems) -> Workflow:
    """The model of one file. An empty file or one that is no map gives an empty Workfile and one finding at 1:1."""
    if not isinstance(root, Mapping):
        if root is None or is_null(root):
            problems.report("missing-key", (0, 0), _EMPTY_FILE)
        elif not is_broken(root) and not is_cut(root):
            problems.report("wrong-kind", root, f"A Workfile is a map of root keys, but this is {kind_words(root)}.")
        return Workflow(path, Mapping(0, 0, []))
    return _Builder(path, root, problems).build()


_EMPTY_FILE = 'The Workfile is empty: start it with `workfile: "1.0"`, `name` and `steps`.'


def step_reader(workflow: Workflow, problems: Problems) -> StepReader:
    """What reads single steps of a Workfile that stands (``StepReader.read_item``)."""
    return _Builder(workflow.path, workflow.root, problems).steps


class _Builder:
    """Builds one Workflow; the parts that stand in steps are read by ``StepReader``."""

    def __init__(self, path: str, root: Mapping, problems: Problems) -> None:
        self.problems = problems
        self.reader = Reader(problems)
        self.workflow = Workflow(path, root)
        self.steps = StepReader(self.reader, self.recovery)

    def build(self) -> Workflow:
        workflow = self.workflow
        keys = self.reader.fields(workflow.root, ROOT_KEYS, (0, 0), "a Workfile")
        for name in ("workfile", "version", "description"):
            if name in keys:
                self.reader.literal(keys[name], ROOT_KEYS[name])
        if "name" in keys:
            workflow.name_node = keys["name"].value
            workflow.name = self.reader.literal(keys["name"], ROOT_KEYS["name"])
        workflow.connectors_entry = keys.get("connectors")
        if "inputs" in keys:
            self._inputs(keys["inputs"])
        if "trigger" in keys:
            self._trigger(keys["trigger"])
        if "recovery" in keys:
            workflow.recovery = self.recovery(keys["recovery"], workflow)
        if "result" in keys:
            workflow.result = keys["result"]
            if is_absent(keys["result"].value):
                self.reader.wrong_kind(keys["result"], "a value")
        self._body(keys)
        return workflow

    def _body(self, keys: dict[str, Entry]) -> None:
        """``steps`` or ``states``: exactly one of the two, ``initial`` beside ``states`` only."""
        workflow = self.workflow
        states, steps, initial = keys.get("states"), keys.get("steps"), keys.get("initial")
        if states is not None and steps is not None:
            later = max(states, steps, key=lambda entry: entry.key.start)
            self.problems.report(
                "unknown-key", later.key, "A Workfile has `steps` or `states`, not both: remove one of them."
            )
        elif states is None and steps is None and not is_partial(workflow.root):
            self.problems.report("missing-key", (0, 0), "A Workfile lacks `steps`: add the list of its steps.")
        if initial is not None:
            workflow.initial_node = initial.value
            workflow.initial = self.reader.literal(initial, ROOT_KEYS["initial"])
            if states is None:
                self.problems.report("unknown-key", initial.key, "`initial` stands beside `states` only: remove it.")
        if states is not None:
            self._states(states)
            if initial is None and self.workflow.states and not is_partial(workflow.root):
                self.problems.report(
                    "missing-key",
                    (0, 0),
                    "A Workfile with `states` lacks `initial`: name the state that runs enter first.",
                )
        if steps is not None and (states is None or steps.key.start < states.key.start):
            workflow.steps = self.steps.read_list(steps, "steps", "", "", workflow)

    def _inputs(self, entry: Entry) -> None:
        workflow = self.workflow
        workflow.inputs_entry = entry
        mapping = self.reader.mapping(entry, VALUE_KINDS["types"])
        if mapping is None:
            return
        for name, item in self.reader.string_entries(mapping).items():
            optional = name.endswith("?")
            bare = name[:-1] if optional else name
            if not IDENTIFIER.match(bare):
                self.problems.report("invalid-value", item.key, f"`{shown(name)}` is not {VALUE_KINDS['identifier']}.")
            if bare in workflow.inputs:
                first = workflow.inputs[bare].entry.key
                self.problems.report(
                    "duplicate-key",
                    item.key,
                    f"The input `{bare}` is declared twice: remove one.",
                    related=[(first, "first here")],
                )
                continue
            type_ = ANY
            if is_null(item.value):
                self.reader.wrong_kind(item, VALUE_KINDS["type"])
            elif not is_broken(item.value):
                type_ = read_type(item.value, self._report_type)
            workflow.inputs[bare] = InputDecl(bare, item, type_, optional)

    def _report_type(self, node: Node, message: str) -> None:
        textual = isinstance(node, Mapping) or (isinstance(node, Scalar) and isinstance(node.value, str))
        self.problems.report("invalid-value" if textual else "wrong-kind", node, message)

    def _trigger(self, entry: Entry) -> None:
        self.workflow.trigger_entry = entry
        mapping = self.reader.mapping(entry)
        if mapping is None:
            return
        keys = self.reader.fields(mapping, TRIGGER_KEYS, entry.key, "`trigger`")
        self.workflow.trigger_keys = keys
        if "source" in keys:
            self.workflow.trigger_source = self.reader.literal(keys["source"], TRIGGER_KEYS["source"])
        if "configuration" in keys:
            self.reader.mapping(keys["configuration"])
        if "connection" in keys:
            self.reader.literal(keys["connection"], TRIGGER_KEYS["connection"])

    def recovery(self, entry: Entry, owner: Owner) -> Recovery | None:
        """A recovery scope; missing or faulty parts are None."""
        mapping = self.reader.mapping(entry)
        if mapping is None:
            return None
        recovery = Recovery(entry, owner)
        keys = self.reader.fields(mapping, RECOVERY_KEYS, entry.key, "`recovery`")
        if "redo" in keys:
            recovery.redo = self.reader.literal(keys["redo"], RECOVERY_KEYS["redo"]) or "this_step"
        if "then" in keys:
            recovery.then = self.reader.literal(keys["then"], RECOVERY_KEYS["then"])
            recovery.then_node = keys["then"].value
        if "delay" in keys:
            recovery.delay_us = self.reader.literal(keys["delay"], RECOVERY_KEYS["delay"]) or 0
        if "notify" in keys:
            recovery.notify = self.reader.literal(keys["notify"], RECOVERY_KEYS["notify"])
        if "stop_after" in keys:
            self._stop_after(keys["stop_after"], recovery)
        return recovery

    def _stop_after(self, entry: Entry, recovery: Recovery) -> None:
        if is_template(entry.value):
            self.problems.report(
                "literal-required",
                entry.value,
                "`stop_after` is fixed before a run starts: write `{ failures: …, within: … }`, not an interpolation.",
            )
            return
        mapping = self.reader.mapping(entry, "a map `{ failures: …, within: … }`")
        if mapping is None:
            return
        keys = self.reader.fields(mapping, STOP_AFTER_KEYS, entry.key, "`stop_after`")
        if "failures" in keys:
            recovery.failures = self.reader.literal(keys["failures"], STOP_AFTER_KEYS["failures"])
        if "within" in keys:
            recovery.within_us = self.reader.literal(keys["within"], STOP_AFTER_KEYS["within"])

    def _states(self, entry: Entry) -> None:
        mapping = self.reader.mapping(entry, "a map of state names to states")
        if mapping is None:
            return
        states: dict[str, State] = {}
        self.workflow.states = states
        if not mapping.entries:
            self.problems.report("missing-key", entry.key, "`states` is empty: add the state that `initial` names.")
        for name, item in self.reader.string_entries(mapping).items():
            if not IDENTIFIER.match(name):
                self.problems.report("invalid-value", item.key, f"`{shown(name)}` is not {VALUE_KINDS['identifier']}.")
            elif name in RESERVED_WORDS:
                message = f"`{name}` is a word of the language and cannot be a state's name: choose another."
                self.problems.report("reserved-name", item.key, message)
            states[name] = self._state(name, item)

    def _state(self, name: str, entry: Entry) -> State:
        state = State(name, entry)
        mapping = self.reader.mapping(entry, "a state, a map with `steps` and `routes`")
        if mapping is None:
            state.partial = True
            return state
        state.partial = is_partial(mapping)
        keys = self.reader.fields(mapping, STATE_KEYS, entry.key, "a state")
        for role in ("on_enter", "steps"):
            if role in keys:
                found = self.steps.read_list(keys[role], role, "", f"{name}.", state)
                if role == "on_enter":
                    state.on_enter = found
                else:
                    state.steps = found
        self.steps.duplicates(state.all_steps)
        if "timers" in keys:
            self._timers(keys["timers"], state)
        if "routes" in keys:
            self._routes(keys["routes"], state)
        if "recovery" in keys:
            state.recovery = self.recovery(keys["recovery"], state)
        if "final" in keys:
            final = self.reader.literal(keys["final"], STATE_KEYS["final"])
            state.final = bool(final)
            state.partial = state.partial or final is None
        return state

    def _timers(self, entry: Entry, state: State) -> None:
        mapping = self.reader.mapping(entry, "a map of timer names to `{ after: …, to: … }`")
        if mapping is None:
            state.partial = True
            return
        for name, item in self.reader.string_entries(mapping).items():
            if not IDENTIFIER.match(name):
                self.problems.report("invalid-value", item.key, f"`{shown(name)}` is not {VALUE_KINDS['identifier']}.")
            body = self.reader.mapping(item, "a timer, `{ after: …, to: … }`")
            if body is None:
                state.partial = True
                continue
            keys = self.reader.fields(body, TIMER_KEYS, item.key, "a timer")
            after = self.reader.literal(keys["after"], TIMER_KEYS["after"]) if "after" in keys else None
            to = self.reader.literal(keys["to"], TIMER_KEYS["to"]) if "to" in keys else None
            state.timers.append(Timer(name, item, after, to, keys["to"].value if "to" in keys else None))

    def _routes(self, entry: Entry, state: State) -> None:
        items = self.reader.sequence(entry, "a list of routes")
        if items is None:
            state.partial = True
            return
        for item in items.items:
            if not isinstance(item, Mapping):
                state.partial = True
                if not is_broken(item):
                    self.problems.report(
                        "wrong-kind", item, f"A route is a map `{{ when: …, to: … }}`, but this is {kind_words(item)}."
                    )
                continue
            keys = self.reader.fields(item, ROUTE_KEYS, item, "a route")
            if "when" in keys:
                self.steps.expression(keys["when"], ROUTE_KEYS["when"])
            to = self.reader.literal(keys["to"], ROUTE_KEYS["to"]) if "to" in keys else None
            when = keys["when"].value if "when" in keys else None
            state.routes.append(Route(item, when, to, keys["to"].value if "to" in keys else None))
