"""Who talks to whom on this box: the connections of our network namespace whose two ends both lie here, as ss(8) has
them. What a socket's end belongs to is told by the processes that have it open; one that nobody has is the kernel's."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fstui.storage.layers.sources import claims
from fstui.storage.layers.sources.claims import Claims

CONNECTIONS = ("ss", "--no-header", "--numeric", "--processes", "--tcp", "--unix")
_TCP = re.compile(r"tcp\s+ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+)(.*)", re.ASCII)
_UNIX = re.compile(r"u_str\s+ESTAB\s+\d+\s+\d+\s+.*?(\d+)\s+\*\s+([1-9]\d*)(?:\s+(users:.*))?\s*", re.ASCII)
"""A path or ``*`` and the inode, twice; the peer's is 0 where the kernel has no unix_diag."""
_OWNER = re.compile(r'\(".*?",pid=(\d{1,10}),fd=\d+\)', re.ASCII)
KERNEL: frozenset[str] = frozenset()


Ends = tuple[str, str]
"""Where this end is, and where the other."""


class Connection(NamedTuple):
    """One seen from one of its ends: the processes that have this end, and those that have the other."""

    near: frozenset[str]
    far: frozenset[str]
    ends: Ends


def ends_in(told: str) -> Ends:
    """``127.0.0.1:48254 127.0.0.1:10809`` as a connection's."""
    near, _, far = told.strip().partition(" ")
    return _end(near), _end(far)


def connections(answers: Claims) -> tuple[Connection, ...]:
    """Each twice, once from either end."""
    return tuple(_both(_ends(answers)))


def answering(answers: Claims, place: str) -> tuple[frozenset[str], ...] | None:
    """Of each TCP connection from some filesystem of the kernel to there (``ADDRESS:PORT``): the processes that have
    the other end, none where the kernel has that too, or it is out of sight. None where nobody told."""
    ends = _ends(answers)
    far = _end(place)
    towards = [end for end, owners in ends.items() if end[1] == far and owners == KERNEL]
    told = claims.answer(answers, CONNECTIONS) is not None
    return tuple(ends.get((end[1], end[0]), KERNEL) for end in towards) if told else None


def _ends(answers: Claims) -> dict[Ends, frozenset[str]]:
    """Whose each end is, by itself and the other."""
    ends: dict[Ends, frozenset[str]] = {}
    for line in (claims.answer(answers, CONNECTIONS) or "").split("\n"):
        if found := _TCP.fullmatch(line.rstrip()):
            ends[_end(found[1]), _end(found[2])] = _owners(found[3])
        elif found := _UNIX.fullmatch(line.rstrip()):
            ends[found[1], found[2]] = _owners(found[3] or "")
    return ends


def _both(ends: Mapping[Ends, frozenset[str]]) -> Iterator[Connection]:
    for (near, far), owners in ends.items():
        if (far, near) in ends:
            yield Connection(owners, ends[far, near], (near, far))


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
