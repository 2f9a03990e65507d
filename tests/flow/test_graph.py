"""The control-flow graph: its tables, the networkx form, and that its paths say what the redo sets say."""

from __future__ import annotations

import re
import subprocess
import sys

import networkx as nx
import pytest

from analyzer import flow
from analyzer.flow import graph as graph_module
from analyzer.flow.analysis import analyse
from analyzer.flow.graph import EDGE_KINDS, NODE_KINDS, build_graph
from analyzer.flow.redo import redo_of
from analyzer.model.nodes import Step
from tests.flow.generator import Generator
from tests.flow.mini import Node, Program, every_node, model
from tests.flow.test_cases import act, fan, group, machine, run, state


def edges(program: Program) -> list[tuple[str, str, str]]:
    tables = build_graph(analyse(model(program)))
    return sorted((tables.names[source], tables.names[target], kind) for source, target, kind, _ in tables.edges)


def test_the_documented_kinds_are_the_kinds() -> None:
    documented = re.findall(
        r"`([a-z.]+)`", "\n".join(re.findall(r"^\| (`[^|]+) \|", graph_module.__doc__ or "", re.MULTILINE))
    )
    assert documented == [*NODE_KINDS, *EDGE_KINDS]


def test_a_step_has_its_start_success_and_failure() -> None:
    assert edges(run(act("a"))) == [
        ("a#failure", "run#run.failed", "end"),
        ("a#start", "a#failure", "fail"),
        ("a#start", "a#success", "next"),
        ("a#success", "run#run.succeeded", "next"),
        ("run#run.start", "a#start", "next"),
    ]


def test_what_cannot_fail_has_no_failure() -> None:
    assert not any(kind == "fail" for _, _, kind in edges(run(Node("let", "l"), Node("wait", "w"))))


def test_a_recovery_leads_back_and_out() -> None:
    found = edges(run(group("g", act("a"), act("b"), redo="this_and_after", then="fail", on_fail="continue")))
    assert ("g.b#failure", "g#recovery", "recover") in found
    assert ("g#recovery", "g.a#start", "redo") in found
    assert ("g#recovery", "g.b#start", "redo") in found
    assert ("g#recovery", "g#failure", "fail") in found
    assert ("g#failure", "g#success", "consume") in found


def test_a_handler_is_entered_and_its_failure_is_uncaught() -> None:
    found = edges(run(act("a", handlers=[(None, [act("b")])])))
    assert ("a#failure", "a#handler@0", "catch") in found
    assert ("a.(catch:0).b#failure", "a#uncaught", "fail") in found
    assert ("a.(catch:0).b#success", "a#success", "next") in found
    assert not any(source == "a#failure" and kind == "fail" for source, _, kind in found)


def test_states_routes_and_timers() -> None:
    found = edges(machine(redo="whole_group", s=state(act("a"), to="t", timers=["t"]), t=state(act("b"))))
    assert ("s#route", "t#state", "route") in found
    assert ("s#state", "s.t0#timer", "timer") in found
    assert ("s.t0#timer", "t#state", "timer") in found
    assert ("run#recovery", "s#state", "redo") in found


def test_the_networkx_graph_has_the_same_nodes_and_edges() -> None:
    program = run(fan("p", [act("a")], [Node("call", "c", child=run(act("b")))]), redo="this_step")
    workflow = model(program)
    tables = build_graph(analyse(workflow))
    found = flow.build(workflow)
    assert list(found.nodes) == tables.names
    assert {tuple(edge) for edge in found.edges} == {(tables.names[s], tables.names[t]) for s, t, _, _ in tables.edges}
    assert found.nodes["p.b1.c#start"] == {"kind": "start", "path": "p.b1.c", "workflow": "c"}
    assert found.edges["p.b0.a#start", "p.b0.a#failure"]["kind"] == "fail"


def test_checking_does_not_load_networkx() -> None:
    code = "import sys, analyzer.flow.control; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_duplicate_ids_are_kept_apart() -> None:
    tables = build_graph(analyse(model(run(act("a"), act("a")))))
    assert len(set(tables.names)) == len(tables.names)


def is_sequential(program: Program) -> bool:
    """No loop, nothing at the same time, no states and calls: paths need not stay in one execution of a scope."""
    kinds = {node.kind for node in every_node(program)}
    return not (program.states or kinds & {"each", "parallel", "call"})


def paths_into(program: Program) -> dict[str, set[str]]:
    """For each whole_group scope the actions with a path from their success to its recovery, inside the scope."""
    workflow = model(program)
    analysed = analyse(workflow, every=True)
    graph = flow.build(workflow)
    graph.remove_edges_from([edge for edge in graph.edges if "redo" in graph.edges[edge]["kinds"]])
    found: dict[str, set[str]] = {}
    for scope in redo_of(analysed):
        if scope.recovery.redo != "whole_group" or not scope.reachable:
            continue
        prefix = f"{scope.path}." if scope.path else ""
        inside = [step for step in analysed.steps if step.kind == "action" and step.path.startswith(prefix)]
        goal = f"{scope.path or 'run'}#recovery"
        found[scope.path] = {
            step.path
            for step in inside
            if f"{step.path}#success" in graph and nx.has_path(graph, f"{step.path}#success", goal)
        }
    return found


@pytest.mark.parametrize("start", range(0, 3000, 1000))
def test_paths_of_the_graph_are_redo_sets_where_nothing_repeats(start: int) -> None:
    compared = 0
    for seed in range(start, start + 1000):
        program = Generator(seed).program()
        if not is_sequential(program) or any(node.handlers or node.probes for node in every_node(program)):
            continue
        scopes = redo_of(analyse(model(program), every=True))
        wanted = {
            scope.path: {step.path for step in scope.actions.named(scope.found)}
            for scope in scopes
            if scope.recovery.redo == "whole_group" and scope.reachable
        }
        assert paths_into(program) == wanted, seed
        compared += len(wanted)
    assert compared > 20


def test_every_node_but_the_start_is_reached_or_stands_for_what_cannot_be() -> None:
    for seed in range(400):
        workflow = model(Generator(seed).program())
        tables = build_graph(analyse(workflow))
        reached = {0}
        pending = [0]
        successors = tables.successors()
        while pending:
            for target in successors[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        left = [tables.names[node] for node in range(len(tables.kinds)) if node not in reached]
        # A join, a success or a route behind branches that all end the run is there and never reached.
        assert all(name.partition("#")[2] in ("join", "success", "skip", "start", "route") for name in left), seed
        assert all(isinstance(tables.parts[tables.names.index(name)], Step) or "route" in name for name in left)
