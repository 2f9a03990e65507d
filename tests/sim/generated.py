# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Workfiles made at random, valid and bounded, and a world whose answers are a function of the call alone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from random import Random
from typing import Any

from sim_runtime.driver.protocol import Answer, Call, Effect

INPUTS = {"yes": True, "no": False, "n": 2, "xs": [1, 2, 3]}
DECLARED = 'inputs: { yes: boolean, no: boolean, n: integer, xs: "list[integer]" }'


class Maker:
    """Makes one Workfile. Every write is inherent, keyed or undoable, as recovery demands; ``sequential``: nothing is
    concurrent."""

    def __init__(self, seed: int, size: int = 14, sequential: bool = False) -> None:
        self.random = Random(seed)
        self.sequential = sequential
        self.left = size
        self.count = 0
        self.calls = True

    def workfile(self) -> str:
        """The text, without its first two lines."""
        parts = [DECLARED]
        if self.random.random() < 0.25:
            parts.append(f"recovery: {self.recovery()}")
        if self.random.random() < 0.25:
            parts.append(self.states())
        else:
            parts.append(f"steps: {self.steps(0)}")
        return "\n".join(parts)

    def child(self) -> str:
        """A Workfile that the one made before may call; whole."""
        self.left = 5
        self.calls = False
        parts = ["name: child", DECLARED]
        if self.random.random() < 0.25:
            parts.append(f"recovery: {self.recovery()}")
        parts.append(self.states() if self.random.random() < 0.2 else f"steps: {self.steps(1)}")
        return "\n".join(parts)

    def states(self) -> str:
        names = [f"state{n}" for n in range(self.random.randint(1, 3))]
        found = []
        for place, name in enumerate(names):
            final = place == len(names) - 1
            body = [f"steps: {self.steps(1)}"]
            if self.random.random() < 0.3:
                body.append(f"on_enter: {self.steps(2)}")
            if final:
                body.append("final: true")
            else:
                body.append(f"routes: [ {{ to: {names[place + 1]} }} ]")
                if self.random.random() < 0.4:
                    body.append(f"timers: {{ t: {{ after: {self.span()}, to: {names[-1]} }} }}")
            if self.random.random() < 0.3:
                body.append(f"recovery: {self.recovery()}")
            found.append(f"{name}: {{ {', '.join(body)} }}")
        return f"initial: state0\nstates: {{ {', '.join(found)} }}"

    def span(self) -> str:
        return self.random.choice(["1m", "10m", "30m", "1h", "2h"])

    def recovery(self) -> str:
        redo = self.random.choice(["this_step", "this_and_after", "whole_group"])
        then = self.random.choice(["fail", "fail", "hold"])
        delay = self.random.choice(["0s", "0s", "1m", "20m"])
        failures = self.random.randint(1, 3)
        return f"{{ redo: {redo}, stop_after: {{ failures: {failures}, within: 10h }}, delay: {delay}, then: {then} }}"

    def steps(self, depth: int) -> str:
        found = [self.step(depth) for _ in range(self.random.randint(1, 3)) if self.left > 0 or depth == 0]
        return f"[ {', '.join(found)} ]"

    def step(self, depth: int) -> str:
        self.left -= 1
        self.count += 1
        name = f"s{self.count}"
        kinds = ["action"] * 5 + ["let", "wait", "wait_for"]
        if depth < 4 and self.left > 0:
            kinds += ["group", "group", "choice", "switch", "for_each", "for_each"]
            kinds += [] if self.sequential else ["parallel", "parallel"]
        if self.calls:
            kinds.append("call")
        if depth > 1 and self.random.random() < 0.1:
            kinds.append("ending")
        kind = self.random.choice(kinds)
        body = getattr(self, kind)(name, depth)
        if self.random.random() < 0.1:
            body.append(self.random.choice(["when: '{{ inputs.yes }}'", "when: '{{ inputs.no }}'"]))
        if kind != "ending":
            body += self.policies(depth)
        return f"{{ {name}: {{ {', '.join(body)} }} }}"

    def policies(self, depth: int) -> list[str]:
        found = []
        if self.random.random() < 0.15:
            steps = f"steps: {self.steps(depth + 1)}" if self.left > 0 and depth < 3 else ""
            codes = self.random.choice(["", "codes: [broken]"])
            found.append(f"catch: [ {{ {', '.join(each for each in (codes, steps) if each)} }} ]")
        if self.random.random() < 0.15:
            found.append("on_fail: continue")
        return found

    def action(self, name: str, depth: int) -> list[str]:
        action = self.random.choice(["lab.get", "lab.put", "lab.pay", "lab.pay", "lab.send"])
        body = [f"{action}: {{ step: {name} }}"]
        if action == "lab.send":
            body.append("on_unknown: halt")
        if action == "lab.send" or (action != "lab.get" and self.random.random() < 0.3):
            body.append(
                f"undo: {{ {self.random.choice(['lab.drop', 'lab.refund'])}: {{ v: '{{{{ {name}.value }}}}' }} }}"
            )
        if self.random.random() < 0.4:
            body.append(f"retry: {{ attempts: {self.random.randint(1, 3)}, delay: {self.span()}, backoff: 2 }}")
        return body

    def let(self, name: str, depth: int) -> list[str]:
        return ["wf.let: { a: '{{ inputs.n + 1 }}', b: '{{ inputs.xs[inputs.n] }}' }"]

    def wait(self, name: str, depth: int) -> list[str]:
        return [f"wf.wait: {self.span()}"]

    def wait_for(self, name: str, depth: int) -> list[str]:
        body = ["wf.wait_for: lab.ping", f"match: {{ id: {self.random.choice('ab')} }}", f"timeout: {self.span()}"]
        if self.random.random() < 0.4 and self.left > 0 and depth < 3:
            body.append(f"steps: {self.steps(depth + 1)}")
        return body

    def call(self, name: str, depth: int) -> list[str]:
        given = ", ".join(f"{each}: '{{{{ inputs.{each} }}}}'" for each in INPUTS)
        body = ["wf.call: child", f"inputs: {{ {given} }}"]
        if self.random.random() < 0.4:
            body.append(f"timeout: {self.span()}")
        return body

    def ending(self, name: str, depth: int) -> list[str]:
        return [self.random.choice(["wf.stop: { reason: r, result: 1 }", "wf.fail: { code: ended }"])]

    def _scope(self, body: list[str], depth: int) -> list[str]:
        if self.random.random() < 0.45:
            body.append(f"recovery: {self.recovery()}")
        return body

    def group(self, name: str, depth: int) -> list[str]:
        return self._scope([f"wf.group: {self.steps(depth + 1)}"], depth)

    def choice(self, name: str, depth: int) -> list[str]:
        body = [f"wf.if: '{{{{ inputs.{self.random.choice(['yes', 'no'])} }}}}'", f"then: {self.steps(depth + 1)}"]
        if self.random.random() < 0.5:
            body.append(f"else: {self.steps(depth + 1)}")
        return self._scope(body, depth)

    def switch(self, name: str, depth: int) -> list[str]:
        cases = f"{{ 1: {self.steps(depth + 1)}, 2: {self.steps(depth + 1)} }}"
        return self._scope(["wf.switch: '{{ inputs.n }}'", f"cases: {cases}"], depth)

    def parallel(self, name: str, depth: int) -> list[str]:
        branches = ", ".join(f"b{n}: {self.steps(depth + 1)}" for n in range(self.random.randint(1, 3)))
        body = [f"wf.parallel: {{ {branches} }}"]
        if self.random.random() < 0.25:
            body.append("on_branch_fail: continue")
        return self._scope(body, depth)

    def for_each(self, name: str, depth: int) -> list[str]:
        body = ["wf.for_each: '{{ inputs.xs }}'", f"steps: {self.steps(depth + 1)}", f"as: i{name}"]
        body.append(f"concurrency: {1 if self.sequential else self.random.randint(1, 3)}")
        if self.random.random() < 0.25:
            body.append("on_iteration_fail: continue")
        return self._scope(body, depth)


class FunctionalWorld:
    """Answers are a function of the seed and the call's identity, attempt and generation: however often a crash has a
    call repeated, it is answered in the same way. Counts effects; ``repeated`` are unsafe effects that happened twice."""

    def __init__(self, seed: int, trouble: float = 0.25, latency: bool = False) -> None:
        self.seed = seed
        self.trouble = trouble
        self.latency = latency
        self.counts: dict[str, int] = {}
        self.done: dict[str, Any] = {}
        self.once: dict[tuple[str, int], int] = {}
        self.reads: dict[str, tuple[Answer, int]] = {}

    def fork(self) -> FunctionalWorld:
        copy = FunctionalWorld(self.seed, self.trouble, self.latency)
        copy.counts, copy.done, copy.once = dict(self.counts), dict(self.done), dict(self.once)
        copy.reads = dict(self.reads)
        return copy

    def draw(self, *what: object) -> float:
        text = json.dumps([self.seed, *what])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48

    def dispatch(self, call: Call) -> Answer:
        about = (call.id, call.attempt, call.generation)
        latency = int(self.draw("latency", *about) * 3) * 60_000_000 if self.latency else 0
        if call.effect == "read":
            return self.read(call, latency)
        return self.write(call, latency)

    def read(self, call: Call, latency: int) -> Answer:
        if not call.interrupted:
            self.reads[call.id] = self.write(call, latency), call.at + latency
        answer, due = self.reads[call.id]
        return replace(answer, latency_us=max(due - call.at, 0))

    def write(self, call: Call, latency: int) -> Answer:
        about = (call.id, call.attempt, call.generation)
        identity = self.identity(call)
        known = self.done.get(identity) if identity else None
        if known is not None:
            return Answer("success", known, latency_us=latency)
        undo = call.undoes is not None
        luck = self.draw("luck", *about)
        if luck < self.trouble and not undo:
            busy = self.draw("busy", *about) < 0.5
            return Answer("failure", code="busy" if busy else "broken", latency_us=latency)
        lost = call.effect == "write" and call.reissue == 0 and self.draw("lost", *about) < self.trouble / 3
        safe = call.idempotency != "none"
        if call.effect == "write":
            self.take_effect(call, identity)
        result = {"value": f"{call.path}@{call.generation}" if call.idempotency != "inherent" else identity or "read"}
        if lost and safe:
            return Answer("ambiguous", code="lost", latency_us=latency)
        if identity and call.effect == "write":
            self.done[identity] = result
        return Answer("success", result, latency_us=latency)

    def take_effect(self, call: Call, identity: str | None) -> None:
        if identity is None or identity not in self.counts:
            self.counts[identity or f"{call.action} {call.id} {call.generation}"] = 1
        if identity is None:
            place = (call.id, call.generation)
            self.once[place] = self.once.get(place, 0) + 1
        undone = call.undoes
        if undone is not None and undone.key is None:
            before = f"{undone.action} {json.dumps(undone.arguments, sort_keys=True)}"
            self.done.pop(before, None)
            if before in self.counts:
                self.counts[f"{before} undone {call.id} {call.generation}"] = self.counts.pop(before)

    def identity(self, call: Call) -> str | None:
        if call.idempotency == "keyed":
            return f"{call.action} {call.key}"
        if call.idempotency == "inherent" and call.effect == "write":
            return f"{call.action} {json.dumps(call.arguments, sort_keys=True)}"
        return None

    def effects(self) -> list[Effect]:
        return [Effect(name, None, "", count, count) for name, count in self.counts.items()]
