"""*not-durable, high confidence*

## What it means
ZFS writes each sync to its intent log, and was told (`zil_replay_disable=1`) not to read that log at the next import.

## How it was measured
`/sys/module/zfs/parameters/zil_replay_disable`.

## What it proves, and what not
It is certain as long as it is set when the pool is imported again: 878 of 878 acknowledged records were gone after a
power cut. Flushes and ZIL commits look as they should.

## What to do next
`echo 0 > /sys/module/zfs/parameters/zil_replay_disable`, and look for it in /etc/modprobe.d.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding


@rule(place=90)
def zfs_log_ignored(case: Case) -> Iterator[Finding]:
    """What a sync wrote to the intent log is not read again after a power cut."""
    for dataset, told in case.configuration.log_ignored:
        yield Finding(
            rule="zfs-log-ignored",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title="zil_replay_disable=1: the intent log is not read again",
            sentence=f"The {words.of_pool(dataset)} writes its syncs to the intent log, and ZFS was told not to "
            f"read that log at the next import: a power cut loses what was synced last{case.arrivals.came_to_aside}.",
            because=(words.reading(dataset, told),),
            next=("echo 0 > /sys/module/zfs/parameters/zil_replay_disable; look for it in /etc/modprobe.d too.",),
        )
