"""``fstui explain RULE``: one short page per rule, packaged beside this module."""

from __future__ import annotations

from importlib.resources import files

_PAGES = files(__package__) / "pages"


def rule_names() -> tuple[str, ...]:
    """The public names that have a page, in alphabetical order."""
    return tuple(sorted(page.name.removesuffix(".md") for page in _PAGES.iterdir() if page.name.endswith(".md")))


def explain(rule_name: str) -> str:
    """The page of that rule, in Markdown. Raises KeyError where there is no such rule."""
    if rule_name not in rule_names():
        raise KeyError(rule_name)
    return (_PAGES / f"{rule_name}.md").read_text(encoding="utf-8")
