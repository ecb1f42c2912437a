"""ext2, ext3 and ext4.

Readings: ``barrier``, ``data`` (ordered | journal | writeback), ``journal`` (yes | no). The ext4 driver serves ext2 and
ext3 nearly everywhere. /proc/fs/ext4/<dev>/options is the full list of options; mountinfo omits the defaults.

``device_unseen``: the journal is on a device of its own, but it is not known on which, as in a pid namespace.
"""

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.flushes import ExpectedFlushes, InPlace, Range, Sync
from fstui.storage.layers.forwarding import ALL, SOMETIMES, Forwarded
from fstui.storage.layers.readers import BARRIERS_OFF, FilesystemReader, LayerDescription, without_none
from fstui.storage.tree import Tree

_DATA_JOURNAL = ExpectedFlushes(Range(2, 3), Range(1, 3))
"""Without FUA, a commit causes 2 flushes on Linux 6.1, and 3 on Linux 6.18. With FUA: 1 to 3, not tested."""
_TRUNCATED_LENGTH = 15
"""Kernels before 5.17 truncate the name of a thread to this length, so a name of this length may be incomplete."""


def journals_data(node: Node) -> bool:
    """Return whether every write goes through the journal (data=journal). O_DIRECT then silently becomes buffered."""
    return node.value("data") == "journal"


def has_no_journal(node: Node) -> bool:
    return node.value("journal") == "no"


def has_external_journal(node: Node) -> bool:
    return "journal" in node.below_roles.values()


class ExtReader(FilesystemReader):
    def read_layers_below(self, mount: Mount) -> LayerDescription:
        members = self.members(mount)
        journal = _journal_name(self.tree, members[0]) if members else ""
        if journal not in self.sources.names.all:
            return LayerDescription(members, _unseen_journal(self.tree, members[0]) if members else ())
        return LayerDescription(tuple(dict.fromkeys((*members, journal))), roles={journal: "journal"})

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        if not device:
            return super().settings(mount, device)
        path = f"/proc/fs/ext4/{device}/options"
        text = self.tree.text(path)
        path, options = (path, text.split("\n")) if text else (MOUNTINFO, list(mount.super_options))
        has_no_barriers = bool(BARRIERS_OFF.intersection(options))
        readings = [Reading(what="barrier", value="nobarrier" if has_no_barriers else "barrier", path=path)]
        data = next((option.removeprefix("data=") for option in options if option.startswith("data=")), None)
        if data is not None:
            readings.append(Reading(what="data", value=data, path=path))
        if text:  # the full list contains data= if and only if there is a journal
            readings.append(Reading(what="journal", value="no" if data is None else "yes", path=path))
        return tuple(readings)

    def fault_readings(self, device: str) -> tuple[Reading, ...]:
        """Return ``errors_count`` if the kernel found errors since the last e2fsck."""
        return without_none([self.tree.reading("errors_count", f"/sys/fs/ext4/{device}/errors_count", unless=("0",))])


def _journal_name(tree: Tree, device: str) -> str:
    """Return the name of the journal's thread without ``jbd2/``; empty if it cannot be read in full.

    For a journal on a device of its own, this is the name of that device: ``sdb1``. For a journal within the filesystem
    it is not the name of a device: ``sda1-8``, where 8 is the inode of the journal.
    """
    task = tree.integer(_journal_task(device))
    name = (tree.stripped(f"/proc/{task}/comm") or "") if task is not None and task > 0 else ""
    return name.removeprefix("jbd2/") if name.startswith("jbd2/") and len(name) != _TRUNCATED_LENGTH else ""


def _unseen_journal(tree: Tree, device: str) -> tuple[Reading, ...]:
    """Return a reading if the journal is not in the filesystem. An internal journal is named after the filesystem."""
    journals, task = tree.names("/proc/fs/jbd2"), _journal_task(device)
    if tree.integer(task) is None or not journals or any(name.startswith(f"{device}-") for name in journals):
        return ()
    return (Reading(what=DEVICE_UNSEEN, value="journal", path=task),)


def _journal_task(device: str) -> str:
    return f"/sys/fs/ext4/{device}/journal_task"


class Ext(InPlace, frozen=True, kw_only=True):
    def writes_in_place(self, node: Node) -> bool:
        return not journals_data(node)

    def writes_timestamps(self, node: Node) -> bool:
        return self.name == "ext2" or has_no_journal(node)

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to the member. With data=journal, a sync writes to the journal only.

        If the journal has a device of its own, the other device receives the data later, at a checkpoint.
        """
        if journals_data(node) and has_external_journal(node):
            return ALL if node.below_roles.get(member) == "journal" else SOMETIMES
        return super().forwards(node, member, filesystem)

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        return _DATA_JOURNAL if journals_data(node) else super().expected_flushes(node, sync, claims_fua)

    def syncing_thread_sends_flushes(self, node: Node, sync: Sync) -> bool:
        return super().syncing_thread_sends_flushes(node, sync) and not journals_data(node)

    def flushes_per_backing_fsync(self, node: Node) -> Range:
        return Range(1, 3) if journals_data(node) else super().flushes_per_backing_fsync(node)


KINDS = tuple(
    Ext(name=name, reader=ExtReader, traces_syncs=True, barrier_option="barrier=1") for name in ("ext2", "ext3", "ext4")
)
