"""``fstui lessons`` and ``lab``: lessons on simulated disks, and real storage with known faults."""

import asyncio
import os
from pathlib import Path

import click

from fstui.cli.delivery import print_last_report, print_report, report_command
from fstui.cli.options import report_options
from fstui.cli.output import say, width, write_stdout
from fstui.cli.terminal import check_terminal, has_terminal
from fstui.report import formats, teaching
from fstui.report.sections import Report
from fstui.report.text import WIDTH, columns
from fstui.runs import lab as laboratory
from fstui.runs import simulation


@click.command("lessons")
@click.argument("name", required=False, metavar="[LESSON | DISK]")
@click.option("--teacher", is_flag=True, help="Print the teacher's page, with the plan of a 45-minute lecture.")
@click.option("--disks", is_flag=True, help="List the simulated disks, or print the parameters of DISK.")
@click.option(
    "--truth",
    is_flag=True,
    help="Also print the hidden parameters, and whether DISK is durable. This gives the answer away.",
)
@report_options()
def lessons(name: str | None, *, teacher: bool, disks: bool, truth: bool, format_: str, output: Path | None) -> int:
    """Start a lesson on simulated disks, or show the list of lessons. If stdout is not a terminal, print it.

    LESSON is a number or a name from the list. DISK is the name of a simulated disk; use it with --disks.

    Use --truth, --format and --output only with --disks.

    \b
    Examples:
      fstui lessons 3
      fstui lessons --disks
      fstui lessons --disks ssd-plp
    """
    if disks:
        asyncio.run(_print_disks(name, truth, format_, output))
        return 0
    if truth or output or format_ != formats.PLAIN:
        raise click.UsageError("--truth, --format and --output need --disks.")
    if teacher and name:
        raise click.UsageError("--teacher prints one page for all lessons. Leave out LESSON.")
    if teacher:
        from fstui.report import explanation  # noqa: PLC0415  slow: Markdown

        write_stdout(explanation.plain_text(explanation.documentation()["teaching"], width() or WIDTH))
        return 0
    from fstui.runs import lessons as lesson_files  # noqa: PLC0415
    from fstui.runs.session import Session  # noqa: PLC0415

    chosen = lesson_files.find(name) if name is not None else None
    if chosen is None and not has_terminal():
        rows = [(f"{lesson.number}", lesson.name, lesson.title) for lesson in lesson_files.lessons()]
        write_stdout("\n".join(columns(rows, "><<")) + "\n")
        return 0
    check_terminal()
    from fstui.tui.app import FstuiApp, run_app  # noqa: PLC0415

    def push_first_screens(app: FstuiApp) -> None:
        from fstui.tui.screens.lessons import LessonScreen, LessonsScreen  # noqa: PLC0415

        app.push_screen(LessonsScreen())
        if chosen is not None:
            app.push_screen(LessonScreen(chosen))

    return run_app(Session.local(), None, push_first_screens=push_first_screens)


async def _print_disks(name: str | None, truth: bool, format_: str, output: Path | None) -> None:
    if name is None:
        if truth:
            raise click.UsageError("--truth needs a disk, for example 'fstui lessons --disks hdd-7200 --truth'.")
        report = teaching.disks_report([simulation.load(disk) for disk in simulation.names()])
    else:
        report = teaching.disk_report(simulation.find(name), truth=truth)
    await print_report(report, format_, output)


@click.group("lab")
def lab() -> None:
    """Create filesystems with known faults, for a class.

    For each filesystem, a sealed envelope contains the answer. Open it after you have measured.

    \b
    Examples:
      fstui lab make /srv/class     as root: creates /srv/class
      fstui lab run oak fstui run fsync-rate /srv/class/oak
                                    tests one of the filesystems, oak
      fstui lab open oak            shows what oak is
      fstui lab remove              removes everything
    """


@lab.command("make")
@click.argument("directory", metavar="DIR")
def make(directory: str) -> None:
    """Create the directory DIR with five filesystems in it.

    'fstui lab remove' removes everything. After a crash, use 'fstui clean'.

    Example: sudo fstui lab make /srv/class
    """
    result = asyncio.run(laboratory.make(directory))
    for title, reason in result.missing.items():
        say(f"{title} was not created: {reason}")
    print_last_report(teaching.lab_report(result.lab), formats.PLAIN)
    say("Which of them are durable? Use 'fstui list' and 'fstui lab run NAME fstui run fsync-rate DIRECTORY'.")
    say("To read the answer: 'fstui lab open NAME'.")


@lab.command("list")
@report_command
def list_() -> Report:
    """List the filesystems of the lab, and the opened envelopes.

    Example: fstui lab list
    """
    return teaching.lab_report(asyncio.run(laboratory.current()))


@lab.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND…")
def run(name: str, words: tuple[str, ...]) -> None:
    """Run COMMAND in the environment of the filesystem NAME.

    If the lab has set environment variables or resource limits for this filesystem, they apply to COMMAND.

    Example: fstui lab run oak fstui run fsync-rate /srv/class/oak
    """
    laboratory.run(name, words, os.environ)


@lab.command("open")
@click.argument("name")
@report_command
def open_(name: str) -> Report:
    """Open the envelope of NAME.

    The envelope says what the filesystem is, what fstui reports about it, and how to check this without fstui.

    Example: fstui lab open oak
    """
    return teaching.envelope_report(asyncio.run(laboratory.open_envelope(name)))


@lab.command("remove")
def remove() -> None:
    """Remove the lab: mounts, loop devices, cgroup, files.

    Example: sudo fstui lab remove
    """
    write_stdout(f"removed {asyncio.run(laboratory.remove())}\n")
