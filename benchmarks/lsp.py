"""How long an editor waits: a real server process on stdio, a Workfile of many steps, and edits one after the other.

    python -m benchmarks.lsp [--steps 1000] [--edits 300] [--no-peer]

prints milliseconds (median and 95th percentile) from an edit to its diagnostics with the server's own pause in it,
for completion and hover, from the start of the process to the first diagnostics, the CPU time of an edit, and memory.
The edits change an argument, add a line that is wrong, and break the text, all over the file; each is taken back. On a
machine that does other work too, compare CPU time and the ratio: yaml-language-server, with the JSON Schema of the
language, gets the same edits of the same file in turn (npm installs it into a temporary folder).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.generate import write_project
from benchmarks.lsp_client import PEER, Client, install_peer

OURS = [sys.executable, "-m", "workfile_cli", "lsp"]
_STEP = "payments.charge_once: { amount: "


@dataclass
class Edit:
    """Put ``text`` at a place; taking it back is the other half. ``fault``: there is something to report then."""

    line: int
    column: int
    text: str
    fault: bool = True


@dataclass
class Measured:
    """Seconds by what was waited for, and CPU milliseconds of all edits."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_ms: float = 0.0
    edits: int = 0

    def add(self, name: str, since: float) -> None:
        """One more wait."""
        self.seconds.setdefault(name, []).append(time.perf_counter() - since)


def edits_of(text: str, count: int) -> list[Edit]:
    """Edits all over the file, of every kind in turn."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if _STEP in line]
    found = []
    for number in range(count):
        line = places[number * 7 % len(places)]
        column = lines[line].index(_STEP) + len(_STEP)
        kinds = [
            Edit(line, column, '"{{ 1 }}", customer: x }  # ', fault=False),
            Edit(line, 0, f"{lines[line][: column - len(_STEP)]}colour: red\n"),
            Edit(line, column, "{ "),
        ]
        found.append(kinds[number % len(kinds)])
    return found


class Session:
    """One server with the file open."""

    def __init__(self, command: list[str], path: Path, text: str, settings: dict[str, Any] | None, ours: bool) -> None:
        self.uri, self.ours, self.version = path.as_uri(), ours, 0
        began = time.perf_counter()
        self.client = Client(command, settings)
        self.client.start(path.parent)
        document = {"uri": self.uri, "languageId": "yaml", "version": 0, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        self.client.diagnostics(lambda params: params["uri"] == self.uri)
        self.first_s = time.perf_counter() - began

    def change(self, edit: Edit, back: bool) -> None:
        """Make an edit, or take it back."""
        self.version += 1
        start = {"line": edit.line, "character": edit.column}
        rows = edit.text.split("\n")
        end = {"line": edit.line + len(rows) - 1, "character": len(rows[-1]) + (edit.column if len(rows) == 1 else 0)}
        change = {"range": {"start": start, "end": end if back else start}, "text": "" if back else edit.text}
        document = {"uri": self.uri, "version": self.version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def wait(self, fault: bool) -> None:
        """Wait for the diagnostics of the last edit; servers that name no version are known by what they find."""
        version = self.version

        def fits(params: dict[str, Any]) -> bool:
            if params["uri"] != self.uri:
                return False
            return params.get("version") == version if self.ours else bool(params["diagnostics"]) == fault

        self.client.diagnostics(fits)

    def ask(self, method: str, line: int, character: int) -> Any:
        """A request about a place."""
        where = {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}}
        return self.client.request(method, where)


def one_edit(session: Session, edit: Edit, measured: Measured) -> None:
    """An edit with its diagnostics and the requests that an editor sends, and the same back."""
    cpu = session.client.cpu_ms()
    for back in (False, True):
        began = time.perf_counter()
        session.change(edit, back)
        session.wait(edit.fault and not back)
        measured.add("edit to diagnostics", began)
    measured.cpu_ms += session.client.cpu_ms() - cpu
    measured.edits += 2


def requests(session: Session, edit: Edit, measured: Measured) -> None:
    """Completion right after an edit, hover right after it is taken back; nothing is waited for between."""
    typed = Edit(edit.line, edit.column or 6, '"{{ inputs. }}" # ')
    session.change(typed, back=False)
    began = time.perf_counter()
    session.ask("textDocument/completion", typed.line, typed.column + len('"{{ inputs.'))
    measured.add("completion", began)
    session.change(typed, back=True)
    began = time.perf_counter()
    session.ask("textDocument/hover", edit.line, 10)
    measured.add("hover", began)
    session.wait(fault=False)


def show(name: str, seconds: list[float]) -> None:
    """One line of figures."""
    middle, p95 = statistics.median(seconds) * 1000, _p95(seconds) * 1000
    print(f"{name:32}{middle:9.1f} ms   p95 {p95:9.1f} ms   ({len(seconds)} times)")


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * 0.95))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write_project(Path(folder) / "project", 1, options.steps)[0]
        peer = None if options.no_peer else install_peer(Path(folder))
        if peer is None and not options.no_peer:
            print(f"{PEER} cannot be installed here (it needs npm, Node and the registry): nothing to compare with")
        _run(path, options.edits, peer, _schema(Path(folder)))


def _schema(folder: Path) -> Path:
    command = [sys.executable, "-m", "workfile_cli", "schema", "workfile"]
    path = folder / "workfile.schema.json"
    path.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return path


def _run(path: Path, count: int, peer: list[str] | None, schema: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # Two half edits make one, as each is taken back.
    edits = edits_of(text, max(1, count // 2))
    ours, ours_took = Session(OURS, path, text, None, ours=True), Measured()
    theirs: Session | None = None
    theirs_took = Measured()
    if peer is not None:
        settings = {"yaml": {"schemas": {schema.as_uri(): ["*.workfile.yaml"]}, "validate": True}}
        theirs = Session(peer, path, text, settings, ours=False)
    for number, edit in enumerate(edits):
        one_edit(ours, edit, ours_took)
        requests(ours, edit, ours_took)
        # Every third is enough for a ratio, and theirs take long; both do the same ones.
        if theirs is not None and edit.fault and number % 9 < 3:
            one_edit(theirs, edit, theirs_took)
    print(f"{'start to first diagnostics':32}{ours.first_s * 1000:9.1f} ms")
    for name, seconds in ours_took.seconds.items():
        show(name, seconds)
    print(f"{'CPU of an edit':32}{ours_took.cpu_ms / ours_took.edits:9.1f} ms")
    print(f"{'memory':32}{ours.client.memory_mb():9.1f} MB")
    if theirs is not None:
        show(f"{PEER}", theirs_took.seconds["edit to diagnostics"])
        print(f"{'  its CPU of an edit':32}{theirs_took.cpu_ms / theirs_took.edits:9.1f} ms")
        mine, other = (each.seconds["edit to diagnostics"] for each in (ours_took, theirs_took))
        ratios = (statistics.median(other) / statistics.median(mine), _p95(other) / _p95(mine))
        print(f"{'  times as long as ours':32}{ratios[0]:9.1f}      p95 {ratios[1]:9.1f}")
        theirs.client.process.terminate()
    ours.client.stop()


if __name__ == "__main__":
    main()
