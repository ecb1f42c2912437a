"""The flush account of one step at one level of the stack: flushes and bytes, expected and counted.

Other processes only add flushes, so a shortage is real even if other processes also wrote. Enough flushes prove that
none was dropped only if no other process wrote. Another process is assumed to have written in two cases: if flushes or
bytes exceed the expected number by more than 5 %, or if the device's flush rate while fstui is idle is more than 5 % of
the sync rate. The idle rate is sampled for a second before the run, and between steps.

At the topmost level, the kernel's trace attributes the requests at the device to processes (see ``traced``). If it
shows as many flushes by fstui as expected, all of them arrived. If it shows too few, flushes of other processes do not
make up for them. Of a fast step, only the start may be traced. The rest then has only the counters, in which flushes of
other processes may make up for missing ones.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from fstui.judge import words
from fstui.judge.facts.composition import flush_counters
from fstui.judge.facts.stack import Level
from fstui.judge.facts.traced import TRACE, TracedFlushes
from fstui.model.counters import DeviceCounters
from fstui.model.quantities import count, ratio, size
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range

Outcome = Literal["missing", "complete", "noisy", "not counted"]
"""``missing``: fewer flushes arrived than expected, or fstui itself sent fewer. ``complete``: all expected flushes
arrived while no other process wrote, or the trace shows that fstui sent them. ``noisy``: neither is certain, because
other processes wrote. ``not counted``: neither is certain, because a number is not known, no flush is expected, or too
few bytes arrived."""
ENOUGH_SHARE = 0.9
"""A number below this share of the expected one is too small."""
MISSING_TOLERANCE = 0.002
"""If the expected number is exact, or a range from 1, this share of the syncs, or one sync, may lack flushes. In over
300 such steps on durable storage (ext, XFS, btrfs, ZFS) none was missing. ``ENOUGH_SHARE`` would overlook
a library that drops every twelfth or twentieth sync."""
SURPLUS_TOLERANCE = 0.05
"""A surplus of more than this share of the expected number came from another process."""
_COMMIT_INTERVAL_S, _COMMIT_FLUSHES, COMMIT_BYTES = 5, 2, 65536
"""The filesystem commits its own journal every 5 s. Such a commit adds up to 2 flushes and 64 KiB."""


class Arrival(NamedTuple):
    """The flushes that arrived, according to the counters or the trace."""

    devices: tuple[Node, ...]
    flushes: float
    expected: Range | None
    syncs: int
    trace: TracedFlushes | None

    @property
    def per_sync(self) -> float:
        return self.flushes / self.syncs if self.syncs else 0.0

    def part(self, step: Step) -> Step:
        """Return the step, shortened to its traced part if the flushes are those of the trace."""
        part = step.traced_part if self.trace else None
        return replace(step, elapsed_s=part.elapsed_s) if part else step

    def operations(self, step: Step, name: str = "syncs") -> str:
        """Return the number of syncs: ``2 000 syncs``, or ``200 traced syncs`` if a part of the step was traced."""
        return f"{count(self.syncs)} {'traced ' if self.trace and step.traced_part else ''}{name}"

    def line(self, step: Step, *, requests: str, operations: str = "syncs", suffix: str = "") -> str:
        """Return the line of evidence. ``requests``, ``operations``: the words for the flushes and the syncs."""
        where = words.devices(self.devices)
        arrived = f"{count(self.flushes)} {requests} for {self.operations(step, operations)} at {where}"
        return f"{step.name}: {arrived} ({ratio(self.per_sync)}, {words.expected_text(self.expected)} expected{suffix})"


class FlushAccount(NamedTuple):
    """The flushes of one step at one level. The counted ranges run from the worst member of a mirror to the best."""

    step: Step
    level: Level
    devices: tuple[Node, ...]
    syncs: int
    expected: Range | None
    """Expected flushes per sync; None if unknown."""
    counted: Range | None
    """Counted flushes; None if a device does not count them."""
    expected_bytes: Range
    """The minimum and maximum number of bytes expected to arrive."""
    counted_bytes: Range | None
    other_flushes_per_s: float | None
    """Flushes per second at these devices while fstui was idle; None if not measured."""
    trace: TracedFlushes | None = None
    """What the kernel's trace saw at the topmost level; None without a trace."""

    @property
    def outcome(self) -> Outcome:
        if self.lacks_flushes:
            return "missing"
        if self.counters_are_complete or self.trace_is_complete:
            return "complete"
        return "noisy" if self.others_wrote else "not counted"

    @property
    def lacks_flushes(self) -> bool:
        return self.counters_lack_flushes or self.trace_lacks_flushes

    @property
    def own_flushes(self) -> float | None:
        """fstui's own flushes according to the trace, extrapolated to the whole step if it covers only a part."""
        return self.trace.own.low * self.syncs / self.trace.syncs if self.trace and self.trace.syncs else None

    @property
    def counters_lack_flushes(self) -> bool:
        """Whether the devices counted too few flushes, including those of other processes."""
        if self.counted is None or self.expected is None:
            return False
        return _too_few(self.counted.low, self.expected, self.syncs)

    @property
    def trace_lacks_flushes(self) -> bool:
        """Whether the trace shows too few flushes, even if every flush that may be fstui's own is counted."""
        return self.trace is not None and _too_few(self.trace.own.high, self.trace.expected, self.trace.syncs)

    @property
    def counters_are_complete(self) -> bool:
        """Whether all expected flushes and bytes were counted while no other process wrote."""
        expects_flushes = self.expected is not None and self.expected.low > 0
        is_counted = self.counted is not None and self.counted_bytes is not None
        return expects_flushes and is_counted and not (self.lacks_flushes or self.lacks_bytes or self.others_wrote)

    @property
    def trace_is_complete(self) -> bool:
        """Whether fstui itself requested all expected flushes, and the counters do not contradict that."""
        trace = self.trace
        if trace is None or trace.expected.low < 1 or self.others_may_hide_missing:
            return False
        return not (_too_few(trace.own.low, trace.expected, trace.syncs) or self.lacks_flushes or self.lacks_bytes)

    @property
    def others_may_hide_missing(self) -> bool:
        """Whether only the start was traced, and flushes of other processes may make up for missing ones after it."""
        if self.trace is None or self.step.traced_part is None:
            return False
        # a journal's thread commits for every program: if fstui's own flushes are complete, these belong to others
        not_own = self.trace.others + self.trace.kernel_threads
        return not_own > SURPLUS_TOLERANCE * self.trace.syncs or self._exceeds_flushes or self.others_flush_often

    @property
    def per_sync(self) -> float:
        """Flushes per sync at the worst member; 0 if not counted."""
        return self.counted.low / self.syncs if self.counted and self.syncs else 0.0

    @property
    def max_per_sync(self) -> float:
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
        return self.counted_bytes is not None and self.counted_bytes.low < ENOUGH_SHARE * self.expected_bytes.low

    @property
    def others_wrote(self) -> bool:
        """Whether more arrived than the step can have caused, or other processes flush often while fstui is idle."""
        return self._exceeds_flushes or self.surplus_bytes > 0 or self.others_flush_often

    @property
    def others_flush_often(self) -> bool:
        """Whether the flush rate of other processes while fstui was idle is more than 5 % of the sync rate."""
        return (self.other_flushes_per_s or 0.0) * self.step.elapsed_s > SURPLUS_TOLERANCE * self.syncs

    @property
    def surplus_bytes(self) -> float:
        """Bytes above the expected number; 0 if the tolerance or the filesystem's own commits may explain them."""
        expected = self.expected_bytes.high
        allowed = max(expected * (1 + SURPLUS_TOLERANCE), expected + self._own_commits * COMMIT_BYTES)
        counted = self.counted_bytes.high if self.counted_bytes else 0
        return counted - expected if counted > allowed else 0

    @property
    def arrival(self) -> Arrival:
        """The flushes according to the counters, or to the trace if the counters are inconclusive."""
        if self.trace is None or self.counters_lack_flushes or self.counters_are_complete:
            flushes = self.counted.low if self.counted else 0
            devices = self._lacking_devices if self.counters_lack_flushes else self.reached_devices
            return Arrival(devices, flushes, self.expected, self.syncs, None)
        number = self.trace.own.high if self.trace_lacks_flushes else self.trace.own.low
        return Arrival(self.trace.devices, number, self.trace.expected, self.trace.syncs, self.trace)

    @property
    def reached_devices(self) -> tuple[Node, ...]:
        """The devices that counted a flush or a byte. A cache may have acknowledged syncs in place of the others."""
        return self._devices_except(lambda counters: counters.flushes == 0 and counters.written_bytes == 0)

    @property
    def flush_line(self) -> str:
        arrival = self.arrival
        if arrival.trace:
            suffix = f"; fstui's own, according to {TRACE}"
            return arrival.line(self.step, requests="flushes or FUA writes", suffix=suffix)
        if self.trace is None:
            return arrival.line(self.step, requests="flushes")
        own = f"{count(self.trace.own.low)} of them by fstui"
        if self.trace.syncs != self.syncs:
            traced = f"{count(self.trace.syncs)} syncs that were traced"
            own = f"fstui itself sent {count(self.trace.own.low)} for the {traced}"
        return arrival.line(self.step, requests="flushes", suffix=f"; {own}, according to {TRACE}")

    @property
    def byte_line(self) -> str:
        arrived, where = f"{self.step.name}: {size(self.arrived_bytes)}", words.devices(self.devices)
        if not self.expected_bytes.low:  # another device of the pool may have received them
            return f"{arrived} at {where}"
        return f"{arrived} at {where}, {size(self.expected_bytes.low)} expected ({ratio(self.byte_share)})"

    @property
    def _exceeds_flushes(self) -> bool:
        if self.counted is None or self.expected is None:
            return False
        expected = self.expected.high * self.syncs
        allowed = max(expected * (1 + SURPLUS_TOLERANCE), expected + self._own_commits * _COMMIT_FLUSHES)
        return self.counted.high > allowed

    @property
    def _own_commits(self) -> float:
        return 1 + self.step.elapsed_s // _COMMIT_INTERVAL_S

    @property
    def _lacking_devices(self) -> tuple[Node, ...]:
        expected = self.expected
        if expected is None:
            return self.devices
        return self._devices_except(
            lambda counters: counters.flushes is not None and not _too_few(counters.flushes, expected, self.syncs)
        )

    def _devices_except(self, excludes: Callable[[DeviceCounters], bool]) -> tuple[Node, ...]:
        """Return the devices whose counters are not excluded; all devices if none is left."""
        all_counters = ((device, flush_counters(device, self.step)) for device in self.devices)
        remaining = tuple(device for device, counters in all_counters if not (counters and excludes(counters)))
        return remaining or self.devices


def _too_few(arrived: float, expected: Range, syncs: int) -> bool:
    """Return whether too few arrived. ``MISSING_TOLERANCE`` applies to an exact number and to a range from 1."""
    is_strict = expected.low in (1, expected.high)
    tolerated = max(1, MISSING_TOLERANCE * syncs) if is_strict else (1 - ENOUGH_SHARE) * syncs
    return arrived < expected.low * (syncs - tolerated)


def fewest_flushes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    return min(accounts, key=lambda account: account.arrival.per_sync)


def fewest_bytes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    return min(accounts, key=lambda account: account.byte_share)
