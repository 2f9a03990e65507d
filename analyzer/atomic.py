# Paths are texts here: loading pathlib, or making an object for each path, costs more than it gives.
# ruff: noqa: PTH101, PTH105, PTH108, PTH116, PTH118
"""Replace a file in one step: readers see the old or the new content, never a part; the mode is kept."""

from __future__ import annotations

import contextlib
import os
import stat

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_TRIES = 100


def write_atomically(path: str, data: bytes) -> None:
    """Write ``data`` to ``path``; a symbolic link is followed and stays one.

    Raises ``OSError`` and leaves nothing behind.
    """
    target = os.path.realpath(path)
    try:
        mode: int | None = stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mode = None
    handle, temporary = _create_beside(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _create_beside(target: str) -> tuple[int, str]:
    """A new file in the target's folder, with the mode that new files have here."""
    folder, name = os.path.split(target)
    for number in range(_TRIES):
        temporary = os.path.join(folder, f".{name[:80]}.{os.getpid()}.{number}.tmp")
        with contextlib.suppress(FileExistsError):
            return os.open(temporary, _FLAGS, 0o666), temporary
    raise FileExistsError(f"{_TRIES} temporary files are in the way in `{folder}`")
