"""The lessons that were taken, in a home that may hang."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fstui.model.run import Run
from fstui.state import user_data
from fstui.state.paths import in_home
from fstui.state.user_data import Taken

__all__ = ["Taken", "note", "recall"]


async def recall() -> dict[str, Taken]:
    """By the lesson's name. Raises Refused where the home gives no answer."""
    return await in_home(user_data.lessons)


async def note(name: str, right: int, runs: Mapping[str, Run]) -> None:
    """It was taken today, with these runs by their labels. Raises OSError, Refused."""
    rates = {f"{label}/{step.name}": step.rate_per_s for label, run in runs.items() for step in run.steps}
    day = datetime.now(UTC).astimezone().date().isoformat()
    await in_home(user_data.take_lesson, name, Taken(day=day, right=right, rates_per_s=rates))
