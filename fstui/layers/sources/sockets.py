"""Who talks to whom on this box: the connections of our network namespace whose two ends both lie here, as ss(8) has
them. What a socket's end belongs to is told by the processes that have it open; one that nobody has is the kernel's."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fstui.layers.sources import claims
from fstui.layers.sources.claims import Claims

CONNECTIONS = ("ss", "--no-header", "--numeric", "--processes", "--tcp", "--unix")
_TCP = re.compile(r"tcp\s+ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+)(.*)", re.ASCII)
_UNIX = re.compile(r"u_str\s+ESTAB\s+\d+\s+\d+\s+.*?(\d+)\s+\*\s+([1-9]\d*)(?:\s+(users:.*))?\s*", re.ASCII)
"""A path or ``*`` and the inode, twice; the peer's is 0 where the kernel has no unix_diag."""
_OWNER = re.compile(r'\(".*?",pid=(\d{1,10}),fd=\d+\)', re.ASCII)
KERNEL: frozenset[str] = frozenset()


class Connection(NamedTuple):
    """One seen from one of its ends: the processes that have this end, and those that have the other."""

    near: frozenset[str]
    far: frozenset[str]


def connections(answers: Claims) -> tuple[Connection, ...]:
    """Each twice, once from either end."""
    ends: dict[tuple[str, str], frozenset[str]] = {}
    for line in (claims.answer(answers, CONNECTIONS) or "").split("\n"):
        if found := _TCP.fullmatch(line.rstrip()):
            ends[_end(found[1]), _end(found[2])] = _owners(found[3])
        elif found := _UNIX.fullmatch(line.rstrip()):
            ends[found[1], found[2]] = _owners(found[3] or "")
    return tuple(_both(ends))


def held_by_kernel(answers: Claims, address: str, port: str) -> int | None:
    """How many connections to there are some filesystem's of the kernel; None where nobody told."""
    said = claims.answer(answers, CONNECTIONS)
    found = (_TCP.fullmatch(line.rstrip()) for line in (said or "").split("\n"))
    told = [each for each in found if each and _end(each[2]) == _end(f"{address}:{port}") and not _owners(each[3])]
    return None if said is None else len(told)


def _both(ends: Mapping[tuple[str, str], frozenset[str]]) -> Iterator[Connection]:
    for (near, far), owners in ends.items():
        if (far, near) in ends:
            yield Connection(owners, ends[far, near])


def _owners(told: str) -> frozenset[str]:
    return frozenset(_OWNER.findall(told))


def _end(told: str) -> str:
    """``[::ffff:127.0.0.1]:10809`` is what the other end calls ``127.0.0.1:10809``."""
    host, _, port = told.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return told
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return f"{mapped or address} {port}"
