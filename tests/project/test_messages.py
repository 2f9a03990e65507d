"""The style of what users read, as far as a program can judge it (docs/contributing.md, "Messages")."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import click
import pytest

from analyzer.rules.registry import all_rules
from tests.conformance.corpus import FOLDER
from tests.project.test_tidy import PACKAGES, ROOT
from tests.rules.examples import check_folder
from workfile_cli.group import cli

#: What is written otherwise, and how. Only literals on one line are looked at: pages of documentation may say more.
AVOIDED = {
    "please": "leave it out",
    "exit code": "exit status",
    "must be text": "must be a string",
    "is a text": "is a string",
    "stands twice": "appears twice",
    "comes out otherwise": "comes out differently",
}
IS_NO = re.compile(r"(?<![Tt]here )\b(?:is|are) no (?!longer\b)")
#: `1 files`; not `1 is`, and not the end of a larger number.
ONE_MANY = re.compile(r"(?<![\d,.:%-])\b1 (?!is\b|has\b|was\b|does\b|less\b|address\b|class\b)[a-z]+s\b")
CODE = re.compile(r"`[^`]*`")
PROGRAM = re.compile(r"Traceback|\b[A-Z][A-Za-z]+Error\b|<class|object at 0x")


def faults(text: str) -> Iterator[str]:
    """What is wrong with a sentence or several."""
    bare = CODE.sub("``", text)
    if not (text[:1].isupper() or text[:1] in "`&{[\"'-+0123456789…"):
        yield "begins with a small letter"
    if not text.endswith((".", "?")):
        yield "has no full stop"
    if "  " in bare:
        yield "has two blanks"
    if text.count("`") % 2:
        yield "has an open backtick"
    if "!" in bare or "please" in bare.lower():
        yield "is too loud"
    if ONE_MANY.search(bare):
        yield "counts one of several"
    if PROGRAM.search(bare):
        yield "shows how it is made"


@cache
def commands() -> dict[str, click.Command]:
    """Every command by its words."""
    found: dict[str, click.Command] = {}

    def add(path: str, command: click.Command) -> None:
        found[path] = command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                add(f"{path} {name}", inner)

    add("workfile", cli)
    return found


@cache
def options() -> tuple[tuple[str, click.Option], ...]:
    """Every option, with the command that takes it."""
    taken = ((path, each) for path, command in commands().items() for each in command.params)
    return tuple((path, each) for path, each in taken if isinstance(each, click.Option))


def test_help_is_in_sentences() -> None:
    assert len(commands()) > 20
    wrong = []
    for path, command in commands().items():
        assert command.help, f"{path} has no help"
        for part in command.help.split("\n\n"):
            if "\b" not in part:
                wrong += [f"{path}: {fault}: {part}" for fault in faults(" ".join(part.split()))]
    assert wrong == []


def test_every_option_is_explained_in_a_sentence() -> None:
    wrong = []
    for path, option in options():
        text = (option.help or "").partition("  [default")[0]
        wrong += [f"{path} {option.opts[0]}: {fault}" for fault in faults(text)]
        if re.search(r"(?<![`\w])--?\w", CODE.sub("", text)):
            wrong.append(f"{path} {option.opts[0]}: an option stands in backticks")
    assert wrong == []


def test_an_option_is_the_same_in_every_command() -> None:
    """Its name for the value, wherever it takes one."""
    named: dict[str, set[str]] = {}
    for path, option in options():
        if not option.is_flag and not isinstance(option.type, click.Choice):
            named.setdefault(option.opts[-1], set()).add(option.make_metavar(click.Context(commands()[path])))
    assert {name: found for name, found in named.items() if len(found) > 1} == {}


@pytest.mark.parametrize("folder", ["err", "projects", "scenarios"])
def test_findings_are_sentences(folder: str) -> None:
    found = check_folder(FOLDER / folder)
    assert found
    texts = {each.message for each in found} | {fix.title + "." for each in found for fix in each.fixes}
    assert sorted(f"{fault}: {text}" for text in texts for fault in faults(text)) == []


def test_rules_are_summed_up_in_sentences() -> None:

    texts = [rule.summary for rule in all_rules().values()]
    assert [f"{fault}: {text}" for text in texts for fault in faults(text)] == []


def literals() -> Iterator[tuple[str, str]]:
    """Strings of the sources that users may read, with their places."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def test_one_word_for_one_thing() -> None:
    wrong = []
    for place, text in literals():
        if "\n" in text:
            continue
        wrong += [f"{place}: {word!r} is {better!r}" for word, better in AVOIDED.items() if word in text]
        wrong += [f"{place}: `is not a` is plainer than {text!r}"] if IS_NO.search(text) else []
    assert wrong == []
