"""The entry point: the fast answers, and the one place that turns whatever ends a command into an exit code.

Exit codes: 0 clean, 1 findings (or what the command calls a failure), 2 a call that cannot be carried out; 130 and 141
for an interrupt and a closed pipe, as a shell would see them.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO, cast

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
PROGRAM = "workfile"
DEBUG = "WORKFILE_DEBUG"
COMPLETION = "_WORKFILE_COMPLETE"
COLLECT_AFTER = 50_000
"""New objects between two looks for garbage: modules and trees make many that stay, and Python looks every 700."""

PACKAGES = ("analyzer", "sim_runtime", "lsp_server", "workfile_cli")

WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
"""What happens to writing only; the error that says so names no file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised and no traceback is shown.

    Only ``WORKFILE_DEBUG`` in the environment lets the traceback of an internal error through.
    """
    if arguments is None:
        gc.set_threshold(COLLECT_AFTER)
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_what_is_closed()
    try:
        code = _version() if given in (["--version"], ["-V"]) else _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        return _broken_pipe()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        return _refused_by_the_system(error)
    except ImportError as error:
        return _not_imported(error)
    if arguments is None:
        gc.freeze()  # the process ends: looking through all that it made for garbage first is wasted
    return code


def _version() -> int:
    """Before anything is loaded: scripts ask for the version at every start."""
    from analyzer.__about__ import __version__

    sys.stdout.write(f"workfile {__version__}\n")
    return EXIT_OK


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        # What the output's encoding cannot say is escaped: a name in a file must not end the program.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    import click

    from workfile_cli.console import error_line, usage_line
    from workfile_cli.group import cli

    try:
        if COMPLETION in os.environ:
            cli.main(args=arguments, prog_name=PROGRAM, complete_var=COMPLETION)
        # Not `cli.main` otherwise: it answers an interrupt with an empty line.
        with cli.make_context(PROGRAM, arguments) as opened:
            result = cli.invoke(opened)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        usage_line(error.format_message(), context.command_path if context is not None else PROGRAM)
        return EXIT_USAGE
    except KeyboardInterrupt:
        raise
    except Exception as error:
        if isinstance(error, OSError | ImportError) or os.environ.get(DEBUG):
            raise
        error_line(_internal(error))
        return EXIT_USAGE
    return result if isinstance(result, int) else EXIT_OK


def _internal(error: Exception) -> str:
    kind = type(error).__name__
    return f"internal error: {kind}: {error}; this is a fault of workfile itself, `{DEBUG}=1` shows where"


def _not_imported(error: ImportError) -> int:
    """A module is missing: most likely another package has the name of one of ours and comes first."""
    if os.environ.get(DEBUG):
        raise error
    package = (error.name or "").partition(".")[0]
    other = getattr(sys.modules.get(package), "__file__", None)
    text = _internal(error)
    if package in PACKAGES and other is not None:
        where = os.path.relpath(os.path.dirname(other))  # noqa: PTH120
        text = (
            f"another package `{package}` (`{where}`) hides the one of workfile; start the command `workfile`, not "
            "`python -m workfile_cli`, and without `PYTHONPATH` or from another folder"
        )
    sys.stderr.write(f"{PROGRAM}: error: {text}.\n")
    return EXIT_USAGE


def _open_what_is_closed() -> None:
    """Give streams that the caller closed a file descriptor: else the next file that is opened gets theirs.

    There is nothing to read then, what is said on standard error is lost, and a result cannot be written.
    """
    if sys.stdin is None:
        sys.stdin = _null_stream(0, os.O_RDONLY, "r")
    if sys.stdout is None:
        sys.stdout = _null_stream(1, os.O_RDONLY, "w")  # not to be written to: a result that is lost is an error
    if sys.stderr is None:
        sys.stderr = _null_stream(2, os.O_WRONLY, "w")


def _null_stream(number: int, flags: int, mode: str) -> TextIO:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return cast(TextIO, open(number, mode, encoding="utf-8", closefd=False))


def _refused_by_the_system(error: OSError) -> int:
    """Something outside ended the command: a full disk, a folder that was removed. One line says what."""
    if os.environ.get(DEBUG):
        raise error
    from workfile_cli.console import error_line

    text = _words(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is sys.stderr:
                error_line(text)
            stream.flush()
        except OSError:
            _drop_what_is_left(stream)
    return EXIT_USAGE


def _words(error: OSError) -> str:
    from analyzer.shown import shown_path

    reason = error.strerror or str(error)
    if not _has_working_directory():
        return "the working directory was removed; change to one that is there"
    if isinstance(error.filename, str | bytes):
        return f"`{shown_path(os.fsdecode(error.filename))}`: {reason}"
    return f"cannot write the output: {reason}" if error.errno in WRITING else f"cannot go on: {reason}"


def _has_working_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    return True


def _broken_pipe() -> int:
    """Whoever read our output has enough."""
    _drop_what_is_left(sys.stdout)
    return EXIT_BROKEN_PIPE


def _drop_what_is_left(stream: TextIO) -> None:
    """What a stream still holds must not be tried again at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # a stream of a test, say, has no file
        os.dup2(devnull, stream.fileno())
    os.close(devnull)


if __name__ == "__main__":
    sys.exit(main())
