"""The vocabulary of a qualification: rows, rungs, refusals, profiles, patterns and bounds, each once.

Rows, bundle and refusals are those of the OpenWOP durability ladder (RFC 0158) and its bundle version 3; what is ours
is marked so. ``docs/qualification.md`` is the page for users.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

SUITE_NAME: Final = "workfile-tools"
#: The release of the protocol's artifacts that our rows follow.
SPEC_ARTIFACTS: Final = "2.37.0"
TARGET_MAJOR: Final = 2
BUNDLE_VERSION: Final = "3"
SCENARIO: Final = "workfile-qualify.durability"

PREFIX: Final = "openwop.requirement.0158."
AFTER_ACCEPT: Final = f"{PREFIX}kill-after-accept"
DURING_EXECUTION: Final = f"{PREFIX}kill-during-execution"
DUPLICATE_DELIVERY: Final = f"{PREFIX}duplicate-delivery"
BOUND_IS_DERIVED: Final = f"{PREFIX}bound-is-derived"
POISON_EXHAUSTION: Final = f"{PREFIX}poison-exhaustion"

KILL_ROWS: Final = (AFTER_ACCEPT, DURING_EXECUTION)
#: The rows of durable-single-instance, in the order in which they are driven.
SINGLE_INSTANCE_ROWS: Final = (*KILL_ROWS, DUPLICATE_DELIVERY, BOUND_IS_DERIVED, POISON_EXHAUSTION)
#: Ours: the upstream suite has no such row and bundle version 3 no seat for it.
PEER_RESUME: Final = "workfile-tools.peer-resume"

SINGLE_INSTANCE: Final = "durable-single-instance"
MULTI_INSTANCE: Final = "durable-multi-instance"
MULTI_REGION: Final = "multi-region-qualified"
#: From the lowest up; a rung includes those below it.
RUNGS: Final = (SINGLE_INSTANCE, MULTI_INSTANCE, MULTI_REGION)

PASS: Final = "executed-pass"
FAIL: Final = "executed-fail"
SKIPPED: Final = "skipped"
INAPPLICABLE: Final = "inapplicable"
BLOCKED: Final = "blocked"
#: Each result with its name in the totals.
TOTALS: Final = {
    PASS: "executedPass",
    FAIL: "executedFail",
    SKIPPED: "skipped",
    INAPPLICABLE: "inapplicable",
    BLOCKED: "blocked",
}

BUILD_KINDS: Final = ("image-digest", "commit", "artifact-sha256")
EVIDENCE_TIERS: Final = ("self", "steward", "independent")
RELAXATION_LIFETIMES: Final = ("session", "deployment", "persisted")
#: What the attestation covers, in the order in which the signature lists it.
SIGNATURE_OVER: Final = ("witnessSha256", "host.build", "suite.version", "discovery.sha256")
KEY_USE: Final = "certification-bundle"
KEY_ALGORITHM: Final = "ed25519"

#: Names of recovery classes and their terms are the host's own.
EVIDENCE_NAME: Final = re.compile(r"[a-z][A-Za-z0-9._-]{0,63}")
KEY_ID: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")
SHA256_HEX: Final = re.compile(r"[0-9a-f]{64}")

MAX_CLASSES: Final = 16
MAX_TERMS: Final = 16
MAX_BUNDLE_BYTES: Final = 8 * 1024 * 1024
MAX_DISCOVERY_BYTES: Final = 1024 * 1024
#: Deeper JSON is not read: nothing in a bundle comes near it.
MAX_JSON_DEPTH: Final = 200
MAX_DETAIL: Final = 300

#: The row whose failure is itself an open egress guard, and the obligation that it shows to be relaxed.
EGRESS_ROW: Final = "openwop.requirement.0171.webhook-egress-refused"
EGRESS_OBLIGATION: Final = "webhooks.egress-guard"
#: A row `openwop.profile.NAME`, skipped for this reason, is an operator's opt-out.
OPT_OUT_PREFIX: Final = "openwop.profile."
OPT_OUT_REASON: Final = "OPENWOP_OPTED_OUT_PROFILES"
FAMILY_PREFIX: Final = "family."


class Profile(NamedTuple):
    """What a discovery document must hold for a profile to be derivable from it."""

    families: tuple[str, ...]
    metadata: tuple[str, ...]


PROFILES: Final = {
    "openwop-discovery-core": Profile((), ("protocolVersions", "preferredVersion")),
    "openwop-core-standard": Profile(("interrupt", "replay", "webhooks", "idempotency", "eventLog"), ()),
    "openwop-conformance-seams-v2": Profile((), ("conformance",)),
}

#: Every refusal with what it means. The order is that of a report.
REFUSALS: Final = {
    "not-json": "the file is not JSON",
    "not-an-object": "the file is JSON, but not an object",
    "non-ijson": "the JSON is not I-JSON: a name appears twice, a surrogate stands alone, or a number is out of range",
    "not-v3": "the bundle is not of version 3",
    "bundle-malformed": "a part is missing, unknown or of the wrong shape (ours)",
    "rows-malformed": "a row lacks its id, scenario or result, or holds something unknown",
    "duplicate-requirement": "a requirement has more than one row",
    "reason-missing": "a row did not pass and gives no reason",
    "vacuous-pass": "a row passed without an assertion",
    "totals-mismatch": "the totals are not those of the rows",
    "witness-digest": "the witness digest is not that of the rows",
    "assertion-count": "the assertion count is not the sum of the rows",
    "detail-missing": "rows that did not pass are not listed in `detail.nonPass`",
    "build-missing": "the host's build is not named",
    "build-kind": "the kind of the host's build is unknown",
    "build-mismatch": "the bundle is about another build than the one asked for",
    "target-major": "the protocol's major version is unknown, or not the one asked for",
    "generated-at-invalid": "the time of the bundle is missing or no timestamp",
    "signature-missing": "there is no Ed25519 signature",
    "signature-over": "the signature does not say that it covers exactly the four parts",
    "signature-key-unknown": "the host does not publish the key of the signature",
    "signature-key-retired": "the key was retired before the bundle was made",
    "signature-invalid": "the signature does not verify",
    "independent-unsigned": "an independent claim has no verifier's signature",
    "independent-self-signed": "an independent claim is signed with the host's own key",
    "independent-unverifiable": "an independent claim cannot be checked without the verifier's key",
    "verifier-signature-invalid": "the verifier's signature does not verify",
    "rung-not-derivable": "the rung that is claimed does not follow from the rows",
    "undeclared-relaxation-observed": "a row shows a relaxation that the bundle does not declare",
    "relaxed-profile-certified": "a profile is certified although an obligation of it is relaxed",
    "blocked-certified": "a profile is certified although rows are blocked",
    "discovery-digest": "the captured discovery document is not the one that is signed for",
    "opted-out-but-advertised": "a profile was opted out of and is advertised",
    "profile-not-derivable": "a certified profile does not follow from the discovery document",
    "extension-version": "the extension is of a version that this tool does not know (ours)",
    "extension-malformed": "the extension lacks a part or holds something unknown (ours)",
    "extension-digest": "the extension's digest is not that of its row (ours)",
    "extension-signature": "the extension's signature is missing or does not verify (ours)",
    "extension-not-derivable": "the rung that the extension claims does not follow from its row (ours)",
}
