"""* not-durable, high confidence: after syncs, bytes are missing at the device
* a note: after O_DIRECT writes without a sync, bytes are missing at the device

## What it means
Less than 90 % of the bytes that were written and synced reached the device. A cache above the device holds the rest,
although the syncs were acknowledged. In a step without a sync, missing bytes show only that O_DIRECT was
buffered.

## How it was measured
For each step with one writer, fstui compared the bytes that it wrote with the sectors that the device counted (field 7
of `/sys/block/X/stat`). For a stripe, fstui adds up the sectors of all members. In a mirror, each member must receive
all bytes. The test data is incompressible.

## What it proves, and what it does not
It is certain that the device did not count the bytes, but fstui does not know which layer holds them. The rule does not
apply if a layer compresses or deduplicates. btrfs writes 3 to 9 times the bytes, which can hide missing data.

ext4 with `inline_data` is a special case: it keeps a file of up to about 60 bytes in the inode. If such a file is
overwritten on Linux 6.18, fsync writes the new data, but fdatasync and O_DSYNC do not. In a test, a power cut lost all
8 400 acknowledged writes.

## What to do next
- Look for a filter that fakes syncs: `grep Seccomp /proc/self/status`.
- Look for a caching layer: `lsblk -s`, `dmsetup table`.
- Switch a loop device to direct I/O: `losetup --direct-io=on /dev/loopN`.
- For small files on ext4 with `inline_data`, use fsync.

## Details
- If a step syncs only after every n-th write, rewrites of one block may reach the device as one write. So fstui
  expects only one block per sync.
- While `queue/iostats` is 0, the kernel counts no bytes. If it was 0 only briefly, fstui may not notice, and then
  reports missing bytes by mistake.
"""

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount, fewest_bytes
from fstui.model.quantities import rate, size

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
        f"{words.time_measured([worst.step])}: a cache above the device holds the rest and acknowledged the syncs.",
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
            "On a loop device, switch direct I/O on: 'losetup --direct-io=on /dev/loopN'. On ext4 with data=journal, "
            "O_DIRECT is always buffered.",
        ),
    )
