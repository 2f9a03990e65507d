"""Headers with their pins, the chain of digests, export, and loading: what is wrong is named with its first record."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from analyzer.check import engine_for
from analyzer.expressions.values import is_marked
from analyzer.model.nodes import all_steps
from sim_runtime.core.compiling import definition_of
from sim_runtime.history import docs
from sim_runtime.history.encoding import record_json
from sim_runtime.history.header import missing_content
from sim_runtime.history.load import load_history, read_history
from sim_runtime.history.pins import called_by, pinned_project, used_connectors
from sim_runtime.history.refusal import Refused
from sim_runtime.world.connectors import actions_of
from tests.sim.history.stories import FILES, Json, lines, load, played, rechained, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="module")
def story(folder: Path) -> list[Json]:
    return lines(played(folder))


@pytest.mark.requirement("D-HIST-01", "D-HIST-03")
def test_the_header_identifies_the_run_and_all_that_it_began_with(story: list[Json]) -> None:
    header = story[0]
    assert list(header) == ["format", "standard_version", "run", "workflow", "pins", "lineage", "digest"]
    assert (header["workflow"], header["lineage"], header["standard_version"]) == ("order", None, "1.0")
    pins = header["pins"]
    # The child's own connector has no overlay: it is another one of the same name.
    assert list(pins["manifests"]) == ["shop", "tell/shop"]
    assert list(pins["overlays"]) == ["shop"]
    assert list(pins["children"]) == ["tell"]
    assert pins["content"][pins["definition"]]["name"] == "order"
    assert pins["content"][pins["overlays"]["shop"]]["overlay"] == "shop"
    assert missing_content(pins) == ()
    assert pins["timezone"][:2] == "20"
    assert all(sha256(rfc8785.dumps(value)).hexdigest() == digest for digest, value in pins["content"].items())


def test_comments_and_layout_do_not_change_a_pin(folder: Path, story: list[Json], tmp_path: Path) -> None:
    changed = {name: "# a note\n" + text if name.endswith(".yaml") else text for name, text in FILES.items()}
    again = lines(played(write(tmp_path, changed)))
    assert again[0]["pins"] == story[0]["pins"]
    other = {**FILES, "tell.workfile.yaml": FILES["tell.workfile.yaml"].replace("look.ok", "not look.ok")}
    pins = lines(played(write(tmp_path / "other", other)))[0]["pins"]
    assert pins["definition"] == story[0]["pins"]["definition"]
    assert pins["children"] != story[0]["pins"]["children"]


def test_the_chain_begins_with_the_header(story: list[Json]) -> None:
    digest = sha256(rfc8785.dumps({k: v for k, v in story[0].items() if k != "digest"})).hexdigest()
    assert story[0]["digest"] == digest
    for record in story[1:]:
        bare = rfc8785.dumps({key: value for key, value in record.items() if key != "digest"})
        digest = sha256(digest.encode() + bare).hexdigest()
        assert record["digest"] == digest
    assert [record["seq"] for record in story[1:]] == list(range(1, len(story)))


def test_the_report_tells_the_last_digest(folder: Path, story: list[Json]) -> None:
    report = played(folder).report
    assert report["history"] == {"records": len(story) - 1, "digest": f"sha256:{story[-1]['digest']}"}


def test_a_history_is_loaded_as_it_was_written(folder: Path, story: list[Json], tmp_path: Path) -> None:
    simulation = played(folder)
    file = tmp_path / "a.history.jsonl"
    file.write_text("".join(simulation.history_lines()), encoding="utf-8")
    history = load_history(str(file))
    assert history.records == simulation.run.records
    assert history.header == simulation.header
    assert history.digest == story[-1]["digest"]
    assert (history.cut, history.withheld) == (0, [])


@pytest.mark.requirement("D-HIST-02", "D-HIST-09")
def test_a_history_that_is_cut_ends_at_the_boundary_before(story: list[Json]) -> None:
    boundaries = [0]
    for length in range(1, len(story)):
        if story[length].get("boundary"):
            boundaries.append(length)
        usable = boundaries[-1]
        if not usable:
            with pytest.raises(Refused):
                load(story[: length + 1])
            continue
        history = load(story[: length + 1])
        assert (len(history.records), history.cut) == (usable, length - usable)
        assert history.digest == story[usable]["digest"]


def test_what_is_pinned_can_be_resolved_without_the_files(folder: Path, story: list[Json]) -> None:
    with pinned_project(story[0]["pins"]) as (project, path):
        workflow = engine_for(project).typed(path)
        assert workflow is not None
        assert workflow.name == "order"
        assert set(actions_of(workflow)) == {"shop.look", "shop.charge"}
        assert actions_of(workflow)["shop.charge"].doc == "tightened"
        child = called_by(workflow)["tell"]
        assert used_connectors(child) == ["shop"]
        assert all(call.manifest.overlay_path is None for step in all_steps(child) if (call := step.call))
        definition = definition_of(workflow, project)
    assert definition.workflow == "order"
    assert not Path(path).exists()


# What is wrong.


def record(number: int, **changes: Any) -> Callable[[list[Json]], None]:
    return lambda parsed: parsed[number].update(changes)


def data(number: int, **changes: Any) -> Callable[[list[Json]], None]:
    return lambda parsed: parsed[number]["data"].update(changes)


def without(number: int, key: str, inner: str | None = None) -> Callable[[list[Json]], None]:
    def change(parsed: list[Json]) -> None:
        del (parsed[number] if inner is None else parsed[number][inner])[key]

    return change


def removed(number: int) -> Callable[[list[Json]], None]:
    return lambda parsed: parsed.pop(number) and None


REFUSED: list[tuple[str, Callable[[list[Json]], None], str, Any, tuple[str, ...]]] = [
    ("a field is absent", without(1, "inputs", "data"), "absent", 1, ("inputs",)),
    ("a key is absent", without(3, "generation"), "absent", 3, ("generation",)),
    ("a record is missing", removed(4), "absent", 5, ("seq 4",)),
    ("a record is repeated", lambda parsed: parsed.insert(3, dict(parsed[2])), "inconsistent", 2, ()),
    ("an unknown kind", record(2, kind="run.begun"), "inconsistent", 2, ()),
    ("an unknown key", record(2, more=1), "inconsistent", 2, ()),
    ("an unknown field", data(2, more=1), "inconsistent", 2, ()),
    ("a field of another type", data(1, seed="x"), "inconsistent", 1, ()),
    ("a bad time", record(3, at="yesterday"), "inconsistent", 3, ()),
    ("time goes back", record(5, at="2025-12-31T23:59:59Z"), "inconsistent", 5, ()),
    ("a boundary is not marked", without(2, "boundary"), "inconsistent", 2, ()),
    ("it begins elsewhere", removed(1), "absent", 2, ("seq 1",)),
    ("another run", data(1, run_id="run-x"), "inconsistent", 1, ()),
    ("another workflow", data(1, workflow="x"), "inconsistent", 1, ()),
    ("another version inside", data(1, standard_version="2.0"), "inconsistent", 1, ()),
    ("another format", record(0, format="workfile-history/9"), "unsupported_version", "header", ()),
    ("another version", record(0, standard_version="2.0"), "unsupported_version", "header", ()),
    ("no pins", without(0, "pins"), "absent", "header", ("pins",)),
    ("no definition", without(0, "definition", "pins"), "absent", "header", ("definition",)),
    (
        "a pin of another content",
        lambda parsed: parsed[0]["pins"]["content"].update({"0" * 64: 1}),
        "corrupt",
        "header",
        (),
    ),
    ("a strange lineage", record(0, lineage={"run": 1}), "inconsistent", "header", ()),
    ("a key of a header", record(0, more=1), "inconsistent", "header", ()),
]


@pytest.mark.requirement("R-GEN-02", "R-GEN-03", "R-GEN-04")
@pytest.mark.parametrize(
    ("change", "reason", "boundary", "missing"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_the_first_record_that_cannot_be_used_is_named(
    story: list[Json], change: Callable[[list[Json]], None], reason: str, boundary: Any, missing: tuple[str, ...]
) -> None:
    with pytest.raises(Refused) as caught:
        load(rechained(story, change))
    refusal = caught.value.refusal
    found = refusal.boundary if refusal.boundary == "header" else refusal.boundary["seq"]  # type: ignore[index]
    assert (refusal.reason, found, refusal.missing) == (reason, boundary, missing)
    assert str(caught.value).startswith("The history cannot be used")
    assert set(refusal.json()) == {"reason", "boundary", "missing", "message"}


@pytest.mark.requirement("R-GEN-03")
@pytest.mark.parametrize("number", [0, 1, 7])
def test_a_changed_value_is_corrupt(story: list[Json], number: int) -> None:
    changed = json.loads(json.dumps(story))
    changed[number]["run" if number == 0 else "path"] = "changed"
    with pytest.raises(Refused) as caught:
        load(changed)
    refusal = caught.value.refusal
    assert refusal.reason == "corrupt"
    assert refusal.boundary == "header" if number == 0 else refusal.boundary["seq"] == number  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"seq":1', "is not JSON"),
        (b'{"seq":1,"seq":2}', "twice"),
        (b'{"seq":NaN}', "is not a number"),
        (b"\xff", "is not JSON"),
        (b"[1]", "is not a record"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"seq":3}', "lacks its `digest`"),
    ],
)
def test_a_line_that_is_no_record(story: list[Json], text: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        read_history([json.dumps(each).encode() for each in story[:3]] + [text])
    assert caught.value.refusal.boundary["seq"] == 3  # type: ignore[index]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"{}", b"no", b'{"seq":1,"kind":"run.accepted"}'])
def test_a_file_without_a_header(text: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read_history([text])
    assert caught.value.refusal.boundary == "header"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read") as caught:
        load_history(str(tmp_path / "none.history.jsonl"))
    assert caught.value.refusal.reason == "absent"


def test_the_page_is_fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0
    other = tmp_path / "history.md"
    assert docs.main(["--check", str(other)]) == 1
    assert docs.main([str(other)]) == 0
    assert docs.main(["--check", str(other)]) == 0
    assert "`action.prepared`" in other.read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith("history.md is missing")


@pytest.mark.requirement("D-HIST-05")
def test_marks_of_a_dry_run_are_kept(folder: Path) -> None:
    simulation = played(folder, dry_run=True)
    history = load(lines(simulation))
    assert list(map(record_json, history.records)) == list(map(record_json, simulation.run.records))
    suppressed = next(each for each in history.records if each.kind == "action.suppressed")
    assert is_marked(suppressed.data["result"])
    exported = next(each for each in lines(simulation)[1:] if each["kind"] == "action.suppressed")
    assert list(exported["data"]["result"]) == ["$suppressed"]
    assert exported["data"]["kinds"]["/result"] == "suppressed"


@pytest.mark.requirement("D-HIST-12")
def test_retention_and_failure_guarantees_are_documented() -> None:
    text = (Path(docs.FILE).parent / "simulation.md").read_text(encoding="utf-8")
    promises = text.partition("## What the simulation promises")[2].partition("## Limits")[0]
    for word in ("**Durability.**", "**Retention.**", "**Failures.**", "append-only", "loss\nof power", "torn"):
        assert word in promises
