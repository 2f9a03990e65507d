"""Our extension: what peer-resume proves, signed apart from the bundle and bound to it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from sim_runtime.qualify import extension
from sim_runtime.qualify.bundle import Row
from sim_runtime.qualify.names import PEER_RESUME
from sim_runtime.qualify.verify import Expected, verify
from tests.qualify.helpers import OTHER, TOY, Bundle, document, example, row_of

KNOWN = Expected(discovery=document())
FIRST, SECOND, THIRD = ("instance-one-00000", "instance-two-00000", "instance-three-0000")
EVIDENCE = {
    "recovery": {"class": "lease-expiry", "boundMs": 9000, "observedMs": 800},
    "acceptor": FIRST,
    "resumer": SECOND,
    "instances": [FIRST, SECOND],
    "reachability": {"probes": 12, "failures": 0, "longestGapMs": 104},
}


def extended(row: Row | None = None, **evidence: object) -> Bundle:
    bundle = example()
    told = row or Row(PEER_RESUME, "executed-pass", 5, None, {**copy.deepcopy(EVIDENCE), **evidence})
    extension.extend(bundle, told, TOY, "demo-1")
    return bundle


def names(bundle: Bundle, expected: Expected = KNOWN) -> list[str]:
    return [each.name for each in verify(bundle, expected).refusals]


@pytest.mark.requirement("Q-LAD-01", "Q-LAD-07")
def test_peer_resume_earns_the_second_rung() -> None:
    bundle = extended()
    verdict = verify(bundle, KNOWN)
    assert (verdict.outcome, verdict.rung) == ("verified", "durable-multi-instance")
    assert verify(bundle).outcome == "coherent"
    assert bundle[extension.MEMBER]["version"] == "1"
    assert bundle[extension.MEMBER]["label"].startswith("extension of workfile-tools, no part of")


def test_the_extension_changes_nothing_of_the_bundle_itself() -> None:
    bundle = extended()
    del bundle[extension.MEMBER]
    assert bundle == example()


UNDERIVABLE: list[tuple[str, dict[str, object]]] = [
    ("accepted it", {"resumer": FIRST}),
    ("not both live", {"resumer": THIRD}),
    ("not both live", {"acceptor": None}),
    ("fewer than two", {"instances": [FIRST], "resumer": FIRST}),
    ("fewer than two", {"instances": [FIRST, FIRST, SECOND]}),
    ("opaque tokens", {"instances": ["4711", "4712"]}),
    ("opaque tokens", {"instances": ["1234567890123456", SECOND]}),
    ("opaque tokens", {"instances": "all"}),
    ("stay reachable", {"reachability": {"probes": 12, "failures": 1, "longestGapMs": 104}}),
    ("stay reachable", {"reachability": {"probes": 12, "failures": 0, "longestGapMs": 2001}}),
    ("stay reachable", {"reachability": {"probes": 1, "failures": 0, "longestGapMs": 0}}),
    ("no trace", {"reachability": {"probes": 12}}),
    ("no trace", {"reachability": None}),
    ("outside the 9000", {"recovery": {"class": "lease-expiry", "boundMs": 9000, "observedMs": 9001}}),
    ("declares 9000", {"recovery": {"class": "lease-expiry", "boundMs": 8000, "observedMs": 100}}),
    ("does not declare", {"recovery": {"class": "other", "boundMs": 9000, "observedMs": 100}}),
    ("records no recovery", {"recovery": None}),
]


@pytest.mark.parametrize(("reason", "evidence"), UNDERIVABLE)
@pytest.mark.requirement("Q-LAD-07")
def test_what_does_not_show_it_earns_nothing(
    reason: str, evidence: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = extended(**evidence)
    assert "rung" not in bundle[extension.MEMBER]
    verdict = verify(bundle, KNOWN)
    assert (verdict.outcome, verdict.rung) == ("verified", "durable-single-instance")
    # A judge that claims it all the same is refused, although the signature is its own.
    forced = example()
    row = Row(PEER_RESUME, "executed-pass", 5, None, {**copy.deepcopy(EVIDENCE), **evidence})
    with monkeypatch.context() as patched:
        patched.setattr(extension, "derive_multi_instance", lambda bundle, peer: "durable-multi-instance")
        extension.extend(forced, row, TOY, "demo-1")
    verdict = verify(forced, KNOWN)
    assert [each.name for each in verdict.refusals] == ["extension-not-derivable"]
    assert reason in verdict.refusals[0].message
    assert verdict.rung is None


def test_a_row_that_did_not_pass_earns_nothing() -> None:
    for row in (Row(PEER_RESUME, "blocked", 0, "one instance"), Row(PEER_RESUME, "executed-pass", 0, None, EVIDENCE)):
        verdict = verify(extended(row), KNOWN)
        assert (verdict.outcome, verdict.rung) == ("verified", "durable-single-instance")


def test_the_rung_needs_the_rows_of_the_one_below() -> None:
    bundle = example()
    row_of(bundle, "poison-exhaustion").update(result="blocked", detail="a reason")
    extension.extend(bundle, Row(PEER_RESUME, "executed-pass", 5, None, EVIDENCE), TOY, "demo-1")
    assert "rung" not in bundle[extension.MEMBER]


def move(bundle: Bundle) -> None:
    other = extended(resumer=SECOND, instances=[FIRST, SECOND, THIRD])
    row_of(other, "kill-after-accept")["evidence"]["recovery"]["observedMs"] = 17
    from tests.qualify.helpers import reseal

    reseal(other)
    del other[extension.MEMBER]
    extension.extend(other, Row(PEER_RESUME, "executed-pass", 5, None, EVIDENCE), TOY, "demo-1")
    bundle[extension.MEMBER] = other[extension.MEMBER]


def ext(bundle: Bundle) -> Bundle:
    return bundle[extension.MEMBER]


TAMPERED: list[tuple[str, Callable[[Bundle], object]]] = [
    ("extension-version", lambda b: ext(b).update(version="2")),
    ("extension-version", lambda b: ext(b).pop("version")),
    ("extension-version", lambda b: b.update({extension.MEMBER: []})),
    ("extension-malformed", lambda b: ext(b).update(other=1)),
    ("extension-malformed", lambda b: ext(b).update(label="bundle version 4")),
    ("extension-malformed", lambda b: ext(b).pop("peerResume")),
    ("extension-malformed", lambda b: ext(b)["peerResume"].update(id="other")),
    ("extension-malformed", lambda b: ext(b)["peerResume"].update(result=[])),
    ("extension-malformed", lambda b: ext(b)["peerResume"].update(other=1)),
    ("extension-digest", lambda b: ext(b)["peerResume"]["evidence"]["recovery"].update(observedMs=1)),
    ("extension-digest", lambda b: ext(b)["peerResume"]["evidence"].update(resumer=THIRD)),
    ("extension-digest", lambda b: ext(b).update(rung="multi-region-qualified")),
    ("extension-digest", lambda b: ext(b).pop("rung")),
    ("extension-digest", lambda b: ext(b).update(digest="0" * 64)),
    ("extension-digest", move),
    ("extension-signature", lambda b: ext(b).pop("signature")),
    ("extension-signature", lambda b: ext(b)["signature"].update(sig="A" * 86)),
    ("extension-signature", lambda b: ext(b)["signature"].update(sig="A")),
    ("extension-signature", lambda b: ext(b)["signature"].update(keyId="other")),
    ("extension-signature", lambda b: ext(b)["signature"].update(over=["digest"])),
    ("extension-signature", lambda b: ext(b)["signature"].update(alg="rsa")),
]


@pytest.mark.parametrize(("name", "change"), TAMPERED)
def test_a_changed_extension_is_refused(name: str, change: Callable[[Bundle], object]) -> None:
    bundle = extended()
    change(bundle)
    verdict = verify(bundle, KNOWN)
    assert ([each.name for each in verdict.refusals], verdict.outcome, verdict.rung) == ([name], "rejected", None)


def test_an_extension_under_another_key_is_refused() -> None:
    bundle = example()
    extension.extend(bundle, Row(PEER_RESUME, "executed-pass", 5, None, EVIDENCE), OTHER, "demo-1")
    assert names(bundle) == ["extension-signature"]


@pytest.mark.requirement("Q-LAD-08")
def test_a_region_is_not_evacuated_by_claiming_it() -> None:
    bundle = extended()
    bundle["durability"] = {"rung": "multi-region-qualified"}
    assert names(bundle) == ["rung-not-derivable"]
