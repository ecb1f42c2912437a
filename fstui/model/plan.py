"""What a run will do, before the first byte is written."""

from __future__ import annotations

from fstui.model.base import Base
from fstui.model.restraint import FREE, Restraint
from fstui.model.run import ScenarioRef
from fstui.model.settings import Settings


class PlannedStep(Base, frozen=True, kw_only=True):
    """One step with all its settings filled in."""

    name: str
    settings: Settings
    skip: str | None = None
    """An impossible combination: the sentence that says so."""
    limit_ns: int | None = None
    """What physics allows one operation at the least (one turn of the disk), for the line on the strip."""


class Plan(Base, frozen=True, kw_only=True):
    """What a run will do, before the first byte is written."""

    scenario: ScenarioRef
    question: str
    help: str
    steps: tuple[PlannedStep, ...]
    seconds: float | None
    """Estimated duration; None where it runs until it is stopped."""
    max_bytes: int
    """Written at most, all steps together."""
    room_bytes: int
    """Taken at most at one time."""
    bytes_per_s: int | None = None
    """What it writes each second, where it runs until it is stopped."""
    server: str | None = None
    """An existing server, in words, which takes what its steps write: that is not among the bytes above."""
    server_says: tuple[str, ...] = ()
    """Of itself, line by line, where it was asked; or why it did not answer."""
    server_bytes: int = 0
    """Written there at most."""
    server_room_bytes: int = 0
    """Taken there at most at one time."""
    restraint: Restraint = FREE
    command: str
    """The same run as a command line."""
