"""*not-durable, high confidence; a note where only O_DIRECT was not direct*

## What it means
Of the bytes that were written and synced, fewer than 0.9 reached the device: a cache above it holds the rest, and the
syncs were answered all the same. For O_DIRECT without a sync it means only that O_DIRECT was not direct.

## How it was measured
Sectors written, field 7 of `/sys/block/X/stat`, summed over the devices that share them (a leg of a mirror gets all),
against the bytes of the step. Fresh incompressible data, one writer, so nothing can honestly shrink. Where only every
n-th write is followed by a sync, one block for each sync is asked for: a block that is rewritten between two syncs may
reach the disk once, with O_DIRECT too (a loop device without direct-io, ext4 with `data=journal`).

## What it proves, and what not
Too few is certain, unless a layer compresses or removes duplicates: there the rule is silent. Bytes are also missing
from the counters where `queue/iostats` was set to 0 and back to 1 within one step. Enough proves nothing on btrfs,
which writes 3 to 9 times as much. It does not tell who keeps the rest, with one exception: ext4 made with
`inline_data` keeps a file of up to 60 bytes, and somewhat more, in its inode. On Linux 6.18 its fdatasync and O_DSYNC
do not write an overwrite of that: of 8 400 that they had acknowledged a power cut left none; those of fsync were kept.

## What to do next
Look for a filter that fakes the sync calls (`grep Seccomp /proc/self/status`) and for a caching layer (`lsblk -s`,
`dmsetup table`). A small file on such an ext4: fsync instead. O_DIRECT on a loop device: `losetup --direct-io=on`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flush_words import look_above
from fstui.judge.facts.flushes import FlushAccount, fewest_bytes
from fstui.model.judgement import Finding
from fstui.model.quantities import ratio, size
from fstui.model.storage import Reading
from fstui.storage.layers.filesystems import ext

_CACHE_KEEPS = "a cache above the device holds the rest and answered the syncs."
_INLINE_KEEPS = (
    "ext4 keeps so small a file in its inode (inline_data), and did not write that. On Linux 6.18 a power cut lost all "
    "overwrites that fdatasync and O_DSYNC had acknowledged; those of fsync were kept."
)
_WITHOUT_INLINE = (
    "Sync such files with fsync, or keep them on an ext4 made without inline_data (mke2fs -O ^inline_data)."
)
_LOOK_FOR_CACHE = "Look for a caching layer between the filesystem and the device: lsblk -s, dmsetup table."


@rule(place=20)
def bytes_missing(case: Case) -> Iterator[Finding]:
    """What was synced never reached the device; for O_DIRECT alone, it was only not direct."""
    if case.flushes.lacking_bytes:
        yield _not_arrived(case, case.flushes.lacking_bytes)
    if case.flushes.not_direct:
        yield _not_direct(case.flushes.not_direct)


def _in_inode(case: Case, account: FlushAccount) -> Reading | None:
    """Says that ext4 keeps that file in its inode."""
    settings = case.steps.in_effect(account.step.settings)
    told = ext.keeps_in_inode(account.level.filesystem, settings.file_bytes) if settings else None
    return told.reading if told else None


def _not_arrived(case: Case, lacking: tuple[FlushAccount, ...]) -> Finding:
    worst = fewest_bytes(lacking)
    where, asked, got = words.devices(worst.devices), size(worst.requested.low), size(worst.arrived_bytes)
    inode = _in_inode(case, worst)
    return Finding(
        rule="bytes-missing",
        verdict="not-durable",
        confidence="high",
        scope="storage",
        title=f"{got} of {asked} reached {where}",
        sentence=f"Of {asked} written and synced ({worst.step.name}), {got} reached {where} in "
        f"{words.time_measured([worst.step])} ({ratio(worst.byte_share)}): {_INLINE_KEEPS if inode else _CACHE_KEEPS}",
        steps=words.names(account.step for account in lacking),
        because=(
            *(account.byte_line for account in lacking),
            *([words.reading(worst.level.filesystem, inode)] if inode else []),
        ),
        next=(_WITHOUT_INLINE,) if inode else (look_above(case.stack, worst.level), _LOOK_FOR_CACHE),
    )


def _not_direct(found: tuple[FlushAccount, ...]) -> Finding:
    worst = fewest_bytes(found)
    where, asked, got = words.devices(worst.devices), size(worst.step.bytes), size(worst.arrived_bytes)
    return Finding(
        rule="bytes-missing",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"not direct: {got} of {asked} at {where}",
        sentence=f"O_DIRECT was not direct here: of {asked}, {got} had reached {where} in "
        f"{words.time_measured([worst.step])}. A layer above keeps the rest in memory, so this rate is not the disk's.",
        steps=words.names(account.step for account in found),
        because=tuple(account.byte_line for account in found),
        next=("A loop device: losetup --direct-io=on. ext4 data=journal: O_DIRECT is buffered there.",),
    )
