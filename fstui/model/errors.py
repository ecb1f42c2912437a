"""Refused, the exception that ends a command with a sentence for the user."""

from __future__ import annotations

from collections.abc import Iterable


class Refused(Exception):  # noqa: N818  printed as it is; nothing was written, exit status 2
    """The command cannot start. The message says what failed, where, why, and what to do."""


def meant(word: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'fsync-rate'?"`` with the most similar known word, or an empty string."""
    from difflib import get_close_matches  # noqa: PLC0415  imported only after a typing error

    close = get_close_matches(word, list(known), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""
