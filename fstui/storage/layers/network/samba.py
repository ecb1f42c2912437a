"""An SMB server that is this very box's Samba: whether it flushes at all.

Its directory is followed where that is proved: the share is mounted from an address of this box; no connection to that
address is of another network namespace (fs/smb/client/cifs_debug.c: Linux 6.12 tells; under 6.1 the kernel must have as
many connections in ours as the client has servers); smbd listens on that port, in this mount namespace, and neither a
container's nor what hands a container's on; and the directory that its settings name is the one that is mounted, the
share's name and the user's put in.

With ``strict sync = no`` smbd answers a client's flush by itself, whatever ``sync always`` says (smb.conf(5)). That is
told only where, besides, it is smbd of the distribution with no options that lead it to other settings; its file, which
names no other, is older than it; and the directory does not keep each write by itself. Readings: ``own_share`` (its
server's port, and its name), ``served`` (strict sync = no).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.model.storage import Node, Reading
from fstui.storage.layers.network import own_servers
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses, claims, processes, sockets
from fstui.storage.layers.sources.claims import Command, Question
from fstui.storage.layers.sources.files import Tree, integer
from fstui.storage.layers.sources.mounts import MOUNTINFO, Mount

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
    user: str


def share(sources: Sources, mount: Mount) -> Share | None:
    """What is mounted, where its server's address is one of this box's own."""
    server, _, rest = mount.source.replace("\\", "/").removeprefix("//").partition("/")
    name, _, within = rest.partition("/")
    address, port = mount.option("addr") or "", mount.option("port") or _PORT
    own = server and name and addresses.is_own(sources.tree, address)
    if not own or _is_met_elsewhere(sources, address, port):
        return None
    return Share(name, port, f"/{within}{mount.root}".rstrip("/"), mount.option("username") or "")


def _is_met_elsewhere(sources: Sources, address: str, port: str) -> bool:
    """Some server at that address is met from another network namespace: which mount is whose is told nowhere."""
    tree = sources.tree
    ours = (tree.link("/proc/self/ns/net") or "").removeprefix("net:[").removesuffix("]")
    every = (tree.text(CONNECTIONS, _CONNECTIONS_BYTES) or "").split("ConnectionId:")[1:]
    servers = [each for each in every if f"Address: {address} " in each]
    told = {found for each in servers for found in _NAMESPACE.findall(each)}
    here = sockets.answering(sources.claims, f"{address}:{port}")
    return bool(told - {ours}) if told else here is not None and len(here) < len(servers)


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
    found = share(sources, mount)
    if found is not None:
        yield Reading(what="own_share", value=f"{found.port}/{found.name}", path=MOUNTINFO)
        yield from own_servers.readings(_paths(sources, found))
        if (served := _told(sources, found)) is not None and _loses_writes(sources, mount):
            yield served


def questions(node: Node) -> Iterator[Question]:
    """All that must be known of the server of such a share."""
    own = node.reading("own_share")
    port, _, name = own.value.partition("/") if own is not None else ("", "", "")
    asked = (path(name), listening(port), strict_sync(name), CHANGED, sockets.CONNECTIONS) if own is not None else ()
    yield from (Question(command, root=True) for command in asked)
    yield from own_servers.questions(node)


def kept_at(sources: Sources, mount: Mount) -> str | None:
    """Where on this box it lies, where that is proved."""
    found = share(sources, mount)
    listener = claims.answer(sources.claims, listening(found.port)) if found is not None else None
    if listener is not None and _server(sources.tree, listener) is None:
        return None
    shift = 0 if "serverino" in mount.super_options else None
    paths = _paths(sources, found) if found is not None else ()
    here, answers = mount.mount_point, sources.claims
    # after a chmod of the directory Samba 4.17 gave its modification for its change
    same = (each for each in paths if own_servers.is_same(answers, here, each, shift, tells_change=False))
    return next(same, None)


def _paths(sources: Sources, found: Share) -> tuple[str, ...]:
    """Those that its settings name, with the variables that are known here (smb.conf(5), VARIABLE SUBSTITUTIONS)."""
    known = {"%S": found.name, "%U": found.user, "%u": found.user}
    said = (claims.answer(sources.claims, path(found.name)) or "").split("\n")
    lines = [re.sub("%[SUu]", lambda each: known[each[0]] or each[0], line) for line in said if line.startswith("/")]
    return tuple(f"{line.rstrip('/')}{found.within}" or "/" for line in lines if "%" not in line)


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
    if not _is_plain(tree, server):
        return None
    started = processes.started_s(tree, server)
    if started is None or changed >= started or _ELSEWHERE.search(settings):
        return None
    return Reading(what="served", value="strict sync = no", path=claims.line(strict_sync(found.name)))


def _server(tree: Tree, said: str) -> str | None:
    """The one smbd that listens there, and to which a path means what it means to us."""
    found = [_LISTENER.search(line) for line in said.split("\n") if line.strip()]
    numbers = {match[1] if match else "" for match in found}  # nobody's is the kernel's own (ksmbd)
    number = numbers.pop() if len(numbers) == 1 else ""
    return number if number and processes.sees_our_files(tree, number) else None


def _is_plain(tree: Tree, number: str) -> bool:
    """It is the distribution's, and reads that file alone."""
    home = f"/proc/{number}"
    command = tree.data(f"{home}/cmdline")
    return command is not None and not _OTHER_SETTINGS.search(command) and tree.link(f"{home}/exe") == _SERVER
