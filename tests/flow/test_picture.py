"""What ``workfile graph`` draws and writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from analyzer.flow.analysis import analyse
from analyzer.flow.dot import to_dot
from analyzer.flow.mermaid import to_mermaid
from analyzer.flow.picture import MARKS, SHAPES, STYLES, draw
from analyzer.flow.redo import redo_of
from tests.flow.generator import Generator
from tests.flow.mini import model
from workfile_cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ORDER = str(EXAMPLES / "order.workfile.yaml")

ORDER_MERMAID = """\
flowchart TD
  n0_start(["order-fulfilment"])
  n5_arrive{{"arrive<br>wait for warehouse.delivered<br>at most 14d"}}
  n6_succeeded(["succeeded"])
  subgraph f0_fulfil["↻ fulfil: whole_group, 2× in 1h, after 5m, then hold<br>⚠ redo-may-hold ×2"]
    n3_charge["charge<br>payments.charge<br>undo: payments.refund<br>on_unknown: reconcile"]
    n4_ship["ship<br>warehouse.ship<br>3 attempts<br>on_unknown: halt"]
    subgraph f1_reserve["reserve: each line"]
      n1_reserve>"reserve<br>for each inputs.lines"]
      n2_hold["hold<br>warehouse.reserve<br>undo: warehouse.release"]
    end
  end
  n0_start --> n1_reserve
  n1_reserve -->|"each"| n2_hold
  n2_hold -.->|"next"| n1_reserve
  n1_reserve -->|"done"| n3_charge
  n3_charge --> n4_ship
  n4_ship --> n5_arrive
  n5_arrive --> n6_succeeded
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["graph", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_mermaid_of_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, ORDER)
    assert (code, err) == (0, "")
    assert out.startswith(ORDER_MERMAID)


def test_a_redo_set_is_highlighted(capsys: pytest.CaptureFixture[str]) -> None:
    _, plain, _ = run(capsys, ORDER)
    _, every, _ = run(capsys, ORDER, "--redo")
    _, one, _ = run(capsys, ORDER, "--redo", "fulfil")
    assert one == every
    assert "class n1_reserve,n2_hold,n3_charge,n4_ship redone" in one
    assert 'n4_ship ==>|"redo"| n1_reserve' in one
    assert "redone" not in plain


def test_an_unknown_scope_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, ORDER, "--redo", "nothing")
    assert (code, out) == (2, "")
    assert "there is no recovery scope `nothing`. There is `fulfil`." in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.workfile.yaml", "cannot read"),
        ("other.txt", "is not a Workfile"),
        ("empty.workfile.yaml", "has nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_line(
    name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.workfile.yaml").write_text("", encoding="utf-8")
    code, out, err = run(capsys, str(tmp_path / name))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_svg_without_graphviz_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    code, out, err = run(capsys, ORDER, "--format", "svg")
    assert (code, out) == (2, "")
    assert "install Graphviz, or use `--format mermaid`" in err


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.workfile.yaml")), ids=lambda path: path.name)
def test_graphviz_draws_the_examples(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.svg"
    code, _, _ = run(capsys, str(path), "--format", "svg", "--redo", "-o", str(target))
    assert code == 0
    assert "</svg>" in target.read_text(encoding="utf-8")


def test_json_is_the_whole_graph(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, ORDER, "--format", "json")
    found = json.loads(out)
    assert (code, found["version"], found["workflow"]) == (0, 1, "order-fulfilment")
    names = {node["id"] for node in found["nodes"]}
    assert {"fulfil.charge#start", "fulfil.charge#failure", "fulfil#recovery", "run#run.held"} <= names
    assert all({edge["from"], edge["to"]} <= names for edge in found["edges"])
    (scope,) = found["scopes"]
    assert (scope["path"], scope["redo"], scope["then"], scope["unsafe"]) == ("fulfil", "whole_group", "hold", [])
    ship = next(each for each in scope["failures"] if each["step"] == "fulfil.ship")
    assert ship["succeeded"] == ["fulfil.reserve[].hold", "fulfil.charge", "fulfil.charge.(reconcile).probe"]
    assert {each["rule"] for each in found["findings"]} >= {"redo-may-hold"}


def test_findings_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.workfile.yaml"
    path.write_text(
        'workfile: "1.0"\nname: a\nsteps:\n  - s: { wf.stop: { reason: r } }\n  - b: { wf.let: { v: 1 } }\n'
    )
    code, out, _ = run(capsys, str(path))
    assert code == 0
    assert '"b<br>let<br>⚠ unreachable-step"' in out
    assert "class n2_b warning" in out


def test_errors_do_not_keep_from_drawing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.workfile.yaml"
    path.write_text('workfile: "1.0"\nname: a\nsteps:\n  - b: { no.such: {} }\n  - c: { wf.let: { v: "{{ x }}" } }\n')
    code, out, err = run(capsys, str(path))
    assert code == 0
    assert "n1_b" in out
    assert "n2_c" in out
    assert "errors found" in err


def test_text_of_the_file_cannot_break_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.workfile.yaml"
    text = r"""workfile: "1.0"
name: a
inputs: { s: string }
steps:
  - c: { wf.switch: "{{ inputs.s }}", cases: { "a\"]; <b> # `c` \\": [ { d: { wf.let: { v: 1 } } } ] } }
"""
    path.write_text(text, encoding="utf-8")
    _, mermaid, _ = run(capsys, str(path))
    _, dot, _ = run(capsys, str(path), "--format", "dot")
    assert '|"a&quot;]; &lt;b&gt; &num; &#96;c&#96; \\"|' in mermaid
    assert r'label=" a\"]; <b> # `c` \\ "' in dot


def test_every_small_workfile_can_be_drawn() -> None:
    shapes: set[str] = set()
    styles: set[str] = set()
    marks: set[str] = set()
    for seed in range(600):
        flow = analyse(model(Generator(seed).program()), every=True)
        scopes = redo_of(flow)
        picture = draw(flow, scopes, {}, scopes)
        names = {box.name for box in picture.boxes}
        assert len(names) == len(picture.boxes)
        assert all({arrow.source, arrow.target} <= names for arrow in picture.arrows), seed
        assert to_mermaid(picture).count("subgraph") == len(picture.frames) == to_dot(picture).count("subgraph")
        shapes.update(box.shape for box in picture.boxes)
        styles.update(arrow.style for arrow in picture.arrows)
        marks.update(mark for box in picture.boxes for mark in box.marks)
    assert shapes == set(SHAPES)
    assert styles == set(STYLES)
    assert marks == set(MARKS) - {"error", "warning", "information"}
