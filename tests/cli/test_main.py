"""The entry point: fast answers, exit codes, faults, closed pipes, commands that are loaded only when used."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time

import pytest

from analyzer.__about__ import __version__
from workfile_cli import commands, group
from workfile_cli.main import main


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
        (["--nonsense"], "workfile: error: No such option '--nonsense'.\n"),
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
        "`WORKFILE_DEBUG=1` shows where\n"
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
