"""The lessons that were taken, in a home that may hang."""

from __future__ import annotations

from datetime import UTC, datetime

from fstui.session import kept
from fstui.state import lessons
from fstui.state.lessons import Taken

__all__ = ["Taken", "note", "recall"]


async def recall() -> dict[str, Taken]:
    """By the lesson's name. Raises Refused where the home gives no answer."""
    return await kept.ask(lessons.recall)


async def note(name: str, right: int) -> None:
    """It was taken today. Raises OSError, Refused."""
    day = datetime.now(UTC).astimezone().date().isoformat()
    await kept.ask(lessons.note, name, Taken(day=day, right=right))
