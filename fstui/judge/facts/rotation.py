"""The rates that the rotational speed of a disk allows, and how the rates of a run compare with them.

A block passes the head once per revolution, so a durable rewrite of one block takes at least one revolution. Data
sheets state this speed: 5400 rpm allow 90 rewrites per second, 7200 rpm 120, 10 000 rpm 167, 15 000 rpm 250. The
limit holds if the disk writes blocks in place and no cache acknowledges a write earlier.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.costs import MEAN_TO_MEDIAN, NAND_PROGRAM_NS
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps, WriteStep, has_rate
from fstui.model.host import Host
from fstui.model.quantities import duration_ns, rate, rotation
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import controller_may_cache, has_protected_cache
from fstui.storage.layers.devices.disk import is_virtual, write_placement
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.models import WritePlacement

ASSUMED_RPM = 15_000
"""Assumed for a hard disk that does not report its rotational speed: that of the fastest disk ever sold."""
LOGGED_NS = 473_000
"""The minimum time of a synced write that a disk appends to a log on its platters, as measured on an Ultrastar 7K6000
(serverfault.com/questions/857271)."""
TOO_FAST, FAR_TOO_FAST = 1.5, 5
"""Above these multiples of the limit, something other than the platter acknowledges the writes."""
MIN_BUSY_SHARE = 0.5
"""A disk accounts for the time of a step if its own flushes (or its writes, if it gets no flushes) take this share of
that time. Otherwise a cgroup may delay requests before they are counted, or another disk may be slower."""
_RPM = {"hdd-5400": 5400, "hdd-7200": 7200, "hdd-10000": 10_000, "hdd-15000": 15_000}


def rpm(medium: Medium) -> int | None:
    """Return the revolutions per minute, read or declared; None if it is unknown or nothing rotates."""
    class_rpm = _RPM.get(medium.class_)
    return class_rpm and (medium.rpm or class_rpm)


def revolution_ns(medium: Medium) -> int | None:
    """Return the minimum time between two durable writes of the same block."""
    revolutions_per_minute = rpm(medium)
    return None if revolutions_per_minute is None else round(60e9 / revolutions_per_minute)


def slowest_revolution_ns(nodes: Iterable[Node]) -> int | None:
    return max((ns for node in nodes if node.medium and (ns := revolution_ns(node.medium))), default=None)


class Platters(NamedTuple):
    """The platters of the lowest disks, with the evidence for their rotational speed."""

    rpm: int
    devices: tuple[Node, ...]
    evidence: tuple[str, ...]
    assumed: bool
    """A disk does not report its speed, so ``rpm`` may be higher than the real speed."""
    has_no_cache: bool
    """No device has a volatile write cache, as read or declared by the user."""
    placement: WritePlacement = "in place"
    """Where a drive writes a block. If the drives differ, this is the fastest of their methods."""

    @property
    def writes_per_s(self) -> float:
        least_ns = {"log": LOGGED_NS, "flash": NAND_PROGRAM_NS}.get(self.placement)
        return self.rpm / 60 if least_ns is None else 1e9 / least_ns  # in place: one block per revolution

    @property
    def declared(self) -> bool:
        """Whether the user declared all drives. Hidden flash makes some models faster than their platters."""
        return all(node.medium is not None and node.medium.declared for node in self.devices)

    @property
    def text(self) -> str:
        """``7200 rpm``, followed by the method of writing unless it is "in place"."""
        speed = f"{'at most ' if self.assumed else ''}{rotation(self.rpm)}"
        return speed + {"in place": "", "log": " with a log on its platters", "flash": " with flash"}[self.placement]


class Pace(NamedTuple):
    """The rate of a step, and the limit that the platters set."""

    step: Step
    platters: Platters
    offsets: str

    @property
    def is_one_block(self) -> bool:
        return self.offsets == "same"

    @property
    def limit_per_s(self) -> float:
        """One write per revolution if the step rewrites the same block, two on average at other offsets.

        Between random offsets, the disk turns by half a revolution on average. At sequential offsets, the next block
        has already passed the head when the previous write is acknowledged. Such a write takes nearly a whole
        revolution, but the limit allows for half a revolution.
        """
        return self.platters.writes_per_s * (2 if self._waits_for_half else 1)

    @property
    def ratio_to_limit(self) -> float:
        return self.step.rate_per_s / self.limit_per_s

    @property
    def allowance(self) -> str:
        """``7200 rpm allows 240/s at random offsets, 120/s to one block``"""
        one_block = f"{rate(self.platters.writes_per_s)}/s to one block"
        half = f" at {self.offsets} offsets, {one_block}" if self._waits_for_half else ""
        return f"{self.platters.text} allows {rate(self.limit_per_s)}/s{half}"

    @property
    def direct_clause(self) -> str:
        """How often O_DIRECT writes without a sync were acknowledged, compared with the limit."""
        return (
            f"Writes with O_DIRECT and no sync were acknowledged {rate(self.step.rate_per_s)} times a second in "
            f"{words.time_measured([self.step])}, {self.ratio_to_limit:.1f} × the limit ({self.allowance})"
        )

    @property
    def evidence(self) -> str:
        measured, limit = rate(self.step.rate_per_s), rate(self.limit_per_s)
        revolution = duration_ns(60e9 / self.platters.rpm)
        times = f"{_typical_time(self.step)}; a revolution takes {revolution}"
        return f"{self.step.name}: {measured}/s, limit {limit}/s; {times}"

    @property
    def _waits_for_half(self) -> bool:
        """Whether a write waits for half a revolution on average."""
        return not self.is_one_block and self.platters.placement == "in place"


class Rotation:
    """The platters of the stack, and the steps whose pace shows something about the platters."""

    def __init__(
        self, evidence: Evidence, stack: Stack, steps: Steps, configuration: Configuration, flushes: RunFlushes
    ) -> None:
        self._host, self._stack, self._steps = evidence.host, stack, steps
        self._configuration, self._flushes = configuration, flushes

    @cached_property
    def platters(self) -> Platters | None:
        """The platters, as read or declared. None if a speed is unknown, a cache may be above, or syncs are broken."""
        disks = self._stack.lowest
        if not disks or not self._steps.all or self._configuration.breaks_sync or self._may_be_cached:
            return None
        speeds = [_speed(disk, self._host) for disk in disks]
        known_speeds = [speed for speed in speeds if speed is not None]
        stored = (node for node in self._stack.filesystems if not kind(node.kind).uses_directory)
        if len(known_speeds) < len(speeds) or not all(kind(node.kind).writes_in_place(node) for node in stored):
            return None
        media = [disk.medium for disk in disks]
        return Platters(
            rpm=max(speed for speed, _ in known_speeds),
            devices=disks,
            evidence=tuple(evidence for _, evidence in known_speeds),
            assumed=any(medium is None or rpm(medium) is None for medium in media),
            has_no_cache=all(medium is not None and medium.write_cache == "none" for medium in media),
            placement=max((write_placement(disk) for disk in disks), key=("in place", "log", "flash").index),
        )

    @cached_property
    def same_block_paces(self) -> tuple[Pace, ...]:
        """The steps that rewrote and synced one block in place at full speed."""
        return tuple(pace for pace in self._paces if pace.is_one_block and pace.platters.placement == "in place")

    @cached_property
    def too_fast_paces(self) -> tuple[Pace, ...]:
        """The steps of synced writes, at any offsets, whose rate is above ``TOO_FAST``."""
        return tuple(pace for pace in self._paces if pace.ratio_to_limit > TOO_FAST)

    @cached_property
    def flushing_devices(self) -> frozenset[str]:
        """The ids of the disks whose own counters account for the time of the steps that rewrite one block."""
        if not self.same_block_paces or self.too_fast_paces:
            return frozenset()
        rewrites = (step for step in self._steps.synced_overwrites if step.settings.offsets == "same")
        return frozenset.intersection(*(frozenset(self._busy_devices(write_step)) for write_step in rewrites))

    @property
    def syncs_reach_platters(self) -> bool:
        """Whether each disk itself accounts for the time of the syncs, so no cache acknowledged them early."""
        return self.platters is not None and self.flushing_devices.issuperset(node.id for node in self.platters.devices)

    @cached_property
    def too_fast_direct_paces(self) -> tuple[Pace, ...]:
        """The unsynced O_DIRECT steps whose rate is above ``TOO_FAST``, except those that were buffered in memory."""
        if self.platters is None:
            return ()
        buffered = {account.step.name for account in self._flushes.buffered_direct}
        paces = (
            Pace(write_step.step, self.platters, write_step.settings.offsets)
            for write_step in self._steps.unsynced_direct
            if has_rate(write_step.step)
            and write_step.settings.offsets in {"same", "random"}
            and write_step.settings.prefill == "written"
        )
        return tuple(pace for pace in paces if pace.ratio_to_limit > TOO_FAST and pace.step.name not in buffered)

    @property
    def cache_off_advice(self) -> tuple[str, ...]:
        if self.platters is None or self.platters.has_no_cache:
            return ()
        if self._host.virtualization:
            return ("On the host, switch the drive's write cache off ('hdparm -W 0 DEVICE'), then run again.",)
        device = f"/dev/{self.platters.devices[0].id}"
        return (f"Switch the drive's write cache off ('hdparm -W 0 {device}'), then run again.",)

    @cached_property
    def _paces(self) -> tuple[Pace, ...]:
        """The steps that synced each write before the next one at full speed."""
        if self.platters is None:
            return ()
        return tuple(
            Pace(write_step.step, self.platters, write_step.settings.offsets)
            for write_step in self._steps.synced
            if write_step.writes_at_full_speed
            and (write_step.overwrites_at_full_speed or write_step.settings.offsets != "same")
        )

    def _busy_devices(self, write_step: WriteStep) -> Iterator[str]:
        """Yield the devices whose own flushes or writes took ``MIN_BUSY_SHARE`` of the step.

        Yield none if other processes wrote, or if flushes or bytes are missing.
        """
        accounts = self._flushes.accounts(write_step)
        if any(account.others_wrote or account.outcome == "missing" or account.lacks_bytes for account in accounts):
            return
        for counters in write_step.step.counters:
            busy_ms = counters.flush_ms if counters.flushes else counters.write_ms
            if busy_ms is not None and busy_ms >= MIN_BUSY_SHARE * 1000 * write_step.step.elapsed_s:
                yield counters.device

    @property
    def _may_be_cached(self) -> bool:
        return bool(self._stack.unknown_layers) or any(
            kind(node.kind).may_cache
            or node.layer in {"pool", "remote", "memory"}
            or (node.value("zoned") or "none") != "none"
            for node in self._stack.nodes
        )


def fastest_pace(paces: Sequence[Pace]) -> Pace:
    return max(paces, key=lambda pace: pace.ratio_to_limit)


def _speed(node: Node, host: Host) -> tuple[int, str] | None:
    """Return the rpm with its evidence; None if the rpm is unknown or a cache may acknowledge the writes."""
    medium = node.medium
    if has_protected_cache(node) or controller_may_cache(node):
        return None
    speed = rpm(medium) if medium else None
    is_known_hard_disk = node.value("grade") == "hard disk"
    if speed:
        # an array or a controller may report the speed of its disks, but acknowledge writes from its own cache
        may_be_array = medium is not None and not medium.declared and link(node.link).may_be_an_array
        return None if may_be_array and not is_known_hard_disk else (speed, words.medium(node))
    is_real = host.virtualization is None and not is_virtual(node)
    # only a known model: the kernel also considers flash rotating if it reports nothing or is behind a USB bridge
    if is_real and is_known_hard_disk and node.rotational and (medium is None or medium.class_ == "unknown"):
        unreported = f"{node.id}: a rotating {node.link} disk that does not report its rotational speed"
        return ASSUMED_RPM, f"{unreported}: {rotation(ASSUMED_RPM)} assumed"
    return None


def _typical_time(step: Step) -> str:
    """Return the median, or the mean if a few slow operations take most of the time."""
    latency = step.latency_ns
    if latency is not None and latency.mean <= MEAN_TO_MEDIAN * latency.p50:
        return f"p50 {duration_ns(latency.p50)}"
    return f"{duration_ns(1e9 * step.elapsed_s / max(step.ops, 1))} each on average"
