"""``fstui history [--filter WORDS] | trend | note RUN [WORDS…] | delete RUN…``"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import agreed, report_options
from fstui.cli.output import say
from fstui.cli.output_file import check_output, print_report
from fstui.model.errors import Refused
from fstui.report import history as report
from fstui.report.sections import Report
from fstui.runs import history
from fstui.runs.history import Summary

_filter_option = click.option(
    "--filter", "words", default="", metavar="WORDS", help="Only those that hold all of them."
)


@click.group("history", invoke_without_command=True)
@_filter_option
@report_options()
@click.pass_context
def command(ctx: click.Context, words: str, format_: str, output: Path | None) -> None:
    """List the saved runs, newest first."""
    if ctx.invoked_subcommand:
        return
    asyncio.run(_print(words, format_, output, report.of_summaries))


@command.command("trend")
@_filter_option
@report_options()
def show_trend(words: str, format_: str, output: Path | None) -> None:
    """How each storage has done from run to run."""
    if not asyncio.run(_print(words, format_, output, report.of_trends)).sections:
        say("No scenario has finished twice on one storage yet.")


@command.command("note")
@click.argument("run", metavar="RUN", shell_complete=completing.runs)
@click.argument("words", nargs=-1, metavar="[WORDS…]")
def note(run: str, words: tuple[str, ...]) -> None:
    """Keep a line beside a saved run; without words the note is dropped."""
    asyncio.run(history.note(run, " ".join(words)))


@command.command("delete")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=completing.runs)
@click.option("--yes", is_flag=True, help="Without a question.")
def delete(runs: tuple[str, ...], yes: bool) -> None:
    """Remove saved runs for good."""
    asyncio.run(_delete(runs, yes))


async def _print(words: str, format_: str, output: Path | None, of: Callable[[list[Summary]], Report]) -> Report:
    if output is not None:
        await check_output(output)
    found = of(await _found(words))
    await print_report(found, format_, output)
    return found


async def _found(words: str) -> list[Summary]:
    every = await history.listed()
    found = history.matching(every, words)
    if not every:
        say(f"No run is saved in {history.directory()} yet.")
    elif not found:
        say(f"None of {len(every)} saved runs holds '{words}'.")
    return found


async def _delete(references: tuple[str, ...], yes: bool) -> None:
    paths = dict.fromkeys([await history.where(reference) for reference in references])
    known = {one.path: one for one in await history.listed()}
    for path in paths:
        one = known.get(path)
        words = f"{one.id}, {one.verdict}, {one.scenario} on {one.target}" if one and one.id else path
        if not agreed(words, "Delete it for good?", yes=yes):
            raise Refused(f"{words}: not deleted; --yes deletes without a question")
        await history.delete(path)
