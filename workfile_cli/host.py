"""``workfile host``: serve runs over HTTP, from a store, with worker processes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from workfile_cli.console import write_result

KEY_VARIABLE = "WORKFILE_HOST_KEY"
SIGNING_VARIABLE = "WORKFILE_HOST_SIGNING_KEYS"
MAX_WORKERS = 64
DEFAULT_RATE = 1_000.0


class RateType(click.ParamType[float]):
    """A number of requests a second, or ``off``."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """0 stands for no limit; None would be no value at all."""
        if value == "off":
            return 0.0
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not 0.1 <= rate <= 1_000_000:
            self.fail("it is not a number of requests a second from 0.1 to 1000000, nor `off`.", param, ctx)
        return rate


@click.command("host")
@click.option("--listen", metavar="ADDRESS:PORT", default="127.0.0.1:8080", show_default=True, help="Where to serve.")
@click.option("--store", metavar="FILE.sqlite", required=True, help="The store of runs; made when it is not there.")
@click.option("--workflows", metavar="DIR", help="The Workfiles to serve, with `workfile.toml` and connectors.")
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, MAX_WORKERS),
    default=2,
    show_default=True,
    help="Worker processes.",
)
@click.option("--durability-exercises", is_flag=True, help="Offer the routes that kill processes of this host.")
@click.option(
    "--allow-private-effects", is_flag=True, help="Let actions be called on this machine and private networks."
)
@click.option(
    "--rate", metavar="N|off", type=RateType(), default=DEFAULT_RATE, help="Requests a second.  [default: 1000]"
)
@click.option(
    "--signing-keys",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Public keys of evidence bundles to publish, as `workfile qualify keygen` prints them.",
)
def host(
    listen: str,
    store: str,
    workflows: str | None,
    workers: int,
    durability_exercises: bool,
    allow_private_effects: bool,
    rate: float,
    signing_keys: Path | None,
) -> int:
    """Serve runs of Workfiles over HTTP, durably, until it is told to end.

    It is the supervisor of an API process and N worker processes, which share one SQLite store. The bearer key that
    clients must send is in the environment variable WORKFILE_HOST_KEY.
    """
    if os.name != "posix":
        raise click.UsageError("`workfile host` needs a POSIX system: it stops, kills and locks as those do.")
    from sim_runtime.driver.store import StoreError
    from sim_runtime.host.catalogue import CannotServe, read_catalogue
    from sim_runtime.host.supervisor import CannotHost, Options, Supervisor
    from sim_runtime.host.telling import tell

    _check_key()
    address = _address(listen)
    keys = _signing_keys(signing_keys)
    try:
        catalogue = read_catalogue(workflows)
        for problem in catalogue.problems:
            tell(problem)
        options = Options(
            address,
            os.path.realpath(store),  # a link to a store is that store, and has its lock
            workers,
            catalogue,
            exercises=durability_exercises,
            allow_private=allow_private_effects,
            rate=rate or None,
            signing_keys=keys,
        )
        served = ", ".join(each.workflow for each in catalogue.served if not each.builtin) or "the fixtures only"
        return Supervisor(options, tell).run(lambda url: write_result(f"{url} serves {served}\n"))
    except (StoreError, CannotServe, CannotHost) as error:
        raise click.UsageError(f"{error}.") from None


def _check_key() -> None:
    key = os.environ.get(KEY_VARIABLE, "")
    if not key:
        raise click.UsageError(f"the environment variable `{KEY_VARIABLE}` is not set: it is the key of all clients.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise click.UsageError(f"`{KEY_VARIABLE}` holds characters that no bearer key has: use letters and digits.")


def _address(text: str) -> tuple[str, int]:
    name, _, port = text.rpartition(":")
    name = name.removeprefix("[").removesuffix("]")
    if not name or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError("`--listen` is ADDRESS:PORT, such as `127.0.0.1:8080`; port 0 takes a free one.")
    return name, int(port)


def _signing_keys(path: Path | None) -> tuple[dict[str, Any], ...]:
    """The keys of the file, else of the environment: an entry, or a list of entries."""
    from analyzer.shown import shown_path
    from sim_runtime.qualify.keys import KeyProblem, check_published

    source, text = f"`{SIGNING_VARIABLE}`", os.environ.get(SIGNING_VARIABLE, "")
    if path is not None:
        source = f"`{shown_path(str(path))}`"
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"cannot read {source}: {getattr(error, 'strerror', None) or error}.") from None
    if not text.strip():
        return ()
    try:
        found = json.loads(text)
    except ValueError:
        raise click.UsageError(f"{source} is not JSON: write what `workfile qualify keygen` prints.") from None
    entries = found if isinstance(found, list) else [found]
    try:
        return tuple(check_published(each) for each in entries)
    except KeyProblem as error:
        raise click.UsageError(f"{source}: {error}") from None
