"""Random state machines: routes and timers between states whose steps read inputs, own steps and those of others."""

from __future__ import annotations

import json
from typing import Any

from tests.typing.generator import Generator, Visible
from tests.typing.shapes import INPUTS, Shape, schema


class MachineGenerator(Generator):
    """State machines from a seed, or from a source of random choices."""

    def workfile(self) -> str:
        """The text of a Workfile."""
        self.budget = self.random.randint(2, self.size)
        chosen = [name for name in INPUTS if self.chance(0.8 if name.endswith("?") else 0.3)] or ["label?"]
        fields = tuple((name.rstrip("?"), INPUTS[name], name.endswith("?")) for name in chosen)
        inputs: Visible = {"inputs": Shape("record", fields=fields)}
        names = [f"t{number}" for number in range(self.random.randint(2, 5))]
        others: Visible = {}
        states: dict[str, Any] = {}
        for name in names:
            states[name], bound = self.state(names, inputs, others)
            others.update((each, shape.or_null()) for each, shape in bound.items())
        head: dict[str, Any] = {
            "workfile": "1.0",
            "name": "generated",
            "inputs": {name: schema(INPUTS[name]) for name in chosen},
            "initial": self.random.choice((names[0], *names)),
        }
        if self.chance(0.5):
            head["result"] = {"r": self.value(inputs)}
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
        return f"{text}states:\n" + "".join(f"  {name}: {json.dumps(state)}\n" for name, state in states.items())

    def state(self, names: list[str], inputs: Visible, others: Visible) -> tuple[dict[str, Any], Visible]:
        """A state, and what its steps bind."""
        outside = {**inputs, **(others if self.chance(0.4) else {})}
        visible = {**outside}
        state: dict[str, Any] = {"steps": self.list(visible, 1, 3)}
        bound = {name: shape for name, shape in visible.items() if name not in outside}
        routes: list[dict[str, Any]] = [
            {"when": self.whole(self.condition(self.told(inputs, visible))), "to": self.random.choice(names)}
            for _ in range(self.random.choice((0, 1, 1, 2, 3)))
        ]
        if self.chance(0.7):
            routes.append({"to": self.random.choice(names)})
        if routes:
            state["routes"] = routes
        else:
            state["final"] = True
        if self.chance(0.15):
            state["timers"] = {"late": {"after": "1h", "to": self.random.choice(names)}}
        return state, bound

    def told(self, inputs: Visible, visible: Visible) -> Visible:
        """What a route tests: mostly inputs, as only facts about them pass on."""
        return inputs if self.chance(0.7) else visible
