"""A whole simulated box: its disks, the filesystem on them, its clock, and what was promised to its programs."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.measure.kinds.powercut import PowerCut, PowerCutFigures
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Step
from fstui.simulate.disk import Disk
from fstui.simulate.kernel import Dataset, Filesystem, Fronted
from fstui.simulate.parameters import Simulated

FIRST_NS = 1e9


class Box:
    """One run's storage; everything that moves on with the model's clock."""

    def __init__(self, made: Simulated) -> None:
        self.made = made
        self.now_ns = FIRST_NS
        self.disk = Disk(made.disk, made.seed)
        self.log = Disk(made.log, made.seed + 1) if made.log else None
        self.front = Disk(made.front, made.seed + 2) if made.front else None
        self.filesystem = self._new_file()
        self._promised: dict[int, tuple[float, int]] = {}
        """Place → when it was acknowledged as durable, and which write of it."""
        self.acknowledged = 0

    def begin_step(self) -> None:
        """A file of its own for each step; the disk is as it was."""
        self.filesystem = self._new_file()
        self._promised.clear()
        self.acknowledged = 0

    def turn(self, made: Simulated) -> None:
        """Its parameters are others from now on."""
        self.made = made
        for disk, part in zip((self.disk, self.log, self.front), made.parts, strict=True):
            if disk is not None and part is not None:
                disk.turn(part)
        self.filesystem.turn(made)

    def promise(self, at_ns: float, place: int, stamp: int) -> None:
        """A program was told that this write is durable."""
        self._promised[place] = (at_ns, stamp)
        self.acknowledged += 1

    def counters(self) -> Iterator[DeviceCounters]:
        """Of every disk."""
        yield from (disk.counters() for disk in self.disks())

    def disks(self) -> Iterator[Disk]:
        """All of them."""
        yield from filter(None, (self.disk, self.log, self.front))

    def power_cut(self, at_ns: float, settings: PowerCut, bytes_each: int, elapsed_s: float) -> Step:
        """The power goes: what was promised against what is there, by the rules of ``fstui powercut verify``."""
        present = stale = missing = 0
        oldest_ns = at_ns
        for place, (acknowledged_ns, stamp) in self._promised.items():
            found = self._found(place, at_ns)
            if found is not None and found >= stamp:
                present += 1
                continue
            stale, missing = stale + (found is not None), missing + (found is None)
            oldest_ns = min(oldest_ns, acknowledged_ns)
        claim = f"{settings.sync[0]}, {settings.writes[0]}"
        lost = stale + missing
        figures = PowerCutFigures(
            cut=f"simulated {self.made.name}",
            identity="",
            simulated=True,
            acknowledged=self.acknowledged,
            checked=len(self._promised),
            present=present,
            stale=stale,
            missing=missing,
            oldest_lost_s=round((at_ns - oldest_ns) / 1e9, 6),
            by_claim={claim: {"acknowledged": self.acknowledged, "checked": len(self._promised), "lost": lost}},
        )
        return Step(
            name="power cut",
            settings=settings,
            ops=self.acknowledged,
            syncs=self.acknowledged,
            bytes=self.acknowledged * bytes_each,
            elapsed_s=elapsed_s,
            rate_per_s=self.acknowledged / elapsed_s if elapsed_s else 0.0,
            figures=figures,
        )

    def _found(self, place: int, at_ns: float) -> int | None:
        """The newest that any disk which holds it has."""
        holders = (disk.stamp_at(place, at_ns) for disk in self.disks())
        return max((stamp for stamp in holders if stamp is not None), default=None)

    def _new_file(self) -> Filesystem:
        made = self.made
        storage = Fronted(made.front, self.front) if made.front and self.front else self.disk
        log = self.log or storage
        kind = Dataset if made.filesystem.kind == "zfs" else Filesystem
        return kind(made, storage, log)
