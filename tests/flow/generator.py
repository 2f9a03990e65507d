"""Random small Workfiles: enough of every construct, small enough to try everything."""

from __future__ import annotations

import random
from collections.abc import Iterable

from tests.flow.mini import SCOPES, MiniState, Node, Program
from tests.flow.oracle import ALL_FAULTS

REDOS = ("this_step", "this_and_after", "whole_group")
THENS = ("hold", "fail", "escalate")
CODES: tuple[tuple[str, ...] | None, ...] = (None, ("x",), ("x", "output.invalid"), ALL_FAULTS, (*ALL_FAULTS, "x"))


class Generator:
    """Programs from a seed. ``budget`` bounds the number of steps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        self.budget = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def program(self, called: bool = False) -> Program:
        self.number = 0 if not called else self.number
        self.budget = self.random.randint(1, 3) if called else self.random.randint(2, 7)
        result = Program()
        if self.chance(0.25):
            result.states = self.states()
        else:
            result.steps = self.list(0, called)
        if self.chance(0.15 if called else 0.4):
            result.redo, result.then = self.random.choice(REDOS), self.random.choice(THENS)
        if called:
            result.result_fault = self.chance(0.1)
        return result

    def states(self) -> dict[str, MiniState]:
        names = [f"st{self.name('')}" for _ in range(self.random.randint(1, 3))]
        found: dict[str, MiniState] = {}
        for name in names:
            state = MiniState(final=self.chance(0.4))
            if self.chance(0.2):
                state.on_enter = self.list(1, True, most=1)
            state.steps = self.list(1, True, most=2)
            if self.chance(0.4):
                state.redo, state.then = self.random.choice(REDOS), self.random.choice(THENS)
            for _ in range(0 if state.final else self.random.randint(0, 2)):
                state.routes.append((self.chance(0.5), self.chance(0.15), self.random.choice(names)))
            for route, (guarded, fault, to) in enumerate(state.routes):
                state.routes[route] = (guarded, fault and guarded, to)
            if self.chance(0.2):
                state.timers.append(self.random.choice(names))
            found[name] = state
        return found

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def list(self, depth: int, called: bool, most: int = 3) -> list[Node]:
        return [self.step(depth, called) for _ in range(self.random.randint(1, most)) if self.budget > 0]

    def step(self, depth: int, called: bool) -> Node:
        self.budget -= 1
        kinds: Iterable[str] = ["act"] * 7 + ["let", "wait", "stop", "fail"]
        if self.budget > 0 and depth < 4:
            kinds = ["act"] * 5 + ["let", "wait", "fail"] + ["group", "if", "parallel", "each"] * 3 + ["wait_for"]
            if not called:
                kinds.append("call")
        kind = self.random.choice(list(kinds))
        node = Node(kind, self.name(kind[0] if kind != "act" else "a"))
        node.guard = self.chance(0.12)
        if kind not in ("act", "group", "parallel", "call"):
            node.fault = self.chance(0.25)
        if kind == "act":
            self.action(node, depth, called)
        elif kind == "call":
            budget, self.budget = self.budget, 0
            node.child = self.program(called=True)
            node.timeout = self.chance(0.5)
            self.budget = budget - 1
        else:
            self.nested(node, depth, called)
        if kind not in ("stop", "fail"):
            self.policy(node, depth, called)
        return node

    def action(self, node: Node, depth: int, called: bool) -> None:
        node.idempotency = "keyed" if self.chance(0.1) else "none"
        node.undo = self.chance(0.1)
        node.output = self.chance(0.15)
        if self.chance(0.15):
            node.unknown = "reconcile" if self.budget > 0 and depth < 3 and self.chance(0.5) else "fail"
        if node.unknown == "reconcile":
            node.probes = self.list(depth + 2, called, most=1)
        elif not node.unknown and self.chance(0.8):
            node.unknown = "halt"
        if node.unknown != "fail" and node.idempotency != "none":
            node.output = False

    def nested(self, node: Node, depth: int, called: bool) -> None:
        if node.kind in ("group", "wait_for"):
            node.lists = [self.list(depth + 1, called)]
        elif node.kind == "if":
            node.lists = [self.list(depth + 1, called, 2) for _ in range(self.random.randint(1, 2))]
        elif node.kind == "each":
            node.lists = [self.list(depth + 1, called, 2)]
            node.concurrency = self.random.choice((1, 1, 2))
            node.count = self.random.choice((None, None, None, 0, 1, 2))
            node.keep_going = self.chance(0.25)
        elif node.kind == "parallel":
            node.lists = [self.list(depth + 1, called, 2) for _ in range(self.random.choice((1, 2, 2, 2, 3)))]
            node.keep_going = self.chance(0.25)
        if node.kind in SCOPES and self.chance(0.55):
            node.redo, node.then = self.random.choice(REDOS), self.random.choice(THENS)

    def policy(self, node: Node, depth: int, called: bool) -> None:
        if self.chance(0.18):
            for _ in range(self.random.choice((1, 1, 2))):
                steps = self.list(depth + 1, called, 2) if self.budget > 0 and self.chance(0.7) else []
                node.handlers.append((self.random.choice(CODES), steps))
        if self.chance(0.15):
            node.on_fail = self.random.choice(("continue", "continue", "abort"))

    def standing(self) -> Program:
        """A program where completed branches stay inside work that runs again."""
        self.number = 0
        self.budget = 2
        before = self.list(3, True, most=1) if self.chance(0.8) else []
        self.budget = 3
        parallel = Node("parallel", self.name("p"), guard=self.chance(0.2))
        parallel.lists = [self.list(3, True, 2) for _ in range(2)]
        if self.chance(0.3):
            parallel.redo, parallel.then = self.random.choice(REDOS), self.random.choice(("fail", "escalate"))
        self.budget = 1
        around = Node("group", self.name("g"), lists=[[*before, parallel, *self.list(3, True, 1)]])
        if self.chance(0.3):
            other = [self.list(3, True, 1)] if self.chance(0.5) else []
            around = Node("if", self.name("i"), fault=self.chance(0.3), lists=[around.lists[0], *other])
            around = Node("group", self.name("g"), lists=[[around]])
        elif self.chance(0.3):
            around = Node("each", self.name("e"), lists=around.lists, concurrency=self.random.choice((1, 2)))
            around.count = self.random.choice((None, 2, 1))
            around = Node("group", self.name("g"), lists=[[around]])
        if self.chance(0.2):
            handled = [(self.random.choice(CODES), around.lists[0] if around.kind == "group" else [around])]
            more = [(None, self.list(3, True, 1))] if self.chance(0.5) else []
            attempt = Node("act", self.name("a"), unknown="halt", handlers=[*handled, *more])
            attempt.on_fail = self.random.choice(("fail", "continue", "abort"))
            around = Node("group", self.name("g"), lists=[[attempt]])
        if self.chance(0.3):
            around.redo, around.then = self.random.choice(REDOS), self.random.choice(("fail", "escalate"))
        if self.chance(0.3):
            return Program(states={"st": MiniState(steps=[around], final=True)}, redo="this_and_after", then="hold")
        return Program(steps=[around], redo="this_and_after", then="hold")
