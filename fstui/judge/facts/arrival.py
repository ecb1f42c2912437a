"""One level of the stack in one step: what it received, against what it was owed."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.received import counted
from fstui.judge.facts.stack import Level
from fstui.judge.facts.traced import TRACE, Traced
from fstui.model.quantities import count, ratio, size
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range

ENOUGH = 0.9
"""Less than this share of what is owed is too little."""
EXACT_SHARE, OPEN_SHARE = 0.002, 0.02
"""Where the least that is owed is known, the flushes of one sync or of this share of them may be missing: of more than
300 such steps on honest storage (ext, XFS, btrfs, ZFS, exFAT, FAT, NILFS2) none had one too few, while libraries that
drop every twelfth or twentieth sync hide below a tenth. More where the most is open: f2fs had 309 for 310 syncs."""
TOLERANCE = 0.05
"""More than this share beyond what is owed came from somebody else."""
_COMMIT_EVERY_S, _COMMIT_FLUSHES, _COMMIT_BYTES = 5, 2, 65536


class Sent(NamedTuple):
    """Flushes of one step, by the witness that decides."""

    devices: tuple[Node, ...]
    flushes: float
    expected: Range | None
    """For each sync."""
    syncs: int
    traced: Traced | None
    """None where they are what devices counted."""

    @property
    def each(self) -> float:
        """For one sync."""
        return self.flushes / self.syncs if self.syncs else 0.0


class Arrival(NamedTuple):
    """What one level of the stack received in one step. Ranges run from the worst leg of a mirror to the best."""

    step: Step
    level: Level
    devices: tuple[Node, ...]
    """Those that took part."""
    syncs: int
    expected: Range | None
    """Flushes per sync; None where nobody knows what is owed."""
    flushes: Range | None
    """None where a device does not count them."""
    asked: Range
    """Bytes that must arrive at the least, and that may at the most."""
    written: Range | None
    others_per_s: float | None
    """Flushes per second at these devices while fstui was idle; None where nobody looked."""
    traced: Traced | None = None
    """What the kernel's trace saw handed down, at the topmost level; None where it saw nothing."""

    @property
    def per_sync(self) -> float:
        """Flushes per sync at the worst leg; 0 where they are not counted."""
        return self.flushes.low / self.syncs if self.flushes and self.syncs else 0.0

    @property
    def most_per_sync(self) -> float:
        """Flushes per sync at the best leg; 0 where they are not counted."""
        return self.flushes.high / self.syncs if self.flushes and self.syncs else 0.0

    @property
    def arrived_bytes(self) -> float:
        """Bytes at the worst leg; 0 where they are not counted."""
        return self.written.low if self.written else 0

    @property
    def byte_share(self) -> float:
        """Of the bytes that must arrive."""
        return self.arrived_bytes / self.asked.low if self.asked.low else 1.0

    @property
    def lacks_flushes(self) -> bool:
        """Fewer than are owed arrived, or fewer of ours were sent."""
        return self.lacks_counted or self.lacks_ours

    @property
    def lacks_counted(self) -> bool:
        """By the counters, everybody's flushes together."""
        if self.flushes is None or self.expected is None:
            return False
        return self._too_few(self.flushes.low, self.expected)

    @property
    def lacks_ours(self) -> bool:
        """By the trace: even with all that may have been sent in our name."""
        return self.traced is not None and self._too_few(self.traced.most, self.traced.expected)

    def _too_few(self, arrived: float, expected: Range) -> bool:
        each, most = expected
        exact = OPEN_SHARE if isinf(most) else EXACT_SHARE
        tolerated = max(1, exact * self.syncs) if each in (1, most) else (1 - ENOUGH) * self.syncs
        return arrived < each * (self.syncs - tolerated)

    @property
    def lacks_bytes(self) -> bool:
        return self.written is not None and self.written.low < ENOUGH * self.asked.low

    @property
    def exceeds(self) -> bool:
        """More arrived than this step can have caused, the filesystem's own commit every 5 s allowed for."""
        if self.flushes is not None and self.expected is not None:
            most = self.expected.high * self.syncs
            if self.flushes.high > max(most * (1 + TOLERANCE), most + self._own_commits * _COMMIT_FLUSHES):
                return True
        return self.surplus_bytes > 0

    @property
    def surplus_bytes(self) -> float:
        """Bytes beyond what this step can have caused; 0 where there are none."""
        most = max(self.asked.high * (1 + TOLERANCE), self.asked.high + self._own_commits * _COMMIT_BYTES)
        return self.written.high - self.asked.high if self.written and self.written.high > most else 0

    @property
    def _own_commits(self) -> float:
        return 1 + self.step.elapsed_s // _COMMIT_EVERY_S

    @property
    def noisy(self) -> bool:
        """Somebody else wrote: more arrived than was asked, or others would suffice for it by what they did before."""
        return self.exceeds or self.others_suffice

    @property
    def others_suffice(self) -> bool:
        """At the rate at which they flushed while fstui was idle, theirs would be more than 5 % of the syncs."""
        return (self.others_per_s or 0.0) * self.step.elapsed_s > TOLERANCE * self.syncs

    @property
    def proves(self) -> bool:
        """Every flush that was owed arrived, and nobody else can have sent it."""
        return self.proves_by_counters or self.proves_by_trace

    @property
    def proves_by_counters(self) -> bool:
        """Each was counted with its bytes, while nobody else wrote."""
        owes = self.expected is not None and self.expected.low > 0 and not isinf(self.expected.high)
        counts = self.flushes is not None and self.written is not None
        return owes and counts and not (self.lacks_flushes or self.lacks_bytes or self.noisy)

    @property
    def proves_by_trace(self) -> bool:
        """We asked for each ourselves, whoever else wrote, and no counter says that fewer were done."""
        seen = self.traced
        if seen is None or seen.expected.low < 1 or isinf(seen.expected.high):
            return False
        return not (self._too_few(seen.least, seen.expected) or self.lacks_flushes or self.lacks_bytes)

    @property
    def drowned(self) -> bool:
        """What arrived would be enough, and others' cannot be told from ours."""
        return self.noisy and not self.proves

    @property
    def sent(self) -> Sent:
        """What is told of its flushes: what was counted, or, where that is not what decides, what the trace saw."""
        if self.traced is None or self.lacks_counted or self.proves_by_counters:
            return Sent(self._short, self.flushes.low if self.flushes else 0, self.expected, self.syncs, None)
        number = self.traced.most if self.lacks_ours else self.traced.least
        return Sent(self.traced.devices, number, self.traced.expected, self.syncs, self.traced)

    @property
    def _short(self) -> tuple[Node, ...]:
        """Where too few arrived, without the legs that have enough by themselves."""
        if not self.lacks_counted or self.expected is None:
            return self.devices
        own = {device.id: counted(device, self.step) for device in self.devices}
        enough = {name for name, found in own.items() if found and self._is_enough(found.flushes, self.expected)}
        return tuple(device for device in self.devices if device.id not in enough) or self.devices

    def _is_enough(self, flushes: int | None, expected: Range) -> bool:
        return flushes is not None and not self._too_few(flushes, expected)

    @property
    def flush_line(self) -> str:
        """The evidence in a line: what of its flushes arrived."""
        sent = self.sent
        what = "flushes or FUA writes by fstui" if sent.traced else "flushes"
        arrived = f"{count(sent.flushes)} {what} for {count(self.syncs)} syncs at {words.devices(sent.devices)}"
        told = f"{self.step.name}: {arrived} ({ratio(sent.each)}, {words.expected(sent.expected)} owed"
        return f"{told}{self._witness})"

    @property
    def _witness(self) -> str:
        if self.traced is None:
            return ""
        if self.sent.traced:
            return f"; {TRACE}"
        return f"; {count(self.traced.least)} asked for by fstui itself, by {TRACE}"

    @property
    def byte_line(self) -> str:
        """The same of its bytes."""
        arrived = f"{size(self.arrived_bytes)} of {size(self.asked.low)}"
        return f"{self.step.name}: {arrived} at {words.devices(self.devices)} ({ratio(self.byte_share)})"


def fewest_flushes(arrivals: Iterable[Arrival]) -> Arrival:
    """The one with the fewest per sync."""
    return min(arrivals, key=lambda arrival: arrival.sent.each)


def fewest_bytes(arrivals: Iterable[Arrival]) -> Arrival:
    """The one that received the smallest share of its bytes."""
    return min(arrivals, key=lambda arrival: arrival.byte_share)
