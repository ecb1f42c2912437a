"""A device-mapper device that has dm-zero in a part of it: what is written there is thrown away.

``drops_from`` is the byte at which the first such part begins, by the table (``dm_tables``), ``filesystem_end`` the
byte at which the filesystem on the device ends, which never writes behind it. ``zero_targets``: how many tables of this
box have dm-zero; where none has, no superblock is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.model.storage import Node, Reading
from fstui.storage.layers.facts import number
from fstui.storage.layers.readers import some
from fstui.storage.layers.sources import claims
from fstui.storage.layers.sources.claims import Claims, Command, Question
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.stacked.dm_tables import DROPS_PART

TARGETS = "zero_targets"


def targets(tree: Tree) -> tuple[Reading, ...]:
    """Where dm-zero is a module, its users are the tables that have it."""
    told = tree.reading(TARGETS, "/sys/module/dm_zero/refcnt")
    return some([told if told is not None and told.value != "0" else None])


def throws_part_away(readings: Sequence[Reading]) -> bool:
    """By its table."""
    return any(reading.value == DROPS_PART for reading in readings)


def questions(nodes: Sequence[Node]) -> Iterator[Question]:
    """How far a filesystem reaches is asked where some device has dm-zero in it."""
    return (Question(_superblock(node.id), root=True) for node in nodes if node.reading(TARGETS))


def filesystem_end(name: str, found: Claims) -> tuple[Reading, ...]:
    """Of the device of that kernel name, where its superblock was read."""
    command = _superblock(name)
    said = (claims.answer(found, command) or "").strip()
    return (Reading(what="filesystem_end", value=said, path=claims.line(command)),) if said.isdecimal() else ()


def drops_behind_filesystem(node: Node) -> bool:
    """What it throws away lies behind the end of the filesystem on it."""
    starts, ends = number(node, "drops_from"), number(node, "filesystem_end")
    return starts is not None and ends is not None and ends.value <= starts.value


def _superblock(name: str) -> Command:
    """Where the filesystem on a device ends; the child reads its superblock itself."""
    return ("superblock", f"/dev/{name}")
