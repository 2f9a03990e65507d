"""The entry point: the fast answers, and the one place that turns whatever ends a command into an exit code.

Exit codes: 0 clean, 1 findings (or what the command calls a failure), 2 a call that cannot be carried out; 130 and 141
for an interrupt and a closed pipe, as a shell would see them.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised and no traceback is shown.

    Only ``WORKFILE_DEBUG`` in the environment lets the traceback of an internal error through.
    """
    if arguments is None:
        gc.set_threshold(COLLECT_AFTER)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _version() if given in (["--version"], ["-V"]) else _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        return _broken_pipe()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
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

    from workfile_cli.console import error_line
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
        error_line(error.format_message(), command=context.command_path if context is not None else PROGRAM)
        return EXIT_USAGE
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        kind = type(error).__name__
        error_line(f"internal error: {kind}: {error}; this is a fault of workfile itself, `{DEBUG}=1` shows where")
        return EXIT_USAGE
    return result if isinstance(result, int) else EXIT_OK


def _broken_pipe() -> int:
    """Whoever read our output has enough; what is still buffered must not be tried again at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
    return EXIT_BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
