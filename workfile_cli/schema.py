"""``workfile schema``: the JSON Schemas of the kinds of files, for editors, and of the reports, for programs."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.language import schemas
from workfile_cli import reports
from workfile_cli.console import note, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.reports import REPORTS

KINDS = ("workfile", "connector", "overlay", "scenario", *REPORTS)


@click.command("schema")
@click.argument("kind", metavar="[KIND]", required=False, type=click.Choice(KINDS))
@click.option(
    "--write",
    "write_to",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the files into DIR.",
)
@click.option(
    "--check",
    "check_in",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Change nothing; the exit status is 1 when a file in DIR is missing or stale.",
)
def schema(kind: str | None, write_to: Path | None, check_in: Path | None) -> int:
    """Print the JSON Schema (2020-12) of a KIND of file or report; without KIND, list the kinds.

    An editor that knows YAML checks, completes and explains with it, when the schema is associated with the names of
    the files, or named at the top of one: `# yaml-language-server: $schema=workfile.schema.json`.
    """
    if write_to is not None and check_in is not None:
        raise click.UsageError("`--write` does not go with `--check`.")
    chosen = KINDS if kind is None else (kind,)
    if write_to is not None:
        return _write(write_to, chosen)
    if check_in is not None:
        return _check(check_in, chosen)
    if kind is None:
        width = max(map(len, KINDS))
        for each in KINDS:
            write_result(f"{each:{width}}  {_about(each)}\n")
    else:
        write_result(text_of(kind))
    return EXIT_OK


def _about(kind: str) -> str:
    """The names of the files, or the command whose report it is."""
    if kind in REPORTS:
        return f"`{REPORTS[kind].command}`"
    return ", ".join(schemas.KINDS_OF_FILES[kind].files)


def text_of(kind: str) -> str:
    """The schema of one of ``KINDS`` as the text of its file."""
    return schemas.text(reports.schema(kind) if kind in REPORTS else schemas.schema(kind))


def _write(folder: Path, kinds: tuple[str, ...]) -> int:
    for kind in kinds:
        path = folder / schemas.file_name(kind)
        text = text_of(kind)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.read_bytes() == text.encode():
                continue
            path.write_bytes(text.encode())
        except OSError as error:
            raise click.ClickException(f"cannot write `{path}`: {error.strerror or error}") from None
        note(f"wrote {path}")
    return EXIT_OK


def _check(folder: Path, kinds: tuple[str, ...]) -> int:
    stale = 0
    for kind in kinds:
        path = folder / schemas.file_name(kind)
        try:
            present = path.read_bytes() if path.is_file() else None
        except OSError as error:
            raise click.ClickException(f"cannot read `{path}`: {error.strerror or error}") from None
        if present != text_of(kind).encode():
            stale += 1
            write_result(f"{path} is {'missing' if present is None else 'stale'}: write it with `--write`\n")
    return EXIT_FINDINGS if stale else EXIT_OK
