"""Writes the pages of the rules: ``python -m analyzer.rules.docs [--check] [FOLDER]``.

One page for each rule and ``index.md``, all of them from the rules themselves. With ``--check`` nothing is written and
the exit code is 1 when a page is missing, stale, or of a rule that does not exist.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from analyzer.rules.base import Rule
from analyzer.rules.registry import all_rules, families, names

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "rules"
_INDEX = """\
# The rules

What `workfile check` finds. `workfile explain RULE` shows a page at the terminal. An *error* makes a file invalid, a
*warning* is valid and likely wrong, *information* is worth knowing.
"""
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`([a-z]+(?:-[a-z]+)+)`")


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    found = {f"{name}.md": page(each) for name, each in all_rules().items()}
    found["index.md"] = index()
    return found


def page(rule: Rule) -> str:
    """The page of one rule; names of other rules in its prose are links."""
    facts = f"*{rule.severity}, `{rule.code}`{', can be fixed' if rule.fixable else ''}*"
    return f"# {rule.name}\n\n{rule.summary}\n\n{facts}\n\n{_linked(rule)}"


def _linked(rule: Rule) -> str:
    """The documentation with links; what stands in fences is left as it is."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(rule.documentation):
        parts.append(_links(rule.documentation[end : fence.start()], rule))
        parts.append(fence.group())
        end = fence.end()
    parts.append(_links(rule.documentation[end:], rule))
    return "".join(parts)


def _links(prose: str, rule: Rule) -> str:
    known = set(names()) - {rule.name}
    return _CODE.sub(lambda found: f"[{found[0]}]({found[1]}.md)" if found[1] in known else found[0], prose)


def index() -> str:
    """The list of all rules by family."""
    parts = [_INDEX]
    for code, members in families().items():
        parts.append(f"\n## `{code}`\n\n| rule | severity | what it finds | fix |\n| --- | --- | --- | --- |\n")
        for name in members:
            rule = all_rules()[name]
            summary = rule.summary.replace("|", "\\|")
            parts.append(f"| [{name}]({name}.md) | {rule.severity} | {summary} | {'yes' if rule.fixable else ''} |\n")
    return "".join(parts)


def stale(folder: Path) -> list[str]:
    """What is wrong with the pages in a folder, one line each; empty when they are fresh."""
    wanted = pages()
    present = {path.name for path in folder.glob("*.md")} if folder.is_dir() else set()
    problems = [f"{name} is of no rule: remove it" for name in sorted(present - wanted.keys())]
    for name, text in wanted.items():
        if name not in present:
            problems.append(f"{name} is missing: write the pages again")
        elif (folder / name).read_text(encoding="utf-8") != text:
            problems.append(f"{name} is stale: write the pages again")
    return problems


def write(folder: Path) -> Iterable[str]:
    """Write all pages, remove those of no rule, and give the names of what changed."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    changed: list[str] = []
    for path in sorted(folder.glob("*.md")):
        if path.name not in wanted:
            path.unlink()
            changed.append(path.name)
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(name)
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(prog="python -m analyzer.rules.docs", description="Write the pages of the rules.")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=FOLDER, help="where the pages are (default: docs/rules)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a page is not as it should be")
    options = parser.parse_args(arguments)
    if options.check:
        problems = stale(options.folder)
        sys.stdout.writelines(f"{problem}\n" for problem in problems)
        return 1 if problems else 0
    sys.stdout.writelines(f"wrote {name}\n" for name in write(options.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
