"""``fstui list``, ``check``, ``fit`` and ``clean``: the filesystems of this host."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from fstui.cli import completion
from fstui.cli.delivery import EventLines, print_report, report_command
from fstui.cli.execution import BROKEN_PIPE, FAILED, UNACCEPTABLE, exit_status
from fstui.cli.interruption import Interruption
from fstui.cli.options import (
    confirm,
    fail_on_option,
    is_failure,
    open_session,
    report_options,
    simulate_option,
    trace_option,
    trust_option,
    yes_option,
)
from fstui.cli.output import is_terminal, say, write_stdout
from fstui.model.errors import Refused
from fstui.model.events import RunFinished
from fstui.model.run import Run
from fstui.report import check as report
from fstui.report import inventory
from fstui.report.characters import join_lines
from fstui.report.check import Check, CheckRow
from fstui.report.sections import Report
from fstui.report.text import simulation_warning
from fstui.runs import startup
from fstui.runs.checking import CHECK, FIT, Checkup, Subject, events_until_timeout, names_by_reason
from fstui.runs.runner import RunInProgress


@click.command("list")
@simulate_option
@report_command
def list_(simulate: str | None) -> Report:
    """List the filesystems, the devices below them, and faults in their configuration. Writes nothing.

    If this host runs virtual machines, fstui also lists the disks of the guests, and what happens to a guest's flushes.

    Example: fstui list --format json
    """
    session = open_session(simulate)
    survey = asyncio.run(session.with_space(session.filesystems()))
    if session.simulated:
        say(simulation_warning(session.simulated))
    if session.declarations_error:
        say(f"fstui: {session.declarations_error}")
    return inventory.inventory_report(*survey)


_OTHER_CONTAINER = (
    "a process in another container, or on the host of this one, created it and may still use it. When that process "
    "has ended, run 'fstui clean' where it ran, or on the host"
)


@click.command("clean")
@click.option("--pending", is_flag=True, help="Also remove the records of power cuts that were not verified.")
def clean(pending: bool) -> int:
    """Remove what earlier runs left behind, for example after a crash of the host.

    This can be files, mounts, database servers and trace instances of the kernel.

    fstui does not remove files that a running fstui process uses. Without --pending, it also keeps the records of a
    power-cut test until 'fstui powercut verify'.

    Example: fstui clean
    """
    return asyncio.run(_clean(pending))


async def _clean(pending: bool) -> int:
    entries, unverified = await startup.left_behind()
    entries += unverified if pending else []
    for entry in [] if pending else unverified:
        say(f"kept {entry.what}: its power cut was not verified. Use --pending to remove it")
    failed = False
    for entry in entries:
        if problem := await startup.remove(entry):
            failed = True
            say(f"fstui: {problem}")
        else:
            write_stdout(join_lines([f"removed {startup.label(entry)}"]))
    unchecked = await startup.entries_of("in another container")
    for entry in unchecked:
        say(f"kept {startup.label(entry)}: {_OTHER_CONTAINER}")
    if foreign_entries := await startup.entries_of("on another host"):
        hosts = ", ".join(sorted({entry.host for entry in foreign_entries}))
        say(f"Kept the leftovers of other hosts ({len(foreign_entries)}). Run 'fstui clean' on {hosts}.")
    elif not entries and not unverified and not unchecked:
        say("Nothing was left behind.")
    return FAILED if failed else 0


@click.command("check")
@click.argument("directories", metavar="[DIR]…", nargs=-1, shell_complete=completion.directories)
@yes_option
@trace_option
@report_options("prometheus", "events")
@fail_on_option()
@trust_option
@simulate_option
def check(directories: Sequence[str], format_: str, output: Path | None, fail_on: Sequence[str], **options: Any) -> int:
    """Test whether synced writes on every writable filesystem are durable, and whether the filesystem is slow.

    If you name one or more DIRs, fstui tests only the filesystems that contain them. The check of a filesystem takes
    about four seconds; on very slow storage, fstui ends it after 20 seconds. fstui writes at most 6 MiB of test data to
    it, in at most two seconds, then removes this data. It saves every check as a run.

    fstui lists, but does not test, filesystems that are virtual (such as /proc) or read-only, and those in memory
    unless you name them. It also does not test a filesystem that does not respond; the exit status is then 1. If a
    filesystem is mounted several times, fstui tests it once.

    Exit status: as for 'fstui run', for the worst filesystem.

    \b
    Examples:
      fstui check
      fstui check /srv /var/lib/mysql --fail-on suspicious --fail-on slow
    """
    checkup = make_checkup(directories, CHECK, **options)

    def exit_status_of(run: Run) -> int:
        return UNACCEPTABLE if is_failure(run.verdict, run.speed.answer, fail_on) else 0

    return asyncio.run(CheckCommand(checkup, report.check_report, exit_status_of, format_, output).go())


@click.command("fit")
@click.argument("directories", metavar="[DIR]…", nargs=-1, shell_complete=completion.directories)
@click.option(
    "--for",
    "products",
    multiple=True,
    metavar="NAME",
    help="Judge only this product: etcd, ZooKeeper, 'Redis everysec', CockroachDB or 'Proxmox VE'. Exit with status 3 "
    "if the storage is too slow for this product, or if the verdict is suspicious or worse. May be repeated.",
)
@yes_option
@trace_option
@report_options("prometheus")
@trust_option
@simulate_option
def fit(directories: Sequence[str], products: Sequence[str], format_: str, output: Path | None, **options: Any) -> int:
    """Write and sync as etcd and other products do at a commit, and compare the times with published thresholds.

    fstui measures in each DIR. Without DIR, it measures every writable filesystem. It writes at most 116 MiB of test
    data to each, in 5 to 15 seconds, then removes this data. If a product publishes no threshold, fstui shows the
    commits per second to expect. With --for, fstui measures only what these products and the verdict need.

    Exit status: 0 done; 1 a step failed; 2 refused before anything was written. With --for: 1 if the measurement gives
    no answer; 3 if the storage is too slow, or if the verdict is suspicious or worse.

    \b
    Examples:
      fstui fit /var/lib/etcd --for etcd
      fstui fit /srv /mnt/new
    """
    from fstui.report import fit as fit_report  # noqa: PLC0415  'fstui list' does not need it

    product_names = fit_report.find_products(products)
    checkup = make_checkup(directories, FIT, fit_report.settings(product_names), **options)

    def exit_status_of(run: Run) -> int:
        if fit_report.is_unmet(run, product_names):
            return UNACCEPTABLE
        return FAILED if fit_report.is_unanswered(run, product_names) else 0

    make_report = partial(fit_report.fit_report, product_names=product_names)
    return asyncio.run(CheckCommand(checkup, make_report, exit_status_of, format_, output).go())


def make_checkup(
    directories: Sequence[str],
    scenario: str,
    settings: Mapping[str, str] = {},
    *,
    yes: bool,
    trace: str,
    trust_dir: bool,
    simulate: str | None,
) -> Checkup:
    """Find the filesystems to measure, and ask about busy ones. Raises Refused if none is left."""
    session = open_session(simulate, trace=trace != "off", trust_directory=trust_dir)
    checkup = Checkup(session, directories, scenario=scenario, settings=settings)
    asyncio.run(checkup.find_filesystems())
    if session.declarations_error:
        say(f"fstui: {session.declarations_error}")
    leave_out_busy(checkup, yes)
    if not checkup.subjects:
        raise Refused("nothing to check: " + "; ".join(f"{entry.name}: {entry.reason}" for entry in checkup.skipped))
    return checkup


def leave_out_busy(checkup: Checkup, yes: bool) -> None:
    """Ask about each filesystem whose device is busy, and leave it out if the user does not agree."""
    for subject in [subject for subject in checkup.subjects if subject.concerns]:
        concerns = ", ".join(subject.concerns)
        if not confirm(f"{subject.name}: {concerns}", "Check it anyway?", yes=yes):
            checkup.skip(subject, f"{concerns} (use --yes to check it anyway)")


class CheckCommand:
    """Measure filesystems and print the results. Progress goes to stderr; without a terminal, only failures do."""

    def __init__(
        self,
        checkup: Checkup,
        make_report: Callable[[Check], Report],
        exit_status_of: Callable[[Run], int],
        format_: str,
        output: Path | None,
    ) -> None:
        self._checkup = checkup
        self._make_report = make_report
        self._exit_status_of = exit_status_of
        self._format = format_
        self._output = output
        self._start_s = time.monotonic()
        self._interruption = Interruption()
        self._failed = any(subject.is_failure for subject in checkup.skipped)

    async def go(self) -> int:
        return await self._interruption.run_until_signal(self._go())

    async def _go(self) -> int:
        rows: list[CheckRow] = []
        lines = EventLines(self._output)
        try:
            for subject in self._checkup.subjects:
                rows.append(await self._check(subject, lines))
                if rows[-1].run is None or is_terminal(sys.stderr):
                    say(report.line(rows[-1]))
                if self._interruption.signal is not None or lines.reader_gone:
                    break
            self._interruption.release()
        finally:
            lines.close(self._interruption.timeout_s)
        await self._deliver(rows)
        return exit_status(
            self._interruption.exit_code or 0,
            BROKEN_PIPE if lines.reader_gone else 0,
            FAILED if self._failed else 0,
            *(self._exit_status_of(row.run) for row in rows if row.run),
        )

    async def _check(self, subject: Subject, lines: EventLines) -> CheckRow:
        start_task = asyncio.ensure_future(self._checkup.begin(subject))
        self._interruption.listen(start_task.cancel)
        try:
            running = await start_task
            self._interruption.listen(running.stop, f"{subject.name} does not answer, or its files are being removed")
            return await self._follow(subject, running, lines)
        except Refused as refusal:
            self._failed = True
            return CheckRow(subject.name, None, str(refusal))
        except asyncio.CancelledError:
            if self._interruption.signal is None:
                raise
            return CheckRow(subject.name, None, "stopped before it started")

    async def _follow(self, subject: Subject, running: RunInProgress, lines: EventLines) -> CheckRow:
        async for event in events_until_timeout(running):
            if self._format == "events":
                lines.write(event)
            if lines.reader_gone:
                running.stop()
            if isinstance(event, RunFinished):
                self._report_problems(event)
                return CheckRow(subject.name, event.run)
        raise AssertionError("a run ends with RunFinished")

    def _report_problems(self, finished: RunFinished) -> None:
        for problem in filter(None, [finished.save_error, *finished.run.left_behind]):
            self._failed = True
            say(f"fstui: {problem}")
        self._failed = self._failed or finished.run.status == "failed"

    async def _deliver(self, rows: Sequence[CheckRow]) -> None:
        left_out = names_by_reason(self._checkup.skipped)
        if self._format not in ("plain", "markdown", "html"):
            for reason, names in left_out.items():
                say(f"not checked, {reason}: {', '.join(names)}")
        if self._format != "events":
            report_ = self._make_report(Check(rows, left_out, time.monotonic() - self._start_s))
            await print_report(report_, self._format, self._output, self._interruption.timeout_s)
