"""*not-durable, high confidence; cannot-tell, medium, where nobody knows whether another name leads to the file*

## What it means
The filesystem is on a loop device whose file was deleted after it was set up, or on an nbd device whose server on this
box has a deleted file open. The file lives as long as the device does: nothing leads to it any more.

## How it was measured
The kernel writes `(deleted)` behind the file's name in `/sys/block/loopN/loop/backing_file`. That is the name that the
loop was set up with: a second hard link would keep the file. As root the file's link count is asked for, by its inode
(LOOP_GET_STATUS64, open_by_handle_at(2); on XFS its bulkstat ioctl).

## What it proves, and what not
No link left: after a power cut or a reboot the filesystem below removes the file with all that is on it, however well
that was synced. One left: nothing is lost. Who is not root, or has the file on a filesystem that takes no handle of our
making, cannot know: then it would be as wrong to accuse as to praise, and neither is done. A file that is merely called
so is told by its inode; one that never had a name (O_TMPFILE) by its link count. The disk below was not judged.

## What to do next
Copy what must survive elsewhere while the loop device is there, and set it up anew on a file that stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.storage import Node, Reading


@rule(place=71)
def deleted_file(case: Case) -> Iterator[Finding]:
    """All that was written is gone after a reboot, however well it was synced."""
    for device, told in case.configuration.deleted:
        yield Finding(
            rule="deleted-file",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{device.name}: its file was deleted",
            sentence=f"The file under {device.name} was deleted, and no name leads to it: it is there as long as "
            f"{device.name} is. A power cut or a reboot takes it and all on it, synced or not"
            f"{case.arrivals.came_to_aside}.",
            because=_because(device, told),
            next=("Copy what must survive elsewhere now, and set the device up on a file that stays.",),
        )
    for device, told in case.configuration.called_deleted:
        yield Finding(
            rule="deleted-file",
            verdict="cannot-tell",
            confidence="medium",
            scope="storage",
            title=f"{device.name}: its file was deleted, or has another name",
            sentence=f"The kernel says that the file under {device.name} was deleted. Unless a second hard link leads "
            "to it, a power cut or a reboot takes it and all on it, synced or not.",
            because=_because(device, told),
            next=(
                "As root, run this again: then the file's link count is asked for.",
                "Or look for a second name: find DIR -xdev -inum INODE, with the inode of losetup -O NAME,BACK-INO.",
            ),
        )


def _because(device: Node, told: Reading) -> tuple[str, ...]:
    links = device.reading("links")
    return (words.reading(device, told), *((words.reading(device, links),) if links else ()))
