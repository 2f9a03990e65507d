"""Step lists and steps: subjects, constructs, modifiers (language page, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from analyzer.expressions.schema_faults import kind_words
from analyzer.language.suggest import nearest
from analyzer.language.vocabulary import (
    ALLOWED_KEYS,
    CATCH_KEYS,
    CONSTRUCTS,
    FAIL_KEYS,
    IDENTIFIER,
    MODIFIERS,
    RECONCILE_KEYS,
    REFERENCE,
    RESERVED_CONSTRUCTS,
    RESERVED_WORDS,
    RETRY_KEYS,
    STOP_KEYS,
    VALUE_KINDS,
    KeySpec,
)
from analyzer.language.words import shown
from analyzer.model.nodes import Call, Handler, Owner, Reconcile, Recovery, Retry, State, Step, StepList, span_of
from analyzer.model.problems import EditDraft, FixDraft
from analyzer.model.reading import Reader, is_absent, is_null, is_partial, is_template, listed, plausible
from analyzer.model.step_ids import check_id, meant_id, several_keys, without_id
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken, is_cut

MAX_DEPTH = 210
_REQUIRED = {kind: tuple(spec for spec in table.values() if spec.required) for kind, table in ALLOWED_KEYS.items()}


class StepReader:
    """Reads step lists of one file; ``recovery`` reads a recovery scope for an owner."""

    def __init__(self, reader: Reader, recovery: Callable[[Entry, Owner], Recovery | None]) -> None:
        self.reader = reader
        self.problems = reader.problems
        self.recovery = recovery
        self.depth = 0

    # ---- lists ---------------------------------------------------------------------------------

    def read_list(self, entry: Entry, role: str, label: str, prefix: str, owner: Owner) -> StepList | None:
        """The step list that an entry holds, or None when it is no list."""
        items = self.reader.sequence(entry, VALUE_KINDS["steps"])
        if items is None:
            return None
        return self._list_of(items, entry, role, label, prefix, owner)

    def _list_of(
        self, items: Sequence, entry: Entry | None, role: str, label: str, prefix: str, owner: Owner
    ) -> StepList | None:
        steps = StepList(role, label, prefix, items, entry, owner)
        if self.depth >= MAX_DEPTH:
            self.problems.report(
                "limit-exceeded", items, f"Steps are nested more than {MAX_DEPTH} deep; what is below is not analysed."
            )
            return steps
        self.depth += 1
        for item in items.items:
            step = self._item(item, steps)
            if step is not None:
                steps.steps.append(step)
        self.depth -= 1
        if role not in ("on_enter", "steps") or not isinstance(owner, State):
            self.duplicates(steps.steps)
        return steps

    def read_item(self, item: Node, parent: StepList) -> Step | None:
        """One step of the root's list, which stands; None when there is none in the item."""
        self.depth = 1
        step = self._item(item, parent)
        self.depth = 0
        return step

    def duplicates(self, steps: Iterable[Step]) -> None:
        """Report ids that stand twice in one ordered list."""
        first: dict[str, Step] = {}
        for step in steps:
            known = first.setdefault(step.id, step)
            if known is not step:
                self.problems.report(
                    "duplicate-step",
                    step.id_node,
                    f"The step id `{step.id}` appears twice in this list: give one of them another name.",
                    related=[(known.id_node, "first here")],
                )

    def _item(self, item: Node, parent: StepList) -> Step | None:
        if is_broken(item) or (is_cut(item) and not isinstance(item, Mapping)):
            return None
        if not isinstance(item, Mapping):
            self.problems.report(
                "wrong-kind", item, f"A step is a map of one key, `- id: …`, but this is {kind_words(item)}."
            )
            return None
        entries = [entry for entry in item.entries if isinstance(entry.key, Scalar) and type(entry.key.value) is str]
        if not entries:
            if not item.entries and not item.partial:
                self.problems.report(
                    "wrong-kind", item, "A step is a map of one key, `- id: …`, but this one is empty."
                )
            return None
        entry = entries[0]
        if without_id(entries, self.problems) or (len(entries) > 1 and not several_keys(entries, self.problems)):
            return None
        return self._step(entry, parent)

    # ---- one step ------------------------------------------------------------------------------

    def _step(self, entry: Entry, parent: StepList) -> Step:
        key = entry.key
        assert isinstance(key, Scalar)
        name = meant_id(key)
        step = Step(name, entry, parent, len(parent.steps), parent.prefix + name)
        if not check_id(step, key, self.problems):
            return step
        body = entry.value
        if not isinstance(body, Mapping):
            self.reader.wrong_kind(entry, "a step's body, a map with an action or a construct")
            return step
        step.keys = self.reader.string_entries(body)
        self._subject(step)
        if step.kind:
            self._check_keys(step)
            self._configuration(step)
            self._modifiers(step)
        return step

    def _subject(self, step: Step) -> None:
        """Find the one subject key and set ``kind`` and ``call``."""
        dotted = [entry for name, entry in step.keys.items() if "." in name]
        if not dotted:
            self._no_subject(step)
            return
        step.subject = dotted[0]
        for extra in dotted[1:]:
            self.problems.report(
                "subject-count",
                extra.key,
                f"The step `{step.id}` has a second subject: a step does one thing, give this one a step of its own.",
                related=[(dotted[0].key, "the first subject")],
            )
        key = dotted[0].key
        assert isinstance(key, Scalar)
        name = key.text
        if name.startswith("wf."):
            self._construct_subject(step, key, name)
            return
        step.call = self._call(dotted[0], step.keys.get("connection"))
        step.kind = "action"

    def _no_subject(self, step: Step) -> None:
        if isinstance(step.entry.value, Mapping) and is_partial(step.entry.value):
            return
        near = [name for name in step.keys if f"wf.{name}" in CONSTRUCTS]
        if near:
            fix = FixDraft(
                f"Change to `wf.{near[0]}`", "unsafe", (EditDraft(*span_of(step.keys[near[0]].key), f"wf.{near[0]}"),)
            )
            self.problems.report(
                "subject-count",
                step.id_node,
                f"The step `{step.id}` has no subject: constructs are written `wf.{near[0]}`.",
                fixes=[fix],
            )
            return
        self.problems.report(
            "subject-count",
            step.id_node,
            f"The step `{step.id}` has no subject: add an action, `connector.action: {{…}}`, or a construct, `wf.…`.",
        )

    def _construct_subject(self, step: Step, key: Scalar, name: str) -> None:
        if name in CONSTRUCTS:
            step.kind = name
        elif name in RESERVED_CONSTRUCTS:
            self.problems.report(
                "unsupported-construct", key, f"`{name}` is reserved by the Standard and not supported by this tool."
            )
        else:
            near = nearest(name, _meant_constructs(step))
            suffix = f"Did you mean `{near}`?" if near else f"Constructs are {listed(CONSTRUCTS)}."
            fixes = [FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(*span_of(key), near),))] if near else []
            self.problems.report("unknown-action", key, f"There is no construct `{shown(name)}`. {suffix}", fixes=fixes)

    def _call(self, entry: Entry, connection: Entry | None) -> Call:
        key = entry.key
        assert isinstance(key, Scalar)
        match = REFERENCE.match(key.text)
        connector, _, name = key.text.partition(".")
        if match is None:
            self.problems.report(
                "invalid-value", key, f"`{shown(key.text)}` is not an action reference; write `connector.action`."
            )
            connector, name = "", ""
        if not isinstance(entry.value, Mapping):
            self.reader.wrong_kind(entry, "a map of arguments (`{}` when there are none)")
        return Call(entry, connector, name, entry.value, connection)

    def _check_keys(self, step: Step) -> None:
        """Report keys that the subject does not allow, and required ones that are missing."""
        table = ALLOWED_KEYS[step.kind]
        assert step.subject is not None
        what = "an action step" if step.kind == "action" else f"`{step.kind}`"
        unknown: dict[str, Entry] = {}
        for name, entry in step.keys.items():
            if name in table or "." in name:
                continue
            if name in MODIFIERS:
                self.problems.report(
                    "misplaced-modifier", entry.key, f"`{name}` cannot stand on {what}: it is for {_allowed_on(name)}."
                )
            else:
                unknown[name] = entry
        if unknown:
            self.reader.unknown_keys(unknown, table, what, step.keys)
        if isinstance(step.entry.value, Mapping) and is_partial(step.entry.value):
            return
        for spec in table.values():
            if spec.required and spec.name not in step.keys:
                self.reader.missing_key(step.subject.key, spec.name, spec, what)

    # ---- configuration by construct --------------------------------------------------------------

    def _configuration(self, step: Step) -> None:
        if step.kind != "action":
            _CONFIGURATIONS[step.kind](self, step)

    def _child(self, step: Step, key: str, role: str, segment: str) -> None:
        """Read the step list under ``key`` as a list of the construct; ``segment`` is its part of the path."""
        entry = step.keys.get(key)
        if entry is None:
            return
        found = self.read_list(entry, role, "", f"{step.path}{segment}.", step)
        if found is not None:
            step.lists.append(found)

    def _literal(self, step: Step, key: str) -> object:
        entry = step.keys.get(key)
        return None if entry is None else self.reader.literal(entry, ALLOWED_KEYS[step.kind][key])

    def _wait_for(self, step: Step) -> None:
        assert step.subject is not None
        self.reader.literal(step.subject, KeySpec("wf.wait_for", "reference", ""))
        for key in ("match", "configuration"):
            if key in step.keys:
                self.reader.mapping(step.keys[key])
        self._literal(step, "connection")
        if "timeout" in step.keys:
            self._null_or(step.keys["timeout"], ALLOWED_KEYS[step.kind]["timeout"])
            step.timeout_us = self.reader.literal(step.keys["timeout"], ALLOWED_KEYS[step.kind]["timeout"])
        self._child(step, "steps", "steps", "")

    def _wait(self, step: Step) -> None:
        assert step.subject is not None
        step.timeout_us = self.reader.literal(step.subject, KeySpec("wf.wait", "wait-timeout", ""))

    def _if(self, step: Step) -> None:
        assert step.subject is not None
        self.expression(step.subject, KeySpec("wf.if", "boolean-expression", ""))
        self._child(step, "then", "then", ".(then)")
        self._child(step, "else", "else", ".(else)")

    def _switch(self, step: Step) -> None:
        assert step.subject is not None
        self.expression(step.subject, KeySpec("wf.switch", "scalar-expression", ""))
        cases = (
            self.reader.mapping(step.keys["cases"], "a map of literals to step lists") if "cases" in step.keys else None
        )
        kinds = _kinds_by_text(cases) if cases is not None else {}
        for entry in cases.entries if cases is not None else ():
            key = entry.key
            if not isinstance(key, Scalar) or key.broken or type(key.value) not in (str, int, bool):
                continue
            if is_template(key):
                self.problems.report("literal-required", key, "A case is a literal value, not an interpolation.")
            # Cases may differ in kind alone, and their steps must not have the same paths: then a string is quoted.
            label = f'"{key.text}"' if type(key.value) is str and len(kinds[key.text]) > 1 else key.text
            found = self.read_list(entry, "case", label, f"{step.path}.(case:{label}).", step)
            if found is not None:
                step.lists.append(found)
        self._child(step, "default", "default", ".(default)")

    def _parallel(self, step: Step) -> None:
        assert step.subject is not None
        step.on_branch_fail = str(self._literal(step, "on_branch_fail") or "fail")
        branches = self.reader.mapping(step.subject, "a map of branch names to step lists")
        if branches is None:
            return
        for name, entry in self.reader.string_entries(branches).items():
            if not IDENTIFIER.match(name):
                self.problems.report(
                    "invalid-value", entry.key, f"The branch `{shown(name)}` is not {VALUE_KINDS['identifier']}."
                )
            found = self.read_list(entry, "branch", name, f"{step.path}.{name}.", step)
            if found is not None:
                step.lists.append(found)

    def _for_each(self, step: Step) -> None:
        assert step.subject is not None
        value = step.subject.value
        if isinstance(value, Mapping) or (isinstance(value, Scalar) and not is_template(value)):
            self.reader.wrong_kind(step.subject, VALUE_KINDS["list-expression"])
        name = self._literal(step, "as")
        if isinstance(name, str):
            step.loop_name = name
            if name in RESERVED_WORDS and name != "item":
                self.problems.report(
                    "reserved-name", step.keys["as"].value, f"`{name}` is a word of the language: choose another name."
                )
        concurrency = self._literal(step, "concurrency")
        step.concurrency = concurrency if isinstance(concurrency, int) else 1
        step.on_iteration_fail = str(self._literal(step, "on_iteration_fail") or "fail")
        self._child(step, "steps", "steps", "[]")

    def _group(self, step: Step) -> None:
        assert step.subject is not None
        found = self.read_list(step.subject, "group", "", f"{step.path}.", step)
        if found is not None:
            step.lists.append(found)

    def _call_workflow(self, step: Step) -> None:
        assert step.subject is not None
        self.reader.literal(step.subject, KeySpec("wf.call", "name", ""))
        if "inputs" in step.keys:
            self.reader.mapping(step.keys["inputs"])

    def _let(self, step: Step) -> None:
        assert step.subject is not None
        mapping = self.reader.mapping(step.subject, VALUE_KINDS["map-of-expressions"])
        for entry in self.reader.string_entries(mapping).values() if mapping is not None else ():
            if is_absent(entry.value):
                self.reader.wrong_kind(entry, "a value")

    def _ending(self, step: Step) -> None:
        """``wf.fail`` and ``wf.stop``."""
        assert step.subject is not None
        table = FAIL_KEYS if step.kind == "wf.fail" else STOP_KEYS
        mapping = self.reader.mapping(step.subject)
        if mapping is None:
            return
        for name, entry in self.reader.fields(mapping, table, step.subject.key, f"`{step.kind}`").items():
            self.expression(entry, table[name])

    # ---- modifiers -------------------------------------------------------------------------------

    def _modifiers(self, step: Step) -> None:
        allowed = ALLOWED_KEYS[step.kind]
        for name, entry in step.keys.items():
            if name in MODIFIERS and name in allowed:
                reader = _MODIFIERS.get(name)
                if reader is not None:
                    reader(self, step, entry)

    def expression(self, entry: Entry, spec: KeySpec) -> None:
        """Check the kind of an expression's place; its text is typed later."""
        node = entry.value
        if is_broken(node):
            return
        scalar_only = spec.kind in ("boolean-expression", "string-expression", "scalar-expression")
        if is_absent(node) or (scalar_only and (is_null(node) or not isinstance(node, Scalar))):
            self.reader.wrong_kind(entry, VALUE_KINDS[spec.kind])

    def _null_or(self, entry: Entry, spec: KeySpec) -> None:
        if is_null(entry.value):
            self.reader.wrong_kind(entry, VALUE_KINDS[spec.kind])

    def _when(self, _step: Step, entry: Entry) -> None:
        self.expression(entry, MODIFIERS["when"].key)

    def _idempotency_key(self, _step: Step, entry: Entry) -> None:
        self.expression(entry, MODIFIERS["idempotency_key"].key)

    def _connection(self, step: Step, entry: Entry) -> None:
        if step.kind == "action":
            self.reader.literal(entry, MODIFIERS["connection"].key)

    def _timeout(self, step: Step, entry: Entry) -> None:
        if step.kind != "wf.wait_for":
            step.timeout_us = self.reader.literal(entry, MODIFIERS["timeout"].key)

    def _on_fail(self, step: Step, entry: Entry) -> None:
        step.on_fail = self.reader.literal(entry, MODIFIERS["on_fail"].key) or "fail"

    def _on_unknown(self, step: Step, entry: Entry) -> None:
        step.on_unknown = self.reader.literal(entry, MODIFIERS["on_unknown"].key)

    def _retry(self, step: Step, entry: Entry) -> None:
        mapping = self.reader.mapping(entry)
        if mapping is None:
            return
        retry = Retry(entry)
        step.retry = retry
        keys = self.reader.fields(mapping, RETRY_KEYS, entry.key, "`retry`")
        values = {name: self.reader.literal(item, RETRY_KEYS[name]) for name, item in keys.items() if name != "on"}
        retry.attempts = values.get("attempts") or 1
        if values.get("delay") is not None:
            retry.delay_us = values["delay"]
        retry.backoff = values.get("backoff") or 1
        retry.max_delay_us = values.get("max_delay")
        retry.jitter = values.get("jitter") or 0
        if "on" in keys:
            retry.on = self.reader.codes(keys["on"])

    def _catch(self, step: Step, entry: Entry) -> None:
        items = self.reader.sequence(entry, VALUE_KINDS["handlers"])
        for index, item in enumerate(items.items if items is not None else ()):
            if not isinstance(item, Mapping):
                if not is_broken(item):
                    self.problems.report(
                        "wrong-kind",
                        item,
                        f"A handler is a map of `codes`, `steps`, `result`, but this is {kind_words(item)}.",
                    )
                continue
            keys = self.reader.fields(item, CATCH_KEYS, item, "a handler")
            codes = self.reader.codes(keys["codes"]) if "codes" in keys else None
            if "codes" in keys and codes is None:
                codes = []
            steps = None
            if "steps" in keys:
                steps = self.read_list(keys["steps"], "catch", str(index), f"{step.path}.(catch:{index}).", step)
            if "result" in keys:
                self.expression(keys["result"], CATCH_KEYS["result"])
            result = keys["result"].value if "result" in keys else None
            step.handlers.append(Handler(index, item, codes, steps, result))

    def _reconcile(self, step: Step, entry: Entry) -> None:
        step.reconcile = Reconcile(entry, None, None, None)
        mapping = self.reader.mapping(entry)
        if mapping is None:
            return
        keys = self.reader.string_entries(mapping)
        unknown = {name: item for name, item in keys.items() if name not in RECONCILE_KEYS}
        self.reader.unknown_keys(unknown, RECONCILE_KEYS, "`reconcile`", keys)
        if "steps" in keys:
            step.reconcile.steps = self.read_list(keys["steps"], "reconcile", "", f"{step.path}.(reconcile).", step)
        if "outcome" in keys:
            self.expression(keys["outcome"], RECONCILE_KEYS["outcome"])
            step.reconcile.outcome = keys["outcome"].value
        if "result" in keys:
            self.expression(keys["result"], RECONCILE_KEYS["result"])
            step.reconcile.result = keys["result"].value

    def _undo(self, step: Step, entry: Entry) -> None:
        step.undo_entry = entry
        mapping = self.reader.mapping(entry, VALUE_KINDS["call"])
        if mapping is None:
            return
        keys = self.reader.string_entries(mapping)
        dotted = [item for name, item in keys.items() if "." in name]
        for name, item in keys.items():
            if "." not in name and name != "connection":
                self._undo_extra(name, item)
        if not dotted and is_partial(mapping):
            return
        if not dotted:
            self.problems.report(
                "subject-count", entry.key, "`undo` names no action: write `undo: { connector.action: {…} }`."
            )
            return
        for extra in dotted[1:]:
            self.problems.report(
                "subject-count",
                extra.key,
                "`undo` is one action call: remove the second.",
                related=[(dotted[0].key, "the first")],
            )
        key = dotted[0].key
        assert isinstance(key, Scalar)
        if key.text.startswith("wf."):
            self.problems.report(
                "subject-count", entry.key, f"`undo` is one action call, and `{shown(key.text)}` is not one."
            )
            return
        if "connection" in keys:
            self.reader.literal(keys["connection"], MODIFIERS["connection"].key)
        step.undo = self._call(dotted[0], keys.get("connection"))

    def _undo_extra(self, name: str, item: Entry) -> None:
        if name in MODIFIERS:
            self.problems.report(
                "misplaced-modifier", item.key, f"`{name}` cannot stand on `undo`: it has one attempt."
            )
        else:
            self.problems.report(
                "unknown-key",
                item.key,
                f"`{shown(name)}` is not a key of `undo`: only the action and `connection` are.",
            )

    def _recovery(self, step: Step, entry: Entry) -> None:
        step.recovery = self.recovery(entry, step)


_ALL_KEYS = frozenset(key for table in ALLOWED_KEYS.values() for key in table)

_CONFIGURATIONS: dict[str, Callable[[StepReader, Step], None]] = {
    "wf.wait_for": StepReader._wait_for,
    "wf.wait": StepReader._wait,
    "wf.if": StepReader._if,
    "wf.switch": StepReader._switch,
    "wf.parallel": StepReader._parallel,
    "wf.for_each": StepReader._for_each,
    "wf.group": StepReader._group,
    "wf.call": StepReader._call_workflow,
    "wf.let": StepReader._let,
    "wf.fail": StepReader._ending,
    "wf.stop": StepReader._ending,
}

_MODIFIERS: dict[str, Callable[[StepReader, Step, Entry], None]] = {
    "when": StepReader._when,
    "connection": StepReader._connection,
    "timeout": StepReader._timeout,
    "retry": StepReader._retry,
    "catch": StepReader._catch,
    "on_fail": StepReader._on_fail,
    "on_unknown": StepReader._on_unknown,
    "reconcile": StepReader._reconcile,
    "undo": StepReader._undo,
    "idempotency_key": StepReader._idempotency_key,
    "recovery": StepReader._recovery,
}


def _meant_constructs(step: Step) -> list[str]:
    """The constructs that can have what the step has: a value of that kind, and its keys."""
    assert step.subject is not None
    value, keys = step.subject.value, [key for key in step.keys if "." not in key]
    found = [name for name, each in CONSTRUCTS.items() if plausible(KeySpec(name, each.subject, ""), value)]
    return [name for name in found if all(key in ALLOWED_KEYS[name] or key not in _ALL_KEYS for key in keys)]


def _kinds_by_text(cases: Mapping) -> dict[str, set[type]]:
    kinds: dict[str, set[type]] = {}
    for entry in cases.entries:
        if isinstance(entry.key, Scalar):
            kinds.setdefault(entry.key.text, set()).add(type(entry.key.value))
    return kinds


def _allowed_on(name: str) -> str:
    """The steps that allow a modifier, in words."""
    on = MODIFIERS[name].on
    constructs = [construct for construct in CONSTRUCTS if construct in on]
    if len(constructs) > 6:
        return "every step but `wf.fail` and `wf.stop`"
    words = ["actions"] if "action" in on else []
    return " and ".join([*words, listed(constructs)] if constructs else words)
