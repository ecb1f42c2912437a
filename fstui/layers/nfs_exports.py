"""An NFS server that is this very box: how it exports what is mounted here.

The client's own list of volumes and the server's exports are each of one network namespace, so both speak of the same
one: ``127.0.0.1`` and the box's own addresses, on a port that the kernel's server listens on, or its usual one where
that cannot be read, are then this kernel's server (fs/nfs/client.c: nfs_volume_list_show; fs/nfsd/export.c:
svc_export_show; fs/nfsd/nfsctl.c: write_ports; exports(5)).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fstui.layers.sources import addresses
from fstui.layers.sources.files import Tree, integer
from fstui.layers.sources.mounts import Mount, unescape
from fstui.model.storage import Reading

VOLUMES = "/proc/net/nfsfs/volumes"
EXPORTS = ("/proc/fs/nfsd/exports", "/proc/net/rpc/nfsd.export/content")
"""The same; the first where the server's filesystem is mounted, the second is root's."""
_EXPORTS_BYTES = 1 << 20
LISTENING = "/proc/fs/nfsd/portlist"
_USUAL_PORT = 2049
_LINE = re.compile(rb"(/\S*)\t\S*?\(([^)]*)\)")


class Export(NamedTuple):
    """One directory as it is exported to some clients."""

    path: str
    flags: frozenset[str]


def export(tree: Tree, mount: Mount, holder: Callable[[str], Mount | None]) -> Reading | None:
    """``export`` (sync | async) of an NFS mount whose server is this box; None where it is not, or nobody can tell.

    NFSv4 walks down by steps and comes to a nearer export only where a filesystem is mounted there: Linux 6.12 flushed
    in a directory that was exported async below one exported sync. Older versions ask for the nearest by its name.
    NFSv4 names a path as seen from the export with ``fsid=0``, where its client has one.
    """
    nfs4 = mount.fstype == "nfs4"

    def reached(path: str) -> bool:
        if not nfs4:
            return True
        here = holder(path)
        return here is not None and here.mount_point == path

    if not _served_here(tree, mount.device):
        return None
    for file in EXPORTS:
        found = [each for line in (tree.data(file, _EXPORTS_BYTES) or b"").split(b"\n") for each in _exports(line)]
        if found:
            path = "/" + mount.source.partition(":/")[2]  # [::1]:/srv
            roots = [each.path.rstrip("/") for each in found if "fsid=0" in each.flags] if nfs4 else []
            said = {word for root in ("", *roots) for word in _of_path(root + path, found, reached)}
            told = said.pop() if len(said) == 1 else None
            if told == "async" and any(_keeps_each_write(holder(root + path)) for root in ("", *roots)):
                return None
            return Reading(what="export", value=told, path=file) if told is not None else None
    return None


def _keeps_each_write(here: Mount | None) -> bool:
    """Mounted with ``sync`` (mount(8)): what the server writes there is on the disk before it answers, even so."""
    return here is not None and "sync" in here.all_options


def _served_here(tree: Tree, device: str) -> bool:
    """The volume of that ``major:minor`` is mounted from an address of this network namespace."""
    for line in (tree.text(VOLUMES) or "").split("\n"):
        words = line.split()  # version, server, port, device, …
        if len(words) > 3 and words[3] == device and _hex(words[2]) in _ports(tree):
            return addresses.is_own(tree, _address(words[1]))
    return False


def _ports(tree: Tree) -> set[int]:
    """Another server, in a program, may have the usual one: what the kernel's own tells beats it."""
    told = tree.text(LISTENING)  # "tcp 2049" for each
    if told is None:
        return {_USUAL_PORT}
    return {port for port in map(integer, told.split()[1::2]) if port is not None}


def _address(server: str) -> str:
    """As it is written elsewhere: the volumes' list has hexadecimal digits alone, 8 or 32."""
    if not re.fullmatch(r"[0-9a-f]{8}|[0-9a-f]{32}", server):
        return ""
    return str(ipaddress.ip_address(bytes.fromhex(server)))


def _hex(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"[0-9a-f]{1,8}", text) else None


def _exports(line: bytes) -> Iterator[Export]:
    found = _LINE.match(line)
    flags = frozenset(found[2].decode("ascii", "replace").split(",")) if found else frozenset()
    if found and "v4root" not in flags:  # a way down to what is exported
        yield Export(unescape(found[1]), flags)


def _of_path(path: str, exports: list[Export], reached: Callable[[str], bool]) -> frozenset[str]:
    """What those say that hold the path, from the nearest that is certainly ``reached``."""
    holding = [each for each in exports if f"{path}/".startswith(f"{each.path.rstrip('/')}/")]
    first = max((len(each.path) for each in holding if reached(each.path)), default=0)
    return frozenset(word for each in holding if len(each.path) >= first for word in each.flags & {"sync", "async"})
