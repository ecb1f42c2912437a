"""What ``zpool status`` prints: a pool's state, its vdevs, and what each is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from fstui.model.storage import Reading
from fstui.storage.layers.sources.claims import Claims

GROUPS = ("mirror", "raidz", "draid", "replacing", "spare", "indirect")
_SECTIONS = {"logs": "slog", "cache": "l2arc", "spares": "spare", "special": "special", "dedup": "special"}
_HEALTHY = frozenset({"ONLINE", "AVAIL", "INUSE"})
_STATUS = re.compile(r"^\t( *)(\S+)(?: +(\S+))?(?: +(\S+) +(\S+) +(\S+))?(?: {2}(.*))?")


class Vdev(NamedTuple):
    """One line of ``zpool status``: a disk, a file, or a group of them."""

    name: str
    state: str
    role: str | None
    errors: str
    children: tuple[Vdev, ...] = ()

    @property
    def group(self) -> str | None:
        """``mirror``, ``raidz`` …; None for a disk or a file."""
        if self.name.startswith("/"):
            return None
        return next((kind for kind in GROUPS if self.name.startswith(kind)), None)

    def trouble(self, path: str) -> tuple[Reading, ...]:
        """Its state where that is not healthy, and its errors."""
        found = []
        if self.state and self.state not in _HEALTHY:
            found.append(Reading(what="state", value=self.state, path=path))
        if self.errors:
            found.append(Reading(what="errors", value=self.errors, path=path))
        return tuple(found)


class Status(NamedTuple):
    """What ``zpool status`` says of one pool."""

    name: str
    path: str
    vdevs: tuple[Vdev, ...]
    state: tuple[Reading, ...]


def pools(claims: Claims) -> Mapping[str, Status]:
    """The pools that ``zpool status`` told of, by name."""
    found = {}
    for command, answer in claims.items():
        if command.startswith("zpool status ") and answer.error is None:
            pool = _pool(command, answer.output)
            if pool is not None:
                found[pool.name] = pool
    return found


def _pool(command: str, output: str) -> Status | None:
    head, _, config = output.partition("\nconfig:")
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.split("\n"))}
    name = fields.get("pool")
    if not name:
        return None
    lines = [match for line in config.split("\n") if (match := _STATUS.match(line)) and match[2] != "NAME"]
    top, vdevs = _tree(lines)
    trouble = list(top.trouble(command)) if top is not None else []
    state = fields.get("state", "")
    if state and state not in _HEALTHY and not trouble:
        trouble.append(Reading(what="state", value=state, path=command))
    # the scan's further lines are indented; only its first says what goes on
    if "in progress" in fields.get("scan", ""):
        trouble.append(Reading(what="scan", value=fields["scan"].partition(" since")[0], path=command))
    return Status(name, command, vdevs, tuple(trouble))


def _tree(lines: list[re.Match[str]]) -> tuple[Vdev | None, tuple[Vdev, ...]]:
    """The pool's own line and its vdevs. Sections (logs, cache …) stand at the depth of the pool."""
    top: Vdev | None = None
    vdevs: list[Vdev] = []
    role: str | None = None
    for match in lines:
        depth = len(match[1]) // 2
        if depth == 0 and match[2] in _SECTIONS and not match[3]:
            role = _SECTIONS[match[2]]
            continue
        counts = [count for count in match.group(4, 5, 6) if count not in (None, "0", "-")]
        errors = "read {} write {} checksum {}".format(*match.group(4, 5, 6)) if counts else ""
        vdev = Vdev(match[2], match[3] or "", role, errors)
        if depth == 0:
            top = vdev
        elif depth == 1 or not vdevs:
            vdevs.append(vdev)
        else:
            vdevs[-1] = _with_child(vdevs[-1], vdev, depth - 1)
    return top, tuple(vdevs)


def _with_child(parent: Vdev, child: Vdev, depth: int) -> Vdev:
    if depth <= 1 or not parent.children:
        return parent._replace(children=(*parent.children, child))
    last = _with_child(parent.children[-1], child, depth - 1)
    return parent._replace(children=(*parent.children[:-1], last))
