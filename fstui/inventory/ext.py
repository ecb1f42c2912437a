"""Barriers, data mode and journal of ext2, ext3 and ext4, and the errors that the kernel has seen on one.

/proc/fs/ext4/<dev>/options is the kernel's full list of options; mountinfo leaves the defaults out.
"""

from __future__ import annotations

from collections.abc import Sequence

from fstui.inventory.files import Tree
from fstui.inventory.mounts import MOUNTINFO
from fstui.model import Reading

TYPES = frozenset({"ext2", "ext3", "ext4"})
BARRIERS_OFF = frozenset({"nobarrier", "barrier=0", "barrier=none", "barrier=off"})
_CUT = 15
"""Kernels before 5.17 cut a thread's name here."""


def readings(tree: Tree, device: str, mount_options: Sequence[str]) -> tuple[Reading, ...]:
    """``barrier``, ``data`` and ``journal`` of the filesystem on the device of that kernel name."""
    path = f"/proc/fs/ext4/{device}/options"
    text = tree.text(path)
    path, options = (path, text.split("\n")) if text else (MOUNTINFO, list(mount_options))
    off = bool(BARRIERS_OFF.intersection(options))
    found = [Reading(what="barrier", value="nobarrier" if off else "barrier", path=path)]
    data = next((option.removeprefix("data=") for option in options if option.startswith("data=")), None)
    if data is not None:
        found.append(Reading(what="data", value=data, path=path))
    return (*found, *_journal(tree, device, data, path))


def journal_device(tree: Tree, device: str) -> str | None:
    """The kernel name of the device that the journal has to itself; None where it lies within the filesystem.

    The journal's kernel thread is called after it: ``jbd2/sdb1``, with ``-8`` for a journal within.
    """
    task = tree.integer(f"/sys/fs/ext4/{device}/journal_task")
    name = (tree.word(f"/proc/{task}/comm") or "") if task is not None and task > 0 else ""
    if not name.startswith("jbd2/") or len(name) == _CUT or name.endswith("-8"):
        return None
    return name.removeprefix("jbd2/")


def trouble(tree: Tree, device: str) -> tuple[Reading, ...]:
    """``errors_count``, where the kernel has seen errors since the last e2fsck."""
    errors = tree.reading("errors_count", f"/sys/fs/ext4/{device}/errors_count")
    return (errors,) if errors is not None and errors.value != "0" else ()


def _journal(tree: Tree, device: str, data: str | None, options_path: str) -> tuple[Reading, ...]:
    inner = f"/proc/fs/jbd2/{device}-8"  # 8 is the journal's inode
    if tree.exists(inner):
        return (Reading(what="journal", value="yes", path=inner),)
    task = f"/sys/fs/ext4/{device}/journal_task"
    if (tree.integer(task) or 0) > 0:  # on a device of its own
        return (Reading(what="journal", value="yes", path=task),)
    if options_path == MOUNTINFO:
        return ()
    # the data mode is part of the full list wherever there is a journal
    return (Reading(what="journal", value="yes" if data is not None else "no", path=options_path),)
