"""Templates and expressions to trees: a Pratt parser that never fails (language page, section 4).

Text always gives a tree. What is missing or unreadable becomes ``Bad`` and one problem; after a problem that leaves no
sensible way to read on, the rest of that interpolation is passed over in silence (one fault, one problem).

Bounds: ``MAX_NESTING`` brackets and unary operators inside one another, ``MAX_DEPTH`` levels in a tree (long chains of
operators included), so that whoever walks a tree may recurse; ``MAX_PROBLEMS`` problems in one string.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from analyzer.expressions.ast import (
    Bad,
    Binary,
    Expr,
    Filter,
    Index,
    Interpolation,
    ListLiteral,
    Literal,
    MapItem,
    MapLiteral,
    Member,
    Name,
    Problem,
    Template,
    Unary,
)
from analyzer.expressions.cursor import Cursor, LimitProblem, bad_number, scan, shown
from analyzer.expressions.tokens import (
    BAD_NUMBER,
    CLOCK_FUNCTIONS,
    END,
    FOREIGN_OPERATORS,
    FOREIGN_PREFIXES,
    FUNCTION_FILTERS,
    LEVEL_COMPARE,
    LEVEL_NOT,
    LEVELS,
    LITERALS,
    NAME,
    NUMBER,
    SIGN,
    STRING,
    WORDS,
    decode_number,
    decode_string,
)
from analyzer.expressions.walk import depth, shift

MAX_DEPTH: Final = 128
MAX_PROBLEMS: Final = 20

_CACHE_ENTRIES: Final = 8_192
_CACHE_TEXT: Final = 2_000  # longer texts are parsed again each time, so that the cache stays small

_TOO_LONG: Final = f"this expression chains more than {MAX_DEPTH} operations; split it with `wf.let`"
_UNCLOSED: Final = "this `{{` is never closed; write `}}` after the expression"


class Overflow(Bad):
    """A stand-in for what is nested too deeply to be read; evaluating it is ``fault.limit``."""

    __slots__ = ()


def has_interpolation(text: str) -> bool:
    """Whether ``text`` is more than plain text to ``parse_template``."""
    return "{{" in text


def parse_template(text: str) -> Template:
    """The template of a decoded YAML scalar. The result is shared between calls: treat it as immutable."""
    if "{{" not in text:
        return Template([text] if text else [], [], False)
    return _parse_cached(text) if len(text) <= _CACHE_TEXT else parse_afresh(text)


def parse_expression(text: str, offset: int = 0) -> tuple[Expr, list[Problem]]:
    """An expression without braces around it; ``offset`` is added to every span."""
    parser = _Parser(text, braces=False)
    expr = parser.expression_alone()
    if offset:
        shift(expr, offset)
        for problem in parser.problems:
            problem.start += offset
            problem.end += offset
    return expr, parser.problems


def only_line_breaks_around(template: Template) -> bool:
    """Whether nothing but line breaks keeps ``template`` from being whole, as in a block scalar without ``-``.

    ``|`` and ``>`` keep a final line break, which is text like any other; messages suggest ``|-`` and ``>-``.
    """
    texts = [part for part in template.parts if isinstance(part, str)]
    return len(template.parts) == 2 and len(texts) == 1 and not texts[0].strip("\r\n")


@lru_cache(maxsize=_CACHE_ENTRIES)
def _parse_cached(text: str) -> Template:
    return parse_afresh(text)


def parse_afresh(text: str) -> Template:
    """``parse_template`` past the cache: a tree that nobody else holds."""
    parser = _Parser(text, braces=True)
    parts: list[str | Interpolation] = []
    position = 0
    while len(parser.problems) < MAX_PROBLEMS:
        opening = text.find("{{", position)
        if opening < 0:
            break
        if opening > position:
            parts.append(text[position:opening])
        part = parser.interpolation(opening)
        parts.append(part)
        position = part.end
    if position < len(text):
        parts.append(text[position:])
    return Template(parts, parser.problems, len(parts) == 1 and isinstance(parts[0], Interpolation))


class _Parser(Cursor):
    """One pass over one text."""

    __slots__ = ()

    # -- interpolations

    def interpolation(self, opening: int) -> Interpolation:
        """The ``{{ … }}`` that begins at ``opening``."""
        self._begin(opening + 2)
        first_problem = len(self.problems)
        if self._at_end() and self.kind != END:
            self._problem(opening, self.start + 2, "there is nothing between `{{` and `}}`; write an expression")
            return Interpolation(opening, self.start + 2, Bad(opening + 2, self.start))
        expr = self._expression()
        if not self._at_end():
            self._unexpected()
        if self.kind != END and self.token == "}":
            end = self.start + 2
        else:
            # Whatever else seemed wrong follows from the missing end.
            del self.problems[first_problem:]
            self.problems.append(Problem(opening, opening + 2, _UNCLOSED))
            end = self.start
        return Interpolation(opening, end, self._bounded(expr, opening, end))

    def expression_alone(self) -> Expr:
        """The whole text as one expression."""
        self._begin(0)
        if self.kind == END:
            self._problem(0, len(self.text), "there is no expression here; write one, such as `inputs.amount`")
            return Bad(0, len(self.text))
        expr = self._expression()
        if self.kind != END:
            self._unexpected()
        return self._bounded(expr, 0, len(self.text))

    def _bounded(self, expr: Expr, start: int, end: int) -> Expr:
        """``expr``, or a stand-in when its tree is too high for whoever recurses over it."""
        # A level takes a character at least, so short texts need no count.
        if end - start <= MAX_DEPTH or depth(expr) <= MAX_DEPTH:
            return expr
        if not self.derailed:
            self.problems.append(LimitProblem(expr.start, expr.end, _TOO_LONG))
        return Overflow(expr.start, expr.end)

    # -- expressions

    def _expression(self) -> Expr:
        left = self._binary(1)
        while self.token == "|":
            left = self._filter(left)
            if self.token in LEVELS or self.token in FOREIGN_OPERATORS:
                message = f"`|` binds loosest; put parentheses around it: `(x | filter) {self.token} y`"
                self._problem(self.start, self.pos, message)
                left = self._go_on(left, 1)
        return left

    def _binary(self, floor: int) -> Expr:
        if self.token == "not":
            return self._go_on(self._not(floor), floor)
        left = self._operand()
        return self._go_on(left, floor) if self.token in _OPERATORS else left

    def _go_on(self, left: Expr, floor: int) -> Expr:
        """Add the operators that follow ``left`` and bind as tightly as ``floor`` or more."""
        while True:
            op = self.token
            level = LEVELS.get(op)
            if level is None:
                op = self._foreign_operator() if op in _OPERATORS else ""
                if not op:
                    return left
                level = LEVELS[op]
            if level < floor:
                return left
            start, end = self.start, self.pos
            if op != self.token:
                self._report_foreign_operator()
            self._next()
            self.pending += 1
            if self.kind in _SIGN_OR_END and self._nothing_here():
                right = self._missing_after(start, end)
            elif self.pending > MAX_DEPTH:
                right = self._too_long()
            else:
                right = self._binary(level + 1)
            self.pending -= 1
            if level == LEVEL_COMPARE and LEVELS.get(self.token) == LEVEL_COMPARE:
                message = "comparisons do not chain; write `a < b and b < c`"
                self._problem(self.start, self.pos, message)
            left = Binary(left, op, start, end, right)

    def _missing_after(self, op_start: int, op_end: int) -> Expr:
        """A stand-in for the operand after an operator, whose problem it is that there is none."""
        op = self.text[op_start:op_end]
        self._problem(op_start, op_end, f"`{op}` has nothing after it; add a value, or remove `{op}`")
        return Bad(op_end, op_end)

    def _too_long(self) -> Expr:
        start, end = self.start, self.pos
        self._overflow(start, end, _TOO_LONG)
        return Overflow(start, end)

    def _not(self, floor: int) -> Expr:
        start, end = self.start, self.pos
        if floor > LEVEL_NOT:
            self._problem(start, end, "`not` binds looser than the operator before it; write `(not …)`")
        if self._enter():
            self._next()
            operand = self._missing_after(start, end) if self._nothing_here() else self._binary(LEVEL_NOT)
            self.nesting -= 1
            return Unary(start, operand.end, "not", operand)
        return Overflow(start, end)

    # -- operands

    def _operand(self) -> Expr:
        kind, start = self.kind, self.start
        node: Expr
        if kind == NAME:
            token = self.token
            if token in WORDS:
                node = self._word()
                if not isinstance(node, Literal):
                    return node
            elif "." in token:
                node = self._path(token)
            else:
                node = Name(start, self.pos, token)
                self._next()
        elif kind == STRING:
            node = Literal(start, self.pos, self._string())
            self._next()
        elif kind == NUMBER:
            node = self._number()
            self._next()
        else:
            opening = self.token
            node = self._other_operand()
            if opening not in _BRACKETS:
                return node
        if self.token in _POSTFIX:
            return self._postfix(node)
        return node

    def _path(self, token: str) -> Expr:
        """``name.member.member`` out of one token."""
        start = self.start
        first, _, rest = token.partition(".")
        if first in WORDS:
            self.pos = start + len(first)
            self.token = first
            return self._word()
        end = start + len(first)
        node = self._members(Name(start, end, first), rest, end + 1, False)
        self._next()
        return node

    @staticmethod
    def _members(node: Expr, names: str, start: int, optional: bool) -> Expr:
        """``node`` with the members ``names``, which begin at ``start``; the first may be read by ``?.``."""
        for name in names.split("."):
            end = start + len(name)
            node = Member(node, name, start, end, optional)
            optional = False
            start = end + 1
        return node

    def _postfix(self, node: Expr) -> Expr:
        while True:
            token = self.token
            if token == "." or token == "?.":
                node = self._member(node)
            elif token == "[":
                node = self._index(node)
            elif token == "(" and isinstance(node, (Name, Member)) and self.start == node.end:
                node = self._call(node)
            elif token == ".." or token == "...":
                self._derail(self.start, self.pos, f"`{token}` cannot stand here; a member is read with one `.`")
                return node
            else:
                return node

    def _word(self) -> Expr:
        """A literal that is a word, or a word operator that has no left side."""
        token, start, end = self.token, self.start, self.pos
        if token in LITERALS:
            self._next()
            return Literal(start, end, LITERALS[token])
        return self._missing_before(LEVEL_COMPARE)

    def _other_operand(self) -> Expr:
        token, start = self.token, self.start
        if token == "(":
            return self._parenthesis()
        if token == "[":
            return self._list()
        if token == "{":
            return self._nested_braces() if self.braces and self.text.startswith("{{", start) else self._map()
        if token == "-":
            return self._negation()
        if token in FOREIGN_PREFIXES:
            return self._foreign_prefix(FOREIGN_PREFIXES[token])
        if self.kind == BAD_NUMBER:
            self._problem(start, self.pos, bad_number(token))
            self._next()
            return Bad(start, self.before)
        if self._nothing_here() or token in LEVELS or token in FOREIGN_OPERATORS:
            return self._missing_operand()
        self._unexpected()
        return Bad(start, start)

    def _missing_operand(self) -> Expr:
        token, start, end = self.token, self.start, self.pos
        if self.kind == END or self._at_end():
            # Callers report what is empty or unclosed; what remains is an operand after a bracket or a comma.
            self._problem(self.before - 1, self.before, "a value is missing here")
            return Bad(start, start)
        if token in ("|", "]", ")", "}", ","):
            self._problem(start, end, f"a value is missing before `{token}`")
            return Bad(start, start)
        return self._missing_before(LEVELS["*"])

    def _missing_before(self, floor: int) -> Expr:
        """Report an operator that has no left side, and read its right side."""
        token, start, end = self.token, self.start, self.pos
        self._problem(start, end, f"`{token}` has nothing before it; add a value, or remove `{token}`")
        if not self._enter():
            return Overflow(start, end)
        self._next()
        expr = Bad(start, start) if self._nothing_here() else self._binary(floor)
        self.nesting -= 1
        return expr

    def _foreign_prefix(self, message: str) -> Expr:
        """A sign that people put before a value (``!x``, ``+x``, ``$x``): report it and read the value."""
        start, end, token = self.start, self.pos, self.token
        self._problem(start, end, message)
        if not self._enter():
            return Overflow(start, end)
        self._next()
        operand = Bad(end, end) if self._nothing_here() else self._operand()
        self.nesting -= 1
        return Unary(start, operand.end, "not", operand) if token == "!" else operand

    def _negation(self) -> Expr:
        start, end = self.start, self.pos
        if not self._enter():
            return Overflow(start, end)
        self._next()
        operand = self._missing_after(start, end) if self._nothing_here() else self._operand()
        self.nesting -= 1
        return Unary(start, operand.end, "-", operand)

    def _nested_braces(self) -> Expr:
        start = self.start
        self._problem(start, start + 2, "this is inside `{{ }}` already; remove the inner `{{` and `}}`")
        if not self._enter():
            return Overflow(start, start + 2)
        self.pos = start + 2
        self._next()
        expr = Bad(start, start) if self._at_end() else self._expression()
        self.nesting -= 1
        if self._at_end() and self.kind != END:
            after = self.text.find("}}", self.pos + 1)
            if after >= 0 and self.text.find("{{", self.pos + 1, after) < 0:
                self.pos = self.start + 2
                self._next()
        return expr

    def _string(self) -> str:
        value, fault = decode_string(self.token)
        if fault is not None:
            self._problem(self.start + fault[0], self.start + fault[1], fault[2])
        return value

    def _number(self) -> Expr:
        value, message = decode_number(self.token)
        if message:
            self._problem(self.start, self.pos, message)
        return Bad(self.start, self.pos) if value is None else Literal(self.start, self.pos, value)

    # -- brackets, members, filters

    def _parenthesis(self) -> Expr:
        opening, end = self.start, self.pos
        if not self._enter():
            return Overflow(opening, end)
        self._next()
        if self.token == ")":
            self._problem(opening, self.pos, "there is nothing between `(` and `)`; write an expression")
            expr: Expr = Bad(opening, self.pos)
        else:
            expr = self._expression()
        # A parenthesised expression spans its parentheses: ``walk.same_chain`` relies on it.
        closing = self._close(")", opening)
        self.nesting -= 1
        expr.start = opening
        expr.end = max(closing, expr.end)
        return expr

    def _items(self, bracket: str, named: bool = False) -> list[Expr]:
        """Expressions with commas between them, up to ``bracket`` (which is not taken); ``named``: of a filter."""
        items: list[Expr] = []
        if self.token == bracket:
            return items
        while True:
            if named and self.kind == NAME:
                self._argument_name()
            items.append(self._expression())
            if self.token != ",":
                return items
            comma = self.start
            self._next()
            if self.token == bracket:
                self._problem(comma, comma + 1, f"there is nothing after this `,`; remove it before `{bracket}`")
                return items

    def _list(self) -> Expr:
        opening, end = self.start, self.pos
        if not self._enter():
            return Overflow(opening, end)
        self._next()
        items = self._items("]")
        end = self._close("]", opening)
        self.nesting -= 1
        return ListLiteral(opening, end, items)

    def _map(self) -> Expr:
        opening, end = self.start, self.pos
        if not self._enter():
            return Overflow(opening, end)
        self._next()
        items: list[MapItem] = []
        seen: set[str] = set()
        while self.token != "}":
            item = self._map_item(seen)
            if item is None:
                break
            items.append(item)
            if self.token != ",":
                break
            comma = self.start
            self._next()
            if self.token == "}":
                self._problem(comma, comma + 1, "there is nothing after this `,`; remove it before `}`")
        end = opening + 1 if self.derailed else self._close("}", opening)
        self.nesting -= 1
        return MapLiteral(opening, max(end, items[-1].end if items else end), items)

    def _map_item(self, seen: set[str]) -> MapItem | None:
        start, end = self.start, self.pos
        if self.kind == STRING:
            key = self._string()
        elif self.kind == NAME:
            key = self._plain_name()
            end = self.pos
        elif self._at_end():
            return None
        else:
            self._derail(start, end, f"a key is a name or a quoted string, not `{shown(self.token)}`")
            return None
        if key in seen:
            self._problem(start, end, f"`{shown(key)}` is a key of this map already; keep one of the two")
        seen.add(key)
        self._next()
        if self.token != ":":
            if self._at_end() and self.text.find("}", self.start) < 0:
                return None
            self._derail(start, end, f"`{shown(key)}` has no value; write `{shown(key)}: …`")
            return None
        colon = self.start
        self._next()
        if self._nothing_here():
            self._problem(colon, colon + 1, f"`{shown(key)}` has no value; write one after the `:`")
            return MapItem(start, colon + 1, key, Bad(colon + 1, colon + 1))
        value = self._expression()
        return MapItem(start, max(end, value.end), key, value)

    def _member(self, target: Expr) -> Expr:
        sign, start, end = self.token, self.start, self.pos
        self._next()
        if self.kind == NAME:
            node = self._members(target, self.token, self.start, sign == "?.")
            self._next()
            return node
        if self.kind in (NUMBER, BAD_NUMBER):
            message = f"an element of a list is read with brackets; write `[{shown(self.token)}]`"
            self._problem(start, self.pos, message)
            self._next()
        elif self.kind == STRING:
            self._problem(self.start, self.pos, f"a name after `.` has no quotes; write `[{shown(self.token)}]`")
            node = Member(target, self._string(), self.start, self.pos, sign == "?.")
            self._next()
            return node
        elif self.token == "[":
            self._problem(start, end, f"`{sign}` is followed by a name; write `[…]` without it")
            return target
        else:
            self._problem(start, end, f"`{sign}` has no name after it; write the name of a member")
        return Member(target, "", end, end, sign == "?.")

    def _index(self, target: Expr) -> Expr:
        opening, end = self.start, self.pos
        if not self._enter():
            return Overflow(opening, end)
        self._next()
        if self.token == "]":
            self._problem(opening, self.pos, "there is nothing between `[` and `]`; write an index or a key")
            index: Expr = Bad(end, end)
        else:
            index = self._expression()
            if self.token == ":" and not self.derailed:
                self._derail(self.start, self.pos, "there are no slices; read one element, such as `[0]`")
        closing = max(self._close("]", opening), index.end)
        self.nesting -= 1
        return Index(closing, target, index)

    def _call(self, target: Name | Member) -> Expr:
        """``len(x)`` or ``x.upper()``: there are filters only."""
        opening = self.start
        name = target.name
        filter_name = FUNCTION_FILTERS.get(name, name)
        if name in CLOCK_FUNCTIONS:
            message = f"there is no `{name}()`: expressions read no clock; pass the value in, or use `run.started_at`"
        else:
            message = f"there are no functions, only filters; use `x | {filter_name}`"
        self._problem(target.start, self.pos, message)
        if not self._enter():
            return Overflow(target.start, self.before)
        self._next()
        self._items(")")
        end = self._close(")", opening)
        self.nesting -= 1
        return Bad(target.start, max(end, target.end))

    def _filter(self, target: Expr) -> Expr:
        bar = self.start
        self._next()
        if self.kind != NAME:
            self._problem(bar, bar + 1, "`|` has no filter after it; write one, such as `| length`")
            return Filter(bar + 1, target, "", bar + 1, bar + 1, [])
        name, start, end = self._plain_name(), self.start, self.pos
        self._next()
        args: list[Expr] = []
        closing = end
        if self.token == "(":
            opening = self.start
            if not self._enter():
                return Overflow(target.start, closing)
            self._next()
            args = self._items(")", named=True)
            closing = max(self._close(")", opening), end)
            self.nesting -= 1
        return Filter(closing, target, name, start, end, args)

    def _argument_name(self) -> None:
        """Pass over the name of an argument, ``name =`` or ``name:``, which is reported."""
        match = scan(self.text, self.pos)
        if match is not None and match[SIGN] in ("=", ":"):
            start = self.start
            self._next()
            name = self.text[start : self.pos]
            self._problem(start, self.pos, f"arguments have no names; write the value without `{shown(name)}`")
            self._next()


_SIGN_OR_END: Final = (SIGN, END)
_OPERATORS: Final = frozenset({*LEVELS, *FOREIGN_OPERATORS, "not"})
_BRACKETS: Final = frozenset({"(", "[", "{"})
_POSTFIX: Final = frozenset({".", "?.", "[", "(", "..", "..."})
