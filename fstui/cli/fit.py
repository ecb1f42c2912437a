"""``fstui fit``: which products the storage is fast enough for."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from fstui.cli import completion
from fstui.cli.execution import FAILED, UNACCEPTABLE
from fstui.cli.host import CheckCommand, make_checkup
from fstui.cli.options import report_options, simulate_option, trace_option, trust_option, yes_option
from fstui.model.run import Run
from fstui.report import fit as report
from fstui.runs import checking


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
    product_names = report.find_products(products)
    checkup = make_checkup(directories, checking.FIT, report.settings(product_names), **options)

    def exit_status_of(run: Run) -> int:
        if report.is_unmet(run, product_names):
            return UNACCEPTABLE
        return FAILED if report.is_unanswered(run, product_names) else 0

    make_report = partial(report.fit_report, product_names=product_names)
    return asyncio.run(CheckCommand(checkup, make_report, exit_status_of, format_, output).go())
