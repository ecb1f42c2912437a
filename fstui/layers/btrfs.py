"""btrfs: its members, their ``level`` and troubles, from /sys/fs/btrfs (ch-sysfs of btrfs-progs).

mountinfo names only one member, and an anonymous device number.
"""

from __future__ import annotations

from functools import cached_property

from fstui.layers.facts import one_of
from fstui.layers.flushes import ONE, ExpectedFlushes, Range, Sync
from fstui.layers.kinds import Kind
from fstui.layers.readers import FilesystemReader
from fstui.layers.sources.files import integer
from fstui.layers.sources.mounts import Mount
from fstui.model.storage import Node, Reading

EXCLUSIVE = "exclusive_operation"
"""device replace | balance | device remove …: one at a time (ch-sysfs)."""
_DIRECTORY = "/sys/fs/btrfs"
_AT_REST = frozenset({"none", "balance paused"})
_LEVELS = frozenset({"single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"})
_EXPECTED = ExpectedFlushes(Range(2, 2), ONE)
_TOLERATES = {"raid1": 1, "raid10": 1, "raid5": 1, "raid6": 2, "raid1c3": 2, "raid1c4": 3}
_OF_BACKING = Range(1, 4)


class BtrfsReader(FilesystemReader):
    """Reads filesystems of this family."""

    def members(self, mount: Mount) -> tuple[str, ...]:
        """All devices of the filesystem; the one that the mount names where sysfs does not know it."""
        named = super().members(mount)
        uuid = self._uuid_of.get(named[0]) if named else None
        return self.tree.names(f"{_DIRECTORY}/{uuid}/devices") if uuid is not None else named

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """``barrier``; ``level``, how the data lies on the members: several where a conversion is not over."""
        directory = f"{_DIRECTORY}/{self._uuid_of.get(device)}/allocation/data"
        levels = sorted(_LEVELS.intersection(self.tree.names(directory)))
        level = (Reading(what="level", value=" ".join(levels), path=directory),) if levels else ()
        return (*super().settings(mount, device), *level)

    def trouble(self, device: str) -> tuple[Reading, ...]:
        """Members that are missing, or that have failed to read, write or flush; data on the move."""
        home = f"{_DIRECTORY}/{self._uuid_of.get(device)}"
        directory = f"{home}/devinfo"
        work = self.tree.reading(EXCLUSIVE, f"{home}/{EXCLUSIVE}")
        found = [work] if work is not None and work.value not in _AT_REST else []
        for member in self.tree.names(directory):
            missing = self.tree.reading("missing", f"{directory}/{member}/missing")
            if missing is not None and missing.value == "1":
                found.append(missing)
            path = f"{directory}/{member}/error_stats"
            errors = [line for line in (self.tree.text(path) or "").split("\n") if _counts(line)]
            if errors:
                found.append(Reading(what="errors", value=", ".join(errors), path=path))
        return tuple(found)

    @cached_property
    def _uuid_of(self) -> dict[str, str]:
        """Of the filesystem that a device is a member of."""
        uuids = self.tree.names(_DIRECTORY)
        members = ((uuid, self.tree.names(f"{_DIRECTORY}/{uuid}/devices")) for uuid in uuids)
        return {name: uuid for uuid, names in members for name in names}


def _counts(line: str) -> bool:
    """``write_errs 3``: a counter above zero."""
    return (integer(line.partition(" ")[2]) or 0) > 0


class Btrfs(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        return _EXPECTED

    def tolerates(self, node: Node, members: int) -> int:
        """By the profile of its data (mkfs.btrfs(8))."""
        level = one_of(node, "level", _TOLERATES)
        return level.value if level is not None else 0

    def expected_of_backing(self, node: Node) -> Range:
        return _OF_BACKING


KINDS = (
    Btrfs(
        name="btrfs",
        layer="filesystem",
        sync="passes",
        because="a sync ends in a flush",
        compression="told",
        copies_on_write=True,
        needs_device=False,
        flushes_on_sync=True,
        sync_mount=True,
    ),
)
FILESYSTEMS = BtrfsReader
