"""``--max-rate`` and ``--idle``: what a run holds itself back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from fstui.model.errors import Refused
from fstui.model.restraint import Restraint
from fstui.runs import scenarios


def restraint_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Both, in the order of the help."""
    idle = click.option("--idle", is_flag=True, help="Write in the idle I/O class and at the lowest CPU priority.")
    rate = click.option("--max-rate", metavar="BYTES/S", help="Write no faster than this, as in --max-rate 1M.")
    return rate(idle(command))


def restraint_of(max_rate: str | None, idle: bool) -> Restraint:
    """Raises Refused where the rate is none."""
    return Restraint(bytes_per_s=None if max_rate is None else _bytes_per_s(max_rate), idle=idle)


def _bytes_per_s(text: str) -> int:
    words = text.strip().removesuffix("/s")
    try:
        found = scenarios.size_of(words)
        rate = int(words) if found is None else found
    except (ValueError, OverflowError):
        rate = 0
    if not 0 < rate < 1 << 50:
        raise Refused(f"--max-rate {text}: write bytes a second, as in --max-rate 1M")
    return rate
