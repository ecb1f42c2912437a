"""sshfs to this very box: where its directory lies.

It has inodes of its own and times of whole seconds, so the way there is proved by processes: each sshfs that names that
source talks to an ssh, whose connections all end at an sshd of this network namespace, and what that sshd has started
is sftp-server, to which a path means what it means to us. A jump over another box, a shared connection and
internal-sftp look otherwise, and are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fstui.storage.layers.network import own_servers
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses, processes, sockets
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.sources.mounts import Mount

FSTYPE = "fuse.sshfs"
_SOURCE = re.compile(r"(?:[^@]*@)?\[?(.*?)\]?:(/.*)")
_SSHD = frozenset({"sshd", "sshd-session"})


def named_here(tree: Tree, mount: Mount) -> tuple[str, ...]:
    """The path that it names, where its host's name is one of this box's."""
    found = _SOURCE.fullmatch(mount.source) if mount.fstype == FSTYPE else None
    here = found is not None and (
        found[1] in ("localhost", tree.word("/proc/sys/kernel/hostname")) or addresses.is_own(tree, found[1])
    )
    return (f"{found[2].rstrip('/')}{mount.root.rstrip('/')}" or "/",) if found is not None and here else ()


def kept_at(sources: Sources, mount: Mount) -> str | None:
    """The same, where it is proved to be what is mounted."""
    paths = named_here(sources.tree, mount)
    alike = (path for path in paths if own_servers.is_alike(sources.claims, mount.mount_point, path))
    return next(alike, None) if paths and _is_served_here(sources, mount) else None


def _is_served_here(sources: Sources, mount: Mount) -> bool:
    """By every sshfs that may be the mount's."""
    tree = sources.tree
    every = [number for number in tree.names("/proc") if number.isdecimal()]
    found = [
        number
        for number in every
        if processes.program(tree, number) == "sshfs" and mount.source in processes.words(tree, number)
    ]
    return bool(found) and all(_ends_here(sources, number, every) for number in found)


def _ends_here(sources: Sources, sshfs: str, every: Iterable[str]) -> bool:
    """What that process talks to is a sftp-server that sees our files."""
    tree = sources.tree
    clients = _met_by(sources, frozenset({sshfs}), frozenset({"ssh"}))
    daemons = _met_by(sources, clients, _SSHD, behind=frozenset({sshfs}))
    started = [number for number in every if processes.parent(tree, number) in daemons]
    servers = [number for number in started if processes.program(tree, number) not in _SSHD]
    return bool(servers) and all(
        processes.program(tree, number) == "sftp-server" and processes.sees_our_files(tree, number)
        for number in servers
    )


def _met_by(
    sources: Sources, ours: frozenset[str], programs: frozenset[str], behind: frozenset[str] = frozenset()
) -> frozenset[str]:
    """The processes that those talk to, other than where they come from; none where one is another program."""
    ends = [each.far for each in sockets.connections(sources.claims) if each.near & ours and each.far != behind]
    far = frozenset[str]().union(*ends)
    known = all(ends) and all(processes.program(sources.tree, number) in programs for number in far)
    return far if known else frozenset()
