"""*not-durable, high confidence*

## What it means
The overlay is mounted with `volatile` (newer kernels print `fsync=volatile`): it leaves out every fsync, fdatasync and
syncfs. Container engines do so for build steps.

## How it was measured
The option stands in `/proc/self/mountinfo`.

## What it proves, and what not
It is certain for fsync and fdatasync. Files opened with O_DSYNC or O_SYNC are still flushed. The disk beneath was not
judged.

## What to do next
Run fstui in the upper directory's filesystem, or on a volume of the container. Mount the overlay without `volatile`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers.filesystems.overlay import upper_directory


@rule(place=30)
def overlay_volatile(case: Case) -> Iterator[Finding]:
    """An overlay that was told to leave every sync out."""
    for overlay, found in case.configuration.volatile_overlays:
        upper = upper_directory(overlay)
        where = shlex.quote(upper.value) if upper else "DIR, which is its upper directory"
        yield Finding(
            rule="overlay-volatile",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title="overlay mounted volatile: syncs left out",
            sentence=f"The overlay {overlay.name} is mounted volatile: fsync and fdatasync are left out"
            f"{case.arrivals.came_to_aside}. Files opened with O_DSYNC or O_SYNC are still flushed.",
            because=(words.reading(overlay, found), *case.arrivals.of_ours),
            next=(
                f"Test the filesystem beneath: fstui run fsync-rate {where}",
                "Mount the overlay without volatile.",
            ),
        )
