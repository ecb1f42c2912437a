"""``fstui explain RULE``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.judge import explain, rule_names
from fstui.model import Refused
from fstui.quantities import plain


@click.command("explain")
@click.argument("rule", metavar="[RULE]", required=False)
def command(rule: str | None) -> None:
    """Say what a rule looks at and what it means. Without RULE: their names."""
    if rule is None:
        put("".join(f"{name}\n" for name in rule_names()))
        return
    try:
        put(explain(rule).rstrip() + "\n")
    except KeyError:
        raise Refused(f"no rule is called '{plain(rule)}': 'fstui explain' names them all") from None
