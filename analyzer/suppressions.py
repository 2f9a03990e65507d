"""``# workfile: ignore[rule, …] reason``: at the end of a line for that line, alone above one for the next.

Two steps, so that the first can be cached with the analysis: ``find_directives`` reads the comments of a text,
``apply_suppressions`` decides which findings they hide and reports those that hide nothing. Both are bounded: a file
with more suppressions than a person writes is told so, and only the first of them count.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from analyzer.findings import Edit, Finding, Fix, Range
from analyzer.language.suggest import MAX_SUGGESTIONS
from analyzer.report.common import Suppressed, split_lines
from analyzer.selection import is_known_name, matches_any, names_of, unknown_name_message

RULE = "unused-suppression"
CODE = "document.suppression"
DIRECTIVE = "# workfile: ignore"
HOW = "write `# workfile: ignore[rule]` with the rules to suppress"
LIMIT_RULE = "limit-exceeded"
LIMIT_CODE = "document.limit"

MAX_NAMES = 10_000
"""Names of all suppressions of one file that are read (a suppression without any counts as one)."""
MAX_UNUSED = 1_000
"""Unused suppressions of one file that are reported; past them one finding says so."""

# Rules that only some calls run: a suppression of theirs is not called unused by the others.
OCCASIONAL_FAMILIES = ("document.replay",)
OCCASIONAL_RULES = frozenset({"history-diverges", "history-unusable"})

# Findings of these families mean that parts of the file were not analysed: what would be found there is not known, and
# a suppression must not be called unused (and be removed by a fix) for that.
PARTIAL_FAMILIES = ("document.syntax", LIMIT_CODE)

Problem: TypeAlias = Literal["", "bare", "unclosed", "misspelled", "foreign"]
Comment: TypeAlias = tuple[int, int, str, bool]
KnownRules: TypeAlias = Callable[[], tuple[Sequence[str], Sequence[str]]]
Place: TypeAlias = tuple[int, int]
"""A name: the number of its directive and its position in that."""

_MARK = re.compile(r"#\s*workfile:\s*ignore\b")
# What was meant as one: any word and a bracket, or a word that other tools have, in any letters, without the colon too.
# Not the keys of Workfiles and scenarios that stand in a comment, and not prose.
_MISSED = re.compile(
    r"#\s*workfile:\s*(?P<other>[A-Za-z][\w-]*)\["
    r"|#\s*(?i:workfile(?:\s*:)?\s*(?P<word>(?:ignore|disable|enable|suppress|allow|skip|off|noqa|no-?check|no-?cover)"
    r"(?:-(?:next-)?(?:line|file))?))\s*(?:(?P<bracket>\[)|$)"
)
_NAME = re.compile(r"[^\s,]+")
_INK = re.compile(r"\S")


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
    takes the directive out of the file. ``misspelled`` and ``foreign`` are no directives, and ``whole`` is only what
    stands there in place of one.
    """

    line: int
    target: int
    names: tuple[Name, ...]
    span: tuple[int, int]
    whole: Range
    reason: str
    problem: Problem = ""


def find_directives(text: str, comments: Iterable[Comment]) -> tuple[Directive, ...]:
    """The suppressions among the comments of ``text``, in the order of the file.

    Past ``MAX_NAMES`` there is one more at most, which ``apply_suppressions`` reports instead of using it.
    """
    marked = [
        comment
        for comment in comments
        if "workfile" in comment[2].lower() and (_MARK.search(comment[2]) or _MISSED.search(comment[2]))
    ]
    if not marked:
        return ()
    lines = split_lines(text)
    content = _content_lines(lines)
    directives: list[Directive] = []
    room = MAX_NAMES
    for line, column, comment, own_line in sorted(marked):
        target = line
        if own_line:
            index = bisect_right(content, line)
            target = content[index] if index < len(content) else len(lines) + 1
        marks = list(islice(_MARK.finditer(comment), MAX_NAMES + 1))
        if not marks:
            directives.append(_missed(line, column, comment, target))
            room -= 1
        for position, mark in enumerate(marks):
            end = marks[position + 1].start() if position + 1 < len(marks) else len(comment)
            directive = _directive(lines, line, column, comment, mark, end, target)
            directives.append(directive)
            room -= _weight(directive)
            if room < 0:
                return tuple(directives)
        if room < 0:
            return tuple(directives)
    return tuple(directives)


def _weight(directive: Directive) -> int:
    """What a directive counts for towards ``MAX_NAMES``."""
    return max(1, len(directive.names))


def _content_lines(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines that are neither empty nor a comment."""
    return [number for number, line in enumerate(lines, start=1) if (text := line.strip()) and not text.startswith("#")]


def _directive(
    lines: Sequence[str], line: int, column: int, comment: str, mark: re.Match[str], end: int, target: int
) -> Directive:
    body = comment[mark.end() : end]
    at = column + mark.end()  # the column of body[0]
    whole = _whole(lines, line, column + mark.start(), at + len(body.rstrip()))
    word = (column + mark.end() - len("ignore"), column + mark.end())
    opening = re.match(r"\s*\[", body)
    if opening is None:
        return Directive(line, target, (), word, whole, body.strip(), "bare")
    closing = body.find("]", opening.end())
    if closing < 0:
        return Directive(line, target, (), (at + opening.end() - 1, at + opening.end()), whole, "", "unclosed")
    names = tuple(
        Name(found.group(), at + found.start(), at + found.end())
        for found in islice(_NAME.finditer(body, opening.end(), closing), MAX_NAMES + 1)
    )
    reason = body[closing + 1 :].strip().lstrip(":-–— ").strip()
    return Directive(line, target, names, word, whole, reason, "" if names else "bare")


def _missed(line: int, column: int, comment: str, target: int) -> Directive:
    """For a comment that only looks like a directive."""
    found = _MISSED.search(comment)
    assert found is not None
    start, end = found.span("other" if found["other"] else "word")
    problem: Problem = "misspelled" if found["other"] or found["bracket"] else "foreign"
    whole = Range(line, column + found.start(), line, column + end)
    return Directive(line, target, (), (column + start, column + end), whole, found.group(), problem)


def _whole(lines: Sequence[str], line: int, start: int, end: int) -> Range:
    """What to remove so that the directive is gone: its line when nothing else is on it, else the blanks before too."""
    content = lines[line - 1]
    before = start - 1  # the length of what stays before it; no slices, as one line can hold very many directives
    while before and content[before - 1] in " \t":
        before -= 1
    after = _INK.search(content, end - 1) is not None
    if not before and not after and line < len(lines):
        return Range(line, 1, line + 1, 1)
    if not before:
        return Range(line, start if after else 1, line, end)
    return Range(line, before + 1, line, end)


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
    *,
    report_unused: bool = True,
) -> Suppression:
    """Hide what the directives of the file name, and report the names that hide nothing (``report_unused``).

    ``known`` gives the rule names and families, and is only called for names that hide nothing. ``run_families`` are
    the occasional families that this call does run.
    """
    if not directives:
        return Suppression(list(findings), [])
    directives, too_many = _within_bound(path, directives)
    used: set[Place] = set()
    result = Suppression(list(too_many), [])

    def settle(finding: Finding, hit: Place | None) -> None:
        if hit is None:
            result.findings.append(finding)
        else:
            used.add(hit)
            result.suppressed.append(Suppressed(finding, "inSource", directives[hit[0]].reason))

    by_target = _by_target(directives)
    for finding in findings:
        settle(finding, _hit(finding, by_target) if finding.path == path else None)
    if report_unused:
        partial = any(finding.code in PARTIAL_FAMILIES for finding in findings)
        judge = _Judge(known, set(run_families), partial)
        own = _names_of_itself(directives)
        unused = list(islice(_unused(path, directives, used, judge), MAX_UNUSED + 1))
        for finding in unused[:MAX_UNUSED]:
            settle(finding, _covering(finding, directives, own))
        # Last, and past suppression, so that a suppression of this very rule cannot hide that it hides nothing.
        itself = list(islice(_unused_of_itself(path, directives, used), MAX_UNUSED + 1))
        result.findings.extend(itself[: max(0, MAX_UNUSED - len(unused))])
        for beyond in (unused + itself)[MAX_UNUSED : MAX_UNUSED + 1]:
            result.findings.append(_limit(path, beyond.range, _TOO_MANY_UNUSED))
    result.findings.sort(key=Finding.sort_key)
    return result


_TOO_MANY = (
    f"This file has more than {MAX_NAMES:,} suppressions; those from here on are not used. "
    "Suppress whole families, or leave rules out by `per-file-ignores` in the configuration."
)
_TOO_MANY_UNUSED = (
    f"This file has more than {MAX_UNUSED:,} unused suppressions; the first {MAX_UNUSED:,} are reported. "
    "Remove those, then check again."
)


def _limit(path: str, place: Range, message: str) -> Finding:
    return Finding(path, LIMIT_RULE, LIMIT_CODE, "error", message, place)


def _within_bound(path: str, directives: Sequence[Directive]) -> tuple[Sequence[Directive], tuple[Finding, ...]]:
    """The directives that count, and what is to be said of the one past them, if there is one."""
    last = directives[-1]
    if sum(map(_weight, directives)) <= MAX_NAMES:
        return directives, ()
    start, end = last.span
    return directives[:-1], (_limit(path, Range(last.line, start, last.line, end), _TOO_MANY),)


def _by_target(directives: Sequence[Directive]) -> dict[int, dict[str, Place]]:
    """By the line that they act on, the names, each with the first place where it stands."""
    found: dict[int, dict[str, Place]] = {}
    for number, directive in enumerate(directives):
        names = found.setdefault(directive.target, {})
        for position, name in enumerate(directive.names):
            names.setdefault(name.text, (number, position))
    return found


def _hit(finding: Finding, by_target: dict[int, dict[str, Place]]) -> Place | None:
    """The first name, in the order of the file, that names the finding's rule or family."""
    names = by_target.get(finding.range.start_line)
    if names is None:
        return None
    places = [names[name] for name in names_of(finding.rule, finding.code) if name in names]
    return min(places, default=None)


def _names_of_itself(directives: Sequence[Directive]) -> list[Place]:
    """The first name of each directive, where it has one, that suppresses unused suppressions."""
    found: list[Place] = []
    for number, directive in enumerate(directives):
        position = next((at for at, name in enumerate(directive.names) if _of_itself(name)), None)
        if position is not None:
            found.append((number, position))
    return found


def _covering(finding: Finding, directives: Sequence[Directive], own: Sequence[Place]) -> Place | None:
    """For an unused suppression: a directive acts on its comment too, and on the comments down to its target.

    Targets grow with the lines, so the first of ``own`` that reaches down to the finding is the only one to ask.
    """
    line = finding.range.start_line
    index = bisect_left(own, line, key=lambda hit: directives[hit[0]].target)
    return own[index] if index < len(own) and directives[own[index][0]].line <= line else None


def _of_itself(name: Name) -> bool:
    return matches_any((name.text,), RULE, CODE)


class _Judge:
    """Whether a name that hid nothing is to be reported, and in which words."""

    __slots__ = ("_known", "_partial", "_quiet", "_suggested")

    def __init__(self, known: KnownRules, run_families: set[str], partial: bool) -> None:
        self._known = known
        self._partial = partial
        self._suggested = 0
        self._quiet = [family for family in OCCASIONAL_FAMILIES if family not in run_families]

    def reports(self, name: Name) -> bool:
        """Not what this call did not look for: it may well hide something in another."""
        if self._quiet and (name.text in OCCASIONAL_RULES or matches_any(self._quiet, "", name.text)):
            return False
        return not self._partial or not is_known_name(name.text, *self._known())

    def words(self, directive: Directive, name: Name) -> str:
        """The message of the finding."""
        problem = unknown_name_message(name.text, *self._known(), suggest=self._suggested < MAX_SUGGESTIONS)
        if problem is not None:
            self._suggested += 1
            return f"This suppresses nothing: {problem}"
        return f"Nothing on line {directive.target} is reported by `{name.text}`; remove the suppression."


def _unused(path: str, directives: Sequence[Directive], used: set[Place], judge: _Judge) -> Iterator[Finding]:
    """What is said of each name that hides nothing; made one by one, so that a bound saves the work past it."""
    for number, directive in enumerate(directives):
        if directive.problem:
            yield _malformed(path, directive)
        wrong = [
            position
            for position, name in enumerate(directive.names)
            if (number, position) not in used and not _of_itself(name) and judge.reports(name)
        ]
        for position in wrong:
            message = judge.words(directive, directive.names[position])
            yield _finding(path, directive, position, message, len(wrong) == len(directive.names))


def _unused_of_itself(path: str, directives: Sequence[Directive], used: set[Place]) -> Iterator[Finding]:
    for number, directive in enumerate(directives):
        wrong = [
            position
            for position, name in enumerate(directive.names)
            if _of_itself(name) and (number, position) not in used
        ]
        for position in wrong:
            name = directive.names[position].text
            message = f"No suppression here is unused, so `{name}` suppresses nothing; remove it."
            yield _finding(path, directive, position, message, len(wrong) == len(directive.names))


def _malformed(path: str, directive: Directive) -> Finding:
    fixes: tuple[Fix, ...] = (_removal(path, directive),)
    if directive.problem in ("misspelled", "foreign"):
        message = f"`{directive.reason.rstrip(' [')}` is not a directive, so it suppresses nothing; {HOW}."
        fixes = (_respelling(path, directive),) if directive.problem == "misspelled" else ()
    elif directive.problem == "unclosed":
        message = f"The suppression's bracket is not closed, so it suppresses nothing; {HOW}."
    else:
        message = f"The suppression names no rule, so it suppresses nothing; {HOW}."
    start, end = directive.span
    place = Range(directive.line, start, directive.line, end)
    return Finding(path, RULE, CODE, "information", message, place, fixes=fixes, tags=("unused",))


def _finding(path: str, directive: Directive, position: int, message: str, every: bool) -> Finding:
    """``every``: all names of the directive are reported, so that all of it goes."""
    name = directive.names[position]
    place = Range(directive.line, name.start, directive.line, name.end)
    fix = _removal(path, directive) if every else _name_removal(path, directive, position)
    return Finding(path, RULE, CODE, "information", message, place, fixes=(fix,), tags=("unused",))


def _removal(path: str, directive: Directive) -> Fix:
    return Fix("Remove the suppression", "safe", (Edit(path, directive.whole, ""),))


def _respelling(path: str, directive: Directive) -> Fix:
    return Fix(f"Write `{DIRECTIVE}`", "unsafe", (Edit(path, directive.whole, DIRECTIVE),))


def _name_removal(path: str, directive: Directive, position: int) -> Fix:
    """Take one name out with the comma that parts it from its neighbour."""
    names = directive.names
    name = names[position]
    if position + 1 < len(names):
        start, end = name.start, names[position + 1].start
    else:
        start, end = names[position - 1].end, name.end
    place = Range(directive.line, start, directive.line, end)
    return Fix(f"Remove `{name.text}` from the suppression", "safe", (Edit(path, place, ""),))
