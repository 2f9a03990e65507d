"""The ledger of effects: who may send a call, and what came of it.

An effect has an identity that comes from its content. Whoever inserts it first may send the call; another one that
wants the same effect waits for that outcome and takes it. So work that is delivered twice has its effect once, also
when both deliveries are at the same place at the same moment. What a dead owner left is sent again, under the same
identity.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Set
from typing import Any, Final, NamedTuple

from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.history.canonical import digest_of
from sim_runtime.host.claims import is_live
from sim_runtime.host.store import HostStore, now_us

TENANT: Final = "default"
CLAIMED: Final = "claimed"
COMPLETED: Final = "completed"
#: A definite failure: there is no effect, and the identity is free again.
RELEASED: Final = "released"
#: It is not known whether the effect took place.
ESCAPED: Final = "escaped"

BUSINESS: Final = "business-identity"
RECIPE: Final = "activity-recipe"
DEDUPLICATED: Final = "deduplicated-of:"

SEND: Final = "send"
KNOWN: Final = "known"
WAIT: Final = "wait"

_STATE_OF: Final = {"success": COMPLETED, "failure": RELEASED, "ambiguous": ESCAPED}


class Permit(NamedTuple):
    """What to do about a call: ``send`` it, take the ``known`` answer, or ``wait`` for another one's outcome."""

    what: str
    answer: Answer | None = None


def identity_of(run: str, workflow: str, call: Call) -> tuple[str, str]:
    """The identity of a call's effect, and how it is made. Retries and reissues have the identity of the first try."""
    content: list[Any]
    if call.idempotency == "keyed":
        content = [TENANT, call.action, call.connection, call.key, call.arguments]
        # A key that the Workfile does not give is made of the run's id and the step's path.
        is_derived = call.key is not None and call.key.startswith(f"{run}:")
        return digest_of(content), RECIPE if is_derived else BUSINESS
    content = [TENANT, run, workflow, call.id, call.generation, call.action, call.arguments]
    if call.idempotency == "none":
        content.append([call.attempt, call.reissue])
    return digest_of(content), RECIPE


def new_invocation() -> str:
    """The name of one sending."""
    return f"inv-{secrets.token_hex(12)}"


class Ledger:
    """The ledger as one instance sees it. Everything happens in the transaction that is open."""

    def __init__(self, store: HostStore, token: str) -> None:
        self._store = store
        self._token = token

    def ask(self, effect: str, keying: str, run: str, call: Call, invocation: str, under_way: Set[str]) -> Permit:
        """May the call be sent? ``under_way`` are the invocations of this instance that still may end by themselves."""
        node, attempt = call.path, call.attempt - 1
        inserted = self._store.change(
            "insert or ignore into host_effects values (?, ?, ?, ?, ?, ?, ?, ?, ?, null)",
            *(effect, run, node, attempt, keying, CLAIMED, now_us(), invocation, self._token),
        )
        if inserted:
            return Permit(SEND)
        row = self._store.one("select run, state, invocation, owner, answer from host_effects where id = ?", effect)
        assert row is not None
        first, state, sending, owner, answer = row
        if state == COMPLETED:
            self._note_alias(effect, first, run, node, attempt)
            return Permit(KNOWN, answer_of(answer))
        is_other = sending != invocation
        if state == CLAIMED and is_other and (sending in under_way if owner == self._token else self._lives(owner)):
            return Permit(WAIT)
        self._store.change(
            "update host_effects set run = ?, node = ?, attempt = ?, state = ?, at = ?, invocation = ?, owner = ?"
            " where id = ?",
            *(run, node, attempt, CLAIMED, now_us(), invocation, self._token, effect),
        )
        return Permit(SEND)

    def _lives(self, owner: str) -> bool:
        return is_live(self._store, owner)

    def _note_alias(self, effect: str, first: str, run: str, node: str, attempt: int) -> None:
        if first != run:
            self._store.change(
                "insert or ignore into host_aliases values (?, ?, ?, ?, ?)", run, node, attempt, effect, now_us()
            )

    def settle(self, effect: str, invocation: str, answer: Answer) -> None:
        """What came of a call. A sending that was taken over meanwhile changes nothing."""
        self._store.change(
            "update host_effects set state = ?, at = ?, answer = ? where id = ? and invocation = ? and state = ?",
            *(_STATE_OF.get(answer.kind, ESCAPED), now_us(), text_of(answer), effect, invocation, CLAIMED),
        )

    def escape(self, effect: str, invocation: str) -> None:
        """Nobody waits for the answer any more."""
        self._store.change(
            "update host_effects set state = ?, at = ? where id = ? and invocation = ? and state = ?",
            *(ESCAPED, now_us(), effect, invocation, CLAIMED),
        )


def text_of(answer: Answer) -> str | None:
    """An answer as it is kept; only successes are."""
    return json.dumps({"result": answer.result}, ensure_ascii=False) if answer.kind == "success" else None


def answer_of(text: str | None) -> Answer:
    """The answer that was kept."""
    return Answer("success", result=json.loads(text)["result"] if text is not None else None)


def effects_of(store: HostStore, run: str) -> list[dict[str, Any]]:
    """The effects of a run as the protocol shows them. Raises ``StoreError``."""
    found = [
        {
            "effectId": effect,
            "nodeId": node,
            "attempt": attempt,
            "keying": keying,
            "state": state,
            "at": at,
            "invocationId": invocation,
        }
        for effect, node, attempt, keying, state, at, invocation in store.all(
            "select id, node, attempt, keying, state, at, invocation from host_effects where run = ? order by at, id",
            run,
        )
    ]
    for effect, node, attempt, at, first in store.all(
        "select a.effect, a.node, a.attempt, a.at, e.run from host_aliases a join host_effects e on e.id = a.effect"
        " where a.run = ? order by a.at, a.effect",
        run,
    ):
        found.append(
            {
                "effectId": effect,
                "nodeId": node,
                "attempt": attempt,
                "keying": BUSINESS,
                "state": COMPLETED,
                "at": at,
                "invocationId": f"{DEDUPLICATED}{first}",
            }
        )
    return found
