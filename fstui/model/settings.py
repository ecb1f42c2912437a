"""What a step is asked for, and what only its kind of step tells: the bases, with the answers of an unknown kind.

Each kind of step is a module of ``fstui.measure.kinds`` with structs of its own, told apart by the tag ``probe``.
Whoever plans, records, judges or shows a step asks these questions, and never what kind of step it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from fstui.model.steps import Latency, TimelinePoint

OpenFlag = Literal["direct", "dsync", "sync"]


class Amounts(NamedTuple):
    """Bytes that a step takes at the most."""

    written: int
    held: int
    """There at one time."""
    left: int = 0
    """Of that, there still in the steps after it that share its data."""


class Commits(NamedTuple):
    """The operations of a step as commits of a database: what they promise, and by which settings."""

    database: str
    """``MariaDB 10.11.19``, ``SQLite 3.40.1``."""
    settings: tuple[str, ...] = ()
    """What decides whether a commit is durable: ``name = value``, as the database has it."""
    lossy: tuple[str, ...] = ()
    """Of these, the ones by which a commit may be lost."""
    durable: bool = False
    """Every commit is durable when it returns, as the database's documentation says."""
    counted: bool = True
    """They write, and to the filesystem that is measured: what its devices count is their doing."""
    existing: bool = False
    """The database was there before the run; its settings are its owner's."""
    log_flags: tuple[OpenFlag, ...] = ()
    """How its log is opened; empty where it is written and then synced."""
    preloads: tuple[str, ...] = ()
    """Sync-stubbing libraries in its process."""


class Figures:
    """What only this kind of step measures, besides rates, latencies and counters."""

    __slots__ = ()

    @property
    def ops(self) -> int:
        """Operations, as a program counts them that reports no samples."""
        return 0

    @property
    def written_bytes(self) -> int:
        """Bytes that were written, where it counts them itself."""
        return 0

    @property
    def words(self) -> str:
        """What its row shows in the place of numbers; empty where there is nothing to tell."""
        return ""

    @property
    def newest(self) -> tuple[float, str] | None:
        """What a program reported last: its operations per second, and the rest in words."""
        return None

    def timeline(self) -> tuple[TimelinePoint, ...]:
        """What a program reported of itself, stretch by stretch, in the place of samples."""
        return ()

    def latency(self, histogram: Sequence[tuple[int, int]]) -> Latency | None:
        """Of a program that reported its own, and (ns, count) of each bucket of its histogram."""
        return None


class Settings:
    """What a step was asked for."""

    __slots__ = ()

    in_scenarios: ClassVar[bool] = True
    """A scenario file may have such a step."""

    @property
    def probe(self) -> str:
        """The name of the program in ``fstui.measure.probes``; the tag of this kind of step in documents."""
        return ""

    @property
    def seconds(self) -> float:
        """Measured time; 0: until it is stopped."""
        return 0.0

    @property
    def writers(self) -> int:
        """How many work at once."""
        return 1

    @property
    def alike(self) -> bool:
        """Its operations are of one kind, so that a rate, percentiles and flushes per sync mean something."""
        return True

    @property
    def operations(self) -> str | None:
        """What its operations are called, where they are more than a write of ours."""
        return None

    @property
    def reports_itself(self) -> bool:
        """An outside program does it and tells of itself once a second: the devices' counters are newer."""
        return False

    @property
    def program(self) -> str | None:
        """An outside program that does it, and may not be installed."""
        return None

    @property
    def wants_server(self) -> bool:
        """It measures a database server, which has to be started or reached first."""
        return False

    @property
    def own_session(self) -> bool:
        """Its programs run in a session of their own, apart from that of fstui."""
        return True

    @property
    def existing_server(self) -> str | None:
        """The server that was there before and takes what it writes, in words; None where that is written here."""
        return None

    @property
    def server_options(self) -> tuple[str, ...]:
        """What a server of its own is started with besides, ``name = value``: a scenario file says it, and some of
        these load code."""
        return ()

    @property
    def syncs_rarely(self) -> bool:
        """Some of its operations have a sync part of no length: they were not synced."""
        return False

    @property
    def rewrites_one_block(self) -> bool:
        """One writer rewrites one place: a disk can do that once a turn."""
        return False

    @property
    def direct(self) -> bool:
        """It opens its file with O_DIRECT, which not every filesystem lets it."""
        return False

    @property
    def direct_block_bytes(self) -> int | None:
        """The size of its O_DIRECT writes, where that can be set; None where it writes through the page cache."""
        return None

    @property
    def bytes_per_s(self) -> int:
        """What it writes each second, where it runs until it is stopped."""
        return 0

    @property
    def prefill_bytes(self) -> int:
        """What it writes before its clock starts, at the pace of a run that holds itself back."""
        return 0

    def held_to(self, bytes_per_s: int) -> Settings | None:
        """The same, writing no more than so much a second; None where it cannot be held back."""
        return None

    def as_dict(self) -> dict[str, Any]:
        """Names and values, as they are shown and as the probe is told them."""
        return {}

    def ends_early(self, ops: int) -> bool:
        """So many operations are all that it wants, before its time is over."""
        return False

    def mistakes(self) -> Iterator[str]:
        """What cannot be run like this, each in a sentence."""
        return iter(())

    def amounts(self) -> Amounts:
        """What it writes at the most, and how much of it is there at one time."""
        return Amounts(0, 0)

    def written_bytes(self, timed_ops: int, figures: Figures) -> int:
        """Bytes that so many timed operations have written."""
        return figures.written_bytes

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        """How many operations or calls promised durability. ``timed_syncs`` have a sync part of their own."""
        return timed_syncs

    def commits(self, figures: Figures) -> Commits | None:
        """Its operations as a database's commits; None where they are none."""
        return None


class UnknownSettings(Settings, dict[str, Any]):
    """Settings of a kind of step that is not known here, or was never begun: kept as they were read."""

    __slots__ = ()

    @property
    def probe(self) -> str:
        return str(self.get("probe", ""))

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.items() if name != "probe"}


class UnknownFigures(Figures, dict[str, Any]):
    """The same of its figures."""

    __slots__ = ()
