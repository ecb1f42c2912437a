"""9p from this very box: where its server has the directory (Documentation/filesystems/9p.rst)."""

from __future__ import annotations

from fstui.storage.layers.network import own_servers
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.sources.mounts import Mount

_SERVERS, _PORT = ("diod", "ganesha.nfsd", "u9fs"), "564"
_INODE_SHIFT = 2
"""fs/9p/vfs_inode.c: v9fs_qid2ino."""


def named_here(tree: Tree, mount: Mount) -> tuple[str, ...]:
    """Where the server has it, if that is a program of this box."""
    name = mount.option("aname") or ""
    trans = mount.option("trans")
    here = trans == "unix" or (trans == "tcp" and addresses.is_own(tree, mount.source))
    return (f"{name.rstrip('/')}{mount.root.rstrip('/')}" or "/",) if here and name.startswith("/") else ()


def kept_at(sources: Sources, mount: Mount) -> str | None:
    """The same, where it is proved to be what is mounted."""
    place = f"{mount.source}:{mount.option('port') or _PORT}"
    ours = mount.option("trans") == "unix" or own_servers.may_answer(sources, place, _SERVERS)
    answers, paths = sources.claims, named_here(sources.tree, mount) if ours else ()
    return next((p for p in paths if own_servers.is_same(answers, mount.mount_point, p, _INODE_SHIFT)), None)
