"""Recorded runs in CI: ``workfile check --histories``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analyzer.workspace.project import forget_projects
from tests.sim.replay.shop import HISTORY, ORDER, record
from workfile_cli.group import cli
from workfile_cli.main import main


def check(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code, and the findings of the family."""
    forget_projects()
    done = CliRunner().invoke(cli, ["check", *arguments, "--no-cache", "--format", "json"], standalone_mode=False)
    assert done.exception is None, done.exception
    found = json.loads(done.stdout)["findings"]
    return done.return_value, [each for each in found if each["code"] == "document.replay"]


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "order.workfile.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.requirement("R-REV-05")
def test_a_changed_step_is_found_where_it_stands(folder: Path) -> None:
    assert check("order.workfile.yaml", "--histories", "histories") == (0, [])
    change(folder, 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    code, found = check("order.workfile.yaml", "--histories", "histories")
    assert (code, [each["rule"] for each in found]) == (1, ["history-diverges"])
    finding = found[0]
    assert (finding["path"], finding["range"]["start"]) == ("order.workfile.yaml", {"line": 6, "column": 15})
    assert "from record" in finding["message"]
    assert "`shop.charge` of the step `charge` was" in finding["message"]
    places = [(each["path"], each["message"]) for each in finding["related"]]
    assert places[0] == ("order.workfile.yaml", "the step")
    assert places[1][0] == HISTORY
    assert check("order.workfile.yaml") == (0, [])


def test_a_finding_is_suppressed_and_selected_like_any_other(folder: Path) -> None:
    suppression = "# workfile: ignore[history-diverges]"
    change(folder, 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    assert check("order.workfile.yaml", "--histories", "histories", "--ignore", "document.replay") == (0, [])
    change(folder, "{ n: 7 } }", f"{{ n: 7 }} }}  {suppression}")
    assert check("order.workfile.yaml", "--histories", "histories") == (0, [])
    assert check("order.workfile.yaml")[0] == 0


def test_a_child_workflow_is_held_against_its_callers_runs(folder: Path) -> None:
    path = folder / "tell.workfile.yaml"
    path.write_text(path.read_text().replace("- send:", "- send_it:"))
    code, found = check(".", "--histories", "histories")
    assert code == 1
    assert {each["path"] for each in found} == {"order.workfile.yaml", "tell.workfile.yaml"}
    own = next(each for each in found if each["path"] == "tell.workfile.yaml")
    assert "the step `send` is `send_it` now" in own["message"]


@pytest.mark.requirement("R-GEN-04")
def test_what_must_be_refused(folder: Path) -> None:
    text = (folder / HISTORY).read_bytes()
    (folder / "histories" / "broken.history.jsonl").write_bytes(text.replace(b'"attempt":1', b'"attempt":2'))
    (folder / "histories" / "empty.history.jsonl").write_bytes(b"")
    code, found = check("order.workfile.yaml", "--histories", "histories")
    assert code == 1
    assert {each["rule"] for each in found} == {"history-unusable"}
    places = {each["path"]: each for each in found}
    assert set(places) == {"order.workfile.yaml", "histories/empty.history.jsonl"}
    finding = places["order.workfile.yaml"]
    assert finding["range"]["start"] == {"line": 5, "column": 13}
    assert finding["related"][0]["path"] == "histories/broken.history.jsonl"
    assert "the digest of line" in finding["message"]


def test_faulty_files_and_folders(folder: Path) -> None:
    change(folder, "shop.look", "shop.lok")
    code, found = check("order.workfile.yaml", "--histories", "histories")
    assert (code, found) == (1, [])
    (folder / "order.workfile.yaml").write_text(ORDER)
    (folder / "none").mkdir()
    none = CliRunner().invoke(cli, ["check", "order.workfile.yaml", "--histories", "none"], standalone_mode=False)
    assert "there is no history" in str(none.exception), "a lost folder is no good answer"
    done = CliRunner().invoke(cli, ["check", "--histories", "nowhere"], standalone_mode=False)
    assert "there is no folder `nowhere`" in str(done.exception)


def test_many_that_diverge_at_one_place_are_counted(folder: Path) -> None:
    for number in range(2, 31):
        record(folder, number)
    change(folder, 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 70 }")
    _, found = check("order.workfile.yaml", "--histories", "histories", "--jobs", "1")
    assert len(found) == 21
    assert any("10 more recorded runs" in each["message"] for each in found)


def test_standard_input_is_held_against_them_too(folder: Path) -> None:
    assert folder.is_dir()
    text = ORDER.replace('shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    arguments = [
        "check",
        "-",
        "--stdin-filename",
        "order.workfile.yaml",
        "--histories",
        "histories",
        "--format",
        "json",
    ]
    forget_projects()
    done = CliRunner().invoke(cli, arguments, input=text, standalone_mode=False)
    assert [each["rule"] for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"] == [
        "history-diverges"
    ]


def test_a_baseline_keeps_what_other_calls_find(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: str) -> None:
        forget_projects()
        capsys.readouterr()
        assert main(["check", "order.workfile.yaml", "--baseline", "base.json", "--no-cache", *arguments]) == 0
        assert "gone since" not in capsys.readouterr().err

    (folder / "histories" / "empty.history.jsonl").write_bytes(b"")
    change(folder, 'shop.charge: { n: "{{ inputs.n }}" }', "shop.charge: { n: 7 }")
    call("--histories", "histories", "--write-baseline")
    before = (folder / "base.json").read_bytes()
    assert before.count(b'"count": 1') == before.count(b'"count"')
    assert b"history-diverges" in before
    assert b"history-unusable" in before
    for histories in (("--histories", "histories"), ()):
        call(*histories)
        call(*histories, "--write-baseline")
        assert (folder / "base.json").read_bytes() == before


@pytest.mark.requirement("R-CON-12")
def test_a_connector_of_another_version_is_told_by_all_that_ask_whether_a_run_goes_on(folder: Path) -> None:
    """Deciding anew comes out the same; a run under way does not go on with what the other version made."""
    connector = folder / "connectors" / "shop.connector.yaml"
    old = folder.parent / f"{folder.name}-old"
    shutil.copytree(folder, old)
    connector.write_text(connector.read_text().replace("version: 1.0.0", "version: 1.1.0"))
    code, found = check("order.workfile.yaml", "--histories", "histories")
    assert (code, [each["rule"] for each in found]) == (1, ["history-diverges"])
    assert "cannot go on under this file, from record" in found[0]["message"]
    assert "another version of a connector" in found[0]["message"]
    shown = invoked("impact", str(old / "order.workfile.yaml"), "order.workfile.yaml", "--histories", "histories")
    (told,) = shown["histories"]
    assert (told["class"], told["divergence"]["cause"]) == ("unsafe", "pins")
    connectors = [each for each in shown["changes"] if each["key"] == "connector shop"]
    assert [each["runs"] for each in connectors] == [[told["run"]]]
    done = CliRunner().invoke(cli, ["history", "reevaluate", "histories", "--definition", "order.workfile.yaml"])
    assert "1 history was made under another version of a connector" in done.stderr
    assert "1 compatible" in done.stdout
    assert invoked("continue", HISTORY, "--definition", "order.workfile.yaml")["invalidated"]["cause"] == "pins"


def test_an_overlay_that_comes_is_a_change_of_impact(folder: Path) -> None:
    old = folder.parent / f"{folder.name}-old"
    shutil.copytree(folder, old)
    (folder / "shop.overlay.yaml").write_text("overlay: shop\nactions: { charge: { description: paid } }\n")
    listed = "connectors: { shop: { manifest: connectors/shop.connector.yaml, overlay: shop.overlay.yaml } }\nsteps:"
    change(folder, "steps:", listed)
    shown = invoked("impact", str(old / "order.workfile.yaml"), "order.workfile.yaml", "--histories", "histories")
    (told,) = [each for each in shown["changes"] if each["key"] == "overlay shop"]
    assert (told["old"], len(told["runs"])) == (None, 1)


def invoked(*arguments: str) -> dict[str, Any]:
    """What ``workfile history`` prints as JSON."""
    forget_projects()
    done = CliRunner().invoke(cli, ["history", *arguments, "--format", "json"], standalone_mode=False)
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found
