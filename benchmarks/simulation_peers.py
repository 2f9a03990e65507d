"""What simulated runs are measured against: bare SQLite transactions, and other engines where they are installed."""

from __future__ import annotations

import importlib.util
import itertools
import json
import logging
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TIMEOUT_S = 300
#: It wants other versions of packages than we do, so it has an environment of its own:
#: ``python -m venv .venv-pyaslengine && .venv-pyaslengine/bin/pip install pyaslengine``.
PYASLENGINE = Path(__file__).resolve().parents[1] / ".venv-pyaslengine" / "bin" / "python"


def sqlite_transactions(folder: Path, count: int) -> float:
    """Transactions a second of a few hundred bytes each, in WAL mode as our store is."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    connection.execute("create table t (number integer primary key, text text)")
    text = "x" * 400
    started = time.perf_counter()
    for number in range(count):
        connection.execute("begin immediate")
        connection.execute("insert into t values (?, ?)", (number, text))
        connection.execute("commit")
    rate = count / (time.perf_counter() - started)
    connection.close()
    return rate


def rates(folder: Path, steps: int, runs: int) -> dict[str, float]:
    """Steps a second of a plain sequence in each engine that is installed; each in a process of its own."""
    found = {}
    engines = [
        ("DBOS with SQLite", "dbos", sys.executable if _is_installed("dbos") else None),
        ("moto's Step Functions", "moto", sys.executable if _is_installed("moto.stepfunctions.parser") else None),
        ("pyaslengine (no history)", "pyaslengine", str(PYASLENGINE) if PYASLENGINE.exists() else None),
    ]
    for name, engine, python in engines:
        if python is None:
            continue
        command = [python, __file__, engine, str(folder), str(steps), str(runs)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            sys.stderr.write(f"{name} could not be measured: {done.stderr.strip().splitlines()[-1:]}\n")
            continue
        found[name] = steps / float(done.stdout.splitlines()[-1])
    return found


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def dbos_seconds(folder: Path, steps: int, runs: int) -> float:
    """The median time of a DBOS workflow with so many steps."""
    dbos: Any = importlib.import_module("dbos")
    dbos.DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite"})

    @dbos.DBOS.step()  # type: ignore[untyped-decorator]
    def send(text: str) -> dict[str, str]:
        return {"id": text}

    @dbos.DBOS.workflow()  # type: ignore[untyped-decorator]
    def sequence() -> int:
        for number in range(steps):
            send(f"t{number}")
        return steps

    dbos.DBOS.launch()
    found = _median(sequence, runs)
    dbos.DBOS.destroy()
    return found


def moto_seconds(_folder: Path, steps: int, runs: int) -> float:
    """The median time of a state machine with so many states, from its start until it is seen to have succeeded."""
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    boto3: Any = importlib.import_module("boto3")
    moto: Any = importlib.import_module("moto")
    definition = json.dumps(_state_machine(steps))
    with moto.mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        client = boto3.client("stepfunctions")
        machine = client.create_state_machine(
            name="bench", definition=definition, roleArn="arn:aws:iam::123456789012:role/r"
        )["stateMachineArn"]

        numbers = itertools.count()

        def execute() -> None:
            arn = client.start_execution(stateMachineArn=machine, name=f"e{next(numbers)}")["executionArn"]
            while (status := client.describe_execution(executionArn=arn)["status"]) == "RUNNING":
                time.sleep(0.002)
            if status != "SUCCEEDED":
                raise RuntimeError(status)

        return _median(execute, runs)


def pyaslengine_seconds(_folder: Path, steps: int, runs: int) -> float:
    """The median time of a state machine with so many states; it calls functions and keeps no history."""
    data: Any = importlib.import_module("pyaslengine.data")
    workflows: Any = importlib.import_module("pyaslengine.workflows")
    machine = workflows.StateMachine.schema().load(_state_machine(steps))
    return _median(lambda: machine.run(workflow_input=data.WorkflowInput(data={})), runs)


def _state_machine(steps: int) -> dict[str, Any]:
    """A plain sequence in Amazon's States Language."""
    states: dict[str, dict[str, Any]] = {}
    for number in range(steps):
        states[f"s{number}"] = {"Type": "Pass", "Result": {"id": f"t{number}"}, "Next": f"s{number + 1}"}
    states[f"s{steps - 1}"] = {"Type": "Pass", "End": True}
    return {"StartAt": "s0", "States": states}


def _median(work: Any, runs: int) -> float:
    times = []
    for turn in range(runs + 1):
        started = time.perf_counter()
        work()
        if turn:
            times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    engine, place, step_count, run_count = sys.argv[1:]
    measured = {"dbos": dbos_seconds, "moto": moto_seconds, "pyaslengine": pyaslengine_seconds}[engine]
    sys.stdout.write(f"{measured(Path(place), int(step_count), int(run_count))}\n")
