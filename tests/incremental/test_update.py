"""What is found in a text that was edited is what a fresh look finds, and so is every type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import analyzer.check as check_module
from analyzer.check import Engine, FileResult, check_file
from analyzer.model.nodes import Workflow, all_steps
from analyzer.workspace.config import Config
from analyzer.workspace.project import Project
from benchmarks.generate import write_project
from tests.incremental.edits import BATCHES, histories
from tests.rules.examples import CONNECTORS, examples

EXAMPLES = sorted(CONNECTORS.parent.glob("*.workfile.yaml"))


class Looking:
    """A project that is looked at through an engine of its own: one builds on what it knew, one never does."""

    def __init__(self, root: Path, edited: bool) -> None:
        self.project = Project(str(root), Config())
        self.engine = Engine(self.project)
        self.engine.edited = edited

    def check(self, path: str, text: str) -> FileResult:
        check_module._ENGINES[self.project.root] = self.engine
        if not self.engine.edited:
            self.engine.forget()
        return check_file(self.project, path, text)

    def workflow(self, path: str) -> Workflow:
        found = self.engine.analysis(path)
        assert found is not None
        return found.workflow


@pytest.fixture(autouse=True)
def engines() -> Iterator[None]:
    """The engines of other tests stay as they are."""
    known = dict(check_module._ENGINES)
    yield
    check_module._ENGINES.clear()
    check_module._ENGINES.update(known)


def facts_of(workflow: Workflow) -> list[Any]:
    """What typing has found out of every step."""
    found: list[Any] = [repr(workflow.result_type), workflow.result_may_fault]
    for step in all_steps(workflow):
        why = [] if step.binding is None else [reason.text for reason in step.binding.why]
        found.append(
            (step.path, step.index, step.entry.key.start, step.may_fail, step.may_fault, repr(step.binding), why)
        )
    return found


def same_as_fresh(folder: Path, history: list[str], name: str) -> tuple[int, int]:
    """Compare after each edit; how often the analysis was built on that before, and how often it was not."""
    path = str(folder / f"{name}.workfile.yaml")
    edited, fresh = Looking(folder, edited=True), Looking(folder, edited=False)
    built = anew = 0
    before: Workflow | None = None
    for number, text in enumerate(history):
        mine, theirs = edited.check(path, text), fresh.check(path, text)
        assert mine.findings == theirs.findings, (number, text)
        assert mine.comments == theirs.comments, (number, text)
        assert set(theirs.dependencies) <= set(mine.dependencies)
        assert mine.reads_index or not theirs.reads_index
        now = edited.workflow(path)
        assert facts_of(now) == facts_of(fresh.workflow(path)), (number, text)
        built, anew = (built + 1, anew) if now is before else (built, anew + 1)
        before = now
    return built, anew


def test_an_edited_text_is_found_to_be_what_it_is(tmp_path: Path) -> None:
    for name in ("connectors",):
        (tmp_path / name).symlink_to(CONNECTORS)
    texts = [text for path in EXAMPLES if "\nsteps:" in (text := path.read_text(encoding="utf-8"))]
    for section in ("Bad", "Good"):
        texts += [text for each in examples(section) for _, text in each.files if text.count("\n  - ") > 1]
    built = 0
    for seed, history in histories([text for text in texts if "\nsteps:" in text]):
        built += same_as_fresh(tmp_path, history, f"w{seed}")[0]
    assert built > BATCHES / 8, "most edits inside steps build on what was known"


def test_typing_in_a_long_file_is_built_on_what_was_known(tmp_path: Path) -> None:
    text = write_project(tmp_path, 1, 60)[0].read_text(encoding="utf-8")
    place = text.index("amount: ", len(text) // 2) + len("amount: ")
    typed = '"{{ inputs.amount }}", custo: 1, x'
    history = [text[:place] + typed[:end] + text[place:] for end in range(len(typed))]
    history += history[::-1]
    built, _ = same_as_fresh(tmp_path, history, "generated-0")
    assert built > len(history) * 0.8


STEPS = """\
workfile: "1.0"
name: some
inputs: { order_id: string, amount: integer }
steps:
  - first: { wf.let: { a: "{{ inputs.amount }}", b: x } }
  - second: { wf.let: { c: "{{ first.a + 1 }}" }, when: "{{ first.b == 'x' }}" }
  - third: { wf.let: { d: "{{ second?.c }}" } }
  - guard: { wf.if: "{{ third.d == null }}", then: [ { none: { wf.fail: { code: no, message: no } } } ] }
  - fourth: { wf.let: { e: "{{ third.d + 1 }}" } }
  - fifth: { wf.let: { f: "{{ fourth.e * 2 }}" } }
result: "{{ fifth.f }}"
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("first.a + 1", "first.b + 1"),
        ("b: x", "b: 1"),
        ("b: x", "bb: x"),
        ("- first:", "- firsts:"),
        ("third.d == null", "third.d != null"),
        ("inputs.amount }}", "inputs.order_id }}"),
        ('  - third: { wf.let: { d: "{{ second?.c }}" } }\n', ""),
        ("  - fifth:", "\n\n  - fifth:"),
        ("  - second:", "  - new: { wf.fail: { code: no, message: no } }\n  - second:"),
        ("wf.fail: { code: no, message: no }", "wf.wait: 1s"),
        ("  - fourth:", "  - fifth: { wf.wait: 1s }\n  - fourth:"),
        (", when: \"{{ first.b == 'x' }}\"", ""),
    ],
)
def test_what_depends_on_a_changed_step_is_looked_at_again(tmp_path: Path, old: str, new: str) -> None:
    assert STEPS.count(old) >= 1
    other = STEPS.replace(old, new, 1)
    same_as_fresh(tmp_path, [STEPS, other, STEPS, other], "some")


def test_a_fault_in_building_on_costs_an_analysis_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "some.workfile.yaml")
    looking = Looking(tmp_path, edited=True)
    looking.check(path, STEPS)

    def fault(*_: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("analyzer.incremental.update.updated", fault)
    other = STEPS.replace("b: x", "b: 1")
    found = looking.check(path, other)
    assert found.findings == Looking(tmp_path, edited=False).check(path, other).findings
    assert "could not be built on" in caplog.text
