"""Making a call: arguments, keys, and what an answer means against the declared output (language page, section 5)."""

from __future__ import annotations

from typing import Any, Final

from analyzer.expressions.faults import KIND, RANGE, Fault
from analyzer.expressions.times import Duration
from analyzer.expressions.values import Value, equal, from_json
from analyzer.language.durations import parse_duration
from sim_runtime.core.definition import CallDef, ListDef, StepDef
from sim_runtime.core.fitting import json_of, without_nulls
from sim_runtime.core.frames import Failure, key_name
from sim_runtime.core.transaction import Tx
from sim_runtime.history.paths import Address, identity_of

MAX_REISSUES: Final = 3


def prepare_call(tx: Tx, call: CallDef, steps: ListDef, at: Address) -> tuple[Value, Failure | None]:
    """The arguments, and the failure when they do not fit the declared input. Raises ``Fault``."""
    arguments = tx.value(call.arguments, steps, at)
    if call.input_optional:
        arguments = without_nulls(arguments, call.input)
    faults = call.input_fit.faults(json_of(arguments))
    if faults:
        message = f"the arguments of `{call.action}` do not fit its input: {faults[0]}"
        return arguments, Failure("input.invalid", message, {"faults": list(faults)}, "")
    return arguments, None


def timeout_of(tx: Tx, step: StepDef, at: Address) -> int | None:
    """The microseconds of ``timeout``, None when there is none. Raises ``Fault``."""
    if step.timeout is None:
        return None
    value = tx.condition(step.timeout, step.parent, at[:-1])
    us = value.us if isinstance(value, Duration) else parse_duration(value) if isinstance(value, str) else None
    if us is None:
        raise Fault(KIND, "a timeout is a duration")
    if us <= 0:
        raise Fault(RANGE, "a timeout is longer than zero")
    return us


def derived_key(tx: Tx, id_: str, action: str, base: str | None) -> str:
    """The key of a keyed call: the explicit one or the path, and the number of compensations once there was one. Those
    of the whole lineage count, also where a step of another name had the key."""
    key = base if base is not None else f"{tx.state.key_run}:{id_}"
    count = tx.state.compensated.get(id_) or 0
    while key_name(action, _numbered(key, count)) in tx.state.ended:
        count += 1
    return _numbered(key, count)


def _numbered(key: str, count: int) -> str:
    return key if not count else f"{key}~{count}"


def key_clashes(tx: Tx, action: str, key: str, arguments: Value) -> bool:
    """Whether other arguments were first sent under the key."""
    first = tx.state.keys.get(key_name(action, key))
    return first is not None and not same_arguments(first, arguments)


def same_arguments(left: Value, right: Value) -> bool:
    """Whether two calls were made with the same arguments, as the outside sees them."""
    return equal(json_of(left), json_of(right))


def result_of(call: CallDef, result: Any) -> tuple[Value, str | None]:
    """The value of an action's result, and why it does not fit the declared output. None is declared: null."""
    if call.output_fit is None:
        return None, None
    try:
        value = from_json(result, call.output_guide)
    except Fault as fault:
        return None, fault.message
    faults = call.output_fit.faults(result)
    return value, faults[0] if faults else None


def placeholder(call: CallDef, at: Address) -> Value:
    """What a suppressed action binds: a small value that fits its output."""
    if call.output_fit is None:
        return None
    from sim_runtime.samples import sample

    return from_json(sample(call.output_fit.schema, identity_of(at)), call.output_guide)
