"""The base classes of the settings and the figures of a step. Their defaults also serve for unknown kinds of step.

Each kind of step is a module of ``fstui.measure.kinds`` with its own structs, distinguished by the tag ``probe``. Code
that plans, records, judges or shows a step uses these properties and never checks the kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from fstui.model.steps import Latency, TimelinePoint

OpenFlag = Literal["direct", "dsync", "sync"]


class Amounts(NamedTuple):
    """The maximum number of bytes that a step needs."""

    written: int
    peak: int
    """The most bytes that are in use at the same time."""
    retained: int = 0
    """The part of ``peak`` that stays after the step, because later steps use the same data."""


class CommitSettings(NamedTuple):
    """The database that commits in a step, and its settings that decide whether a commit is durable."""

    database: str
    """``MariaDB 10.11.19``, ``SQLite 3.40.1``."""
    settings: tuple[str, ...] = ()
    """The settings that decide whether a commit is durable, as ``name = value``."""
    lossy: tuple[str, ...] = ()
    """The settings among these with which a commit may be lost."""
    durable: bool = False
    """According to the database's documentation, every commit is durable when it returns."""
    counted: bool = True
    """The commits are written to the measured filesystem, so the counters of its devices include them."""
    existing: bool = False
    """The database existed before the run, and its settings belong to its owner."""
    located: bool = True
    """The database's process was found on this host, so the filesystem of its data is known."""
    log_flags: tuple[OpenFlag, ...] = ()
    """The flags with which the log is opened; empty if it is synced by a call after each write."""
    preloads: tuple[str, ...] = ()
    """Libraries in its process that stub syncs."""


class Pause(NamedTuple):
    """An interval in which a program completed nothing. It usually completes ten or more operations in such a time."""

    start_s: float
    end_s: float
    is_ongoing: bool
    """Whether the pause lasted until the last report of the program."""


class Figures:
    __slots__ = ()

    @property
    def ops(self) -> int:
        """Operations, as counted by a program that reports no samples."""
        return 0

    @property
    def written_bytes(self) -> int:
        """Bytes written, if the program counts them itself."""
        return 0

    @property
    def text(self) -> str:
        """Text to show instead of numbers; empty if there is none."""
        return ""

    @property
    def newest_report(self) -> tuple[float, str] | None:
        """The last report of a program: its operations per second, and a text with its other numbers."""
        return None

    def timeline(self) -> tuple[TimelinePoint, ...]:
        """Return a point for each interval that a program reported. Such a program returns no samples."""
        return ()

    def pauses(self) -> tuple[Pause, ...]:
        """Return the pauses of a program that reports intervals."""
        return ()

    def latency(self, histogram: Sequence[tuple[int, int]]) -> Latency | None:
        """Return the latency that a program reported, given its histogram as (ns, count) per bucket."""
        return None


class Settings:
    __slots__ = ()

    in_scenarios: ClassVar[bool] = True
    """Whether scenario files may contain such steps."""
    uniform: ClassVar[bool] = True
    """Whether all operations are of one kind, so that a rate, percentiles and flushes per sync make sense."""
    operation_name: ClassVar[str | None] = None
    """The name of its operations, if each is more than one write."""
    reports_own_figures: ClassVar[bool] = False
    """Whether an external program reports the operations once a second. Then the devices' counters are newer than the
    number of operations."""
    program: ClassVar[str | None] = None
    """The external program that the step needs, which may not be installed."""
    needs_server: ClassVar[bool] = False
    """Whether the step measures a database server, which has to be started or reached first."""

    @property
    def probe(self) -> str:
        """The name of the program in ``fstui.measure.probes``, which is also the tag in documents."""
        return ""

    @property
    def seconds(self) -> float:
        """Measured time; 0: until stopped."""
        return 0.0

    @property
    def writers(self) -> int:
        return 1

    @property
    def own_session(self) -> bool:
        """Whether its programs run in a session of their own, separate from that of fstui."""
        return True

    @property
    def existing_server(self) -> str | None:
        """The existing server that stores what the step writes; None if the step writes to the target itself."""
        return None

    @property
    def server_options(self) -> tuple[str, ...]:
        """Further options for a throwaway server, as ``name = value``. They come from a scenario file, and some of them
        load code."""
        return ()

    @property
    def syncs_some_operations(self) -> bool:
        """Whether only some of its operations are synced. For the others, the time of the sync is 0."""
        return False

    @property
    def rewrites_one_block(self) -> bool:
        """Whether one writer overwrites one block: a disk can do that once per revolution."""
        return False

    @property
    def direct(self) -> bool:
        """Whether it opens its file with O_DIRECT, which not every filesystem supports."""
        return False

    @property
    def direct_block_bytes(self) -> int | None:
        """The size of its O_DIRECT writes; None if it writes through the page cache."""
        return None

    @property
    def bytes_per_s(self) -> int:
        """Bytes written per second, if the step runs until it is stopped."""
        return 0

    @property
    def prefill_bytes(self) -> int:
        """Bytes written before the measurement starts, under the rate limit of the run."""
        return 0

    def with_rate_limit(self, bytes_per_s: int) -> Settings | None:
        """Return these settings with a limit on bytes per second; None if it cannot be limited."""
        return None

    def as_dict(self) -> dict[str, Any]:
        return {}

    def ends_early(self, ops: int) -> bool:
        """Return whether this number of operations ends the step before its time is over."""
        return False

    def mistakes(self) -> Iterator[str]:
        """Yield a sentence for each combination of settings that is not possible."""
        return iter(())

    def amounts(self) -> Amounts:
        """Return the most bytes that the step writes, and the most that are in use at the same time."""
        return Amounts(0, 0)

    def written_bytes(self, timed_ops: int, figures: Figures) -> int:
        return figures.written_bytes

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        """Return how many operations should be durable when they return. ``timed_syncs``: how many syncs were timed."""
        return timed_syncs

    def commit_settings(self, figures: Figures) -> CommitSettings | None:
        """Return the database and its settings if the operations are its commits, otherwise None."""
        return None


class UnknownSettings(Settings, dict[str, Any]):
    """Settings of an unknown kind of step, or of one that never started; kept as they were read."""

    __slots__ = ()

    @property
    def probe(self) -> str:
        return str(self.get("probe", ""))

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.items() if name != "probe"}


class UnknownFigures(Figures, dict[str, Any]):
    __slots__ = ()
