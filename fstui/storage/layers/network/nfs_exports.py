"""An NFS server that is this very box: how it exports what is mounted here, and where that may lie.

The client's own list of volumes and root's list of exports are each of our network namespace, so both speak of the same
one: ``127.0.0.1`` and the box's own addresses, on a port that the kernel's server listens on, or its usual one where
that cannot be read, are then this kernel's server (fs/nfs/client.c: nfs_volume_list_show; fs/nfsd/export.c:
svc_export_show; fs/nfsd/nfsctl.c: write_ports; exports(5)). What everybody may read, ``/proc/fs/nfsd``, is of the
namespace that it was mounted from: there the server must have answered some call in ours (``rpc`` in its statistics,
which Linux 6.1 and 6.12 count for each namespace).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fstui.model.storage import Reading
from fstui.storage.layers.network import own_servers
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses
from fstui.storage.layers.sources.files import Tree, integer
from fstui.storage.layers.sources.mounts import Mount, unescape

VOLUMES = "/proc/net/nfsfs/volumes"
OWN_EXPORTS, EXPORTS = "/proc/net/rpc/nfsd.export/content", "/proc/fs/nfsd/exports"
"""The same; the first is root's, the second stands where the server's filesystem is mounted."""
STATISTICS = "/proc/net/rpc/nfsd"
_EXPORTS_BYTES = 1 << 20
LISTENING = "/proc/fs/nfsd/portlist"
_USUAL_PORT = 2049
_PROGRAMS = ("ganesha.nfsd",)
"""Servers beside the kernel's."""
_LINE = re.compile(rb"(/\S*)\t\S*?\(([^)]*)\)")


class Export(NamedTuple):
    """One directory as it is exported to some clients."""

    path: str
    flags: frozenset[str]


def export(sources: Sources, mount: Mount) -> Reading | None:
    """``export`` (sync | async) of an NFS mount whose server is this box; None where it is not, or nobody can tell.

    NFSv4 walks down by steps and comes to a nearer export only where a filesystem is mounted there: Linux 6.12 flushed
    in a directory that was exported async below one exported sync. Older versions ask for the nearest by its name.
    NFSv4 names a path as seen from the export with ``fsid=0``, where its client has one. Where the filesystem keeps
    each write, the early answer costs nothing.
    """

    def reached(path: str) -> bool:
        if mount.fstype != "nfs4":
            return True
        here = sources.holder(path)
        return here is not None and here.mount_point == path

    if _server(sources.tree, mount.device) is None:
        return None
    file, found = _all_exports(sources.tree)
    candidates = _candidates(mount, found)
    said = {word for path in candidates for word in _of_path(path, found, reached)}
    told = said.pop() if len(said) == 1 else None
    kept = told == "async" and any(own_servers.keeps_each_write(sources, path) for path in candidates)
    return Reading(what="export", value=told, path=file) if told is not None and not kept else None


def paths(sources: Sources, mount: Mount) -> tuple[str, ...]:
    """Where on this box it may lie, where its server is this box."""
    if _server(sources.tree, mount.device) is None:
        return ()
    within = mount.root.rstrip("/")  # of a bind mount
    return tuple(f"{path.rstrip('/')}{within}" or "/" for path in _candidates(mount, _all_exports(sources.tree)[1]))


def kept_at(sources: Sources, mount: Mount) -> str | None:
    """Where on this box it lies, where that is proved."""
    server = _server(sources.tree, mount.device)
    ours = server is not None and own_servers.may_answer(sources, server, _PROGRAMS, kernel=True)
    found = paths(sources, mount) if ours else ()
    return next((path for path in found if own_servers.is_same(sources.claims, mount.mount_point, path)), None)


def _candidates(mount: Mount, exports: list[Export]) -> tuple[str, ...]:
    path = "/" + mount.source.partition(":/")[2]  # [::1]:/srv
    roots = [each.path.rstrip("/") for each in exports if "fsid=0" in each.flags] if mount.fstype == "nfs4" else []
    return tuple(dict.fromkeys(root + path for root in ("", *roots)))


def _all_exports(tree: Tree) -> tuple[str, list[Export]]:
    """Those of our network namespace, and the file that tells them."""
    data, file = tree.data(OWN_EXPORTS, _EXPORTS_BYTES), OWN_EXPORTS
    if data is None:
        data, file = tree.data(EXPORTS, _EXPORTS_BYTES) if _has_answered(tree) else None, EXPORTS
    return file, [each for line in (data or b"").split(b"\n") for each in _exports(line)]


def _has_answered(tree: Tree) -> bool:
    """The kernel's server, some call from our network namespace, as far as that is told."""
    told = re.search(r"^rpc (\d{1,15}) ", tree.text(STATISTICS) or "", re.M)
    return told is None or int(told[1]) > 0


def _server(tree: Tree, device: str) -> str | None:
    """The ``ADDRESS:PORT`` of this network namespace that the volume of that ``major:minor`` is mounted from."""
    for line in (tree.text(VOLUMES) or "").split("\n"):
        words = line.split()  # version, server, port, device, …
        if len(words) > 3 and words[3] == device and (port := _hex(words[2])) in _ports(tree):
            address = _address(words[1])
            return f"{address}:{port}" if addresses.is_own(tree, address) else None
    return None


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
