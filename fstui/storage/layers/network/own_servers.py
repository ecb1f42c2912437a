"""What a server of this very box keeps its files on.

A path that a server names is followed only where it is proved to lead to what is mounted: the directory that is seen
through the mount has the inode and the times of the one that lies at the path. Another server at such an address
(another network namespace has its own 127.0.0.1), and another mount namespace's directory of that name, are other
directories. A copy of one image has the same inodes and times: what answers a port must be such a server, and not a
program that hands on what a container's or another box's answers.
Reading of the mount: ``own_path``, where it may lie.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from fstui.model.storage import Node, Reading
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import claims, directories, mounts, processes, sockets
from fstui.storage.layers.sources.claims import Claims, Command, Question
from fstui.storage.layers.sources.directories import seen_at
from fstui.storage.layers.sources.mounts import MOUNTINFO, Mount
from fstui.storage.layers.zfs import datasets

PATH = "own_path"


def flags_at(path: str) -> Command:
    """The flags of the directory that lies there (chattr(1))."""
    return ("lsattr", "-d", "--", path)


def readings(paths: Iterable[str]) -> Iterator[Reading]:
    """``own_path`` of each."""
    return (Reading(what=PATH, value=path, path=MOUNTINFO) for path in paths)


def questions(node: Node) -> Iterator[Question]:
    """What must be seen to know whether it lies at one of its paths, and what is kept there."""
    paths = [reading.value for reading in node.readings if reading.what == PATH]
    yield from (Question(asked) for path in paths for asked in (*map(seen_at, (node.name, path)), flags_at(path)))
    if paths:
        yield Question(sockets.CONNECTIONS, root=True)


def may_answer(sources: Sources, place: str, programs: Collection[str], *, kernel: bool = False) -> bool:
    """What answers at that ``ADDRESS:PORT`` is one of these programs, to which a path means what it means to us; true
    where nobody tells. ``kernel``: or the kernel, whose end of a connection no process has."""
    ends, tree = sockets.answering(sources.claims, place), sources.tree
    ours = {
        each: processes.program(tree, each) in programs and processes.sees_our_files(tree, each)
        for each in frozenset[str]().union(*(ends or ()))
    }
    return ends is None or ((kernel or any(ends)) and all(ours.values()))


def is_same(
    answers: Claims, mounted: str, path: str, inode_shift: int | None = 0, *, tells_change: bool = True
) -> bool:
    """What is mounted there is the directory at that path of this box.

    ``inode_shift``: what the client adds to the server's number; None where it makes its own. ``tells_change``: the
    server tells when a directory was changed; else it may give the time of its modification for that, too.
    """
    there, here = (directories.seen(answers, seen_at(each)) for each in (mounted, path))
    if there is None or here is None or there.modified != here.modified:
        return False
    if there.changed != here.changed and (tells_change or there.changed != here.modified):
        return False
    return inode_shift is None or there.inode == here.inode + inode_shift


def is_alike(answers: Claims, mounted: str, path: str) -> bool:
    """Both were modified in the same second, which is all that a server tells that is known to be ours."""
    there, here = (directories.seen(answers, seen_at(each)) for each in (mounted, path))
    if there is None or here is None:
        return False
    return there.modified.partition(".")[0] == here.modified.partition(".")[0]


def kept_on(sources: Sources, path: str, *, crosses: bool = True) -> tuple[str, ...]:
    """The id of the filesystem that holds that path.

    ``crosses``: the server walks into what is mounted further down, which is then nobody knows which.
    """
    here = sources.holder(path)
    within = f"{path.rstrip('/')}/"
    nested = crosses and any(mount.mount_point.startswith(within) for mount in mounts.read_mounts(sources.tree))
    return (f"mount:{here.mount_point}",) if here is not None and not nested else ()


def keeps_each_write(sources: Sources, path: str) -> bool:
    """What is written there is on the disk before the server can answer, whether it syncs or not: mounted with ``sync``
    (mount(8)), below a directory whose flag S new files take over (chattr(1)), or on a dataset with sync=always
    (zfsprops(7))."""
    here = sources.holder(path)
    flags = (claims.answer(sources.claims, flags_at(path)) or "").partition(" ")[0]
    return here is not None and ("S" in flags or "sync" in here.all_options or _always(sources, here))


def _always(sources: Sources, mount: Mount) -> bool:
    told = datasets.properties(sources.claims).get(mount.source, ()) if mount.fstype == "zfs" else ()
    return datasets.is_always(told)
