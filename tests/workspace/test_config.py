"""Configuration files (language page, section 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.language.vocabulary import PROFILES, TRIGGER_SOURCES
from analyzer.shown import shown_path
from analyzer.workspace.config import ConfigError, find_config, load_config, parse_profiles
from analyzer.workspace.project import project_for

FULL = """\
connectors = ["shared", "../outside"]

[connections.messaging]
names = ["eu", "us"]
default = "eu"

[connections.payments]
names = ["main"]

[target]
profiles = ["durable", "core"]
triggers = ["poll", "external"]

[check]
select = ["document.null"]
ignore = ["unused-input"]
exclude = ["examples/**"]

[check.per-file-ignores]
"old/*" = ["redo-unsafe", "no-route"]
"""


def test_everything_that_can_be_set(make: Any) -> None:
    root = make({"workfile.toml": FULL})
    config = load_config(str(root / "workfile.toml"))
    assert (config.path, config.root) == (str(root / "workfile.toml"), str(root))
    assert config.connections["messaging"].names == ("eu", "us")
    assert config.connections["messaging"].default == "eu"
    assert config.connections["payments"].default is None
    assert config.connectors == (str(root / "shared"), str(root.parent / "outside"))
    assert config.target.profiles == ("core", "durable")
    assert config.target.triggers == ("external", "poll")
    assert config.check.select == ("document.null",)
    assert config.check.exclude == ("examples/**",)
    assert config.check.per_file_ignores == {"old/*": ("redo-unsafe", "no-route")}


def test_an_empty_file_is_all_defaults(make: Any) -> None:
    config = load_config(str(make({"workfile.toml": "\ufeff# nothing\r\n"}) / "workfile.toml"))
    assert config.target.profiles == PROFILES
    assert config.target.triggers == TRIGGER_SOURCES
    assert (config.connections, config.connectors) == ({}, ())


def test_pyproject_has_the_same_settings(make: Any) -> None:
    text = '[project]\nname = "x"\n[tool.workfile]\nconnectors = ["c"]\n[tool.workfile.target]\nprofiles = ["core"]\n'
    root = make({"pyproject.toml": text})
    config = load_config(str(root / "pyproject.toml"))
    assert config.connectors == (str(root / "c"),)
    assert config.target.profiles == ("core",)


def test_the_fingerprint_is_that_of_what_is_said(make: Any) -> None:
    one = load_config(str(make({"workfile.toml": FULL}) / "workfile.toml")).fingerprint
    same = load_config(str(make({"workfile.toml": "# new\n" + FULL}) / "workfile.toml")).fingerprint
    other = load_config(str(make({"workfile.toml": FULL.replace("us", "uk")}) / "workfile.toml")).fingerprint
    assert one == same
    assert one != other


def test_the_nearest_one_counts_and_a_foreign_pyproject_is_passed_over(make: Any) -> None:
    root = make(
        {
            "workfile.toml": "",
            "a/pyproject.toml": "[tool.other]\n",
            "a/b/x": "",
            "c/pyproject.toml": "[tool.workfile]\n",
            "d/pyproject.toml": "[tool.workfile]\n",
            "d/workfile.toml": "",
            "e/pyproject.toml": "workfile = broken",
        }
    )
    for folder, expected in (
        ("a/b", "workfile.toml"),
        ("c", "c/pyproject.toml"),
        ("d", "d/workfile.toml"),
        ("e", "workfile.toml"),
    ):
        assert find_config(str(root / folder)) == str(root / expected)


def test_a_folder_called_like_a_configuration_is_passed_over(make: Any) -> None:
    root = make({"workfile.toml": "", "a/workfile.toml/x": ""})
    assert find_config(str(root / "a")) == str(root / "workfile.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[check", "is not TOML"),
        ("a = 5", "`a` is not a setting. Use"),
        ("[targt]", "Did you mean `target`?"),
        ("[check]\nexcludes = []", "`check.excludes` is not a setting. Did you mean `exclude`?"),
        ("[check]\nper_file_ignores = {}", "Did you mean `per-file-ignores`?"),
        ('[check]\nselect = "a"', "`check.select` must be a list of strings, but is a string"),
        ("[check]\nexclude = [1]", "a list with other things in it"),
        ("check = 5", "`check` must be a table, but is a number"),
        ('[check.per-file-ignores]\n"a" = "b"', "`check.per-file-ignores.a` must be a list"),
        ('[target]\nprofiles = ["durble"]', "Did you mean `durable`?"),
        ('[target]\nprofiles = ["core", "replay"]', "`replay` needs `durable`"),
        ('[target]\nprofiles = "core"', "must be a list of strings"),
        ('[target]\ntriggers = ["pol"]', "Did you mean `poll`?"),
        ("[connections]\nmessaging = []", "`connections.messaging` must be a table"),
        ("[connections.messaging]", "lists no connections"),
        ("[connections.messaging]\nnames = []", "lists no connections"),
        ('[connections.messaging]\nnames = ["eu"]\ndefault = "ue"', "Did you mean `eu`?"),
        ('[connections.messaging]\nnames = ["eu"]\ndefault = 5', "must be a string"),
        ('[connections.messaging]\nname = ["eu"]', "Did you mean `names`?"),
        ('[connections.messaging]\nnames = ["eu"]\nconnectors = ["x"]', "move `connectors` above the first table"),
        ('[connections."A B"]\nnames = ["eu"]', "not a connector's name"),
        ("a = " + "[" * 2000, "workfile.toml: it is n"),
    ],
)
def test_a_bad_configuration_is_one_line(make: Any, text: str, words: str) -> None:
    path = str(make({"workfile.toml": text}) / "workfile.toml")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"{shown_path(path)}: ")
    assert words in message
    assert "\n" not in message
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.workfile.check]\nselct = []", "`tool.workfile.check.selct` is not a setting"),
        ("[tool.workfile]\nfoo = 1", "`tool.workfile.foo` is not a setting. Use `connections`"),
        ("[tool]\nworkfile = 1", "`tool.workfile` must be a table, but is a number; write `[tool.workfile]`"),
        ("[tool.workfile]\ntarget = 1", "`tool.workfile.target` must be a table, but is a number; write `[tool.workf"),
        ("[tool.workfile.target]\nconnectors = []", "move `connectors` above the first table"),
    ],
)
def test_keys_of_pyproject_are_named_in_full(make: Any, text: str, words: str) -> None:
    path = str(make({"pyproject.toml": text}) / "pyproject.toml")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert words in str(caught.value)


def test_a_broken_pyproject_with_the_table_is_said(make: Any) -> None:
    root = make({"pyproject.toml": "[tool.workfile]\nconnectors = ["})
    with pytest.raises(ConfigError, match="this is not TOML"):
        find_config(str(root))


@pytest.mark.parametrize("data", [b"a = '\xff'", b"#" * 2_000_000])
def test_hostile_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "workfile.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError):
        load_config(str(path))


def test_a_configuration_that_may_not_be_read(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make({"workfile.toml": ""}) / "workfile.toml"

    def refuse(name: Any, *_rest: Any, **_more: Any) -> Any:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ConfigError, match="Permission denied"):
        load_config(str(path))


def test_profiles_of_a_call() -> None:
    assert parse_profiles(["durable"]) == ("core", "durable")
    assert parse_profiles([]) == ("core",)
    with pytest.raises(ConfigError, match="Did you mean `replay`"):
        parse_profiles(["core", "replya"])


@pytest.mark.parametrize(
    ("name", "head", "key"),
    [("workfile.toml", "", "connectors"), ("pyproject.toml", "[tool.workfile]\n", "tool.workfile.connectors")],
)
def test_a_connector_folder_that_is_not_there_is_a_fault_of_the_configuration(
    make: Any, monkeypatch: pytest.MonkeyPatch, name: str, head: str, key: str
) -> None:
    text = head + 'connectors = ["shared/conectors", "file", "../zzz", "."]\n'
    root: Path = make({name: text, "shared/connectors/a.connector.yaml": "", "file": ""})
    monkeypatch.chdir(root)
    expected = (
        f"{name}: `{key}` names `shared/conectors`, and there is no such folder. Did you mean `shared/connectors`?",
        f"{name}: `{key}` names `file`, which is not a folder. Correct it, or make the folder.",
        f"{name}: `{key}` names `../zzz`, and there is no such folder. Correct it, or make the folder.",
    )
    project = project_for(str(root / "a.workfile.yaml"))
    assert project.problems == expected
    (root / "shared" / "conectors").mkdir()  # the same project, as in an editor
    assert project.problems == expected[1:]
