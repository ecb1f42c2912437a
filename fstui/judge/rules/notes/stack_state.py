"""*a note, said first*

## What it means
The stack itself is in trouble: an md array degraded or resyncing, errors counted by ext4 or btrfs, a filesystem forced
read-only, a path offline, a disk that was pulled out from under its filesystem (device: gone) or its medium out of it
(size: 0), a thin pool that is full, a snapshot that overflowed; or data is on the move (btrfs replace and balance,
pvmove). What is measured now does not tell how it behaves when whole.

## How it was measured
`/sys/block/mdN/md/`, `/sys/fs/ext4/*/errors_count`, `/sys/fs/btrfs/`, `/proc/self/mountinfo`, device states and
sizes in `/sys`; as root `dmsetup status`.

## What it proves, and what not
It says what the kernel says of itself at the time of the survey. It is no verdict on how syncs are kept.

## What to do next
Look at `dmesg`, mend this first, and measure again.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding


@rule(place=30, said_first=True)
def stack_state(case: Case) -> Iterator[Finding]:
    """The stack itself is in trouble, so a measurement is worth less, or nothing."""
    troubled = [(node, state) for node in case.stack.nodes for state in node.state]
    if troubled:
        said = [f"{words.named(node)} {state.what}: {state.value}" for node, state in troubled]
        yield Finding(
            rule="stack-state",
            verdict=None,
            confidence="high",
            scope="storage",
            title=said[0],
            sentence=f"The stack is in trouble ({words.listed(said)}): what is measured now does not tell how it "
            "behaves when whole.",
            because=tuple(words.reading(node, state) for node, state in troubled),
            next=("Look at the kernel's log (dmesg), mend this first, then run again.",),
        )
