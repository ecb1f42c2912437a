"""The terms of pages and screens, with a few sentences each (``glossary.toml``)."""

import re
from functools import cache

from fstui.model import shipped
from fstui.model.base import Base


class Term(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str
    also: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    """Column titles and values that the entry explains. In a sentence, such words mean something else."""
    source: str = ""
    """The document that the facts come from."""
    see: tuple[str, ...] = ()


@cache
def entries() -> dict[str, Term]:
    """Return all terms by name, in the order in which a beginner needs them."""
    return shipped.packaged_table(__package__, "glossary.toml", dict[str, Term])


def find(name: str) -> str | None:
    """Return the term with this name, or None. Case, spaces and dashes do not matter."""
    key = _plain(name)
    names = ((term, {_plain(term), *map(_plain, (*word.also, *word.heads))}) for term, word in entries().items())
    return next((term for term, keys in names if key in keys), None)


def terms_in(text: str) -> tuple[str, ...]:
    return tuple(word for word in entries() if _pattern(word).search(text))


def columns_in(text: str) -> tuple[str, ...]:
    """Return the entries that explain column titles in the text of a screen."""

    def occurs(head: str) -> bool:
        # FLUSH TIME does not contain the title TIME
        return head.isupper() and bool(re.search(rf"(?<!\w)(?<!\w ){re.escape(head)}(?!\w)", text))

    return tuple(word for word, term in entries().items() if any(map(occurs, term.heads)))


def spelling(name: str) -> str:
    """Return the term as it is spelled in a text: ``write cache``, ``FUA``."""
    plain = name.replace("-", " ")
    return next((also for also in entries()[name].also if also.lower() == plain), plain)


def first_sentence(name: str) -> str:
    return re.split(r"(?<=\.) ", entries()[name].text.strip(), maxsplit=1)[0]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    spellings = sorted({name, spelling(name), *entries()[name].also}, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, spellings))})(?![\w-])", re.IGNORECASE)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())
