"""The mutation run of the simulated runtime: every mutant of ``mutants.toml`` must be found by a test.

    python tests/sim/mutants/run.py                      # all of them
    python tests/sim/mutants/run.py core/redo.py         # those of a file
    MUTANTS_SHOW=1 python tests/sim/mutants/run.py 17    # one by number, and what the tests say

No file is changed. The tests run once as they are, which loads everything and fills their caches; then each mutant runs
in a process forked from there, in which the changed functions are given their other code, and the test functions are
called as they were collected. Those of the files that are named beside the mutant come first, then all others that need
no fixtures, then whole files under pytest; ``--generated`` adds the tests on generated Workfiles, which take long.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FunctionType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT)] if str(ROOT) not in sys.path else []

from tests.sim import lab  # noqa: E402 - the path comes first

Functions = dict[tuple[str, str], list[FunctionType]]
TESTS = ROOT / "tests" / "sim"
PACKAGE = "sim_runtime"
#: A mutant that takes so many seconds of processor time never lets the tests end: it is found too.
PATIENCE_S = 20
GENERATED_S = 900
GENERATED = "test_properties.py"
#: What is changed here shows in Workfiles that are compiled anew only.
COMPILING = frozenset({"core/compiling.py", "core/fitting.py", "core/programs.py"})
#: What a process ends with that could not be made into the mutant.
BROKEN = 70
KILLED, SURVIVED, STUCK = "killed", "survived", "stuck"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of meaning at one place of the package, inside a function."""

    number: int
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]

    @property
    def text(self) -> str:
        """The file as it is."""
        return (ROOT / PACKAGE / self.file).read_text(encoding="utf-8")

    @property
    def module(self) -> str:
        """The name of the module."""
        return f"{PACKAGE}.{self.file.removesuffix('.py').replace('/', '.')}"


def mutants() -> list[Mutant]:
    """All of them, numbered from 1."""
    data = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(number, **{**each, "tests": tuple(each["tests"])}) for number, each in enumerate(data["mutant"], 1)]


# ---- applying -----------------------------------------------------------------------------------


def functions(text: str) -> dict[str, CodeType]:
    """The code of the functions and methods of a module, by qualified name; what is inside one belongs to it."""
    found: dict[str, CodeType] = {}
    stack = [compile(text, "<mutant>", "exec")]
    while stack:
        for each in stack.pop().co_consts:
            if isinstance(each, CodeType):
                if each.co_flags & 0x02:  # CO_NEWLOCALS: a function
                    found[each.co_qualname] = each
                else:
                    stack.append(each)
    return found


def changed(mutant: Mutant) -> dict[str, CodeType]:
    """The functions of the module that the mutant changes, by qualified name."""
    before, after = functions(mutant.text), functions(mutant.text.replace(mutant.old, mutant.new))
    return {name: code for name, code in after.items() if name in before and _meaning(code) != _meaning(before[name])}


def _meaning(code: CodeType) -> tuple[object, ...]:
    """What of code is not where it stands."""
    consts = tuple(_meaning(each) if isinstance(each, CodeType) else (type(each), each) for each in code.co_consts)
    return code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable


def loaded_functions() -> Functions:
    """Every function of the package in this process, by module and qualified name."""
    found: Functions = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and (each.__module__ or "").partition(".")[0] == PACKAGE:
            found.setdefault((each.__module__, each.__qualname__), []).append(each)
    return found


def apply(mutant: Mutant, functions_of: Functions) -> None:
    """Give the functions of this process the mutant's code."""
    done = 0
    for name, code in changed(mutant).items():
        for each in functions_of.get((mutant.module, name), ()):
            each.__code__ = code
            done += 1
    if not done:
        raise LookupError(f"mutant {mutant.number} changes no function that is in use")
    if mutant.file in COMPILING:
        lab.definition = lru_cache(lab.definition.__wrapped__)


# ---- judging ------------------------------------------------------------------------------------


def quick() -> list[Path]:
    """The tests that run before the ones on generated Workfiles."""
    own = [path for path in sorted(TESTS.glob("test_*.py")) if path.name != GENERATED]
    return [*own, *sorted((TESTS / "world").glob("test_*.py")), *sorted((TESTS / "history").glob("test_*.py"))]


def hinted(mutant: Mutant) -> list[Path]:
    """The test files that are most likely to find it."""
    return [TESTS / f"test_{name}.py" for name in mutant.tests]


class Collected:
    """A plugin that keeps what was collected: of each file the tests that need no fixtures, ready to be called."""

    def __init__(self) -> None:
        self.calls: dict[Path, list[Callable[[], object]]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Called by pytest."""
        for item in session.items:
            if isinstance(item, pytest.Function):
                given = item.callspec.params if hasattr(item, "callspec") else {}
                if set(item.fixturenames) <= set(given):
                    self.calls.setdefault(item.path, []).append(partial(item.obj, **given))

    def fails(self, first: list[Path]) -> bool:
        """Whether one of the tests fails; those of some files come first."""
        for path in [*first, *(path for path in self.calls if path not in first)]:
            for call in self.calls.get(path, ()):
                try:
                    call()
                except pytest.skip.Exception:
                    continue
                except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever it is, it was not so before
                    return True
        return False


def run_tests(paths: list[Path], *plugins: object) -> int:
    """Run test files in this process; 0 when all pass."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=1"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *map(str, paths)], plugins=list(plugins)))


def judge(mutant: Mutant, functions_of: Functions, tests: Collected, generated: bool) -> tuple[str, float]:
    """Run the tests in a forked process; what became of the mutant, and the seconds of processor time that it took."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            code = _in_child(mutant, functions_of, tests, generated)
        except BaseException:  # noqa: BLE001 - whatever it is, nothing of the parent's is cleaned up here
            traceback.print_exc()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == BROKEN:
        raise SystemExit(f"mutant {mutant.number} cannot be applied (`MUTANTS_SHOW=1` says why)")
    fate = STUCK if code < 0 else KILLED if code else SURVIVED
    return fate, used.ru_utime + used.ru_stime


def _in_child(mutant: Mutant, functions_of: Functions, tests: Collected, generated: bool) -> int:
    gc.disable()  # looking through all that the parent has would copy it
    limit = GENERATED_S if generated else PATIENCE_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    _silence()
    apply(mutant, functions_of)
    if tests.fails(hinted(mutant)):
        return 1
    return run_tests(quick()) or (run_tests([TESTS / GENERATED]) if generated else 0)


def _silence() -> None:
    sys.stdout.flush()
    if not os.environ.get("MUTANTS_SHOW"):
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)


def chosen(all_of_them: list[Mutant], asked: list[str]) -> Iterator[Mutant]:
    """Those that were asked for, by number or by file."""
    yield from (each for each in all_of_them if not asked or str(each.number) in asked or each.file in asked)


def main() -> int:
    """Run; exit 0 when at least 95 of 100 are found."""
    parser = argparse.ArgumentParser(description="Run the mutants of the simulated runtime.")
    parser.add_argument("which", nargs="*", help="numbers, or files such as core/redo.py (default: all)")
    parser.add_argument(
        "--least", type=float, default=95.0, help="the least percentage that must be found (default: 95)"
    )
    parser.add_argument("--generated", action="store_true", help="try those that are left on generated Workfiles too")
    options = parser.parse_args()
    selected = list(chosen(mutants(), options.which))
    if not selected:
        parser.error("no mutant is of that number or file")
    os.chdir(ROOT)
    tests = Collected()
    if run_tests(quick(), tests):
        sys.exit("the tests fail without any mutant: mend that first")
    functions_of = loaded_functions()
    gc.freeze()
    total = 0.0
    left = 0
    for mutant in selected:
        fate, took = judge(mutant, functions_of, tests, options.generated)
        total += took
        left += fate == SURVIVED
        sys.stdout.write(f"{fate:<8}  {mutant.number:>3}  {took:5.1f}s  {mutant.file}: {mutant.breaks}\n")
        sys.stdout.flush()
    share = 100 * (len(selected) - left) / len(selected)
    sys.stdout.write(
        f"{len(selected)} mutants, {left} survived, {share:.1f} % found, {total:.0f} s of processor time\n"
    )
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
