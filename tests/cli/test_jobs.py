"""The same output for any number of processes, any hash seed, with and without the cache; processes that end badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from analyzer import driver, pool

COUNT = 40


@pytest.fixture
def many(put):
    """Files with findings, a few dependencies and suppressions."""
    put("shared.yaml", "shared")
    for number in range(COUNT):
        uses = "uses: shared.yaml\n" if number % 3 else "reads-index\n"
        put(
            f"f{number:02}.workfile.yaml",
            f"{uses}x: !bad-value>1 !likely-wrong?2\ny: !unknown-key # workfile: ignore[unknown-key, bad-value]\n",
        )


def test_the_output_is_the_same_for_any_number_of_jobs(run, many):
    alone = run("check", "--no-cache", "--format", "json", "--jobs", "1")
    assert len(json.loads(alone.out)["findings"]) == 3 * COUNT
    for jobs in ("2", "3"):
        assert run("check", "--no-cache", "--format", "json", "--jobs", jobs) == alone
    assert run("check", "--format", "json", "--jobs", "2") == alone
    assert run("check", "--format", "json", "--jobs", "2") == alone
    assert run("check", "--format", "json") == alone


@pytest.mark.slow
def test_the_output_is_the_same_for_any_hash_seed(spawn, many):
    seen = {
        (form, spawn("check", "--format", form, "--jobs", jobs, *extra, PYTHONHASHSEED=seed))
        for form in ("text", "sarif")
        for seed, jobs, extra in (("0", "1", ("--no-cache",)), ("1", "2", ()), ("2", "2", ()), ("3", "1", ()))
    }
    assert len(seen) == 2


@pytest.mark.slow
def test_processes_that_are_spawned_answer_the_same(run, many, monkeypatch):
    forked = run("check", "--no-cache", "--format", "json", "--jobs", "2")
    monkeypatch.setattr(pool, "_start_method", lambda: "spawn")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert run("check", "--no-cache", "--format", "json", "--jobs", "2") == forked


def test_a_process_that_dies_costs_its_files_a_line_each(run, put, many):
    put("dies.workfile.yaml", "x: !die\n")
    ran = run("check", "--no-cache", "--jobs", "2", "--format", "json")
    assert ran.code == 2
    assert "a worker process died; try `--jobs 1`" in ran.err
    assert ran.err.count("\n") <= 21
    assert "Traceback" not in ran.err


def test_a_fault_of_the_engine_in_a_process_is_one_line(run, put, many):
    put("crash.workfile.yaml", "x: !crash\n")
    ran = run("check", "--no-cache", "--jobs", "2", "--format", "json")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert len(json.loads(ran.out)["findings"]) == 3 * COUNT


def test_automatic_jobs(monkeypatch):
    monkeypatch.setattr(driver, "available_cores", lambda: 4)

    def jobs(count: int, asked: int | None = None) -> int:
        return driver._jobs(driver.Options(jobs=asked), count)

    assert [jobs(0), jobs(1), jobs(15), jobs(16), jobs(1000)] == [1, 1, 1, 2, 4]
    assert [jobs(1, 3), jobs(1, 10_000)] == [3, driver.MAX_JOBS]


@pytest.mark.slow
def test_an_interrupt_is_quiet(folder, put, python_path):
    put("a.workfile.yaml", "x: 1\n")
    put("b.workfile.yaml", "x: 1\n")
    # A shell starts what runs in its background without interrupts, and that would be passed on.
    program = (
        "import signal, sys, time, fake_engine as f\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import workfile_cli.engine as m; from workfile_cli.main import main\n"
        "m.ENGINE = f.ENGINE; check = f.check_file\n"
        "def slow(*a):\n    sys.stderr.flush(); open('started', 'a').close(); time.sleep(30); return check(*a)\n"
        "f.check_file = slow\n"
        "sys.exit(main(['check', '--jobs', sys.argv[1], '--no-cache']))\n"
    )
    for jobs in ("1", "2"):
        (folder / "started").unlink(missing_ok=True)
        started = subprocess.Popen(
            [sys.executable, "-c", program, jobs],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        until = time.monotonic() + 60
        while not (folder / "started").exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.killpg(started.pid, signal.SIGINT)
        out, err = started.communicate(timeout=60)
        assert (started.returncode, out, err) == (130, b"", b"")
