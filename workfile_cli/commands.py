"""The commands by name. Each is loaded when it is used, so that a command costs only what it needs itself.

To add one: write a click command in a module of this package and give it a line here.
"""

from __future__ import annotations

from typing import NamedTuple


class LazyCommand(NamedTuple):
    """Where a command is, and the line that ``workfile --help`` shows without loading it."""

    module: str
    attribute: str
    help: str


COMMANDS: dict[str, LazyCommand] = {
    "check": LazyCommand("workfile_cli.check", "check", "Find what is wrong with Workfiles and the files beside them."),
    "explain": LazyCommand("workfile_cli.explain", "explain", "Show a rule's documentation, or the list of rules."),
    "format": LazyCommand("workfile_cli.format", "format_files", "Bring files into the canonical layout."),
    "graph": LazyCommand("workfile_cli.graph", "graph", "Draw the control flow of a Workfile."),
    "run": LazyCommand("workfile_cli.run", "run", "Simulate one run of a Workfile."),
    "step": LazyCommand("workfile_cli.step", "step", "Simulate one run at a prompt, step by step, and back."),
    "test": LazyCommand("workfile_cli.scenarios", "test", "Run scenario files and compare with what each expects."),
    "explore": LazyCommand("workfile_cli.explore", "explore", "Explore every way that a run can go."),
    "history": LazyCommand("workfile_cli.history", "history", "Work with the recorded histories of runs."),
    "lsp": LazyCommand("workfile_cli.lsp", "lsp", "Serve an editor over the Language Server Protocol."),
    "dap": LazyCommand(
        "workfile_cli.dap", "dap", "Debug simulated runs and recorded histories, step by step and back."
    ),
    "host": LazyCommand("workfile_cli.host", "host", "Serve runs over HTTP, durably, with worker processes."),
    "qualify": LazyCommand("workfile_cli.qualify", "qualify", "Judge how durable a host is, or an evidence bundle."),
    "schema": LazyCommand("workfile_cli.schema", "schema", "Print the JSON Schema of a kind of file or report."),
    "doctor": LazyCommand("workfile_cli.doctor", "doctor", "Tell what is installed and what is missing."),
    "completion": LazyCommand("workfile_cli.completion", "completion", "Print the completion script for a shell."),
}
