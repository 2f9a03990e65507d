"""Any arguments and any files: an exit code of the contract, one clear line for a call that cannot be carried out, and
never a traceback, a path of the user's home in a report, or a hang."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workfile_cli.commands import COMMANDS
from workfile_cli.main import main

ROOT = Path(__file__).resolve().parents[2]
#: Commands that serve until they are stopped, or talk to a process: their input is fuzzed elsewhere.
SERVING = frozenset({"lsp", "dap", "host", "step"})
BATCH = sorted(COMMANDS.keys() - SERVING)

WORKFILE = """workfile: "1.0"
name: sample
inputs: { amount: integer }
steps:
  - first: { wf.let: { double: "{{ inputs.amount * 2 }}" } }
  - pause: { wf.wait: 1h }
result: { total: "{{ first.double }}" }
"""
SCENARIO = "workfile: sample.workfile.yaml\ninputs: { amount: 2 }\nexpect: { status: succeeded }\n"
FILES = {
    "sample.workfile.yaml": WORKFILE.encode(),
    "sample.scenario.yaml": SCENARIO.encode(),
    "empty.workfile.yaml": b"",
    "bytes.workfile.yaml": b"\xff\xfe\x00workfile: \xe9",
    "broken.scenario.yaml": b"workfile: [\n",
    "list.scenario.yaml": b"- 1\n",
    "sample.history.jsonl": b'{"format": "nothing"}\n{"seq": 1}\n',
    "cut.history.jsonl": b'{"format"',
    "bundle.json": b'{"version": 3}',
    "store.sqlite": b"SQLite format 3\x00" + bytes(80),
    "text.txt": b"hello\n",
}
OPTIONS = [
    "--format",
    "json",
    "--format",
    "text",
    "--format",
    "nothing",
    "--strict",
    "--diff",
    "--check",
    "--seed",
    "-1",
    "--seed",
    "x",
    "--until",
    "2h",
    "--until",
    "never",
    "--input",
    "amount=3",
    "--input",
    "amount",
    "--input",
    "=1",
    "--dry-run",
    "--at",
    "3",
    "--at",
    "x",
    "--jobs",
    "1",
    "--jobs",
    "0",
    "--select",
    "redo-unsafe",
    "--select",
    "nothing",
    "--ignore",
    ",",
    "--history",
    "out.history.jsonl",
    "--store",
    "out.sqlite",
    "--store",
    "text.txt",
    "--no-cache",
    "--help",
    "--color",
    "never",
    "--scenario",
    "sample.scenario.yaml",
    "--scenario",
    "broken.scenario.yaml",
    "--definition",
    "sample.workfile.yaml",
    "--states",
    "50",
    "--budget",
    "1s",
    "--crashes",
    "0",
    "--histories",
    ".",
    "--baseline",
    "text.txt",
    "--coverage",
    "--fail-under",
    "101",
    "--redact",
    "-o",
    "out.txt",
]

TOKENS = (b"\n", b": ", b"- ", b"null", b"{{", b'"', b"9")


def argument() -> st.SearchStrategy[str]:
    """Names of files, options of some command, subcommands, and odd texts."""
    words = st.sampled_from([*FILES, *OPTIONS, "export", "verify", "keygen", "reconstruct", "reevaluate", "continue"])
    odd = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
    return words | st.sampled_from([".", "-", "--", "..", "", "*", "no/such/file", "https://127.0.0.1:9"]) | odd


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files, among them a real history, a real store and a real bundle to be damaged."""
    made = tmp_path_factory.mktemp("fuzz")
    (made / "sample.workfile.yaml").write_text(WORKFILE)
    store, history = made / "real.sqlite", made / "real.history.jsonl"
    run = ["run", str(made / "sample.workfile.yaml"), "--input", "amount=2"]
    assert main([*run, "--store", str(store), "--history", str(history)]) == 0
    shutil.copy(ROOT / "tests" / "qualify" / "example-bundle.json", made / "real.json")
    return made


def _call(arguments: list[str], folder: Path, files: dict[str, bytes]) -> tuple[int, str, str]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WORKFILE_CACHE_DIR", str(folder / "cache"))
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WORKFILE.encode())))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main(arguments)
    assert code in (0, 1, 2, 3, 64), (arguments, code, err.getvalue())
    assert "Traceback" not in out.getvalue() + err.getvalue(), arguments
    assert "internal error" not in err.getvalue(), (arguments, err.getvalue())
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("command", BATCH)
def test_any_arguments(command: str, folder: Path) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(argument(), max_size=5))
    def holds(arguments: list[str]) -> None:
        code, _, err = _call([command, *arguments], folder, FILES)
        if code == 2:
            assert any(": error: " in line for line in err.splitlines()), (arguments, err)

    holds()


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """A sound content with a few bytes cut out, put in or changed, at few places; or nothing like it at all."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(sound)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 2, 7, 80, len(sound)])))
        data[start:end] = draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b": ", b"- ", b"null", b"{{", b'"', b"9"])
        )
    return bytes(data)


@pytest.mark.parametrize(
    ("sound", "calls"),
    [
        ("sample.workfile.yaml", ["check", "run", "graph", "format --check"]),
        ("sample.scenario.yaml", ["check", "test"]),
        ("real.history.jsonl", ["history reconstruct", "history reevaluate", "history continue"]),
        ("real.json", ["qualify verify"]),
        ("real.sqlite", ["history export -o out.history.jsonl"]),
    ],
)
def test_any_content(sound: str, calls: list[str], folder: Path) -> None:
    name = f"fuzzed.{sound.partition('.')[2]}"
    content = FILES.get(sound) or (folder / sound).read_bytes()

    @settings(max_examples=60, deadline=None)
    @given(damaged(content))
    def holds(data: bytes) -> None:
        for call in calls:
            _, out, _ = _call([*call.split(), name], folder, {**FILES, name: data})
            assert str(folder) not in out, call

    holds()
