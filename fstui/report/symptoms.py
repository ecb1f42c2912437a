"""Messages of databases, storage and the kernel about durable writes, each with what to do (``symptoms.toml``)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from fstui.model import shipped
from fstui.model.base import Base

WATCH = "sudo fstui watch --seconds 30"
_MIN_COVERAGE = 0.75
"""A page matches a text that contains at least this share of a message: see ``_coverage``."""
_MIN_WORD_SIMILARITY, _MAX_EXACT_LETTERS = 0.8, 4
"""Minimum similarity of a mistyped word (difflib). Words of at most _MAX_EXACT_LETTERS letters must be equal."""
_MAX_WORDS = 1000
"""Only this many words of a text are searched, because a search in a longer text takes seconds."""
_DIR = re.compile(r"\bDIR\b")
_ESCAPES = re.compile(r"\x1b\[[\d;]*m")


class CommandOutcome(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A result of the command, and what to do then."""

    when: str
    then: str


class Symptom(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page: what a message means, the command that distinguishes the causes, and what to do."""

    product: str
    messages: tuple[str, ...]
    """Messages by which the page is found. The first one is its name. ``…`` matches any words."""
    meaning: str
    commands: tuple[str, ...] = (WATCH,)
    outcome: tuple[CommandOutcome, ...] = ()
    directory: str = "DIR"
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.messages[0]


class Symptoms(Base, frozen=True, kw_only=True):
    """The whole file. ``watch``: the outcomes for pages that define none."""

    watch: tuple[CommandOutcome, ...]
    page: tuple[Symptom, ...]


@cache
def symptoms() -> Symptoms:
    return shipped.packaged_table(__package__, "symptoms.toml", Symptoms)


def find(text: str) -> Symptom | None:
    """Return the page of a message, or of a log line that contains it, even if its words differ a little."""
    words = _words(text)[:_MAX_WORDS]
    joined = f" {' '.join(words)} "
    messages = [(message, page) for page in symptoms().page for message in page.messages]
    contained = [(len(message), page) for message, page in messages if _pattern(message).search(joined)]
    if contained:
        return max(contained, key=lambda one: one[0])[1]
    # the text may also be a part of a message; a single word must occur on one page only
    pages_with_text = [page for message, page in messages if joined in f" {' '.join(_words(message))} "]
    if (len(words) > 1 and pages_with_text) or len({page.name for page in pages_with_text}) == 1:
        return pages_with_text[0]
    coverages = ((_coverage(_words(message), words), page) for message, page in messages)
    coverage, closest = max(coverages, key=lambda one: one[0])
    return closest if coverage >= _MIN_COVERAGE else None


def markdown(text: str) -> str | None:
    page = find(text)
    if page is None:
        return None
    outcomes = page.outcome or symptoms().watch
    rows = (f"- **{outcome.when}**: {_DIR.sub(page.directory, outcome.then)}" for outcome in outcomes)
    return "\n".join([
        f"# {page.product}: {page.name}", page.meaning,
        "", "```sh", *page.commands, "```",
        "", "What the output says, and what to do:", "", *rows,
        "", "Sources:", "", *(f"- {source}" for source in page.sources), "",
    ])  # fmt: skip


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", _ESCAPES.sub(" ", text).lower())


@cache
def _pattern(message: str) -> re.Pattern[str]:
    return re.compile(r"(?: \w+)*?".join(f" {' '.join(_words(part))}" for part in message.split("…")) + "(?= )")


def _coverage(message_words: Iterable[str], words: Iterable[str]) -> float:
    """Return how much of a message a text contains: the share of the message's words, or the share weighted by
    rarity, whichever is lower.

    Rarity alone is not enough: "could" and "not" are rare here, but do not suggest "could not fsync file".
    """
    rarity, text, message = _rarity(), set(words), set(message_words)
    matched = [
        word
        for word in message
        if word in text or (len(word) > _MAX_EXACT_LETTERS and get_close_matches(word, text, 1, _MIN_WORD_SIMILARITY))
    ]
    weighted = sum(rarity[word] for word in matched) / sum(rarity[word] for word in message)
    return min(weighted, len(matched) / len(message)) if len(matched) > 1 else 0.0


@cache
def _rarity() -> Mapping[str, float]:
    counts = Counter(word for page in symptoms().page for message in page.messages for word in set(_words(message)))
    return {word: 1 / count for word, count in counts.items()}
