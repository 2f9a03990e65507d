"""The entry point: fast answers, exit codes, faults, closed pipes, commands that are loaded only when used."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzer.__about__ import __version__
from workfile_cli import commands, group
from workfile_cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def process(*arguments: str, python_path: str, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=False,
        timeout=60,
        env={"PYTHONPATH": python_path, "PATH": "/usr/bin:/bin"},
        **options,
    )


def test_version(run, python_path):
    assert run("--version") == run("-V")
    assert run("--version").out == f"workfile {__version__}\n"
    done = process("-m", "workfile_cli", "--version", python_path=python_path)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"workfile {__version__}\n", b"")


@pytest.mark.slow
def test_the_version_costs_less_than_five_empty_processes(python_path):
    def best(*arguments: str) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            process(*arguments, python_path=python_path)
            times.append(time.perf_counter() - started)
        return min(times)

    assert best("-m", "workfile_cli", "--version") < 5 * best("-c", "pass")


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--version"], ["click", "json", "rich", "analyzer.driver"]),
        (["--help"], ["rich", "json", "analyzer.driver", "networkx", "ruamel", "workfile_cli.check"]),
        (["check", "--help"], ["rich", "networkx", "ruamel", "jsonschema", "multiprocessing", "asyncio", "difflib"]),
        (["completion", "bash"], ["rich", "networkx", "ruamel", "jsonschema", "analyzer.driver"]),
    ],
)
def test_a_command_loads_only_what_it_needs(python_path, arguments, absent):
    program = (
        f"import sys; from workfile_cli.main import main; main({arguments!r}); "
        f"print('loaded', [name for name in {absent!r} if name in sys.modules])"
    )
    done = process("-c", program, python_path=python_path)
    assert done.stdout.decode().endswith("loaded []\n")


def test_without_a_command_there_is_help(run):
    ran = run()
    assert ran.code == 0
    assert ran.out.startswith("Usage: workfile ")
    for name, entry in commands.COMMANDS.items():
        assert f"  {name} " in ran.out
        assert entry.help.split()[0] in ran.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["chek"], "workfile: error: there is no command `chek`. Did you mean `check`?\n"),
        (["zzzzzzzz"], "workfile: error: there is no command `zzzzzzzz`. `workfile --help` lists the commands.\n"),
        (["--nonsense"], "workfile: error: no such option `--nonsense`.\n"),
        (["a\x1b[2J\n"], "workfile: error: there is no command `a\\x1b[2J `. `workfile --help` lists the commands.\n"),
    ],
)
def test_a_wrong_call_is_one_line(run, arguments, line):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.replace("option:", "option") == line or ran.err == line


def test_an_internal_error_is_one_line(run, monkeypatch):
    def fault(*_arguments):
        raise ValueError("first\nsecond")

    monkeypatch.setattr(group.LazyGroup, "get_command", fault)
    ran = run("check")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "workfile: error: internal error: ValueError: first second; this is a fault of workfile itself, "
        "`WORKFILE_DEBUG=1` shows where.\n"
    )
    monkeypatch.setenv("WORKFILE_DEBUG", "1")
    with pytest.raises(ValueError, match="first"):
        main(["check"])


def test_an_entry_that_is_no_command_is_a_fault(run, monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "odd", commands.LazyCommand("json", "dumps", "Odd."))
    ran = run("odd")
    assert ran.code == 2
    assert "json:dumps is not a command" in ran.err


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_of_the_table_has_help(run, name):
    entry = commands.COMMANDS[name]
    importlib.import_module(entry.module)
    ran = run(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: workfile {name} ")


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(folder, put, python_path):
    for number in range(300):
        put(f"{number}.workfile.yaml", "x: !bad-value\n" * 20)
    program = (
        "import sys, fake_engine as f; import workfile_cli.engine as m; m.ENGINE = f.ENGINE\n"
        "from workfile_cli.main import main; sys.exit(main(['check', '--no-cache']))"
    )
    options = {"cwd": folder, "env": {"PYTHONPATH": python_path}}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes, **options) as started:
        started.stdout.readline()
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(timeout=20) == 141


@pytest.fixture
def shell(folder, python_path):
    """Run a line of the shell in the working directory, where ``$W`` is the program; the code, and what is said."""

    def call(line: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-c", line],
            capture_output=True,
            check=False,
            timeout=60,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path, "W": f"{sys.executable} -m workfile_cli"},
        )
        return done.returncode, done.stderr.decode()

    return call


OUTPUTS = ["check", "check --format json", "format --diff", "--version", "--help", "explain", "run a.workfile.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_that_cannot_be_written_is_one_line(shell, put, command):
    put("a.workfile.yaml", 'workfile: "1.0"\nname: a\nsteps:\n  - b:\n        wf.let: {c: 1}\n')
    closed = (2, "workfile: error: cannot write the output: Bad file descriptor.\n")
    code, said = shell(f"$W {command} >&-")
    assert (code, said[-len(closed[1]) :]) == closed
    assert said.count("\n") <= 2  # `format` says too what it looked at
    assert shell(f"$W {command} >&- 2>&-") == (2, "")
    if Path("/dev/full").exists():
        code, said = shell(f"$W {command} >/dev/full")
        assert (code, said.splitlines()[-1]) == (
            2,
            "workfile: error: cannot write the output: No space left on device.",
        )
        assert shell(f"$W {command} >/dev/full 2>/dev/full")[0] == 2


@pytest.mark.slow
def test_what_is_not_used_may_be_closed(shell, put):
    put("a.workfile.yaml", 'workfile: "1.0"\nname: a\nsteps:\n  - b: { wf.let: {c: 1} }\n')
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        assert shell(f"$W check {closed}") == (0, "")
    assert shell("$W check --baseline b.json --write-baseline >&-") == (0, "wrote 0 findings in 0 entries to b.json\n")
    assert shell("$W check - <&-")[0] == 1  # an empty file


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["check", "format", "doctor", "test", "run a.workfile.yaml", "explore a.workfile.yaml"]
)
def test_a_working_directory_that_was_removed_is_one_line(shell, command):
    code, said = shell(f"mkdir gone; cd gone; rmdir ../gone; $W {command}")
    assert code == 2
    assert said == "workfile: error: the working directory was removed; change to one that is there.\n"
    assert shell("mkdir -p gone; cd gone; rmdir ../gone; $W --version") == (0, "")


def test_what_the_system_refuses_is_no_fault_of_ours(run, monkeypatch):
    def refuse(*_arguments):
        raise PermissionError(13, "Permission denied", "x/y.yaml")

    monkeypatch.setattr(group.LazyGroup, "get_command", refuse)
    assert run("check").err == "workfile: error: `x/y.yaml`: Permission denied.\n"
    monkeypatch.setenv("WORKFILE_DEBUG", "1")
    with pytest.raises(PermissionError):
        main(["check"])


@pytest.mark.parametrize("arguments", [["--version"], ["check"], ["explain"]])
def test_another_package_of_our_name_is_told(folder, arguments):
    (folder / "analyzer").mkdir()
    (folder / "analyzer" / "__init__.py").touch()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((".", str(ROOT)))}
    command = [sys.executable, "-m", "workfile_cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("workfile: error: another package `analyzer` (`analyzer`) hides the one of workfile;")


def test_an_output_that_cannot_say_a_character_escapes_it(spawn, put):
    put("é\U0001f600.workfile.yaml", "x: !bad-value\n")
    ran = spawn("check", PYTHONIOENCODING="ascii")
    assert ran.code == 1
    assert ran.out.startswith("\\xe9\\U0001f600.workfile.yaml:1:4: error")
    document = json.loads(spawn("check", "--format", "json", PYTHONIOENCODING="ascii").out)
    assert document["findings"][0]["path"] == "é\U0001f600.workfile.yaml"


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete -o"), ("zsh", "#compdef workfile"), ("fish", "complete ")]
)
def test_completion_scripts(run, shell, word):
    ran = run("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert word in ran.out
    assert "_WORKFILE_COMPLETE" in ran.out


def test_completion_of_an_unknown_shell(run):
    ran = run("completion", "cmd")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_completion_answers(spawn):
    ran = spawn(_WORKFILE_COMPLETE="bash_complete", COMP_WORDS="workfile che", COMP_CWORD="1")
    assert ran.out == "plain,check\n"
    ran = spawn(
        _WORKFILE_COMPLETE="bash_complete",
        COMP_WORDS="workfile explain document.n",
        COMP_CWORD="2",
    )
    assert ran.out == "plain,document.null\n"
    for words, expected in [
        ("workfile check --select bad", ["bad-value"]),
        ("workfile check --ignore document.c", ["document.control"]),
        ("workfile check --select bad-value,unk", ["bad-value,unknown-key"]),
        ("workfile check --ignore bad-value,ba", []),
    ]:
        ran = spawn(_WORKFILE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="3")
        assert [line for line in ran.out.splitlines() if line] == [f"plain,{each}" for each in expected]
