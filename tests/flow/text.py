"""Small programs as Workfiles on disk: JSON, which is YAML, so that the reader and the typing take part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analyzer.model.nodes import Workflow
from tests.flow.mini import MiniState, Node, Program, every_node

GUARD = "{{ inputs.go }}"
FAULTS = {
    "let": "{{ 1 / inputs.n }}",
    "if": "{{ 1 / inputs.n > 0 }}",
    "each": "{{ inputs.lists[inputs.n] }}",
    "wait": "{{ inputs.until }}",
}
INPUTS = {
    "go": "boolean",
    "n": "integer",
    "key": "string",
    "until": "timestamp",
    "list": "list[integer]",
    "lists": "list[list[integer]]",
}
STOP_AFTER = {"failures": 2, "within": "1h"}


def connector() -> dict[str, Any]:
    """Actions of every idempotency, with and without output; ``look`` is what undoes and probes."""
    errors = {"x": {"retryable": False}}
    actions: dict[str, Any] = {}
    for idempotency in ("none", "keyed"):
        for output in (False, True):
            action = {"effect": "write", "idempotency": idempotency, "input": {}, "errors": errors}
            if output:
                action["output"] = {"v": "string"}
            actions[f"{idempotency}_{'out' if output else 'bare'}"] = action
    triggers = {"signal": {"source": "external", "payload": {"key": "string"}, "correlate_on": ["key"]}}
    return {"connector": "lab", "version": "1.0.0", "actions": actions, "triggers": triggers}


def write(program: Program, folder: Path) -> Path:
    """Write a program, those that it calls, and their connector; the path of the main file."""
    (folder / "connectors").mkdir(exist_ok=True)
    (folder / "workfile.toml").write_text("", encoding="utf-8")
    write_json(folder / "connectors" / "lab.connector.yaml", connector())
    for node in every_node(program):
        if node.child is not None:
            write_json(folder / f"{node.id}.workfile.yaml", workfile(node.child, node.id))
    path = folder / "main.workfile.yaml"
    write_json(path, workfile(program, "main"))
    return path


def write_json(path: Path, content: object) -> None:
    """Write a file of JSON, which is YAML."""
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def workfile(program: Program, name: str) -> dict[str, Any]:
    """The content of one file."""
    result: dict[str, Any] = {"workfile": "1.0", "name": name, "inputs": INPUTS}
    if program.redo:
        result["recovery"] = recovery(program.redo, program.then)
    if program.states:
        result["initial"] = next(iter(program.states))
        result["states"] = {key: state(each) for key, each in program.states.items()}
    else:
        result["steps"] = steps(program.steps)
    if program.result_fault:
        result["result"] = {"v": FAULTS["let"]}
    return result


def recovery(redo: str, then: str) -> dict[str, Any]:
    """A recovery."""
    return {"redo": redo, "stop_after": STOP_AFTER, "then": then, "delay": "1m"}


def state(mini: MiniState) -> dict[str, Any]:
    """A state."""
    result: dict[str, Any] = {"on_enter": steps(mini.on_enter), "steps": steps(mini.steps)}
    routes: list[dict[str, Any]] = []
    for guarded, fault, target in mini.routes:
        when = {"when": FAULTS["if"] if fault else GUARD} if guarded else {}
        routes.append({**when, "to": target})
    if routes:
        result["routes"] = routes
    if mini.timers:
        result["timers"] = {f"t{number}": {"after": "1h", "to": target} for number, target in enumerate(mini.timers)}
    if mini.final:
        result["final"] = True
    if mini.redo:
        result["recovery"] = recovery(mini.redo, mini.then)
    return result


def steps(nodes: list[Node]) -> list[dict[str, Any]]:
    """A step list."""
    return [{node.id: body(node)} for node in nodes]


def body(node: Node) -> dict[str, Any]:
    """A step's body."""
    result = {**subject(node)}
    if node.guard:
        result["when"] = GUARD
    if node.redo:
        result["recovery"] = recovery(node.redo, node.then)
    if node.on_fail != "fail":
        result["on_fail"] = node.on_fail
    if node.handlers:
        result["catch"] = [
            {**({} if codes is None else {"codes": list(codes)}), "steps": steps(inner)}
            for codes, inner in node.handlers
        ]
    return result


def subject(node: Node) -> dict[str, Any]:
    """What the step does."""
    lists = [steps(each) for each in node.lists]
    if node.kind == "act":
        return action(node)
    if node.kind == "let":
        return {"wf.let": {"v": FAULTS["let"] if node.fault else 1}}
    if node.kind == "wait":
        return {"wf.wait": FAULTS["wait"] if node.fault else "1s"}
    if node.kind == "stop":
        return {"wf.stop": {"reason": f"r {FAULTS['let']}" if node.fault else "r"}}
    if node.kind == "fail":
        return {"wf.fail": {"code": f"c {FAULTS['let']}" if node.fault else "c"}}
    if node.kind == "group":
        return {"wf.group": lists[0]}
    if node.kind == "wait_for":
        match = {"key": "{{ inputs.key }}" if node.fault else "k"}
        return {"wf.wait_for": "lab.signal", "match": match, "timeout": "1h", "steps": lists[0]}
    if node.kind == "if":
        other = {"else": lists[1]} if len(lists) > 1 else {}
        return {"wf.if": FAULTS["if"] if node.fault else GUARD, "then": lists[0], **other}
    if node.kind == "parallel":
        policy = {"on_branch_fail": "continue"} if node.keep_going else {}
        return {"wf.parallel": {f"b{number}": each for number, each in enumerate(lists)}, **policy}
    if node.kind == "each":
        items: object = FAULTS["each"] if node.fault else "{{ inputs.list }}"
        if node.count is not None:
            items = list(range(node.count))
        policy = {"on_iteration_fail": "continue"} if node.keep_going else {}
        return {"wf.for_each": items, "steps": lists[0], "concurrency": node.concurrency, **policy}
    given = {name: f"{{{{ inputs.{name} }}}}" for name in INPUTS}
    return {"wf.call": node.id, "inputs": given, **({"timeout": "1h"} if node.timeout else {})}


def action(node: Node) -> dict[str, Any]:
    """An action step's subject and what hangs on it."""
    result: dict[str, Any] = {f"lab.{node.idempotency}_{'out' if node.output else 'bare'}": {}}
    if node.undo:
        result["undo"] = {"lab.keyed_bare": {}}
    if node.unknown:
        result["on_unknown"] = node.unknown
    if node.unknown == "reconcile":
        settled = {"result": {"v": "found"}} if node.output else {}
        result["reconcile"] = {"steps": steps(node.probes), "outcome": GUARD, **settled}
    return result


def faults_are_expressible(program: Program) -> bool:
    """A literal list of a loop cannot fault; everything else can be written."""
    return not any(node.kind == "each" and node.fault and node.count is not None for node in every_node(program))


def analysed(path: Path) -> Workflow:
    """The resolved and typed main Workfile."""
    from analyzer.check import engine_for
    from analyzer.workspace.project import project_for

    workflow = engine_for(project_for(str(path))).typed(str(path))
    assert workflow is not None
    return workflow
