"""*not-durable, high confidence*

## What it means
The filesystem is on a device-mapper snapshot whose store is not persistent: live images and appliances use it. Where
the blocks lie is known to this running kernel alone.

## How it was measured
The snapshot's line in the device-mapper table says `N`; a persistent one says `P`. Only root can read it.

## What it proves, and what not
It is certain: after a reboot the origin is there, and nothing that was written since. The store's disk was not judged.

## What to do next
Put what must survive on another filesystem, or make the snapshot with a persistent store (`P`).
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding


@rule(place=70)
def transient_snapshot(case: Case) -> Iterator[Finding]:
    """All that was written is gone after a reboot, however well it was synced."""
    for snapshot, told in case.configuration.transient:
        yield Finding(
            rule="transient-snapshot",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{snapshot.name}: a snapshot that forgets",
            sentence=f"{snapshot.name} is a snapshot whose store is not persistent: at the next boot its origin is "
            f"there, and everything that was written since is gone, synced or not{case.arrivals.came_to_aside}.",
            because=(words.reading(snapshot, told),),
            next=("Put what must survive elsewhere, or make the snapshot with a persistent store (P in its table).",),
        )
