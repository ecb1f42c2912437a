"""*a note*

## What it means
The filesystem is mounted with `-o sync`, or the directory has `chattr +S`, which its files inherit: the kernel syncs
each write before it returns, as O_DSYNC does. A step without a sync is durable too, and one with a sync pays for both.

## How it was measured
The mount options in `/proc/self/mountinfo`; the flag of a file that the run makes there (what `lsattr` shows).

## What it proves, and what not
Whether those syncs reach the device is counted as for any other: a plain write sends a flush here. On a disk that takes
FUA they may arrive as FUA writes, which nobody counts.

## What to do next
To see what each call does by itself, remount with `async`, or measure in a directory without the flag, where that may
be.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers import facts


@rule(place=50)
def mounted_sync(case: Case) -> Iterator[Finding]:
    """``-o sync`` and ``chattr +S`` make every write durable before a program asks for it."""
    target = case.evidence.target
    if not (target and case.steps.mounted_sync):
        return
    filesystem = case.stack.levels[0].filesystem
    mounted, flagged = facts.mounted_sync(filesystem), facts.flagged_sync(filesystem)
    by_mount = mounted is not None and mounted.value
    where = target.mount_point if by_mount else target.path
    how, cure = ("mounted with -o sync", "mount -o remount,async") if by_mount else ("under chattr +S", "chattr -S")
    yield Finding(
        rule="mounted-sync",
        verdict=None,
        confidence="high",
        scope="storage",
        title=f"{how}: every write is synced",
        sentence=f"{where} is {how}: each write is synced by itself. A program that never syncs is as slow and as safe "
        "as one that does, and one that does pays twice.",
        because=tuple(words.reading(filesystem, fact.reading) for fact in (mounted, flagged) if fact),
        next=(f"To see what the calls do by themselves: {cure} {where}",),
    )
