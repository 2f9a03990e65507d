# Paths are texts here: loading pathlib, or making an object for each path, costs more than it gives.
# ruff: noqa: PTH100, PTH110, PTH118, PTH120, PTH123
"""A baseline: findings that are known and not reported again, by file, rule and symbolic route, never by line.

The file is JSON, ``{"version": 1, "entries": [{"path", "rule", "route", "count"}]}``, sorted, with paths relative to
the folder that it is in, so that it can be kept under version control and used from any working directory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass

from analyzer.atomic import write_atomically
from analyzer.findings import Finding
from analyzer.report.common import plural

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
ANEW = "write it anew with `--write-baseline`"

Key = tuple[str, str, str]


class BaselineError(Exception):
    """The baseline cannot be read or written; the text says why in one line."""


@dataclass(slots=True)
class Filtered:
    """What a baseline leaves to report, what it hides, and how many of its findings are gone."""

    reported: list[Finding]
    known: list[Finding]
    stale: int


class Baseline:
    """The counts of a baseline file by (path relative to the file's folder, rule, route)."""

    __slots__ = ("_counts", "_folder", "file")

    def __init__(self, file: str, counts: dict[Key, int] | None = None) -> None:
        self.file = os.path.abspath(file)
        self._folder = os.path.dirname(self.file)
        self._counts = dict(counts or {})

    @classmethod
    def load(cls, file: str) -> Baseline:
        """Read a baseline file; ``BaselineError`` when it is missing, too large or not one."""
        try:
            with open(file, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            reason = error.strerror or str(error)
            raise BaselineError(f"cannot read the baseline `{file}`: {reason}; `--write-baseline` makes one") from None
        if len(data) > MAX_BYTES:
            raise BaselineError(f"the baseline `{file}` is larger than {MAX_BYTES // 1024 // 1024} MiB")
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else "too deeply nested"
            raise BaselineError(f"the baseline `{file}` is not JSON ({reason}); {ANEW}") from None
        return cls(file, _counts(file, document))

    def filter(self, findings: Iterable[Finding], files: Iterable[str]) -> Filtered:
        """Part sorted findings into new and known; beyond an entry's count the later ones are new.

        ``files`` are those that were checked: only their findings can be called gone.
        """
        left = dict(self._counts)
        reported: list[Finding] = []
        known: list[Finding] = []
        for finding in findings:
            key = self._key(finding)
            if left.get(key, 0) > 0:
                left[key] -= 1
                known.append(finding)
            else:
                reported.append(finding)
        checked = {self._relative(path) for path in files}
        stale = sum(count for key, count in left.items() if key[0] in checked)
        return Filtered(reported, known, stale)

    def rewritten(self, findings: Iterable[Finding], files: Iterable[str]) -> Baseline:
        """A baseline of these findings; entries of files that were not checked stay as long as the file exists."""
        checked = {self._relative(path) for path in files}
        counts = {
            key: count
            for key, count in self._counts.items()
            if key[0] not in checked and os.path.exists(os.path.join(self._folder, key[0]))
        }
        for finding in findings:
            key = self._key(finding)
            counts[key] = counts.get(key, 0) + 1
        return Baseline(self.file, counts)

    def save(self) -> None:
        """Write the file, atomically; ``BaselineError`` when that fails."""
        entries = [
            json.dumps({"path": path, "rule": rule, "route": route, "count": self._counts[path, rule, route]})
            for path, rule, route in sorted(self._counts)
        ]
        body = ",".join("\n  " + entry for entry in entries)
        text = f'{{"version": {VERSION},\n "entries": [{body}]}}\n'
        try:
            write_atomically(self.file, text.encode("ascii"))
        except OSError as error:
            raise BaselineError(f"cannot write the baseline `{self.file}`: {error.strerror or error}") from None

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def findings(self) -> int:
        """How many findings the entries stand for."""
        return sum(self._counts.values())

    def summary(self) -> str:
        """``3 findings in 2 entries``."""
        entries = f"{len(self)} entry" if len(self) == 1 else f"{len(self)} entries"
        return f"{plural(self.findings, 'finding')} in {entries}"

    def _relative(self, path: str) -> str:
        try:
            return os.path.relpath(path, self._folder).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")

    def _key(self, finding: Finding) -> Key:
        return self._relative(finding.path), finding.rule, finding.route


def _counts(file: str, document: object) -> dict[Key, int]:
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list):
        raise BaselineError(f"`{file}` is not a baseline: it has no `entries`; {ANEW}")
    if document.get("version") != VERSION:
        raise BaselineError(f"the baseline `{file}` is not of version {VERSION}; {ANEW}")
    counts: dict[Key, int] = {}
    for number, entry in enumerate(document["entries"], start=1):
        key = _entry_key(entry)
        count = entry.get("count") if isinstance(entry, dict) else None
        if key is None or type(count) is not int or count < 1:
            raise BaselineError(f"entry {number} of the baseline `{file}` is not {{path, rule, route, count}}; {ANEW}")
        counts[key] = counts.get(key, 0) + count
    return counts


def _entry_key(entry: object) -> Key | None:
    if not isinstance(entry, dict):
        return None
    path, rule, route = entry.get("path"), entry.get("rule"), entry.get("route")
    if isinstance(path, str) and isinstance(rule, str) and isinstance(route, str):
        return path, rule, route
    return None
