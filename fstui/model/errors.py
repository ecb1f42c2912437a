"""What ends a command with a sentence for the user."""

from __future__ import annotations

from collections.abc import Iterable


class Refused(Exception):  # noqa: N818  said to the user as it is: nothing was written, exit 2
    """The run cannot begin; the message says what, where and what to do."""


def meant(word: str, known: Iterable[str]) -> str:
    """``" Did you mean 'fsync-rate'?"``: the nearest of the words that are known; empty where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415  only for who has made a slip

    close = get_close_matches(word, list(known), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""
