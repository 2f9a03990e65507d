"""Hover and signature help."""

from __future__ import annotations

from typing import Any

import pytest

from lsp_server.features.hover import hover
from lsp_server.features.signature import signature

TEXT = """\
workfile: "1.0"
name: main
inputs:
  amount: integer
  note?: string
steps:
  - work:
      wf.group:
        - take:
            pay.charge: { amount: "{{ inputs.amount }}", customer: x }
            on_unknown: halt
            undo: { pay.refund: { charge_id: "{{ take.charge_id }}" } }
        - look:
            pay.find: { reference: "{{ inputs.note ?? 'none' | upper }}" }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h30m }, then: hold }
  - settled:
      wf.wait_for: pay.settled
      configuration: { channel: c }
      match: { charge_id: "{{ work.take.charge_id }}" }
      timeout: 24h
  - told: { wf.let: { text: "taken by {{ run.workflow }} and {{ run.id }}" } }
result: "{{ settled.event?.paid }}"
"""


def at(files: Any, before: str, after: str) -> str:
    """The hover between two pieces of the text."""
    assert TEXT.count(before + after) == 1
    snapshot, offset = files.marked(TEXT.replace(before + after, f"{before}‸{after}"))
    found = hover(snapshot, offset)
    assert found is not None
    assert found.span[0] <= offset <= found.span[1]
    return found.markdown


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("- ta", "ke:", ["`work.take`", "`pay.charge`", "`none`", "Takes money.", "Binds `{charge_id: string"]),
        ("- ta", "ke:", ["A crash between", "`on_unknown: halt` holds the run", "after its undo `pay.refund`"]),
        ("- lo", "ok:", ["the read is made again", "Redone by the recovery of `work`"]),
        ("- work", ":", ["`wf.group`", "Run steps as one scope"]),
        (
            "pay.ch",
            "arge",
            ["a write", "`amount`: `integer`", "Result: `{charge_id: string", "`declined`", "(retryable)"],
        ),
        ("wf.wait", "_for", ["Durably wait for one correlated event"]),
        ("pay.sett", "led", ["source `external`", "Correlates on `charge_id`", "Payload:"]),
        ("re", "do:", ["What runs again", "`this_and_after`", "Default: `this_step`"]),
        ("whole_", "group", ["What runs again"]),
        ("1h3", "0m", ["1 hour 30 minutes"]),
        ("{ amou", 'nt: "{{', ["**`amount`**: `integer`", "In cents."]),
        ("inputs.amo", "unt }}", ["`inputs.amount`: `integer`"]),
        ("inputs.no", "te ??", ["`inputs.note`: `string?`", "May be null: `note` is optional"]),
        ("| upp", "er", ["`| upper`", "Example:"]),
        ("settled.ev", "ent?", ["May be null: `settled.event` is null when the wait times out"]),
        ("tak", "en by {{", ["`string`: this text with the values of its 2 interpolations put in."]),
        ("work.ta", "ke.charge_id", ["Bound by `work.take`, which calls `pay.charge`"]),
        ("{{ wo", "rk.take", ["Bound by `work`, which is `wf.group`. Run steps as one scope."]),
        ("  amou", "nt: integer", ["**input `amount`**: `integer`"]),
        ("time", "out: 24h", ["`timeout`", "How long, or until when, to wait"]),
    ],
)
def test_says(files: Any, before: str, after: str, said: list[str]) -> None:
    text = at(files, before, after)
    assert [each for each in said if each not in text] == []


@pytest.mark.parametrize("text", ["‸", "a: ‸", "steps:\n  - ‸", "# words‸\n", 'name: "x‸"\n'])
def test_says_nothing_where_nothing_is_known(files: Any, text: str) -> None:
    snapshot, offset = files.marked(text)
    assert hover(snapshot, offset) is None


def test_an_action_without_a_policy_aborts_after_a_crash(files: Any) -> None:
    text = 'workfile: "1.0"\nname: m\nsteps:\n  - t‸ake: { pay.charge: { amount: 1, customer: x } }\n'
    snapshot, offset = files.marked(text)
    found = hover(snapshot, offset)
    assert found is not None
    assert "the run is aborted" in found.markdown


HEAD = 'workfile: "1.0"\nname: m\ninputs: { who: string }\nsteps:\n  - a:\n      '


@pytest.mark.parametrize(
    ("text", "label", "active"),
    [
        ("pay.charge: { ‸amount: 1, customer: x }", "pay.charge(amount: integer, customer: string, method?:", 0),
        ("pay.charge: { amount: 1, cust‸omer: x }", "pay.charge(amount", 1),
        ("pay.charge: { amount: 1, customer: x‸ }", "pay.charge(amount", 1),
        ("pay.charge: {‸ }", "pay.charge(amount", 0),
        ("wf.let: { b: \"{{ inputs.who | replace('a', ‸'b') }}\" }", "replace(", 1),
    ],
)
def test_signatures(files: Any, text: str, label: str, active: int) -> None:
    snapshot, offset = files.marked(HEAD + text + "\n")
    found = signature(snapshot, offset)
    assert found is not None
    assert found.label.startswith(label)
    assert found.active == active


def test_no_signature_outside_a_call(files: Any) -> None:
    snapshot, offset = files.marked(HEAD + "wf.wait: 1‸s\n")
    assert signature(snapshot, offset) is None
