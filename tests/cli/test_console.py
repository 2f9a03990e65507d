"""What the commands print with: width, progress."""

from __future__ import annotations

import os
import threading

import pytest

from analyzer import pool
from workfile_cli import progress
from workfile_cli.console import output_width


def test_the_width_is_the_terminals(monkeypatch):
    assert output_width(120) == 120
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((77, 20)))
    assert output_width(120) == 77
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((3, 20)))
    assert output_width(120) == 40


@pytest.mark.parametrize(("terminal", "delay", "drawn"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_progress_only_on_a_terminal_and_only_when_it_takes_long(monkeypatch, capsys, terminal, delay, drawn):
    monkeypatch.setattr(progress, "DELAY_SECONDS", delay)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with progress.LazyProgress("checking") as bar:
        for done in range(3):
            bar(done, 3)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("checking" in captured.err) == drawn


def test_processes_are_forked_only_without_other_threads(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert pool._start_method() == "fork"
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert pool._start_method() == "spawn"
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr("sys.platform", "darwin")
    assert pool._start_method() == "spawn"
