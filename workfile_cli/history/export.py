"""``workfile history export``: a stored run's history as a file."""

from __future__ import annotations

import click

from analyzer.shown import shown_path
from workfile_cli.console import note
from workfile_cli.main import EXIT_OK
from workfile_cli.simulating import write_file


@click.command("export")
@click.argument("store", metavar="STORE")
@click.option("--run", "run_id", metavar="ID", help="Which run; needed when the store holds several.")
@click.option("--redact", is_flag=True, help="Withhold what manifests and inputs mark as `sensitive: true`.")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Write the history to this file, `*.history.jsonl`."
)
def export(store: str, run_id: str | None, redact: bool, output: str) -> int:
    """Write a stored run's history to a file, one JSON object a line."""
    from sim_runtime.driver.store import StoreError
    from sim_runtime.history.chain import lines_of
    from sim_runtime.history.encoding import record_json
    from sim_runtime.history.redact import Unreadable, redacted
    from sim_runtime.stores import stored_run

    try:
        header, records = stored_run(store, run_id)
        json_records = [record_json(record) for record in records]
        if redact:
            json_records = redacted(header, json_records)
    except StoreError as error:
        raise click.UsageError(f"{error}.") from None
    except Unreadable as error:
        raise click.UsageError(f"the history cannot be redacted: {error}.") from None
    write_file(output, "".join(lines_of(header, json_records)), "the history")
    note(f"wrote {len(json_records)} records of run {header.run} to {shown_path(output)}")
    return EXIT_OK
