"""An SMB server that is this very box's Samba: whether it flushes at all.

With ``strict sync = no`` smbd answers a client's flush by itself, whatever ``sync always`` says (smb.conf(5)). It is
told only where all of this is so: the share is mounted from an address of this box, and no connection to that address
is known to be of another network namespace (fs/smb/client/cifs_debug.c: Linux 6.12 tells, 6.1 does not); smbd of the
distribution listens on that port, in this mount namespace and with no options that lead it to other settings; its file,
which names no other, is older than it; the directory that it names is the one that is mounted, and does not keep each
write by itself. Readings: ``own_share`` (its server's port, and its name), ``served`` (strict sync = no).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.layers import own_servers
from fstui.layers.readers import Sources
from fstui.layers.sources import addresses, claims, processes
from fstui.layers.sources.claims import Command, Question
from fstui.layers.sources.files import Tree, integer
from fstui.layers.sources.mounts import MOUNTINFO, Mount
from fstui.model.storage import Node, Reading

FILE = "/etc/samba/smb.conf"
_SERVER = "/usr/sbin/smbd"
_PORT = "445"
_LISTENER = re.compile(r'users:\(\("smbd",pid=(\d{1,10}),')
_ELSEWHERE = re.compile(r"^\s*(include|config\s*file|config\s*backend|copy|registry\s*shares)\s*=", re.I | re.M)
_OTHER_SETTINGS = re.compile(rb"\0(-[^-\0]*[sl]|--configfile|--option)")
"""Letters may stand together: ``-Ds FILE``."""

CONNECTIONS = "/proc/fs/cifs/DebugData"
_CONNECTIONS_BYTES = 1 << 20
_NAMESPACE = re.compile(r"Net namespace: (\d+)")


class Share(NamedTuple):
    """A share that this box mounts from itself."""

    name: str
    port: str
    within: str
    """The directory of it that is mounted: empty, or beginning with a slash."""


def share(tree: Tree, mount: Mount) -> Share | None:
    """What is mounted, where its server's address is one of this box's own."""
    server, _, rest = mount.source.replace("\\", "/").removeprefix("//").partition("/")
    name, _, within = rest.partition("/")
    address = mount.option("addr") or ""
    if not server or not name or not addresses.is_own(tree, address) or _is_elsewhere(tree, address):
        return None
    return Share(name, mount.option("port") or _PORT, f"/{within}{mount.root}".rstrip("/"))


def _is_elsewhere(tree: Tree, address: str) -> bool:
    """Some server at that address is met from another network namespace: which mount is whose is told nowhere."""
    ours = (tree.link("/proc/self/ns/net") or "").removeprefix("net:[").removesuffix("]")
    servers = (tree.text(CONNECTIONS, _CONNECTIONS_BYTES) or "").split("ConnectionId:")[1:]
    there = {found for each in servers if f"Address: {address} " in each for found in _NAMESPACE.findall(each)}
    return bool(there - {ours})


def listening(port: str) -> Command:
    """Who waits for connections there."""
    return ("ss", "--no-header", "--listening", "--tcp", "--numeric", "--processes", f"sport = :{port}")


def parameter(share: str, what: str) -> Command:
    """Samba's own word on that share."""
    return ("testparm", "--suppress-prompt", f"--section-name={share}", f"--parameter-name={what}", FILE)


def strict_sync(name: str) -> Command:
    """Whether it flushes."""
    return parameter(name, "strict sync")


def path(name: str) -> Command:
    """Where it lies."""
    return parameter(name, "path")


CHANGED = ("stat", "--dereference", "--format=%Z", FILE)
"""When the file was written or put there, in seconds: one that was moved or copied may keep its older date."""


def readings(sources: Sources, mount: Mount) -> Iterator[Reading]:
    """``own_share`` (port/name), ``own_path``, and what its server was told, as far as that is known."""
    found = share(sources.tree, mount)
    if found is not None:
        yield Reading(what="own_share", value=f"{found.port}/{found.name}", path=MOUNTINFO)
        yield from own_servers.readings(_paths(sources, found))
        if (served := _told(sources, found)) is not None and _loses_writes(sources, mount):
            yield served


def questions(node: Node) -> Iterator[Question]:
    """All that must be known of the server of such a share."""
    own = node.reading("own_share")
    port, _, name = own.value.partition("/") if own is not None else ("", "", "")
    asked = (path(name), listening(port), strict_sync(name), CHANGED) if own is not None else ()
    yield from (Question(command, root=True) for command in asked)
    yield from own_servers.questions(node)


def kept_at(sources: Sources, mount: Mount) -> str | None:
    """Where on this box it lies, where that is proved."""
    found = share(sources.tree, mount)
    shift = 0 if "serverino" in mount.super_options else None
    paths = _paths(sources, found) if found is not None else ()
    same = (each for each in paths if own_servers.is_same(sources.claims, mount.mount_point, each, shift))
    return next(same, None)


def _paths(sources: Sources, found: Share) -> tuple[str, ...]:
    said = (claims.answer(sources.claims, path(found.name)) or "").split("\n")
    return tuple(
        f"{line.rstrip('/')}{found.within}" or "/" for line in said if line.startswith("/") and "%" not in line
    )


def _loses_writes(sources: Sources, mount: Mount) -> bool:
    """Where it lies is known, and no write is kept there by itself."""
    place = kept_at(sources, mount)
    return (
        place is not None
        and bool(own_servers.kept_on(sources, place))
        and not own_servers.keeps_each_write(sources, place)
    )


def _told(sources: Sources, found: Share) -> Reading | None:
    """``served`` (strict sync = no); None where it is on, or it cannot be read for certain."""
    tree, answers = sources.tree, sources.claims
    said = claims.answer(answers, strict_sync(found.name)) or ""
    server = _server(tree, claims.answer(answers, listening(found.port)) or "")
    changed = integer((claims.answer(answers, CHANGED) or "").strip())
    settings = tree.text(FILE)
    if "No" not in said.split("\n") or server is None or changed is None or settings is None:
        return None
    started = processes.started_s(tree, server)
    if started is None or changed >= started or _ELSEWHERE.search(settings):
        return None
    return Reading(what="served", value="strict sync = no", path=claims.line(strict_sync(found.name)))


def _server(tree: Tree, said: str) -> str | None:
    """The one smbd that listens there and reads that file."""
    found = [_LISTENER.search(line) for line in said.split("\n") if line.strip()]
    numbers = {match[1] if match else "" for match in found}  # nobody's is the kernel's own (ksmbd)
    number = numbers.pop() if len(numbers) == 1 else ""
    if not number:
        return None
    home = f"/proc/{number}"
    same = processes.sees_our_files(tree, number)
    command = tree.data(f"{home}/cmdline")
    plain = command is not None and not _OTHER_SETTINGS.search(command)
    return number if same and plain and tree.link(f"{home}/exe") == _SERVER else None
