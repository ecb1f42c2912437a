"""``fstui powercut write``, ``witness`` and ``verify``: test durability with a power cut."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from fstui.cli import completion
from fstui.cli.campaign import campaign, cut_option, root_of_option
from fstui.cli.delivery import deliver
from fstui.cli.execution import BROKEN_PIPE, FAILED, UNACCEPTABLE, exit_status, interrupted_status
from fstui.cli.interruption import Interruption
from fstui.cli.options import (
    confirm,
    fail_on_option,
    format_option,
    is_failure,
    output_option,
    parse_settings,
    settings_option,
    trust_option,
    yes_option,
)
from fstui.cli.output import can_redraw, draw_status, is_terminal, say
from fstui.model.errors import Refused
from fstui.model.quantities import count, counted, rate, seconds, short_size
from fstui.powercut.header import PowerCutHeader
from fstui.powercut.log import READER_GONE, BadLog
from fstui.powercut.verification import CutDeclaration
from fstui.powercut.witness import SILENCE_TIMEOUT_S, LogNotWritten, Witness, WitnessState
from fstui.powercut.writing import PreparedCut, WriterProcess, root_warning
from fstui.report import formats
from fstui.report.characters import escape_controls
from fstui.runs import power_cut
from fstui.runs.session import Session

REDRAW_S, LINE_S = 0.25, 10.0
"""Interval between two lines of the witness: REDRAW_S on a terminal, where the line is redrawn, else LINE_S."""


@click.group("powercut")
def powercut() -> None:
    """Test durability: write while another host records the acknowledgements, cut the power, then verify.

    \b
    1. On the witness, the host that records the acknowledgements and has a
       power supply of its own:
         ssh -o ServerAliveInterval=2 HOST fstui powercut write DIR |
           fstui powercut witness acks.log
    2. While the witness shows acknowledgements, pull HOST's power plug.
       A reset or a reboot is not enough: the drive keeps its power, and
       the best possible verdict is then 'plausible'.
    3. When HOST is up again, on the witness:
         ssh HOST fstui powercut verify DIR < acks.log

    If you can switch the power of HOST with commands, 'fstui powercut campaign' repeats this test many times.
    """


powercut.add_command(campaign)


@powercut.command("write")
@click.argument("directory", metavar="DIR", shell_complete=completion.directories)
@settings_option("Change a setting. 'fstui scenarios power-cut' lists them.")
@root_of_option
@trust_option
@yes_option
def write(directory: str, settings: Sequence[str], root_of: str | None, trust_dir: bool, yes: bool) -> int:
    """Write records until the power is cut.

    fstui writes records into DIR. When the sync of a record has returned, it acknowledges the record on stdout. The
    records stay in a new directory inside DIR. After 'fstui powercut verify', 'fstui clean' removes them.

    \b
    Example:
      ssh -o ServerAliveInterval=2 HOST fstui powercut write /srv |
        fstui powercut witness acks.log
    """
    if sys.stdout is None or is_terminal(sys.stdout):
        raise Refused(
            "stdout must lead to a witness on another host: "
            "ssh -o ServerAliveInterval=2 HOST fstui powercut write DIR | fstui powercut witness acks.log"
        )
    return asyncio.run(
        _write(Session.local(trust_directory=trust_dir), directory, parse_settings(settings), root_of, yes)
    )


async def _write(session: Session, directory: str, settings: dict[str, str], root_of: str | None, yes: bool) -> int:
    interruption = Interruption()

    async def work() -> int:
        cut = await power_cut.prepare_cut(session, directory, settings)
        concerns = () if yes else await power_cut.concerns(session, cut)
        interruption.release()  # while fstui asks for confirmation, Ctrl-C must end it
        warning = root_warning(cut.header.target, on_root=cut.on_root)
        if cut.on_root:
            _confirm_root(cut, warning, root_of)
        elif warning:
            say(warning)
        _ask_about_concerns(cut, concerns)
        return await interruption.run_until_signal(_run_writer(cut, interruption))

    return await interruption.run_until_signal(work())


async def _run_writer(cut: PreparedCut, interruption: Interruption) -> int:
    _print_plan(cut)
    writing = await WriterProcess.start(cut)
    interruption.listen(
        lambda: writing.stop(f"stopped by {interruption.signal.name}" if interruption.signal else "stopped")
    )
    try:
        await writing.wait_until_ready()
    except Refused as refusal:
        if interruption.exit_code is None:
            raise
        say(f"fstui: {refusal}")
        return interruption.exit_code
    say("writing. When the witness shows acknowledgements, pull the power plug of this host. Press Ctrl-C to cancel.")
    end = await writing.wait_for_end()
    outcome = "the writer failed" if end.has_failed else "ended without a power cut"
    say(f"fstui: {outcome}: {end.reason}. The records stay in {cut.header.directory}.")
    say("After 'fstui powercut verify', 'fstui clean' removes them. 'fstui clean --pending' removes them at once.")
    if (code := interruption.exit_code) is not None:
        return code
    return BROKEN_PIPE if end.reason == READER_GONE else FAILED if end.has_failed else 0


def _confirm_root(cut: PreparedCut, warning: str, root_of: str | None) -> None:
    name = cut.header.host.hostname
    if root_of is None and is_terminal(sys.stdin):
        say(warning)
        root_of = click.prompt("Type the name of this host to continue", default="", show_default=False, err=True)
    if root_of not in (name, escape_controls(name)):  # a name is printed with its control characters escaped
        raise Refused(f"{warning} Name a directory on another filesystem, or confirm it with --root-of {name}")


def _ask_about_concerns(cut: PreparedCut, concerns: Sequence[str]) -> None:
    warning = f"{cut.header.target.path}: {', '.join(concerns)}"
    if concerns and not confirm(warning, "Write anyway?", yes=False):
        raise Refused(f"{warning}. Nothing was written. Use --yes to write anyway")


def _print_plan(cut: PreparedCut) -> None:
    for combination in cut.plan.combinations:
        say(f"  {combination}, {counted(cut.plan.settings.writers, 'writer')}")
    max_size = short_size(cut.plan.peak_bytes)
    say(f"  into {cut.header.directory}, at most {max_size}; after the verification, 'fstui clean' removes it")


@powercut.command("witness")
@click.argument("file", type=Path)
def witness(file: Path) -> int:
    """Save acknowledgements from stdin to FILE.

    The witness syncs FILE about five times per second, and shows how many acknowledgements are safe in FILE.

    Exit status: 0 the connection broke, or the writer ended; 1 nothing was acknowledged, or writing FILE failed.

    \b
    Example:
      ssh -o ServerAliveInterval=2 HOST fstui powercut write /srv |
        fstui powercut witness acks.log
    """
    if sys.stdin is None or is_terminal(sys.stdin):
        raise Refused(
            "stdin must be the writer's output: "
            "ssh -o ServerAliveInterval=2 HOST fstui powercut write DIR | fstui powercut witness FILE"
        )
    acknowledgements = Witness(file, _announce)
    return _print_conclusion(acknowledgements, *_listen(acknowledgements))


@powercut.command("verify")
@click.argument("directory", metavar="DIR", shell_complete=completion.directories)
@click.option(
    "--storage-was-cut",
    is_flag=True,
    help="Declare that only the storage lost its power, not the host (a USB disk, a disk shelf).",
)
@click.option(
    "--mount-fails", "unmountable", is_flag=True, help="Declare that the filesystem could not be mounted after the cut."
)
@click.option("--unmountable", "unmountable_old", is_flag=True, hidden=True)
@cut_option(
    "What ended HOST: a power cut, the forced stop of its virtual machine (host-stop), or a reset. In the last two "
    "cases, the best possible verdict is 'plausible'."
)
@format_option(*formats.names())
@output_option()
@fail_on_option(with_speed=False)
def verify(directory: str, format_: str, output: Path | None, fail_on: Sequence[str], **cut: Any) -> int:
    """Read the records back and judge the cut.

    fstui compares the records in DIR with the witness's log on stdin. It writes nothing to DIR. It judges the cut, and
    saves the result with the other runs. If you verify a cut twice, it counts as one cut.

    Example: fstui powercut verify /srv/data < acks.log
    """
    if sys.stdin is None or is_terminal(sys.stdin):
        raise Refused("stdin must be the witness's log: fstui powercut verify DIR < acks.log")
    log = sys.stdin.buffer.read()
    declared = CutDeclaration(cut["storage_was_cut"], cut["unmountable"] or cut["unmountable_old"], cut["kind"])
    return asyncio.run(_verify(directory, log, declared, format_=format_, output=output, fail_on=fail_on))


async def _verify(
    directory: str, log: bytes, declared: CutDeclaration, *, format_: str, output: Path | None, fail_on: Sequence[str]
) -> int:
    session, interruption = Session.local(), Interruption()

    async def work() -> int:
        verified = await power_cut.verify(session, directory, log, declared)
        interruption.release()  # a signal may end fstui now, because a child saves the run completely or not at all
        if verified.saved_to is not None:
            say("This cut was verified before and its records were removed. This is the saved run.")
        saved_to, save_error = await power_cut.save(session, verified)
        await deliver(output, formats.render(format_, verified.run, saved_to), interruption.timeout_s)
        if save_error:
            say(f"fstui: {save_error}; the cut does not count")
        return exit_status(
            interruption.exit_code or 0,
            UNACCEPTABLE if is_failure(verified.run.verdict, None, fail_on) else 0,
            FAILED if save_error else 0,
        )

    return await interruption.run_until_signal(work(), "fstui: stopped. Nothing was saved or changed: verify again.")


def _announce(header: PowerCutHeader) -> None:
    say(f"{header.host.hostname}: {header.directory} on {header.target.fstype}")
    if header.is_of_this_boot:
        say("! the writer runs on this host, so the power cut also ends the witness. Run it on another host.")


def _listen(witness: Witness) -> tuple[str, bool]:
    """Show the acknowledgements until the connection ends. Return what went wrong, and whether a signal ended it.

    On a terminal, one line is redrawn. Otherwise, a line is printed every ten seconds.
    """
    trouble, interrupted, redraws = "", False, can_redraw()
    try:
        for state in witness.listen(0, REDRAW_S if redraws else LINE_S):
            if redraws:
                draw_status(_status_line(state))
            elif state.newest_ack:
                say(_status_line(state))
    except KeyboardInterrupt:
        interrupted = True
    except (LogNotWritten, BadLog) as error:
        trouble = str(error)
    with suppress(KeyboardInterrupt):
        try:
            witness.close()
        except LogNotWritten as error:
            trouble = trouble or str(error)
    return trouble, interrupted


def _print_conclusion(witness: Witness, trouble: str, interrupted: bool) -> int:
    """Print how the connection ended, and what to do next. Return the exit status."""
    view, log, path = witness.state(), witness.log, str(witness.path)
    saved = f"{count(witness.durable_count)} acknowledgements are saved in {path}"
    if trouble:
        say(f"fstui: {trouble}. {saved}; later ones are not known. Stop the writer and start again.")
        return FAILED
    if log is None or not view.ack_count:
        reason = "" if log else ": the writer sent nothing. See ssh's message above"
        say(f"fstui: nothing was acknowledged{reason}.")
        return interrupted_status() if interrupted else FAILED
    if log.has_failed:
        say(f"The writer {log.end_reason}. {saved}.")
        say(f"Did its storage lose power? fstui powercut verify DIR --storage-was-cut < {path}")
    elif log.end_reason is not None:
        say(f"The writer ended by itself: {log.end_reason}. The power was not cut while it wrote; {saved}.")
    elif interrupted:
        say(f"Stopped by you, {seconds(view.since_line_s)} after the last message from the writer. {saved}.")
    else:
        say(f"The connection broke before the writer ended: its power or the network failed. {saved}.")
    if log.end_reason is None:
        say(f"When the host is up again: ssh HOST fstui powercut verify DIR < {path}")
    return interrupted_status() if interrupted else 0


def _status_line(view: WitnessState) -> str:
    if view.newest_ack is None:
        return "waiting for the first acknowledgement"
    warning = ""
    if view.since_line_s >= SILENCE_TIMEOUT_S:
        silent = seconds(view.since_line_s)
        warning = f"! no message for {silent}: power or network failed (Ctrl-C ends; the log is safe) · "
    elif view.since_ack_s >= SILENCE_TIMEOUT_S:
        waited = seconds(view.since_ack_s)
        warning = f"! connected, but no acknowledgement for {waited}: its storage does not respond · "
    last = f"last: writer {view.newest_ack.writer}, record {count(view.newest_ack.sequence)}"
    saved = f"{count(view.ack_count)} acknowledged, {count(view.durable_count)} saved durably"
    return f"{warning}{rate(view.rate_per_s)}/s · {saved} · {last}"
