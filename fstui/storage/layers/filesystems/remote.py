"""Filesystems that another host or a program provides: NFS, SMB, 9p, virtiofs, FUSE.

fstui cannot see what a server does with a sync, only how this host mounted the filesystem: ``sync_option`` (sync |
async), ``strict_sync`` (no: nostrictsync of SMB), ``vers``, ``hard`` (hard | soft). ``commit_count`` is the number of
NFS COMMIT calls so far.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Layer, Node, Reading
from fstui.proc import MOUNTINFO, Mount, unescape
from fstui.storage.layers.facts import off_reading
from fstui.storage.layers.kinds import LayerKind, SkippedSync
from fstui.storage.layers.readers import FilesystemReader, LayerDescription
from fstui.storage.tree import Tree, integer

MOUNTSTATS = "/proc/self/mountstats"
OPTIONS = ("vers", "sync_option", "hard", "strict_sync")
"""Readings of mount options."""
_OTHER_TYPES = ("smbfs", "ncpfs", "ceph", "lustre", "afs", "coda", "orangefs", "beegfs", "gpfs")
_STATS_BYTES = 16 << 20
_SERVER_WRITE = 5
"""The index in the line ``bytes:`` of the number of bytes sent to the server."""
_NFS, _CIFS = ("nfs", "nfs4"), ("cifs", "smb3")


class RemoteReader(FilesystemReader):
    def read_layers_below(self, mount: Mount) -> LayerDescription:
        """Return the server or the program. A program of the type fuseblk uses a device of this host."""
        fuse = self.layer_kind.name.startswith("fuse")
        reason = f"{'a user-space program' if fuse else 'the server'} handles syncs; fstui cannot see how"
        device = self.sources.names.by_number(mount.device) if self.layer_kind.name == "fuseblk" else None
        name = mount.source or mount.fstype
        bottom = Node(
            id=f"remote:{name}",
            layer="remote",
            kind=mount.fstype,
            name=name,
            below=(device,) if device is not None else (),
            reason=reason,
        )
        return LayerDescription((bottom.id,), other_layers=(bottom,))

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        version = mount.option("vers")
        options = {"vers": version} if version else {}
        if self.layer_kind.name in _NFS:
            options |= {} if "sync" in mount.all_options else {"sync_option": "async"}
            options["hard"] = "soft" if {"soft", "softerr"}.intersection(mount.super_options) else "hard"
        if self.layer_kind.name in _CIFS and "nostrictsync" in mount.super_options:
            options["strict_sync"] = "no"
        readings = [Reading(what=what, value=value, path=MOUNTINFO) for what, value in options.items()]
        if self.layer_kind.name in _NFS and (counts := self._counts.get(mount.mount_point)) is not None:
            readings.append(Reading(what="commit_count", value=str(counts.commits), path=MOUNTSTATS))
        return tuple(readings)

    @cached_property
    def _counts(self) -> Mapping[str, DeviceCounters]:
        return nfs_counts(self.tree)


def nfs_counts(tree: Tree) -> Mapping[str, DeviceCounters]:
    """Return the COMMIT calls, WRITE calls and sent bytes of each NFS mount, by mount point (statvers 1.0 and 1.1)."""
    by_mount_point = {}
    for block in (tree.data(MOUNTSTATS, _STATS_BYTES) or b"").split(b"\ndevice "):
        head, _, body = block.partition(b"\n")
        words = head.removeprefix(b"device ").split(b" ")
        # device SOURCE mounted on MOUNT_POINT with fstype nfs4 statvers=1.1
        if len(words) > 3 and words[1] == b"mounted" and b"statvers=" in head:
            lines = (line.strip().partition(b":") for line in body.split(b"\n"))
            numbers = {name: values.split() for name, _, values in lines if name in (b"COMMIT", b"WRITE", b"bytes")}
            mount_point, writes = unescape(words[3]), _number_at(numbers, b"WRITE", 0)
            if writes is not None:
                by_mount_point[mount_point] = DeviceCounters(
                    device=f"mount:{mount_point}",
                    commits=_number_at(numbers, b"COMMIT", 0) or 0,
                    writes=writes,
                    written_bytes=_number_at(numbers, b"bytes", _SERVER_WRITE),
                )
    return by_mount_point


def _number_at(numbers: Mapping[bytes, list[bytes]], name: bytes, index: int) -> int | None:
    words = numbers.get(name, [])
    return integer(words[index].decode("ascii", "replace")) if index < len(words) else None


class Remote(LayerKind, frozen=True, kw_only=True):
    layer: Layer = "filesystem"
    reader: type[Any] | None = RemoteReader
    remote: bool = True
    needs_device: bool = False

    def skipped_sync(self, node: Node) -> SkippedSync | None:
        if (not_strict := off_reading(node, "strict_sync")) is None:
            return None
        return SkippedSync(
            reading=not_strict,
            option="nostrictsync",
            skipped_request="flush",
            effect="sends the data and requests no flush from the server",
            undo="Mount it without nostrictsync (strictsync is the default since Linux 5.4).",
        )


class Nfs(Remote, frozen=True, kw_only=True):
    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        counted = [node for node in nodes if node.reading("commit_count") is not None]
        counts = nfs_counts(tree) if counted else {}
        return [counts.get(node.name, DeviceCounters(device=node.id)) for node in counted]


_host_kind = partial(Remote, served_by="the host", across_network=False)
_fuse_kind = partial(
    Remote,
    reason="a user-space program handles syncs; if it does not implement fsync, fsync succeeds and does nothing",
    served_by="a program of this host",
    across_network=False,
    advice="Look up whether the program implements fsync. If it stores its data in a directory, run fsync-rate there.",
)
_NFS_SYNC = "a sync requests a commit; fstui cannot see whether the export is async and acknowledges it immediately"
_CIFS_SYNC = "a sync requests a flush from the server; fstui cannot see what the server does"

KINDS = (
    *(Nfs(name=name, reason=_NFS_SYNC, traces_syncs=True) for name in _NFS),
    *(Remote(name=name, reason=_CIFS_SYNC) for name in _CIFS),
    *(Remote(name=name) for name in _OTHER_TYPES),
    _host_kind(name="virtiofs", reason="a sync goes to virtiofsd on the host"),
    _host_kind(name="9p", served_by="the host or a server"),
    *(_host_kind(name=name) for name in ("vboxsf", "vmhgfs", "prl_fs", "hostfs")),
    *(_fuse_kind(name=name) for name in ("fuse", "fuseblk")),
    *(_fuse_kind(name=name, pseudo=True) for name in ("fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal")),
)
