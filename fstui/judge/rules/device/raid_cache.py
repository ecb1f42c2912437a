"""*plausible, low confidence*

## What it means
A RAID controller answers from its own cache. That is durable as long as its battery or capacitor is healthy and the
caches of the drives behind it are off.

## How it was measured
The controller's model, or your declaration, and 5 000 to 30 000 synced writes a second by one writer: the pace of such
caches.

## What it proves, and what not
Nothing in the box shows the battery to fstui, nor the caches of the drives behind: hence low. A slower controller is no
fault: with barriers on, some flush down to the drives.

## What to do next
`storcli /c0/bbu show`, `ssacli ctrl all show status`; the drives' caches: `storcli /c0/vall show all`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.quantities import rate

CONTROLLER_PER_S = (5_000, 30_000)


@rule(place=60)
def raid_cache(case: Case) -> Iterator[Finding]:
    """A RAID controller answers from its own cache, which is worth as much as its battery."""
    fastest = case.costs.fastest_synced
    if case.commit_media != {"raid-cache"} or fastest is None or case.configuration.breaks_sync:
        return
    low, high = CONTROLLER_PER_S
    if low <= fastest.rate_per_s <= high:
        per_s = rate(fastest.rate_per_s)
        yield Finding(
            rule="raid-cache",
            verdict="plausible",
            confidence="low",
            scope="storage",
            title=f"{per_s}/s from a RAID controller's cache",
            sentence=f"{words.devices(case.commit_devices)} answered {per_s} synced writes a second in "
            f"{words.time_measured([fastest])}: the pace of a RAID controller's cache. It is durable if the battery is "
            "healthy and the drives' own caches are off.",
            steps=words.names([fastest]),
            because=(f"{fastest.name}: {per_s}/s", *map(words.medium, case.commit_devices)),
            next=(
                "Check the battery or capacitor: storcli /c0/bbu show, ssacli ctrl all show status.",
                "Check that the drives' own caches are off: storcli /c0/vall show all (Disk Cache Policy).",
            ),
        )
