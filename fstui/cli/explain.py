"""``fstui explain RULE``"""

from __future__ import annotations

import click

from fstui.cli.output import put
from fstui.cli.rendering import format_option
from fstui.model.errors import Refused
from fstui.report import explanation
from fstui.session.rules import explain, rule_names


@click.command("explain")
@click.argument("rule", metavar="[RULE]", required=False)
@format_option("plain", "markdown")
def command(rule: str | None, format_: str) -> None:
    """Say what a rule looks at and what it means. Without RULE: their names."""
    if rule is None:
        put("".join(f"{name}\n" for name in rule_names()))
        return
    try:
        put(explain(rule).rstrip() + "\n" if format_ == "markdown" else explanation.render(rule))
    except KeyError:
        raise Refused(f"no rule is called '{rule}': 'fstui explain' names them all") from None
