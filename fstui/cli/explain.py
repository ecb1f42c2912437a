"""``fstui explain RULE``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.judge import explain
from fstui.model import Refused
from fstui.quantities import plain


@click.command("explain")
@click.argument("rule", metavar="RULE")
def command(rule: str) -> None:
    """Say what a rule looks at and what it means."""
    try:
        put(explain(rule).rstrip() + "\n")
    except KeyError:
        raise Refused(f"no rule is called '{plain(rule)}'") from None
