"""Our extension of the bundle: the evidence of peer-resume, for durable-multi-instance.

Bundle version 3 has no seat for it and other verifiers refuse the rung, so it stands under a name of its own, with a
version, a digest and a signature of its own. The digest takes in the bundle's witness digest: an extension cannot be
moved to another bundle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sim_runtime.history.canonical import canonical_bytes, digest_of
from sim_runtime.qualify.bundle import Row
from sim_runtime.qualify.evidence import NotDerived, check_recovery, derive_rung, read_bounds
from sim_runtime.qualify.ijson import as_count
from sim_runtime.qualify.keys import SIGNATURE_BYTES, SigningKey, from_base64url, signature_holds
from sim_runtime.qualify.names import (
    BOUND_IS_DERIVED,
    KEY_ALGORITHM,
    MAX_DETAIL,
    MULTI_INSTANCE,
    PASS,
    PEER_RESUME,
    TOTALS,
)

MEMBER: Final = "x-workfile-tools"
VERSION: Final = "1"
LABEL: Final = "extension of workfile-tools, no part of bundle version 3: evidence for durable-multi-instance"
OVER: Final = ("digest", "host.build", "suite.version", "discovery.sha256")
#: Tokens are opaque; a process id would show the machine and can come back.
TOKEN: Final = re.compile(r"(?=.*[A-Za-z_-])[A-Za-z0-9_-]{16,128}")
MAX_INSTANCES: Final = 1024
#: Two answers of the service may lie this far apart while it counts as reachable.
GAP_LIMIT_MS: Final = 2000

_PARTS: Final = {"version", "label", "peerResume", "rung", "digest", "signature"}
_ROW_PARTS: Final = {"id", "result", "assertions", "detail", "evidence"}


class ExtensionRefused(ValueError):
    """An extension that is not what it says; ``name`` is the refusal."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def digest_of_extension(extension: Mapping[str, Any], witness: object) -> str:
    """The digest over an extension's version, row and claim, and over the witness digest of its bundle."""
    covered = {name: extension[name] for name in ("version", "peerResume", "rung") if name in extension}
    return digest_of({**covered, "witnessSha256": witness})


def _signed_bytes(bundle: Mapping[str, Any], digest: str) -> bytes:
    return canonical_bytes(
        {
            "digest": digest,
            "host.build": bundle["host"]["build"],
            "suite.version": bundle["suite"]["version"],
            "discovery.sha256": bundle["discovery"]["sha256"],
        }
    )


def extend(bundle: dict[str, Any], row: Row, key: SigningKey, key_id: str) -> None:
    """Put the row of peer-resume into a bundle; the rung is claimed when it follows."""
    peer: dict[str, Any] = {"id": row.id, "result": row.result}
    if row.assertions:
        peer["assertions"] = row.assertions
    if row.detail is not None:
        peer["detail"] = row.detail[:MAX_DETAIL]
    if row.evidence is not None:
        peer["evidence"] = dict(row.evidence)
    extension: dict[str, Any] = {"version": VERSION, "label": LABEL, "peerResume": peer}
    try:
        extension["rung"] = derive_multi_instance(bundle, peer)
    except NotDerived:
        extension.pop("rung", None)
    digest = digest_of_extension(extension, bundle["witnessSha256"])
    extension["digest"] = digest
    signature = key.sign(_signed_bytes(bundle, digest))
    extension["signature"] = {"alg": KEY_ALGORITHM, "keyId": key_id, "sig": signature, "over": list(OVER)}
    bundle[MEMBER] = extension


def derive_multi_instance(bundle: Mapping[str, Any], peer: Mapping[str, Any]) -> str:
    """The rung durable-multi-instance, when the rows and the row of peer-resume support it. Raises ``NotDerived``."""
    rows = bundle["results"]["requirements"]
    derive_rung(rows)
    if peer.get("result") != PASS or not as_count(peer.get("assertions")):
        raise NotDerived(f"the row `{PEER_RESUME}` is {peer.get('result')}, not {PASS} with assertions")
    evidence = peer.get("evidence")
    if not isinstance(evidence, dict):
        raise NotDerived(f"the row `{PEER_RESUME}` carries no evidence")
    declared_in = next(row["evidence"]["recoveryBounds"] for row in rows if row["id"] == BOUND_IS_DERIVED)
    declared = {bound.name: bound.bound for bound in read_bounds(declared_in)}
    check_recovery(PEER_RESUME, evidence.get("recovery"), declared)
    _check_tokens(evidence)
    _check_reachability(evidence)
    return MULTI_INSTANCE


def _check_tokens(evidence: Mapping[str, Any]) -> None:
    acceptor, resumer, live = evidence.get("acceptor"), evidence.get("resumer"), evidence.get("instances")
    if not isinstance(live, list) or len(live) > MAX_INSTANCES or not all(is_token(each) for each in live):
        raise NotDerived("the instances that were live at the kill are not a list of opaque tokens")
    if len(set(live)) < 2 or len(set(live)) != len(live):
        raise NotDerived("fewer than two different instances were live at the kill")
    if acceptor not in live or resumer not in live:
        raise NotDerived("the acceptor and the resumer were not both live at the kill")
    if acceptor == resumer:
        raise NotDerived("the work was resumed by the instance that had accepted it")


def _check_reachability(evidence: Mapping[str, Any]) -> None:
    trace = evidence.get("reachability")
    counts = [as_count(trace.get(name)) for name in _TRACE] if isinstance(trace, dict) else [None]
    if None in counts:
        raise NotDerived("there is no trace of the service's reachability across the kill")
    probes, failures, longest = (each or 0 for each in counts)
    if probes < 2 or failures or longest > GAP_LIMIT_MS:
        raise NotDerived("the service did not stay reachable across the kill")


_TRACE: Final = ("probes", "failures", "longestGapMs")


def is_token(value: object) -> bool:
    """Whether it can be an incarnation's token: opaque, long enough, and no number such as a process id."""
    return isinstance(value, str) and TOKEN.fullmatch(value) is not None


def check_extension(bundle: Mapping[str, Any], extension: object, public: bytes | None) -> str | None:
    """The rung that an extension adds to a bundle that is itself in order, if it does.

    ``public`` is the key of the bundle's signature, where it is known. Raises ``ExtensionRefused``.
    """
    if not isinstance(extension, dict) or extension.get("version") != VERSION:
        told = extension.get("version") if isinstance(extension, dict) else None
        raise ExtensionRefused("extension-version", f"`{MEMBER}` is of version {told!r}; this tool knows {VERSION!r}")
    peer = _check_shape(extension)
    if extension.get("digest") != digest_of_extension(extension, bundle.get("witnessSha256")):
        raise ExtensionRefused(
            "extension-digest",
            f"the digest of `{MEMBER}` is not that of its row in this bundle: it was changed or moved",
        )
    _check_signature(bundle, extension, public)
    claim = extension.get("rung")
    try:
        derived = derive_multi_instance(bundle, peer)
    except NotDerived as reason:
        if claim is None:
            return None
        raise ExtensionRefused("extension-not-derivable", f"`{MEMBER}` claims {claim!r}, but {reason}") from None
    if claim is not None and claim != derived:
        raise ExtensionRefused("extension-not-derivable", f"`{MEMBER}` claims {claim!r}, but its row gives {derived}")
    return derived if claim is not None else None


def _check_shape(extension: Mapping[str, Any]) -> Mapping[str, Any]:
    peer = extension.get("peerResume")
    unknown = sorted(set(extension) - _PARTS) + (sorted(set(peer) - _ROW_PARTS) if isinstance(peer, dict) else [])
    if unknown:
        raise ExtensionRefused("extension-malformed", f"`{MEMBER}` holds `{unknown[0]}`, which version 1 does not have")
    if extension.get("label") != LABEL:
        raise ExtensionRefused("extension-malformed", f"`{MEMBER}` is not labelled as an extension")
    if not isinstance(peer, dict) or peer.get("id") != PEER_RESUME or peer.get("result") not in list(TOTALS):
        raise ExtensionRefused("extension-malformed", f"`{MEMBER}` has no row `{PEER_RESUME}`")
    return peer


def _check_signature(bundle: Mapping[str, Any], extension: Mapping[str, Any], public: bytes | None) -> None:
    signature = extension.get("signature")
    if not isinstance(signature, dict) or set(signature) != {"alg", "keyId", "sig", "over"}:
        raise ExtensionRefused("extension-signature", f"`{MEMBER}` has no signature of its own")
    signed_by = bundle["signature"].get("keyId") if isinstance(bundle.get("signature"), dict) else None
    sig = from_base64url(signature["sig"], SIGNATURE_BYTES)
    if signature["alg"] != KEY_ALGORITHM or signature["over"] != list(OVER) or sig is None:
        raise ExtensionRefused("extension-signature", f"the signature of `{MEMBER}` is not one over {', '.join(OVER)}")
    if signature["keyId"] != signed_by:
        raise ExtensionRefused("extension-signature", f"`{MEMBER}` is signed with another key than the bundle")
    if public is None:
        return
    try:
        data = _signed_bytes(bundle, extension["digest"])
    except (KeyError, TypeError):
        raise ExtensionRefused("extension-signature", "a part that the signature covers is missing") from None
    if not signature_holds(public, sig, data):
        raise ExtensionRefused("extension-signature", f"the signature of `{MEMBER}` does not verify")
