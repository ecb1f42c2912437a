"""``fstui explain RULE``: one short page per rule, the docstring of the rule's module."""

from __future__ import annotations

from fstui.judge.rules import page, pages


def rule_names() -> tuple[str, ...]:
    """The public names that have a page, in alphabetical order."""
    return tuple(pages())


def explain(rule_name: str) -> str:
    """The page of that rule, in Markdown. Raises KeyError where there is no such rule."""
    return f"# {rule_name}\n\n{page(rule_name)}\n"
