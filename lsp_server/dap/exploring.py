"""``workfile/explore``: crashes and outcomes from where a run stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from analyzer.report.common import plural
from lsp_server.dap.live import Live
from lsp_server.dap.protocol import Refused

Json: TypeAlias = Any

#: Nothing else is answered meanwhile, so that it is not long; ``workfile explore`` takes its time.
BUDGET_S: Final = 10.0


def explore_from(live: Live, cancelled: Callable[[], bool]) -> Json:
    """The report of an exploration that begins with the run as it is; the run stays so. Raises ``Refused``."""
    from sim_runtime.explore import Bounds, explore
    from sim_runtime.explore.report import json_report
    from sim_runtime.samples import NoSample
    from sim_runtime.simulation import CannotSimulate
    from sim_runtime.world.connectors import CannotAnswer

    try:
        found = explore(live.prepared, Bounds(budget_s=BUDGET_S), start=live.run, cancelled=cancelled)
    except (CannotAnswer, CannotSimulate, NoSample) as error:
        raise Refused(str(error)) from None
    if cancelled():
        raise Refused("the request was cancelled", short="cancelled")
    return json_report(found, {})


def in_words(report: Json) -> str:
    """A report for people."""
    outcomes = ", ".join(f"{name} {count}" for name, count in report["outcomes"].items())
    lines = [f"{plural(report['states'], 'state')}; {outcomes or 'no outcome was reached'}"]
    lines.extend(f"{each['kind']} at `{each['path']}`: {each['message']}" for each in report["findings"])
    return "\n".join(lines if report["complete"] else [*lines, "not everything was explored within the time"])
