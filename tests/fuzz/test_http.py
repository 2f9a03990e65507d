"""Whatever is sent to a host is answered, clearly, and the host works on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.helpers import Host, hosting

pytestmark = pytest.mark.slow

PLACES = ("runs", "health", ".well-known/openwop", "host/durability/kill", "host/durability/bound", "nowhere", "")
PARTS = ("events", "poll", "effects", "decisions", "cancel", "..", "")
NAMES = (
    *("workflowId", "inputs", "trigger", "seed", "dryRun", "tenantId", "on", "actor", "decide", "reason", "mode"),
    *("payload", "id", "delivery"),
)
WORDS = ("conformance-noop", "conformance-failure", "succeed", "authorize_recovery", "after-accept", "", "x" * 300)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=6,
)
bodies = (
    st.none()
    | st.binary(max_size=40)
    | st.dictionaries(st.sampled_from(NAMES), json_values, max_size=5).map(lambda body: json.dumps(body).encode())
    | json_values.map(lambda body: json.dumps(body).encode())
)
queries = st.sampled_from(
    ["", "?timeout=1", "?timeout=x", "?after=-1", "?after=9e9", "?lastSequence=0&timeout=0", "?%"]
)
headers = st.dictionaries(
    st.sampled_from(["OpenWOP-Version", "Content-Type", "Idempotency-Key", "Accept", "Last-Event-ID"]),
    st.sampled_from(["2.0", "1.0", "application/json", "text/event-stream", "é", "k-1", "0", "-1"]),
    max_size=2,
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with hosting(tmp_path_factory.mktemp("fuzz"), "--rate", "off") as found:
        yield found


def test_every_request_is_answered_and_the_host_goes_on(host: Host) -> None:
    known = host.create()

    @settings(max_examples=80, deadline=None)
    @given(
        st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"]),
        st.sampled_from(PLACES),
        st.none() | st.just(known) | st.text(max_size=6),
        st.lists(st.sampled_from(PARTS), max_size=2),
        queries,
        bodies,
        headers,
    )
    def holds(
        method: str, place: str, run: str | None, parts: list[str], query: str, body: Any, sent: dict[str, str]
    ) -> None:
        path = "/".join([place, *([] if run is None else [quote(run, safe="")]), *parts])
        if parts[:1] == ["events"] and "poll" not in parts and method == "GET":
            return  # a stream, which ends when the client does
        answer = host.ask(
            method, f"/{path}{query}", body, headers={k: v.encode().decode("latin-1") for k, v in sent.items()}
        )
        assert answer.status < 500, (method, path, body, answer.body)
        if answer.status >= 400 and method != "HEAD":
            assert isinstance(answer.body, dict), (method, path, answer.data)
            assert {"error", "message"} <= set(answer.body), answer.body
            assert "Traceback" not in answer.data.decode()

    holds()
    assert host.ended(host.create()) == "completed"
