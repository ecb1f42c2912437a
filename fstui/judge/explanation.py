"""``fstui explain RULE``: one short page per rule, packaged beside this module."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from fstui.quantities import plain

_PAGES = files(__package__) / "pages"


def rule_names() -> tuple[str, ...]:
    """The public names that have a page, in alphabetical order."""
    return tuple(sorted(page.name.removesuffix(".md") for page in _PAGES.iterdir() if page.name.endswith(".md")))


def explain(rule_name: str) -> str:
    """The page of that rule, in Markdown. Raises KeyError where there is no such rule."""
    if rule_name not in rule_names():
        raise KeyError(rule_name)
    return (_PAGES / f"{rule_name}.md").read_text(encoding="utf-8")


class Paragraph(NamedTuple):
    """A heading or a paragraph of a page, on one line and without Markdown's marks."""

    words: str
    heading: bool = False


def paragraphs(rule_name: str) -> list[Paragraph]:
    """The page of that rule for a screen or a terminal, without its title. Raises KeyError as ``explain`` does."""
    found: list[Paragraph] = []
    for block in explain(rule_name).split("\n\n"):
        heading, _, rest = block.strip().partition("\n") if block.lstrip().startswith("#") else ("", "", block)
        if heading.startswith("##"):
            found.append(Paragraph(plain(heading.lstrip("# ")), heading=True))
        if words := plain(" ".join(rest.split())).replace("`", "").strip("*"):
            found.append(Paragraph(words))
    return found
