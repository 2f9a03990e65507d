"""Connector manifests (language page, section 8; rule manifest-invalid)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.types import describe
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.manifests import load_manifest

MESSAGING = """\
connector: messaging
version: 1.4.0
actions:
  request_approval:
    description: Ask a person.
    effect: write
    idempotency: keyed
    input:
      type: object
      properties: { request_id: {type: string} }
      required: [request_id]
      additionalProperties: false
    output: { type: object, properties: { message_id: {type: string} }, required: [message_id] }
    errors: { rate_limited: { retryable: true }, unknown_channel: { retryable: false } }
  look: { effect: read, input: { channel: string } }
  post: { effect: write }
triggers:
  approval:
    source: external
    configuration: { type: object, properties: { channel: {type: string} }, required: [channel] }
    payload:
      type: object
      properties: { request_id: {type: string}, approved: {type: boolean} }
      required: [request_id]
    correlate_on: [request_id]
  tick: { source: schedule }
"""


def test_a_sound_manifest(read_manifest: Any) -> None:
    read = read_manifest(MESSAGING)
    assert read.faults == []
    manifest = read.sound
    assert (manifest.connector, manifest.version, manifest.path) == ("messaging", "1.4.0", "/x/a.connector.yaml")
    ask, look, post = (manifest.actions[name] for name in ("request_approval", "look", "post"))
    assert (ask.effect, ask.idempotency, ask.idempotency_declared, ask.doc) == ("write", "keyed", True, "Ask a person.")
    assert ask.errors == {"rate_limited": True, "unknown_channel": False}
    assert ask.output is not None
    assert describe(ask.output) == "{message_id: string}"
    assert ask.raw["idempotency"] == "keyed"
    assert (look.effect, look.idempotency, look.idempotency_declared) == ("read", "inherent", False)
    assert describe(look.input) == "{channel: string}"
    assert (post.idempotency, post.output, post.input.closed) == ("none", None, True)
    approval = manifest.triggers["approval"]
    assert (approval.source, approval.correlate_on) == ("external", ("request_id",))
    assert describe(approval.payload) == "{request_id: string, approved?: boolean}"
    assert manifest.triggers["tick"].payload.kind == "any"
    assert manifest.triggers["tick"].configuration.closed


FRAME = "connector: c\nactions:\n  a:\n    effect: write\n{}\ntriggers:\n  t:\n    source: external\n{}\n"


@pytest.mark.parametrize(
    ("action", "trigger", "place", "words"),
    [
        ("    idempotency: keyd", "", "keyd", "Did you mean `keyed`?"),
        ("    idempotency: true", "", "true", "must be one of"),
        ("    outptu: string", "", "outptu", "Did you mean `output`?"),
        ("    retry: 5", "", "retry", "not a key of an action"),
        ("    input: string", "", "string", "must be a type of kind object"),
        ("    input: { type: [object, 'null'] }", "", "{ type: [object, 'null'] }", "kind object"),
        ("    input: { a: strng }", "", "strng", "Did you mean `string`?"),
        ("    input:", "", "input", "must be a type"),
        ("    output: { type: objct }", "", "objct", "Did you mean `object`?"),
        ("    errors: [a]", "", "[a]", "map of failure codes"),
        ("    errors: { a: true }", "", "true", "must be `{ retryable"),
        ("    errors: { a: {} }", "", "a", "does not say"),
        ("    errors: { a: { retryable: 'yes' } }", "", "'yes'", "true or false"),
        ("    errors: { a: { retriable: true } }", "", "retriable", "Did you mean `retryable`?"),
        ("    errors: { a b: { retryable: true } }", "", "a b", "one word"),
        ("    description: [a]", "", "[a]", "must be a string"),
        ("", "    correlate_on: [x]", "x", "not a field of the payload"),
        ("", "    payload: { ab: string }\n    correlate_on: [ac]", "ac", "Did you mean `ab`?"),
        ("", "    payload: { ab: string }\n    correlate_on: [ab, ab]", "ab", "appears twice"),
        ("", "    payload: { ab: string }\n    correlate_on: ab", "ab", "must be a list"),
        ("", "    payload: { ab: string }\n    correlate_on: [5]", "5", "lists names"),
        ("", "    configuration: list[string]", "list[string]", "A configuration is a map"),
        ("", "    sorce: poll", "sorce", "not a key of a trigger"),
    ],
)
def test_each_fault_is_one_finding(read_manifest: Any, action: str, trigger: str, place: str, words: str) -> None:
    read = read_manifest(FRAME.format(action, trigger))
    assert [found for found, _ in read.faults] == [place]
    assert words in read.faults[0][1]
    assert {each.rule for each in read.problems} == {"manifest-invalid"}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "", "empty"),
        ("[a]", "[a]", "but this is a list"),
        ("actions: {}", "", "lacks `connector`"),
        ("conector: a\nactions: {}", "conector", "Did you mean `connector`?"),
        ("connector: a\naction: {}", "action", "Did you mean `actions`?"),
        ("connector: A b\nactions: {}", "A b", "not a connector's name"),
        ("connector: wf\nactions: {}", "wf", "language's own prefix"),
        ("connector: a\nversion: 1.4\nactions: {}", "1.4", 'Quote it: `"1.4"`'),
        ("connector: a\nactions: [b]", "[b]", "map of action names"),
        ("connector: a\nactions: { b: 5 }", "5", "must be a map"),
        ("connector: a\nactions:\n  b:\n", "b", "must be a map"),
        ("connector: a\nactions: { b: {} }", "b", "lacks `effect`"),
        ("connector: a\nactions: { b: { efect: read } }", "efect", "Did you mean `effect`?"),
        ("connector: a\nactions: { b: { effect: wrte } }", "wrte", "Did you mean `write`?"),
        ("connector: a\nactions: { b-c: { effect: read } }", "b-c", "not an action's name"),
        ("connector: a\ntriggers: { b: {} }", "b", "lacks `source`"),
        ("connector: a\ntriggers: { b: { source: extern } }", "extern", "Did you mean `external`?"),
    ],
)
def test_faults_of_the_frame(read_manifest: Any, text: str, place: str, words: str) -> None:
    read = read_manifest(text)
    assert [found for found, _ in read.faults] == [place]
    assert words in read.faults[0][1]


def test_what_is_missing_at_the_root_stands_at_the_beginning(read_manifest: Any) -> None:
    problem = read_manifest("# a comment\nactions: {}").problems[0]
    assert (problem.start, problem.end) == (0, 0)


def test_a_faulty_action_is_known_by_name_and_neutral(read_manifest: Any) -> None:
    text = (
        "connector: c\nactions:\n  a: { effect: wrte, input: string, output: strng }\n  b: 5\n  ok: { effect: read }\n"
    )
    manifest = read_manifest(text).sound
    assert list(manifest.actions) == ["a", "b", "ok"]
    a, b = manifest.actions["a"], manifest.actions["b"]
    assert (a.idempotency, a.idempotency_declared) == ("inherent", True)
    assert a.output is not None
    assert {a.input.kind, a.output.kind, b.input.kind} == {"any"}
    assert a.faulty == {"effect", "input", "output"}
    assert "effect" in b.faulty


def test_with_unreadable_parts_nothing_is_said_to_be_missing(read_manifest: Any) -> None:
    read = read_manifest("connector: c\nactions:\n  a:\n    {effect: write\n")
    assert read.tree.problems
    assert read.faults == []


def test_a_correlated_field_of_an_unknown_payload_is_not_reported(read_manifest: Any) -> None:
    read = read_manifest("connector: c\ntriggers: { t: { source: poll, payload: strng, correlate_on: [x] } }")
    assert [place for place, _ in read.faults] == ["strng"]


@given(st.text(alphabet="connectraisy: {}[]\n-'\"#&*0", max_size=60))
def test_any_text_is_read(text: str) -> None:
    load_manifest(parse(Source("connector: c\nactions:\n  a:\n    " + text)), "x")
    load_manifest(parse(Source(text)), "x")
