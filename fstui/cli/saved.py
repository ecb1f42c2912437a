"""``fstui history``, ``show``, ``replay`` and ``compare``: the saved runs."""

import asyncio
import re
from pathlib import Path

import click

from fstui.cli import completion
from fstui.cli.delivery import deliver_last, print_last_report, report_command
from fstui.cli.options import confirm, format_option, output_option
from fstui.cli.output import say
from fstui.cli.terminal import check_terminal
from fstui.model.documents import ALTERED
from fstui.model.errors import Refused
from fstui.powercut.campaign import CampaignStore
from fstui.report import comparison, formats
from fstui.report import history as report
from fstui.report.compare import comparison_report
from fstui.report.sections import Report
from fstui.runs import history
from fstui.runs.history import SavedRun, Summary

_PRICE = re.compile(r"(\d+(?:\.\d+)?)/(h|d)")
_HOURS = {"h": 1, "d": 24}

_filter_option = click.option(
    "--filter",
    "words",
    default="",
    metavar="WORDS",
    help="Include only runs whose scenario, directory, host, verdict or note contain all WORDS.",
)


@click.group("history", invoke_without_command=True)
@_filter_option
@report_command
@click.pass_context
def history_(ctx: click.Context, words: str) -> Report | None:
    """List the saved runs, newest first.

    \b
    Examples:
      fstui history --filter 'fsync-rate /srv'
      fstui history note last 'after the firmware update'
    """
    return None if ctx.invoked_subcommand else report.history_report(_find_matching(words))


@history_.command("trend")
@_filter_option
@report_command
def trend(words: str) -> Report:
    """Show how rates changed from run to run.

    fstui prints one chart for each scenario on each filesystem.

    Example: fstui history trend --filter /srv/db
    """
    trend_report = report.trend_report(_find_matching(words))
    if not trend_report.sections:
        say(report.NO_TREND)
    return trend_report


@history_.command("note")
@click.argument("run", metavar="RUN", shell_complete=completion.runs)
@click.argument("words", nargs=-1, metavar="[WORDS…]")
def note(run: str, words: tuple[str, ...]) -> None:
    """Attach a note to a run.

    Without WORDS, the note is removed.

    Example: fstui history note k3f9a1 before the firmware update
    """
    asyncio.run(history.save_note(run, " ".join(words)))


@history_.command("delete")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=completion.runs)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(runs: tuple[str, ...], yes: bool) -> None:
    """Delete saved runs. This cannot be undone.

    Example: fstui history delete k3f9a1 x7b2c9
    """
    asyncio.run(_delete(runs, yes))


@click.command("show")
@click.argument("reference", metavar="RUN", shell_complete=completion.runs)
@click.option(
    "--again", is_flag=True, help="Judge the run again with the rules of this version. The saved run is not changed."
)
@format_option(*formats.names())
@output_option()
def show(reference: str, again: bool, format_: str, output: Path | None) -> None:
    """Print a saved run. RUN is a run id, the beginning of one, a file, or 'last': the run that was saved last.

    RUN may also be the directory of a power-cut campaign. fstui then prints the report of the campaign, even while the
    campaign runs.

    \b
    Examples:
      fstui show last --format html --output result.html
      fstui show run-from-a-ticket.json --again
      fstui show fstui-campaign-db1 --format html --output db1.html
    """
    if CampaignStore.exists_in(Path(reference)):
        _show_campaign(Path(reference), again, format_, output)
        return
    saved = asyncio.run(_find(reference))
    if again:
        _judge_again(saved, format_, output)
    else:
        document = formats.render(format_, saved.run, saved_to=saved.path)
        deliver_last(output, document)
        if format_ == "seconds" and len(document.splitlines()) == 1:
            say(f"fstui: run {saved.run.id} has no database step, so it has no row for each second")


def _show_campaign(directory: Path, again: bool, format_: str, output: Path | None) -> None:
    from fstui.report import campaign  # noqa: PLC0415  slow to load, and 'fstui history' does not need it

    if again:
        raise Refused(f"--again judges a run, and {directory} is a campaign")
    if format_ in formats.RUN_FORMATS:
        raise Refused(f"--format {format_} shows runs, and {directory} is a campaign")
    store = CampaignStore.read(directory)
    print_last_report(campaign.campaign_report(campaign.document(store, store.stop_reason)), format_, output)


@click.command("replay")
@click.argument("reference", metavar="RUN", shell_complete=completion.runs)
@click.option(
    "--speed", metavar="N", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="Speed of the replay."
)
def replay(reference: str, speed: float) -> int:
    """Play a saved run again on the run screen.

    fstui judges the run with the rules of this version, and does not save it again.

    Example: fstui replay last --speed 4
    """
    check_terminal()
    run = asyncio.run(_find(reference)).run
    from fstui.runs.replaying import replay as start_replay  # noqa: PLC0415

    session, running = start_replay(run, speed)
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(session, None, push_first_screens=lambda app: app.open_run(running))


def _judge_again(saved: SavedRun, format_: str, output: Path | None) -> None:
    from fstui.runs.rules import judge_again  # noqa: PLC0415  slow to load, and 'fstui history' does not need it

    run, _, altered = saved
    new_run = judge_again(run, altered=altered)
    deliver_last(output, formats.render(format_, new_run))
    if new_run != run:
        then = f"{run.verdict}, {run.confidence} confidence"
        now = f"{new_run.verdict}, {new_run.confidence} confidence"
        change = f"Then: {then}. With today's rules: {now}."
        say(change if then != now else "The verdict is the same, but the findings differ.")


@click.command("compare")
@click.argument("references", metavar="RUN RUN…", nargs=-1, required=True, shell_complete=completion.runs)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="RUN=0.17/h",
    help="Price of the host of RUN, per hour (/h) or per day (/d).",
)
@report_command
def compare(references: tuple[str, ...], prices: tuple[str, ...]) -> Report:
    """Compare the first RUN with the others: the ratio of the rates, and the verdict of each run.

    If a run was made by 'fstui run --rounds', fstui compares all rounds, and the ratio has a confidence interval. With
    --price, fstui also shows how many operations one unit of money buys, and how many of them are durable according to
    the verdict.

    \b
    Example:
      fstui compare k3f9a1 x7b2c9 --price k3f9a1=0.17/h --price x7b2c9=0.34/h
    """
    if len(references) < 2:
        raise click.UsageError("A comparison needs at least two runs.")
    if len(references) > comparison.MAX_SIDES:
        raise click.UsageError(f"A comparison has at most {comparison.MAX_SIDES} runs, not {len(references)}.")
    by_reference = dict(map(_price, prices))
    if unknown := by_reference.keys() - set(references):
        raise click.UsageError(f"--price {unknown.pop()!r} does not name a run of this comparison.")
    runs = [asyncio.run(_find(reference)).run for reference in references]
    per_hour = {run.id: by_reference[name] for name, run in zip(references, runs, strict=True) if name in by_reference}
    return comparison_report(asyncio.run(history.add_rounds(runs)), per_hour)


def _price(text: str) -> tuple[str, float]:
    """Return the name of the run that the user gave, and its price per hour. Raises UsageError."""
    named, _, price = text.rpartition("=")
    match = _PRICE.fullmatch(price)
    if not named or not match or not float(match[1]):
        raise click.UsageError(f"--price takes RUN=0.17/h, not {text!r}.")
    return named, float(match[1]) / _HOURS[match[2]]


async def _find(reference: str) -> SavedRun:
    """Return the run, and report on stderr if it was altered. Raises Refused."""
    saved = await history.find(reference)
    if saved.altered:
        say(f"fstui: {saved.path}: {ALTERED}")
    return saved


def _find_matching(words: str) -> list[Summary]:
    """Return the runs that contain ``words``, and report on stderr if there are none."""
    all_runs = asyncio.run(history.summaries())
    matching = history.matches(all_runs, words)
    if not all_runs:
        say(f"No run is saved in {history.directory()} yet.")
    elif not matching:
        say(f"None of the {len(all_runs)} saved runs contains '{words}'.")
    return matching


async def _delete(references: tuple[str, ...], yes: bool) -> None:
    paths = dict.fromkeys([await history.path_of(reference) for reference in references])
    summaries = {run.path: run for run in await history.summaries()}
    for path in paths:
        run = summaries.get(path)
        label = f"{run.id}, {run.verdict}, {run.scenario} on {run.target}" if run and run.id else path
        if not confirm(label, "Delete it?", yes=yes):
            raise Refused(f"{label}: not deleted. --yes deletes without asking")
        await history.delete(path)
