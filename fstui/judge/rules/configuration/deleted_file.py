"""*not-durable, medium confidence*

## What it means
The filesystem is on a loop device whose file was deleted after it was set up. The file lives as long as the loop device
does: nothing leads to it any more.

## How it was measured
The kernel writes `(deleted)` behind the file's name in `/sys/block/loopN/loop/backing_file`.

## What it proves, and what not
After a power cut or a reboot the filesystem below removes the file with all that is on it, however well that was
synced. A second hard link would keep it, which cannot be told from here, so the confidence is medium. As root a file
that is merely called so is told by its inode. The disk below was not judged.

## What to do next
Copy what must survive elsewhere while the loop device is there, and set it up anew on a file that stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding


@rule(place=71)
def deleted_file(case: Case) -> Iterator[Finding]:
    """All that was written is gone after a reboot, however well it was synced."""
    for device, told in case.configuration.deleted:
        yield Finding(
            rule="deleted-file",
            verdict="not-durable",
            confidence="medium",
            scope="storage",
            title=f"{device.name}: its file was deleted",
            sentence=f"The file under {device.name} was deleted: it is there as long as the loop device is. A "
            "power cut or a reboot takes it and all on it, synced or not, unless a second hard link leads to it.",
            because=(words.reading(device, told),),
            next=("Copy what must survive elsewhere now, and set the loop device up on a file that stays.",),
        )
