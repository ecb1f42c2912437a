from collections.abc import Mapping
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.forwarding import ALL, INTENT_LOG, SOME_WRITES, SOMETIMES, Forwarded
from fstui.storage.tool_output import ToolOutput
from tests.factories.box import Box
from tests.factories.evidence import quiet, verdict
from tests.factories.looking import look
from tests.factories.steps import step
from tests.factories.storage import filesystem

POOL = Node(id="pool:tank", layer="pool", kind="zpool", name="tank")
LATENCY, THROUGHPUT = filesystem("zfs", logbias="latency"), filesystem("zfs", logbias="throughput")


def forwarded(role: str | None, *others: str | None, dataset: Node = LATENCY) -> Forwarded:
    roles = dict(zip("abc", (role, *others), strict=False))
    pool = replace(POOL, below=tuple(roles), below_roles={disk: role for disk, role in roles.items() if role})
    return kind("zpool").forwards(pool, "a", dataset)


def test_throughput_bias_bypasses_the_slog() -> None:
    assert forwarded("slog", None, dataset=THROUGHPUT) == SOMETIMES
    assert forwarded(None, "slog", dataset=THROUGHPUT) == INTENT_LOG


@pytest.mark.parametrize(("name", "tolerates", "gets"), [
    ("mirror-0", 3, ALL), ("raidz1-0", 1, SOME_WRITES), ("raidz2-0", 2, SOME_WRITES),
    ("raidz3-1", 3, SOME_WRITES), ("draid2:4d:9c:1s-0", 2, SOME_WRITES),
    ("replacing-0", 0, SOMETIMES),
])  # fmt: skip
def test_group_tolerates_what_its_name_says(name: str, tolerates: int, gets: Forwarded) -> None:
    group = next(group for group in ("mirror", "raidz", "draid", "replacing") if name.startswith(group))
    vdev = Node(id=f"vdev:{name}", layer="pool", kind=group, name=name)
    assert kind(group).tolerated_failures(vdev, 4) == tolerates
    assert kind(group).forwards(vdev, "a", LATENCY) == gets


HEAD = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME  STATE  READ WRITE CKSUM\n\ttank  ONLINE  0 0 0\n"
SECTIONS = ("logs", "special", "cache", "spares", "dedup")
FILE = "/img/f"


class Pool(NamedTuple):
    """Arguments of ``zpool create``; ``write_through``: disks that the kernel is set to."""

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
    """Return what ``zpool status -L -P`` prints for a pool created with those arguments."""
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
    return look(box, tool_outputs={"zpool status -L -P tank": ToolOutput(output=status(pool.words))})


def accused(box: Box, pool: Pool, top: str) -> bool:
    done = step(flushes=pool.flushes or {"sdd": 0.0}, share=dict.fromkeys(pool.flushes or {"sdd": 0.0}, 1.2))
    judged = verdict(mounted(box, pool, top), done, idle=quiet(*pool.flushes))
    return judged.verdict in {"not-durable", "suspicious"}


def _id(pool: Pool) -> str:
    return " ".join((pool.words, *pool.write_through, pool.image))


@pytest.mark.parametrize("top", ["zfs", "zvol"])
@pytest.mark.parametrize("pool", HONEST, ids=_id)
def test_durable_pool_is_not_accused(box: Box, pool: Pool, top: str) -> None:
    assert not accused(box, pool, top)


@pytest.mark.parametrize("top", ["zfs", "zvol"])
@pytest.mark.parametrize("pool", LOSING, ids=_id)
def test_pool_that_loses_data_is_accused(box: Box, pool: Pool, top: str) -> None:
    assert accused(box, pool, top)
