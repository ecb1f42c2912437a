"""``fstui lab make | list | run | open | remove``"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from fstui.cli.options import report_options
from fstui.cli.output import put, say
from fstui.cli.output_file import print_report
from fstui.model.errors import Refused
from fstui.report import formats, teaching
from fstui.runs import lab


@click.group("lab")
def command() -> None:
    """Make real storage with known faults for a class. Each truth is in an envelope that is opened last.

    \b
      fstui lab make /srv/class     as root: makes /srv/class and everything in it
      fstui lab run oak fstui run fsync-rate /srv/class/oak
      fstui lab open oak            the truth
      fstui lab remove              removes everything
    """


@command.command("make")
@click.argument("directory", metavar="DIR")
def make(directory: str) -> None:
    """Make DIR, which must not exist, and five storages in it.

    'fstui lab remove' removes it; 'fstui clean' does after a crash.
    """
    made = asyncio.run(lab.make(directory))
    for title, reason in made.missing.items():
        say(f"not made, {title}: {reason}")
    asyncio.run(print_report(teaching.of_lab(made.lab), formats.PLAIN))
    say("Which of them are durable? fstui list; fstui lab run NAME fstui run fsync-rate DIRECTORY")
    say("The truth: fstui lab open NAME")


@command.command("list")
@report_options()
def list_(format_: str, output: Path | None) -> None:
    """List the storages, and the envelopes that are open."""
    asyncio.run(print_report(teaching.of_lab(asyncio.run(lab.standing())), format_, output))


@command.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND…")
def run(name: str, words: tuple[str, ...]) -> None:
    """Start COMMAND as programs on the storage NAME are started."""
    lab.run(name, words, os.environ)


@command.command("open")
@click.argument("name")
@report_options()
def open_(name: str, format_: str, output: Path | None) -> None:
    """Open the envelope of NAME: what it is, what fstui reports, and where to look without fstui."""
    asyncio.run(print_report(teaching.of_envelope(asyncio.run(lab.open_envelope(name))), format_, output))


@command.command("cut", hidden=True)
@click.argument("name", required=False)
def cut(name: str | None) -> None:
    """Removed."""
    raise Refused("'lab cut' was removed. Cut the power of a simulated disk: fstui --simulate hdd-7200-lying, key p")


@command.command("remove")
def remove() -> None:
    """Remove the laboratory: mounts, loop devices, cgroup, files."""
    put(f"removed {asyncio.run(lab.remove())}\n")
