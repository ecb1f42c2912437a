"""``fstui lab make | list | open | cut | remove``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli.output import put, say, width
from fstui.report import lab as report
from fstui.runs import lab


@click.group("lab")
def command() -> None:
    """Real storage for a class: honest and lying, each with its truth in an envelope that is opened last.

    \b
      fstui lab make /srv/class            as root: makes /srv/class and all that stands in it
      fstui run fsync-rate /srv/class/oak  who keeps his word?
      fstui lab open oak                   the truth
      fstui lab remove                     takes all of it away
    """


@command.command("make")
@click.argument("directory", metavar="DIR")
def make(directory: str) -> None:
    """Make DIR, which must not exist, and the storages in it, by names that do not tell.

    Nothing outside DIR is touched. 'fstui lab remove' takes it away, 'fstui clean' what was killed in between.
    """
    made = asyncio.run(lab.make(directory))
    for title, reason in made.missing.items():
        say(f"not made, {title}: {reason}")
    put(report.render(made.lab, width()))
    say("Which of them keep their word? fstui list, fstui run fsync-rate DIRECTORY. The truth: fstui lab open NAME")


@command.command("list")
def list_() -> None:
    """The storages, and which envelopes are open."""
    put(report.render(asyncio.run(lab.standing()), width()))


@command.command("open")
@click.argument("name")
def open_(name: str) -> None:
    """Open the envelope of NAME: what it is in truth, what fstui is to say of it, and where to look without it."""
    put(report.envelope(asyncio.run(lab.open_envelope(name)), width()))


@command.command("cut")
@click.argument("name")
def cut(name: str) -> None:
    """Pull the plug of NAME's disk: what its cache still held is gone. It is mounted again at once.

    Only a disk that fstui itself serves has a plug to be pulled.
    """
    storage = asyncio.run(lab.pull_plug(name))
    say(f"The plug of {storage.name} was pulled, and it is mounted again. Now: fstui powercut verify --storage-was-cut")


@command.command("remove")
def remove() -> None:
    """Take the laboratory away: mounts, loop devices, processes, files."""
    put(f"removed {asyncio.run(lab.remove())}\n")
