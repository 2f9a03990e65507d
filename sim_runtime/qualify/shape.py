"""The shape of a bundle: which parts it must have, which it may have, and of which kind they are.

What a rule of its own refuses (totals, digests, signatures, evidence) is left to that rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sim_runtime.qualify import extension
from sim_runtime.qualify.ijson import as_count, is_count
from sim_runtime.qualify.names import EVIDENCE_TIERS, RELAXATION_LIFETIMES, SHA256_HEX, TOTALS

_ROOT: Final = {
    "bundleVersion",
    "generatedAt",
    "suite",
    "host",
    "discovery",
    "claimedProfiles",
    "results",
    "witnessSha256",
    "assertionCount",
    "signature",
    "detail",
    "durability",
    "verifierSignature",
    extension.MEMBER,
}
_SUITE: Final = {"name", "version", "targetMajor", "specArtifactsVersion", "stampSha256"}
_HOST: Final = {"name", "version", "vendor", "build", "signingKeyId", "relaxations", "deployment"}
_DISCOVERY: Final = {"url", "sha256", "protocolVersions", "preferredVersion", "document"}
_PROFILE: Final = {"id", "evidenceTier", "witnessCount", "certified"}
_RELAXATION: Final = {"obligation", "durability", "reason"}
_ROW: Final = {"id", "scenario", "result", "assertions", "detail", "evidence"}
_EVIDENCE: Final = {"recovery", "recoveryBounds"}
DEPLOYMENT: Final = "colocated-companion"


def members(value: object) -> Mapping[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def check_shape(bundle: Mapping[str, Any]) -> Iterator[str]:
    """What is missing, unknown or of the wrong kind outside the rows, in plain words."""
    yield from _unknown("the bundle", bundle, _ROOT)
    yield from _suite(bundle.get("suite"))
    yield from _host(bundle.get("host"))
    yield from _discovery(bundle.get("discovery"))
    yield from _profiles(bundle.get("claimedProfiles"))
    if "durability" in bundle:
        yield from _closed("`durability`", bundle["durability"], {"rung"}, ())
    if "signature" in bundle:
        yield from _unknown("`signature`", members(bundle["signature"]), {"alg", "keyId", "sig", "over"})


def _unknown(where: str, found: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    for name in found:
        if name not in known:
            yield f"{where} holds `{name}`, which bundle version 3 does not have"


def _closed(where: str, value: object, known: set[str], texts: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is missing or not an object"
        return
    yield from _unknown(where, value, known)
    for name in texts:
        if not isinstance(value.get(name), str) or not value[name]:
            yield f"{where} has no string `{name}`"


def _suite(suite: object) -> Iterator[str]:
    yield from _closed("`suite`", suite, _SUITE, ("name", "version", "specArtifactsVersion"))
    stamp = members(suite).get("stampSha256", "0" * 64)
    if not isinstance(stamp, str) or SHA256_HEX.fullmatch(stamp) is None:
        yield "`suite.stampSha256` is not a SHA-256 in lower-case hexadecimal"


def _host(host: object) -> Iterator[str]:
    yield from _closed("`host`", host, _HOST, ("name", "version"))
    found = members(host)
    if found.get("deployment", DEPLOYMENT) != DEPLOYMENT:
        yield f"`host.deployment` can only be `{DEPLOYMENT}`"
    if not isinstance(found.get("vendor", ""), str):
        yield "`host.vendor` is not a string"
    yield from _unknown("`host.build`", members(found.get("build")), {"kind", "id"})
    relaxations = found.get("relaxations", [])
    if not isinstance(relaxations, list):
        yield "`host.relaxations` is not a list"
        return
    for each in relaxations:
        yield from _closed("an entry of `host.relaxations`", each, _RELAXATION, ("obligation", "durability"))
        if isinstance(each, dict) and each.get("durability") not in RELAXATION_LIFETIMES:
            yield f"the durability of a relaxation is one of {', '.join(RELAXATION_LIFETIMES)}"
        if isinstance(each, dict) and not isinstance(each.get("reason"), str):
            yield "a relaxation has no string `reason`"


def _discovery(discovery: object) -> Iterator[str]:
    yield from _closed("`discovery`", discovery, _DISCOVERY, ("url", "preferredVersion"))
    found = members(discovery)
    digest = found.get("sha256")
    if not isinstance(digest, str) or SHA256_HEX.fullmatch(digest) is None:
        yield "`discovery.sha256` is not a SHA-256 in lower-case hexadecimal"
    versions = found.get("protocolVersions")
    if not isinstance(versions, list) or not all(isinstance(each, str) for each in versions):
        yield "`discovery.protocolVersions` is not a list of strings"
    if not isinstance(found.get("document", {}), dict):
        yield "`discovery.document` is not an object"


def _profiles(profiles: object) -> Iterator[str]:
    if not isinstance(profiles, list):
        yield "`claimedProfiles` is missing or not a list"
        return
    for each in profiles:
        yield from _closed("an entry of `claimedProfiles`", each, _PROFILE, ("id", "evidenceTier"))
        found = members(each)
        if isinstance(each, dict) and (
            found.get("evidenceTier") not in EVIDENCE_TIERS
            or not is_count(found.get("witnessCount"))
            or not isinstance(found.get("certified"), bool)
        ):
            yield "an entry of `claimedProfiles` needs a tier, a count of witnesses and `certified`"


def check_rows(results: object) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The rows that have an id, a scenario and a result, and what is wrong with rows."""
    listed = members(results).get("requirements")
    if not isinstance(listed, list) or not listed:
        return [], ["`results.requirements` is missing, empty or not a list"]
    rows, wrong = [], []
    for number, row in enumerate(listed, start=1):
        fault = _row_fault(row)
        if fault is not None:
            wrong.append(f"row {number} {fault}")
        else:
            rows.append(row)
    wrong.extend(_unknown("`results`", members(results), {"totals", "requirements"}))
    wrong.extend(_unknown("`results.totals`", members(members(results).get("totals")), set(TOTALS.values())))
    return rows, wrong


def _row_fault(row: object) -> str | None:
    if not isinstance(row, dict):
        return "is not an object"
    for name in ("id", "scenario"):
        if not isinstance(row.get(name), str) or not row[name]:
            return f"has no string `{name}`"
    if not isinstance(row.get("result"), str) or row["result"] not in TOTALS:
        return f"has no result out of {', '.join(TOTALS)}"
    if "assertions" in row and as_count(row["assertions"]) is None:
        return "has `assertions` that is not a count"
    if not isinstance(row.get("detail", ""), str):
        return "has a `detail` that is not a string"
    if not isinstance(row.get("evidence", {}), dict):
        return "has an `evidence` that is not an object"
    unknown = [name for name in row if name not in _ROW]
    unknown += [name for name in row.get("evidence", {}) if name not in _EVIDENCE]
    return f"holds `{unknown[0]}`, which rows do not have" if unknown else None
