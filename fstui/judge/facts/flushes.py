"""How many flushes and bytes each level of the stack is expected to receive in a step, and how many it received.

- What is counted: flushes (field 16) and sectors written (field 7) of ``/sys/block/X/stat``, read just before a step's
  clock starts and just after it stops. A FUA write counts as a write and not as a flush. Partitions, dm, md, zram and
  the head of an NVMe multipath device count no flushes, so the devices below them are read instead.
- What is expected: what the filesystem sends for such a sync (``ExpectedFlushes``). For fsync this is a range, because
  an fsync after a tick of the timestamps' clock needs another commit.
- At which devices: ``Composition`` combines the counters along the stack. A flush of a loop device is an fsync of its
  backing file, so the next level is expected to receive what this level is expected to send.
- In which steps: those with at least 20 syncs per writer. Several writers share flushes, but no writer writes again
  before its sync has returned, so a flush serves each writer at most once. With n writers, at least syncs/n flushes
  must therefore arrive.
"""

from collections.abc import Iterator
from math import inf

from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.composition import LevelCounts, level_counts, total_flushes
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import WriteStep
from fstui.judge.facts.traced import traced_flushes
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.flushes import (
    NOTHING,
    ExpectedFlushes,
    Range,
    expected_flushes,
    flushes_per_backing_fsync,
)

LevelAccounts = tuple[FlushAccount, ...]
"""The accounts of one step, topmost level first."""
_PAGE_BYTES = 4096


_Expectation = tuple[ExpectedFlushes | None, Range]
"""What a filesystem is expected to send in a step: flushes per sync, None if unknown; and the minimum number of bytes
that must arrive, with the maximum that may."""


def compute_accounts(stack: Stack, write_step: WriteStep, other_writers: OtherWriters) -> LevelAccounts:
    """Return the accounts of one step; empty if a filesystem has devices that are not in the stack.

    For a step without syncs, no number of flushes is expected. Its bytes must arrive only if it wrote with O_DIRECT.
    """
    if not stack.levels or stack.has_unseen_devices:
        return ()
    expectations = {stack.levels[0].filesystem.id: _expectation_of_topmost(stack, write_step)}
    accounts: list[FlushAccount] = []
    for level in stack.levels:
        account = _account(stack, level, write_step, other_writers, expectations[level.filesystem.id])
        expectations.update(_expectations_of_backing(stack, account))
        accounts.append(account)
    return tuple(accounts)


def _expectation_of_topmost(stack: Stack, write_step: WriteStep) -> _Expectation:
    top = stack.levels[0]
    per_sync = expected_flushes(top.filesystem, write_step.sync, top.claims_fua) if write_step.sync else None
    shared = per_sync.shared_by(write_step.settings.writers) if per_sync else None
    return (shared, _expected_bytes(top, write_step, stack.block_bytes))


def _expectations_of_backing(stack: Stack, above: FlushAccount) -> Iterator[tuple[str, _Expectation]]:
    """Yield the id and the expectation of each filesystem that holds a backing file of the level's loop devices."""
    level = above.level
    filesystems = {node.id: node for device in level.devices for node in stack.backing_filesystems(device)}
    for filesystem in filesystems.values():
        share = Range(1, 1) if len(filesystems) == 1 else Range(0, 1)
        devices = [device for device in level.devices if filesystem in stack.backing_filesystems(device)]
        flush_is_fsync = all(kind(device.kind).flush_is_fsync for device in devices)
        # if the number of flushes is unknown although a device counts them, a layer above the device may drop some
        may_hold_back = above.counted is None and any(device.counted for device in level.devices)
        certain_share = Range(0, share.high) if may_hold_back else share
        flushes = _forwarded(above, filesystem, certain_share, len(devices)) if flush_is_fsync else None
        # a disk next to a loop device may hold a part of the data
        is_shared = not all(map(stack.backing_filesystems, level.devices))
        least_bytes = 0 if is_shared else above.expected_bytes.low * share.low
        yield filesystem.id, (flushes, Range(least_bytes, inf))


def _account(
    stack: Stack, level: Level, write_step: WriteStep, other_writers: OtherWriters, expectation: _Expectation
) -> FlushAccount:
    expected, expected_bytes = expectation
    # with data=journal, ext4 sends flushes for such writes, too
    uses_fua = write_step.writes_fua and (expected is None or expected.fua.low == 0)
    counts = level_counts(stack, level, write_step.step, fua=uses_fua)
    expected_per_device = _expected_per_device(stack, level, counts, expected)
    counted = counts.flushes
    # even if no flush is required, the total of all devices can show that other processes sent flushes
    if counted is None and expected_per_device and expected_per_device.low == 0:
        counted = total_flushes(counts.devices, write_step.step)
    is_traced = level is stack.levels[0] and write_step.settings.writers == 1
    return FlushAccount(
        step=write_step.step,
        level=level,
        devices=counts.devices,
        syncs=write_step.syncs,
        expected=expected_per_device,
        counted=counted,
        expected_bytes=Range(0, expected_bytes.high) if level.may_reduce_bytes else expected_bytes,
        counted_bytes=counts.written_bytes,
        other_flushes_per_s=other_writers.flushes_per_s(counts.devices),
        trace=traced_flushes(stack, level, write_step, expected) if is_traced else None,
    )


def _expected_per_device(
    stack: Stack, level: Level, counts: LevelCounts, expected: ExpectedFlushes | None
) -> Range | None:
    """Return the flushes per sync that each counting device is expected to count."""
    devices = counts.devices
    if expected is None or not devices:
        return None
    if any(kind(node.kind).repeats_commits for node in level.path):
        expected = expected.with_extra_commit_flush()
    # on md RAID0, btrfs sends one flush per sync to each disk, and a second flush to the disk with its FUA block
    if not counts.fua_reaches_all:
        expected = expected.for_member()
    if all(stack.drops_flushes(level, device) for device in devices):
        return NOTHING
    per_device = expected.for_device(devices[0].fua)
    for device in devices[1:]:
        per_device |= expected.for_device(device.fua)
    return per_device


def _forwarded(above: FlushAccount, filesystem: Node, share: Range, files: int) -> ExpectedFlushes | None:
    """Return what the filesystem below ``files`` loop devices is expected to send. Each device may get every flush."""
    per_flush = flushes_per_backing_fsync(filesystem)
    if per_flush is None or above.expected is None:
        return None
    flushes = above.expected.times(per_flush).times(share).times(Range(1, files))
    return ExpectedFlushes(flushes, flushes)


def _expected_bytes(level: Level, write_step: WriteStep, block_bytes: int) -> Range:
    """Return the minimum number of bytes that must arrive, and the maximum that may.

    The page cache writes whole blocks of ``block_bytes``, the filesystem's block size (XFS: up to 64 KiB).
    """
    low, settings = _certain_bytes(write_step), write_step.settings
    syncs_only_data = (
        write_step.sync and write_step.sync.overwrites and write_step.sync_method in {"fdatasync", "O_DSYNC"}
    )
    if syncs_only_data and not _adds_bytes(level.filesystem, level.path):
        unit_bytes = max(_PAGE_BYTES, block_bytes)
        units = -(-settings.block_bytes // unit_bytes)  # rounded up
        return Range(low, write_step.step.ops * units * unit_bytes)
    return Range(low, inf)


def _certain_bytes(write_step: WriteStep) -> int:
    """Return the bytes that must have been written when the step is over. Without a sync, only O_DIRECT writes count.

    If a block is rewritten between two syncs, it may be written only once, so one block per sync is certain. O_DIRECT
    does not change that on a loop device without direct-io, or on ext4 with data=journal. Several writers may rewrite
    the same blocks, so only the share of one writer is certain.
    """
    step, settings = write_step.step, write_step.settings
    if write_step.sync is None:
        return step.bytes if write_step.direct else 0
    rewrites = settings.sync != "none" and settings.sync_every > 1
    return min(step.bytes, write_step.syncs * settings.block_bytes if rewrites else step.bytes // settings.writers)


def _adds_bytes(filesystem: Node, path: tuple[Node, ...]) -> bool:
    """Return whether more bytes may arrive than were written: journals, parity, timestamps, unknown layers."""
    top_kind = kind(filesystem.kind)
    if top_kind.writes_timestamps(filesystem) or not top_kind.writes_in_place(filesystem):
        return True
    return any(kind(node.kind).may_add_bytes(node) for node in path) or not all(
        kind(node.kind).knows(node) for node in (filesystem, *path)
    )
