"""``fstui record`` and ``what-happened``: record what storage does, and find out later who waited for what."""

import asyncio
import os

import click

from fstui.cli.delivery import report_command
from fstui.cli.options import Duration
from fstui.cli.output import write_stdout
from fstui.model.errors import Refused
from fstui.report import what_happened as report
from fstui.report.sections import Report
from fstui.runs import recordings


@click.command("record")
@click.option(
    "--size", default="24M", show_default=True, metavar="BYTES", help="Maximum size of the recording on disk."
)
@click.option("--seconds", type=Duration(min=0, min_open=True), help="Record for this long. Default: until Ctrl-C.")
@click.option("--anonymous", is_flag=True, help="Do not record names of files and mount points.")
@click.option("--unit", is_flag=True, help="Print a systemd unit that records continuously, and exit.")
def record(size: str, seconds: float | None, anonymous: bool, unit: bool) -> None:
    """Record what storage does and which programs wait for it, so that 'fstui what-happened' can explain it later.

    Every second, fstui records what each device did, how long processes waited for CPU, I/O and memory, and how much
    written data is still in the page cache. Every ten seconds, fstui also records which processes read and wrote the
    most data; without root, it records only your own processes. As root, it also records which programs waited longest
    for a sync, and for which files, and which discarded the most data. fstui never records arguments of processes.

    The recording is a ring buffer in ~/.local/state/fstui (with --unit: in /var/lib/fstui). A day takes 2 to 15 MiB.
    When the buffer is full, fstui removes the oldest part. fstui installs nothing.

    \b
    Examples:
      sudo fstui record
      fstui record --unit | sudo tee /etc/systemd/system/fstui-record.service
      sudo systemctl enable --now fstui-record
    """
    if unit:
        write_stdout(recordings.systemd_unit())
        return
    max_bytes = recordings.parse_size(size)
    try:
        argv = asyncio.run(recordings.recorder_argv(max_bytes=max_bytes, seconds_=seconds, anonymous=anonymous))
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror}. Set XDG_STATE_HOME to another directory") from None
    os.execv(argv[0], argv)  # the recorder is a smaller program, which needs less memory


@click.command("what-happened")
@click.argument("when", nargs=-1, metavar="[TIME | START..END | last DURATION]")
@report_command
def what_happened(when: tuple[str, ...]) -> Report:
    """Show which program waited for which file at a past time, and why.

    fstui reads the recording that 'fstui record' made.

    TIME is, for example, 03:12, yesterday 03:12 or 2026-11-25T03:12:00Z. fstui shows the five minutes before TIME and
    the five minutes after it. A time without a zone is local, and one without a day is within the last 24 hours.
    Without an argument, fstui shows the whole recording, the longest waits first.

    \b
    Examples:
      fstui what-happened 03:12
      fstui what-happened 10:40..now
      fstui what-happened yesterday 03:00..03:30
      fstui what-happened last 2h --format html --output incident.html
    """
    return report.what_happened_report(asyncio.run(recordings.read_what_happened(recordings.period_of(when))))
