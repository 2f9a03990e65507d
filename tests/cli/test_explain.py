"""``workfile explain``."""

from __future__ import annotations

import json

from fake_engine import RULES


def test_a_rule_is_its_documentation(run):
    ran = run("explain", "bad-value")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == ("# bad-value\n\n*error, document.structure, can be fixed*\n\nWhat it finds, with `code`.\n")


def test_a_family_lists_its_rules(run):
    assert run("explain", "document.structure").out == (
        "document.structure\n"
        "  bad-value    E  What it finds | in short. (fixable)\n"
        "  unknown-key  E  What it finds | in short.\n"
    )


def test_without_a_rule_all_are_listed_by_family(run):
    out = run("explain").out
    families = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert families == sorted({rule.code for rule in RULES.values()})
    assert all(f"\n  {name} " in out for name in RULES)
    assert run("explain", "document").out == out


def test_json(run):
    document = json.loads(run("explain", "likely-wrong", "--format", "json").out)
    assert document == {
        "version": 1,
        "rules": [
            {
                "name": "likely-wrong",
                "code": "document.control",
                "severity": "warning",
                "summary": "What it finds | in short.",
                "fixable": False,
                "documentation": "# title\n\nWhat it finds, with `code`.\n",
            }
        ],
    }
    names = [rule["name"] for rule in json.loads(run("explain", "--format", "json").out)["rules"]]
    assert sorted(names) == sorted(RULES)


def test_an_unknown_rule_is_2_with_the_nearest(run):
    ran = run("explain", "bad-vlaue")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "workfile explain: error: there is no rule `bad-vlaue`. Did you mean `bad-value`?\n"
    assert run("explain", "zzzzzzzzzzzz").err.endswith("`workfile explain` lists the rules.\n")


def test_on_a_terminal_it_is_laid_out(run, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    out = run("explain", "bad-value").out
    assert "\x1b[" in out
    assert "`code`" not in out
    assert "\x1b[1mdocument.control\x1b[0m" in run("explain").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("explain", "bad-value").out.startswith("# bad-value\n")
