"""The commands as they are called: JSON, text, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from analyzer.workspace.project import forget_projects
from sim_runtime.history.refusal import REASONS
from sim_runtime.replay.divergence import CAUSES
from sim_runtime.simulation import Changes, simulate
from tests.sim.replay.shop import HISTORY, MANIFEST, ORDER, record
from workfile_cli.group import cli
from workfile_cli.reports import schema


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["history", *arguments], standalone_mode=False, catch_exceptions=False)


def answer(*arguments: str) -> tuple[int, Any]:
    """The exit code and the report, which is what its schema says."""
    done = call(*arguments, "--format", "json")
    report = json.loads(done.stdout)
    assert [each.message for each in Draft202012Validator(schema(f"{arguments[0]}-report")).iter_errors(report)] == []
    return done.return_value, report


def edit(folder: Path, name: str, old: str, new: str) -> str:
    """Change a Workfile in a folder of its own; the path of the changed one."""
    text = (folder / name).read_text()
    assert old in text
    other = folder.parent / f"{folder.name}-edited"
    if not other.exists():
        (other / "connectors").mkdir(parents=True)
        (other / "workfile.toml").touch()
        (other / "connectors" / "shop.connector.yaml").write_text(MANIFEST)
        for each in ("order.workfile.yaml", "tell.workfile.yaml"):
            (other / each).write_text((folder / each).read_text())
    (other / name).write_text(text.replace(old, new))
    forget_projects()
    return str(other / name)


def test_reconstruct(folder: Path) -> None:
    code, found = answer("reconstruct", HISTORY)
    assert (code, found["status"], found["operation"]) == (0, "succeeded", "reconstruct")
    code, early = answer("reconstruct", HISTORY, "--at", "look")
    assert (code, early["status"], early["bindings"]) == (0, "running", {"look": {"ok": False}})
    code, again = answer("reconstruct", HISTORY, "--at", str(early["at"]["seq"]), "--since", "2")
    assert again["since"]["at"]["seq"] == 2
    assert {"at": "bindings.look", "before": None, "after": {"ok": False}} in again["since"]["changes"]
    text = call("reconstruct", HISTORY, "--at", "charge", "--since", "2").stdout
    assert "binding   charge" in text
    assert "changed since record 2" in text


def test_reevaluate_and_what_changed(folder: Path) -> None:
    code, found = answer("reevaluate", HISTORY)
    assert (code, found["histories"][0]["outcome"], found["histories"][0]["definition"]) == (0, "compatible", "pinned")
    changed = edit(folder, "order.workfile.yaml", 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    code, found = answer("reevaluate", HISTORY, "--definition", changed)
    entry = found["histories"][0]
    assert (code, entry["outcome"], entry["definition"], entry["refusal"]) == (1, "divergent", "other", None)
    assert (entry["divergence"]["path"], entry["divergence"]["cause"]) == ("charge", "arguments")
    assert entry["divergence"]["recorded"]["data"]["arguments"] == {"n": 1}
    assert entry["divergence"]["evaluated"]["data"]["arguments"] == {"n": 7}
    text = call("reevaluate", HISTORY, "--definition", changed).stdout
    assert f"{changed.rpartition('/')[2]}:6:15" in text
    assert "`shop.charge` of the step `charge` was" in text


@pytest.mark.requirement("R-REV-01")
def test_the_files_may_be_gone_and_the_child_may_be_another(folder: Path) -> None:
    child = edit(folder, "tell.workfile.yaml", "{{ inputs.n }}", "{{ inputs.n + 1 }}")
    for each in folder.glob("*.workfile.yaml"):
        each.unlink()
    (folder / "connectors" / "shop.connector.yaml").unlink()
    assert answer("reevaluate", HISTORY)[0] == 0
    code, found = answer("reevaluate", HISTORY, "--definition", child)
    assert code == 1
    assert found["histories"][0]["divergence"]["path"] == "tell/send"
    code, found = answer("continue", HISTORY, "--definition", child)
    assert (code, found["holds"]) == (1, [{"path": "tell/send", "reason": "unsafe_continuation"}])


def test_many_histories_and_folders(folder: Path) -> None:
    for number in range(2, 40):
        record(folder, number)
    (folder / "histories" / "broken.history.jsonl").write_bytes(b"{}\n")
    changed = edit(
        folder, "order.workfile.yaml", "shop.charge: {", "shop.charge: {".replace("{", "{ # at one value\n      ")
    )
    one, two = (answer("reevaluate", "histories", "--jobs", jobs, "--definition", changed) for jobs in ("1", "2"))
    assert one == two
    assert [each["path"] for each in one[1]["histories"]] == sorted(each["path"] for each in one[1]["histories"])
    assert sum(each["outcome"] == "compatible" for each in one[1]["histories"]) == 39
    assert one[1]["histories"][0]["refusal"]["reason"] in REASONS
    assert one[0] == 1
    assert "40 histories: 39 compatible, 0 divergent, 1 refused" in call("reevaluate", "histories").stdout


@pytest.mark.requirement("R-CON-02", "R-CON-08")
def test_the_same_run_goes_on(folder: Path) -> None:
    lines = (folder / HISTORY).read_bytes().splitlines(keepends=True)
    cut = next(at for at, line in enumerate(lines) if b'"run.suspended"' in line)
    (folder / "cut.history.jsonl").write_bytes(b"".join(lines[: cut + 1]))
    (folder / "live.scenario.yaml").write_text(
        "workfile: order.workfile.yaml\nevents: [ { at: 5m, deliver: shop.paid, payload: { id: x } } ]\n"
    )
    code, found = answer("continue", "cut.history.jsonl", "--scenario", "live.scenario.yaml", "-o", "on.history.jsonl")
    assert (code, found["status"], found["lineage"], found["invalidated"]) == (0, "succeeded", None, None)
    assert found["run"] == json.loads(lines[0])["run"]
    assert (found["calls"], found["effects"], found["discarded"]) == ([], [], [])
    assert found["clock"]["now"] == "2026-01-01T00:05:00Z"
    written = (folder / "on.history.jsonl").read_bytes().splitlines(keepends=True)
    assert written[: cut + 1] == lines[: cut + 1]
    assert json.loads(written[0])["pins"] == json.loads(lines[0])["pins"]
    assert (folder / "cut.history.jsonl").read_bytes() == b"".join(lines[: cut + 1])
    assert answer("reevaluate", "on.history.jsonl")[0] == 0


@pytest.mark.requirement("R-CON-03", "R-CON-05", "R-CON-07", "R-CON-11")
def test_a_successor_run(folder: Path) -> None:
    changed = edit(folder, "order.workfile.yaml", "timeout: 1h", "timeout: 2h")
    before = (folder / HISTORY).read_bytes()
    code, found = answer("continue", HISTORY, "--definition", changed, "-o", "next.history.jsonl")
    source = json.loads(before.splitlines()[0])
    assert (code, found["status"]) == (0, "succeeded")
    assert found["run"] != source["run"]
    assert found["lineage"]["run"] == source["run"]
    invalidated = found["invalidated"]
    assert (invalidated["kind"], invalidated["path"], invalidated["cause"]) == ("timer.set", "paid", "arguments")
    assert found["calls"] == []
    assert {"look", "charge", "tell/send"} <= {each["path"] for each in found["reused"]}
    assert max(each["seq"] for each in found["reused"]) < min(found["discarded"])
    lines = [json.loads(line) for line in (folder / "next.history.jsonl").read_bytes().splitlines()]
    assert lines[0]["lineage"] == found["lineage"]
    assert lines[0]["pins"]["definition"] != source["pins"]["definition"]
    noted = [each["data"]["source"] for each in lines[1:] if each["kind"] == "boundary.reused"]
    assert noted == [each["seq"] for each in found["reused"]]
    told = next(each["data"] for each in lines[1:] if each["kind"] == "boundary.invalidated")
    assert (told["source"], told["cause"], told["discarded"]) == (invalidated["seq"], "arguments", found["discarded"])
    assert (folder / HISTORY).read_bytes() == before
    assert answer("reevaluate", "next.history.jsonl")[0] == 0
    text = call("continue", HISTORY, "--definition", changed).stdout
    assert "follows" in text
    assert "invalid   record" in text
    again = answer("continue", "next.history.jsonl", "--definition", changed)[1]
    assert (again["lineage"]["run"], again["invalidated"]) == (found["run"], None)


def test_a_history_that_is_refused(folder: Path) -> None:
    (folder / "bad.history.jsonl").write_bytes((folder / HISTORY).read_bytes().replace(b'"n":1', b'"n":2', 1))
    for operation in ("reconstruct", "continue"):
        code, found = answer(operation, "bad.history.jsonl")
        assert code == 1
        assert set(found) == {"version", "operation", "outcome", "refusal"}
        assert (found["operation"], found["outcome"], found["refusal"]["reason"]) == (operation, "refused", "corrupt")
        assert found["refusal"]["boundary"]["seq"] == 1
        assert call(operation, "bad.history.jsonl").return_value == 1
    code, found = answer("reevaluate", "bad.history.jsonl", HISTORY)
    assert (code, [each["outcome"] for each in found["histories"]]) == (1, ["refused", "compatible"])


@pytest.mark.parametrize("operation", ["reconstruct", "reevaluate", "continue"])
def test_a_file_that_is_not_there_is_a_call_that_cannot_be_carried_out(
    operation: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from workfile_cli.main import main

    assert main(["history", operation, "nowhere.history.jsonl", "--format", "json"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "nowhere.history.jsonl" in said.err


def test_calls_that_cannot_be_carried_out(folder: Path) -> None:
    import click

    (folder / "live.scenario.yaml").write_text("workfile: x\nactions: { shop.nothing: { succeed: {} } }\n")
    for arguments in (
        ("reconstruct", HISTORY, "--at", "nowhere"),
        ("reconstruct", HISTORY, "--at", "0"),
        ("continue", HISTORY, "-o", HISTORY),
        ("reevaluate", "nowhere"),
        ("reevaluate",),
        ("impact", "order.workfile.yaml", "tell.workfile.yaml"),
        ("reevaluate", "empty"),
        ("impact", "order.workfile.yaml", "order.workfile.yaml", "--histories", "empty"),
    ):
        with pytest.raises(click.UsageError):
            call(*arguments)
    assert call("continue", HISTORY, "--scenario", "live.scenario.yaml").return_value == 2
    assert call("continue", HISTORY, "--scenario", "nowhere.yaml").return_value == 2
    assert call("reevaluate", HISTORY, "--definition", "nowhere.workfile.yaml").return_value == 2
    (folder / "order.workfile.yaml").write_text(ORDER.replace("shop.look", "shop.lok"))
    forget_projects()
    assert call("reevaluate", HISTORY, "--definition", "order.workfile.yaml").return_value == 1


def test_impact(folder: Path) -> None:
    changed = edit(folder, "order.workfile.yaml", "name: order", "name: order\ndescription: other words")
    code, found = answer("impact", "order.workfile.yaml", changed, "--histories", "histories")
    assert (code, found["class"]) == (0, "compatible")
    assert [each["class"] for each in found["changes"]] == ["compatible"]
    assert [each["class"] for each in found["histories"]] == ["compatible"]
    changed = edit(folder, "order.workfile.yaml", 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    code, found = answer("impact", "order.workfile.yaml", changed, "--histories", "histories")
    assert (code, found["class"], found["changes"][0]["path"]) == (1, "unsafe", "charge")
    assert found["changes"][0]["line"] == 6
    assert found["changes"][0]["runs"] == [found["histories"][0]["run"]]
    assert found["histories"][0]["holds"]
    changed = edit(folder, "order.workfile.yaml", "timeout: 1h", "timeout: 2h")
    code, found = answer("impact", "order.workfile.yaml", changed, "--histories", "histories")
    assert (code, found["class"], found["changes"][0]["point"]) == (1, "successor", "paid")
    assert "successor" in call("impact", "order.workfile.yaml", changed, "--histories", "histories").stdout
    assert "nothing differs" in call("impact", "order.workfile.yaml", "order.workfile.yaml").stdout


def test_impact_on_runs_under_way(folder: Path) -> None:
    """A run that is over is told as one, and left out when only those under way are asked for."""
    until = simulate("order.workfile.yaml", changes=Changes(inputs={"n": 3}, until_us=1_800_000_000))
    (folder / "histories" / "waits.history.jsonl").write_text("".join(until.history_lines()))
    changed = edit(folder, "order.workfile.yaml", 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    whole = ("impact", "order.workfile.yaml", changed, "--histories", "histories")
    code, found = answer(*whole)
    assert (code, [each["status"] for each in found["histories"]]) == (1, ["succeeded", "suspended"])
    code, found = answer(*whole, "--under-way")
    assert (code, [each["path"] for each in found["histories"]]) == (1, ["histories/waits.history.jsonl"])
    assert "1 unsafe of 1 run\n" in call(*whole, "--under-way").stdout
    (folder / "histories" / "waits.history.jsonl").unlink()
    assert answer(*whole, "--under-way")[0] == 0


def test_paths_are_relative_wherever_the_histories_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "below").mkdir()
    changed = edit(folder, "order.workfile.yaml", "timeout: 1h", "timeout: 2h")
    monkeypatch.chdir(folder / "below")
    for told in (
        call("reevaluate", "../histories", "--definition", changed).stdout,
        call("reevaluate", "../histories", "--format", "json").stdout,
        call("impact", "../order.workfile.yaml", changed, "--histories", "../histories").stdout,
        call("impact", "../order.workfile.yaml", changed, "--histories", "../histories", "--format", "json").stdout,
    ):
        assert str(folder) not in told
        assert "../histories/" in told


@pytest.mark.requirement("R-GEN-01")
def test_the_bare_word_names_no_operation() -> None:
    """Interfaces say which of the three is meant: no command, option or JSON value is called by the shorthand."""
    names = [*cli.get_command(None, "history").commands]  # type: ignore[arg-type, union-attr]
    assert {"reconstruct", "reevaluate", "continue"} <= set(names)
    assert "replay" not in names
    assert "replay" not in CAUSES
    page = (Path(__file__).resolve().parents[3] / "docs" / "replay.md").read_text(encoding="utf-8")
    assert "three operations" in page
    for word in ("reconstruct", "reevaluate", "continue"):
        assert f"workfile history {word}" in page
