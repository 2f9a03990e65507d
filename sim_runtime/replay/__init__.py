"""What can be done with a recorded history: reconstruct its state, re-evaluate it, continue from it.

    from sim_runtime import replay

    history = replay.read("order.history.jsonl")          # raises replay.Refused
    replay.reconstruct(history, seq=17).json()
    replay.reevaluate(history).divergence                  # on the pinned definition
    replay.continue_(history).finish().json()

The three are different operations (profile: Replay). Reconstruction folds and evaluates nothing; re-evaluation decides
anew from what was recorded and has no effect; continuation goes on, the same run or a successor.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sim_runtime.history.load import History
    from sim_runtime.history.refusal import Refusal, Refused
    from sim_runtime.replay.continuation import Continuation, continue_
    from sim_runtime.replay.definitions import Chosen, Definitions, chosen
    from sim_runtime.replay.divergence import Divergence
    from sim_runtime.replay.evaluation import Evaluation, reevaluate
    from sim_runtime.replay.reading import read
    from sim_runtime.replay.reconstruction import Reconstruction, reconstruct

__all__ = [
    "Chosen",
    "Continuation",
    "Definitions",
    "Divergence",
    "Evaluation",
    "History",
    "Reconstruction",
    "Refusal",
    "Refused",
    "chosen",
    "continue_",
    "read",
    "reconstruct",
    "reevaluate",
]

_PLACES: Final = {
    "Chosen": "sim_runtime.replay.definitions",
    "Continuation": "sim_runtime.replay.continuation",
    "Definitions": "sim_runtime.replay.definitions",
    "Divergence": "sim_runtime.replay.divergence",
    "Evaluation": "sim_runtime.replay.evaluation",
    "History": "sim_runtime.history.load",
    "Reconstruction": "sim_runtime.replay.reconstruction",
    "Refusal": "sim_runtime.history.refusal",
    "Refused": "sim_runtime.history.refusal",
    "chosen": "sim_runtime.replay.definitions",
    "continue_": "sim_runtime.replay.continuation",
    "read": "sim_runtime.replay.reading",
    "reconstruct": "sim_runtime.replay.reconstruction",
    "reevaluate": "sim_runtime.replay.evaluation",
}


def __getattr__(name: str) -> Any:
    """Each part is loaded when it is asked for: reconstruction needs nothing of the analyzer's resolving."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found
