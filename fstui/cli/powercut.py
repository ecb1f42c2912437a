"""``fstui powercut write | witness | verify``"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.execution import BROKEN_PIPE, FAILED
from fstui.cli.interruption import Interruption
from fstui.cli.options import agreed, format_option, pairs, trust_option, yes_option
from fstui.cli.output import put, say
from fstui.cli.witnessing import keep
from fstui.model.errors import Refused
from fstui.model.judgement import VERDICTS, Verdict
from fstui.model.quantities import short_size
from fstui.report import formats
from fstui.runs import power_cut
from fstui.runs.power_cut import Cut, Declared, Verified, Writing
from fstui.runs.session import Session


@click.group("powercut")
def command() -> None:
    """Prove it: write with a witness on another machine, pull the plug, verify.

    \b
    1. On the witness, another machine with power of its own:
         ssh -o ServerAliveInterval=2 BOX fstui powercut write DIR | fstui powercut witness acks.log
    2. While it shows acknowledgements, pull the box's wall plug. A reset or a reboot proves nothing.
    3. When the box is up again:
         ssh BOX fstui powercut verify DIR < acks.log
    """


@command.command("write")
@click.argument("directory", metavar="DIR", shell_complete=completing.directories)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="See 'fstui scenarios power-cut'.")
@click.option("--root-of", metavar="HOSTNAME", help="Yes, to the root filesystem of the box of that name.")
@trust_option
@yes_option
def write(directory: str, settings: Sequence[str], root_of: str | None, trust_dir: bool, yes: bool) -> int:
    """Write records into DIR and print each one's acknowledgement once its sync has returned.

    Runs until the power goes. The records stay, in a directory of their own in DIR, until the cut is verified.
    """
    if sys.stdout is None or sys.stdout.isatty():
        raise Refused(
            "these lines are for a witness on another machine: "
            "ssh BOX fstui powercut write DIR | fstui powercut witness acks.log"
        )
    return asyncio.run(_write(Session.here(trusting=trust_dir), directory, pairs(settings), root_of, yes))


async def _write(session: Session, directory: str, settings: dict[str, str], root_of: str | None, yes: bool) -> int:
    interruption = Interruption()

    async def work() -> int:
        cut = await power_cut.make_cut(session, directory, settings)
        concerns = () if yes else await power_cut.concerns(session, cut)
        interruption.let_go()  # a question is left by Ctrl-C like any other
        if cut.on_root:
            _confirm_root(cut, root_of)
        _ask(cut, concerns)
        return await interruption.ending(_written(cut, interruption))

    return await interruption.ending(work())


async def _written(cut: Cut, interruption: Interruption) -> int:
    _tell(cut)
    writing = await Writing.start(cut)
    interruption.instead(lambda: writing.stop(_reason(interruption)))
    try:
        await writing.ready()
    except Refused as refusal:
        if interruption.exit_code is None:
            raise
        say(f"fstui: {refusal}")
        return interruption.exit_code
    say("writing; now pull the wall plug of this box. Ctrl-C gives up.")
    end = await writing.ended()
    why = "its storage failed" if end.failed else "ended without a cut"
    say(f"fstui: {why}: {end.reason}. The records stay in {cut.header.directory}")
    say("until they are verified; 'fstui clean --pending' removes them.")
    if (code := interruption.exit_code) is not None:
        return code
    return BROKEN_PIPE if end.reader_gone else FAILED if end.failed else 0


def _reason(interruption: Interruption) -> str:
    return f"stopped by {interruption.signal.name}" if interruption.signal else "stopped"


def _confirm_root(cut: Cut, root_of: str | None) -> None:
    """Raises Refused without the host's own name, typed."""
    name = cut.header.host.hostname
    if root_of is None and sys.stdin is not None and sys.stdin.isatty():
        say(f"{cut.header.target.path} is on the root filesystem: after the cut this box may not start again.")
        root_of = click.prompt("Type its host name to go on", default="", show_default=False, err=True)
    if root_of != name:
        raise Refused(
            f"{cut.header.target.path} is on the root filesystem: after the cut the box may not start again. "
            f"Name a directory on another filesystem, or confirm with --root-of {name}"
        )


def _ask(cut: Cut, concerns: Sequence[str]) -> None:
    """Raises Refused where there are any, and nobody wants it all the same."""
    what = f"{cut.header.target.path}: {', '.join(concerns)}"
    if concerns and not agreed(what, "Write all the same?", yes=False):
        raise Refused(f"{what}. Nothing was written; --yes writes all the same")


def _tell(cut: Cut) -> None:
    for way in cut.plan.ways:
        say(f"  {way}, {cut.plan.settings.writers} writer(s)")
    most = short_size(cut.plan.room_bytes)
    say(f"  into {cut.header.directory}, at most {most}; it stays there until it is verified")


@command.command("witness")
@click.argument("file", type=Path)
def witness(file: Path) -> int:
    """Keep what comes on stdin in FILE, durably, and show it.

    Exit: 0 the connection broke, or the writer ended; 1 nothing was acknowledged, or FILE could not be written.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise Refused("it reads the writer: ssh BOX fstui powercut write DIR | fstui powercut witness FILE")
    return keep(file)


@command.command("verify")
@click.argument("directory", metavar="DIR", shell_complete=completing.directories)
@click.option("--storage-was-cut", is_flag=True, help="The storage lost its power, not the box (a USB disk, a shelf).")
@click.option("--unmountable", is_flag=True, help="Since the cut the filesystem cannot be mounted any more.")
@format_option(*formats.names())
@click.option("--fail-on", type=click.Choice(VERDICTS), help="Exit 3 when the verdict is this one or worse.")
def verify(directory: str, storage_was_cut: bool, unmountable: bool, format_: str, fail_on: Verdict | None) -> int:
    """Read the records in DIR back and compare them with the witness's log on stdin.

    The cut is judged and saved in the history. It counts once, however often it is verified; nothing is written to DIR.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise Refused("it reads the witness's log: fstui powercut verify DIR < acks.log")
    data = sys.stdin.buffer.read()
    return asyncio.run(_verify(directory, data, Declared(storage_was_cut, unmountable), format_, fail_on))


async def _verify(directory: str, data: bytes, declared: Declared, format_: str, fail_on: Verdict | None) -> int:
    session, interruption = Session.here(), Interruption()

    async def work() -> int:
        verified = await power_cut.verify(session, directory, data, declared)
        interruption.let_go()  # it is saved as a whole, by a child
        return await _concluded(session, verified, format_, fail_on)

    return await interruption.ending(
        work(), "fstui: stopped; nothing was saved, and nothing has changed. Verify again."
    )


async def _concluded(session: Session, verified: Verified, format_: str, fail_on: Verdict | None) -> int:
    if verified.saved_to is not None:
        say("This cut was verified before, and its records have been removed since: the saved run again.")
    saved_to, save_error = await power_cut.save(session, verified)
    put(formats.render(format_, verified.run, saved_to))
    if save_error:
        say(f"fstui: {save_error}; this cut does not count")
    run = verified.run
    if fail_on and VERDICTS.index(run.verdict) <= VERDICTS.index(fail_on):
        return 3
    return FAILED if save_error else 0
