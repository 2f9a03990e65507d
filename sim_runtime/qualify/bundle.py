"""The evidence bundle, version 3: its rows, digests and signature, as a host's judge writes them.

Digests and signatures are over canonical JSON (RFC 8785).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim_runtime.history.canonical import canonical_bytes, digest_of
from sim_runtime.qualify.keys import SigningKey
from sim_runtime.qualify.names import (
    BUNDLE_VERSION,
    KEY_ALGORITHM,
    MAX_DETAIL,
    PASS,
    SCENARIO,
    SIGNATURE_OVER,
    SPEC_ARTIFACTS,
    SUITE_NAME,
    TARGET_MAJOR,
    TOTALS,
)

_DIGESTED = ("assertions", "detail", "evidence")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one requirement. ``detail`` is the reason of a row that did not pass."""

    id: str
    result: str
    assertions: int = 0
    detail: str | None = None
    evidence: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The entry of ``results.requirements``."""
        row: dict[str, Any] = {"id": self.id, "scenario": SCENARIO, "result": self.result}
        if self.assertions:
            row["assertions"] = self.assertions
        if self.detail is not None:
            row["detail"] = self.detail[:MAX_DETAIL]
        if self.evidence is not None:
            row["evidence"] = dict(self.evidence)
        return row


@dataclass(frozen=True, slots=True)
class Relaxation:
    """An obligation that the host runs without; ``lifetime`` is session, deployment or persisted."""

    obligation: str
    lifetime: str
    reason: str

    def as_json(self) -> dict[str, str]:
        """The entry of ``host.relaxations``."""
        return {"obligation": self.obligation, "durability": self.lifetime, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """Which host, and which build of it, a bundle is about."""

    name: str
    version: str
    build_kind: str
    build_id: str
    relaxations: tuple[Relaxation, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovery:
    """The captured discovery document and where it was read."""

    url: str
    document: Mapping[str, Any] = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        """The ``discovery`` of a bundle."""
        versions = self.document.get("protocolVersions")
        preferred = self.document.get("preferredVersion")
        return {
            "url": self.url,
            "sha256": digest_of(self.document),
            "protocolVersions": [each for each in versions if isinstance(each, str)]
            if isinstance(versions, list)
            else [],
            "preferredVersion": preferred if isinstance(preferred, str) else "",
            "document": self.document,
        }


def utf16_order(text: str) -> bytes:
    """A sort key by UTF-16 code units, as RFC 8785 sorts names and the witness digest sorts rows."""
    return text.encode("utf-16-be", errors="surrogatepass")


def witness_digest(
    rows: Sequence[Mapping[str, Any]], relaxations: Sequence[Any] = (), deployment: object = None
) -> str:
    """The digest over rows (each with a text as ``id``), and over relaxations and deployment where there are any."""
    counted = [
        {name: row[name] for name in ("id", "scenario", "result", *_DIGESTED) if name in row}
        for row in sorted(rows, key=lambda row: utf16_order(row["id"]))
    ]
    if not relaxations and deployment is None:
        return digest_of(counted)
    covered: dict[str, Any] = {"rows": counted}
    if relaxations:
        covered["relaxations"] = list(relaxations)
    if deployment is not None:
        covered["deployment"] = deployment
    return digest_of(covered)


def attested_bytes(bundle: Mapping[str, Any]) -> bytes:
    """The bytes that the signature of a bundle covers. Raises ``KeyError`` or ``TypeError`` where a part is missing."""
    return canonical_bytes(
        {
            "witnessSha256": bundle["witnessSha256"],
            "host.build": bundle["host"]["build"],
            "suite.version": bundle["suite"]["version"],
            "discovery.sha256": bundle["discovery"]["sha256"],
        }
    )


def totals_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many rows came out how."""
    return {name: sum(row.get("result") == result for row in rows) for result, name in TOTALS.items()}


def make_bundle(
    rows: Sequence[Row],
    host: HostIdentity,
    discovery: Discovery,
    *,
    version: str,
    generated_at: str,
    rung: str | None,
    key: SigningKey,
    key_id: str,
) -> dict[str, Any]:
    """A signed bundle. ``rung`` is the claim, which must follow from the rows; ``version`` is this tool's."""
    listed = [row.as_json() for row in sorted(rows, key=lambda row: utf16_order(row.id))]
    relaxations = [each.as_json() for each in host.relaxations]
    about: dict[str, Any] = {
        "name": host.name,
        "version": host.version,
        "build": {"kind": host.build_kind, "id": host.build_id},
        "signingKeyId": key_id,
    }
    if relaxations:
        about["relaxations"] = relaxations
    bundle: dict[str, Any] = {
        "bundleVersion": BUNDLE_VERSION,
        "generatedAt": generated_at,
        "suite": {
            "name": SUITE_NAME,
            "version": version,
            "targetMajor": TARGET_MAJOR,
            "specArtifactsVersion": SPEC_ARTIFACTS,
        },
        "host": about,
        "discovery": discovery.as_json(),
        "claimedProfiles": [],
        "results": {"totals": totals_of(listed), "requirements": listed},
        "witnessSha256": witness_digest(listed, relaxations),
        "assertionCount": sum(row.assertions for row in rows),
    }
    unmet = [row for row in listed if row["result"] != PASS]
    if unmet:
        entries = [{"id": row["id"], "result": row["result"], "reason": row.get("detail", "")} for row in unmet]
        bundle["detail"] = {"nonPass": entries}
    if rung is not None:
        bundle["durability"] = {"rung": rung}
    signature = key.sign(attested_bytes(bundle))
    bundle["signature"] = {"alg": KEY_ALGORITHM, "keyId": key_id, "sig": signature, "over": list(SIGNATURE_OVER)}
    return bundle
