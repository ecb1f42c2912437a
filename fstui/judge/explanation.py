"""``fstui explain RULE``: one short page per rule, the docstring of the rule's module."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.judge import rules
from fstui.judge.rules import documentation, page, pages

_PLAIN = str.maketrans("", "", "`*#")
"""Without the marks of Markdown."""


class Question(NamedTuple):
    """A question, and the rules that answer it with a sentence each."""

    words: str
    rules: tuple[tuple[str, str], ...]


def rule_names() -> tuple[str, ...]:
    """The public names that have a page, in alphabetical order."""
    return tuple(pages())


def explain(rule_name: str) -> str:
    """The page of that rule, in Markdown. Raises KeyError where there is no such rule."""
    return f"# {rule_name}\n\n{page(rule_name)}\n"


def questions() -> tuple[Question, ...]:
    """The rules by the question that they answer, in the order in which they are heard."""
    found = []
    for question in rules.QUESTIONS:
        names = [name for name, answers in pages().items() if answers == question]
        words = documentation(f"{rules.__name__}.{question}")
        found.append(Question(words, tuple((name, _meaning(name)) for name in names)))
    return tuple(found)


def _meaning(name: str) -> str:
    """The first sentence of what it means."""
    _, _, body = page(name).partition("## What it means\n")
    paragraph = " ".join(body.split("\n\n")[0].translate(_PLAIN).split())
    return re.split(r"(?<=[.:]) (?=[A-Z])", paragraph, maxsplit=1)[0]
