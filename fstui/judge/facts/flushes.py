"""How flushes and bytes are counted, and why nothing is ever subtracted.

**What is counted.** The kernel counts the flushes that each whole disk and loop device completed, and the sectors
that were written to it (``/sys/block/X/stat``, fields 16 and 7). Both are read just before a step's clock starts and
just after it stops. 2 000 overwrites of 16 KiB, each with fdatasync, came to 4 000 writes and 2 000 flushes on an
honest loop with ext4; to 2 000 writes and none with ``nobarrier``; to nothing at all under libeatmydata and on a
``volatile`` overlay. An empty flush counts as one write of no sectors, so bytes are compared and never writes.
Partitions, dm, md, zram and the head of NVMe multipath never count: their zeros are no zeros, and the devices below
them are read instead. A FUA write counts as a write and not as a flush.

**Against what.** What the filesystem is expected to send for such a sync (``ExpectedFlushes``): one flush for an
overwrite with fdatasync on ext4 and XFS, two on btrfs. For fsync it is a range, since each tick of the timestamps costs
one commit more: 1.05 flushes back to back, and 2.0 where one operation takes about as long as a tick of 4 ms, as on a
rotating disk. Where exactly one is expected, one sync or 0.2 % may be missing; elsewhere a tenth of the least that is
expected.

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
counted beside the device's own counters. As many of ours as are expected prove, whoever else writes, and too few of
ours are too few, however many others sent. Without a trace all of the above stands alone.

**Over which devices.** What arrives is composed of what each layer hands to those below it (``layers.handing``,
``Composition``): a flush goes to every stripe, segment and leg, a write to those that hold its block, either to one of
several paths. Two flushes per sync reached each of two btrfs members, whatever the profile; RAID 1+0 of four disks
showed 1.00 at each; of two NVMe paths one took all writes and the other all flushes. So the least over those that get
everything, and the sum over those that share, is what can have arrived; a cache's metadata, a journal or a log of its
own gets flushes at times, and proves nothing either way. Where a sync is a flush and a write marked FUA, as on btrfs,
each stripe, segment and pair gets the flush, and the other becomes one where its block lies: 1.00 and 2.00 flushes per
sync at the two plain disks of an md RAID0. One flush of a loop device is an fsync of its backing file, which the
filesystem there turns into flushes of its own: so every level of the stack is counted, and what one is expected is what
the next is asked for.

**Of which steps.** Of those with one writer and at least 20 syncs. Eight writers honestly shared flushes (0.45 to 0.7
per sync), and sixteen on one block wrote only 0.51 to 0.72 of their bytes. Yet no writer writes again before its sync
has returned, so a flush serves each of them once at the most: fewer than one for as many syncs as there are writers
are too few (80 such steps on honest storage had twice as many or more). Enough of them prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Literal, NamedTuple

from fstui.judge import words
from fstui.judge.facts.composition import Received, counted_at, flush_counters, received
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import SyncStep
from fstui.judge.facts.traced import TRACE, Traced, traced
from fstui.model.quantities import count, ratio, size
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.filesystems import ext
from fstui.storage.layers.flushes import (
    NOTHING,
    ExpectedFlushes,
    Range,
    Sync,
    every_write_synced,
    expected_flushes,
    expected_of_backing,
)

Outcome = Literal["missing", "complete", "noisy", "not counted"]
"""``missing``: fewer flushes arrived than expected, or fewer of fstui's own were sent. ``complete``: all expected ones
arrived, and no other process can have sent them. ``noisy``: enough arrived, and those of other processes cannot be told
apart. ``not counted``: what arrived or what is expected is not known, or no flush is expected."""

_PAGE = 4096
ENOUGH = 0.9
"""Less than this share of what is expected is too little."""
EXACT_SHARE = 0.002
"""The flushes of one sync, or of this share of the syncs, may be missing if the expected number is exact. In more than
300 such steps on honest storage (ext, XFS, btrfs, ZFS) none was missing. Libraries that drop every twelfth or twentieth
sync would hide below a tenth."""
TOLERANCE = 0.05
"""More than this share beyond what is expected came from somebody else."""
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


class FlushAccount(NamedTuple):
    """The flushes of one step at one level of the stack: expected, counted, seen by the kernel's trace, and by others.

    Ranges run from the worst member of a mirror to the best.
    """

    step: Step
    level: Level
    devices: tuple[Node, ...]
    """Those that took part."""
    syncs: int
    expected: Range | None
    """Flushes per sync; None where nobody knows what is expected."""
    counted: Range | None
    """Flushes; None where a device does not count them."""
    requested: Range
    """Bytes that must arrive at the least, and that may at the most."""
    written: Range | None
    by_others_per_s: float | None
    """Flushes per second at these devices while fstui was idle; None where nobody looked."""
    traced: Traced | None = None
    """What the kernel's trace saw handed down, at the topmost level; None where it saw nothing."""

    @property
    def outcome(self) -> Outcome:
        """Too few is certain, whoever else wrote; enough proves something only where other processes did not write."""
        if self._lacks:
            return "missing"
        if self.proves_by_counters or self.proves_by_trace:
            return "complete"
        return "noisy" if self.others_wrote else "not counted"

    @property
    def _lacks(self) -> bool:
        return self.lacks_counted or self.lacks_ours

    @property
    def per_sync(self) -> float:
        """Flushes per sync at the worst leg; 0 where they are not counted."""
        return self.counted.low / self.syncs if self.counted and self.syncs else 0.0

    @property
    def most_per_sync(self) -> float:
        """Flushes per sync at the best leg; 0 where they are not counted."""
        return self.counted.high / self.syncs if self.counted and self.syncs else 0.0

    @property
    def arrived_bytes(self) -> float:
        """Bytes at the worst leg; 0 where they are not counted."""
        return self.written.low if self.written else 0

    @property
    def byte_share(self) -> float:
        """Of the bytes that must arrive."""
        return self.arrived_bytes / self.requested.low if self.requested.low else 1.0

    @property
    def lacks_counted(self) -> bool:
        """By the counters, everybody's flushes together."""
        if self.counted is None or self.expected is None:
            return False
        return self._too_few(self.counted.low, self.expected)

    @property
    def lacks_ours(self) -> bool:
        """By the trace: even with all that may have been sent in our name."""
        return self.traced is not None and self._too_few(self.traced.most, self.traced.expected)

    def _too_few(self, arrived: float, expected: Range) -> bool:
        each, most = expected
        tolerated = max(1, EXACT_SHARE * self.syncs) if each in (1, most) else (1 - ENOUGH) * self.syncs
        return arrived < each * (self.syncs - tolerated)

    @property
    def lacks_bytes(self) -> bool:
        return self.written is not None and self.written.low < ENOUGH * self.requested.low

    @property
    def exceeds(self) -> bool:
        """More arrived than this step can have caused, the filesystem's own commit every 5 s allowed for."""
        if self.counted is not None and self.expected is not None:
            most = self.expected.high * self.syncs
            if self.counted.high > max(most * (1 + TOLERANCE), most + self._own_commits * _COMMIT_FLUSHES):
                return True
        return self.surplus_bytes > 0

    @property
    def surplus_bytes(self) -> float:
        """Bytes beyond what this step can have caused; 0 where there are none."""
        most = max(self.requested.high * (1 + TOLERANCE), self.requested.high + self._own_commits * _COMMIT_BYTES)
        return self.written.high - self.requested.high if self.written and self.written.high > most else 0

    @property
    def _own_commits(self) -> float:
        return 1 + self.step.elapsed_s // _COMMIT_EVERY_S

    @property
    def others_wrote(self) -> bool:
        """More arrived than was requested, or other processes flush often enough by what they did before the step."""
        return self.exceeds or self.others_suffice

    @property
    def others_suffice(self) -> bool:
        """At the rate at which they flushed while fstui was idle, theirs would be more than 5 % of the syncs."""
        return (self.by_others_per_s or 0.0) * self.step.elapsed_s > TOLERANCE * self.syncs

    @property
    def proves_by_counters(self) -> bool:
        """Each was counted with its bytes, while nobody else wrote."""
        known = self.expected is not None and self.expected.low > 0
        counts = self.counted is not None and self.written is not None
        return known and counts and not (self._lacks or self.lacks_bytes or self.others_wrote)

    @property
    def proves_by_trace(self) -> bool:
        """We asked for each ourselves, whoever else wrote, and no counter says that fewer were done."""
        seen = self.traced
        if seen is None or seen.expected.low < 1:
            return False
        return not (self._too_few(seen.least, seen.expected) or self._lacks or self.lacks_bytes)

    @property
    def sent(self) -> Sent:
        """What is told of its flushes: what was counted, or, where that is not what decides, what the trace saw."""
        if self.traced is None or self.lacks_counted or self.proves_by_counters:
            return Sent(self._short, self.counted.low if self.counted else 0, self.expected, self.syncs, None)
        number = self.traced.most if self.lacks_ours else self.traced.least
        return Sent(self.traced.devices, number, self.traced.expected, self.syncs, self.traced)

    @property
    def _short(self) -> tuple[Node, ...]:
        """Where too few arrived, without the legs that have enough by themselves."""
        if not self.lacks_counted or self.expected is None:
            return self.devices
        own = {device.id: flush_counters(device, self.step) for device in self.devices}
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
        told = f"{self.step.name}: {arrived} ({ratio(sent.each)}, {words.expected(sent.expected)} expected"
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
        arrived = f"{size(self.arrived_bytes)} of {size(self.requested.low)}"
        return f"{self.step.name}: {arrived} at {words.devices(self.devices)} ({ratio(self.byte_share)})"


def fewest_flushes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    """The one with the fewest per sync."""
    return min(accounts, key=lambda account: account.sent.each)


def fewest_bytes(accounts: Iterable[FlushAccount]) -> FlushAccount:
    """The one that received the smallest share of its bytes."""
    return min(accounts, key=lambda account: account.byte_share)


def accounts_of(stack: Stack, done: SyncStep, others: OtherWriters) -> tuple[FlushAccount, ...]:
    """What each level received of this step, topmost first. Nothing where the filesystem has devices that are
    not seen.

    A step without syncs is expected to send no flush; its bytes are asked for only where it wrote with O_DIRECT.
    """
    if not stack.levels or stack.has_unseen_devices:
        return ()
    top = stack.levels[0]
    sync = _sync(top.filesystem, done)
    each = expected_flushes(top.filesystem, sync, top.claims_fua) if sync else None
    alone = done.settings.writers == 1
    expected = {top.filesystem.id: each.shared_by(done.settings.writers) if each else None}
    requested = {top.filesystem.id: _requested(top, done, stack.block_bytes)}
    found: list[FlushAccount] = []
    for level in stack.levels:
        here = level.filesystem.id
        if level.reduces:
            requested[here] = Range(0, requested[here].high)
        account = _account(stack, level, done, others, expected=expected[here], requested=requested[here])
        witnessed = alone and not found
        found.append(account._replace(traced=traced(stack, level, done, expected[here])) if witnessed else account)
        below = {node.id: node for device in level.devices for node in stack.backing(device)}
        for filesystem in below.values():
            share = Range(1, 1) if len(below) == 1 else Range(0, 1)
            above = [device for device in level.devices if filesystem in stack.backing(device)]
            alike = all(kind(device.kind).flush_is_fsync for device in above)
            sure = share if _tells(account) else Range(0, share.high)
            expected[filesystem.id] = _passed_on(account, filesystem, sure, len(above)) if alike else None
            compresses = kind(filesystem.kind).may_compress(filesystem)
            partly = compresses or not all(map(stack.backing, level.devices))  # a disk beside it may have a stripe
            requested[filesystem.id] = Range(0 if partly else account.requested.low * share.low, inf)
        for filesystem in stack.below_pools(level):  # which file of a pool's gets what is not known
            expected.setdefault(filesystem.id, None)
            requested.setdefault(filesystem.id, Range(0, inf))
    return tuple(found)


def _sync(filesystem: Node, done: SyncStep) -> Sync | None:
    """What is kept in an inode is written with the inode: through the journal, as an append's metadata."""
    inode = ext.keeps_in_inode(filesystem, done.settings.file_bytes)
    return done.sync._replace(overwrites=False) if done.sync and inode else done.sync


def _account(
    stack: Stack,
    level: Level,
    done: SyncStep,
    others: OtherWriters,
    *,
    expected: ExpectedFlushes | None,
    requested: Range,
) -> FlushAccount:
    as_fua = done.forced and (expected is None or expected.fua.low == 0)  # else flushes come as well: data=journal
    found = received(stack, level, done.step, forced=as_fua)
    each = _expected(stack, level, found, expected)
    return FlushAccount(
        step=done.step,
        level=level,
        devices=found.devices,
        syncs=done.syncs,
        expected=each,
        counted=found.flushes or (counted_at(found.devices, done.step) if each and each.low == 0 else None),
        requested=requested,
        written=found.written,
        by_others_per_s=others.flushes_per_s(found.devices),
    )


def _expected(stack: Stack, level: Level, found: Received, expected: ExpectedFlushes | None) -> Range | None:
    devices = found.devices
    if expected is None or not devices:
        return None
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


def _tells(account: FlushAccount) -> bool:
    """Return whether the number of flushes is known, or no device counts. Else a layer above may keep some back."""
    return account.counted is not None or not any(device.counted for device in account.level.devices)


def _passed_on(account: FlushAccount, filesystem: Node, share: Range, files: int) -> ExpectedFlushes | None:
    """What the filesystem under ``files`` loop devices is expected to send: each may get every flush."""
    each = expected_of_backing(filesystem)
    if each is None or account.expected is None:
        return None
    passed = account.expected.times(each).times(share).times(Range(1, files))
    return ExpectedFlushes(passed, passed)


def _requested(level: Level, done: SyncStep, block_bytes: int) -> Range:
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
