"""Filesystems that another machine, or a user's program, answers for: NFS, CIFS, 9p, virtiofs, FUSE.

What the server does with a sync cannot be seen; what the client was told to do with one can: ``sync_option`` (sync |
async), ``strict_sync`` (no: CIFS nostrictsync), ``vers``, ``hard`` (hard | soft), ``cache`` (CIFS and 9p), ``trans``
(9p). ``commit_count``: NFS COMMIT calls so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount, unescape
from fstui.storage.layers.facts import Fact, one_of, word
from fstui.storage.layers.kinds import Kind, Unsent, kind
from fstui.storage.layers.readers import Filesystem, FilesystemReader
from fstui.storage.tree import Tree, integer

MOUNTSTATS = "/proc/self/mountstats"
OPTIONS = ("vers", "sync_option", "hard", "strict_sync", "cache", "trans")
"""The readings that say how it is mounted."""
_OTHERS = ("smbfs", "ncpfs", "ceph", "lustre", "afs", "coda", "orangefs", "beegfs", "gpfs")
_EXPORTS = "On the server: exportfs -v must say sync, not async; run fsync-rate there on the exported directory."
_FUSE = "Look up whether the program implements fsync, and run fsync-rate on what it stores its data in."


_STATS_BYTES = 16 << 20
_SERVER_WRITE = 5
"""In the line ``bytes:``: after what the program read and wrote, plainly and with O_DIRECT, what the server sent."""
_SHOWN = {"vers": "vers", "cache": "cache", "trans": "trans", "cache_mode": "cache"}
_NFS, _CIFS = ("nfs", "nfs4"), ("cifs", "smb3")
_SOCKETS, _SERVER = ("tcp", "unix", "fd", "rdma"), "the server"
"""Of 9p: ``trans`` (v9fs)."""


class NfsCounts(NamedTuple):
    """What one NFS mount has sent so far."""

    commits: int | None
    writes: int | None
    written_bytes: int | None


NOT_COUNTED = NfsCounts(None, None, None)


class RemoteFacts(NamedTuple):
    """What was read of one."""

    strict_sync: Fact[bool] | None
    """False: CIFS nostrictsync: an fsync asks the server for no flush."""


def facts(node: Node) -> RemoteFacts:
    """What the readings of such a filesystem say."""
    return RemoteFacts(strict_sync=one_of(node, "strict_sync", {"no": False, "yes": True}))


def answered_by(node: Node) -> str:
    """Who answers its syncs: of 9p over a socket a server, and the host over a device of the guest."""
    trans = word(node, "trans")
    return _SERVER if trans is not None and trans.value in _SOCKETS else kind(node.kind).answered_by


class RemoteReader(FilesystemReader):
    """Reads what is mounted from elsewhere."""

    def read_below(self, mount: Mount) -> Filesystem:
        """Its server or its program; a program may keep its data on a device of this box."""
        fuse = self.row.name.startswith("fuse")
        because = "a program of a user answers" if fuse else "the server answers, out of sight from here"
        device = self.sources.names.of(mount.device) if self.row.name == "fuseblk" else None
        name = mount.source or mount.fstype
        bottom = Node(
            id=f"remote:{name}",
            layer="remote",
            kind=mount.fstype,
            name=name,
            below=(device,) if device is not None else (),
            because=because,
        )
        return Filesystem((bottom.id,), others=(bottom,))

    def more(self, mount: Mount) -> tuple[Reading, ...]:
        """``sync_option``, ``hard``, ``strict_sync``, ``vers``, ``cache``, ``trans``, ``commit_count``."""
        told: dict[str, str] = {}
        for option in mount.all_options:
            name, equals, value = option.partition("=")
            if equals and name in _SHOWN:
                told[_SHOWN[name]] = value
        if self.row.name in _NFS:
            told["sync_option"] = "sync" if "sync" in mount.all_options else "async"
            told["hard"] = "soft" if {"soft", "softerr"}.intersection(mount.super_options) else "hard"
        if self.row.name in _CIFS and "nostrictsync" in mount.super_options:
            told["strict_sync"] = "no"
        found = [Reading(what=what, value=value, path=MOUNTINFO) for what, value in told.items()]
        if self.row.name in _NFS and (counts := self._sent.get(mount.mount_point)) is not None:
            found.append(Reading(what="commit_count", value=str(counts.commits), path=MOUNTSTATS))
        return tuple(found)

    @cached_property
    def _sent(self) -> Mapping[str, NfsCounts]:
        return nfs_counts(self.tree)


def nfs_counts(tree: Tree) -> Mapping[str, NfsCounts]:
    """COMMIT and WRITE calls of each NFS mount and the bytes sent, by mount point (statvers 1.0 and 1.1)."""
    found = {}
    for block in (tree.data(MOUNTSTATS, _STATS_BYTES) or b"").split(b"\ndevice "):
        head, _, body = block.partition(b"\n")
        words = head.removeprefix(b"device ").split(b" ")
        # device SOURCE mounted on PLACE with fstype nfs4 statvers=1.1
        if len(words) > 3 and words[1] == b"mounted" and b"statvers=" in head and (counts := _counts(body)):
            found[unescape(words[3])] = counts
    return found


def _counts(body: bytes) -> NfsCounts | None:
    numbers: dict[bytes, list[bytes]] = {}
    for line in body.split(b"\n"):
        name, _, rest = line.strip().partition(b":")
        if name in (b"COMMIT", b"WRITE", b"bytes"):
            numbers[name] = rest.split()
    writes = _at(numbers.get(b"WRITE", []), 0)
    if writes is None:
        return None
    return NfsCounts(_at(numbers.get(b"COMMIT", []), 0) or 0, writes, _at(numbers.get(b"bytes", []), _SERVER_WRITE))


def _at(numbers: list[bytes], place: int) -> int | None:
    return integer(numbers[place].decode("ascii", "replace")) if place < len(numbers) else None


class Remote(Kind, frozen=True, kw_only=True):
    """A row of this family."""

    def unsent(self, node: Node) -> Unsent | None:
        strict = facts(node).strict_sync
        if strict is None or strict.value:
            return None
        return Unsent(
            reading=strict.reading,
            option="nostrictsync",
            misses="flush",
            means="sends the data and asks the server for no flush",
            undo="Mount it without nostrictsync (strictsync is the default since Linux 5.4).",
        )


class Nfs(Remote, frozen=True, kw_only=True):
    """The row of NFS, which counts what each mount has sent."""

    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        """COMMIT and WRITE calls, and the bytes sent."""
        mounted = [node for node in nodes if node.reading("commit_count") is not None]
        sent = nfs_counts(tree) if mounted else {}
        for node in mounted:
            counts = sent.get(node.name, NOT_COUNTED)
            yield DeviceCounters(
                device=node.id, commits=counts.commits, writes=counts.writes, written_bytes=counts.written_bytes
            )


_served = partial(Remote, layer="filesystem", remote=True, needs_device=False)
_of_host = partial(_served, answered_by="the host", across_network=False)
_fuse = partial(
    _served,
    because="a sync is handed to a program; one that does not know fsync counts as success",
    answered_by="a program of this box",
    across_network=False,
    judge_there=_FUSE,
)

KINDS = (
    *(
        Nfs(
            name=name,
            layer="filesystem",
            remote=True,
            needs_device=False,
            because="a sync asks the server to commit; an export with async answers at once, unseen from here",
            judge_there=_EXPORTS,
            sync_ends_traced=True,
        )
        for name in ("nfs", "nfs4")
    ),
    *(
        _served(name=name, because="a sync asks the server for a flush; what it does then cannot be seen from here")
        for name in ("cifs", "smb3")
    ),
    *(_served(name=name) for name in _OTHERS),
    _of_host(name="virtiofs", because="a sync is handed to the host's virtiofsd"),
    *(_of_host(name=name) for name in ("9p", "vboxsf", "vmhgfs", "prl_fs", "hostfs")),
    *(_fuse(name=name) for name in ("fuse", "fuseblk")),
    *(_fuse(name=name, pseudo=True) for name in ("fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal")),
)
FILESYSTEMS = RemoteReader
