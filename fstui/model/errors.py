"""Refused, the exception that ends a command with a sentence for the user."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime

LIMIT_REACHED = "no more processes or threads can be started. See 'ulimit -u', and pids.max of the cgroup"


class Refused(Exception):  # noqa: N818  printed as it is; nothing was written, exit status 2
    """The command cannot start or continue. The message says what failed, where, why, and what to do."""


def sentence_of(error: Exception) -> str:
    """Return the message for the user: of an OSError, the file and the reason without the error number."""
    if isinstance(error, MemoryError):
        return "there is not enough memory. See 'ulimit -v', and memory.max of the cgroup"
    if not isinstance(error, OSError):
        return str(error)
    name = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{name}{error.strerror or error}"


def local_time() -> datetime:
    """Return the time in the time zone of the user. Raises Refused if TZ is a day or more away from UTC."""
    try:
        return datetime.now(UTC).astimezone()
    except ValueError:
        zone = os.environ.get("TZ", "")
        sentence = f"The time zone TZ={zone} is a day or more away from UTC. Correct or unset TZ."
        raise Refused(sentence) from None


def hint_for(word: str, allowed: Iterable[str]) -> str:
    """Return ``" Did you mean 'fsync-rate'?"``. Return "" if no allowed name begins with the word or is similar."""
    from difflib import get_close_matches  # noqa: PLC0415  imported only after a typo

    names = list(allowed)
    completions = [name for name in names if len(word) > 1 and name.startswith(word)]
    similar = completions or get_close_matches(word, names, n=1)
    return f" Did you mean '{similar[0]}'?" if similar else ""
