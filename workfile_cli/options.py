"""Options that several commands share."""

from __future__ import annotations

import click

colour_option = click.option(
    "--color",
    "--colour",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in the text report.",
)
