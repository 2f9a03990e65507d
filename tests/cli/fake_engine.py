"""A small engine that stands for the real one: what it finds is written in the checked text itself.

``!rule`` is a finding of that rule, ``!rule>new`` has a safe fix that replaces it by ``new``, ``!rule?new`` an unsafe
one. ``uses: FILE`` depends on a file beside it, whose content goes into the messages; ``reads-index`` depends on the
names of the files in the root; ``!crash`` is a fault of the engine, ``!die`` the end of the process.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzer.digest import digest_of
from analyzer.driver import Engine
from analyzer.findings import Edit, Finding, Fix, Range, Related

LOG = "FAKE_ENGINE_LOG"
ENGINE = Engine(*(f"fake_engine:{name}" for name in ("check_file", "project_for", "discover", "all_rules")))
SUFFIXES = (".workfile.yaml", ".connector.yaml")
MARK = re.compile(r"!(?P<rule>[a-z]+(?:-[a-z]+)*)(?:>(?P<safe>[^\s#]*)|\?(?P<unsafe>[^\s#]*))?")
BREAK = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Rule:
    name: str
    code: str
    severity: str
    summary: str = "What it finds | in short."
    documentation: str = "# title\n\nWhat it finds, with `code`.\n"
    fixable: bool = False


RULES = {
    rule.name: rule
    for rule in (
        Rule("bad-value", "document.structure", "error", fixable=True),
        Rule("unknown-key", "document.structure", "error"),
        Rule("likely-wrong", "document.control", "warning"),
        Rule("needless-guard", "document.null", "information"),
        Rule("yaml-syntax", "document.syntax", "error"),
        Rule("unused-suppression", "document.suppression", "information", fixable=True),
        Rule("history-diverges", "document.replay", "error"),
        Rule("duplicate-workflow", "document.reference", "error"),
    )
}


def all_rules() -> dict[str, Rule]:
    return RULES


OVERLAYS: dict[str, str] = {}


def read(path: str) -> str:
    if path in OVERLAYS:
        return OVERLAYS[path]
    return Path(path).read_bytes().decode("utf-8", "replace") if Path(path).exists() else "absent"


@dataclass(frozen=True)
class Check:
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    check: Check
    fingerprint: str


@dataclass(frozen=True)
class Project:
    root: str
    config: Config
    problems: tuple[str, ...] = ()

    def overlay_text(self, path: str, text: str | None) -> None:
        OVERLAYS.pop(path, None)
        if text is not None:
            OVERLAYS[path] = text

    @property
    def index_fingerprint(self) -> str:
        return ",".join(sorted(path.name for path in Path(self.root).glob("*.workfile.yaml")))


def project_for(path: str) -> Project:
    folder = Path(path).parent
    for parent in (folder, *folder.parents):
        file = parent / "workfile.toml"
        if file.is_file():
            text = file.read_text()
            try:
                table = tomllib.loads(text).get("check", {})
            except tomllib.TOMLDecodeError as error:
                return Project(str(parent), Config(Check(), ""), (f"`{file}` is not TOML: {error}",))
            per_file = {glob: tuple(names) for glob, names in table.get("per-file-ignores", {}).items()}
            lists = (tuple(table.get(key, ())) for key in ("select", "ignore", "exclude"))
            check = Check(*lists, per_file)
            return Project(str(parent), Config(check, text))
    return Project(str(folder), Config(Check(), ""))


@dataclass
class Discovery:
    files: list[str]
    problems: list[str]


def discover(paths: Sequence[str], limit: int = 20_000) -> Discovery:
    files: set[str] = set()
    problems: list[str] = []
    for path in map(Path, paths):
        if path.is_dir():
            files.update(str(file.resolve()) for file in path.rglob("*") if file.name.endswith(SUFFIXES))
        elif path.exists():
            files.add(str(path.resolve()))
        else:
            problems.append(f"there is no file or folder `{path}`")
    return Discovery(sorted(files)[:limit], problems)


@dataclass
class FileResult:
    findings: list[Finding]
    comments: list[tuple[int, int, str, bool]]
    dependencies: tuple[str, ...]
    reads_index: bool
    text: str
    digest: str


def check_file(
    project: Project, path: str, text: str | None = None, profiles: tuple[str, ...] | None = None
) -> FileResult:
    if log := os.environ.get(LOG):
        with Path(log).open("a") as stream:
            stream.write(f"{Path(path).name}\n")
    text = read(path) if text is None else text
    there = path in OVERLAYS or Path(path).exists()
    data = text.encode("utf-8", "surrogatepass") if path in OVERLAYS or not there else Path(path).read_bytes()
    findings: list[Finding] = []
    comments: list[tuple[int, int, str, bool]] = []
    dependencies = [path]
    context = f" [{','.join(profiles)}]" if profiles else ""
    if "reads-index" in text:
        context += f" [{project.index_fingerprint}]"
    if "\ufffd" in text:
        findings.append(Finding(path, "yaml-syntax", "document.syntax", "error", "not UTF-8", Range(1, 1, 1, 1)))
    for number, line in enumerate(BREAK.split(text.removeprefix("\ufeff")), start=1):
        content, mark, comment = line.partition("#")
        if mark:
            comments.append((number, len(content) + 1, mark + comment, not content.strip()))
        if content.startswith("uses: "):
            other = str(Path(path).parent / content[6:].strip())
            dependencies.append(other)
            context += f" ({read(other)})"
        findings.extend(_finding(path, number, found, context) for found in MARK.finditer(content))
    return FileResult(
        sorted(findings, key=Finding.sort_key),
        comments,
        tuple(dependencies),
        "reads-index" in text,
        text.removeprefix("\ufeff"),
        digest_of(data) if there else "",
    )


def _finding(path: str, number: int, found: re.Match[str], context: str) -> Finding:
    name = found["rule"]
    if name == "crash":
        raise RuntimeError("a fault\nof the engine")
    if name == "die":
        os._exit(9)
    rule = RULES[name]
    place = Range(number, found.start() + 1, number, found.end() + 1)
    fixes = []
    for applicability in ("safe", "unsafe"):
        text = found[applicability]
        if text is not None:
            edit = Edit(path, place, text.replace("\\n", "\n"))
            fixes.append(Fix(f"replace by `{text}`", applicability, (edit,)))  # type: ignore[arg-type]
    related = (Related(path, Range(1, 1, 1, 2), "the start"),)
    severity: object = rule.severity
    return Finding(
        path,
        name,
        rule.code,
        severity,
        f"`{name}` here{context}.",
        place,
        related,
        tuple(fixes),
        f"line.{name}",  # type: ignore[arg-type]
    )
