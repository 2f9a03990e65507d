"""Why a name cannot be read where it stands: unknown, not yet bound, or bound where it cannot be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.expressions.ast import Member, Name
from analyzer.expressions.types import ANY, Type
from analyzer.language.suggest import MAX_SUGGESTIONS, nearest
from analyzer.model.nodes import State, Step, Workflow, all_steps
from analyzer.model.problems import EditDraft, FixDraft, Place, Problems
from analyzer.syntax.nodes import Node

if TYPE_CHECKING:
    from analyzer.expressions.reports import Site
    from analyzer.expressions.scope import Env


class NameFaults:
    """Knows where typing stands, and tells what is wrong with a name that no scope has."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.lists: list[list[Step]] = []
        self.steps: list[Step] = []
        self.state: State | None = None
        self.configuring: Step | None = None
        self.reconciling: Step | None = None
        self._elsewhere: dict[str, list[Step]] | None = None
        self._loops: list[Step] | None = None
        self._suggestions = 0

    def begin(self) -> None:
        """Typing begins anew, and nothing was suggested yet."""
        self._suggestions = 0

    def enter_list(self, steps: list[Step]) -> None:
        """Typing walks an ordered list."""
        self.lists.append(steps)

    def leave_list(self) -> None:
        """It is done with the list."""
        self.lists.pop()

    def enter_step(self, step: Step) -> None:
        """Typing is at, or inside, a step."""
        self.steps.append(step)

    def leave_step(self) -> None:
        """It is done with the step."""
        self.steps.pop()

    def enter_state(self, state: State) -> None:
        """Typing walks a state."""
        self.state = state

    def leave_state(self) -> None:
        """It is done with the state."""
        self.state = None

    def elsewhere(self, name: str) -> list[Step]:
        """The steps of the file with that id."""
        if self._elsewhere is None:
            self._elsewhere = {}
            for step in all_steps(self.workflow):
                self._elsewhere.setdefault(step.id, []).append(step)
        return self._elsewhere.get(name, [])

    def unknown(self, expr: Name, site: Site, env: Env, problems: Problems) -> Type:
        """Report the name; nothing is known of its type."""
        rule, message, related = self._why(expr.name)
        fixes: tuple[FixDraft, ...] = ()
        if rule == "unknown-name" and not related and self._suggestions < MAX_SUGGESTIONS:
            self._suggestions += 1
            near = nearest(expr.name, env.visible())
            if near is not None:
                message += f" Did you mean `{near}`?"
                start, end = site.span(expr.start, expr.end)
                fixes = (FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(start, end, near),)),)
        start, end = site.span(expr.start, expr.end)
        if site.scalar.origin is not None:
            fixes = ()
        where: Node | tuple[int, int] = site.scalar if site.scalar.origin is not None else (start, end)
        problems.report(rule, where, message, related=related, fixes=fixes)
        return ANY

    def _why(self, name: str) -> tuple[str, str, list[tuple[Node | Place, str]]]:
        if self.configuring is not None and any(
            step.id == name for each in self.configuring.lists for step in each.steps
        ):
            bound = next(step for each in self.configuring.lists for step in each.steps if step.id == name)
            message = (
                f"`{name}` is bound by the wait's own `steps`, which run after this is fixed: read something earlier."
            )
            return "match-uses-own-steps", message, [(bound.id_node, "bound here, later")]
        if self.reconciling is not None and self.reconciling.id == name:
            message = f"`{name}` is the unresolved action itself and binds nothing yet: read a probe."
            return "reconcile-uses-own-result", message, [(self.reconciling.id_node, "the unresolved action")]
        own = next((step for step in reversed(self.steps) if step.id == name), None)
        if own is not None:
            return "used-before-bound", _itself(name), []
        for steps in reversed(self.lists) if self.elsewhere(name) else ():
            later = next((step for step in steps if step.id == name), None)
            if later is not None:
                return "used-before-bound", _later(name), [(later.id_node, "bound here")]
        return self._not_in_scope(name)

    def unbound(self, expr: Member) -> tuple[str, list[tuple[Node | Place, str]]] | None:
        """What to say of ``STATE.id`` in the own state, when that step is this one or comes later; else None."""
        state = self.state
        if state is None or not isinstance(expr.target, Name) or expr.target.name != state.name:
            return None
        step = next((step for step in state.all_steps if step.id == expr.name), None)
        if step is None:
            return None
        if step in self.steps:
            return _itself(f"{state.name}.{step.id}"), []
        return _later(f"{state.name}.{step.id}"), [(step.id_node, "bound here")]

    def _not_in_scope(self, name: str) -> tuple[str, str, list[tuple[Node | Place, str]]]:
        found = self.elsewhere(name)
        states = self.workflow.states
        if states is not None and len(found) > 1:
            owners = [each for each in found if isinstance(each.parent.owner, State)]
            if len(owners) > 1:
                message = f"Several states have a step `{name}`: write `STATE.{name}`."
                return "unknown-name", message, [(each.id_node, "one of them") for each in owners]
        if found:
            message = f"`{name}` is bound {_place_words(found[0])} and cannot be seen here{_through(found[0])}."
            return "not-visible", message, [(found[0].id_node, "bound here")]
        if self._loops is None:
            self._loops = [step for step in all_steps(self.workflow) if step.kind == "wf.for_each"]
        loop = self._loops[0] if self._loops else None
        named = next((step for step in self._loops if step.loop_name == name), None)
        if named is not None or (name == "index" and loop is not None):
            owner = named or loop
            assert owner is not None
            message = f"`{name}` can be read inside the steps of `{owner.path}` only."
            return "not-visible", message, [(owner.anchor_node, "the loop")]
        if name == "error":
            handler = next((step for step in all_steps(self.workflow) if step.handlers), None)
            if handler is not None:
                return "not-visible", "`error` can be read inside `catch` handlers only.", []
            return "unknown-name", "Nothing binds `error` here: it is read inside `catch` handlers.", []
        if name == "trigger":
            return "unknown-name", "Nothing binds `trigger`: the Workfile declares no root `trigger`.", []
        return "unknown-name", self._nothing_binds(name), []

    def _nothing_binds(self, name: str) -> str:
        if name in self.workflow.inputs:
            return f"Nothing binds `{name}`: the input is read as `inputs.{name}`."
        if name in ("item", "index"):
            loop = next((step for step in reversed(self.steps) if step.kind == "wf.for_each"), None)
            if loop is not None:
                return f"Nothing binds `{name}` here: the element is named `{loop.loop_name}`."
            return f"Nothing binds `{name}` here: it is read inside the steps of a `wf.for_each`."
        return f"Nothing binds `{name}`: read `inputs`, `run`, or a step that comes before."


def _itself(name: str) -> str:
    return f"`{name}` is this step itself: it binds its value only when it has succeeded."


def _later(name: str) -> str:
    return f"`{name}` is bound by a later step: move that step up, or read something bound before."


def _place_words(step: Step) -> str:
    role, owner = step.parent.role, step.parent.owner
    name = f"`{owner.id}`" if isinstance(owner, Step) else ""
    words = {
        "then": f"inside the `then` branch of {name}",
        "else": f"inside the `else` branch of {name}",
        "case": f"inside a case of {name}",
        "default": f"inside the `default` branch of {name}",
        "branch": f"inside the branch `{step.parent.label}` of {name}",
        "group": f"inside the group {name}",
        "catch": f"inside a handler of {name}",
        "reconcile": f"inside the reconcile scope of {name}",
    }
    if role == "steps" and isinstance(owner, Step):
        return f"inside the iterations of {name}" if owner.kind == "wf.for_each" else f"inside {name}"
    return words.get(role, "elsewhere")


def _through(step: Step) -> str:
    """How the binding can be read from outside, where it can."""
    owner = step.parent.owner
    if not isinstance(owner, Step) or step.parent.role in ("catch", "reconcile"):
        return ""
    if owner.kind in ("wf.group", "wf.if", "wf.switch", "wf.wait_for"):
        return f"; outside it is `{owner.id}.{step.id}`"
    if owner.kind == "wf.parallel":
        return f"; outside it is `{owner.id}.{step.parent.label}.{step.id}`"
    return ""
