"""How flushes and bytes are counted, and why nothing is ever subtracted.

**What is counted.** The kernel counts the flushes that each whole disk and loop device completed, and the sectors
that were written to it (``/sys/block/X/stat``, fields 16 and 7). Both are read just before a step's clock starts and
just after it stops. 2 000 overwrites of 16 KiB, each with fdatasync, came to 4 000 writes and 2 000 flushes on an
honest loop with ext4; to 2 000 writes and none with ``nobarrier``; to nothing at all under libeatmydata and on a
``volatile`` overlay. An empty flush counts as one write of no sectors, so bytes are compared and never writes.
Partitions, dm, md, zram and the head of NVMe multipath never count: their zeros are no zeros, and the devices below
them are read instead. A FUA write counts as a write and not as a flush.

**Against what.** What the filesystem owes for such a sync (``ExpectedFlushes``): one flush for an overwrite with
fdatasync on ext4 and XFS, two on btrfs. For fsync it is a range, since each tick of the timestamps costs one commit
more: 1.05 flushes back to back, and 2.0 where one operation takes about as long as a tick of 4 ms, as on a rotating
disk. Where exactly one is owed, one sync or 0.2 % may be missing; elsewhere a tenth of the least that is owed.

**Nothing is subtracted.** Other writers only ever add. An honest ext4 showed 2.01 flushes per sync beside one
neighbour that called fsync. Minus the rate of the idle device that was 0.79, and 0.34 beside four of them: a baseline
would have accused an honest disk. A filesystem with ``barrier=0`` showed 2.7 to 3.6 beside a neighbour that commits
on the same disk: enough is no proof while somebody else writes. So:

- too few is certain, whoever else wrote: nobody can take a flush away;
- enough proves something only where nobody else wrote. It proves nothing where more than 5 % too many flushes or
  bytes arrived, or where the idle device's own rate of flushes would come to more than 5 % of the syncs in the time
  of the step. Idle is looked at for a second before the run and again between steps: half-second windows missed a
  steady writer of a log in 72 of 80.

**Whose they were** the kernel's trace tells at the topmost level, where it was had (``traced``): there ours alone are
counted beside the device's own counters. As many of ours as are owed prove, whoever else writes, and too few of ours
are too few, however many others sent. Without a trace all of the above stands alone.

**Over which devices.** What arrives is composed of what each layer hands to those below it (``layers.handing``,
``Composition``): a flush goes to every stripe, segment and leg, a write to those that hold its block, either to one of
several paths. Two flushes per sync reached each of two btrfs members, whatever the profile; RAID 1+0 of four disks
showed 1.00 at each; of two NVMe paths one took all writes and the other all flushes. So the least over those that get
everything, and the sum over those that share, is what can have arrived; a cache's metadata, a journal or a log of its
own gets flushes at times, and proves nothing either way. Where a sync is a flush and a write marked FUA, as on btrfs,
each stripe, segment and pair gets the flush, and the other becomes one where its block lies: 1.00 and 2.00 flushes per
sync at the two plain disks of an md RAID0. One flush of a loop device is an fsync of its backing file, which the
filesystem there turns into flushes of its own: so every level of the stack is counted, and what one is owed is what the
next is asked for.

**Of which steps.** Of those with one writer and at least 20 syncs. Eight writers honestly shared flushes (0.45 to 0.7
per sync), and sixteen on one block wrote only 0.51 to 0.72 of their bytes. Yet no writer writes again before its sync
has returned, so a flush serves each of them once at the most: fewer than one for as many syncs as there are writers
are too few (80 such steps on honest storage had twice as many or more). Enough of them prove nothing.
"""

from __future__ import annotations

from math import inf, isinf

from fstui.judge.facts.arrival import Arrival
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.received import Received, counted_at, received
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import SyncStep
from fstui.judge.facts.traced import traced
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import may_outlive_power_cut
from fstui.storage.layers.facts import dax
from fstui.storage.layers.filesystems import ext
from fstui.storage.layers.flushes import (
    MORE_THAN_NONE,
    NOTHING,
    ExpectedFlushes,
    Range,
    Sync,
    every_write_synced,
    expected_flushes,
    expected_of_backing,
)

_PAGE = 4096


def count_down(stack: Stack, done: SyncStep, others: OtherWriters) -> tuple[Arrival, ...]:
    """What each level received of this step, topmost first. Nothing where DAX passes every counter by, or where the
    filesystem has devices that are not seen.

    A step without syncs owes no flush; its bytes are asked for only where it wrote with O_DIRECT.
    """
    if not stack.levels or stack.reaches_further or any(_uses_dax(level.filesystem) for level in stack.levels):
        return ()
    top = stack.levels[0]
    sync = _sync(top.filesystem, done)
    each = expected_flushes(top.filesystem, sync, top.claims_fua) if sync else None
    alone = done.settings.writers == 1
    expected = {top.filesystem.id: each.shared_by(done.settings.writers) if each else None}
    asked = {top.filesystem.id: _asked(top, done, stack.block_bytes)}
    found: list[Arrival] = []
    for level in stack.levels:
        here = level.filesystem.id
        if level.reduces:
            asked[here] = Range(0, asked[here].high)
        arrival = _arrival(stack, level, done, others, expected=expected[here], asked=asked[here])
        witnessed = alone and not found
        found.append(arrival._replace(traced=traced(stack, level, done, expected[here])) if witnessed else arrival)
        below = {node.id: node for device in level.devices for node in stack.backing(device)}
        for filesystem in below.values():
            share = Range(1, 1) if len(below) == 1 else Range(0, 1)
            above = [device for device in level.devices if filesystem in stack.backing(device)]
            alike = all(kind(device.kind).flush_is_fsync for device in above)
            sure = share if _tells(arrival) else Range(0, share.high)
            expected[filesystem.id] = _passed_on(arrival, filesystem, sure, len(above)) if alike else None
            compresses = kind(filesystem.kind).may_compress(filesystem)
            partly = compresses or not all(map(stack.backing, level.devices))  # a disk beside it may have a stripe
            asked[filesystem.id] = Range(0 if partly else arrival.asked.low * share.low, inf)
        for filesystem in stack.beneath_pools(level):  # which file of a pool's gets what is not known
            expected.setdefault(filesystem.id, None)
            asked.setdefault(filesystem.id, Range(0, inf))
    return tuple(found)


def _sync(filesystem: Node, done: SyncStep) -> Sync | None:
    """What is kept in an inode is written with the inode: through the journal, as an append's metadata."""
    inode = ext.keeps_in_inode(filesystem, done.settings.file_bytes)
    return done.sync._replace(overwrites=False) if done.sync and inode else done.sync


def _arrival(
    stack: Stack, level: Level, done: SyncStep, others: OtherWriters, *, expected: ExpectedFlushes | None, asked: Range
) -> Arrival:
    as_fua = done.forced and (expected is None or expected.fua.low == 0)  # else flushes come as well: data=journal
    found = received(stack, level, done.step, forced=as_fua)
    owed = _expected(stack, level, found, expected)
    return Arrival(
        step=done.step,
        level=level,
        devices=found.devices,
        syncs=done.syncs,
        expected=owed,
        flushes=found.flushes or (counted_at(found.devices, done.step) if owed and owed.low == 0 else None),
        asked=asked,
        written=found.written,
        others_per_s=others.flushes_per_s(found.devices),
    )


def _expected(stack: Stack, level: Level, found: Received, expected: ExpectedFlushes | None) -> Range | None:
    devices = found.devices
    if expected is None or not devices:
        return None
    if expected == MORE_THAN_NONE and all(map(may_outlive_power_cut, level.devices)):
        return None  # what nobody measured may send none, and nothing is lost by it
    if any(kind(node.kind).repeats_commits for node in level.path):
        expected = expected.with_commits_repeated()
    if not found.forced_alike:
        expected = expected.in_part()
    if all(stack.drops_flushes(level, device) for device in devices):
        return NOTHING
    each = expected.at(devices[0].fua)
    for device in devices[1:]:
        each |= expected.at(device.fua)
    return each


def _tells(arrival: Arrival) -> bool:
    """How many flushes came to these devices is known, or none of them counts: else a layer above may keep some back,
    as dm-integrity's journal does each that no write came with."""
    return arrival.flushes is not None or not any(device.counted for device in arrival.level.devices)


def _passed_on(arrival: Arrival, filesystem: Node, share: Range, files: int) -> ExpectedFlushes | None:
    """What the filesystem under ``files`` loop devices owes: each may get every flush."""
    each = expected_of_backing(filesystem)
    if each is None or arrival.expected is None:
        return None
    passed = arrival.expected.times(each).times(share).times(Range(1, files))
    # where it is open how many there are, they may be writes marked FUA
    return ExpectedFlushes(passed, Range(0, inf) if isinf(passed.high) else passed)


def _asked(level: Level, done: SyncStep, block_bytes: int) -> Range:
    """``block_bytes``: of the filesystem, which writes whole ones through the page cache (XFS: up to 64 KiB)."""
    step, settings, filesystem = done.step, done.settings, level.filesystem
    shrinks = kind(filesystem.kind).may_compress(filesystem) or level.reduces
    low = 0 if shrinks else _promised(done)
    sync = _sync(filesystem, done)
    data_alone = sync and sync.overwrites and done.call in {"fdatasync", "O_DSYNC"}
    if data_alone and not _adds_bytes(filesystem, level.path):
        unit = max(_PAGE, block_bytes)
        return Range(low, step.ops * -(-settings.block_bytes // unit) * unit)
    return Range(low, inf)


def _promised(done: SyncStep) -> int:
    """Bytes that every honest layer has handed on once the step is over; without a sync, those of O_DIRECT.

    Between two syncs a block may be rewritten in memory, by O_DIRECT too: on a loop device without direct-io, on ext4
    with data=journal. Then one block for each sync is what is sure. Several writers may rewrite each other's blocks.
    """
    step, settings = done.step, done.settings
    if done.sync is None:
        return step.bytes if done.direct else 0
    rare = done.sync.by_call and settings.sync_every > 1
    return min(step.bytes, done.syncs * settings.block_bytes if rare else step.bytes // settings.writers)


def _adds_bytes(filesystem: Node, path: tuple[Node, ...]) -> bool:
    """More may arrive than was written: by journals, parity, or each tick of the timestamps."""
    row = kind(filesystem.kind)
    own = row.writes_timestamps(filesystem) or every_write_synced(filesystem) or not row.writes_in_place(filesystem)
    return own or any(kind(node.kind).may_add_bytes(node) for node in path)


def _uses_dax(filesystem: Node) -> bool:
    told = dax(filesystem)
    return told is not None and told.value
