"""Re-evaluation: deciding anew from the root, with recorded values for everything that came from outside.

Nothing is called and nothing goes on: the only inputs are the records (R-REV-03). What comes out is compared record by
record, and the first recorded entry that is not met ends it (R-REV-05). The records of a history that was cut anywhere
are met by the definition that wrote them, whatever happened to the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from analyzer.memory import paused_collection
from sim_runtime.core.decide import transact
from sim_runtime.core.evolve import evolve
from sim_runtime.core.frames import EMPTY, State
from sim_runtime.history.load import History
from sim_runtime.history.records import Record
from sim_runtime.history.refusal import Refused
from sim_runtime.replay.comparing import Comparison
from sim_runtime.replay.definitions import Chosen, chosen, refuse_other_zones
from sim_runtime.replay.divergence import Divergence, divergence_of
from sim_runtime.replay.inputs import PASSED_ON, input_of, transactions
from sim_runtime.replay.reading import refusal_at, validate
from sim_runtime.samples import NoSample

#: Records whose values nothing later depends on.
_NEVER_USED: Final = frozenset({"late_result.recorded", "event.refused"})


@dataclass(slots=True)
class Evaluation:
    """What evaluation came to: the state and records of the transactions that were met, and where it left the history.

    ``evaluated`` are the records that came in place of the first transaction that was not met.
    """

    state: State = field(default_factory=lambda: EMPTY)
    records: list[Record] = field(default_factory=list)
    divergence: Divergence | None = None
    evaluated: list[Record] = field(default_factory=list)

    @property
    def compatible(self) -> bool:
        """Whether the whole history was met."""
        return self.divergence is None


def reevaluate(history: History, definition: Chosen | None = None) -> Evaluation:
    """Decide a history anew, on the definition that it pinned or on another one.

    Raises:
        Refused: the history, or its pinned definition, cannot be used.
    """
    if definition is None:
        definition = chosen(history.header)
    if not history.records:
        return Evaluation()  # an executor that died before its first boundary decided nothing
    validate(history)
    refuse_withheld(history)
    if definition.is_pinned:
        refuse_other_zones(history.header)
    return evaluate(history, definition)


def refuse_withheld(history: History) -> None:
    """Refuse a history in which a value is withheld that evaluation needs (D-HIST-10)."""
    needed = [each for each in history.withheld if history.records[each.seq - 1].kind not in _NEVER_USED]
    if needed:
        classes = tuple(dict.fromkeys(each.class_ for each in needed))
        message = f"a value that evaluation needs was withheld ({', '.join(classes)})"
        raise Refused(refusal_at(history.records[needed[0].seq - 1], "withheld", message, classes))


def evaluate(history: History, definition: Chosen, run_id: str | None = None) -> Evaluation:
    """Decide a valid history anew; ``run_id`` is that of a successor run, when it is for one."""
    records = history.records
    comparison = Comparison(history.header.run, run_id or history.header.run)
    found = Evaluation()
    with paused_collection():
        for recorded in transactions(records):
            if recorded[0].kind in PASSED_ON:
                for record in recorded:
                    found.state = evolve(found.state, record)
                found.records.extend(recorded)
                continue
            try:
                given = input_of(found.state, recorded[0], run_id)
                evaluated, state = transact(found.state, definition.definition, given)
            except NoSample as error:
                raise Refused(refusal_at(recorded[0], "unsupported_definition", str(error))) from None
            place = _first_not_met(recorded, evaluated, comparison)
            if place is not None:
                found.evaluated = evaluated
                found.divergence = _divergence(recorded, evaluated, place, definition, records, comparison)
                return found
            found.state = state
            found.records.extend(evaluated)
    return found


def _first_not_met(recorded: list[Record], evaluated: list[Record], comparison: Comparison) -> int | None:
    """The place of the first recorded entry of a transaction that is not met."""
    for place, record in enumerate(recorded):
        if place >= len(evaluated) or not comparison.meets(record, evaluated[place]):
            return place
    return None if len(evaluated) == len(recorded) else len(recorded)


def _divergence(
    recorded: list[Record],
    evaluated: list[Record],
    place: int,
    definition: Chosen,
    records: list[Record],
    comparison: Comparison,
) -> Divergence:
    if place == len(recorded):
        # More comes before the boundary that the last record was.
        return Divergence(recorded[-1], evaluated[place], "unrecorded")
    instead = evaluated[place] if place < len(evaluated) else None
    return divergence_of(recorded[place], instead, definition.definition, records, comparison)
