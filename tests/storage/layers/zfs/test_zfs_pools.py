"""Pools of many shapes, as ``zpool status`` tells of them: no honest one accused, none that loses data left alone.

Each with the flushes that every sync sends to its devices, below a dataset and below ext4 on a volume.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fstui.model.storage import Target
from fstui.storage.layers.sources.claims import Answer
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import quiet, verdict
from tests.factories.looking import target
from tests.factories.steps import step

HEAD = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME  STATE  READ WRITE CKSUM\n\ttank  ONLINE  0 0 0\n"
SECTIONS = ("logs", "special", "cache", "spares", "dedup")
FILE = "/img/f"


class Pool(NamedTuple):
    """Words of ``zpool create``; ``write_through`` those disks that the kernel was told so of."""

    words: str
    flushes: Mapping[str, float]
    write_through: tuple[str, ...] = ()
    image: str = "ext4"
    """The filesystem of a pool's file: tmpfs, or ext4 with those options."""


HONEST = (
    Pool("sda", {"sda": 1}),
    Pool("sda logs mirror sdb ram0", {"sda": 0, "sdb": 1}),
    Pool("sda logs sdb", {"sda": 1, "sdb": 1}),
    Pool("sda special sdb", {"sda": 1, "sdb": 0}),
    Pool("sda special sdb", {"sda": 0, "sdb": 1}),
    Pool("sda special mirror sdb ram0", {"sda": 1, "sdb": 0}),
    Pool("sda cache ram0", {"sda": 1}),
    Pool("sda spares ram0", {"sda": 1}),
    Pool("raidz1 sda sdb ram0", {"sda": 1, "sdb": 1}),
    Pool("raidz2 sda sdb ram0 ram1", {"sda": 1, "sdb": 1}),
    Pool("mirror sda ram0", {"sda": 1}),
    Pool("mirror sda sdb mirror sdc sdd", {"sda": 1, "sdb": 1, "sdc": 0, "sdd": 0}),
    Pool("mirror sda sdb", {"sda": 0, "sdb": 1}, write_through=("sda",)),
    Pool("raidz1 sda sdb sdc", {"sda": 0, "sdb": 1, "sdc": 1}, write_through=("sda",)),
    Pool("sda logs mirror sdb sdc", {"sda": 0, "sdb": 0, "sdc": 1}, write_through=("sdb",)),
    Pool("sda cache sdb", {"sda": 1, "sdb": 0}, write_through=("sdb",)),
    Pool(FILE, {"sdf": 1}),
    Pool(f"mirror sda {FILE}", {"sda": 1, "sdf": 0}, image="rw,nobarrier"),
    Pool(f"mirror sda {FILE}", {"sda": 1}, image="tmpfs"),
)
LOSING = (
    Pool("sda logs ram0", {"sda": 0}),
    Pool("sda logs sdb ram0", {"sda": 0, "sdb": 0.5}),
    Pool("sda special ram0", {"sda": 1}),
    Pool("sda dedup ram0", {"sda": 1}),
    Pool("raidz1 sda ram0 ram1", {"sda": 1}),
    Pool("mirror ram0 ram1", {}),
    Pool("sda ram0", {"sda": 0.5}),
    Pool("sda sdb", {"sda": 0, "sdb": 0.5}, write_through=("sda",)),
    Pool("raidz1 sda sdb sdc", {"sda": 0, "sdb": 0, "sdc": 1}, write_through=("sda", "sdb")),
    Pool("sda logs sdb", {"sda": 1, "sdb": 0}, write_through=("sdb",)),
    Pool("sda special sdb", {"sda": 1, "sdb": 0}, write_through=("sdb",)),
    Pool(FILE, {"sdf": 0}, image="rw,nobarrier"),
    Pool(f"sda {FILE}", {"sda": 0.5, "sdf": 0}, image="rw,nobarrier"),
    Pool(FILE, {}, image="tmpfs"),
)


def status(words: str) -> str:
    """What ``zpool status -L -P`` prints of a pool that was made with those words."""
    lines, depth = [], 1
    for number, word in enumerate(words.split()):
        if word in SECTIONS:
            lines.append(f"\t{word}\n")
            depth = 1
        elif word.startswith(("mirror", "raidz")):
            lines.append(f"\t  {word}-{number}  ONLINE  0 0 0\n")
            depth = 2
        else:
            name = word if word.startswith("/") else f"/dev/{word}"
            lines.append(f"\t{'  ' * depth}{name}  ONLINE  0 0 0\n")
    return HEAD + "".join(lines)


def mounted(box: Box, pool: Pool, top: str) -> Target:
    for letter in "abcdf":
        box.disk(f"sd{letter}")
        through = f"sd{letter}" in pool.write_through
        box.write(f"/sys/block/sd{letter}/queue/write_cache", "write through" if through else "write back")
        box.write(f"/sys/block/sd{letter}/device/scsi_disk/0:0:0:0/cache_type", "write back")
    for ram in ("ram0", "ram1"):
        box.device(ram)
    if pool.image == "tmpfs":
        box.mount("tmpfs", "/img", "tmpfs", device="0:50")
    else:
        box.mount("/dev/sdf", "/img", "ext4", super_options=pool.image if "," in pool.image else "rw")
    if top == "zfs":
        box.mount("tank/data", "/srv", "zfs", device="0:44")
    else:
        box.device("zd0")
        box.link("/dev/zvol/tank/volume", "../../zd0")
        box.mount("/dev/zd0", "/srv", "ext4")
    return target(survey(box.root, claims={"zpool status -L -P tank": Answer(output=status(pool.words))}), "/srv")


def accused(box: Box, pool: Pool, top: str) -> bool:
    done = step(flushes=pool.flushes or {"sdd": 0.0}, share=dict.fromkeys(pool.flushes or {"sdd": 0.0}, 1.2))
    judged = verdict(mounted(box, pool, top), done, idle=quiet(*pool.flushes))
    return judged.verdict in {"not-durable", "suspicious"}


def _id(pool: Pool) -> str:
    return " ".join((pool.words, *pool.write_through, pool.image))


@pytest.mark.parametrize("top", ["zfs", "zvol"])
@pytest.mark.parametrize("pool", HONEST, ids=_id)
def test_no_pool_that_keeps_everything_is_accused(box: Box, pool: Pool, top: str) -> None:
    assert not accused(box, pool, top)


@pytest.mark.parametrize("top", ["zfs", "zvol"])
@pytest.mark.parametrize("pool", LOSING, ids=_id)
def test_a_pool_that_loses_something_is_accused(box: Box, pool: Pool, top: str) -> None:
    assert accused(box, pool, top)
