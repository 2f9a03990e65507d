"""``workfile explain``: a rule's documentation, a family's rules, or all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping

import click

from analyzer.report.common import RuleDocumentation, printable
from analyzer.selection import unknown_name_message
from workfile_cli import engine
from workfile_cli.console import output_width, use_colour, write_result
from workfile_cli.options import complete_rules, format_option

_DEFAULT_WIDTH = 100
_LETTERS = {"error": "E", "warning": "W", "information": "I"}


@click.command("explain")
@click.argument("rule", required=False, shell_complete=complete_rules)
@format_option("text", "json")
def explain(rule: str | None, format_: str) -> None:
    """Show the documentation of RULE, the rules of a family such as `document.null`, or all rules."""
    rules = engine.ENGINE.all_rules()
    chosen = _chosen(rules, rule)
    if format_ == "json":
        write_result(json.dumps({"version": 1, "rules": [rule_json(entry) for entry in chosen]}, indent=1) + "\n")
    elif rule is not None and rule in rules:
        write_result(_page(rules[rule]))
    else:
        write_result(_list(chosen))


def _chosen(rules: Mapping[str, RuleDocumentation], name: str | None) -> list[RuleDocumentation]:
    """The rules by family and name; those of a family, the one of a name, or all."""
    ordered = sorted(rules.values(), key=lambda rule: (rule.code, rule.name))
    if name is None:
        return ordered
    problem = unknown_name_message(name, rules, (rule.code for rule in ordered))
    if problem is not None:
        raise click.UsageError(problem)
    if name in rules:
        return [rules[name]]
    return [rule for rule in ordered if rule.code == name or rule.code.startswith(name + ".")]


def rule_json(rule: RuleDocumentation) -> dict[str, object]:
    """One element of ``rules`` in the JSON."""
    return {
        "name": rule.name,
        "code": rule.code,
        "severity": rule.severity,
        "summary": rule.summary,
        "fixable": rule.fixable,
        "documentation": rule.documentation,
    }


def _page(rule: RuleDocumentation) -> str:
    facts = f"{rule.severity}, {rule.code}" + (", can be fixed" if rule.fixable else "")
    page = f"# {rule.name}\n\n*{facts}*\n\n{_body(rule)}\n"
    if not use_colour("auto"):
        return page
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    buffer = StringIO()
    console = Console(file=buffer, force_terminal=True, width=output_width(_DEFAULT_WIDTH))
    console.print(Markdown(page, code_theme="ansi_dark"))
    return buffer.getvalue()


def _body(rule: RuleDocumentation) -> str:
    """The documentation without a first heading of its own that repeats the name."""
    text = rule.documentation.strip()
    heading, _, rest = text.partition("\n")
    return rest.strip() if heading.startswith("# ") else text


def _list(rules: Iterable[RuleDocumentation]) -> str:
    chosen = list(rules)
    width = max((len(rule.name) for rule in chosen), default=0)
    bold, reset = ("\x1b[1m", "\x1b[0m") if use_colour("auto") and sys.stdout.isatty() else ("", "")
    lines: list[str] = []
    family = ""
    for rule in chosen:
        if rule.code != family:
            if family:
                lines.append("")
            family = rule.code
            lines.append(f"{bold}{family}{reset}")
        fixable = " (fixable)" if rule.fixable else ""
        lines.append(f"  {rule.name:{width}}  {_LETTERS[rule.severity]}  {printable(rule.summary)}{fixable}")
    return "\n".join(lines) + "\n"
