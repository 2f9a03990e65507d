"""Each kind of edit gives the verdict that the profile asks for: the cases of ``tests/conformance/histories``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sim_runtime import replay
from sim_runtime.history.load import History, read_history
from sim_runtime.simulation import prepare
from tests.sim.lab import MANIFEST
from tests.sim.replay.recorded import rechained

CASES = Path(__file__).resolve().parents[2] / "conformance" / "histories"
HEAD = 'workfile: "1.0"\nname: test\n'
Json = dict[str, Any]


def load(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def case(path: Path) -> Json:
    found: Json = load(path.read_text(encoding="utf-8"))
    return found


FILES = sorted(CASES.glob("*.yaml"))


def merged(base: Json, over: Json) -> Json:
    return {
        **base,
        **{
            k: merged(base[k], v) if isinstance(base.get(k), dict) and isinstance(v, dict) and "type" not in v else v
            for k, v in over.items()
        },
    }


def project(folder: Path, text: str, connector: Json, overlay: Json | None) -> Path:
    """A folder with the Workfile; its path."""
    (folder / "connectors").mkdir(parents=True)
    manifest = merged(load(MANIFEST), connector)
    (folder / "connectors" / "lab.connector.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "workfile.toml").write_text('[connections.lab]\nnames = ["main", "spare"]\ndefault = "main"\n')
    if overlay is not None:
        (folder / "lab.overlay.yaml").write_text(json.dumps(overlay), encoding="utf-8")
        text = "connectors: { lab: { manifest: connectors/lab.connector.yaml, overlay: lab.overlay.yaml } }\n" + text
    path = folder / "test.workfile.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def recorded(case: Json, folder: Path) -> History:
    """The history of the case, as it is read from a file."""
    path = project(folder / "before", case["before"], case.get("connector", {}), None)
    scenario = None
    if "scenario" in case:
        scenario = str(folder / "before" / "case.scenario.yaml")
        Path(scenario).write_text(json.dumps({"workfile": str(path), **case["scenario"]}), encoding="utf-8")
    simulation = prepare(str(path), scenario).simulation().finish()
    lines = [line.encode() for line in simulation.history_lines()]
    if "cut" in case:
        cut = case["cut"]
        wanted = [cut["kind"], cut.get("path", "")]
        lines = lines[
            : next(
                at for at, line in enumerate(lines) if at and [json.loads(line)[k] for k in ("kind", "path")] == wanted
            )
            + 1
        ]
    if "timezone" in case:
        lines = rechained(lines, lambda parsed: parsed[0]["pins"].update(timezone=case["timezone"]))
    return read_history(lines)


@pytest.mark.requirement("R-REV-02", "R-REV-04", "R-REV-05", "R-CON-04", "R-CON-06", "R-CON-09", "R-CON-10", "R-CON-12")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_edit(path: Path, tmp_path: Path) -> None:
    told = case(path)
    history = recorded(told, tmp_path)
    other = None
    if "pinned" not in told:
        after = project(
            tmp_path / "after",
            told.get("after", told["before"]),
            merged(told.get("connector", {}), told.get("connector_after", {})),
            told.get("overlay_after"),
        )
        other = prepare(str(after))
    expect = told["expect"]
    if "reevaluate" in expect:
        evaluation = replay.reevaluate(history, replay.chosen(history.header, other))
        wanted = dict(expect["reevaluate"])
        found = evaluation.divergence.json() if evaluation.divergence is not None else {}
        assert {
            "outcome": "divergent" if found else "compatible",
            **{key: found.get(key) for key in wanted if key != "outcome"},
        } == wanted
    judge_continuation(told, history, other, expect["continue"], tmp_path)


def judge_continuation(told: Json, history: History, other: Any, wanted: Json, folder: Path) -> None:
    live: Any = None
    if "live" in told:
        live = str(folder / "live.scenario.yaml")
        Path(live).write_text(json.dumps({"workfile": "x", **told["live"]}), encoding="utf-8")
    continuation = replay.continue_(history, other, live).finish()
    report = continuation.json()
    superseded = {each["seq"] for each in replay.reconstruct(history).json()["superseded"]}
    reused = {each["seq"] for each in report["reused"]}
    invalidated = report["invalidated"]
    shown = {
        "status": report["status"],
        "result": report["result"],
        "generation": report["generation"],
        "clock": report["clock"]["now"],
        "effects": {each["path"]: each["count"] for each in report["effects"]},
        "calls": [each["path"] for each in report["calls"]],
        "keys": {each["path"]: each["key"].partition(":")[2] or each["key"] for each in report["calls"] if each["key"]},
        "holds": [each["path"] for each in report["holds"]],
        "invalidated": invalidated and {name: invalidated[name] for name in ("kind", "path", "cause")},
        "superseded_reused": bool(superseded & reused),
    }
    assert {name: shown[name] for name in wanted if name != "reused"} == {
        k: v for k, v in wanted.items() if k != "reused"
    }
    if "reused" in wanted:
        paths = {each["path"] for each in report["reused"]}
        assert set(wanted["reused"]) <= paths
    assert not reused & set(report["discarded"])
    again = read_history([line.encode() for line in continuation.lines()])
    judged = replay.reevaluate(again)
    assert judged.compatible, judged.divergence
