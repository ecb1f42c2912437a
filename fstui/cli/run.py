"""``fstui run SCENARIO DIR…``"""

import asyncio
import os
import secrets
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec
from msgspec.structs import replace

from fstui.cli import completion
from fstui.cli.delivery import print_report
from fstui.cli.execution import BROKEN_PIPE, FAILED, exit_status
from fstui.cli.headless import HeadlessRun, Options
from fstui.cli.options import (
    Duration,
    fail_on_option,
    format_option,
    output_option,
    parse_settings,
    rate_limit_options,
    settings_option,
    simulate_option,
    trace_option,
    trust_option,
    yes_option,
)
from fstui.cli.output import ReaderGone, is_terminal, say
from fstui.model.errors import Refused, sentence_of
from fstui.model.quantities import counted
from fstui.model.run import Round, Run
from fstui.model.storage import CACHES, MEDIA
from fstui.powercut import plan as power_cut
from fstui.report import compare, comparison, formats
from fstui.runs import scenarios


@click.command("run")
@click.argument("scenario", shell_complete=completion.scenarios)
@click.argument("directories", metavar="[DIR…]", nargs=-1, shell_complete=completion.directories)
@settings_option(
    "Change a setting, for example seconds=10m or block=16K. 'fstui scenarios SCENARIO' lists them.",
    shell_complete=completion.settings,
)
@click.option(
    "--medium",
    type=click.Choice(MEDIA),
    help="Declare the medium of the lowest devices. This overrides what fstui detects. ssd-plp: an SSD with power-loss "
    "protection.",
)
@click.option(
    "--write-cache",
    type=click.Choice(CACHES),
    help="Declare the write cache of the lowest devices. This overrides what the kernel reports. plp: a cache with "
    "power-loss protection.",
)
@click.option(
    "--like",
    "cgroup_of_pid",
    type=int,
    metavar="PID",
    help="As root: measure in the I/O cgroup of the process PID, for example of a database server.",
)
@trace_option
@trust_option
@rate_limit_options
@yes_option
@simulate_option
@click.option(
    "--pull-plug",
    "pull_plug_s",
    type=Duration(min=0),
    help="With --simulate: cut the power of the disk this long after the first step starts.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 99),
    metavar="N",
    default=1,
    help="Number of rounds. Each round runs the scenario once in each DIR. fstui compares all results.",
)
@click.option("--plan", "plan_only", is_flag=True, help="Print what the run would do, and write nothing.")
@format_option(*formats.names(), "events")
@output_option()
@fail_on_option()
def run(directories: tuple[str, ...], settings: Sequence[str], rounds: int, format_: str, **options: object) -> int:
    """Run SCENARIO in the directory DIR, and judge the storage below it.

    SCENARIO is a name from 'fstui scenarios', or a file if it contains a slash or ends in .toml. fstui writes only into
    a new directory inside DIR, and removes this directory at the end. Exception: if you let sysbench-oltp use a
    database server that is already running, it also creates a database on that server, and drops it at the end. DIR is
    required, except with --simulate.

    With several DIRs, or with --rounds, fstui also compares the results.

    Exit status: 0 done; 1 a step failed; 2 refused before anything was written; 3 see --fail-on.

    \b
    Examples:
      fstui run fsync-rate /srv/data
      fstui run fsync-rate /srv/data --set seconds=10 --fail-on suspicious
      fstui run odirect-truth /srv/data /mnt/other --rounds 6
    """
    if options["pull_plug_s"] is not None and options["simulate"] is None:
        raise Refused("--pull-plug needs a simulated disk. For real storage, use 'fstui powercut'")
    if "" in directories:  # an unset shell variable, which would resolve to the current directory
        raise Refused("DIR is empty. Name a directory on the storage to measure")
    if options["scenario"] == power_cut.NAME:
        raise Refused(power_cut.NEEDS_A_PERSON)
    if not directories and options["simulate"] is None:
        asyncio.run(scenarios.find(str(options["scenario"])))  # raises Refused if there is no such scenario
        raise click.UsageError("Missing argument 'DIR'.")
    values = {**options, "directory": next(iter(directories), None), "format": format_}
    run_options = msgspec.convert({**values, "settings": parse_settings(settings)}, Options)
    is_comparison = len(directories) > 1 or rounds > 1
    if (is_comparison or run_options.plan_only) and run_options.format not in formats.report_names():
        document = "A plan" if run_options.plan_only else "A comparison"
        raise click.UsageError(f"{document} is printed as {', '.join(formats.report_names())}.")
    if len(directories) > comparison.MAX_SIDES:
        raise click.UsageError(f"A comparison has at most {comparison.MAX_SIDES} directories, not {len(directories)}.")
    if not run_options.plan_only and run_options.settings.keys() & {"host", "port", "socket"}:
        _ask_for_password()
    if is_comparison:
        return asyncio.run(_run_interleaved(run_options, directories or (None,), rounds))
    return asyncio.run(HeadlessRun(run_options).go())


def _ask_for_password() -> None:
    """Ask for the password of an existing database server and export it, unless it is already in the environment."""
    from fstui.runs.planner import PASSWORD_VARIABLE  # noqa: PLC0415  only for an existing server

    if PASSWORD_VARIABLE not in os.environ and is_terminal(sys.stdin):
        os.environ[PASSWORD_VARIABLE] = click.prompt(
            "Password for the database server (empty: take it from the option file, or connect without one)",
            hide_input=True,
            default="",
            show_default=False,
            err=True,
        )


async def _run_interleaved(options: Options, directories: Sequence[str | None], rounds: int) -> int:
    """Run the rounds, print a comparison, and return the exit status. Raises Refused if the first run is refused."""
    for directory in directories:  # inspect all directories before anything is written
        plan = replace(
            options, directory=directory, plan_only=True, output=options.output if options.plan_only else None
        )
        inspection = HeadlessRun(plan, quiet=not options.plan_only)
        if (code := await inspection.go()) or inspection.interruption.signal is not None:
            return code
    if options.plan_only:
        say(f"fstui: {counted(rounds, 'run')} of each of these plans, interleaved")
        return 0
    runs: list[Run] = []
    codes = {0}
    for round_ in _rounds(len(directories), rounds):
        directory = directories[round_.side]
        say(f"round {round_.number} of {round_.of}: {directory or options.simulate}")
        # the user confirms busy devices before the first round of each directory only
        headless = HeadlessRun(replace(options, directory=directory, yes=options.yes or round_.number > 1), round_)
        try:
            codes.add(await headless.go())
        except Refused as refusal:
            if not runs:
                raise
            say(f"fstui: {refusal}")
            codes.add(FAILED)
            break
        runs += [headless.run] if headless.run else []
        if headless.interruption.signal is not None:
            break
    runs.sort(key=lambda run_: (run_.round.side, run_.round.number) if run_.round else (0, 0))
    return await _print_comparison(options, runs, codes, headless.interruption.timeout_s)


def _rounds(sides: int, rounds: int) -> Iterator[Round]:
    """Yield the rounds in their order. Every second round has the sides reversed, so that a drift favours no side."""
    series = secrets.token_hex(3)
    for number in range(1, rounds + 1):
        for side in range(sides) if number % 2 else reversed(range(sides)):
            yield Round(series=series, side=side, number=number, of=rounds)


async def _print_comparison(options: Options, runs: Sequence[Run], codes: set[int], timeout_s: float | None) -> int:
    worst = exit_status(*codes)
    if not runs:
        return worst
    try:
        await print_report(compare.comparison_report(runs), options.format, options.output, timeout_s)
    except ReaderGone:
        return exit_status(worst, BROKEN_PIPE)
    except OSError as error:
        if timeout_s is None:
            raise
        say(f"fstui: {sentence_of(error)}")  # the signal decides the exit status
    return worst
