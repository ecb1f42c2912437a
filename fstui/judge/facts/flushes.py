"""How many flushes and bytes each level of the stack has to receive in a step, and how many it received.

- What is counted: flushes (field 16) and sectors written (field 7) of ``/sys/block/X/stat``, read just before a step's
  clock starts and just after it stops. An empty flush counts as a write without sectors, and a FUA write counts as a
  write and not as a flush. Partitions, dm, md, zram and the head of an NVMe multipath device count no flushes, so the
  devices below them are read instead.
- What is expected: what the filesystem sends for such a sync (``ExpectedFlushes``). For fsync it is a range, because
  each tick of the timestamps costs another commit.
- At which devices: what arrives is composed along the stack (``Composition``). A flush of a loop device is an fsync of
  its backing file, so what one level is expected to send is what the next is expected to receive.
- In which steps: those with at least 20 syncs per writer. With n writers, at least syncs/n flushes must arrive: they
  share flushes, but no writer writes again before its sync has returned, so a flush serves each writer at most once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.composition import Received, counted_at, received
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import SyncStep
from fstui.judge.facts.traced import traced
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.flushes import (
    NOTHING,
    ExpectedFlushes,
    Range,
    expected_flushes,
    expected_of_backing,
    syncs_every_write,
)

LevelAccounts = tuple[FlushAccount, ...]
"""The accounts of one step, topmost level first."""
_PAGE = 4096


class _Sends(NamedTuple):
    flushes: ExpectedFlushes | None
    """Flushes per sync; None if unknown."""
    bytes: Range
    """The fewest bytes that must arrive, and the most that may."""


def accounts_of(stack: Stack, done: SyncStep, others: OtherWriters) -> LevelAccounts:
    """Return the accounts of one step; empty if a filesystem has devices that are not in the stack.

    A step without syncs is expected to send no flush. Its bytes have to arrive only if it wrote with O_DIRECT.
    """
    if not stack.levels or stack.has_unseen_devices:
        return ()
    sends = {stack.levels[0].filesystem.id: _sent_by_step(stack, done)}
    found: list[FlushAccount] = []
    for level in stack.levels:
        account = _account(stack, level, done, others, sends[level.filesystem.id])
        sends.update(_sent_by_backing_filesystems(stack, account))
        found.append(account)
    return tuple(found)


def _sent_by_step(stack: Stack, done: SyncStep) -> _Sends:
    top = stack.levels[0]
    each = expected_flushes(top.filesystem, done.sync, top.claims_fua) if done.sync else None
    shared = each.shared_by(done.settings.writers) if each else None
    return _Sends(shared, _expected_bytes(top, done, stack.block_bytes))


def _sent_by_backing_filesystems(stack: Stack, above: FlushAccount) -> Iterator[tuple[str, _Sends]]:
    """Yield what the filesystems that hold the files of a level's loop devices are expected to send, by their ids."""
    level = above.level
    filesystems = {node.id: node for device in level.devices for node in stack.backing(device)}
    for filesystem in filesystems.values():
        share = Range(1, 1) if len(filesystems) == 1 else Range(0, 1)
        devices = [device for device in level.devices if filesystem in stack.backing(device)]
        loops = all(kind(device.kind).flush_is_fsync for device in devices)
        # a layer may hold flushes back if their number is not known although a device counts
        may_hold_back = above.counted is None and any(device.counted for device in level.devices)
        certain = Range(0, share.high) if may_hold_back else share
        flushes = _passed_on(above, filesystem, certain, len(devices)) if loops else None
        # a disk next to a loop device may hold a part of the data
        partly = kind(filesystem.kind).may_compress(filesystem) or not all(map(stack.backing, level.devices))
        yield filesystem.id, _Sends(flushes, Range(0 if partly else above.expected_bytes.low * share.low, inf))


def _account(stack: Stack, level: Level, done: SyncStep, others: OtherWriters, sends: _Sends) -> FlushAccount:
    expected = sends.flushes
    as_fua = done.writes_fua and (expected is None or expected.fua.low == 0)  # data=journal sends flushes as well
    found = received(stack, level, done.step, fua=as_fua)
    expected_each = _expected_at(stack, level, found, expected)
    counted = found.flushes
    if counted is None and expected_each and expected_each.low == 0:  # only a surplus of others can be found
        counted = counted_at(found.devices, done.step)
    is_traced = level is stack.levels[0] and done.settings.writers == 1
    return FlushAccount(
        step=done.step,
        level=level,
        devices=found.devices,
        syncs=done.syncs,
        expected=expected_each,
        counted=counted,
        expected_bytes=Range(0, sends.bytes.high) if level.may_reduce_bytes else sends.bytes,
        counted_bytes=found.written,
        by_others_per_s=others.flushes_per_s(found.devices),
        traced=traced(stack, level, done, expected) if is_traced else None,
    )


def _expected_at(stack: Stack, level: Level, found: Received, expected: ExpectedFlushes | None) -> Range | None:
    """Return the flushes per sync that each of the found devices is expected to count."""
    devices = found.devices
    if expected is None or not devices:
        return None
    if any(kind(node.kind).repeats_commits for node in level.path):
        expected = expected.with_commits_repeated()
    if not found.fua_reaches_all:  # on md RAID0, btrfs sends 1.00 to one disk and 2.00 to the one with the FUA block
        expected = expected.for_member()
    if all(stack.drops_flushes(level, device) for device in devices):
        return NOTHING
    each = expected.for_device(devices[0].fua)
    for device in devices[1:]:
        each |= expected.for_device(device.fua)
    return each


def _passed_on(account: FlushAccount, filesystem: Node, share: Range, files: int) -> ExpectedFlushes | None:
    """Return what the filesystem below ``files`` loop devices is expected to send: each of them may get every flush."""
    each = expected_of_backing(filesystem)
    if each is None or account.expected is None:
        return None
    passed = account.expected.times(each).times(share).times(Range(1, files))
    return ExpectedFlushes(passed, passed)


def _expected_bytes(level: Level, done: SyncStep, block_bytes: int) -> Range:
    """Return the fewest bytes that have to arrive, and the most that may.

    The page cache writes whole blocks of ``block_bytes``, the filesystem's block size (XFS: up to 64 KiB).
    """
    step, settings, filesystem = done.step, done.settings, level.filesystem
    shrinks = kind(filesystem.kind).may_compress(filesystem) or level.may_reduce_bytes
    low = 0 if shrinks else _certain_bytes(done)
    data_alone = done.sync and done.sync.overwrites and done.call in {"fdatasync", "O_DSYNC"}
    if data_alone and not _adds_bytes(filesystem, level.path):
        unit_bytes = max(_PAGE, block_bytes)
        units = -(-settings.block_bytes // unit_bytes)  # rounded up
        return Range(low, step.ops * units * unit_bytes)
    return Range(low, inf)


def _certain_bytes(done: SyncStep) -> int:
    """Return the bytes that must have been written when the step is over. Without a sync, those are O_DIRECT writes.

    A block that is rewritten between two syncs may be written once, so one block per sync is certain. That is so with
    O_DIRECT too: on a loop device without direct-io, or on ext4 with data=journal. Several writers may rewrite the same
    blocks.
    """
    step, settings = done.step, done.settings
    if done.sync is None:
        return step.bytes if done.direct else 0
    rewrites = done.sync.has_sync_call and settings.sync_every > 1
    return min(step.bytes, done.syncs * settings.block_bytes if rewrites else step.bytes // settings.writers)


def _adds_bytes(filesystem: Node, path: tuple[Node, ...]) -> bool:
    """Return whether more bytes may arrive than were written: journals, parity, timestamps."""
    row = kind(filesystem.kind)
    own = row.writes_timestamps(filesystem) or syncs_every_write(filesystem) or not row.writes_in_place(filesystem)
    return own or any(kind(node.kind).may_add_bytes(node) for node in path)
