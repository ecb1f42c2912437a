"""A rule's page as plain text."""

from __future__ import annotations

from fstui.judge import paragraphs
from fstui.report.text import WIDTH, wrap


def render(rule_name: str) -> str:
    """The name, then headings with their paragraphs beneath. Raises KeyError where there is no such rule."""
    lines = [rule_name]
    for words, heading in paragraphs(rule_name):
        lines += ["", words] if heading else [f"  {part}" for part in wrap(words, WIDTH - 2)]
    return "".join(f"{line}\n" for line in lines)
