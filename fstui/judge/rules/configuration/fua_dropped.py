"""*not-durable, high confidence*

## What it means
A disk of this very box's own SCSI target (LIO) says that it takes FUA, and so writes marked so are sent to it: data
written with O_DIRECT and O_DSYNC, and the record that ends each commit of a filesystem's journal or log. The device
that it stands on has a write cache and no FUA: the target hands them on as plain writes, and no flush follows.

## How it was measured
The disk's `queue/fua`, its store in the target's configfs, and `queue/fua` and `queue/write_cache` of the device that
the store names.

## What it proves, and what not
What was forced lies in a volatile cache when it is acknowledged: that is certain. Flushes do arrive: what is
overwritten and then synced by fdatasync is kept. One member of a mirror with checksums loses nothing by it, nor does a
device whose cache is known to outlive a power cut.

## What to do next
`echo 0 > /sys/kernel/config/target/core/STORE/attrib/emulate_fua_write`, log in or attach again, and measure again: the
kernel then sends a flush instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers.targets import scsi_target


@rule(place=73)
def fua_dropped(case: Case) -> Iterator[Finding]:
    """Forced writes come to a write cache as plain ones."""
    for target, device in case.configuration.forced_as_plain:
        store = scsi_target.is_device_store(target)
        yield Finding(
            rule="fua-dropped",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{target.id}: forced writes come as plain ones",
            sentence=f"{target.id} says that it takes forced writes (FUA), and this box's own SCSI target hands them "
            f"to {device.id} as plain ones: its write cache is on, and it knows no FUA. The end of a commit, and what "
            f"is written with O_DIRECT and O_DSYNC{case.arrivals.forced_aside}, is acknowledged before it is safe.",
            because=(
                f"{target.id}: fua 1",
                *((words.reading(target, store),) if store else ()),
                f"{device.id}: fua 0",
                words.write_cache(device),
            ),
            next=("Set emulate_fua_write of its store to 0, attach it again, and measure again.",),
        )
