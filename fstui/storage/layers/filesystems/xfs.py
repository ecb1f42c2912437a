"""XFS, whose log and real-time data may have devices of their own (``logdev``, ``rtdev``).

In a container, the path of the real-time device may not exist. Files may then be on a device that is not in the stack,
which the reading ``device_unseen`` reports.
"""

from __future__ import annotations

from collections.abc import Collection

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.flushes import InPlace
from fstui.storage.layers.forwarding import ONE_PATH, Forwarded, Member
from fstui.storage.layers.readers import FilesystemReader, LayerDescription

_ROLES = {"logdev": "log", "rtdev": "realtime"}


class XfsReader(FilesystemReader):
    def read_below(self, mount: Mount) -> LayerDescription:
        options = [(what, value) for what in _ROLES if (value := mount.option(what))]
        named = [(name, what) for what, value in options if (name := self.sources.names.at(value)) is not None]
        found = {what for _, what in named}
        unseen = (
            Reading(what=DEVICE_UNSEEN, value=path, path=MOUNTINFO)
            for what, path in options
            if what == "rtdev" and what not in found
        )
        return LayerDescription(
            below=tuple(dict.fromkeys((*self.members(mount), *(name for name, _ in named)))),
            readings=(*(Reading(what=what, value=value, path=MOUNTINFO) for what, value in options), *unseen),
            roles={name: _ROLES[what] for name, what in named},
        )


class Xfs(InPlace, frozen=True, kw_only=True):
    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """Return what the member gets. A sync flushes only the device that has the file (xfs_file_fsync)."""
        if "realtime" in roles and member.role in (None, "realtime"):
            return ONE_PATH
        return super().forwards(node, member, roles, filesystem)


KINDS = (Xfs(name="xfs"),)
FILESYSTEMS = XfsReader
