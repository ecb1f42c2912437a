"""``fstui schema``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.report import json


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the run document."""
    put(json.schema())
