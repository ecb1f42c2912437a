"""An SMB server that is this very box's Samba: whether it flushes at all.

With ``strict sync = no`` smbd answers a client's flush by itself, whatever ``sync always`` says (smb.conf(5)). It is
told only where all of this is so: the share is mounted from an address of this box; smbd of the distribution listens on
that port, in this mount namespace and with no options that lead it to other settings; and its file, which names no
other, is older than it. Readings: ``own_share`` (its server's port, and its name), ``served`` (strict sync = no).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.layers.sources import addresses, claims
from fstui.layers.sources.claims import Claims, Command
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
_STARTED = 19
"""In /proc/PID/stat, after the name: ticks since the box began (proc_pid_stat(5), field 22)."""


class Share(NamedTuple):
    """A share that this box mounts from itself."""

    name: str
    port: str


def share(tree: Tree, mount: Mount) -> Share | None:
    """What is mounted, where its server's address is one of this box's own."""
    words = mount.source.replace("\\", "/").removeprefix("//").split("/")
    if len(words) < 2 or not words[1] or not addresses.is_own(tree, mount.option("addr") or ""):
        return None
    return Share(words[1], mount.option("port") or _PORT)


def listening(port: str) -> Command:
    """Who waits for connections there."""
    return ("ss", "--no-header", "--listening", "--tcp", "--numeric", "--processes", f"sport = :{port}")


def strict_sync(name: str) -> Command:
    """Samba's own word on that share."""
    return ("testparm", "--suppress-prompt", f"--section-name={name}", "--parameter-name=strict sync", FILE)


CHANGED = ("stat", "--dereference", "--format=%Z", FILE)
"""When the file was written or put there, in seconds: one that was moved or copied may keep its older date."""


def readings(tree: Tree, answers: Claims, mount: Mount) -> Iterator[Reading]:
    """``own_share`` (port/name), and what its server was told, as far as that is known."""
    found = share(tree, mount)
    if found is not None:
        yield Reading(what="own_share", value=f"{found.port}/{found.name}", path=MOUNTINFO)
        if (served := _told(tree, answers, found)) is not None:
            yield served


def questions(node: Node) -> tuple[Command, ...]:
    """All that must be known of the server of such a share."""
    own = node.reading("own_share")
    port, _, name = own.value.partition("/") if own is not None else ("", "", "")
    return (listening(port), strict_sync(name), CHANGED) if own is not None else ()


def _told(tree: Tree, answers: Claims, found: Share) -> Reading | None:
    """``served`` (strict sync = no); None where it is on, or it cannot be read for certain."""
    said = claims.answer(answers, strict_sync(found.name)) or ""
    server = _server(tree, claims.answer(answers, listening(found.port)) or "")
    changed = integer((claims.answer(answers, CHANGED) or "").strip())
    settings = tree.text(FILE)
    if "No" not in said.split("\n") or server is None or changed is None or settings is None:
        return None
    started = _started_s(tree, server)
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
    same = all(tree.link(f"{home}/{what}") == tree.link(f"/proc/self/{what}") for what in ("ns/mnt", "root"))
    command = tree.data(f"{home}/cmdline")
    plain = command is not None and not _OTHER_SETTINGS.search(command)
    return number if same and plain and tree.link(f"{home}/exe") == _SERVER else None


def _started_s(tree: Tree, number: str) -> float | None:
    """When that process began, in seconds as files are dated."""
    words = (tree.text(f"/proc/{number}/stat") or "").rpartition(") ")[2].split()
    booted = re.search(r"^btime (\d+)$", tree.text("/proc/stat") or "", re.M)
    booted_s, ticks = integer(booted[1] if booted else None), integer("".join(words[_STARTED : _STARTED + 1]))
    return None if booted_s is None or ticks is None else booted_s + ticks / os.sysconf("SC_CLK_TCK")
