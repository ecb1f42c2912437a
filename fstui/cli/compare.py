"""``fstui compare RUN RUN…``"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import report_options
from fstui.cli.output import width
from fstui.cli.output_file import check_output, print_report
from fstui.cli.reading import found
from fstui.model.run import Run
from fstui.report import compare, comparison
from fstui.runs import history

_PRICE = re.compile(r"(\d+(?:\.\d+)?)/(h|d)")
_HOURS = {"h": 1, "d": 24}


@click.command("compare")
@click.argument("references", metavar="RUN RUN…", nargs=-1, required=True, shell_complete=completing.runs)
@click.option("--price", "prices", multiple=True, metavar="RUN=0.17/h", help="What it costs an hour (/d: a day).")
@report_options()
def command(references: tuple[str, ...], prices: tuple[str, ...], format_: str, output: Path | None) -> None:
    """Print saved runs side by side: how many times as fast each is as the first one, and whether it is durable.

    A run of 'fstui run --rounds' stands for all its rounds; the ratios then have an interval. With prices also what a
    unit of money buys: transactions, and of these the durable ones.
    """
    if len(references) < 2:
        raise click.UsageError("Comparing takes two runs or more.")
    if len(references) > comparison.MOST:
        raise click.UsageError(f"Comparing takes {comparison.MOST} runs at the most, not {len(references)}.")
    stated = dict(map(_price, prices))
    if unknown := stated.keys() - set(references):
        raise click.UsageError(f"--price {unknown.pop()!r} is none of the runs that are compared.")
    if output is not None:
        asyncio.run(check_output(output))
    runs = asyncio.run(_found(references))
    per_hour = {run.id: stated[named] for named, run in zip(references, runs, strict=True) if named in stated}
    columns = width() if output is None else None
    report = compare.of_runs(asyncio.run(history.with_rounds(runs)), columns, per_hour)
    asyncio.run(print_report(report, format_, output))


def _price(text: str) -> tuple[str, float]:
    """The run as it was named, and its price an hour. Raises UsageError."""
    named, _, price = text.rpartition("=")
    found = _PRICE.fullmatch(price)
    if not named or not found or not float(found[1]):
        raise click.UsageError(f"--price takes RUN=0.17/h, not {text!r}.")
    return named, float(found[1]) / _HOURS[found[2]]


async def _found(references: Iterable[str]) -> list[Run]:
    return [(await found(reference)).run for reference in references]
