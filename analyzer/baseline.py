# Paths are texts here: loading pathlib, or making an object for each path, costs more than it gives.
# ruff: noqa: PTH100, PTH110, PTH118, PTH120, PTH123
"""A baseline: findings that are known and not reported again, by file, rule and symbolic route, never by line.

The file is JSON, ``{"version": 1, "entries": [{"path", "rule", "route", "count"}]}``, sorted, with paths relative to
the folder that it is in, so that it can be kept under version control and used from any working directory.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from analyzer.atomic import write_atomically
from analyzer.findings import Finding
from analyzer.report.common import plural
from analyzer.shown import relative_path, shown_path

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
ANEW = "write it anew with `--write-baseline`"

Key = tuple[str, str, str]
LookedFor: TypeAlias = Callable[[str, str], bool]
"""Of an absolute path and a rule: whether a run would have reported a finding, if there were one."""


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

    def filter(self, findings: Iterable[Finding], looked_for: LookedFor) -> Filtered:
        """Part sorted findings into new and known; beyond an entry's count the later ones are new.

        Only what was looked for can be called gone.
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
        stale = sum(count for key, count in left.items() if count and looked_for(self._absolute(key), key[1]))
        return Filtered(reported, known, stale)

    def rewritten(self, findings: Iterable[Finding], looked_for: LookedFor) -> Baseline:
        """A baseline of these findings; entries of what was not looked for stay as long as their file exists."""
        found = Counter(map(self._key, findings))
        kept = {
            key: max(count, found[key])
            for key, count in self._counts.items()
            if not looked_for(self._absolute(key), key[1]) and os.path.exists(self._absolute(key))
        }
        return Baseline(self.file, {**found, **kept})

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
            raise BaselineError(
                f"cannot write the baseline `{shown_path(self.file)}`: {error.strerror or error}"
            ) from None

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

    def _absolute(self, key: Key) -> str:
        return os.path.normpath(os.path.join(self._folder, key[0]))

    def _key(self, finding: Finding) -> Key:
        return relative_path(finding.path, self._folder), finding.rule, finding.route


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
