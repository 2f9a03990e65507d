"""Checks one file: the passes in order, and problems made into findings. Pure but for what the project reads.

``check_file`` is what the command line, the pre-commit hook and the editor call; ``Engine`` keeps the typed Workfiles
of a project, so that a child workflow is analysed once however many callers it has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from analyzer.findings import MAX_FINDINGS, Edit, Finding, Fix, Range, Related
from analyzer.flow.control import check_control
from analyzer.model.build import build_workflow
from analyzer.model.durable import check_durable, check_profile
from analyzer.model.nodes import Workflow
from analyzer.model.problems import EditDraft, FixDraft, Place, Problem, Problems
from analyzer.model.resolve import Resolver
from analyzer.model.typing import Reads, WorkflowTyper
from analyzer.model.unused import check_unused
from analyzer.rules.registry import rule
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, walk
from analyzer.syntax.parse import Tree
from analyzer.syntax.source import Source
from analyzer.workspace.kept import Kept
from analyzer.workspace.project import Document, Project, Trace, file_kind

if TYPE_CHECKING:
    from analyzer.incremental.parts import Parts

MAX_CALLERS: Final = 1_000
"""Workfiles under a root that are looked through for calls; each is then a dependency of the result."""

Part = TypeVar("Part")

#: (line, column) from 1, text, whether it stands on a line of its own.
Comment = tuple[int, int, str, bool]


@dataclass(frozen=True, slots=True)
class FileResult:
    """The findings of one file before suppression and selection, its comments, and what they depend on.

    ``dependencies`` are absolute paths that were read or looked up (some may not exist); ``reads_index`` tells whether
    the names of other Workfiles under the root took part. ``text`` (without a byte order mark) and ``digest`` (of the
    bytes) are of what was analysed; ``digest`` is "" for a file that could not be read.
    """

    findings: list[Finding]
    comments: list[Comment]
    dependencies: tuple[str, ...]
    reads_index: bool
    text: str = ""
    digest: str = ""


@dataclass(slots=True)
class Analysis:
    """One Workfile, analysed: the resolved and typed model, the problems, and what expressions read.

    ``parts`` is what the analysis of the next text can build on, None where it cannot.
    """

    document: Document
    workflow: Workflow
    problems: Problems
    reads: Reads
    trace: Trace
    parts: Parts | None = None


class Engine:
    """The analysed Workfiles of one project, by path and content.

    ``edited``: texts change a little at a time (in an editor), and an analysis is made from that of the text before.
    Its nodes and its Workfile are then those of the new text: whoever kept the old ones has them no more.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.edited = False
        #: How many analyses began anew.
        self.anew = 0
        self._analyses: Kept[Analysis] = Kept()
        self._busy: set[str] = set()

    def analysis(self, path: str) -> Analysis | None:
        """The analysis of a Workfile; None when it cannot be read, or is being analysed (a ring of calls)."""
        document = self.project.document(path)
        if document is None or path in self._busy:
            return None
        known = self._analyses.get(path)
        if known is not None and known.document.digest == document.digest:
            self.project.replay(known.trace)
            if known.document is not document:
                document.share(known.document)
                known.document = document
            return known
        self._busy.add(path)
        try:
            analysis = None if known is None else self._built_on(path, known, document)
            if analysis is None:
                analysis = self._analyse(path, document)
        finally:
            self._busy.discard(path)
        self._analyses.put(path, analysis, len(document.data))
        return analysis

    def typed(self, path: str) -> Workflow | None:
        """The resolved and typed Workfile at a path (for callers, the simulator, the editor)."""
        analysis = self.analysis(path)
        return None if analysis is None else analysis.workflow

    def forget(self) -> None:
        """Drop every analysis: a manifest, the configuration or a Workfile's name changed."""
        self._analyses.clear()

    def _analyse(self, path: str, document: Document) -> Analysis:
        self.anew += 1
        problems = Problems()
        tree = document.tree
        workflow = build_workflow(path, tree.root, problems)
        if tree.root is None and tree.problems:
            problems.items.clear()  # the file could not be read at all, and that has been said
        with self.project.trace() as trace:
            Resolver(workflow, self.project, problems, self.typed).run()
        parts: Parts | None = None
        if self.edited:
            from analyzer.incremental.update import typed_in_parts  # a single run builds on nothing

            typer, parts = typed_in_parts(workflow, tree, problems)
        else:
            typer = WorkflowTyper(workflow, document.source, problems)
            typer.run()
        return Analysis(document, workflow, problems, typer.reads, trace, parts)

    def _built_on(self, path: str, known: Analysis, document: Document) -> Analysis | None:
        """As ``_updated``; a fault of ours there is logged, and costs no more than an analysis from the beginning."""
        try:
            return self._updated(path, known, document)
        except Exception as error:
            import logging  # slow to import, and an editor has it loaded

            logging.getLogger("workfile").error("an analysis could not be built on the one before", exc_info=error)
            self._analyses.pop(path)
            return None

    def _updated(self, path: str, known: Analysis, document: Document) -> Analysis | None:
        """The analysis of a text that differs little from the one before; None when it has to begin anew."""
        if known.parts is None or not document.take_over(known.document):
            return None
        from analyzer.incremental.update import updated

        self._analyses.pop(path)
        with self.project.trace() as trace:
            found = updated(known.workflow, known.parts, document.tree, self.project, self.typed)
        if found is None:
            return None
        typer, problems = found
        trace.paths |= known.trace.paths
        trace.reads_index = trace.reads_index or known.trace.reads_index
        self.project.replay(trace)
        return Analysis(document, known.workflow, problems, typer.reads, trace, known.parts)


_ENGINES: dict[str, Engine] = {}


def engine_for(project: Project) -> Engine:
    """The engine of a project, one for each root in a process."""
    known = _ENGINES.get(project.root)
    if known is None or known.project is not project:
        known = _ENGINES[project.root] = Engine(project)
    return known


FileCheck = Callable[[Project, Document, Problems], None]
#: Checks of file kinds that need more than the analyzer (scenarios); the command line and the editor register them.
FILE_CHECKS: dict[str, FileCheck] = {}


def check_file(
    project: Project, path: str, text: str | None = None, profiles: tuple[str, ...] | None = None
) -> FileResult:
    """All findings of one file, sorted by position and rule.

    ``path`` is absolute; ``text`` stands in for what is on disk; ``profiles`` (default: the configuration's) is what
    the target claims.
    """
    if text is not None:
        project.overlay_text(path, text)
    with project.trace() as trace:
        document = project.document(path)
        if document is None:
            return FileResult([], [], tuple(sorted(trace.paths)), trace.reads_index)
        claimed = project.config.target.profiles if profiles is None else profiles
        problems = _problems_of(project, document, claimed)
        if len(problems) > MAX_FINDINGS:
            problems.sort(key=_place_order)
        problems = _without_shared_edits(document.tree, problems)
        findings = [_finding(project, document, each) for each in problems[:MAX_FINDINGS]]
    findings.sort(key=Finding.sort_key)
    if len(problems) > MAX_FINDINGS:
        findings.append(_too_many(project, document))
    comments = [_comment(document.source, each) for each in document.tree.comments]
    paths = tuple(sorted(trace.paths))
    return FileResult(findings, comments, paths, trace.reads_index, document.source.text, document.digest)


def _problems_of(project: Project, document: Document, profiles: tuple[str, ...]) -> list[Problem]:
    kind = file_kind(document.path)
    # First, because it may make the tree out of the one before.
    analysis = engine_for(project).analysis(document.path) if kind == "workflow" else None
    problems = Problems()
    for each in document.tree.problems:
        related = tuple((Place(start, end), text) for start, end, text in each.related)
        fixes: tuple[FixDraft, ...] = ()
        if each.fix is not None:
            title, start, end, text = each.fix
            fixes = (FixDraft(title, "safe", (EditDraft(start, end, text),)),)
        problems.items.append(Problem(each.rule, each.start, each.end, each.message, related, fixes))
    if kind == "workflow":
        _string_keys(document.tree, problems, None if analysis is None else analysis.parts)
        return problems.items + (_check_workfile(project, analysis, profiles) if analysis is not None else [])
    if kind in ("connector", "overlay"):
        return problems.items + list(project.manifest_problems(document.path))
    _string_keys(document.tree, problems)
    check = FILE_CHECKS.get(kind)
    if check is not None:
        check(project, document, problems)
    return problems.items


def _check_workfile(project: Project, analysis: Analysis, profiles: tuple[str, ...]) -> list[Problem]:
    problems = Problems()
    document, workflow = analysis.document, analysis.workflow
    check_durable(workflow, document.source, problems)
    check_profile(workflow, problems, profiles)
    _check_control(project, analysis, problems)
    if not document.tree.problems:
        check_unused(workflow, document.source, analysis.reads, analysis.problems, problems)
    return analysis.problems.items + problems.items


def _check_control(project: Project, analysis: Analysis, problems: Problems) -> None:
    """What the control flow shows; of a text that was edited only where something may have come or gone."""
    workflow, source, parts = analysis.workflow, analysis.document.source, analysis.parts
    if parts is None:
        check_control(workflow, problems, source, lambda called: _callers(project, called))
        return
    from analyzer.incremental.excerpt import note_found, to_look_at

    before = len(problems.items)
    excerpt = to_look_at(workflow, parts)
    with project.trace() as trace:
        check_control(excerpt or workflow, problems, source, lambda called: _callers(project, called))
    # A later look at less must still depend on what this one has read.
    analysis.trace.paths |= trace.paths
    analysis.trace.reads_index = analysis.trace.reads_index or trace.reads_index
    note_found(parts, problems.items[before:])


def _callers(project: Project, workflow: Workflow) -> list[Workflow]:
    """The other Workfiles under the root that call this one, typed."""
    engine = engine_for(project)
    paths = sorted(path for found in project.workflows().values() for path in found)
    calling = [path for path in paths if path != workflow.path and workflow.name in project.calls_of(path)]
    return [caller for caller in map(engine.typed, calling) if caller is not None]


def _string_keys(tree: Tree, problems: Problems, parts: Parts | None = None) -> None:
    """Keys are strings; only the ``cases`` of ``wf.switch`` may be integers and booleans."""
    if tree.root is None:
        return
    stack: list[Node] = [tree.root]
    cases: set[Node] = set()
    before = len(problems.items)
    known: Collection[Node] = () if parts is None else parts.string_keys
    while stack:
        node = stack.pop()
        if isinstance(node, Sequence):
            stack += [item for item in node.items if item.__class__ is not Scalar and item not in known]
        if not isinstance(node, Mapping):
            continue
        allowed = node in cases
        for entry in node.entries:
            key = entry.key
            if isinstance(key, Scalar):
                if type(key.value) is not str:
                    _non_string_key(key, allowed, problems)
                elif key.value == "wf.switch":
                    cases.update(each.value for each in node.entries if _is_named(each, "cases"))
            if entry.value.__class__ is not Scalar:
                stack.append(entry.value)
    if parts is not None and len(problems.items) == before:
        parts.string_keys = set(parts.by_node)


def _is_named(entry: Entry, name: str) -> bool:
    return isinstance(entry.key, Scalar) and entry.key.value == name


def _non_string_key(key: Scalar, cases: bool, problems: Problems) -> None:
    if key.broken or (cases and type(key.value) in (int, bool)):
        return
    words = "nothing" if key.value is None else f"`{key.text}`"
    problems.report("non-string-key", key, f"A key is a string, and this is {words}: quote it.")


def _comment(source: Source, comment: object) -> Comment:
    from analyzer.syntax.nodes import Comment as Node

    assert isinstance(comment, Node)
    line, column = source.line_column(comment.start)
    return line + 1, column + 1, comment.text, comment.own_line


def _place_order(problem: Problem) -> tuple[int, str, int, str]:
    """The order of the findings that problems of one file make."""
    return problem.start, problem.rule, max(problem.start, problem.end), problem.message


def _finding(project: Project, document: Document, problem: Problem) -> Finding:
    info = rule(problem.rule)
    source = document.source
    related = tuple(_related(project, document, place, text) for place, text in problem.related)
    fixes = tuple(
        Fix(
            draft.title,
            draft.applicability,
            tuple(Edit(document.path, source.range(edit.start, edit.end), edit.text) for edit in draft.edits),
        )
        for draft in problem.fixes
    )
    return Finding(
        path=document.path,
        rule=info.name,
        code=info.code,
        severity=info.severity,
        message=problem.message,
        range=source.range(problem.start, problem.end),
        related=related,
        fixes=fixes,
        route=route_of(document.tree.root, problem.start),
        tags=problem.tags or info.tags,
    )


def _related(project: Project, document: Document, place: Place, text: str) -> Related:
    other = project.document(place.path) if place.path and place.path != document.path else document
    if other is None:
        return Related(place.path, Range(1, 1, 1, 1), text)
    return Related(other.path, other.source.range(place.start, place.end), text)


def _without_shared_edits(tree: Tree, problems: list[Problem]) -> list[Problem]:
    """The problems without the repairs that change anchored text: it stands for its other uses too."""
    spans = _anchored_spans(tree)
    if not spans:
        return problems
    return [
        each.with_fixes(tuple(draft for draft in each.fixes if not _is_inside(spans, draft))) if each.fixes else each
        for each in problems
    ]


def _anchored_spans(tree: Tree) -> list[tuple[int, int]]:
    """The outermost anchored parts, in order."""
    if tree.root is None or "&" not in tree.source.text:
        return []
    spans: list[tuple[int, int]] = []
    for start, end in sorted(
        ((node.start, node.end) for node in walk(tree.root) if node.anchor is not None),
        key=lambda span: (span[0], -span[1]),
    ):
        if not spans or end > spans[-1][1]:
            spans.append((start, end))
    return spans


def _is_inside(spans: list[tuple[int, int]], draft: FixDraft) -> bool:
    for edit in draft.edits:
        position = bisect_right(spans, edit.start, key=lambda span: span[0]) - 1
        if position >= 0 and edit.end <= spans[position][1]:
            return True
    return False


def _too_many(project: Project, document: Document) -> Finding:
    most = f"{MAX_FINDINGS:,}"
    message = f"This file has more than {most} findings; the first {most} are reported. Mend those, then check again."
    return _finding(project, document, Problem("limit-exceeded", 0, 0, message))


def _entry_start(entry: Entry) -> int:
    return entry.key.start


def _entry_end(entry: Entry) -> int:
    return entry.value.end


def _node_start(node: Node) -> int:
    return node.start


def _node_end(node: Node) -> int:
    return node.end


def _part_at(parts: list[Part], offset: int, start_of: Callable[[Part], int], end_of: Callable[[Part], int]) -> int:
    """The first part whose span holds an offset, its end included; -1 for none."""
    position = bisect_right(parts, offset, key=start_of) - 1
    if position < 0:
        return -1
    # In an alias use all parts have one span; elsewhere the one before may end where this one starts.
    position = bisect_left(parts, start_of(parts[position]), key=start_of)
    if position > 0 and end_of(parts[position - 1]) >= offset:
        return position - 1
    return position if offset <= end_of(parts[position]) else -1


def route_of(root: Node | None, offset: int) -> str:
    """The symbolic place of an offset: ``steps.charge.retry``.

    It stays the same when lines move and when other steps come and go: an item that is a map of one key (a step) goes
    by that key, which is the only one of its list; other items go by their position.
    """
    parts: list[str] = []
    node = root
    while node is not None:
        found: Node | None = None
        if isinstance(node, Mapping):
            position = _part_at(node.entries, offset, _entry_start, _entry_end)
            if position >= 0:
                entry = node.entries[position]
                name = entry.key.text if isinstance(entry.key, Scalar) else "?"
                parts.append(f".{name}" if parts else name)
                found = None if offset < entry.key.end else entry.value
        elif isinstance(node, Sequence):
            position = _part_at(node.items, offset, _node_start, _node_end)
            if position >= 0:
                found = node.items[position]
                if not (isinstance(found, Mapping) and len(found.entries) == 1):
                    parts.append(f"[{position}]")
        node = found
    return "".join(parts)
