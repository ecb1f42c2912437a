"""How to count: what reached each level of the stack in one step, against what it was owed.

Nothing is ever subtracted for other writers: they only add. Too few therefore stands despite neighbours, while enough
proves something only where nobody else wrote. Flushes and bytes are summed over the lowest devices, since paths,
stripes and log devices share them; each leg of a mirror stands by itself.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from fstui.judge.layers import Level, backing, levels, stripped
from fstui.judge.owed import (
    IN_PLACE,
    NOTHING,
    Owed,
    Range,
    call,
    is_mounted_sync,
    journals_data,
    owed_by,
    owed_by_backing,
    without_journal,
)
from fstui.judge.steps import syncs
from fstui.model import DeviceCounters, Evidence, Idle, Node, Step, SyncWrites, Target

ENOUGH = 0.9
"""Less than this share of what is owed is too little."""
TOLERANCE = 0.05
"""More than this share beyond what is owed came from somebody else."""
TOOK_PART = 0.1
"""A device with less than this share of the busiest one's bytes is no path, stripe or log of this step: the origin of a
dm-writecache. Not of all bytes: more than ten even stripes would have none."""
MIN_IDLE_S = 0.5
"""A shorter look at the idle devices is none: half-second windows already miss most of a steady log writer."""

_PAGE = 4096
_COMMIT_EVERY_S, _COMMIT_FLUSHES, _COMMIT_BYTES = 5, 2, 65536
_NEVER_COMPRESS = frozenset({"ext2", "ext3", "ext4", "xfs", "jfs", "vfat", "exfat"})
_PATHS = frozenset({"dm-multipath", "nvme-multipath"})
_ADDS_NO_BYTES = frozenset({"disk", "partition", "loop", "dm-linear", "dm-stripe", "dm-crypt"}) | _PATHS
_MD_ADDS_NO_BYTES = frozenset({"linear", "raid0", "raid1"})


class Arrival(NamedTuple):
    """What one level of the stack received in one step. Ranges run from the worst leg of a mirror to the best."""

    step: Step
    level: Level
    devices: tuple[Node, ...]
    """Those that took part."""
    syncs: int
    owed: Range | None
    """Flushes per sync; None where nobody knows what is owed."""
    flushes: Range | None
    """None where a device does not count them."""
    asked: Range
    """Bytes that must arrive at the least, and that may at the most."""
    written: Range | None

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
        if self.owed is None or self.flushes is None:
            return False
        return self.flushes.low < ENOUGH * self.owed.low * self.syncs

    @property
    def lacks_bytes(self) -> bool:
        return self.written is not None and self.written.low < ENOUGH * self.asked.low

    @property
    def exceeds(self) -> bool:
        """More arrived than this step can have caused, the filesystem's own commit every 5 s allowed for."""
        if self.flushes is not None and self.owed is not None:
            most = self.owed.high * self.syncs
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

    def noisy(self, idle: Idle | None) -> bool:
        """Somebody else wrote: more arrived than was asked, or idle flushes would be more than 5 % of the syncs."""
        rate = idle_flushes_per_s(self.devices, idle) or 0.0
        return self.exceeds or rate * self.step.elapsed_s > TOLERANCE * self.syncs

    def proves(self, idle: Idle | None) -> bool:
        """Every flush that was owed arrived, with its bytes, and nobody else can have sent it."""
        owes = self.owed is not None and self.owed.low > 0 and self.flushes is not None and self.written is not None
        return owes and not (self.lacks_flushes or self.lacks_bytes or self.noisy(idle))


def idle_flushes_per_s(devices: tuple[Node, ...], idle: Idle | None) -> float | None:
    """Flushes by others while fstui did nothing, all these devices together; None where nobody looked."""
    if idle is None or idle.elapsed_s < MIN_IDLE_S:
        return None
    ids = {device.id for device in devices}
    seen = [counters.flushes for counters in idle.counters if counters.device in ids and counters.flushes is not None]
    return sum(seen) / idle.elapsed_s if seen else None


def flushed_each(evidence: Evidence, step: Step) -> bool:
    """As many flushes as writes reached a device that was quiet before: what syncs may be out of sight (chattr +S)."""
    for node in evidence.target.stack if evidence.target else ():
        counters = _counted(node, step)
        others = (idle_flushes_per_s((node,), evidence.idle) or 0.0) * step.elapsed_s
        enough = counters is not None and counters.flushes is not None and counters.flushes >= ENOUGH * step.ops
        if enough and others <= TOLERANCE * step.ops:
            return True
    return False


def arrivals(target: Target, step: Step, settings: SyncWrites) -> tuple[Arrival, ...]:
    """What each level received of this step, topmost first. Nothing where DAX passes every counter by.

    A step without syncs owes no flush; its bytes are asked for only where it wrote with O_DIRECT.
    """
    stack = levels(target)
    if not stack or any(_dax(level.filesystem) for level in stack):
        return ()
    top = stack[0]
    claims_fua = next((node.fua for node in top.path if node.fua is not None), None)
    owed = {top.filesystem.id: owed_by(top.filesystem, settings, claims_fua)}
    asked = {top.filesystem.id: _asked(top, step, settings)}
    found = []
    for level in stack:
        here = level.filesystem.id
        arrival = _arrival(target, level, step, settings, owed=owed[here], asked=asked[here])
        found.append(arrival)
        below = {node.id: node for device in level.devices for node in backing(target, device)}
        for filesystem in below.values():
            share = Range(1, 1) if len(below) == 1 else Range(0, 1)
            owed[filesystem.id] = _passed_on(arrival, filesystem, share)
            asked[filesystem.id] = Range(0 if compresses(filesystem) else arrival.asked.low * share.low, inf)
    return tuple(found)


def compresses(filesystem: Node) -> bool:
    """Fewer bytes than were written may honestly arrive below, or nobody knows whether."""
    if filesystem.kind == "btrfs":
        return filesystem.reading("compress") is not None
    return filesystem.kind not in _NEVER_COMPRESS


def proves_bytes(filesystem: Node) -> bool:
    """On copy-on-write, 0.9 of the bytes proves nothing: 3 to 9 times as many are written anyway."""
    return filesystem.kind != "btrfs"


def _arrival(
    target: Target, level: Level, step: Step, settings: SyncWrites, *, owed: Owed | None, asked: Range
) -> Arrival:
    counters = {node.id: _counted(node, step) for node in level.devices}
    written = {key: found.written_bytes for key, found in counters.items() if found and found.written_bytes is not None}
    least = TOOK_PART * max(written.values(), default=0)
    devices = tuple(node for node in level.devices if written.get(node.id, least) >= least)
    flushes = [found.flushes for node in devices if (found := counters[node.id]) and found.flushes is not None]
    mirrored = level.mirror == "raid1"
    amounts = [written[node.id] for node in devices if node.id in written] if mirrored else list(written.values())
    return Arrival(
        step=step,
        level=level,
        devices=devices,
        syncs=syncs(step, settings),
        owed=_owed(target, level, devices, owed),
        flushes=_flushes(level, settings, flushes) if len(flushes) == len(devices) else None,
        asked=asked,
        written=_range(amounts, apart=mirrored) if len(written) == len(level.devices) else None,
    )


def _flushes(level: Level, settings: SyncWrites, counts: list[int]) -> Range | None:
    marked = "direct" in settings.open_flags and call(settings) in {"O_DSYNC", "O_SYNC"}
    if level.mirror == "raid10" and marked and counts:
        # a FUA write goes to the two legs that hold its block, a flush to every member: on four virtio disks, 0.50 each
        return Range(sum(counts) / 2, sum(counts) / 2)
    return _range(counts, apart=level.mirror is not None)


def _counted(node: Node, step: Step) -> DeviceCounters | None:
    return step.device(node.id) if node.counted else None


def _range(counts: list[int], *, apart: bool) -> Range | None:
    if not counts:
        return None
    return Range(min(counts), max(counts)) if apart else Range(sum(counts), sum(counts))


def _owed(target: Target, level: Level, devices: tuple[Node, ...], owed: Owed | None) -> Range | None:
    if owed is None or not devices:
        return None
    drops = [stripped(target, level, device) for device in devices]
    if all(drops):
        return NOTHING
    each = owed.at(devices[0].fua)
    for device in devices[1:]:
        each |= owed.at(device.fua)
    # a stripe passes a flush to every member, multiple paths to one of them; each leg of a mirror gets its own
    once = level.mirror or any(node.kind in _PATHS for node in level.path)
    return Range(each.low if drops.count(False) == len(drops) else 0, each.high * (1 if once else len(devices)))


def _passed_on(arrival: Arrival, filesystem: Node, share: Range) -> Owed | None:
    each = owed_by_backing(filesystem)
    if each is None or arrival.owed is None:
        return None
    legs = Range(1, len(arrival.devices) if arrival.level.mirror else 1)
    passed = arrival.owed.times(each).times(share).times(legs)
    return Owed(passed, passed)


def _asked(level: Level, step: Step, settings: SyncWrites) -> Range:
    filesystem, how = level.filesystem, call(settings)
    direct = "direct" in settings.open_flags
    whole = direct if how is None else direct or settings.sync_every == 1
    low = step.bytes if whole and not compresses(filesystem) and not _reduces(level) else 0
    in_place = filesystem.kind in IN_PLACE and not (journals_data(filesystem) or _writes_timestamps(filesystem))
    overwrites = settings.offsets != "append" and settings.prefill == "written"
    if how in {"fdatasync", "O_DSYNC"} and in_place and overwrites and all(map(_adds_no_bytes, level.path)):
        return Range(low, step.ops * -(-settings.block_bytes // _PAGE) * _PAGE)
    return Range(low, inf)


def _writes_timestamps(filesystem: Node) -> bool:
    """Each tick of them is written with the data: for want of a journal, or where every write is synced."""
    return filesystem.kind == "ext2" or without_journal(filesystem) or is_mounted_sync(filesystem)


def _adds_no_bytes(node: Node) -> bool:
    if node.kind == "md":
        level = node.reading("level")
        return level is not None and level.value in _MD_ADDS_NO_BYTES
    return node.kind in _ADDS_NO_BYTES


def _reduces(level: Level) -> bool:
    return any(node.layer == "pool" or node.kind in {"dm-vdo", "vdo", "dm-dedup"} for node in level.path)


def _dax(filesystem: Node) -> bool:
    dax = filesystem.reading("dax")
    return dax is not None and dax.value not in {"no", "0", "off", "never", "inode"}
