"""Judges a bundle without its host: is it coherent, is it signed by the host it is about, and which rung follows.

It checks an attestation. It runs nothing again: a host that measured itself wrongly and signed that is not found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from analyzer.report.common import plural
from sim_runtime.history.canonical import NotCanonical, digest_of
from sim_runtime.qualify import extension
from sim_runtime.qualify.bundle import attested_bytes, totals_of, witness_digest
from sim_runtime.qualify.evidence import NotDerived, derive_rung
from sim_runtime.qualify.ijson import NotIJson, NotJson, as_count, read_ijson
from sim_runtime.qualify.keys import KEY_BYTES, SIGNATURE_BYTES, find_key, from_base64url, signature_holds
from sim_runtime.qualify.names import (
    BUILD_KINDS,
    BUNDLE_VERSION,
    KEY_ALGORITHM,
    KEY_ID,
    PASS,
    REFUSALS,
    RUNGS,
    SIGNATURE_OVER,
    TOTALS,
)
from sim_runtime.qualify.profiles import Refusal, check_derivable, check_profiles, opted_out
from sim_runtime.qualify.shape import check_rows, check_shape, members

VERIFIED: Final = "verified"
REJECTED: Final = "rejected"
COHERENT: Final = "coherent"
NOT_A_BUNDLE: Final = "not-a-bundle"
#: The exit code of each outcome.
EXIT_CODES: Final = {VERIFIED: 0, REJECTED: 1, COHERENT: 2, NOT_A_BUNDLE: 3}
#: It takes the attribution away, not the coherence: the bundle is sound, but not shown to be the host's.
UNATTRIBUTED: Final = "signature-key-unknown"

_TIMESTAMP: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reader knows of the host. ``discovery`` is its discovery document, read apart from the bundle."""

    discovery: Mapping[str, Any] | None = field(default=None, hash=False)
    #: The public key of an independent verifier.
    verifier_key: bytes | None = None
    #: The build that the bundle should be about: kind and id.
    build: tuple[str, str] | None = None
    major: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, the rung that follows (none for a bundle that is rejected), and why."""

    outcome: str
    rung: str | None
    refusals: tuple[Refusal, ...]
    #: What keeps a coherent bundle from being verified.
    gaps: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The report of ``--format json``."""
        listed = [{"name": each.name, "message": each.message} for each in self.refusals]
        return {"version": 1, "outcome": self.outcome, "rung": self.rung, "refusals": listed}


@dataclass(slots=True)
class _Judging:
    """One bundle under judgement."""

    bundle: Mapping[str, Any]
    expected: Expected
    refusals: list[Refusal] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        self.refusals.append(Refusal(name, message))


def verify_text(data: bytes, expected: Expected | None = None) -> Verdict:
    """Judge the text of a bundle."""
    fault: NotIJson | None = None
    try:
        bundle = read_ijson(data)
    except NotJson as error:
        return Verdict(NOT_A_BUNDLE, None, (Refusal("not-json", f"the file is not JSON: {error}"),))
    except NotIJson as error:
        bundle, fault = error.value, error
    if not isinstance(bundle, dict):
        return Verdict(NOT_A_BUNDLE, None, (Refusal("not-an-object", "a bundle is a JSON object"),))
    if fault is not None:
        return Verdict(REJECTED, None, (Refusal("non-ijson", str(fault)),))
    return verify(bundle, expected)


def verify(bundle: Mapping[str, Any], expected: Expected | None = None) -> Verdict:
    """Judge a bundle that was read as I-JSON."""
    if bundle.get("bundleVersion") != BUNDLE_VERSION:
        message = f"`bundleVersion` is {bundle.get('bundleVersion')!r}, not {BUNDLE_VERSION!r}"
        return Verdict(REJECTED, None, (Refusal("not-v3", message),))
    judging = _Judging(bundle, expected or Expected())
    malformed = list(check_shape(bundle))
    for message in malformed:
        judging.refuse("bundle-malformed", message)
    rows, wrong = check_rows(bundle.get("results"))
    for message in wrong:
        judging.refuse("rows-malformed", message)
    _check_each_row(judging, rows)
    if not wrong:
        _check_sums(judging, rows)
    _check_build(judging)
    public = _check_signature(judging)
    if not malformed and not wrong:
        _check_independence(judging, public)
        _check_claims(judging, rows)
    return _conclude(judging, rows, public)


def _check_each_row(judging: _Judging, rows: Sequence[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            judging.refuse("duplicate-requirement", f"`{row['id']}` has more than one row")
        seen.add(row["id"])
        if row["result"] != PASS and not row.get("detail", "").strip():
            judging.refuse("reason-missing", f"`{row['id']}` is {row['result']} without a reason")
        if row["result"] == PASS and not as_count(row.get("assertions")):
            judging.refuse("vacuous-pass", f"`{row['id']}` passed without an assertion: it witnesses nothing")


def _check_sums(judging: _Judging, rows: Sequence[Mapping[str, Any]]) -> None:
    bundle = judging.bundle
    told = members(members(bundle["results"]).get("totals"))
    counted = totals_of(rows)
    for name in TOTALS.values():
        if as_count(told.get(name)) != counted[name]:
            message = f"`totals.{name}` is {told.get(name)!r}, but {plural(counted[name], 'row')} came out so"
            judging.refuse("totals-mismatch", message)
    host = members(bundle.get("host"))
    relaxations = host.get("relaxations")
    digest = _digest(rows, relaxations if isinstance(relaxations, list) else [], host.get("deployment"))
    if digest is None or bundle.get("witnessSha256") != digest:
        what = "the rows" if not relaxations else "the rows and relaxations"
        judging.refuse("witness-digest", f"`witnessSha256` is not the digest of {what}: something was changed")
    total = sum(as_count(row.get("assertions")) or 0 for row in rows)
    count = as_count(bundle.get("assertionCount"))
    if count != total:
        message = f"`assertionCount` is {bundle.get('assertionCount')!r}, but the rows sum to {total}"
        judging.refuse("assertion-count", message)
    elif count == 0:
        judging.refuse("assertion-count", "nothing was asserted: a bundle needs one assertion at least")
    _check_detail(judging, rows)


def _digest(rows: Sequence[Mapping[str, Any]], relaxations: Sequence[Any], deployment: object) -> str | None:
    try:
        return witness_digest(rows, relaxations, deployment)
    except NotCanonical:
        return None


def _check_detail(judging: _Judging, rows: Sequence[Mapping[str, Any]]) -> None:
    unmet = sorted((row["id"], row["result"]) for row in rows if row["result"] != PASS)
    detail = judging.bundle.get("detail")
    if detail is None and not unmet:
        return
    listed = members(detail).get("nonPass")
    entries = listed if isinstance(listed, list) and set(members(detail)) == {"nonPass"} else None
    well_formed = entries is not None and all(
        isinstance(each, dict)
        and set(each) == {"id", "result", "reason"}
        and all(isinstance(text, str) for text in each.values())
        for each in entries
    )
    if entries is None or not well_formed or sorted((each["id"], each["result"]) for each in entries) != unmet:
        message = (
            f"`detail.nonPass` does not list the {plural(len(unmet), 'row')} that did not pass, each with a reason"
        )
        judging.refuse("detail-missing", message)


def _check_build(judging: _Judging) -> None:
    build = members(members(judging.bundle.get("host")).get("build"))
    kind, name = build.get("kind"), build.get("id")
    if not isinstance(kind, str) or not kind or not isinstance(name, str) or not name:
        judging.refuse("build-missing", "`host.build` needs a kind and an id: a bundle is about one build")
    elif kind not in BUILD_KINDS:
        judging.refuse("build-kind", f"`host.build.kind` is `{kind}`, not one of {', '.join(BUILD_KINDS)}")
    elif judging.expected.build is not None and judging.expected.build != (kind, name):
        message = f"the bundle is about `{kind}:{name}`, not about `{':'.join(judging.expected.build)}`"
        judging.refuse("build-mismatch", message)
    major = as_count(members(judging.bundle.get("suite")).get("targetMajor"))
    if major not in (1, 2):
        judging.refuse("target-major", "`suite.targetMajor` is neither 1 nor 2")
    elif judging.expected.major is not None and judging.expected.major != major:
        judging.refuse("target-major", f"the bundle is for major {major}, not for major {judging.expected.major}")
    if _instant(judging.bundle.get("generatedAt")) is None:
        judging.refuse("generated-at-invalid", "`generatedAt` is missing or no timestamp with an offset (RFC 3339)")


def _instant(text: object) -> datetime | None:
    if not isinstance(text, str) or _TIMESTAMP.fullmatch(text) is None:
        return None
    try:
        # Leap seconds and more than six digits are allowed in the text and cut for the comparison.
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper().replace(":60", ":59")))
    except ValueError:
        return None


def _check_signature(judging: _Judging) -> bytes | None:
    """The public key under which the signature verifies, if it does."""
    bundle = judging.bundle
    signature = members(bundle.get("signature"))
    key_id, text = signature.get("keyId"), signature.get("sig")
    if (
        signature.get("alg") != KEY_ALGORITHM
        or not (isinstance(key_id, str) and key_id)
        or not (isinstance(text, str) and text)
    ):
        judging.refuse("signature-missing", "`signature` needs `alg` ed25519, `keyId` and `sig`")
        return None
    if signature.get("over") != list(SIGNATURE_OVER):
        judging.refuse("signature-over", f"`signature.over` is not {', '.join(SIGNATURE_OVER)}")
        return None
    if KEY_ID.fullmatch(key_id) is None:
        judging.refuse("signature-invalid", "`signature.keyId` is not of the form of a key id")
        return None
    if members(bundle.get("host")).get("signingKeyId", key_id) != key_id:
        judging.refuse("signature-invalid", "`host.signingKeyId` names another key than `signature.keyId`")
        return None
    sig = from_base64url(text, SIGNATURE_BYTES)
    if sig is None:
        judging.refuse("signature-invalid", "`signature.sig` is not 64 bytes in base64url without padding")
        return None
    return _check_under_key(judging, key_id, sig)


def _check_under_key(judging: _Judging, key_id: str, sig: bytes) -> bytes | None:
    published = judging.expected.discovery
    captured = members(members(judging.bundle.get("discovery")).get("document"))
    entry = None if published is None else find_key(published, key_id)
    if published is None:
        judging.gaps.append("no discovery document of the host was read, so the key is the bundle's own word")
    elif entry is None:
        message = f"the host publishes no key `{key_id}` for bundles: the signature shows integrity at most"
        judging.refuse(UNATTRIBUTED, message)
    used = entry or find_key(captured, key_id)
    if used is None:
        judging.gaps.append("the signature was checked against no key")
        return None
    public = from_base64url(used.get("publicKey"), KEY_BYTES)
    if public is None:
        judging.refuse("signature-invalid", f"the public key `{key_id}` is not 32 bytes in base64url")
        return None
    if "retiredAt" in used:
        _check_retired(judging, key_id, used["retiredAt"])
    try:
        data = attested_bytes(judging.bundle)
    except (KeyError, TypeError, NotCanonical):
        judging.refuse("signature-invalid", "a part that the signature covers is missing")
        return None
    if not signature_holds(public, sig, data):
        judging.refuse("signature-invalid", f"the signature does not verify under `{key_id}`")
        return None
    return public


def _check_retired(judging: _Judging, key_id: str, retired_at: object) -> None:
    retired, made = _instant(retired_at), _instant(judging.bundle.get("generatedAt"))
    if retired is None or (made is not None and retired < made):
        message = f"the key `{key_id}` was retired at {retired_at!r}, before the bundle was made"
        judging.refuse("signature-key-retired", message)


def _check_independence(judging: _Judging, host_key: bytes | None) -> None:
    bundle, verifier_key = judging.bundle, judging.expected.verifier_key
    if not any(each["evidenceTier"] == "independent" for each in bundle["claimedProfiles"]):
        return
    signature = members(bundle.get("verifierSignature"))
    key_id, sig = signature.get("keyId"), from_base64url(signature.get("sig"), SIGNATURE_BYTES)
    if not isinstance(key_id, str) or KEY_ID.fullmatch(key_id) is None or sig is None:
        judging.refuse("independent-unsigned", "an independent claim needs a `verifierSignature`")
    elif key_id in (members(bundle.get("signature")).get("keyId"), bundle["host"].get("signingKeyId")) or (
        verifier_key is not None and verifier_key == host_key
    ):
        judging.refuse("independent-self-signed", "the verifier's key must be another than the host's")
    elif verifier_key is None:
        judging.refuse(
            "independent-unverifiable", "an independent claim cannot be checked: give the key with `--verifier-key`"
        )
    elif not _holds(bundle, verifier_key, sig):
        judging.refuse("verifier-signature-invalid", f"the verifier's signature does not verify under `{key_id}`")


def _holds(bundle: Mapping[str, Any], public: bytes, sig: bytes) -> bool:
    try:
        return signature_holds(public, sig, attested_bytes(bundle))
    except (KeyError, TypeError, NotCanonical):
        return False


def _check_claims(judging: _Judging, rows: Sequence[Mapping[str, Any]]) -> None:
    bundle = judging.bundle
    claim = bundle["durability"].get("rung") if "durability" in bundle else None
    if "durability" in bundle:
        for message in _check_rung(claim, rows):
            judging.refuse("rung-not-derivable", message)
    claimed = bundle["claimedProfiles"]
    judging.refusals.extend(check_profiles(claimed, rows, bundle["host"].get("relaxations", [])))
    document = bundle["discovery"].get("document")
    if document is not None and digest_of(document) != bundle["discovery"]["sha256"]:
        judging.refuse("discovery-digest", "`discovery.document` does not have the digest that is signed for")
        return
    given = judging.expected.discovery
    if document is None and given is not None and digest_of(given) == bundle["discovery"]["sha256"]:
        document = given
    if document is not None:
        judging.refusals.extend(check_derivable(claimed, rows, document))
    elif opted_out(rows) or any(each["certified"] for each in claimed):
        judging.gaps.append("the bundle carries no discovery document, so its profiles are its own word")


def _check_rung(claim: object, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if claim not in RUNGS:
        yield f"the claim {claim!r} is not a rung: {', '.join(RUNGS)}"
        return
    try:
        derived = derive_rung(rows)
    except NotDerived as reason:
        yield f"{claim} is claimed, but {reason}"
        return
    if claim != derived:
        yield f"{claim} is claimed, but the rows support {derived} only"


def _conclude(judging: _Judging, rows: Sequence[Mapping[str, Any]], public: bytes | None) -> Verdict:
    decisive = [each for each in judging.refusals if each.name != UNATTRIBUTED]
    rung: str | None = None
    if not decisive or all(each.profile is not None for each in decisive):
        try:
            rung = derive_rung(rows)
        except NotDerived:
            rung = None
        if extension.MEMBER in judging.bundle:
            try:
                added = extension.check_extension(judging.bundle, judging.bundle[extension.MEMBER], public)
                rung = added or rung
            except extension.ExtensionRefused as refused:
                decisive.append(Refusal(refused.name, str(refused)))
                judging.refusals.append(decisive[-1])
                rung = None
    order = {name: place for place, name in enumerate(REFUSALS)}
    refusals = tuple(sorted(judging.refusals, key=lambda each: order[each.name]))
    if decisive:
        return Verdict(REJECTED, rung, refusals)
    outcome = COHERENT if judging.gaps or refusals else VERIFIED
    return Verdict(outcome, rung, refusals, tuple(judging.gaps))
