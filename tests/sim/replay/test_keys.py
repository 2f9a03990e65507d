"""Idempotency keys over a lineage: whatever is edited, wherever a history ends, continued as a successor run."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim_runtime import replay
from sim_runtime.core.looking import holds
from sim_runtime.driver.protocol import Script
from sim_runtime.driver.run import Run
from sim_runtime.history.canonical import digest_of
from sim_runtime.history.load import History, read_history
from sim_runtime.replay.impact import impact_of
from sim_runtime.replay.many import evaluate_files
from sim_runtime.simulation import Prepared
from tests.sim.generated import INPUTS, Maker
from tests.sim.lab import H, definition
from tests.sim.replay.provider import Provider, followed, judge
from tests.sim.replay.recorded import Json, lines_of_run, prepared_of, rechained
from tests.sim.test_properties import script_of

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=20)

#: Patterns of the texts that the generator makes, and what an edit makes of them.
EDITS = (
    (r"attempts: \d", "attempts: 4"),
    (r"delay: \w+", "delay: 7m"),
    (r"redo: \w+", "redo: whole_group"),
    (r"redo: \w+", "redo: this_and_after"),
    (r"inputs\.n \+ 1", "inputs.n + 2"),
    (r"inputs\.yes", "inputs.no"),
    (r"wf\.wait: \w+", "wf.wait: 3h"),
    (r"failures: \d", "failures: 4"),
    (r"then: (fail|hold)\b", "then: hold"),
    (r"\{ step: (s\d+) \}", r"{ step: \1x }"),
    (r"undo: \{ lab\.\w+: \{ v:", "undo: { lab.refund: { w:"),
    (r", undo: \{ lab\.\w+: \{ [vw]: '\{\{ \w+\.value \}\}' \} \}", ""),
    (r"on_fail: continue", "on_fail: fail"),
    (r"concurrency: \d", "concurrency: 2"),
)


class Payer(Maker):
    """Makes Workfiles that recover often, and undo what they do; some steps have keys of their own."""

    loops = 0

    def action(self, name: str, depth: int) -> list[str]:
        action = self.random.choice(["lab.pay", "lab.pay", "lab.pay", "lab.put", "lab.send"])
        body = [f"{action}: {{ step: {name} }}"]
        if action == "lab.pay" and self.calls and not self.loops and self.random.random() < 0.25:
            body.append(f"idempotency_key: key-{name}")
        if action == "lab.send":
            body.append("on_unknown: halt")
        if action == "lab.send" or self.random.random() < 0.7:
            undo = self.random.choice(["lab.refund", "lab.refund", "lab.drop", "lab.scrap"])
            body.append(f"undo: {{ {undo}: {{ v: '{{{{ {name}.value }}}}' }} }}")
        return body

    def for_each(self, name: str, depth: int) -> list[str]:
        self.loops += 1  # one key for all iterations, or calls of a child, is one call for all of them
        body = super().for_each(name, depth)
        self.loops -= 1
        return body

    def let(self, name: str, depth: int) -> list[str]:
        return self.action(name, depth)

    def _scope(self, body: list[str], depth: int) -> list[str]:
        return [*body, f"recovery: {self.recovery()}"] if self.random.random() < 0.8 else body


def texts_of(seed: int) -> tuple[str, str]:
    """The Workfile and the one that it may call."""
    maker = Payer(seed)
    return maker.workfile(), maker.child()


def edited(text: str, random: Random) -> str:
    """One edit at a random place of those that fit, or a step renamed."""
    if random.random() < 0.15:
        name = random.choice(re.findall(r"\{ (s\d+): ", text) or ["s0"])
        return re.sub(rf"\{{ {name}: ", f"{{ {name}r: ", text).replace(f" {name}.value", f" {name}r.value")
    fitting = [(match, into) for pattern, into in EDITS for match in re.finditer(pattern, text)]
    if not fitting:
        return text
    match, into = random.choice(fitting)
    return text[: match.start()] + match.expand(into) + text[match.end() :]


def successor(history: History, other: Prepared, world: Provider) -> replay.Continuation:
    """The successor of a history under the outside as it was at its end."""
    found = replay.continue_(history, other)
    found.run.world = world
    found.run.limit = 5_000
    found.run.script = Script(until_us=2000 * H)
    return found


def changed(
    history: History, text: str, child: str, random: Random, world: Provider
) -> tuple[str, str, replay.Continuation]:
    """The successor on an edited Workfile: of some edits the first that the history does not meet."""
    found = None
    for _ in range(6):
        here = random.random() < 0.85
        one, two = (edited(text, random), child) if here else (text, edited(child, random))
        try:
            other = prepared_of(one, two)
        except AssertionError:
            continue  # the edited Workfile has errors
        found = one, two, successor(history, other, world)
        if found[2].plan.divergence is not None:
            return found
    return found or (text, child, successor(history, prepared_of(text, child), world))


@pytest.mark.requirement("R-CON-09", "R-CON-10")
@example(2016)
@example(2017)
@example(2061)
@FEW
@given(SEEDS)
def test_no_key_is_used_for_two_calls_or_again_after_its_compensation(seed: int) -> None:
    """A run, its successor and the successor of that, each cut somewhere and continued on an edited Workfile."""
    random = Random(seed)
    text, child = texts_of(seed)
    world = Provider(seed, random.choice([0.15, 0.3]))
    run = Run(definition(text, child), world, inputs=INPUTS, script=script_of(seed), limit=20_000)
    worlds = followed(run, random.random() < 0.8)
    judge(run, (text, child))
    lines = lines_of_run(run, text, child)
    told = [text, child]
    for _ in range(3):
        cuts = [count for count in worlds if 0 < count <= len(lines) - 1]
        count = random.choice(cuts[len(cuts) // 3 :] or cuts)
        history = read_history(lines[: count + 1])
        text, child, found = changed(history, text, child, random, worlds[count])
        told += [str(count), text, child]
        worlds = followed(found.run, random.random() < 0.8)
        judge(found.run, told)
        lines = [line.encode() for line in found.lines()]
        again = read_history(lines)
        assert replay.reconstruct(again).state == found.run.state
        assert replay.reevaluate(again).compatible, told


def class_of(found: replay.Continuation) -> str:
    """The class of a run, by what its successor came to."""
    if found.plan.divergence is None:
        return "compatible"
    state = found.run.state
    asked = {"unsafe_continuation", "reissue"}
    own = [each for each in found.run.records[found.run.given :] if each.kind == "hold.entered"]
    held = {each.id for each in own if each.data["reason"] in asked} | set(state.orphans)
    open_ = {each.id for each in holds(state) if each.hold.reason in asked and each.id in held}
    left = not state.over and any(not each.settled for each in state.prior.values())
    return "unsafe" if open_ or left else "successor"


@pytest.mark.requirement("R-CON-05")
@FEW
@given(SEEDS)
def test_impact_and_check_say_what_a_successor_comes_to(seed: int) -> None:
    """Also of a connector of another version, of which deciding anew knows nothing."""
    random = Random(seed)
    text, child = texts_of(seed)
    run = Run(definition(text, child), Provider(seed), inputs=INPUTS, script=script_of(seed), limit=20_000)
    worlds = followed(run, random.random() < 0.8)
    lines = lines_of_run(run, text, child)
    before = prepared_of(text, child)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "run.history.jsonl")
        for _ in range(3):
            count = random.choice(list(worlds)[1:])
            part = rechained(lines[: count + 1], other_version) if random.random() < 0.3 else lines[: count + 1]
            Path(path).write_bytes(b"".join(part))
            one = edited(text, random) if random.random() < 0.7 else text
            try:
                after = prepared_of(one, child)
            except AssertionError:
                continue  # the edited Workfile has errors
            history = read_history(part)
            found = replay.continue_(history, after).finish()
            (told,) = impact_of(before, after, [path]).runs
            assert told.class_ == class_of(found), (text, child, count, one)
            (checked,) = evaluate_files([path], after, going_on=True)
            assert (checked.outcome == "compatible") == (told.class_ == "compatible"), (text, child, count, one)
            assert checked.divergence == told.divergence


def other_version(parsed: list[Json]) -> None:
    """Pin another version of the connector."""
    pins = parsed[0]["pins"]
    if not pins["manifests"]:
        return  # it calls nothing
    manifest = {**pins["content"].pop(pins["manifests"]["lab"]), "version": "0.9.0"}
    pins["manifests"]["lab"] = digest_of(manifest)
    pins["content"][pins["manifests"]["lab"]] = manifest
