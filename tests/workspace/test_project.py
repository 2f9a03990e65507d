"""Projects: documents, connectors, the workflow index, dependencies (language page, sections 1, 5, 8)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.syntax.nodes import Entry, Mapping
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.documents import MAX_FILE_BYTES
from analyzer.workspace.project import ConnectorResult, Project, project_for


def manifest(name: str) -> str:
    return f"connector: {name}\nactions: {{ ping: {{ effect: write }} }}\n"


def listed(text: str) -> Entry:
    root = parse(Source(f"c: {text}\n")).root
    assert isinstance(root, Mapping)
    return root.entries[0]


def look(root: Path, name: str, entry: str | None = None, workfile: str = "w.workfile.yaml") -> ConnectorResult:
    path = str(root / workfile)
    return project_for(path).connector(path, name, None if entry is None else listed(entry))


def project_of(root: Path) -> Project:
    return project_for(str(root / "w.workfile.yaml"))


def test_one_project_for_each_root(make: Any) -> None:
    root = make({"workfile.toml": "", "a/b/x": "", "c/pyproject.toml": "[tool.workfile]"})
    one = project_for(str(root / "a" / "b" / "w.workfile.yaml"))
    assert one is project_for(str(root / "other.yaml"))
    assert one.root == str(root)
    assert project_for(str(root / "c" / "x.yaml")).root == str(root / "c")


def test_without_configuration_the_folder_is_the_root(make: Any) -> None:
    root = make({"a/x": "", "b/x": ""})
    assert project_for(str(root / "a" / "w.yaml")).root == str(root / "a")
    assert project_for(str(root / "b" / "w.yaml")).root == str(root / "b")


def test_a_bad_configuration_is_a_problem_of_the_project(make: Any) -> None:
    root = make({"workfile.toml": "[check]\nselct = []", "a/x": ""})
    one = project_for(str(root / "a" / "w.yaml"))
    assert one.root == str(root)
    assert len(one.problems) == 1
    assert "Did you mean `select`?" in one.problems[0]
    assert one is project_for(str(root / "w.yaml"))


def test_documents_are_read_once_until_they_change(make: Any) -> None:
    root = make({"w.workfile.yaml": "name: a\n"})
    path = str(root / "w.workfile.yaml")
    project = project_for(path)
    first = project.document(path)
    assert first is not None
    assert (first.text, first.tree.problems) == ("name: a\n", [])
    Path(path).write_text("name: b\n")
    assert project.document(path) is first
    project.invalidate(path)
    second = project.document(path)
    assert second is not None
    assert second.text == "name: b\n"
    assert second.digest != first.digest


def test_unsaved_text_wins(make: Any) -> None:
    root = make({"w.workfile.yaml": "name: a\n"})
    path = str(root / "w.workfile.yaml")
    project = project_for(path)
    assert list(project.workflows()) == ["a"]
    project.overlay_text(path, "name: unsaved\n")
    document = project.document(path)
    assert document is not None
    assert document.text == "name: unsaved\n"
    assert list(project.workflows()) == ["unsaved"]
    project.overlay_text(path, None)
    assert list(project.workflows()) == ["a"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("nope.yaml", "no such file"), ("folder", "a folder"), ("pipe", "not a regular file"), ("a\0b", "cannot be read")],
)
def test_what_cannot_be_read_is_said(make: Any, name: str, words: str) -> None:
    root = make({"folder/x": ""})
    os.mkfifo(root / "pipe")
    project = project_of(root)
    path = f"{root}/{name}"
    assert project.document(path) is None
    assert words in project.unreadable(path)


def deny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let opening any file fail for want of permission, which real modes do not do for the superuser."""

    def refuse(path: Any, *_rest: Any, **_more: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refuse)


def test_permission_denied(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make({"w.workfile.yaml": "name: a\n", "connectors/c.connector.yaml": manifest("c")})
    project = project_of(root)
    deny(monkeypatch)
    assert project.document(str(root / "w.workfile.yaml")) is None
    assert "permissions" in project.unreadable(str(root / "w.workfile.yaml"))
    assert project.workflows() == {}
    result = look(root, "c")
    assert (result.manifest, result.problems_exist) == (None, False)
    assert "permissions" in result.reason


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x00\xff\xfe\xfa" * 50, b"\xff\xfen\x00a\x00", b"name: \xe4\n"])
def test_binary_files_are_one_problem(make: Any, data: bytes) -> None:
    root = make({"w.workfile.yaml": data, "connectors/c.connector.yaml": data})
    document = project_of(root).document(str(root / "w.workfile.yaml"))
    assert document is not None
    assert document.tree.root is None
    assert [each.rule for each in document.tree.problems] == ["yaml-syntax"]
    result = look(root, "c")
    assert result.manifest is None
    assert result.problems_exist


def test_a_file_past_the_bound_is_one_problem(make: Any) -> None:
    root = make({})
    path = root / "w.workfile.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 10)
    document = project_of(root).document(str(path))
    assert document is not None
    assert document.data == b""
    assert [each.rule for each in document.tree.problems] == ["limit-exceeded"]


def test_connectors_are_looked_up_beside_the_file_and_at_the_root(make: Any) -> None:
    root = make(
        {
            "workfile.toml": "",
            "connectors/a.connector.yaml": manifest("a"),
            "connectors/both.connector.yaml": manifest("both"),
            "sub/connectors/both.connector.yaml": manifest("both"),
            "sub/connectors/odd-file.connector.yaml": "# c\n" + manifest("named"),
        }
    )
    workfile = "sub/w.workfile.yaml"
    assert look(root, "a", workfile=workfile).path == str(root / "connectors/a.connector.yaml")
    assert look(root, "both", workfile=workfile).path == str(root / "sub/connectors/both.connector.yaml")
    assert look(root, "named", workfile=workfile).path == str(root / "sub/connectors/odd-file.connector.yaml")
    missing = look(root, "none", workfile=workfile)
    assert (missing.manifest, missing.problems_exist) == (None, False)
    assert missing.reason == "There is no `none.connector.yaml` in `sub/connectors` or `connectors`."
    assert project_of(root).connector_names(str(root / workfile)) == ["a", "both", "named"]


def test_configured_folders_are_the_only_ones(make: Any) -> None:
    root = make(
        {
            "workfile.toml": 'connectors = ["shared", "../outside"]\n',
            "connectors/a.connector.yaml": manifest("a"),
            "shared/b.connector.yaml": manifest("b"),
            "../outside/c.connector.yaml": manifest("c"),
        }
    )
    assert look(root, "a").manifest is None
    assert look(root, "b").manifest is not None
    assert look(root, "c").manifest is not None
    assert look(root, "c", "../outside/c.connector.yaml").manifest is not None


def test_a_file_named_for_one_connector_that_is_another_s(make: Any) -> None:
    root = make({"connectors/a.connector.yaml": manifest("b")})
    assert look(root, "a").reason.startswith("There is no `a.connector.yaml`")
    assert look(root, "b").path == str(root / "connectors/a.connector.yaml")
    listed_result = look(root, "a", "connectors/a.connector.yaml")
    assert listed_result.reason == "`connectors/a.connector.yaml` is the manifest of `b`, not of `a`."


def test_listed_manifests_and_overlays(make: Any) -> None:
    root = make(
        {
            "m/x.connector.yaml": manifest("c"),
            "m/o.overlay.yaml": "overlay: c\nactions: { ping: { description: here } }\n",
            "m/bad.overlay.yaml": "overlay: c\nactions: { ping: { idempotency: keyed } }\n",
        }
    )
    plain = look(root, "c", "m/x.connector.yaml").manifest
    assert plain is not None
    assert plain.actions["ping"].doc is None
    result = look(root, "c", "{ manifest: ./m/x.connector.yaml, overlay: m/o.overlay.yaml }")
    assert result.manifest is not None
    assert result.manifest.actions["ping"].doc == "here"
    assert not result.problems_exist
    assert look(root, "c", "{ manifest: m/x.connector.yaml, overlay: m/bad.overlay.yaml }").problems_exist
    missing = look(root, "c", "{ manifest: m/x.connector.yaml, overlay: m/none.overlay.yaml }")
    assert (missing.manifest, missing.part) == (None, "overlay")
    assert "no such file" in missing.reason


def test_nothing_outside_the_root_is_read(make: Any) -> None:
    root = make({"workfile.toml": "", "../outside/c.connector.yaml": manifest("c")})
    (root / "connectors").mkdir()
    (root / "connectors" / "c.connector.yaml").symlink_to(root.parent / "outside" / "c.connector.yaml")
    for path in (
        "../outside/c.connector.yaml",
        str(root.parent / "outside/c.connector.yaml"),
        "connectors/c.connector.yaml",
    ):
        with project_of(root).trace() as trace:
            result = look(root, "c", path)
        assert result.manifest is None
        assert f"is outside `{root}`" in result.reason
        assert trace.paths == set()


def test_a_link_out_of_the_default_folder_is_not_followed(make: Any) -> None:
    root = make({"workfile.toml": "", "../outside/c.connector.yaml": manifest("c")})
    (root / "connectors").symlink_to(root.parent / "outside")
    assert look(root, "c").manifest is None


def test_without_configuration_manifests_may_be_named_anywhere_and_nothing_else(make: Any) -> None:
    root = make({"../outside/c.connector.yaml": manifest("c"), "../outside/secrets.yaml": manifest("c")})
    assert look(root, "c", "../outside/c.connector.yaml").manifest is not None
    refused = look(root, "c", "../outside/secrets.yaml")
    assert refused.manifest is None
    assert "is outside" in refused.reason


def test_a_faulty_manifest_is_reported_in_its_own_file(make: Any) -> None:
    root = make({"connectors/c.connector.yaml": "connector: c\nactions: { ping: { effect: wrte } }\n"})
    result = look(root, "c")
    assert result.problems_exist
    assert result.manifest is not None
    path = str(root / "connectors/c.connector.yaml")
    assert [each.rule for each in project_of(root).manifest_problems(path)] == ["manifest-invalid"]


def test_non_string_keys_of_manifests(make: Any) -> None:
    text = "connector: c\nactions: { ping: { effect: read, errors: { 404: { retryable: true } } } }\n"
    root = make({"connectors/c.connector.yaml": text})
    problems = project_of(root).manifest_problems(str(root / "connectors/c.connector.yaml"))
    assert [(each.rule, text[each.start : each.end]) for each in problems] == [("non-string-key", "404")]


@pytest.mark.parametrize(
    ("overlay", "base"),
    [
        ("connectors/x.overlay.yaml", "connectors/c.connector.yaml"),
        ("overlays/x.overlay.yaml", "connectors/c.connector.yaml"),
        ("x.overlay.yaml", "connectors/other.connector.yaml"),
        ("connectors/prod/x.overlay.yaml", "connectors/c.connector.yaml"),
        ("deep/down/x.overlay.yaml", "far/away/c.connector.yaml"),
    ],
)
@pytest.mark.parametrize("configuration", [True, False])
def test_an_overlay_is_checked_against_its_manifest(make: Any, overlay: str, base: str, configuration: bool) -> None:
    text = "overlay: c\nactions: { ping: { idempotency: keyed } }\n"
    workfile = f"name: w\nconnectors: {{ c: {{ manifest: {base}, overlay: {overlay} }} }}\n"
    files = {overlay: text, base: manifest("c"), "w.workfile.yaml": workfile}
    root = make({**files, "workfile.toml": ""} if configuration else files)
    path = str(root / overlay)
    problems = project_for(path).manifest_problems(path)
    if "deep" in overlay and not configuration:
        assert problems == ()  # the Workfile that pairs them is not under the overlay's own folder
    else:
        assert [each.rule for each in problems] == ["overlay-widens"]


def test_an_overlay_of_a_mistyped_connector(make: Any) -> None:
    root = make({"connectors/payments.connector.yaml": manifest("payments"), "x.overlay.yaml": "overlay: paymnts\n"})
    problems = project_of(root).manifest_problems(str(root / "x.overlay.yaml"))
    assert "Did you mean `payments`?" in problems[0].message


def test_connections(make: Any) -> None:
    root = make({"workfile.toml": '[connections.c]\nnames = ["a", "b"]\n'})
    declared = project_of(root).connections("c")
    assert declared is not None
    assert declared.names == ("a", "b")
    assert project_of(root).connections("d") is None


def test_the_index_holds_every_workfile_under_the_root(make: Any) -> None:
    root = make(
        {
            "workfile.toml": "",
            "b.workfile.yaml": "workfile: '1.0'\nname: same\n",
            "a/a.workfile.yml": '# c\r\nname: "same" # d\r\nsteps: []\r\n',
            "a/Workfile": "\ufeff{name: flow, steps: []}\n",
            "c.workfile.yaml": "description: |\n  name: no\nname: late\n",
            "d.workfile.yaml": "name: 5\n",
            "e.workfile.yaml": "steps: [\n",
            "plain.yaml": "name: plain\n",
            "inner/workfile.toml": "",
            "inner/f.workfile.yaml": "name: inner\n",
            ".git/g.workfile.yaml": "name: hidden\n",
        }
    )
    (root / "link.workfile.yaml").symlink_to(root / "c.workfile.yaml")
    (root / "a" / "up").symlink_to(root)
    index = project_of(root).workflows()
    assert {name: [os.path.relpath(each, root) for each in paths] for name, paths in index.items()} == {
        "flow": ["a/Workfile"],
        "late": ["c.workfile.yaml"],
        "same": ["a/a.workfile.yml", "b.workfile.yaml"],
    }
    assert list(index) == sorted(index)


def test_the_index_follows_changes(make: Any) -> None:
    root = make({"a.workfile.yaml": "name: a\n", "b.workfile.yaml": "name: b\n"})
    project = project_of(root)
    before = project.index_fingerprint
    (root / "a.workfile.yaml").write_text("name: a\nsteps: []\n")
    project.invalidate(str(root / "a.workfile.yaml"))
    assert project.index_fingerprint == before
    (root / "a.workfile.yaml").write_text("name: c\n")
    project.invalidate(str(root / "a.workfile.yaml"))
    assert list(project.workflows()) == ["b", "c"]
    assert project.index_fingerprint != before
    (root / "b.workfile.yaml").unlink()
    project.invalidate(str(root / "b.workfile.yaml"))
    assert list(project.workflows()) == ["c"]
    (root / "sub").mkdir()
    (root / "sub" / "n.workfile.yaml").write_text("name: n\n")
    project.invalidate(str(root / "sub" / "n.workfile.yaml"))
    assert list(project.workflows()) == ["c", "n"]


def test_connectors_follow_changes(make: Any) -> None:
    root = make({"connectors/c.connector.yaml": manifest("c")})
    project = project_of(root)
    assert look(root, "d").manifest is None
    new = root / "connectors" / "d.connector.yaml"
    new.write_text(manifest("d"))
    project.invalidate(str(new))
    assert look(root, "d").manifest is not None
    new.write_text(manifest("d").replace("ping", "pong"))
    project.invalidate(str(new))
    found = look(root, "d").manifest
    assert found is not None
    assert list(found.actions) == ["pong"]
    new.unlink()
    project.invalidate(str(new))
    assert look(root, "d").manifest is None


def test_a_listed_manifest_of_any_name_follows_changes(make: Any) -> None:
    root = make({"pay.yaml": manifest("c")})
    assert look(root, "c", "pay.yaml").manifest is not None
    (root / "pay.yaml").write_text(manifest("other"))
    project_of(root).invalidate(str(root / "pay.yaml"))
    assert look(root, "c", "pay.yaml").manifest is None


def test_a_trace_names_all_that_an_answer_depends_on(make: Any) -> None:
    root = make({"connectors/c.connector.yaml": manifest("c"), "w.workfile.yaml": "name: w\n"})
    project = project_of(root)
    for _ in range(2):  # the second time from memory
        with project.trace() as outer, project.trace() as inner:
            look(root, "c")
            look(root, "none")
        assert outer.paths == inner.paths == {str(root / "connectors"), str(root / "connectors/c.connector.yaml")}
        assert not outer.reads_index
    with project.trace() as trace:
        project.workflows()
    assert trace.reads_index
    assert trace.paths == set()
    with project.trace() as again:
        project.replay(outer)
    assert again.paths == outer.paths


def test_calls_and_places_of_names(make: Any) -> None:
    text = "name: w\nsteps:\n  - a: { wf.call: other }\n  - b: { wf.call: '{{ x }}' }\n  - c: { wf.call: other }\n"
    root = make({"w.workfile.yaml": text, "v.workfile.yaml": "name: v\n"})
    project = project_of(root)
    assert project.calls_of(str(root / "w.workfile.yaml")) == ("other",)
    assert project.calls_of(str(root / "v.workfile.yaml")) == ()
    place = project.name_place(str(root / "w.workfile.yaml"))
    assert text[place.start : place.end] == "w"
    assert place.path == str(root / "w.workfile.yaml")


def test_two_hundred_files_share_what_they_use(make: Any) -> None:
    names = ("a", "b", "c")
    root = make({f"connectors/{name}.connector.yaml": manifest(name) for name in names})
    for number in range(200):
        (root / f"{number}.workfile.yaml").write_text(f"workfile: '1.0'\nname: w{number}\nsteps: []\n")
    started = time.process_time()
    loaded = set()
    for number in range(200):
        path = str(root / f"{number}.workfile.yaml")
        project = project_for(path)
        loaded.update(id(project.connector(path, name, None).manifest) for name in names)
        assert len(project.workflows()) == 200
    assert len(loaded) == len(names)
    assert time.process_time() - started < 1.5
