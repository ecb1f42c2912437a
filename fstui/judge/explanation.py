"""The pages of ``fstui explain RULE``: one short page per rule."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.judge.rules import QUESTIONS, RENAMED, pages

_MARKDOWN = str.maketrans("", "", "`*#")


class AnsweredQuestion(NamedTuple):
    """A question, and the rules that answer it with a sentence each."""

    words: str
    rules: tuple[tuple[str, str], ...]


def rule_names() -> tuple[str, ...]:
    return tuple(pages())


def has_page(rule_name: str) -> bool:
    """Return whether a rule of this name has a page. Old names count."""
    return RENAMED.get(rule_name, rule_name) in pages()


def explain(rule_name: str) -> str:
    """Return the page of a rule in Markdown. Old names work too. Raises KeyError if there is no such rule."""
    name = RENAMED.get(rule_name, rule_name)
    return f"# {name}\n\n{pages()[name].text}\n"


def questions() -> tuple[AnsweredQuestion, ...]:
    rules = pages().items()
    return tuple(
        AnsweredQuestion(words, tuple((name, _meaning(page.text)) for name, page in rules if page.question == question))
        for question, words in QUESTIONS.items()
    )


def _meaning(page: str) -> str:
    _, _, body = page.partition("## What it means\n")
    paragraph = " ".join(body.split("\n\n")[0].translate(_MARKDOWN).split())
    return re.split(r"(?<=[.:]) (?=[A-Z])", paragraph, maxsplit=1)[0]
