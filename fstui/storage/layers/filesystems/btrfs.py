"""btrfs: members, ``level``, ``metadata_level`` and errors, from /sys/fs/btrfs (ch-sysfs of btrfs-progs).

mountinfo is not enough: it shows only one member and an anonymous device number.
"""

from functools import cached_property

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import SYNCED_WRITES
from fstui.storage.layers.flushes import ONE, ExpectedFlushes, Range, Sync
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import FilesystemReader, without_none
from fstui.storage.tree import integer

EXCLUSIVE = "exclusive_operation"
"""A reading: the operation that is running, such as device replace or balance. Only one can run (ch-sysfs)."""
_DIRECTORY = "/sys/fs/btrfs"
_IDLE_VALUES = frozenset({"none", "balance paused"})
_PROFILES = frozenset({"single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"})
_PROFILES_OF = (("level", "data"), ("metadata_level", "metadata"))
"""The reading of each profile, and what is stored with this profile."""
_CHECKSUMS_OFF = frozenset({"nodatasum", "nodatacow"})
"""Without checksums, btrfs cannot tell which of two copies is right (btrfs(5))."""
_REDUNDANT_PROFILES = frozenset({"raid1", "raid1c3", "raid1c4", "raid10"})
_TOLERATED_FAILURES = {"raid1": 1, "raid10": 1, "raid5": 1, "raid6": 2, "raid1c3": 2, "raid1c4": 3}


class BtrfsReader(FilesystemReader):
    def members(self, mount: Mount) -> tuple[str, ...]:
        """Return all devices of the filesystem; if sysfs does not have it, only the device of the mount."""
        from_mount = super().members(mount)
        uuid = self._uuid_of.get(from_mount[0]) if from_mount else None
        return self.tree.names(f"{_DIRECTORY}/{uuid}/devices") if uuid is not None else from_mount

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """Return ``barrier``, ``checksums`` if off, and the profiles of data and metadata (several if converting)."""
        is_off = not _CHECKSUMS_OFF.isdisjoint(mount.super_options)
        checksums = (Reading(what="checksums", value="off", path=MOUNTINFO),) if is_off else ()
        profiles = (self._profile(what, contents, device) for what, contents in _PROFILES_OF)
        return (*super().settings(mount, device), *checksums, *without_none(profiles))

    def _profile(self, what: str, contents: str, device: str) -> Reading | None:
        """Return the profile of data or of metadata. ``mkfs.btrfs --mixed`` stores both in block groups of one kind."""
        allocation = f"{_DIRECTORY}/{self._uuid_of.get(device)}/allocation"
        for directory in (f"{allocation}/{contents}", f"{allocation}/mixed"):
            profiles = sorted(_PROFILES.intersection(self.tree.names(directory)))
            if profiles:
                return Reading(what=what, value=" ".join(profiles), path=directory)
        return None

    def fault_readings(self, device: str) -> tuple[Reading, ...]:
        """Return missing members, members with errors, and an operation that moves data."""
        directory = f"{_DIRECTORY}/{self._uuid_of.get(device)}"
        readings = [self.tree.reading(EXCLUSIVE, f"{directory}/{EXCLUSIVE}", unless=_IDLE_VALUES)]
        for member in self.tree.names(f"{directory}/devinfo"):
            readings.append(self.tree.reading("missing", f"{directory}/devinfo/{member}/missing", only=("1",)))
            path = f"{directory}/devinfo/{member}/error_stats"
            # a line is like "write_errs 3"
            lines = (self.tree.text(path) or "").split("\n")
            errors = [line for line in lines if (integer(line.partition(" ")[2]) or 0) > 0]
            if errors:
                readings.append(Reading(what="errors", value=", ".join(errors), path=path))
        return without_none(readings)

    @cached_property
    def _uuid_of(self) -> dict[str, str]:
        uuids = self.tree.names(_DIRECTORY)
        members = ((uuid, self.tree.names(f"{_DIRECTORY}/{uuid}/devices")) for uuid in uuids)
        return {name: uuid for uuid, names in members for name in names}


class Btrfs(LayerKind, frozen=True, kw_only=True):
    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        # a flush before the superblock, which is then written with FUA (fs/btrfs/disk-io.c: write_all_supers)
        return ExpectedFlushes(Range(2, 2), ONE)

    def tolerated_failures(self, node: Node, members: int) -> int:
        """Return how many more members may fail, by the weaker profile of data and metadata (mkfs.btrfs(8))."""
        profiles = [node.value(what) for what, _ in _PROFILES_OF]
        tolerance = min((_TOLERATED_FAILURES.get(profile, 0) for profile in profiles if profile is not None), default=0)
        return max(0, tolerance - sum(trouble.what == "missing" for trouble in node.state))

    def tolerated_stale_members(self, node: Node, members: int) -> int:
        """Return how many members may return with stale data. This is the number that may fail, if every block has a
        second copy and a checksum that identifies the right copy; otherwise it is 0."""
        has_copies = all(node.value(what) in _REDUNDANT_PROFILES for what, _ in _PROFILES_OF)
        is_unchecked = node.reading("checksums") or node.reading("nocow_flag")  # chattr +C
        return self.tolerated_failures(node, members) if has_copies and not is_unchecked else 0

    def flushes_per_backing_fsync(self, node: Node) -> Range:
        return Range(1, 4)


KINDS = (
    Btrfs(
        name="btrfs",
        reader=BtrfsReader,
        layer="filesystem",
        sync="passes",
        reason="a sync ends in a flush",
        compression="optional",
        copies_on_write=True,
        needs_device=False,
        flushes_on_sync=True,
        unsupported_readings=SYNCED_WRITES,
    ),
)
