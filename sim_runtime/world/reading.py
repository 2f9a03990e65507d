"""Scenario files: from the positioned tree to a ``Scenario`` (interfaces page, "Scenario files").

Only the shape is looked at here; whether actions, paths and triggers exist is told by ``sim_runtime.world.checks``, for
which the Workfile is needed. Reading goes on past a fault: the faulty part is left out and reported.
"""

from __future__ import annotations

import os
from math import isfinite
from typing import Any, Final

from analyzer.expressions.schema_faults import json_value, key_text
from analyzer.language.scenario_vocabulary import (
    AMBIGUITY_KEYS,
    ANSWER_KEYS,
    ANSWERS,
    CANCEL_KEYS,
    CRASH_KEYS,
    CRASH_POINT_KEYS,
    DECISION_WORDS,
    EVENT_KEYS,
    EXPECT_KEYS,
    EXPECTED_CALL_KEYS,
    EXPECTED_FAILURE_KEYS,
    EXPECTED_STOP_KEYS,
    FAILURE_KEYS,
    OPERATOR_FAILURE_KEYS,
    OPERATOR_KEYS,
    SCENARIO_KEYS,
)
from analyzer.language.suggest import hint
from analyzer.language.vocabulary import KeySpec
from analyzer.language.words import shown
from analyzer.model.problems import Problems
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.documents import Document
from sim_runtime.driver.protocol import CrashPoint, Decision, ScriptedEvent
from sim_runtime.history.records import KINDS
from sim_runtime.world.scenario import (
    AnswerList,
    CrashEntry,
    EventEntry,
    OperatorEntry,
    Scenario,
    ScriptedAnswer,
)
from sim_runtime.world.values import Bad, Keys, ValueReader


def read_scenario(document: Document, problems: Problems) -> Scenario:
    """The scenario of a file; what is wrong with its shape goes to ``problems`` as ``scenario-invalid``."""
    return _Reader(document.path, problems).scenario(document.tree.root, sound=not document.tree.problems)


class _Reader(ValueReader):
    def __init__(self, path: str, problems: Problems) -> None:
        super().__init__(problems)
        self.path = path

    def scenario(self, root: Node | None, *, sound: bool) -> Scenario:
        scenario = Scenario(self.path)
        if root is None or (isinstance(root, Scalar) and root.value is None and not root.broken):
            if sound:
                self.report((0, 0), "The scenario is empty: start it with `workfile: PATH`.")
            return scenario
        keys = self.keys(root, SCENARIO_KEYS, "A scenario", at=(0, 0))
        if keys is None or not isinstance(root, Mapping):
            return scenario
        scenario.root = root
        self.numbers(root)
        workfile = self.value(keys, SCENARIO_KEYS["workfile"])
        if workfile:
            scenario.workfile = os.path.normpath(os.path.join(os.path.dirname(self.path), workfile))  # noqa: PTH118, PTH120
        scenario.start_us = self.value(keys, SCENARIO_KEYS["start"], scenario.start_us)
        self.start_us = scenario.start_us
        scenario.seed = self.value(keys, SCENARIO_KEYS["seed"], scenario.seed)
        scenario.until_us = self.value(keys, SCENARIO_KEYS["until"])
        scenario.inputs = self.value(keys, SCENARIO_KEYS["inputs"], {})
        if "trigger" in keys:
            scenario.trigger = json_value(keys["trigger"].value)
        scenario.dry_run = self.value(keys, SCENARIO_KEYS["dry_run"], False)
        self.actions(keys, scenario)
        for item in self.items(keys["events"], "events") if "events" in keys else ():
            self.event(item, scenario)
        for item in self.items(keys["crashes"], "crash points") if "crashes" in keys else ():
            self.crash(item, scenario)
        for item in self.items(keys["operator"], "decisions") if "operator" in keys else ():
            self.decision(item, scenario)
        self.cancel(keys, scenario)
        if "expect" in keys:
            scenario.expect = _ExpectReader(self).read(keys["expect"])
        return scenario

    def numbers(self, root: Node) -> None:
        """Report the numbers that JSON does not have; there is no way to record them."""
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Mapping):
                stack.extend(entry.value for entry in node.entries)
            elif isinstance(node, Sequence):
                stack.extend(node.items)
            elif isinstance(node, Scalar) and isinstance(node.value, float) and not isfinite(node.value):
                self.report(node, f"`{shown(node.text)}` cannot be recorded: write a finite number.")

    # Answers.

    def actions(self, keys: Keys, scenario: Scenario) -> None:
        for entry in self.named(keys["actions"], "action names or step paths to answers") if "actions" in keys else ():
            name = key_text(entry.key) or ""
            value = entry.value
            nodes = value.items if isinstance(value, Sequence) else [value]
            if isinstance(value, Sequence) and not value.items:
                self.report(entry.value, f"`{shown(name)}` has no answer: write one, or remove it.")
            answers = [answer for node in nodes if not is_broken(node) for answer in self.answer(node, entry)]
            if answers:
                scenario.actions[name] = AnswerList(name, answers, entry.key)

    def answer(self, node: Node, entry: Entry) -> list[ScriptedAnswer]:
        keys = self.keys(node, ANSWER_KEYS, "An answer", at=entry.key)
        if keys is None or not isinstance(node, Mapping):
            return []
        kinds = [kind for kind in ANSWERS if kind in keys]
        if len(kinds) != 1:
            listed = ", ".join(f"`{kind}`" for kind in ANSWERS)
            if kinds:
                self.report(keys[kinds[1]].key, f"An answer is one of {listed}, and this has several: keep one.")
            elif all(key_text(each.key) in ANSWER_KEYS for each in node.entries):
                self.report(node, f"An answer is one of {listed}: add one.")
            return []
        kind = kinds[0]
        answer = ScriptedAnswer(kind, node=node)
        answer.latency_us = self.value(keys, ANSWER_KEYS["latency"], 0)
        answer.where = self.value(keys, ANSWER_KEYS["where"])
        value = keys[kind].value
        if kind == "succeed":
            answer.result = json_value(value)
        elif kind == "fail":
            return [answer] if self.failure(keys[kind], answer) else []
        else:
            return [answer] if self.ambiguity(keys[kind], answer) else []
        return [answer]

    def failure(self, entry: Entry, answer: ScriptedAnswer) -> bool:
        keys = self.keys(entry.value, FAILURE_KEYS, "A failure", at=entry.key)
        if keys is None:
            return False
        answer.code = self.value(keys, FAILURE_KEYS["code"], "")
        answer.message = self.value(keys, FAILURE_KEYS["message"], "")
        answer.details = self.value(keys, FAILURE_KEYS["details"])
        answer.retryable = self.value(keys, FAILURE_KEYS["retryable"])
        answer.retry_after_us = self.value(keys, FAILURE_KEYS["retry_after"])
        return bool(answer.code)

    def ambiguity(self, entry: Entry, answer: ScriptedAnswer) -> bool:
        keys = self.keys(entry.value, AMBIGUITY_KEYS, "An ambiguous answer", at=entry.key)
        if keys is None:
            return False
        answer.code = self.value(keys, AMBIGUITY_KEYS["code"], "")
        answer.happened = self.value(keys, AMBIGUITY_KEYS["effect"], "happened") == "happened"
        return bool(answer.code)

    # Events, crashes, decisions, cancellation.

    def event(self, node: Node, scenario: Scenario) -> None:
        keys = self.keys(node, EVENT_KEYS, "An event")
        if keys is None or not isinstance(node, Mapping):
            return
        trigger = self.value(keys, EVENT_KEYS["deliver"])
        at = self.value(keys, EVENT_KEYS["at"])
        after = self.value(keys, EVENT_KEYS["after"])
        by = self.value(keys, EVENT_KEYS["by"], 0)
        if ("at" in keys) == ("after" in keys):
            several = "at" in keys
            what = "has both: keep one" if several else "has neither: add one"
            self.report(keys["after"].key if several else node, f"An event says `at` or `after`, and this {what}.")
            return
        if "by" in keys and "after" not in keys:
            self.report(keys["by"].key, "`by` counts from a subscription: write it beside `after`, or only `at`.")
        if trigger is None or (at is None and after is None):
            return
        delivery = self.value(keys, EVENT_KEYS["id"])
        payload = json_value(keys["payload"].value) if "payload" in keys else {}
        event = ScriptedEvent(trigger, payload, delivery, at, after, by)
        scenario.events.append(EventEntry(event, node))

    def crash(self, node: Node, scenario: Scenario) -> None:
        keys = self.keys(node, CRASH_KEYS, "A crash point")
        if keys is None or not isinstance(node, Mapping):
            return
        if ("after" in keys) == ("before" in keys):
            several = "after" in keys
            what = "has both: keep one" if several else "has neither: add one"
            where = keys["before"].key if several else node
            self.report(where, f"A crash point says `after` or `before`, and this {what}.")
            return
        when = "after" if "after" in keys else "before"
        down = self.value(keys, CRASH_KEYS["down"], 0)
        point = keys[when].value
        inner = self.keys(point, CRASH_POINT_KEYS, f"`{when}`", at=keys[when].key)
        if inner is None or not isinstance(point, Mapping):
            return
        seq = self.value(inner, CRASH_POINT_KEYS["seq"])
        kind = self.value(inner, CRASH_POINT_KEYS["record"])
        if ("seq" in inner) == ("record" in inner):
            several = "seq" in inner
            what = "this has both: keep one" if several else "this has neither: add one"
            self.report(inner["seq"].key if several else point, f"A point is a `record` or a `seq`, and {what}.")
            return
        if "seq" in inner and ("path" in inner or "nth" in inner):
            extra = inner["path"] if "path" in inner else inner["nth"]
            self.report(extra.key, "A point with `seq` is one record already: remove this.")
        if kind is not None and kind not in KINDS:
            advice = hint(kind, KINDS) or " Write one such as `action.dispatched`."
            self.report(inner["record"].value, f"`{shown(kind)}` is not a kind of record.{advice}")
            return
        if kind is None and seq is None:
            return
        path = self.value(inner, CRASH_POINT_KEYS["path"])
        nth = self.value(inner, CRASH_POINT_KEYS["nth"], 1)
        scenario.crashes.append(CrashEntry(CrashPoint(when, kind, path, nth, seq, down), node, point))

    def decision(self, node: Node, scenario: Scenario) -> None:
        keys = self.keys(node, OPERATOR_KEYS, "A decision")
        if keys is None or not isinstance(node, Mapping):
            return
        on = self.value(keys, OPERATOR_KEYS["on"])
        actor = self.value(keys, OPERATOR_KEYS["actor"], "operator")
        at = self.value(keys, OPERATOR_KEYS["at"])
        decision = self.decided(keys["decide"], on or "", actor) if "decide" in keys else None
        if on is not None and decision is not None and ("at" not in keys or at is not None):
            scenario.operator.append(OperatorEntry(decision, at, node))

    def decided(self, entry: Entry, on: str, actor: str) -> Decision | None:
        node = entry.value
        if is_broken(node):
            return None
        if isinstance(node, Scalar) and isinstance(node.value, str):
            if node.value in DECISION_WORDS:
                return Decision(on, actor, node.value)
            advice = hint(node.value, (*DECISION_WORDS, "succeed", "fail"))
            self.report(node, f"`{shown(node.value)}` is not a decision; {_DECISIONS}.{advice}")
            return None
        table = {kind: ANSWER_KEYS[kind] for kind in ("succeed", "fail")}
        if not isinstance(node, Mapping):
            self.wrong(node, entry.key, f"`decide` must be {_DECISIONS.removeprefix('write ')}")
            return None
        keys = self.keys(node, table, "A decision")
        if not keys:
            if not node.entries:
                self.report(node, f"This is not a decision: {_DECISIONS}.")
            return None
        if len(keys) > 1:
            self.report(keys["fail"].key, "A decision is `succeed` or `fail`, and this has both: keep one.")
            return None
        if "succeed" in keys:
            return Decision(on, actor, "succeed", result=json_value(keys["succeed"].value))
        return self.failed(keys["fail"], on, actor)

    def failed(self, entry: Entry, on: str, actor: str) -> Decision | None:
        keys = self.keys(entry.value, OPERATOR_FAILURE_KEYS, "The failure", at=entry.key)
        code = None if keys is None else self.value(keys, OPERATOR_FAILURE_KEYS["code"])
        if keys is None or code is None:
            return None
        return Decision(
            on,
            actor,
            "fail",
            code=code,
            message=self.value(keys, OPERATOR_FAILURE_KEYS["message"], ""),
            details=self.value(keys, OPERATOR_FAILURE_KEYS["details"]),
            retryable=self.value(keys, OPERATOR_FAILURE_KEYS["retryable"], False),
        )

    def cancel(self, keys: Keys, scenario: Scenario) -> None:
        if "cancel" not in keys:
            return
        inner = self.keys(keys["cancel"].value, CANCEL_KEYS, "`cancel`", at=keys["cancel"].key)
        if inner is not None:
            scenario.cancel_at_us = self.value(inner, CANCEL_KEYS["at"])
            scenario.cancel_reason = self.value(inner, CANCEL_KEYS["reason"])


_DECISIONS: Final = "write `reissue`, `authorize_recovery`, `{ succeed: … }` or `{ fail: { code: … } }`"


class _ExpectReader:
    """Reads ``expect`` into plain values."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader

    def read(self, entry: Entry) -> dict[str, Any] | None:
        keys = self.reader.keys(entry.value, EXPECT_KEYS, "`expect`", at=entry.key)
        if keys is None:
            return None
        found: dict[str, Any] = {}
        for name, each in keys.items():
            if is_broken(each.value):
                continue
            try:
                found[name] = self.value(name, each)
            except Bad:
                continue
        return found

    def value(self, name: str, entry: Entry) -> Any:
        reader, spec = self.reader, EXPECT_KEYS[name]
        if spec.kind == "counts":
            return self.counts(entry)
        if spec.kind in ("paths", "strings"):
            return self.paths(entry, spec)
        if name in ("failure", "stop"):
            table = EXPECTED_FAILURE_KEYS if name == "failure" else EXPECTED_STOP_KEYS
            return self.partial(entry, table, f"`{name}`")
        if name == "calls":
            items = reader.items(entry, "calls")
            return [self.partial(Entry(entry.key, item), EXPECTED_CALL_KEYS, "A call") for item in items]
        return reader.read(entry, spec)

    def counts(self, entry: Entry) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.reader.named(entry, "action names to counts"):
            name = key_text(each.key) or ""
            try:
                found[name] = self.reader.read(each, KeySpec(shown(name), "count", ""))
            except Bad:
                continue
        return found

    def paths(self, entry: Entry, spec: KeySpec) -> list[str]:
        found = []
        for item in self.reader.items(entry, "paths"):
            if isinstance(item, Scalar) and isinstance(item.value, str):
                found.append(item.value)
            else:
                self.reader.wrong(item, entry.key, f"An element of `{spec.name}` must be a path")
        return found

    def partial(self, entry: Entry, table: dict[str, KeySpec], place: str) -> dict[str, Any] | None:
        node = entry.value
        if isinstance(node, Scalar) and node.value is None and node.text and place != "A call":
            return None
        keys = self.reader.keys(node, table, place, at=entry.key)
        if keys is None:
            raise Bad
        found: dict[str, Any] = {}
        for name, each in keys.items():
            if isinstance(each.value, Scalar) and each.value.value is None and each.value.text:
                found[name] = None
                continue
            try:
                found[name] = self.reader.read(each, table[name])
            except Bad:
                continue
        return found


def read_decision(text: str, on: str, actor: str) -> Decision | str:
    """An operator's decision written as in a scenario (``decide: …``), or what is wrong with it, in words."""
    problems = Problems()
    tree = parse(Source(text))
    if tree.problems:
        return tree.problems[0].message
    if tree.root is None:
        return f"A decision is missing; {_DECISIONS}."
    key = Scalar(0, 0, "decide", "decide")
    reader = _Reader("", problems)
    reader.numbers(tree.root)
    decision = reader.decided(Entry(key, tree.root), on, actor)
    if decision is None or problems.items:
        return problems.items[0].message if problems.items else f"This is not a decision; {_DECISIONS}."
    return decision
