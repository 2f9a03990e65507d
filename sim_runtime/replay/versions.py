"""What of a history was made under other versions than a definition has (profile: Continuation from History).

Connectors, overlays and time zone data of two versions are not spliced. Deciding anew does not ask for them: it
compares what was decided, and a result that still fits fits. Only a run that goes on is concerned.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from sim_runtime.core.places import step_of
from sim_runtime.history.load import History
from sim_runtime.history.paths import CHILD, address_of
from sim_runtime.history.records import Record
from sim_runtime.replay.definitions import Chosen
from sim_runtime.replay.divergence import PINS, Divergence

Json: TypeAlias = Any

_USES: Final = frozenset({"action.prepared", "action.suppressed", "compensation.prepared", "subscription.opened"})


def other_version(history: History, chosen: Chosen) -> Divergence | None:
    """The first record that was made under another version of a connector, an overlay or time zone data; a run that
    goes on under ``chosen`` takes nothing over from there on."""
    before, after = history.header.pins, chosen.pins
    if not history.records:
        return None
    if before["timezone"] != after["timezone"] and sum(each.boundary for each in history.records) > 1:
        return Divergence(history.records[0], None, PINS)
    if (before["manifests"], before["overlays"]) == (after["manifests"], after["overlays"]):
        return None
    for record in history.records:
        if record.kind in _USES:
            name = connector_of(record)
            inside = _workflow_at(chosen, record)
            if _version(before, inside, name) != _version(after, inside, name):
                return Divergence(record, None, PINS)
    return None


def first_invalid(history: History, chosen: Chosen, divergence: Divergence | None) -> Divergence | None:
    """What of a history a run that goes on under ``chosen`` leaves first: its divergence, or what another version made
    before that."""
    other = other_version(history, chosen)
    if other is None or (divergence is not None and divergence.recorded.seq < other.recorded.seq):
        return divergence
    return other


def connector_of(record: Record) -> str:
    """The connector of an action, undo or wait."""
    return str(record.data.get("action") or record.data["trigger"]).partition(".")[0]


def _workflow_at(chosen: Chosen, record: Record) -> str | None:
    """The name of the child workflow that a record is of; None for the root's."""
    address = address_of(record.id)
    if CHILD not in address:
        return None
    depth = len(address) - 1 - address[::-1].index(CHILD)
    step = step_of(chosen.definition, address[:depth])
    return step.callee.workflow if step is not None and step.callee is not None else None


def _version(pins: Json, inside: str | None, connector: str) -> tuple[Json, Json]:
    key = f"{inside}/{connector}" if inside is not None and f"{inside}/{connector}" in pins["manifests"] else connector
    return pins["manifests"].get(key), pins["overlays"].get(key)
