"""A rule's page as lines: headings, paragraphs and lists of its Markdown, folded to a width."""

from __future__ import annotations

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from fstui.judge import explain
from fstui.report.characters import page
from fstui.report.text import WIDTH


def render(rule_name: str) -> str:
    """The name, then the page. Raises KeyError where there is no such rule."""
    return page([rule_name, *(text.plain.rstrip() for text in lines(rule_name, WIDTH))])


def lines(rule_name: str, width: int) -> list[Text]:
    """The page without its name, in the terminal's own colour. Raises KeyError."""
    _, _, body = explain(rule_name).partition("\n\n")
    drawn = Console(width=width - 2).render_lines(Markdown(body), pad=False)
    plain = ([(part.text, part.style.without_color if part.style else "") for part in row] for row in drawn)
    return [Text.assemble("  ", *row, end="") for row in plain]
