"""The plan of a run: what it will do, before the first byte is written."""

import msgspec

from fstui.model.base import Base
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import ScenarioRef
from fstui.model.settings import Settings


class PlannedStep(Base, frozen=True, kw_only=True):
    name: str
    settings: Settings
    skip: str | None = None
    """Why the step is impossible here, as a sentence; None if it is possible."""
    limit_ns: int | None = None
    """The minimum time of one operation, which is one revolution of the disk. A line in the chart shows it."""


class Plan(Base, frozen=True, kw_only=True, tag_field="schema", tag="fstui.plan/1"):
    scenario: ScenarioRef
    question: str
    help: str
    steps: tuple[PlannedStep, ...]
    seconds: float | None
    """Estimated duration; None if the run lasts until it is stopped."""
    max_bytes: int
    """Maximum number of bytes that all steps together write."""
    peak_bytes: int = msgspec.field(name="room_bytes")
    """Maximum number of bytes that are in use at the same time."""
    bytes_per_s: int | None = None
    """Written per second, if the run lasts until it is stopped."""
    server: str | None = None
    """An existing server that stores what the steps write. These bytes are in ``server_bytes``, not ``max_bytes``."""
    server_says: tuple[str, ...] = ()
    """One line per fact that the server reported, or one line that says why it did not answer."""
    server_bytes: int = 0
    server_peak_bytes: int = msgspec.field(default=0, name="server_room_bytes")
    """The most space in use on that server at any time."""
    rate_limit: RateLimit = msgspec.field(default=UNLIMITED, name="restraint")
    command: str
