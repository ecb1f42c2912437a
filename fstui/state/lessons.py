"""Which lessons were taken, and how many of their two questions were answered right."""

from __future__ import annotations

import msgspec

from fstui.model.base import Base
from fstui.state.remembered import Remembered


class Taken(Base, frozen=True, kw_only=True):
    """A lesson that was taken to its end."""

    day: str
    """ISO 8601."""
    right: int
    """Of two answers."""
    rates_per_s: dict[str, float] = msgspec.field(default_factory=dict)
    """What its steps came to, by ``run/step``; simulated."""


_KEPT = Remembered("lessons.json", dict[str, Taken], {})


def recall() -> dict[str, Taken]:
    """By the lesson's name. A broken file says that none was taken."""
    return _KEPT.read()


def note(name: str, taken: Taken) -> None:
    """Keep it, in the place of an earlier time. Raises OSError, Refused."""
    _KEPT.write({**recall(), name: taken})
