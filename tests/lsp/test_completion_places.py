"""What is offered at places that only the files around them tell about: cases, schemas, scenarios, suppressions.

``‸`` is the cursor; what must be offered stands in the comment above it, ``only`` before a list that is all of it.
"""

from __future__ import annotations

from typing import Any

import pytest

HEAD = """\
workfile: "1.0"
name: main
inputs: { kind: { enum: [small, large] }, urgent: boolean }
connectors: { pay: connectors/pay.connector.yaml }
steps:
"""
MAIN = f"""{HEAD}\
  - pay_it: {{ pay.charge: {{ amount: 1, customer: x }}, undo: {{ pay.refund: {{ charge_id: x }} }} }}
  - settled:
      wf.wait_for: pay.settled
      match: {{ charge_id: x }}
      timeout: 1h
      configuration: {{ channel: c }}
  - around: {{ wf.group: [ {{ inner: {{ pay.find: {{ reference: x }} }} }} ] }}
"""
WORKFILES = {
    "cases of an enum": "# only small large\n  - s: { wf.switch: '{{ inputs.kind }}', cases: { ‸ } }\n",
    "the other case": (
        "# only large\n  - s:\n      wf.switch: '{{ inputs.kind }}'\n      cases:\n        small: []\n        ‸\n"
    ),
    "cases of a truth": "# only true false\n  - s: { wf.switch: '{{ inputs.urgent }}', cases: { ‸ } }\n",
    "a step inside a case": (
        "# pay.charge wf.wait\n  - s:\n      wf.switch: '{{ inputs.kind }}'\n      cases:\n        small:\n"
        "          - x:\n              ‸\n"
    ),
    "a rule in a suppression": "  - s: { wf.wait: 1h }  # redo-unsafe document.control\n  # workfile: ignore[‸\n",
    "a second rule": "  # redo-unsafe\n  - s: { wf.wait: 1h }  # workfile: ignore[unused-input, re‸]\n",
}
MANIFESTS = {
    "a keyword": "# type properties required items enum\nactions:\n  do:\n    input:\n      ‸\n",
    "a keyword of a property": "# type format\nactions:\n  do:\n    input:\n      properties:\n        a: { ‸ }\n",
    "a keyword of an element": (
        "# type\nactions:\n  do:\n    input:\n      properties:\n        a:\n          items: { ‸ }\n"
    ),
    "a kind": "# only string integer number boolean object array null\nactions:\n  do:\n    input:\n      type: ‸\n",
    "a kind below": "# array\nactions:\n  do:\n    output:\n      properties: { a: { type: ‸ } }\n",
    "what is required": (
        "# only b\nactions:\n  do:\n    input:\n      properties: { a: { type: string }, b: { type: string } }\n"
        "      required: [a, ‸]\n"
    ),
    "an effect": "# only read write\nactions:\n  do:\n    effect: ‸\n",
    "an idempotency": "# only none inherent keyed\nactions:\n  do:\n    idempotency: ‸\n",
    "a source": "# only external poll schedule manual\ntriggers:\n  do:\n    source: ‸\n",
    "a retryable error": "# only true false\nactions:\n  do:\n    errors: { late: { retryable: ‸ } }\n",
    "a correlation field": (
        "# only key\ntriggers:\n  do:\n    payload: { type: object, properties: { key: { type: string } } }\n"
        "    correlate_on: [‸]\n"
    ),
}
SCENARIOS = {
    "an action": "# pay.charge pay_it around.inner\nactions:\n  ‸",
    "an answer": "# only succeed fail ambiguous latency where\nactions:\n  pay.charge:\n    - ‸",
    "a code": "# only declined rate_limited\nactions:\n  pay.charge:\n    - fail: { code: ‸ }",
    "a code of a step": "# only declined rate_limited\nactions:\n  pay_it:\n    - ambiguous: { code: ‸ }",
    "a result": "# only charge_id fee\nactions:\n  pay.charge:\n    - succeed: { ‸ }",
    "arguments": "# only amount customer method\nactions:\n  pay_it: { where: { ‸ } }",
    "a trigger": "# only pay.settled\nevents:\n  - { at: 1h, deliver: ‸ }",
    "a payload": "# only charge_id paid\nevents:\n  - { deliver: pay.settled, payload: { ‸ } }",
    "a wait": "# only settled\nevents:\n  - { after: ‸ }",
    "a record": "# action.dispatched run.finished\ncrashes:\n  - { after: { record: ‸ } }",
    "a path": "# pay_it settled around around.inner\ncrashes:\n  - { before: { record: action.succeeded, path: ‸ } }",
    "a decision": "# only reissue authorize_recovery\noperator:\n  - { on: pay_it, actor: dana, decide: ‸ }",
    "a decided result": "# only succeed fail\noperator:\n  - { on: pay_it, actor: dana, decide: { ‸ } }",
    "a decided failure": "# code retryable\noperator:\n  - { on: pay_it, decide: { fail: { ‸ } } }",
    "a status": "# succeeded held\nexpect:\n  status: ‸",
    "a binding": "# only pay_it settled around\nexpect:\n  bindings: { ‸ }",
    "what is absent": "# only pay_it settled around\nexpect:\n  absent: [ ‸ ]",
    "what holds": "# pay_it around.inner\nexpect:\n  holds: [ ‸ ]",
    "a call": "# action path arguments answer\nexpect:\n  calls: [ { ‸ } ]",
    "the action of a call": "# only pay.charge pay.refund pay.find\nexpect:\n  calls: [ { action: ‸ } ]",
    "an input": "# only kind urgent\ninputs: { ‸ }",
    "the value of an input": "# only small large\ninputs: { kind: ‸ }",
    "the Workfile": "# only main.workfile.yaml\nworkfile: ‸",
}


def offered(server: Any, files: Any, name: str, text: str) -> list[str]:
    before, _, after = text.partition("‸")
    server.start()
    server.open(files.uri(name), before + after)
    position = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
    found = server.request("textDocument/completion", {"textDocument": {"uri": files.uri(name)}, "position": position})
    return [item["label"] for item in found["items"]]


def test_the_server_hears_what_the_editor_asks_by_itself_for(server: Any, files: Any) -> None:
    server.start()
    uri = files.uri("main.workfile.yaml")
    server.open(uri, f"{HEAD}  - a:\n      pay.charge: {{")
    place = {"textDocument": {"uri": uri}, "position": {"line": 6, "character": 19}}
    typed = {"triggerKind": 2, "triggerCharacter": "{"}
    assert server.request("textDocument/completion", {**place, "context": typed})["items"] == []
    assert server.request("textDocument/completion", {**place, "context": {"triggerKind": 1}})["items"]


def expect(text: str, labels: list[str]) -> None:
    comment = next(line for line in text.split("\n") if "#" in line).partition("#")[2]
    words = comment.partition("#")[0].split()
    if words[0] == "only":
        assert sorted(labels) == sorted(words[1:])
    else:
        assert set(words) <= set(labels)


@pytest.mark.parametrize("name", WORKFILES)
def test_in_a_workfile(server: Any, files: Any, name: str) -> None:
    expect(WORKFILES[name], offered(server, files, "main.workfile.yaml", HEAD + WORKFILES[name]))


@pytest.mark.parametrize("name", MANIFESTS)
def test_in_a_manifest(server: Any, files: Any, name: str) -> None:
    text = f"connector: lamp\n{MANIFESTS[name]}"
    expect(MANIFESTS[name], offered(server, files, "connectors/lamp.connector.yaml", text))


@pytest.mark.parametrize("name", SCENARIOS)
def test_in_a_scenario(server: Any, files: Any, name: str) -> None:
    files.write("main.workfile.yaml", MAIN)
    head = "" if "workfile:" in SCENARIOS[name] else "workfile: main.workfile.yaml\n"
    expect(SCENARIOS[name], offered(server, files, "one.scenario.yaml", head + SCENARIOS[name]))


def test_what_a_call_may_name_is_what_a_run_reports() -> None:
    from analyzer.language.scenario_vocabulary import EXPECTED_CALL_KEYS
    from workfile_cli.reports import run_parts

    assert set(EXPECTED_CALL_KEYS) == set(run_parts()["calls"]["items"]["properties"])
