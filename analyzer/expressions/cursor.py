"""Reading an expression token by token: the current token, problems, bounds, and where to go on after a problem."""

from __future__ import annotations

from typing import Final

from analyzer.expressions.ast import Problem
from analyzer.expressions.tokens import (
    BAD_NUMBER,
    END,
    FOREIGN_OPERATORS,
    NAME,
    NO_INLINE_IF,
    NO_TERNARY,
    NUMBER,
    OTHER,
    STRING,
    TOKEN,
)

MAX_NESTING: Final = 64
MAX_PROBLEMS_EACH: Final = 3

scan = TOKEN.match


class LimitProblem(Problem):
    """A bound of the tool, not a fault of the grammar."""

    __slots__ = ()


class Cursor:
    """One pass over one text. ``token`` is the current token, ``start`` and ``pos`` are its span, ``kind`` its kind."""

    __slots__ = (
        "before",
        "braces",
        "budget",
        "covered",
        "derailed",
        "kind",
        "nesting",
        "pending",
        "pos",
        "problems",
        "start",
        "text",
        "token",
    )

    def __init__(self, text: str, braces: bool) -> None:
        self.text = text
        self.braces = braces  # an expression ends at ``}}``, else at the end of the text
        self.problems: list[Problem] = []
        self.kind = END
        self.token = ""
        self.start = 0
        self.pos = 0
        self.before = 0  # the end of the token before the current one
        self.budget = MAX_PROBLEMS_EACH
        self.covered = 0  # the end of the last problem of this interpolation
        self.derailed = False
        self.nesting = 0
        self.pending = 0  # operators whose right side is being read

    # -- tokens and problems

    def _next(self) -> None:
        self.before = self.pos
        match = scan(self.text, self.pos)
        # Every alternative is optional, so the pattern always matches; ``lastindex`` is None at the end of the text.
        kind = match.lastindex  # type: ignore[union-attr]
        if kind is None:
            self.kind = END
            self.token = ""
            self.start = self.pos = len(self.text)
        else:
            self.kind = kind
            self.token = match[kind]  # type: ignore[index]
            self.start, self.pos = match.span(kind)  # type: ignore[union-attr]

    def _plain_name(self) -> str:
        """The current name without members; what follows it is read again as tokens of its own."""
        name, dot, _ = self.token.partition(".")
        if dot:
            self.pos = self.start + len(name)
        return name

    def _begin(self, position: int) -> None:
        self.pos = position
        self.budget = MAX_PROBLEMS_EACH
        self.covered = 0
        self.derailed = False
        self.nesting = 0
        self.pending = 0
        self._next()

    def _problem(self, start: int, end: int, message: str) -> None:
        # What touches the last problem follows from it.
        if not self.derailed and self.budget > 0 and start >= self.covered:
            self.budget -= 1
            self.covered = end
            self.problems.append(Problem(start, end, message))

    def _derail(self, start: int, end: int, message: str) -> None:
        """Report a problem after which the rest of the interpolation makes no sense, and go to its end."""
        self._problem(start, end, message)
        self.derailed = True
        self._skip()

    def _at_end(self) -> bool:
        if self.kind == END:
            return True
        return self.braces and self.token == "}" and self.text.startswith("}}", self.start)

    def _skip(self) -> None:
        """Go to the ``}}`` that closes this interpolation, or to where it can only have been forgotten."""
        level = 0
        fallback = -1
        while self.kind != END:
            token = self.token
            if token == "}":
                closing = self.braces and self.text.startswith("}}", self.start)
                if closing and level == 0:
                    return
                if closing and fallback < 0:
                    fallback = self.start
                level = max(0, level - 1)
            elif token == "{":
                if self.braces and self.text.startswith("{{", self.start):
                    break
                level += 1
            elif self.kind == OTHER and token in "\"'":
                # An unclosed string: what looks like an end inside it is the end.
                closing_at = self.text.find("}}", self.start) if self.braces else -1
                fallback = closing_at if fallback < 0 else fallback
                break
            self._next()
        if fallback >= 0:
            self.pos = fallback
            self._next()
        elif not self.braces:
            self.pos = len(self.text)
            self._next()

    def _unexpected(self) -> None:
        """Report the current token, which cannot stand where it does, and pass over the rest."""
        token, start, end = self.token, self.start, self.pos
        if self.kind == OTHER and token in "\"'":
            message = f"this string is never closed; write `{token}` at its end"
        elif token == "?" or token == ":":
            message = NO_TERNARY
        elif token == "if":
            message = NO_INLINE_IF
        elif token in (")", "]", "}"):
            message = f"this `{token}` closes nothing; remove it, or add what opens it"
        elif token == "(":
            message = "only a filter takes arguments; write `x | name(…)`"
        elif self.kind == BAD_NUMBER:
            message = bad_number(token)
        elif self.kind in (NAME, NUMBER, STRING) or token in ("{", "!"):
            message = f"an operator is missing before `{shown(token)}`; add one, or remove `{shown(token)}`"
        else:
            message = f"`{token}` cannot stand here; remove it"
        self._derail(start, end, message)

    def _foreign_operator(self) -> str:
        """What the current token, if it is an operator of another language, is read as; else empty."""
        if self.token == "not":
            match = scan(self.text, self.pos)
            return "in" if match is not None and match[NAME] == "in" else ""
        foreign = FOREIGN_OPERATORS.get(self.token)
        return "" if foreign is None else foreign[0]

    def _report_foreign_operator(self) -> None:
        start = self.start
        if self.token == "not":
            self._next()
            self._problem(start, self.pos, "there is no `not in`; write `not (a in b)`")
        else:
            self._problem(start, self.pos, FOREIGN_OPERATORS[self.token][1])

    def _nothing_here(self) -> bool:
        return self.kind == END or self.token in (")", "]", "}", ",", "|")

    def _enter(self) -> bool:
        """Go one level deeper, or report that this is too deep and pass over the rest."""
        self.nesting += 1
        if self.nesting <= MAX_NESTING:
            return True
        message = f"expressions nest at most {MAX_NESTING} levels deep; split this one with `wf.let`"
        self._overflow(self.start, self.pos, message)
        return False

    def _overflow(self, start: int, end: int, message: str) -> None:
        """Report a bound and pass over the rest."""
        if not self.derailed:
            self.problems.append(LimitProblem(start, end, message))
            self.derailed = True
            self._skip()

    def _close(self, bracket: str, opening: int) -> int:
        """Take the closing bracket; its end. A missing one is the opening bracket's problem."""
        if self.token == bracket:
            end = self.pos
            self._next()
            return end
        if self._at_end() or self.token in (")", "]", "}"):
            message = f"this `{self.text[opening]}` is never closed; write `{bracket}` after its content"
            self._derail(opening, opening + 1, message)
        else:
            self._unexpected()
        return self.before


def bad_number(token: str) -> str:
    """What to say about a token that begins like a number."""
    text = shown(token)
    if token.rstrip("dhms").isdigit():
        return f'`{text}` is not a number; for a duration write `"{text}" | duration`'
    return f"`{text}` is not a number; write one such as `12`, `0.5` or `1e6`"


def shown(token: str) -> str:
    """A token in a message: cut when it is long."""
    return token if len(token) <= 30 else token[:30] + "…"
