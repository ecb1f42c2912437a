"""``fstui explain NAME``"""

from __future__ import annotations

import click

from fstui.cli import completing
from fstui.cli.options import format_option
from fstui.cli.output import put, width
from fstui.model.errors import Refused, meant
from fstui.report import explanation
from fstui.report import glossary as words
from fstui.report.text import WIDTH
from fstui.runs.rules import explain, has_page, rule_names


@click.command("explain")
@click.argument("name", metavar="[RULE | PAGE | WORD]", required=False, shell_complete=completing.pages_and_words)
@format_option("plain", "markdown")
def command(name: str | None, format_: str) -> None:
    """Show the page of a rule, a page of the documentation, or what a word means. Without NAME, list all of them."""
    documentation = explanation.documentation()
    if name is None:
        put(explanation.overview(width() or WIDTH))
    elif has_page(name):
        put(explain(name).rstrip() + "\n" if format_ == "markdown" else explanation.render(name))
    elif name in documentation:
        text = documentation[name]
        put(text if format_ == "markdown" else explanation.document(text, width() or WIDTH))
    elif (word := words.find(name)) is not None:
        put(explanation.render_word(word))
    else:
        known = (*rule_names(), *documentation, *words.words())
        raise Refused(f"no rule, page or word is called '{name}'.{meant(name, known)} 'fstui explain' lists them all")
