"""A question before something that a person may not want. Without a terminal nobody can say yes."""

from __future__ import annotations

import sys

import click

yes_option = click.option(
    "--yes", is_flag=True, help="Without a question: where a device is busy, or little room or memory left."
)


def agreed(what: str, question: str, *, yes: bool) -> bool:
    """It was said before, by ``--yes``; or it is said now, on a terminal."""
    if yes:
        return True
    asked = sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
    return asked and click.confirm(f"{what}. {question}", err=True)
