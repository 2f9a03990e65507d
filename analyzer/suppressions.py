"""``# workfile: ignore[rule, …] reason``: at the end of a line for that line, alone above one for the next.

Two steps, so that the first can be cached with the analysis: ``find_directives`` reads the comments of a text,
``apply_suppressions`` decides which findings they hide and reports those that hide nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from analyzer.findings import Edit, Finding, Fix, Range
from analyzer.report.common import Suppressed, split_lines
from analyzer.selection import matches_any, unknown_name_message

RULE = "unused-suppression"
CODE = "document.suppression"
HOW = "write `# workfile: ignore[rule]` with the rules to suppress"

# Rules that only some calls run: a suppression of theirs is not called unused by the others.
OCCASIONAL_FAMILIES = ("document.replay",)
OCCASIONAL_RULES = frozenset({"history-diverges", "history-unusable"})

# Findings of these families mean that parts of the file were not analysed: what would be found there is not known, and
# a suppression must not be called unused (and be removed by a fix) for that.
PARTIAL_FAMILIES = ("document.syntax", "document.limit")

Problem: TypeAlias = Literal["", "bare", "unclosed"]
Comment: TypeAlias = tuple[int, int, str, bool]
KnownRules: TypeAlias = Callable[[], tuple[Sequence[str], Sequence[str]]]

_MARK = re.compile(r"#\s*workfile:\s*ignore\b")
_NAME = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Name:
    """One rule in the brackets and its columns, from 1, ``end`` past the last."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Directive:
    """One suppression: it stands on ``line`` and acts on ``target``, the line where suppressed findings start.

    ``span`` is the columns of what is wrong with it when ``problem`` is not empty; ``whole`` is the range whose removal
    takes the directive out of the file.
    """

    line: int
    target: int
    names: tuple[Name, ...]
    span: tuple[int, int]
    whole: Range
    reason: str
    problem: Problem = ""


def find_directives(text: str, comments: Iterable[Comment]) -> tuple[Directive, ...]:
    """The suppressions among the comments of ``text``, in the order of the file."""
    marked = [comment for comment in comments if "workfile" in comment[2] and _MARK.search(comment[2])]
    if not marked:
        return ()
    lines = split_lines(text)
    content = _content_lines(lines)
    directives: list[Directive] = []
    for line, column, comment, own_line in sorted(marked):
        target = line
        if own_line:
            index = bisect_right(content, line)
            target = content[index] if index < len(content) else len(lines) + 1
        marks = list(_MARK.finditer(comment))
        for position, mark in enumerate(marks):
            end = marks[position + 1].start() if position + 1 < len(marks) else len(comment)
            directives.append(_directive(lines, line, column, comment, mark, end, target))
    return tuple(directives)


def _content_lines(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines that are neither empty nor a comment."""
    return [number for number, line in enumerate(lines, start=1) if (text := line.strip()) and not text.startswith("#")]


def _directive(
    lines: Sequence[str], line: int, column: int, comment: str, mark: re.Match[str], end: int, target: int
) -> Directive:
    body = comment[mark.end() : end]
    at = column + mark.end()  # the column of body[0]
    whole = _whole(lines, line, column + mark.start(), column + len(comment[:end].rstrip()))
    word = (column + mark.end() - len("ignore"), column + mark.end())
    opening = re.match(r"\s*\[", body)
    if opening is None:
        return Directive(line, target, (), word, whole, body.strip(), "bare")
    closing = body.find("]", opening.end())
    if closing < 0:
        return Directive(line, target, (), (at + opening.end() - 1, at + opening.end()), whole, "", "unclosed")
    names = tuple(
        Name(found.group(), at + found.start(), at + found.end())
        for found in _NAME.finditer(body, opening.end(), closing)
    )
    reason = body[closing + 1 :].strip().lstrip(":-–— ").strip()
    return Directive(line, target, names, word, whole, reason, "" if names else "bare")


def _whole(lines: Sequence[str], line: int, start: int, end: int) -> Range:
    """What to remove so that the directive is gone: its line when nothing else is on it, else the blanks before too."""
    content = lines[line - 1]
    before = content[: start - 1].rstrip(" \t")
    after = content[end - 1 :].strip()
    if not before and not after and line < len(lines):
        return Range(line, 1, line + 1, 1)
    if not before:
        return Range(line, start if after else 1, line, end)
    return Range(line, len(before) + 1, line, end)


@dataclass(slots=True)
class Suppression:
    """The result of ``apply_suppressions``: findings that stand, unused suppressions among them, and those hidden."""

    findings: list[Finding]
    suppressed: list[Suppressed]


def apply_suppressions(
    path: str,
    findings: Sequence[Finding],
    directives: Sequence[Directive],
    known: KnownRules,
    run_families: Iterable[str] = (),
) -> Suppression:
    """Hide what the directives of the file name, and report the names that hide nothing.

    ``known`` gives the rule names and families, and is only called for names that hide nothing. ``run_families`` are
    the occasional families that this call does run.
    """
    if not directives:
        return Suppression(list(findings), [])
    used: set[tuple[int, int]] = set()
    kept: list[Finding] = []
    hidden: list[Suppressed] = []
    by_line: dict[int, list[int]] = {}
    for number, directive in enumerate(directives):
        by_line.setdefault(directive.target, []).append(number)
    for finding in findings:
        hit = _hit(finding, directives, by_line.get(finding.range.start_line, ()) if finding.path == path else ())
        if hit is None:
            kept.append(finding)
        else:
            used.add(hit)
            hidden.append(Suppressed(finding, "inSource", directives[hit[0]].reason))
    quiet = [family for family in OCCASIONAL_FAMILIES if family not in set(run_families)]
    partial = any(finding.code in PARTIAL_FAMILIES for finding in findings)
    own = _names_of_itself(directives)
    for finding in _unused(path, directives, used, known, quiet, partial):
        hit = _covering(finding, directives, own)
        if hit is None:
            kept.append(finding)
        else:
            used.add(hit)
            hidden.append(Suppressed(finding, "inSource", directives[hit[0]].reason))
    # Last, and past suppression, so that a suppression of this very rule cannot hide that it hides nothing.
    kept.extend(_unused_of_itself(path, directives, used))
    kept.sort(key=Finding.sort_key)
    return Suppression(kept, hidden)


def _hit(finding: Finding, directives: Sequence[Directive], numbers: Iterable[int]) -> tuple[int, int] | None:
    """The first name, in the order of the file, that names the finding's rule or family."""
    for number in numbers:
        for position, name in enumerate(directives[number].names):
            if matches_any((name.text,), finding.rule, finding.code):
                return number, position
    return None


def _names_of_itself(directives: Sequence[Directive]) -> list[tuple[int, int]]:
    """The first name of each directive, where it has one, that suppresses unused suppressions."""
    found: list[tuple[int, int]] = []
    for number, directive in enumerate(directives):
        position = next((at for at, name in enumerate(directive.names) if _of_itself(name)), None)
        if position is not None:
            found.append((number, position))
    return found


def _covering(
    finding: Finding, directives: Sequence[Directive], own: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """For an unused suppression: a directive acts on its comment too, and on the comments down to its target.

    Targets grow with the lines, so the first of ``own`` that reaches down to the finding is the only one to ask.
    """
    line = finding.range.start_line
    index = bisect_left(own, line, key=lambda hit: directives[hit[0]].target)
    return own[index] if index < len(own) and directives[own[index][0]].line <= line else None


def _of_itself(name: Name) -> bool:
    return matches_any((name.text,), RULE, CODE)


def _unused(
    path: str,
    directives: Sequence[Directive],
    used: set[tuple[int, int]],
    known: KnownRules,
    quiet: Sequence[str],
    partial: bool,
) -> list[Finding]:
    result: list[Finding] = []
    for number, directive in enumerate(directives):
        if directive.problem:
            result.append(_malformed(path, directive))
        for position, name in enumerate(directive.names):
            if (number, position) in used or _of_itself(name):
                continue
            if quiet and (name.text in OCCASIONAL_RULES or matches_any(quiet, "", name.text)):
                continue
            every = all((number, other) not in used for other in range(len(directive.names)))
            rules, families = known()
            problem = unknown_name_message(name.text, rules, families)
            if problem is None and partial:
                continue
            message = f"Nothing on line {directive.target} is reported by `{name.text}`; remove the suppression."
            if problem is not None:
                message = f"this suppresses nothing: {problem}"
            result.append(_finding(path, directive, position, message, every))
    return result


def _unused_of_itself(path: str, directives: Sequence[Directive], used: set[tuple[int, int]]) -> list[Finding]:
    result: list[Finding] = []
    for number, directive in enumerate(directives):
        for position, name in enumerate(directive.names):
            if _of_itself(name) and (number, position) not in used:
                every = all((number, other) not in used for other in range(len(directive.names)))
                message = f"no suppression here is unused, so `{name.text}` suppresses nothing; remove it."
                result.append(_finding(path, directive, position, message, every))
    return result


def _malformed(path: str, directive: Directive) -> Finding:
    if directive.problem == "unclosed":
        message = f"the suppression's bracket is not closed, so it suppresses nothing; {HOW}."
    else:
        message = f"the suppression names no rule, so it suppresses nothing; {HOW}."
    start, end = directive.span
    place = Range(directive.line, start, directive.line, end)
    return Finding(
        path, RULE, CODE, "information", message, place, fixes=(_removal(path, directive),), tags=("unused",)
    )


def _finding(path: str, directive: Directive, position: int, message: str, every: bool) -> Finding:
    """``every``: no name of the directive is used, so that all of it goes."""
    name = directive.names[position]
    place = Range(directive.line, name.start, directive.line, name.end)
    fix = _removal(path, directive) if every else _name_removal(path, directive, position)
    return Finding(path, RULE, CODE, "information", message, place, fixes=(fix,), tags=("unused",))


def _removal(path: str, directive: Directive) -> Fix:
    return Fix("remove the suppression", "safe", (Edit(path, directive.whole, ""),))


def _name_removal(path: str, directive: Directive, position: int) -> Fix:
    """Take one name out with the comma that parts it from its neighbour."""
    names = directive.names
    name = names[position]
    if position + 1 < len(names):
        start, end = name.start, names[position + 1].start
    else:
        start, end = names[position - 1].end, name.end
    place = Range(directive.line, start, directive.line, end)
    return Fix(f"remove `{name.text}` from the suppression", "safe", (Edit(path, place, ""),))
