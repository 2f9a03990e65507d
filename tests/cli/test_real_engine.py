"""The command line with the real engine: that the two fit together; what is found is tested with the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from analyzer.driver import DEFAULT_ENGINE, known_rules

WORKFILE = """\
workfile: "1.0"
name: small
inputs:
  amount: integer
steps:
  - double:
      wf.let:
        value: "{{ inputs.amonut }}"
  - other:
      wf.let: { value: 1 }
      whne: true
result: "{{ double.value }}"
"""


@pytest.fixture
def real(folder, python_path):
    """Run ``python -m workfile_cli`` in the working directory."""

    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "workfile_cli", *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=60,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path},
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return call


def test_findings_cache_jobs_and_suppression(real, put):
    put("a.workfile.yaml", WORKFILE)
    put("b.workfile.yaml", WORKFILE.replace("name: small", "name: second"))
    code, out, err = real("check", "--format", "json", "--no-cache")
    found = [(f["path"], f["rule"], f["range"]["start"]["line"]) for f in json.loads(out)["findings"]]
    assert (code, err) == (1, "")
    assert ("a.workfile.yaml", "unknown-member", 8) in found
    assert ("b.workfile.yaml", "unknown-key", 11) in found
    assert real("check", "--format", "json") == (code, out, err)
    assert real("check", "--format", "json", "--jobs", "2") == (code, out, err)
    assert real("check", "--format", "json", "--jobs", "2", "--no-cache") == (code, out, err)
    member, key = "        value: ", "      whne: true"
    above = f"        # workfile: ignore[unknown-member]\n{member}"
    put("a.workfile.yaml", WORKFILE.replace(member, above).replace(key, f"{key} # workfile: ignore[unknown-key]"))
    code, out, _ = real("check", "--format", "json", "a.workfile.yaml")
    assert [f["rule"] for f in json.loads(out)["findings"] if f["severity"] == "error"] == []


def test_standard_input_without_a_name_is_compared_with_no_file(real, put):
    """Piping a file of the project into the check must not call that file a duplicate."""
    file = put("a.workfile.yaml", WORKFILE)
    _, out, _ = real("check", "--format", "json", "-", stdin=file.read_bytes())
    assert "duplicate-workflow" not in {f["rule"] for f in json.loads(out)["findings"]}
    named = ("check", "--format", "json", "-", "--stdin-filename", "b.workfile.yaml")
    _, out, _ = real(*named, stdin=file.read_bytes())
    assert "duplicate-workflow" in {f["rule"] for f in json.loads(out)["findings"]}


def test_what_the_layout_has_no_place_for(real, put):
    put("a.workfile.yaml", "x:  1\n? c\n: 2\n")
    code, out, err = real("format", "--check")
    assert (code, out) == (1, "")
    assert "a.workfile.yaml stays as it is: the layout has no place for what stands on line 2\n" in err


def test_a_configuration_fault(real, put):
    put("workfile.toml", "[chekc]\n")
    put("a.workfile.yaml", WORKFILE)
    code, out, err = real("check")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Did you mean `check`?" in err


def test_format_keeps_what_is_canonical(real, put):
    file = put("a.workfile.yaml", WORKFILE)
    assert real("format")[0] == 0
    once = file.read_text()
    assert real("format", "--check")[0] == 0
    assert file.read_text() == once


def test_every_rule_can_be_explained(run, monkeypatch):
    from workfile_cli import engine

    monkeypatch.setattr(engine, "ENGINE", DEFAULT_ENGINE)
    rules, families = known_rules(DEFAULT_ENGINE)
    assert {"redo-unsafe", "unknown-key", "unused-suppression"} <= set(rules)
    assert "document.control" in families
    for name in rules:
        ran = run("explain", name)
        assert (ran.code, ran.out.partition("\n")[0]) == (0, f"# {name}")


def test_a_connector_folder_that_is_not_there_is_said_once(real, put):
    put("a.workfile.yaml", WORKFILE)
    put("workfile.toml", 'connectors = ["conectors"]\n')
    put("connectors/x.connector.yaml", "connector: x\n")
    words = "workfile.toml: `connectors` names `conectors`, and there is no such folder. Did you mean `connectors`?"
    for call in (["check"], ["check", "--format", "json"], ["run", "a.workfile.yaml"], ["graph", "a.workfile.yaml"]):
        assert real(*call) == (2, "", f"workfile {call[0]}: error: {words}\n")
    code, out, _ = real("doctor")
    assert code == 1
    assert words in out
