"""Effects of the run before in a successor run: what may be sent again, and what holds the run first.

Profile, Continuation from History: sending an action again whose prior effect might exist is safe only when nothing
took effect, when it is inherently idempotent, under the same durable key, or after its compensation; otherwise the run
is held, also when the changed definition no longer has the action.
"""

from __future__ import annotations

from typing import Final

from sim_runtime.core.calling import same_arguments
from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import Attempt, Prior, State
from sim_runtime.core.places import step_of
from sim_runtime.core.transaction import Tx
from sim_runtime.history.paths import address_of

#: What an operator may decide where a continuation is not safe.
DECISIONS: Final = ["succeed", "fail"]


def may_repeat(state: State, id_: str, attempt: Attempt) -> bool:
    """Whether a call may be made although the run before made one there; its recorded outcome may then be reused."""
    prior = state.prior.get(id_)
    if prior is None:
        return True
    if prior.action != attempt.action:
        return False
    if attempt.idempotency == "inherent" or is_same_call(prior, attempt, state.generation):
        return True
    same_key = (attempt.key, attempt.connection) == (prior.key, prior.connection)
    return attempt.key is not None and same_key and same_arguments(prior.arguments, attempt.arguments)


def is_same_call(prior: Prior, attempt: Attempt, generation: int) -> bool:
    """Whether a call is the recorded one, whose outcome is then taken over: all that is fixed before dispatch."""
    return (
        prior.reusable
        and (prior.action, prior.connection, prior.key, prior.timeout, prior.generation)
        == (attempt.action, attempt.connection, attempt.key, attempt.timeout, generation)
        and same_arguments(prior.arguments, attempt.arguments)
    )


def is_contained(definition: Definition, id_: str) -> bool:
    """Whether the definition has a call at that place, so that a hold can wait until it is come to."""
    step = step_of(definition, address_of(id_))
    return step is not None and step.call is not None


def hold_unmet(tx: Tx) -> bool:
    """At the end of a run: hold it for each action with a prior effect that it did not come to. Whether it is held."""
    for id_, prior in sorted(tx.state.prior.items()):
        if not prior.settled and id_ not in tx.state.orphans:
            tx.emit("hold.entered", id_, reason="unsafe_continuation", allowed=DECISIONS)
    return bool(tx.state.orphans)
