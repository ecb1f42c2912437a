"""``fstui explain RULE``"""

from __future__ import annotations

import click

from fstui.cli import completing
from fstui.cli.options import format_option
from fstui.cli.output import put, width
from fstui.model.errors import Refused, meant
from fstui.report import explanation
from fstui.report import glossary as words
from fstui.report.text import WIDTH
from fstui.runs.rules import explain, rule_names


@click.command("explain")
@click.argument("name", metavar="[RULE | WORD]", required=False, shell_complete=completing.rules_and_words)
@format_option("plain", "markdown")
def command(name: str | None, format_: str) -> None:
    """Say what a rule looks at, or what a word means. Without one: all of them, a line each."""
    if name is None:
        put(explanation.overview(width() or WIDTH))
    elif name in rule_names():
        put(explain(name).rstrip() + "\n" if format_ == "markdown" else explanation.render(name))
    elif (word := words.find(name)) is not None:
        put(explanation.render_word(word))
    else:
        known = (*rule_names(), *words.words())
        raise Refused(f"no rule or word is called '{name}'.{meant(name, known)} 'fstui explain' names them all")
