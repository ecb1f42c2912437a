"""``fstui [DIR]``: the terminal app."""

from __future__ import annotations

import asyncio
import difflib
import sys

import click

from fstui.cli.commands import APP, COMMANDS
from fstui.model import Refused
from fstui.workspace import inspect

NO_TERMINAL = (
    "the app needs a terminal on stdin, stdout and stderr. Without one: "
    "'fstui list' shows what is here, 'fstui scenarios' what can be run, 'fstui run SCENARIO DIR' measures and judges."
)


@click.command(APP, add_help_option=False)
@click.argument("directory", metavar="[DIR]", required=False)
def command(directory: str | None) -> int:
    """Start the terminal app, with DIR at the plan for that directory."""
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Refused(NO_TERMINAL + _meant(directory))
    if directory is not None:
        _check(directory)
    # only now: textual takes longer to import than everything else together
    from fstui.engine.machine import LocalMachine  # noqa: PLC0415
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(LocalMachine(), directory)


def _check(directory: str) -> None:
    """Raises Refused before the screen is taken."""
    try:
        asyncio.run(inspect(directory))
    except Refused as refusal:
        raise Refused(f"{refusal}{_meant(directory)}") from None


def _meant(word: str | None) -> str:
    """A word close to a command was perhaps meant to be one."""
    close = difflib.get_close_matches(word or "", COMMANDS, n=1)
    return f" Did you mean 'fstui {close[0]}'?" if close else ""
