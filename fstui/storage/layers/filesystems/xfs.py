"""XFS, whose log and real-time data may have devices of their own (``logdev``, ``rtdev``).

In a container, the path of such a device may not exist. The path may also be outside /dev. ``device_unseen`` then
reports that data or the log may be on a device that is not in the stack.
"""

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import DEVICE_UNSEEN
from fstui.storage.layers.flushes import InPlace
from fstui.storage.layers.forwarding import ONE_PATH, Forwarded
from fstui.storage.layers.readers import FilesystemReader, LayerDescription

_ROLES = {"logdev": "log", "rtdev": "realtime"}


class XfsReader(FilesystemReader):
    def read_layers_below(self, mount: Mount) -> LayerDescription:
        paths = {what: path for what in _ROLES if (path := mount.option(what))}
        devices = {what: name for what, path in paths.items() if (name := self.sources.names.by_path(path))}
        readings = [Reading(what=what, value=path, path=MOUNTINFO) for what, path in paths.items()]
        unseen = (path for what, path in paths.items() if what not in devices)
        readings += (Reading(what=DEVICE_UNSEEN, value=path, path=MOUNTINFO) for path in unseen)
        return LayerDescription(
            below=tuple(dict.fromkeys((*self.members(mount), *devices.values()))),
            readings=tuple(readings),
            roles={name: _ROLES[what] for what, name in devices.items()},
        )


class Xfs(InPlace, frozen=True, kw_only=True):
    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to the member. A sync flushes only the device that has the file (xfs_file_fsync)."""
        if "realtime" in node.below_roles.values() and node.below_roles.get(member) in (None, "realtime"):
            return ONE_PATH
        return super().forwards(node, member, filesystem)


KINDS = (Xfs(name="xfs", reader=XfsReader),)
