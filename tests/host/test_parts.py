"""The parts of the host by themselves: bounds, claims, the ledger, the writer, replies, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.host import claims
from sim_runtime.host.accepting import Intent, Refusal, Writer, accept
from sim_runtime.host.api.requests import Rate
from sim_runtime.host.catalogue import CannotServe, keep_catalogue, read_catalogue
from sim_runtime.host.events import outputs_of
from sim_runtime.host.ledger import KNOWN, SEND, WAIT, Ledger, effects_of, identity_of
from sim_runtime.host.outgoing import EgressRefused, Outside, answer_of, is_public, target_of
from sim_runtime.host.store import HostStore, create_store
from sim_runtime.host.timing import CLASSES, HEARTBEAT_MS, LEASE_MS, MAX_ATTEMPTS
from sim_runtime.qualify.evidence import read_bounds
from tests.host.helpers import CONNECTOR, ROOT, WORKFLOWS, shop


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HostStore]:
    path = str(tmp_path / "store.sqlite")
    create_store(path)
    found = HostStore(path)
    keep_catalogue(found, read_catalogue(None))
    yield found
    found.close()


def make_run(store: HostStore, **intent: Any) -> str:
    with store.transaction():
        return accept(store, Intent("conformance-noop", {}, **intent))


# ---- bounds -------------------------------------------------------------------------------------


@pytest.mark.requirement("Q-LIV-02", "Q-LIV-03")
def test_the_declared_bounds_hold_by_the_verifiers_rules() -> None:
    bounds = read_bounds([each.as_json() for each in CLASSES])
    assert [(each.name, each.bound) for each in bounds] == [(each.name, each.bound_ms) for each in CLASSES]
    assert LEASE_MS >= 5 * HEARTBEAT_MS


@pytest.mark.requirement("D-HIST-12")
def test_the_page_says_the_bounds_and_what_is_kept() -> None:
    page = (ROOT / "docs" / "host.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([\d.]+) s \|$", page, re.MULTILINE))
    assert told == {each.name: f"{each.bound_ms / 1000:g}" for each in CLASSES}
    assert f"After {MAX_ATTEMPTS} deaths" in page
    for said in ("**Retention.**", "## When something fails".removeprefix("## "), "Back the store up"):
        assert said in page


# ---- claims -------------------------------------------------------------------------------------


def test_a_run_has_one_owner_at_a_time(store: HostStore) -> None:
    for token in ("a", "b"):
        claims.register(store, token, claims.WORKER, 1)
    run = make_run(store)
    first = claims.claim(store, "a", 10)
    assert [(each.run, each.epoch) for each in first] == [(run, 1)]
    assert claims.claim(store, "b", 10) == []
    assert claims.sweep(store, "b").taken == 0
    store.change("update host_instances set lease = 0 where token = 'a'")
    assert claims.sweep(store, "b").taken == 1
    (second,) = claims.claim(store, "b", 10)
    assert (second.epoch, second.lost_by, second.deaths) == (2, "a", 1)
    assert claims.renew(store, "a")  # it lives again, and owns nothing
    assert claims.claimed_by(store, "a") == []


def test_held_work_is_dispatched_only_when_its_holder_is_gone(store: HostStore) -> None:
    claims.register(store, "api", claims.API, 1)
    claims.register(store, "w", claims.WORKER, 2)
    run = make_run(store, held_by="api")
    claims.sweep(store, "w")
    assert claims.claim(store, "w", 10) == []
    store.change("update host_instances set ended = 1 where token = 'api'")
    claims.sweep(store, "w")
    assert [each.run for each in claims.claim(store, "w", 10)] == [run]


def test_work_for_one_worker_is_anybodys_when_that_one_is_gone(store: HostStore) -> None:
    for token in ("a", "b"):
        claims.register(store, token, claims.WORKER, 1)
    run = make_run(store, wanted="a")
    assert claims.claim(store, "b", 10) == []
    store.change("delete from host_instances where token = 'a'")
    claims.sweep(store, "b")
    assert [each.run for each in claims.claim(store, "b", 10)] == [run]


@pytest.mark.requirement("Q-DUP-02")
def test_deaths_are_counted_and_orderly_ends_are_not(store: HostStore) -> None:
    run = make_run(store)
    for death in range(1, MAX_ATTEMPTS + 1):
        token = f"w{death}"
        claims.register(store, token, claims.WORKER, death)
        assert claims.claim(store, token, 1)
        store.change("update host_instances set ended = 1 where token = ?", token)
        swept = claims.sweep(store, "other")
        assert store.one("select deaths from host_runs") == (death,)
        assert swept.given_up == (death == MAX_ATTEMPTS)
    assert store.one("select status, ready_at from host_runs") == ("failed", None)
    assert [row[0] for row in store.all("select type from host_events where run = ? order by sequence", run)] == [
        *("run.dead-lettered", "run.failed")
    ]
    second = make_run(store)
    claims.register(store, "orderly", claims.WORKER, 99)
    assert [each.run for each in claims.claim(store, "orderly", 9)] == [second]
    store.change("delete from host_instances where token = 'orderly'")
    store.change("insert into host_deaths (token, role, signal, at) values ('orderly', 'worker', null, 0)")
    claims.sweep(store, "other")
    assert store.one("select deaths from host_runs where id = ?", second) == (0,)


@pytest.mark.requirement("Q-LIV-01")
def test_how_long_a_run_may_take_is_a_limit_of_its_own(store: HostStore) -> None:
    claims.register(store, "w", claims.WORKER, 1)
    old, young = make_run(store), make_run(store)
    store.change("update host_runs set accepted_at = 1 where id = ?", old)
    for expected in (1, 0):
        assert claims.sweep(store, "w").cancelled == expected
    assert store.all("select run, kind from host_inbox") == [(old, "cancel")]
    assert {each.run: each.epoch for each in claims.claim(store, "w", 10)} == {old: 1, young: 1}


# ---- acceptance ---------------------------------------------------------------------------------


@pytest.mark.requirement("Q-ACC-01")
def test_the_run_and_the_intent_to_do_it_stand_or_fall_together(store: HostStore) -> None:
    def half(given: HostStore) -> str:
        accept(given, Intent("conformance-noop", {}))
        raise Refusal(400, "x", "y")

    writer = Writer(store.path)
    failed, fine = writer.submit(half), writer.submit(lambda given: accept(given, Intent("conformance-noop", {})))
    assert isinstance(failed.exception(20), Refusal)
    run = fine.result(20)
    writer.stop()
    assert store.all("select id from host_runs where ready_at is not null") == [(run,)]
    assert store.all("select id from runs") == [(run,)]


def test_a_request_key_is_one_run(store: HostStore) -> None:
    first, again = make_run(store, request_key="k"), make_run(store, request_key="k")
    assert first == again
    with pytest.raises(Refusal, match="another request"), store.transaction():
        accept(store, Intent("conformance-noop", {"inputs": {"x": 1}}, request_key="k"))
    assert store.one("select count(*) from host_runs") == (1,)


# ---- the ledger ---------------------------------------------------------------------------------


def keyed(run: str, key: str = "k", **changes: Any) -> Call:
    given: dict[str, Any] = {
        "seq": 1,
        "at": 0,
        "action": "shop.charge",
        "path": "pay",
        "id": "pay",
        "generation": 0,
        "attempt": 1,
        "reissue": 0,
        "effect": "write",
        "idempotency": "keyed",
        "key": key,
        "connection": None,
        "arguments": {"order": "o"},
    }
    return Call(**{**given, **changes})


def test_identities_come_from_content_and_not_from_tries() -> None:
    first = identity_of("r1", "w", keyed("r1"))
    assert first == identity_of("r2", "w", keyed("r2"))
    assert first == identity_of("r1", "w", keyed("r1", attempt=2, reissue=1, generation=3))
    assert first != identity_of("r1", "w", keyed("r1", key="other"))
    assert first != identity_of("r1", "w", keyed("r1", arguments={"order": "p"}))
    none = keyed("r1", idempotency="none")
    assert identity_of("r1", "w", none) != identity_of("r1", "w", keyed("r1", idempotency="none", attempt=2))
    assert identity_of("r1", "w", none)[1] == "activity-recipe"


@pytest.mark.requirement("Q-DUP-01")
def test_the_loser_waits_for_the_winner_and_takes_its_answer(store: HostStore) -> None:
    for token in ("a", "b"):
        claims.register(store, token, claims.WORKER, 1)
    first, second = Ledger(store, "a"), Ledger(store, "b")
    effect, keying = identity_of("r1", "w", keyed("r1"))

    def ask(ledger: Ledger, run: str, invocation: str, mine: frozenset[str] = frozenset()) -> Any:
        with store.transaction():
            return ledger.ask(effect, keying, run, keyed(run), invocation, mine)

    assert ask(first, "r1", "i1").what == SEND
    assert ask(second, "r2", "i2").what == WAIT
    assert ask(first, "r1", "i3", frozenset({"i1"})).what == WAIT
    first.settle(effect, "i1", Answer("success", result={"id": 7}))
    known = ask(second, "r2", "i4")
    assert (known.what, known.answer.result) == (KNOWN, {"id": 7})
    assert [each["invocationId"] for each in effects_of(store, "r2")] == ["deduplicated-of:r1"]
    assert [each["state"] for each in effects_of(store, "r1")] == ["completed"]


@pytest.mark.parametrize("kind", ["failure", "ambiguous"])
def test_an_effect_that_did_not_come_about_is_free_again(store: HostStore, kind: str) -> None:
    claims.register(store, "a", claims.WORKER, 1)
    ledger = Ledger(store, "a")
    effect, keying = identity_of("r1", "w", keyed("r1"))
    assert ledger.ask(effect, keying, "r1", keyed("r1"), "i1", frozenset({"i1"})).what == SEND
    ledger.settle(effect, "i1", Answer(kind, code="x"))
    assert effects_of(store, "r1")[0]["state"] == {"failure": "released", "ambiguous": "escaped"}[kind]
    assert ledger.ask(effect, keying, "r1", keyed("r1"), "i2", frozenset()).what == SEND
    ledger.settle(effect, "i1", Answer("success", result="late"))
    assert effects_of(store, "r1")[0]["state"] == "claimed"


def test_what_a_dead_owner_claimed_is_sent_again(store: HostStore) -> None:
    for token in ("a", "b"):
        claims.register(store, token, claims.WORKER, 1)
    effect, keying = identity_of("r1", "w", keyed("r1"))
    assert Ledger(store, "a").ask(effect, keying, "r1", keyed("r1"), "i1", frozenset()).what == SEND
    store.change("update host_instances set lease = 0 where token = 'a'")
    assert Ledger(store, "b").ask(effect, keying, "r1", keyed("r1"), "i2", frozenset()).what == SEND


# ---- calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "data", "kind", "code"),
    [
        (200, b'{"id": 1}', "success", ""),
        (204, b"", "success", ""),
        (200, b"not json", "success", ""),
        (200, b'{"error": {"code": "x"}}', "success", ""),
        (400, b'{"error": {"code": "x"}}', "failure", "x"),
        (503, b'{"error": {"code": "x"}}', "failure", "x"),
        (400, b'{"error": {"code": ""}}', "ambiguous", "http_400"),
        (400, b'{"error": {"code": 7}}', "ambiguous", "http_400"),
        (400, b'{"error": "x"}', "ambiguous", "http_400"),
        (404, b"", "ambiguous", "http_404"),
        (307, b"{}", "ambiguous", "http_307"),
        (500, b"[" * 50_000, "ambiguous", "http_500"),
    ],
)
def test_what_a_reply_says_of_the_attempt(status: int, data: bytes, kind: str, code: str) -> None:
    answer = answer_of(status, data, None)
    assert (answer.kind, answer.code) == (kind, code)


@pytest.mark.parametrize(
    ("error", "header", "span"),
    [
        ({}, None, None),
        ({"retry_after": "2s"}, None, 2_000_000),
        ({"retry_after": 1.5}, None, 1_500_000),
        ({"retry_after": True}, None, None),
        ({"retry_after": -1}, None, None),
        ({"retry_after": "soon"}, None, None),
        ({}, "3", 3_000_000),
        ({}, "Wed, 21 Oct", None),
    ],
)
def test_when_to_try_again(error: dict[str, Any], header: str | None, span: int | None) -> None:
    import json

    data = json.dumps({"error": {"code": "busy", **error}}).encode()
    assert answer_of(503, data, header).retry_after_us == span


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("no address", False),
    ],
)
def test_which_addresses_are_outside(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/", "http:///x", "http://u:p@example.org/", "http://127.0.0.1:99999/", "//x", "", "http://[::1"],
)
def test_urls_that_are_never_called(url: str) -> None:
    with pytest.raises(EgressRefused):
        target_of(url, allow_private=True)


def test_an_action_without_a_url_fails_definitely() -> None:
    outside = Outside({"shop": {"eu": "https://eu.example/", "us": "https://us.example/a"}}, allow_private=False)
    assert outside.url_of(keyed("r", connection="eu")) == "https://eu.example/charge"
    assert outside.url_of(keyed("r", connection="us", action="shop.a/b")) == "https://us.example/a/a%2Fb"
    answer = outside.perform(keyed("r"), "k", builtin=False)
    assert (answer.kind, answer.code, answer.retryable) == ("failure", "connection.unconfigured", False)
    private = Outside({"shop": {"eu": "http://127.0.0.1:9/"}}, allow_private=False)
    assert private.perform(keyed("r", connection="eu"), "k", builtin=False).code == "egress.refused"


# ---- the catalogue ------------------------------------------------------------------------------


def test_a_folder_is_served_without_what_is_broken(tmp_path: Path) -> None:
    place = shop(tmp_path, "https://shop.example/actions")
    (place / "broken.workfile.yaml").write_text('workfile: "1.0"\nname: broken\nsteps:\n  - x: { shop.none: {} }\n')
    (place / "conformance-noop.workfile.yaml").write_text(WORKFLOWS["nap"].lstrip().replace("nap", "conformance-noop"))
    (place / "again.workfile.yaml").write_text(WORKFLOWS["nap"].lstrip())
    found = read_catalogue(str(place))
    names = [each.workflow for each in found.served if not each.builtin]
    # Two of one name are an error of both.
    assert sorted(names) == sorted(set(WORKFLOWS) - {"nap"})
    assert len(found.problems) == 4
    assert any("broken.workfile.yaml" in each for each in found.problems)
    assert found.urls == {"shop": {"default": "https://shop.example/actions"}}
    assert CONNECTOR


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    place = shop(tmp_path, "ftp://shop.example")
    with pytest.raises(CannotServe, match="http or https"):
        read_catalogue(str(place))


@pytest.mark.parametrize(
    ("result", "outputs"), [(None, {}), ({"a": 1}, {"a": 1}), (7, {"result": 7}), ([], {"result": []})]
)
def test_a_result_is_an_object_for_the_protocol(result: Any, outputs: Any) -> None:
    assert outputs_of(result) == outputs


def test_the_rate_allows_a_burst_and_then_refuses() -> None:
    rate = Rate(5)
    for _ in range(10):
        rate.check()
    with pytest.raises(Refusal):
        _ = [rate.check() for _ in range(5)]
    for _ in range(1000):
        Rate(None).check()
