"""``workfile graph``: the control flow of a Workfile as a picture or as data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import click

from workfile_cli.console import note, write_result
from workfile_cli.main import EXIT_OK
from workfile_cli.options import format_option

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from analyzer.flow.analysis import Flow
    from analyzer.flow.redo import ScopeRedo
    from analyzer.model.nodes import Workflow
    from analyzer.workspace.project import Document

ALL_SCOPES = "*"
LAYOUT_SECONDS = 60
_NO_DOT = (
    "SVG is drawn by Graphviz, whose `dot` is not installed: install Graphviz, or use `--format mermaid` or "
    "`--format dot`."
)


@click.command("graph")
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@format_option("mermaid", "dot", "svg", "json", help_="How to draw; `svg` needs Graphviz.")
@click.option(
    "--redo",
    is_flag=False,
    flag_value=ALL_SCOPES,
    metavar="[SCOPE]",
    help='Highlight what recovery runs again: of the scope at this path ("" is the root), or of all.',
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the graph to this file.")
def graph(file: str | None, format_: str, redo: str | None, output: str | None) -> int:
    """Draw the control flow of a Workfile, with its recovery scopes and its findings.

    Recovery scopes, states and loops are frames. `--redo` colours the steps that a recovery runs again, the steps whose
    failure brings it about, and, in red, actions that must not be repeated.
    """
    from analyzer.flow.analysis import analyse
    from analyzer.flow.noted import notes_of
    from analyzer.flow.redo import redo_of

    if file is None:
        # `--redo FILE`: the option takes a scope if one is given, and took the file here.
        if redo is None or not os.path.exists(redo):  # noqa: PTH110 - as below
            raise click.UsageError("Missing argument 'FILE'.")
        file, redo = redo, ALL_SCOPES
    document, workflow, findings = _load(file)
    flow = analyse(workflow, every=True)
    scopes = redo_of(flow)
    chosen = _chosen(scopes, redo)
    if format_ == "json":
        text = json.dumps(_json(flow, scopes, findings), indent=1, ensure_ascii=False) + "\n"
    else:
        text = _drawn(flow, scopes, chosen, notes_of(workflow, findings, document.source), format_)
    if output is None:
        write_result(text)
    else:
        _write(output, text)
    errors = sum(finding.severity == "error" for finding in findings)
    if errors:
        note(
            f"{errors} error{'s' if errors != 1 else ''} found, as `workfile check` tells; what could be read is drawn"
        )
    return EXIT_OK


def _load(file: str) -> tuple[Document, Workflow, list[Finding]]:
    """The file, the analysed Workfile and its findings."""
    from analyzer.check import check_file, engine_for
    from analyzer.workspace.project import file_kind, project_for

    path = os.path.abspath(file)  # noqa: PTH100 - loading pathlib costs more than it gives
    if file_kind(path) != "workflow":
        raise click.UsageError(f"`{file}` is not a Workfile: its name should end in `.workfile.yaml`.")
    project = project_for(path)
    if project.problems:
        raise click.UsageError(project.problems[0])
    document = project.document(path)
    if document is None:
        raise click.UsageError(f"cannot read `{file}`: {project.unreadable(path) or 'there is no such file'}.")
    analysis = engine_for(project).analysis(path)
    if analysis is None or document.tree.root is None:
        raise click.UsageError(f"`{file}` has nothing to draw; `workfile check` tells why.")
    return document, analysis.workflow, check_file(project, path).findings


def _chosen(scopes: list[ScopeRedo], redo: str | None) -> list[ScopeRedo]:
    if redo is None:
        return []
    if redo == ALL_SCOPES:
        return scopes
    found = [scope for scope in scopes if scope.path == redo]
    if not found:
        from analyzer.language.suggest import hint

        paths = [scope.path for scope in scopes]
        guess = hint(redo, [path for path in paths if path])
        known = ", ".join(f"`{path}`" if path else 'the root, ""' for path in paths)
        raise click.UsageError(
            f"there is no recovery scope `{redo}`.{guess or (f' There is {known}.' if known else '')}"
        )
    return found


def _drawn(flow: Flow, scopes: list[ScopeRedo], redo: list[ScopeRedo], notes: dict[Any, Any], format_: str) -> str:
    from analyzer.flow.picture import draw

    picture = draw(flow, scopes, notes, redo)
    if format_ == "mermaid":
        from analyzer.flow.mermaid import to_mermaid

        return to_mermaid(picture)
    from analyzer.flow.dot import to_dot

    text = to_dot(picture)
    return text if format_ == "dot" else _laid_out(text)


def _laid_out(text: str) -> str:
    """The SVG that Graphviz makes of it."""
    dot = shutil.which("dot")
    if dot is None:
        raise click.UsageError(_NO_DOT)
    try:
        done = subprocess.run(
            [dot, "-Tsvg"], input=text.encode(), capture_output=True, timeout=LAYOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise click.UsageError(
            f"Graphviz took more than {LAYOUT_SECONDS} s: the Workfile is too large for a picture; use `--format json`."
        ) from None
    except OSError as error:
        raise click.UsageError(f"cannot run Graphviz (`{dot}`): {error.strerror or error}.") from None
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise click.UsageError(f"Graphviz failed: {reason[0] if reason else f'exit {done.returncode}'}.")
    return done.stdout.decode("utf-8")


def _write(path: str, text: str) -> None:
    from analyzer.atomic import write_atomically

    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise click.UsageError(f"cannot write `{path}`: {error.strerror or error}.") from None


def _json(flow: Flow, scopes: list[ScopeRedo], findings: list[Finding]) -> dict[str, Any]:
    """The whole graph as data; node and edge kinds are those of ``analyzer.flow.graph``."""
    from analyzer.flow.graph import build_graph
    from analyzer.model.nodes import Step

    tables = build_graph(flow, scopes)
    nodes: list[dict[str, Any]] = []
    for name, kind, part in zip(tables.names, tables.kinds, tables.parts, strict=True):
        node: dict[str, Any] = {"id": name, "kind": kind, "path": name.partition("#")[0]}
        if isinstance(part, Step) and kind == "start":
            node["step"] = part.kind
            if part.call is not None:
                node["action"] = part.call.reference
            if part.callee is not None:
                node["workflow"] = part.callee.name
        nodes.append(node)
    edges = [
        {"from": tables.names[source], "to": tables.names[target], "kind": kind, **({"label": label} if label else {})}
        for source, target, kind, label in tables.edges
    ]
    return {
        "version": 1,
        "workflow": flow.workflow.name,
        "nodes": nodes,
        "edges": edges,
        "scopes": [_scope_json(scope) for scope in scopes],
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "message": finding.message,
                "range": {
                    "start": {"line": finding.range.start_line, "column": finding.range.start_column},
                    "end": {"line": finding.range.end_line, "column": finding.range.end_column},
                },
            }
            for finding in findings
        ],
    }


def _scope_json(scope: ScopeRedo) -> dict[str, Any]:
    from analyzer.flow.redo import members
    from analyzer.model.nodes import State

    failures = []
    for each in scope.failures:
        failed = each.step
        succeeded = [step.path for step in scope.actions.named(each.found)]
        path = failed.name if isinstance(failed, State) else failed.path
        failures.append({"step": path, "how": each.failure.how, "succeeded": succeeded})
    return {
        "path": scope.path,
        "redo": scope.recovery.redo,
        "then": scope.recovery.then,
        "failures": failures,
        "members": [step.path for step in members(scope)],
        "unsafe": [{"step": each.step.path, "workflow": each.home.name} for each in scope.unsafe],
        "may_hold": [{"step": each.step.path, "workflow": each.home.name} for each in scope.may_hold],
    }
