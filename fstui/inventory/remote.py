"""Filesystems that another machine, or a user's program, answers for: NFS, CIFS, 9p, virtiofs, FUSE.

What the server does with a sync cannot be seen; what the client was told to do with one can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fstui.inventory.files import Tree, integer
from fstui.inventory.mounts import MOUNTINFO, Mount, unescape
from fstui.model import Reading, SyncPath

NFS = frozenset({"nfs", "nfs4"})
CIFS = frozenset({"cifs", "smb3"})
MOUNTSTATS = "/proc/self/mountstats"
_STATS_BYTES = 16 << 20
_SERVER_WRITE = 5
"""In the line ``bytes:``: after what the program read and wrote, plainly and with O_DIRECT, what the server sent."""
_SHOWN = {"vers": "vers", "cache": "cache", "trans": "trans", "cache_mode": "cache"}


class NfsCounts(NamedTuple):
    """What one NFS mount has sent so far."""

    commits: int | None
    writes: int | None
    written_bytes: int | None


NOT_COUNTED = NfsCounts(None, None, None)


def readings(mount: Mount, sent: Mapping[str, NfsCounts]) -> tuple[Reading, ...]:
    """``sync_option``, ``hard``, ``strict_sync``, ``vers``, ``cache``, ``trans``, ``commit_count`` where they hold."""
    told: dict[str, str] = {}
    for option in mount.all_options:
        name, equals, value = option.partition("=")
        if equals and name in _SHOWN:
            told[_SHOWN[name]] = value
    if mount.fstype in NFS:
        told["sync_option"] = "sync" if "sync" in mount.all_options else "async"
        told["hard"] = "soft" if {"soft", "softerr"}.intersection(mount.super_options) else "hard"
    if mount.fstype in CIFS and "nostrictsync" in mount.super_options:
        told["strict_sync"] = "no"
    found = [Reading(what=what, value=value, path=MOUNTINFO) for what, value in told.items()]
    if mount.fstype in NFS and (counts := sent.get(mount.mount_point)) is not None:
        found.append(Reading(what="commit_count", value=str(counts.commits), path=MOUNTSTATS))
    return tuple(found)


def sync_of(fstype: str, values: dict[str, str]) -> tuple[SyncPath, str]:
    """What the client does with a sync."""
    if values.get("strict_sync") == "no":
        return "stops", "nostrictsync: an fsync sends the data, but asks the server for no flush"
    if fstype in NFS:
        return "unknown", "a sync asks the server to commit; an export with async answers at once, unseen from here"
    if fstype in CIFS:
        return "unknown", "a sync asks the server for a flush; what it does then cannot be seen from here"
    if fstype == "virtiofs":
        return "unknown", "a sync is handed to the host's virtiofsd"
    if fstype.startswith("fuse"):
        return "unknown", "a sync is handed to a program; one that does not know fsync counts as success"
    return "unknown", ""


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
