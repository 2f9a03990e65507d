"""Long work: a ``workfile`` command in a process of its own, so that typing is never held up and it can be ended.

It reads what is saved. What it prints is JSON, as the command line documents it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsp_server.progress import progress_of
from lsp_server.protocol import CANCELLED, Refused

if TYPE_CHECKING:
    from lsp_server.server import WorkfileServer

MAX_AT_ONCE: Final = 4
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024
GRACE_S: Final = 2.0
TICK_S: Final = 1.0
_HOME: Final = str(Path(__file__).resolve().parent.parent)


@dataclass(frozen=True, slots=True)
class Done:
    """What a command has printed, and its exit code."""

    code: int
    report: Any


async def run_tool(
    server: WorkfileServer, arguments: Sequence[str], folder: str, title: str, token: str | int | None
) -> Done:
    """Run ``workfile ARGUMENTS --format json`` in a folder. Raises ``Refused`` when it ends without a report."""
    if server.running >= MAX_AT_ONCE:
        raise Refused(f"{MAX_AT_ONCE} commands are running already: wait for one, or end it.")
    server.running += 1
    try:
        async with progress_of(server, token, title) as progress:
            process = await _start(arguments, folder)
            reading = asyncio.ensure_future(_output(process))
            ended = asyncio.ensure_future(progress.cancelled.wait())
            began = time.monotonic()
            try:
                while not reading.done():
                    await asyncio.wait({reading, ended}, timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
                    if progress.cancelled.is_set():
                        raise Refused("The command was cancelled.", CANCELLED)
                    progress.report(f"{time.monotonic() - began:.0f} s")
                output, errors = reading.result()
            finally:
                ended.cancel()
                reading.cancel()
                await _end(process)
    finally:
        server.running -= 1
    return _done(process.returncode, output, errors)


async def _start(arguments: Sequence[str], folder: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_HOME, os.environ.get("PYTHONPATH"))))}
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "workfile_cli", *arguments, "--format", "json"),
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise Refused(f"The command cannot be started: {error.strerror or error}.") from None


async def _output(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    return await asyncio.gather(_bounded(process.stdout), _bounded(process.stderr))


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """All that a stream gives, up to the bound; the rest is read and dropped, so that the process can end."""
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(1 << 16):
        if size < MAX_OUTPUT_BYTES:
            parts.append(part)
        size += len(part)
    return b"".join(parts)


async def _end(process: asyncio.subprocess.Process) -> None:
    """The process is over when this returns."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), GRACE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _done(code: int | None, output: bytes, errors: bytes) -> Done:
    text = output.decode("utf-8", "replace")
    try:
        return Done(code or 0, json.loads(text))
    except ValueError:
        told = (errors.decode("utf-8", "replace") or text).strip().splitlines()
        first = next((line for line in told if line.strip()), "it has said nothing")
        raise Refused(f"{first.removeprefix('workfile: ')}") from None
