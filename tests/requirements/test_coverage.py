"""Every numbered requirement of the profiles has a marked test, or stands in ``not-yet.txt`` with what it waits for.

``requirements.yaml`` numbers what the profile documents ask. A test names what it covers:
``@pytest.mark.requirement("D-WAIT-03")``, or a row of ``tests/conformance/REQUIREMENTS.toml``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent.parent
HERE = Path(__file__).parent

#: Left out of collection (the ``conftest.py`` beside each says why): what does not run covers nothing.
NOT_RUN = {"qualify/test_harness.py"}

_ROW = re.compile(r"\{id: ([DRQ]-[A-Z]+-\d+)")
_ID = re.compile(r"[DRQ]-[A-Z]+-\d+")
_MARK = re.compile(r"(?:mark\.|@)requirement\(([^)]*)\)", re.DOTALL)


def numbered() -> list[str]:
    return _ROW.findall((HERE / "requirements.yaml").read_text(encoding="utf-8"))


def covered() -> set[str]:
    found = set(tomllib.loads((TESTS / "conformance" / "REQUIREMENTS.toml").read_text(encoding="utf-8")))
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.relative_to(TESTS).as_posix() in NOT_RUN:
            continue
        for mark in _MARK.findall(path.read_text(encoding="utf-8")):
            found.update(_ID.findall(mark))
    return found


def not_yet() -> list[str]:
    lines = (HERE / "not-yet.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def test_the_uncovered_requirements_are_those_that_are_listed() -> None:
    known = covered()
    missing = [name for name in numbered() if name not in known]
    assert missing == not_yet(), "a requirement lost its test, or gained one and is still listed in not-yet.txt"


def test_no_test_names_a_requirement_that_does_not_exist() -> None:
    unknown = covered() - set(numbered())
    assert unknown == set()
