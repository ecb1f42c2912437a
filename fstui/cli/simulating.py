"""``--simulate DISK``"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fstui.model.run import Round
    from fstui.runs.session import Session


def _here_or_before_the_command(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    return value or context.find_root().params.get("simulate")


simulate_option: Callable[[Any], Any] = click.option(
    "--simulate",
    metavar="DISK",
    callback=_here_or_before_the_command,
    help="On a simulated disk: a name of 'fstui simulate', or a file; DISK,KEY=VALUE changes it.",
)


def session_on(disk: str, round_: Round | None = None) -> tuple[Session, str]:
    """The session on it, and where its filesystem seems to be mounted; with another chance in each round.

    Raises Refused.
    """
    from fstui.runs import simulation  # noqa: PLC0415

    made = simulation.named(disk)
    if round_ is not None:
        made = simulation.of_round(made, round_)
    return simulation.session(made), simulation.mount_point(made)
