"""One flush account: the flushes and bytes of one step at one level of the stack, and what they show.

Other processes only add flushes, so nothing is subtracted. Too few flushes are too few, whoever else wrote. Enough
flushes show something only if no other process wrote. Another process wrote if more than 5 % too many flushes or bytes
arrived, or if the flushes of the idle device, sampled for a second before the run and between steps, would be more than
5 % of the syncs.

The kernel's trace attributes flushes to processes, at the topmost level (see ``traced``). If fstui's own flushes are as
many as expected, they arrived. If they are too few, those of other processes do not help.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from fstui.judge import words
from fstui.judge.facts.composition import flush_counters
from fstui.judge.facts.stack import Level
from fstui.judge.facts.traced import TRACE, Traced
from fstui.model.quantities import count, ratio, size
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range

Outcome = Literal["missing", "complete", "noisy", "not counted"]
"""``missing``: fewer flushes arrived than expected, or fewer of fstui's own were sent. ``complete``: all expected ones
arrived while no other process wrote, or the trace shows that fstui sent them. ``noisy``: neither, and other processes
wrote. ``not counted``: neither, because a number is not known, no flush is expected, or too few bytes arrived."""
ENOUGH = 0.9
"""A number below this share of the expected one is too small."""
EXACT_SHARE = 0.002
"""If the expected number is exact, this share of the flushes may be missing, or those of one sync if that is more. In
over 300 such steps on durable storage (ext, XFS, btrfs, ZFS) none was missing. A library that drops every twelfth or
twentieth sync would stay above 0.9."""
TOLERANCE = 0.05
"""A surplus of more than this share of the expected number came from another process."""
_COMMIT_EVERY_S, _COMMIT_FLUSHES, COMMIT_BYTES = 5, 2, 65536


class Arrival(NamedTuple):
    """The flushes that arrived, according to the counters or the trace."""

    devices: tuple[Node, ...]
    flushes: float
    expected: Range | None
    syncs: int
    traced: Traced | None

    @property
    def per_sync(self) -> float:
        return self.flushes / self.syncs if self.syncs else 0.0

    def line(self, step: Step, *, what: str, syncs: str = "syncs", more: str = "") -> str:
        """Return the line of evidence. ``what``: the name of the flushes. ``syncs``: the name of the operations."""
        arrived = f"{count(self.flushes)} {what} for {count(self.syncs)} {syncs} at {words.devices(self.devices)}"
        return f"{step.name}: {arrived} ({ratio(self.per_sync)}, {words.expected(self.expected)} expected{more})"


class FlushAccount(NamedTuple):
    """The flushes of one step at one level. Ranges run from the worst member of a mirror to the best."""

    step: Step
    level: Level
    devices: tuple[Node, ...]
    syncs: int
    expected: Range | None
    """Expected flushes per sync; None if unknown."""
    counted: Range | None
    """Counted flushes; None if a device does not count them."""
    expected_bytes: Range
    """The fewest bytes that have to arrive, and the most that may."""
    counted_bytes: Range | None
    by_others_per_s: float | None
    """Flushes per second at these devices while fstui was idle; None if not measured."""
    traced: Traced | None = None
    """What the kernel's trace saw at the topmost level; None without a trace."""

    @property
    def outcome(self) -> Outcome:
        if self.lacks_flushes:
            return "missing"
        if self.complete_by_counters or self.complete_by_trace:
            return "complete"
        return "noisy" if self.others_wrote else "not counted"

    @property
    def lacks_flushes(self) -> bool:
        return self.counters_lack or self.trace_lacks

    @property
    def counters_lack(self) -> bool:
        """Whether the devices counted too few flushes, all processes together."""
        if self.counted is None or self.expected is None:
            return False
        return self._too_few(self.counted.low, self.expected)

    @property
    def trace_lacks(self) -> bool:
        """Whether the trace shows too few flushes, even if all that may be fstui's own are counted."""
        return self.traced is not None and self._too_few(self.traced.own.high, self.traced.expected)

    @property
    def complete_by_counters(self) -> bool:
        """Whether all expected flushes and bytes were counted while no other process wrote."""
        known = self.expected is not None and self.expected.low > 0
        counts = self.counted is not None and self.counted_bytes is not None
        return known and counts and not (self.lacks_flushes or self.lacks_bytes or self.others_wrote)

    @property
    def complete_by_trace(self) -> bool:
        """Whether fstui itself requested all expected flushes, and the counters do not contradict that."""
        seen = self.traced
        if seen is None or seen.expected.low < 1:
            return False
        return not (self._too_few(seen.own.low, seen.expected) or self.lacks_flushes or self.lacks_bytes)

    @property
    def per_sync(self) -> float:
        """Flushes per sync at the worst member; 0 if not counted."""
        return self.counted.low / self.syncs if self.counted and self.syncs else 0.0

    @property
    def most_per_sync(self) -> float:
        """Flushes per sync at the best member; 0 if not counted."""
        return self.counted.high / self.syncs if self.counted and self.syncs else 0.0

    @property
    def arrived_bytes(self) -> float:
        """Bytes at the worst member; 0 if not counted."""
        return self.counted_bytes.low if self.counted_bytes else 0

    @property
    def byte_share(self) -> float:
        return self.arrived_bytes / self.expected_bytes.low if self.expected_bytes.low else 1.0

    @property
    def lacks_bytes(self) -> bool:
        return self.counted_bytes is not None and self.counted_bytes.low < ENOUGH * self.expected_bytes.low

    @property
    def others_wrote(self) -> bool:
        """Whether more arrived than the step can have caused, or other processes flush often while fstui is idle."""
        return self._exceeds_flushes or self.surplus_bytes > 0 or self.others_flush_often

    @property
    def others_flush_often(self) -> bool:
        """Whether other processes, at the rate of the idle device, send more flushes than 5 % of the syncs."""
        return (self.by_others_per_s or 0.0) * self.step.elapsed_s > TOLERANCE * self.syncs

    @property
    def surplus_bytes(self) -> float:
        """Bytes that the step cannot have caused, with an allowance for the filesystem's own commits."""
        expected = self.expected_bytes.high
        most = max(expected * (1 + TOLERANCE), expected + self._own_commits * COMMIT_BYTES)
        counted = self.counted_bytes.high if self.counted_bytes else 0
        return counted - expected if counted > most else 0

    @property
    def arrival(self) -> Arrival:
        """The flushes according to the counters, or to the trace if the counters show nothing."""
        if self.traced is None or self.counters_lack or self.complete_by_counters:
            flushes = self.counted.low if self.counted else 0
            return Arrival(
                self._lacking_devices if self.counters_lack else self.reached, flushes, self.expected, self.syncs, None
            )
        number = self.traced.own.high if self.trace_lacks else self.traced.own.low
        return Arrival(self.traced.devices, number, self.traced.expected, self.syncs, self.traced)

    @property
    def reached(self) -> tuple[Node, ...]:
        """The devices that counted a flush or a byte: a cache may have answered in place of the others."""
        counted = {node.id: flush_counters(node, self.step) for node in self.devices}
        idle = {name for name, own in counted.items() if own and own.flushes == 0 and own.written_bytes == 0}
        return tuple(node for node in self.devices if node.id not in idle) or self.devices

    @property
    def flush_line(self) -> str:
        arrival = self.arrival
        if arrival.traced:
            return arrival.line(self.step, what="flushes or FUA writes", more=f"; fstui's own, according to {TRACE}")
        own = f"; {count(self.traced.own.low)} of them by fstui, according to {TRACE}" if self.traced else ""
        return arrival.line(self.step, what="flushes", more=own)

    @property
    def byte_line(self) -> str:
        arrived, where = f"{self.step.name}: {size(self.arrived_bytes)}", words.devices(self.devices)
        if not self.expected_bytes.low:  # the bytes may have gone to another device of the pool
            return f"{arrived} at {where}"
        return f"{arrived} at {where}, {size(self.expected_bytes.low)} expected ({ratio(self.byte_share)})"

    @property
    def _exceeds_flushes(self) -> bool:
        if self.counted is None or self.expected is None:
            return False
        most = self.expected.high * self.syncs
        return self.counted.high > max(most * (1 + TOLERANCE), most + self._own_commits * _COMMIT_FLUSHES)

    @property
    def _own_commits(self) -> float:
        return 1 + self.step.elapsed_s // _COMMIT_EVERY_S

    @property
    def _lacking_devices(self) -> tuple[Node, ...]:
        if self.expected is None:
            return self.devices
        counters = {device.id: flush_counters(device, self.step) for device in self.devices}
        enough = {
            name
            for name, found in counters.items()
            if found and found.flushes is not None and not self._too_few(found.flushes, self.expected)
        }
        return tuple(device for device in self.devices if device.id not in enough) or self.devices

    def _too_few(self, arrived: float, expected: Range) -> bool:
        """Return whether too few arrived. The expected number is exact if ``low == high`` or ``low == 1``."""
        exact = expected.low in (1, expected.high)
        tolerated = max(1, EXACT_SHARE * self.syncs) if exact else (1 - ENOUGH) * self.syncs
        return arrived < expected.low * (self.syncs - tolerated)


def fewest_flushes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    return min(accounts, key=lambda account: account.arrival.per_sync)


def fewest_bytes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    return min(accounts, key=lambda account: account.byte_share)
