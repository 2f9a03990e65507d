"""One simulated run from files: the Workfile, a scenario, and what the caller adds; what the commands are made of.

    simulation = simulate("order.workfile.yaml", scenario="late.scenario.yaml")
    simulation.report["status"]

``prepare`` loads and compiles, ``Simulation`` runs and reports. Nothing outside the files is touched, and the same
files and options give the same history, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.check import engine_for
from analyzer.driver import NAME_RULE, Engine, Options, check_files
from analyzer.expressions.faults import Fault
from analyzer.findings import Finding
from analyzer.model.nodes import Workflow
from analyzer.model.problems import Problems
from analyzer.shown import shown_path
from analyzer.workspace.files import file_kind
from analyzer.workspace.project import Project, project_for
from sim_runtime.core.compiling import CannotRun, definition_of
from sim_runtime.driver.protocol import CrashPoint
from sim_runtime.driver.run import LimitReached, Run
from sim_runtime.history.chain import Chain, export_lines
from sim_runtime.history.header import Header
from sim_runtime.history.pins import called_by, listed_connector, pins_of, used_connectors
from sim_runtime.observed import ObservedRun
from sim_runtime.samples import NoSample
from sim_runtime.world.connectors import CannotAnswer, SimulatedWorld, actions_of
from sim_runtime.world.expectations import Difference, at_path, differences
from sim_runtime.world.reading import read_scenario
from sim_runtime.world.scenario import UNSET, Scenario, Unset

if TYPE_CHECKING:
    from sim_runtime.core.definition import Definition
    from sim_runtime.driver.store import SqliteStore

Json: TypeAlias = Any

ENGINE: Final = Engine(check="sim_runtime.rules.engine:check_file", packages=("analyzer", "sim_runtime"))


#: The keys of the JSON of ``workfile run``, in their order (interfaces page).
REPORT_KEYS: Final = (
    "version",
    "run",
    "workflow",
    "status",
    "result",
    "stop",
    "cancel",
    "failure",
    "clock",
    "bindings",
    "waiting",
    "holds",
    "effects",
    "calls",
    "crashes",
    "generation",
    "history",
)


class CannotSimulate(Exception):
    """The simulation cannot be carried out; the message is one line. ``findings`` are the errors that it is for."""

    def __init__(self, message: str, findings: Sequence[Finding] = (), files: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)
        self.files = list(files)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a caller sets beside the scenario; ``inputs`` replace the scenario's name by name."""

    inputs: dict[str, Json] = field(default_factory=dict)
    trigger: Json | Unset = UNSET
    start_us: int | None = None
    until_us: int | None = None
    seed: int | None = None
    dry_run: bool = False


@dataclass
class Prepared:
    """Everything that a run is made from; several runs may be made."""

    project: Project
    workflow: Workflow
    definition: Definition
    scenario: Scenario
    changes: Changes = Changes()

    @property
    def inputs(self) -> dict[str, Json]:
        """The run's inputs."""
        return {**self.scenario.inputs, **self.changes.inputs}

    @property
    def until_us(self) -> int | None:
        """The end of the simulation, from the start."""
        return self.scenario.until_us if self.changes.until_us is None else self.changes.until_us

    @cached_property
    def pins(self) -> dict[str, Json]:
        """What a run of the definition is pinned to."""
        return pins_of(self.workflow, self.project)

    def simulation(self, store: SqliteStore | None = None) -> Simulation:
        """A new run, nothing of it done.

        Raises:
            CannotSimulate: there is a payload for a trigger that the Workfile does not have.
            StoreError: the store holds the run already.
        """
        scenario, changes = self.scenario, self.changes
        if self.definition.trigger is None and not isinstance(changes.trigger, Unset):
            name = self.workflow.name
            raise CannotSimulate(f"`{name}` has no root `trigger`, so nothing takes the payload: leave it out")
        trigger = scenario.trigger if isinstance(changes.trigger, Unset) else changes.trigger
        run = ObservedRun(
            self.definition,
            SimulatedWorld(actions_of(self.workflow), scenario.actions),
            inputs=self.inputs,
            trigger=None if isinstance(trigger, Unset) else trigger,
            start_us=scenario.start_us if changes.start_us is None else changes.start_us,
            seed=scenario.seed if changes.seed is None else changes.seed,
            dry_run=scenario.dry_run or changes.dry_run,
            script=replace(scenario.script(), until_us=self.until_us),
            store=store,
        )
        simulation = Simulation(self, run)
        if store is not None:
            store.set_header(run.run_id, simulation.header.json())
        return simulation


class Simulation:
    """A run under way, and what it came to."""

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self.prepared = prepared
        self.run = run
        self._header: Header | None = None
        self._chain: Chain | None = None
        self._reported: tuple[tuple[int, int, int], dict[str, Json]] | None = None

    @property
    def until_us(self) -> int | None:
        """The instant at which the simulation ends at the latest."""
        until = self.prepared.until_us
        return None if until is None else self.run.start_us + until

    def fork(self) -> Simulation:
        """A copy that goes its own way."""
        copy = Simulation(self.prepared, self.run.fork())
        copy._header = self._header
        copy._chain = None if self._chain is None else self._chain.fork()
        return copy

    def finish(self) -> Simulation:
        """Run to the end: an outcome, nothing left to act, or ``until``. Raises ``CannotSimulate``."""
        try:
            self.run.finish()
        except (CannotAnswer, LimitReached, NoSample) as error:
            raise CannotSimulate(str(error)) from None
        return self

    @property
    def header(self) -> Header:
        """The header of the run's history."""
        if self._header is None:
            self._header = Header(self.run.run_id, self.prepared.workflow.name or "", self.prepared.pins)
        return self._header

    @property
    def report(self) -> dict[str, Json]:
        """The JSON of ``workfile run``."""
        run = self.run
        seen = (len(run.records), run.now, run.crashes)
        if self._reported is None or self._reported[0] != seen:
            report = run.report()
            report["history"] = {"records": len(run.records), "digest": f"sha256:{self._digest()}"}
            self._reported = seen, {key: report[key] for key in REPORT_KEYS}
        return self._reported[1]

    def _digest(self) -> str:
        """The digest of the history so far; only what was written since the last time is taken in."""
        records = self.run.records
        if self._chain is None or self._chain.length > len(records):
            self._chain = Chain(self.header)
        return self._chain.extend(islice(records, self._chain.length, None))

    @property
    def unfired(self) -> list[CrashPoint]:
        """The crash points of the scenario that never acted."""
        return list(self.run.unfired)

    def history_lines(self) -> Iterator[str]:
        """The run's history as the lines of a ``.history.jsonl`` file."""
        return export_lines(self.header, self.run.records)

    def differences(self) -> list[Difference]:
        """What of the scenario's ``expect`` is not met."""
        expect = self.prepared.scenario.expect
        return [] if not expect else differences(expect, self.report)

    # ---- what came of it, for tests in Python -------------------------------------------------------

    @property
    def status(self) -> str:
        """``succeeded``, ``failed``, ``stopped``, ``aborted``, ``cancelled``, or where it stands: ``suspended``,
        ``held`` or ``running``."""
        return self.run.status

    @property
    def result(self) -> Json:
        """The result; None while there is none."""
        return self.report["result"]

    @property
    def failure(self) -> Json:
        """``{code, message, path}`` of a failed or aborted run, else None."""
        return self.report["failure"]

    def binding(self, path: str) -> Json:
        """The value at a binding path (``approval.status``, ``each[0].send``). Raises ``KeyError`` where none is."""
        found = at_path(self.report["bindings"], path)
        if isinstance(found, Unset):
            raise KeyError(path)
        return found

    def effects(self, action: str) -> int:
        """How often an action took effect outside, over all steps."""
        return sum(each.count for each in self.run.world.effects() if each.action == action)

    def invocations(self, action: str) -> int:
        """How often an action was called, over all steps."""
        return sum(each.invocations for each in self.run.world.effects() if each.action == action)

    def expect(self, **expected: Json) -> Simulation:
        """Assert what a scenario's ``expect`` can say, as in ``run.expect(status="held", effects={"shop.charge": 1})``.

        Raises:
            AssertionError: something is otherwise; the message tells all differences in words.
            CannotSimulate: an expectation is written in a way that can never be met.
        """
        __tracebackhide__ = True  # pytest then shows the line that expects, not this one
        from sim_runtime.given import check_parts, scenario_of

        scenario = scenario_of({"expect": expected}, self.prepared.scenario)
        check_parts(self.prepared, scenario)
        found = differences(scenario.expect or {}, self.report)
        if found:
            raise AssertionError("\n".join(f"{each.at}: {each.words}" for each in found))
        return self


def simulate(workfile: str | None = None, scenario: str | None = None, changes: Changes | None = None) -> Simulation:
    """Run a Workfile, or the one that a scenario names, to its end; ``sim_runtime.simulate`` is this with more comfort.

    Raises:
        CannotSimulate: a file cannot be read, or has findings of severity error.
    """
    return prepare(workfile, scenario, changes).simulation().finish()


def prepare(
    workfile: str | None = None,
    scenario: str | Scenario | None = None,
    changes: Changes | None = None,
    *,
    namesakes: bool = False,
) -> Prepared:
    """Load and compile. The Workfile, what it depends on, and the scenario's file must be free of error findings.

    ``namesakes``: another Workfile of the same name under the root is no error; two versions of one may be compared.

    Raises:
        CannotSimulate: as ``simulate``.
    """
    if isinstance(scenario, Scenario):
        script = scenario
    else:
        script = Scenario() if scenario is None else load_scenario(os.path.abspath(scenario))  # noqa: PTH100
    path = script.workfile if workfile is None else os.path.abspath(workfile)  # noqa: PTH100
    try:
        if not path:
            raise CannotSimulate("neither a Workfile nor a scenario that names one was given")
        project, workflow = load_workflow(path)
    except CannotSimulate:
        if workfile is None and script.path:
            _refuse_errors([], script.path, namesakes)  # what is wrong with the scenario's `workfile`, at its place
        raise
    _refuse_errors(files_of(project, workflow), script.path, namesakes)
    try:
        definition = definition_of(workflow, project)
    except (CannotRun, Fault) as error:
        raise CannotSimulate(f"`{shown_path(path)}` cannot be run: {error}") from None
    return Prepared(project, workflow, definition, script, changes or Changes())


def unfired_words(point: CrashPoint) -> str:
    """``before record 17``, ``after the 2nd `action.dispatched` at `charge```."""
    if point.seq is not None:
        return f"{point.when} record {point.seq}"
    place = f" at `{point.path}`" if point.path else "" if point.path is None else " of the run itself"
    often = "" if point.nth == 1 else f" number {point.nth}"
    return f"{point.when} `{point.kind}`{often}{place}"


def load_workflow(path: str) -> tuple[Project, Workflow]:
    """The resolved Workfile at an absolute path. Raises ``CannotSimulate``."""
    project = project_for(path)
    if project.problems:
        raise CannotSimulate(project.problems[0])
    if file_kind(path) != "workflow":
        advice = "; play it with `--scenario`, or with `workfile test`" if file_kind(path) == "scenario" else ""
        raise CannotSimulate(f"`{shown_path(path)}` is not a Workfile{advice}")
    workflow = None if project.document(path) is None else engine_for(project).typed(path)
    if workflow is None:
        raise CannotSimulate(f"cannot read `{shown_path(path)}`: {project.unreadable(path) or 'it cannot be analysed'}")
    return project, workflow


def load_scenario(path: str) -> Scenario:
    """The scenario at an absolute path; its shape only. Raises ``CannotSimulate``."""
    project = project_for(path)
    if file_kind(path) not in ("scenario", None):
        raise CannotSimulate(f"`{shown_path(path)}` is not a scenario: its name must end in `.scenario.yaml`")
    document = project.document(path)
    if document is None:
        raise CannotSimulate(f"cannot read `{shown_path(path)}`: {project.unreadable(path)}")
    return read_scenario(document, Problems())


def files_of(project: Project, workflow: Workflow) -> list[str]:
    """The Workfile, the manifests and overlays that it uses, and the same of the workflows that it calls."""
    found: dict[str, None] = {}
    for each in (workflow, *called_by(workflow).values()):
        found[each.path] = None
        for name in used_connectors(each):
            manifest = project.connector(each.path, name, listed_connector(each, name)).manifest
            if manifest is not None:
                found[manifest.path] = None
                if manifest.overlay_path is not None:
                    found[manifest.overlay_path] = None
    return list(found)


def _refuse_errors(paths: Sequence[str], scenario: str, namesakes: bool) -> None:
    """Refuse what has errors; what is doubtful in the scenario is told with them."""
    files = [*paths, scenario] if scenario else list(paths)
    outcome = check_files(files, Options(cache=False, jobs=1, engine=ENGINE))
    if outcome.problems:
        raise CannotSimulate(outcome.problems[0])
    allowed = NAME_RULE if namesakes else ""
    errors = [each for each in outcome.findings if each.severity == "error" and each.rule != allowed]
    if errors:
        words = "is an error" if len(errors) == 1 else f"are {len(errors)} errors"
        message = f"`{shown_path(errors[0].path)}` cannot be run: there {words} to mend first"
        told = [each for each in outcome.findings if each.severity == "error" or each.path == scenario]
        raise CannotSimulate(message, told, files)
