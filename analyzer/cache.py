# Paths are texts here: loading pathlib, or making an object for each path, costs more than it gives.
# ruff: noqa: PTH100, PTH103, PTH108, PTH110, PTH116, PTH118, PTH123, PTH208
"""Results of earlier runs, by content: one compact file for each configuration root and way of checking.

A result is used again when everything that it was made from is the same: tool, Python, configuration, target profiles,
the file's bytes, the bytes of every file that was read or looked up for it, and, where it read the workspace's index,
that too. The cache is a help and never a source of errors: what cannot be read, written or believed is ignored and
built anew. Writing replaces the file in one step, so that runs at the same time cannot harm each other.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from analyzer.atomic import write_atomically
from analyzer.digest import digest_of
from analyzer.findings import Edit, Finding, Fix, Range, Related
from analyzer.suppressions import Directive, Name

FORMAT = 1
MAX_ENTRIES = 20_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_FOLDER_BYTES = 256 * 1024 * 1024
MAX_AGE_SECONDS = 30 * 24 * 3600
SUFFIX = ".results"
ENVIRONMENT = "WORKFILE_CACHE_DIR"
ABSENT = "-"
FOLDER = "/"

Record: TypeAlias = list[Any]
"""``[digest, index fingerprint or None, [[dependency, digest], …], findings, directives]``, plain JSON values."""


class Digests:
    """Digests of files by path, each read once; for one run, as files change between runs."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """The digest of a file's content or a folder's names, or a word for one that is absent."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._read(path)
        return known

    @staticmethod
    def _read(path: str) -> str:
        try:
            mode = os.stat(path).st_mode
            if stat.S_ISREG(mode):
                with open(path, "rb") as stream:
                    return digest_of(stream.read())
            if not stat.S_ISDIR(mode):
                return ABSENT  # opening a pipe or a device could wait for ever
            names = sorted(os.listdir(path))
        except (OSError, ValueError):
            return ABSENT
        return FOLDER + digest_of("\x00".join(names).encode("utf-8", "surrogateescape"))


def default_folder() -> str:
    """Where results are kept: ``WORKFILE_CACHE_DIR``, else the user's cache folder of the platform."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return os.path.abspath(chosen)
    import platformdirs  # slow to import, and not needed with the environment variable

    return platformdirs.user_cache_dir("workfile-tools", appauthor=False)


def code_stamp(folders: Iterable[str]) -> str:
    """A digest of the program's own files (names, sizes, times), so that an edited tool never answers from before."""
    parts: list[str] = []
    pending = sorted(folders)
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                parts.append(f"{entry.path}:{status.st_size}:{status.st_mtime_ns}")
            elif entry.name != "__pycache__" and entry.is_dir():
                pending.append(entry.path)
    return digest_of("\n".join(parts).encode("utf-8", "surrogateescape"))


def key_of(version: str, stamp: str, fingerprint: str, profiles: Sequence[str] | None) -> str:
    """What all results of one cache file have in common."""
    wanted = "default" if profiles is None else ",".join(sorted(profiles))
    text = "\x00".join((str(FORMAT), version, stamp, sys.version, fingerprint, wanted))
    return digest_of(text.encode("utf-8", "surrogatepass"))


class Cache:
    """The results for one configuration root; read when it is made, written by ``save``."""

    __slots__ = ("_changed", "_entries", "_file", "_folder", "_key")

    def __init__(self, folder: str, root: str, key: str) -> None:
        self._folder = folder
        self._key = key
        name = digest_of(root.encode("utf-8", "surrogatepass"))[:16]
        self._file = os.path.join(folder, f"{name}-{key[:16]}{SUFFIX}")
        self._entries: dict[str, Record] = _read_entries(self._file, key)
        self._changed = False

    def has(self, path: str) -> bool:
        """Whether there is a record of the file, true or not."""
        return path in self._entries

    def get(self, path: str, digests: Digests, index: Callable[[], str]) -> Record | None:
        """The record of the file when everything that it was made from is still the same."""
        record = self._entries.get(path)
        if record is None or record[0] != digests.of(path):
            return None
        if any(digests.of(dependency) != before for dependency, before in record[2]):
            return None
        return record if record[1] is None or record[1] == index() else None

    def put(self, path: str, record: Record) -> None:
        """Keep a record for the file instead of any earlier one."""
        self._entries.pop(path, None)
        self._entries[path] = record
        self._changed = True

    def save(self) -> None:
        """Write what changed, without files that are gone and within the bounds; faults are ignored."""
        if not self._changed:
            return
        alive = [(path, record) for path, record in self._entries.items() if os.path.exists(path)]
        body = json.dumps(dict(alive[-MAX_ENTRIES:]), separators=(",", ":")).encode("ascii")
        if len(body) > MAX_FILE_BYTES:
            return
        head = f"workfile {FORMAT} {self._key} {digest_of(body)}\n".encode("ascii")
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_atomically(self._file, head + body)
            _prune(self._folder, self._file)
        self._changed = False


def _read_entries(file: str, key: str) -> dict[str, Record]:
    """The entries of a cache file that is whole and ours; nothing of any other."""
    try:
        with open(file, "rb") as stream:
            head = stream.readline(200).decode("ascii", "replace").split()
            body = stream.read(MAX_FILE_BYTES + 1)
    except OSError:
        return {}
    if head != ["workfile", str(FORMAT), key, digest_of(body)]:
        return {}
    # The digest fits, so this is what `save` wrote, and its shape need not be checked.
    entries: dict[str, Record] = json.loads(body)
    return entries


def _prune(folder: str, keep: str) -> None:
    """Remove cache files that were not written for long, and the oldest while all of them are too large."""
    files: list[tuple[float, int, str]] = []
    for entry in os.scandir(folder):
        if entry.name.endswith(SUFFIX) and entry.path != keep:
            status = entry.stat()
            files.append((status.st_mtime, status.st_size, entry.path))
    files.sort()
    total = sum(size for _, size, _ in files)
    oldest = time.time() - MAX_AGE_SECONDS
    for modified, size, path in files:
        if modified >= oldest and total <= MAX_FOLDER_BYTES:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def encode_findings(path: str, findings: Iterable[Finding]) -> list[Any]:
    """Findings of a file as plain JSON values; the file's own path, the usual one, is 0."""

    def short(other: str) -> str | int:
        return 0 if other == path else other

    return [
        [
            short(finding.path),
            finding.rule,
            finding.code,
            finding.severity,
            finding.message,
            _encode_range(finding.range),
            [[short(item.path), _encode_range(item.range), item.message] for item in finding.related],
            [
                [fix.title, fix.applicability, [[short(e.path), _encode_range(e.range), e.text] for e in fix.edits]]
                for fix in finding.fixes
            ],
            finding.route,
            list(finding.tags),
        ]
        for finding in findings
    ]


def decode_findings(path: str, encoded: Iterable[Any]) -> list[Finding]:
    """The findings that ``encode_findings`` made the values of."""
    return [
        Finding(
            item[0] or path,
            item[1],
            item[2],
            item[3],
            item[4],
            Range(*item[5]),
            tuple(Related(where or path, Range(*place), message) for where, place, message in item[6]),
            tuple(
                Fix(title, applies, tuple(Edit(where or path, Range(*place), text) for where, place, text in edits))
                for title, applies, edits in item[7]
            ),
            item[8],
            tuple(item[9]),
        )
        for item in encoded
    ]


def _encode_range(place: Range) -> list[int]:
    return [place.start_line, place.start_column, place.end_line, place.end_column]


def encode_directives(directives: Iterable[Directive]) -> list[Any]:
    """Suppressions of a file as plain JSON values."""
    return [
        [
            item.line,
            item.target,
            [[name.text, name.start, name.end] for name in item.names],
            list(item.span),
            _encode_range(item.whole),
            item.reason,
            item.problem,
        ]
        for item in directives
    ]


def decode_directives(encoded: Iterable[Any]) -> tuple[Directive, ...]:
    """The suppressions that ``encode_directives`` made the values of."""
    return tuple(
        Directive(
            line,
            target,
            tuple(Name(text, start, end) for text, start, end in names),
            (span[0], span[1]),
            Range(*whole),
            reason,
            problem,
        )
        for line, target, names, span, whole, reason, problem in encoded
    )
