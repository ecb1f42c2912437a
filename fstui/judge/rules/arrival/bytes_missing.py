"""*not-durable, high confidence; a note for steps without a sync*

## What it means
Less than 90 % of the bytes that were written and synced reached the device. A cache above it holds the rest, although
the syncs were acknowledged. For O_DIRECT without a sync, a shortage only means that the writes went through the page
cache.

## How it was measured
Sectors written (field 7 of `/sys/block/X/stat`) are compared with the bytes of the step. Those of striped devices are
added up; each member of a mirror must receive all of it. The data is new and incompressible, and there is one writer.

## What it proves, and what it does not
A shortage is certain, unless a layer compresses or deduplicates: then this rule does not apply. On btrfs, a sufficient
byte count proves nothing, because btrfs writes 3 to 9 times as many. The rule does not show which layer keeps the rest.

ext4 with `inline_data` keeps a file of up to about 60 bytes in its inode. If such a file is overwritten on Linux
6.18, fsync writes the new data, but fdatasync and O_DSYNC do not: a power cut lost all 8 400 acknowledged writes.

## What to do next
Look for a filter that fakes the sync calls (`grep Seccomp /proc/self/status`) and for a caching layer (`lsblk -s`,
`dmsetup table`). For small files on such an ext4 filesystem, use fsync. On a loop device, switch direct I/O on:
`losetup --direct-io=on`.

## Details
- If only every n-th write is followed by a sync, one block per sync has to arrive. A block that is rewritten between
  two syncs may reach the disk once, even with O_DIRECT (loop without direct-io, ext4 with `data=journal`).
- Bytes are also missing if `queue/iostats` was set to 0 and back to 1 within one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount, fewest_bytes
from fstui.model.quantities import rate, ratio, size

_LOOK_FOR_CACHE = "Look for a caching layer between the filesystem and the device: lsblk -s, dmsetup table."


@rule(order=20, precedes_verdict=True)
def bytes_missing(case: Case) -> Iterator[Conclusion]:
    if case.flushes.missing_bytes:
        yield _not_arrived(case, case.flushes.missing_bytes)
    if case.flushes.buffered_direct:
        yield _not_direct(case, case.flushes.buffered_direct)


def _not_arrived(case: Case, missing: Sequence[FlushAccount]) -> Conclusion:
    worst = fewest_bytes(missing)
    where, synced, arrived = words.devices(worst.devices), size(worst.expected_bytes.low), size(worst.arrived_bytes)
    return Conclusion(
        title=f"{arrived} of {synced} reached {where}",
        sentence=f"Of {synced} written and synced ({worst.step.name}), {arrived} reached {where} in "
        f"{words.time_measured([worst.step])} ({ratio(worst.byte_share)}): "
        "a cache above the device holds the rest and acknowledged the syncs.",
        verdict="not-durable",
        steps=[account.step for account in missing],
        evidence=[account.byte_line for account in missing],
        next=(case.flushes.advice(worst.level), _LOOK_FOR_CACHE),
    )


def _not_direct(case: Case, accounts: Sequence[FlushAccount]) -> Conclusion:
    worst = fewest_bytes(accounts)
    where, written, arrived = words.devices(worst.devices), size(worst.step.bytes), size(worst.arrived_bytes)
    shortage = f"{arrived} of {written} reached {where}"
    reason = f"of {written}, {arrived} reached {where} in {words.time_measured([worst.step])}"
    if loop := case.flushes.buffering_loop:
        reason = f"direct I/O of {loop.id} is off"
    return Conclusion(
        title=f"O_DIRECT was buffered: {shortage if worst.lacks_bytes else reason}",
        sentence="Writes with O_DIRECT and without a sync were acknowledged from memory, "
        f"{rate(worst.step.rate_per_s)} per second: {reason}.",
        scope="step",
        steps=[account.step for account in accounts],
        evidence=[account.byte_line for account in accounts],
        next=(
            "On a loop device, switch direct I/O on: 'losetup --direct-io=on'. On ext4 with data=journal, O_DIRECT is "
            "always buffered.",
        ),
    )
