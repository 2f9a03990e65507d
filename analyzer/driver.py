# Paths are texts here: loading pathlib, or making an object for each path, costs more than it gives.
# ruff: noqa: PTH100, PTH118, PTH120, PTH123
"""Checks many files: cache, processes, suppressions, selection, baseline; the same result for any number of jobs.

Findings come back as they were made, with absolute paths; reports make them relative. The engine is named, not
imported: a run that is answered from the cache never loads it, and worker processes load it themselves.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeAlias, cast

from analyzer.__about__ import __version__
from analyzer.baseline import Baseline, LookedFor
from analyzer.cache import (
    Cache,
    Digests,
    Record,
    code_stamp,
    decode_directives,
    decode_findings,
    default_folder,
    encode_directives,
    encode_findings,
    key_of,
)
from analyzer.findings import Finding
from analyzer.memory import paused_collection
from analyzer.report.common import RuleDocumentation, Suppressed
from analyzer.selection import (
    CheckConfig,
    Selection,
    file_ignores,
    is_left_out,
    matches_any,
    unknown_name_message,
)
from analyzer.shown import relative_path
from analyzer.suppressions import (
    CODE,
    OCCASIONAL_FAMILIES,
    PARTIAL_FAMILIES,
    RULE,
    Comment,
    apply_suppressions,
    find_directives,
)

FILES_PER_JOB = 8
"""Automatic jobs: below so many files for each process, starting one costs more than it saves."""
MAX_JOBS = 64
COLLECT_AFTER = 1_500_000
"""New objects, some 300 MB, after which what was dropped is collected: looking for it costs more than many files do."""
NAME_RULE = "duplicate-workflow"
"""What compares the names of Workfiles; a text that is no file is not compared."""

Progress: TypeAlias = Callable[[int, int], None]


class Config(Protocol):
    """The configuration of a project, as far as running reads it."""

    @property
    def check(self) -> CheckConfig: ...
    @property
    def fingerprint(self) -> str: ...


class Project(Protocol):
    """One configuration root."""

    @property
    def root(self) -> str: ...
    @property
    def config(self) -> Config: ...
    @property
    def index_fingerprint(self) -> str: ...
    @property
    def problems(self) -> tuple[str, ...]: ...
    def overlay_text(self, path: str, text: str | None) -> None:
        """Let a text stand instead of a file's content; None ends that and forgets what is known of the file."""


class FileResult(Protocol):
    """What the engine answers for one file: findings in order, comments, and what they depend on.

    ``text`` and ``digest`` are of what it read, so that nothing is read twice and no result is kept for other content;
    ``digest`` is "" when it could not read the file.
    """

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def comments(self) -> Sequence[Comment]: ...
    @property
    def dependencies(self) -> Sequence[str]: ...
    @property
    def reads_index(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def digest(self) -> str: ...


class Discovery(Protocol):
    """The files found and what could not be."""

    @property
    def files(self) -> Sequence[str]: ...
    @property
    def problems(self) -> Sequence[str]: ...


CheckFile: TypeAlias = Callable[[Project, str, str | None, tuple[str, ...] | None], FileResult]


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the engine's functions are, as ``module:function``; plain text, so that it can go to worker processes.

    ``packages`` stand beside this one and hold the engine's code: results of other code are not used again.
    """

    check: str = "analyzer.check:check_file"
    project: str = "analyzer.workspace.project:project_for"
    discover: str = "analyzer.workspace.project:discover"
    rules: str = "analyzer.rules.registry:all_rules"
    packages: tuple[str, ...] = ("analyzer",)

    def check_file(self) -> CheckFile:
        """The function that checks one file; this loads the whole engine."""
        return cast(CheckFile, _load(self.check))

    def project_for(self) -> Callable[[str], Project]:
        """The function that finds the project of a file."""
        return cast("Callable[[str], Project]", _load(self.project))

    def find_files(self, paths: Sequence[str]) -> Discovery:
        """The files to check among files and folders."""
        return cast("Callable[[Sequence[str]], Discovery]", _load(self.discover))(paths)

    def all_rules(self) -> Mapping[str, RuleDocumentation]:
        """Every rule by name."""
        return cast("Callable[[], Mapping[str, RuleDocumentation]]", _load(self.rules))()


DEFAULT_ENGINE = Engine()
EVERYTHING = Selection()


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True, slots=True)
class Options:
    """How to check. ``profiles`` None is what the configuration says; ``jobs`` None is as many as pay.

    ``nameless`` is the path of a text that stands for no file (standard input): it may well be the content of one of
    the files, and that one is no duplicate of it. ``extra`` are findings by path that something else made (recorded
    histories): they are suppressed, selected and reported with the others; ``run_families`` names their families.
    """

    profiles: tuple[str, ...] | None = None
    selection: Selection = EVERYTHING
    baseline: Baseline | None = None
    jobs: int | None = None
    cache: bool = True
    engine: Engine = DEFAULT_ENGINE
    run_families: tuple[str, ...] = ()
    nameless: str | None = None
    extra: Mapping[str, Sequence[Finding]] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """What a run found. ``files`` were checked; ``problems`` say in one line each what could not be done.

    ``looked_for`` tells of a path and a rule whether a finding would have been reported, if there were one.
    """

    files: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Suppressed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stale_baseline: int = 0
    looked_for: LookedFor = lambda _path, _rule: False


@dataclass(slots=True)
class _Work:
    """One file to check; ``result`` is its record, or in words why there is none, once that is known."""

    path: str
    project: Project
    result: Record | str | None = None


def check_files(
    files: Sequence[str],
    options: Options,
    texts: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Check the files, absolute paths; ``texts`` stand instead of the content on disk, and then nothing is cached.

    Nothing that is wrong with files, configuration or the engine itself is raised: it is in ``problems``. With
    ``WORKFILE_DEBUG`` in the environment a fault of the engine is raised all the same, for its traceback.
    """
    texts = texts or {}
    outcome = Outcome()
    with paused_collection():
        works = _plan(files, options, outcome)
        if texts:
            _check_texts(works, options, texts, progress)
        else:
            _check_on_disk(works, options, progress)
        _collect(works, options, outcome)
    return outcome


def _check_on_disk(works: Sequence[_Work], options: Options, progress: Progress | None) -> None:
    caches = _Caches(options)
    for work in works:
        work.result = caches.get(work)
    misses = [work for work in works if work.result is None]
    _check_misses(misses, options, _Counter(progress, len(works), len(works) - len(misses)))
    for work in misses:
        if isinstance(work.result, list):
            caches.put(work, work.result)
    caches.save()


def _check_texts(works: Sequence[_Work], options: Options, texts: Mapping[str, str], progress: Progress | None) -> None:
    """In this process and without the cache: whatever reads one of the files sees its text."""
    for path, text in texts.items():
        options.engine.project_for()(path).overlay_text(path, text)
    try:
        _check_here(works, options, texts, _Counter(progress, len(works), 0))
    finally:
        forget(texts, options.engine)


def forget(paths: Iterable[str], engine: Engine = DEFAULT_ENGINE) -> None:
    """Drop what the projects know of these files in this process: they were written, or their texts no longer stand."""
    for path in paths:
        engine.project_for()(path).overlay_text(path, None)


class _Counter:
    """Tells how many of the files are done."""

    __slots__ = ("_done", "_progress", "_total")

    def __init__(self, progress: Progress | None, total: int, done: int) -> None:
        self._progress = progress
        self._total = total
        self._done = done

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)


def _plan(files: Sequence[str], options: Options, outcome: Outcome) -> list[_Work]:
    """The files with their projects; of a project with a faulty configuration the fault is reported, not its files."""
    works: list[_Work] = []
    faulty: set[str] = set()
    checked: set[str] = set()
    project_for = options.engine.project_for()
    for path in files:
        project = project_for(path)
        if project.root not in checked:
            checked.add(project.root)
            problems = [*project.problems, *_unknown_rules(project, options.engine)]
            if problems:
                faulty.add(project.root)
                outcome.problems.extend(problems)
        if project.root not in faulty:
            works.append(_Work(path, project))
    return works


def _unknown_rules(project: Project, engine: Engine) -> list[str]:
    check = project.config.check
    names = [*check.select, *check.ignore]
    for ignored in check.per_file_ignores.values():
        names.extend(ignored)
    if not names:
        return []
    found = (problem_of_rule(name, engine) for name in dict.fromkeys(names))
    return [f"in the configuration of `{project.root}`, {problem}" for problem in found if problem is not None]


def problem_of_rule(name: str, engine: Engine = DEFAULT_ENGINE) -> str | None:
    """Why ``name`` cannot be selected or ignored, with the nearest rule; None when it can."""
    rules, families = known_rules(engine)
    return unknown_name_message(name, rules, families)


def known_rules(engine: Engine = DEFAULT_ENGINE) -> tuple[list[str], list[str]]:
    """The names of all rules and of all families, sorted."""
    rules = engine.all_rules()
    return sorted(rules), sorted({rule.code for rule in rules.values()})


class _Caches:
    """The caches of the roots in a run, each opened when its first file comes."""

    __slots__ = ("_caches", "_digests", "_folder", "_profiles", "_stamp")

    def __init__(self, options: Options) -> None:
        self._caches: dict[str, Cache] = {}
        self._folder = default_folder() if options.cache else None
        self._profiles = options.profiles
        self._digests = Digests()
        engine = options.engine
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        folders = [os.path.join(here, name) for name in engine.packages]
        self._stamp = f"{code_stamp(folders)} {engine.check} {engine.project}" if options.cache else ""

    def get(self, work: _Work) -> Record | None:
        """The kept record of the file, if it is still true; a file that cannot be read has none."""
        if self._folder is None:
            return None
        cache = self._open(self._folder, work.project)
        if not cache.has(work.path):
            return None
        return cache.get(work.path, self._digests, lambda: work.project.index_fingerprint)

    def put(self, work: _Work, record: Record) -> None:
        """Keep a record."""
        if self._folder is not None:
            self._open(self._folder, work.project).put(work.path, record)

    def save(self) -> None:
        """Write all of them."""
        for opened in self._caches.values():
            opened.save()

    def _open(self, folder: str, project: Project) -> Cache:
        cache = self._caches.get(project.root)
        if cache is None:
            key = key_of(__version__, self._stamp, project.config.fingerprint, self._profiles)
            cache = self._caches[project.root] = Cache(folder, project.root, key)
        return cache


def _check_here(works: Sequence[_Work], options: Options, texts: Mapping[str, str], done: _Counter) -> None:
    digests = Digests()
    for work in works:
        work.result = check_one(options.engine, work.path, texts.get(work.path), options.profiles, digests)
        done.add(1)
        collect_when_due()


def collect_when_due() -> None:
    """Collect garbage when there may be much of it; to be called between files while collection is paused."""
    if gc.get_count()[0] > COLLECT_AFTER:
        gc.collect()


def _check_misses(works: Sequence[_Work], options: Options, done: _Counter) -> None:
    """Check the files in this process or in several; results are set on the works."""
    jobs = min(_jobs(options, len(works)), len(works))
    if jobs <= 1:
        _check_here(works, options, {}, done)
        return
    for project in {work.project.root: work.project for work in works}.values():
        # Nearly every Workfile asks for it: built once here, forked processes share it instead of building one each.
        _ = project.index_fingerprint
    from analyzer.pool import check_in_processes  # slow to import, and only needed here

    results = check_in_processes([work.path for work in works], options.engine, options.profiles, jobs, done.add)
    for work in works:
        work.result = results[work.path]


def _jobs(options: Options, count: int) -> int:
    if options.jobs is not None:
        return min(options.jobs, MAX_JOBS)
    return max(1, min(available_cores(), count // FILES_PER_JOB, MAX_JOBS))


def available_cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_one(
    engine: Engine, path: str, text: str | None, profiles: tuple[str, ...] | None, digests: Digests
) -> Record | str:
    """The record of one file, or in words why there is none; ``text`` None is the content on disk."""
    try:
        project = engine.project_for()(path)
        result = engine.check_file()(project, path, text, profiles)
        index = project.index_fingerprint if result.reads_index else None
    except Exception as error:  # a fault of ours: one file must not take the others with it
        if os.environ.get("WORKFILE_DEBUG"):
            raise
        return (
            f"internal error while checking `{path}`: {type(error).__name__}: {error}; "
            "this is a fault of workfile itself, `WORKFILE_DEBUG=1` shows where"
        )
    if not result.digest:
        return _unreadable(path)
    dependencies = [[other, digests.of(other)] for other in result.dependencies if other != path]
    return [
        result.digest,
        index,
        dependencies,
        encode_findings(path, result.findings),
        encode_directives(find_directives(result.text, result.comments)),
    ]


def _unreadable(path: str) -> str:
    """In words why the engine could not read a file."""
    try:
        with open(path, "rb"):
            reason = "it changed while it was checked; check it again"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot read `{path}`: {reason}"


def _collect(works: Sequence[_Work], options: Options, outcome: Outcome) -> None:
    """Suppress, select and filter the findings of every file, and put them in order."""
    known = cache(lambda: known_rules(options.engine))
    looked = outcome.looked_for = _Looked(options)
    for work in works:
        if not isinstance(work.result, list):
            outcome.problems.append(work.result or f"`{work.path}` was not checked")
            continue
        outcome.files.append(work.path)
        findings = decode_findings(work.path, work.result[3])
        findings.extend(options.extra.get(work.path, ()))
        looked.selections[work.path] = selection = _selection(work, options)
        if any(finding.code in PARTIAL_FAMILIES for finding in findings):
            looked.partial.add(work.path)
        directives = decode_directives(work.result[4])
        report_unused = selection.wants_rule(RULE, CODE)
        judged = apply_suppressions(
            work.path, findings, directives, known, options.run_families, report_unused=report_unused
        )
        if work.path == options.nameless:
            judged.findings = [finding for finding in judged.findings if finding.rule != NAME_RULE]
        outcome.findings.extend(filter(selection.wants, judged.findings))
        outcome.suppressed.extend(item for item in judged.suppressed if selection.wants(item.finding))
    checked = set(outcome.files)
    for path, others in options.extra.items():
        if path not in checked:
            outcome.findings.extend(filter(options.selection.wants, others))
    outcome.findings.sort(key=Finding.sort_key)
    if options.baseline is not None:
        filtered = options.baseline.filter(outcome.findings, looked)
        outcome.findings = filtered.reported
        outcome.suppressed.extend(Suppressed(finding, "external") for finding in filtered.known)
        outcome.stale_baseline = filtered.stale


class _Looked:
    """What the run looked for, in the words of ``Outcome.looked_for``.

    Not in files that were not checked, not for rules that are left out or that only other calls run, and in a file of
    which parts could not be analysed only for that.
    """

    __slots__ = ("_options", "_rules", "partial", "selections")

    def __init__(self, options: Options) -> None:
        self.selections: dict[str, Selection] = {}
        self.partial: set[str] = set()
        self._options = options
        self._rules = cache(options.engine.all_rules)

    def __call__(self, path: str, rule: str) -> bool:
        options = self._options
        selection = self.selections.get(path, options.selection if path in options.extra else None)
        if selection is None:
            return False
        known = self._rules().get(rule)
        if known is None:
            return True  # no rule of this version, so nothing will ever report it again
        occasional = matches_any(OCCASIONAL_FAMILIES, rule, known.code)
        if occasional and not matches_any(options.run_families, rule, known.code):
            return False
        if path in self.partial and known.code not in PARTIAL_FAMILIES:
            return False
        return selection.wants_rule(rule, known.code) and (occasional or path in self.selections)


def _selection(work: _Work, options: Options) -> Selection:
    """What is reported for one file."""
    check = work.project.config.check
    selection = options.selection.over(check)
    if not check.per_file_ignores:
        return selection
    ignored = file_ignores(check, _inside(work.path, work.project))
    return Selection(selection.select, selection.ignore + ignored) if ignored else selection


def _inside(path: str, project: Project) -> str:
    """A path relative to the project's root, with ``/``."""
    return relative_path(path, project.root)


def is_excluded(path: str, engine: Engine = DEFAULT_ENGINE) -> bool:
    """Whether the configuration of a file, an absolute path, excludes it from searches."""
    project = engine.project_for()(path)
    return is_left_out(project.config.check, _inside(path, project))
