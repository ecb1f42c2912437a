"""The words of pages and screens, a few sentences each: ``glossary.toml`` beside this file holds them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from fstui.model.base import Base


class Word(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a word means here."""

    text: str
    also: tuple[str, ...] = ()
    """Other names, under which it is found as well."""
    source: str = ""
    """Where the facts can be looked up."""
    see: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """Its first sentence."""
        return re.split(r"(?<=[.:]) ", self.text.strip(), maxsplit=1)[0].rstrip(":").rstrip(".") + "."


@cache
def words() -> dict[str, Word]:
    """All of them by name, in the order of a lesson."""
    data = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, Word])


def find(name: str) -> str | None:
    """The word of that name, or which is also called so, however it is written; None where there is none."""
    wanted = _plain(name)
    return next((word for word, of in words().items() if wanted in {_plain(word), *map(_plain, of.also)}), None)


def standing_in(text: str) -> tuple[str, ...]:
    """The words that a text uses, in the order of the glossary."""
    return tuple(word for word in words() if _pattern(word).search(text))


def titled(name: str) -> str:
    """The word as it is written in a text: ``write cache``, ``FUA``."""
    plain = name.replace("-", " ")
    return next((also for also in words()[name].also if also.lower() == plain), plain)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    ways = sorted({name, titled(name), *words()[name].also}, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, ways))})(?![\w-])", re.IGNORECASE)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())
