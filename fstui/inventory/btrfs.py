"""The members, level and troubles of mounted btrfs filesystems, from /sys/fs/btrfs (ch-sysfs of btrfs-progs).

mountinfo names only one member, and an anonymous device number.
"""

from __future__ import annotations

from fstui.inventory.files import Tree, integer
from fstui.model import Reading

_DIRECTORY = "/sys/fs/btrfs"
_LEVELS = frozenset({"single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"})


class Btrfs:
    """All mounted btrfs filesystems of one survey, listed once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._uuid_of: dict[str, str] | None = None

    def members(self, device: str) -> tuple[str, ...]:
        """The devices of the filesystem that this one is a member of; itself alone where sysfs does not know."""
        uuid = self._uuid(device)
        return self._tree.names(f"{_DIRECTORY}/{uuid}/devices") if uuid is not None else (device,)

    def level(self, device: str) -> Reading | None:
        """How the data lies on the members: ``single``, ``raid1`` …; several where a conversion is not over."""
        directory = f"{_DIRECTORY}/{self._uuid(device)}/allocation/data"
        levels = sorted(_LEVELS.intersection(self._tree.names(directory)))
        return Reading(what="level", value=" ".join(levels), path=directory) if levels else None

    def trouble(self, device: str) -> tuple[Reading, ...]:
        """Members that are missing, or that have failed to read, write or flush."""
        directory = f"{_DIRECTORY}/{self._uuid(device)}/devinfo"
        found = []
        for member in self._tree.names(directory):
            missing = self._tree.reading("missing", f"{directory}/{member}/missing")
            if missing is not None and missing.value == "1":
                found.append(missing)
            path = f"{directory}/{member}/error_stats"
            errors = [line for line in (self._tree.text(path) or "").split("\n") if _counts(line)]
            if errors:
                found.append(Reading(what="errors", value=", ".join(errors), path=path))
        return tuple(found)

    def _uuid(self, device: str) -> str | None:
        if self._uuid_of is None:
            uuids = self._tree.names(_DIRECTORY)
            members = ((uuid, self._tree.names(f"{_DIRECTORY}/{uuid}/devices")) for uuid in uuids)
            self._uuid_of = {name: uuid for uuid, names in members for name in names}
        return self._uuid_of.get(device)


def _counts(line: str) -> bool:
    """``write_errs 3``: a counter above zero."""
    return (integer(line.partition(" ")[2]) or 0) > 0
