"""Overlays only tighten (language page, section 8; rules manifest-invalid and overlay-widens)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.types import describe
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.manifests import Manifest, load_manifest
from analyzer.workspace.overlays import merge_overlay
from analyzer.workspace.widening import widenings

BASE = """\
connector: pay
version: "1"
actions:
  charge:
    effect: write
    idempotency: keyed
    input:
      type: object
      properties: { amount: { type: integer, minimum: 1, maximum: 100 }, note: { type: [string, "null"] } }
      required: [amount]
      additionalProperties: false
    output:
      type: object
      properties: { id: { type: string }, kind: { enum: [a, b] } }
      required: [id]
    errors: { busy: { retryable: true } }
  ping: { effect: write }
  free: { effect: read, input: { a: integer, b?: string } }
triggers:
  paid:
    source: external
    configuration: { type: object, properties: { region: { type: string } } }
    payload: { type: object, properties: { id: { type: string }, sum: { type: integer } }, required: [id, sum] }
    correlate_on: [id]
"""


def base() -> Manifest:
    manifest, problems = load_manifest(parse(Source(BASE)), "/x/pay.connector.yaml")
    assert manifest is not None
    assert not problems
    return manifest


def merge(text: str) -> tuple[Manifest, list[tuple[str, str, str]]]:
    tree = parse(Source(text))
    merged, problems = merge_overlay(base(), tree, "/x/eu.overlay.yaml")
    return merged, [(each.rule, tree.source.text[each.start : each.end], each.message) for each in problems]


def test_merges_map_by_map_and_replaces_lists_and_scalars() -> None:
    text = (
        "overlay: pay\n"
        "actions:\n"
        "  charge:\n"
        "    idempotency: none\n"
        "    input: { properties: { amount: { minimum: 10 } }, required: [amount, note] }\n"
        "    errors: { closed: { retryable: false }, busy: { retryable: false } }\n"
    )
    merged, problems = merge(text)
    assert problems == []
    charge = merged.actions["charge"]
    assert charge.idempotency == "none"
    assert describe(charge.input) == "{amount: integer, note: string?}"
    assert charge.raw["input"]["properties"]["amount"] == {"type": "integer", "minimum": 10, "maximum": 100}
    assert charge.errors == {"busy": False, "closed": False}
    assert charge.node.start == base().actions["charge"].node.start
    assert (merged.overlay_path, merged.path) == ("/x/eu.overlay.yaml", "/x/pay.connector.yaml")
    assert merged.overlay_raw is not None
    assert list(merged.actions) == ["charge", "ping", "free"]


@pytest.mark.parametrize(
    "change",
    [
        "charge: { input: { properties: { amount: { maximum: 50, multipleOf: 5 } } } }",
        "charge: { input: { properties: { amount: { enum: [5, 10] } } } }",
        "charge: { input: { properties: { note: { type: string } } } }",
        "charge: { output: { required: [id, kind], properties: { extra: { type: string } } } }",
        "charge: { output: { additionalProperties: false } }",
        "charge: { output: { properties: { kind: { enum: [a] } } } }",
        "charge: { idempotency: keyed, description: x }",
        "free: { effect: write }",
        "free: { input: { a: { type: integer, minimum: 1 } } }",
    ],
)
def test_tightening_is_fine(change: str) -> None:
    assert merge(f"overlay: pay\nactions: {{ {change} }}\n")[1] == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("charge: { idempotency: inherent }", "idempotency"),
        ("ping: { idempotency: keyed }", "idempotency"),
        ("ping: { effect: read }", "effect"),
        ("charge: { input: { properties: { amount: { minimum: 0 } } } }", "minimum"),
        ("charge: { input: { properties: { amount: { maximum: 101 } } } }", "maximum"),
        ("charge: { input: { properties: { amount: { type: number } } } }", "type"),
        ("charge: { input: { properties: { amount: { type: [integer, string] } } } }", "type"),
        ("charge: { input: { properties: { more: { type: string } } } }", "more"),
        ("charge: { input: { required: [] } }", "required"),
        ("charge: { input: { additionalProperties: true } }", "additionalProperties"),
        ("charge: { input: object }", "input"),
        ("charge: { output: { required: [] } }", "required"),
        ("charge: { output: { properties: { id: { type: [string, 'null'] } } } }", "type"),
        ("charge: { output: { properties: { kind: { enum: [a, b, c] } } } }", "enum"),
        ("ping: { output: string }", "output"),
        ("ping: { input: { a?: string } }", "a?"),
        ("free: { input: { c?: string } }", "c?"),
        ("free: { input: { a: number } }", "a"),
    ],
)
def test_widening_an_action_is_reported_at_the_overlay_s_key(change: str, place: str) -> None:
    problems = merge(f"overlay: pay\nactions: {{ {change} }}\n")[1]
    assert {(rule, where) for rule, where, _ in problems} == {("overlay-widens", place)}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("source: poll", "source"),
        ("correlate_on: [id, sum]", "correlate_on"),
        ("payload: { required: [id] }", "required"),
        ("payload: { properties: { sum: { type: number } } }", "type"),
    ],
)
def test_widening_a_trigger(change: str, place: str) -> None:
    problems = merge(f"overlay: pay\ntriggers: {{ paid: {{ {change} }} }}\n")[1]
    assert [(rule, where) for rule, where, _ in problems] == [("overlay-widens", place)]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "", "empty"),
        ("[a]", "[a]", "a list"),
        ("actions: {}", "", "lacks `overlay`"),
        ("overlay: play\n", "play", "Did you mean `pay`?"),
        ("overlay: messaging\n", "messaging", "that of `pay`"),
        ("connector: pay\n", "connector", "change the key"),
        ("overlay: 5\n", "overlay", "must be a connector's name"),
        ("overlay: pay\nactons: {}\n", "actons", "Did you mean `actions`?"),
        ("overlay: pay\nactions: { chrge: {} }\n", "chrge", "Did you mean `charge`?"),
        ("overlay: pay\nactions: { refund_all: { effect: read } }\n", "refund_all", "adds none"),
        ("overlay: pay\nactions: { charge: { idempotency: keyd } }\n", "keyd", "Did you mean `keyed`?"),
        ("overlay: pay\nactions: { charge: { efect: read } }\n", "efect", "not a key of an action"),
        ("overlay: pay\nactions: { charge: { input: { amount: { minimum: 5 } } } }\n", "amount", "under `properties`"),
        ("overlay: pay\nactions: { charge: 5 }\n", "5", "must be a map"),
        ("overlay: pay\ntriggers: { paid: { correlate_on: [nope] } }\n", "nope", "not a field of the payload"),
        (
            "overlay: pay\ntriggers: { paid: { payload: string } }\n",
            "overlay: pay\ntriggers: { paid: { payload: string } }",
            "With this overlay",
        ),
    ],
)
def test_faults_of_an_overlay_itself(text: str, place: str, words: str) -> None:
    problems = [each for each in merge(text)[1] if each[0] == "manifest-invalid"]
    assert [where for _, where, _ in problems] == [place]
    assert words in problems[0][2]


def test_faults_of_the_manifest_are_not_the_overlay_s() -> None:
    faulty = BASE.replace("effect: read", "effect: raed")
    manifest, problems = load_manifest(parse(Source(faulty)), "/x/pay.connector.yaml")
    assert manifest is not None
    assert len(problems) == 1
    assert merge_overlay(manifest, parse(Source("overlay: pay\nactions: { free: { effect: read } }")), "/x/o")[1] == []
    assert merge_overlay(manifest, parse(Source("overlay: pay\nactions: { ping: {} }")), "/x/o")[1] == []


def test_an_overlay_for_another_connector_changes_nothing() -> None:
    manifest = base()
    assert (
        merge_overlay(manifest, parse(Source("overlay: other\nactions: { ping: { effect: read } }")), "/o")[0]
        is manifest
    )


def test_widening_through_an_alias(read_manifest: Any) -> None:
    text = "overlay: pay\nactions:\n  ping: &more { input: { a?: string } }\n  charge: *more\n"
    rules = [rule for rule, _, _ in merge(text)[1]]
    assert "overlay-widens" in rules


CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": ["integer", "null"]}, "s": {"type": "string"}, "l": {"type": "array", "items": {}}},
    "additionalProperties": False,
}
NARROWINGS = {
    "minimum": lambda s: s["properties"]["n"].update(minimum=1),
    "maximum": lambda s: s["properties"]["n"].update(maximum=9),
    "multiple": lambda s: s["properties"]["n"].update(multipleOf=2),
    "no null": lambda s: s["properties"]["n"].update(type="integer"),
    "length": lambda s: s["properties"]["s"].update(maxLength=3),
    "words": lambda s: s["properties"]["s"].update(enum=["a", "b"]),
    "items": lambda s: s["properties"]["l"].update(items={"type": "string"}),
    "unique": lambda s: s["properties"]["l"].update(uniqueItems=True),
    "required": lambda s: s.update(required=["n"]),
    "fewer": lambda s: s["properties"].pop("s"),
}


@given(st.sets(st.sampled_from(sorted(NARROWINGS)), min_size=1))
def test_narrowing_is_seen_as_such_and_its_reverse_as_widening(chosen: set[str]) -> None:
    narrow = copy.deepcopy(CLOSED)
    for name in sorted(chosen - {"fewer"}) + sorted(chosen & {"fewer"}):
        NARROWINGS[name](narrow)
    assert list(widenings(CLOSED, narrow)) == []
    assert list(widenings(narrow, CLOSED)) != []
    assert list(widenings(narrow, narrow)) == []


def test_a_change_of_unknown_direction_is_not_reported() -> None:
    old = {"type": "string", "pattern": "^a", "if": {"minLength": 2}, "then": {"maxLength": 3}}
    assert list(widenings(old, {**old, "pattern": "^b", "if": {"minLength": 1}})) == []
