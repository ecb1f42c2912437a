"""``fstui history``"""

from __future__ import annotations

import click
import msgspec

from fstui.cli.output import put, say
from fstui.cli.rendering import format_option
from fstui.quantities import plain
from fstui.report import history
from fstui.state import paths, runs


@click.command("history")
@format_option("plain", "json")
def command(format_: str) -> None:
    """List the saved runs, newest first."""
    found = runs.history()
    if format_ == "json":
        put(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    elif found:
        put(history.render(found))
    else:
        say(f"No run is saved in {plain(str(paths.runs_dir()))} yet.")
