"""What a bundle says of profiles, against its own discovery document, rows and relaxations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from analyzer.report.common import plural
from sim_runtime.qualify.names import (
    BLOCKED,
    EGRESS_OBLIGATION,
    EGRESS_ROW,
    FAIL,
    FAMILY_PREFIX,
    OPT_OUT_PREFIX,
    OPT_OUT_REASON,
    PROFILES,
    SKIPPED,
)


class Refusal(NamedTuple):
    """Why a bundle is refused. One that names a profile takes that profile away, any other the whole bundle."""

    name: str
    message: str
    profile: str | None = None


def derivable(profile: str, document: Mapping[str, Any]) -> bool:
    """Whether a discovery document holds everything that a profile asks for."""
    known = PROFILES.get(profile)
    if known is None:
        return False
    return all(isinstance(document.get(name), dict) for name in known.families) and all(
        name in document for name in known.metadata
    )


def owns(profile: str, obligation: str) -> bool:
    """Whether a relaxed obligation (``family.name``) belongs to a profile, by its predicate or its name."""
    family = obligation.partition(".")[0]
    known = PROFILES.get(profile)
    return bool(family) and (family in profile or (known is not None and family in known.families))


def opted_out(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The profiles that signed rows show as opted out of by the operator."""
    return sorted(
        row["id"].removeprefix(OPT_OUT_PREFIX)
        for row in rows
        if row["id"].startswith(OPT_OUT_PREFIX)
        and row["result"] == SKIPPED
        and OPT_OUT_REASON in str(row.get("detail", ""))
    )


def check_profiles(
    claimed: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], relaxations: Sequence[Mapping[str, Any]]
) -> Iterator[Refusal]:
    """Certified profiles that a relaxation, declared or seen, or a blocked row takes away."""
    certified = [each["id"] for each in claimed if each["certified"] is True]
    declared = [each["obligation"] for each in relaxations]
    open_guard = any(row["id"] == EGRESS_ROW and row["result"] == FAIL for row in rows)
    standing = []
    for profile in certified:
        owned = [each for each in declared if owns(profile, each)]
        if owned:
            yield Refusal(
                "relaxed-profile-certified", f"`{profile}` is certified while `{owned[0]}` is relaxed", profile
            )
        else:
            standing.append(profile)
            if open_guard and owns(profile, EGRESS_OBLIGATION):
                message = f"`{profile}` is certified, but a row shows `{EGRESS_OBLIGATION}` relaxed without saying so"
                yield Refusal("undeclared-relaxation-observed", message, profile)
    blocked = sum(row["result"] == BLOCKED for row in rows)
    if blocked and standing:
        yield Refusal(
            "blocked-certified",
            f"{plural(blocked, 'row')} {'is' if blocked == 1 else 'are'} blocked: such a bundle certifies nothing",
        )


def check_derivable(
    claimed: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], document: Mapping[str, Any]
) -> Iterator[Refusal]:
    """Opt-outs and certified profiles against the captured discovery document."""
    for name in opted_out(rows):
        family = name.removeprefix(FAMILY_PREFIX)
        advertised = isinstance(document.get(family), dict) if family != name else derivable(name, document)
        if advertised:
            yield Refusal("opted-out-but-advertised", f"`{name}` was opted out of, and the host advertises it")
    for each in claimed:
        if each["certified"] is True and not derivable(each["id"], document):
            message = f"`{each['id']}` is certified, but does not follow from the discovery document"
            yield Refusal("profile-not-derivable", message, each["id"])
