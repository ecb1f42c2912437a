"""``fstui replay RUN``"""

from __future__ import annotations

import asyncio

import click

from fstui.cli import completing
from fstui.cli.reading import found
from fstui.cli.terminal import check_terminal


@click.command("replay")
@click.argument("reference", metavar="RUN", shell_complete=completing.runs)
@click.option("--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="So many times as fast.")
def command(reference: str, speed: float) -> int:
    """Play a saved run again on the run screen, as it went. It is judged with today's rules, and not saved again."""
    check_terminal()
    run = asyncio.run(found(reference)).run
    from fstui.runs.replaying import replay  # noqa: PLC0415

    session, plan, running = replay(run, speed)
    assert run.target is not None, "a run without one is refused"
    target = run.target
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(session, None, opening=lambda app: app.open_run(running, plan, target))
