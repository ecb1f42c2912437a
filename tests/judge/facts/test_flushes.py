"""How many flushes and bytes each device has to receive: one row for each stack, step and verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.model.steps import Step
from fstui.model.storage import Node, Space, Target
from tests.factories.evidence import evidence, finding, quiet, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, on_pool, readings, target

BOTH = (disk(), disk("sdb"))
OK, LOST, UNKNOWN = "consistent", "not-durable", "cannot-tell"
Row = tuple[str, Target, Step, str]
FORCED: dict[str, Any] = {"sync": "none", "open_flags": ("direct", "dsync")}


def over(top: Node, *below: Node, kind: str = "ext4", **values: str) -> Target:
    return target(filesystem(kind, below=(top.id,), **values), top, *(below or BOTH))


def array(kind: str, level: str | None = None, **more: Any) -> Target:
    read = readings(level=level) if level else readings(request_based="no") if kind == "dm-multipath" else ()
    return over(block("top", kind, "sda", "sdb", readings=read, **more))


def received(flushes: Mapping[str, float], share: Mapping[str, float] | float = 1.0, **more: Any) -> Step:
    return step(flushes=flushes, share=share, **more)


def two(flushes: tuple[float, float], share: tuple[float, float] = (0.5, 0.5), **more: Any) -> Step:
    """Flushes and bytes at sda and sdb."""
    return received(
        dict(zip(("sda", "sdb"), flushes, strict=True)), dict(zip(("sda", "sdb"), share, strict=True)), **more
    )


def two_loops(level: str, *below: Node) -> Target:
    array = block("md0", "md", "loop0", "loop1", readings=readings(level=level))
    images = [
        Node(id=f"file:/{x}.img", layer="file", kind="backing-file", name=f"/{x}.img", below=("mount:/",)) for x in "xy"
    ]
    loops = [disk(f"loop{i}", kind="loop", lowest=False, below=(image.id,)) for i, image in enumerate(images)]
    return target(filesystem(below=("md0",)), array, *loops, *images, *below)


def paths() -> Iterator[Row]:
    for kind in ("dm-multipath", "nvme-multipath"):
        yield f"{kind} shares flushes and bytes", array(kind), two((0.5, 0.5)), OK
        yield f"{kind} sends a flush and its write by different paths", array(kind), two((1, 0), (0, 1)), OK
    unknown = over(block("top", "dm-multipath", "sda", "sdb"))
    yield "paths of a device that may be request-based", unknown, two((0, 0)), UNKNOWN  # they do not count clones
    yield "paths of a bio-based device", array("dm-multipath"), two((0, 0)), LOST
    yield "too few on all paths", array("dm-multipath"), two((0.4, 0.4)), LOST
    yield "too many on the paths", array("dm-multipath"), two((1, 1)), UNKNOWN
    head = disk("dm-0", kind="dm-multipath", below=("sda", "sdb"), lowest=False)
    share = {"dm-0": 1, "sda": 0.5, "sdb": 0.5}
    for flushes, says in ((1, OK), (0, LOST)):
        yield f"head counts {flushes}", over(head), received({"dm-0": flushes, "sda": 0, "sdb": 0}, share), says
    uncounted = block(
        "dm-0", "dm-multipath", "sda", "sdb", write_cache="write back", readings=readings(request_based="yes")
    )
    yield "head without iostats", over(uncounted), two((0, 0)), UNKNOWN
    one = over(block("dm-0", "dm-multipath", "sda", "sdb"), disk(), disk("sdb", counted=False))
    one_counts = step(flushes={"sda": 0.4, "sdb": None}, share={"sda": 0.5, "sdb": None})
    yield "path that does not count", one, one_counts, UNKNOWN
    fua_paths = (disk(name, below=("vda",), lowest=False, fua=True) for name in ("sda", "sdb"))
    stack = over(replace(head, fua=True), *fua_paths, disk("vda"))
    for flushes, says in ((0, LOST), (1, OK)):
        counts = {"dm-0": 0, "sda": 0, "sdb": 0, "vda": flushes}
        yield f"FUA write on one path, {flushes}", stack, received(counts, {**share, "vda": 1}, **FORCED), says


def stripes() -> Iterator[Row]:
    for kind, level in (("dm-stripe", None), ("md", "raid0"), ("dm-linear", None)):
        yield f"{kind} flushes every member", array(kind, level), two((1, 1)), OK
    yield "too few at one stripe", array("md", "raid0"), two((1, 0.5)), LOST
    names = [f"sd{letter}" for letter in "abcdefghijklmnopqrst"]
    many = over(block("md0", "md", *names, readings=readings(level="raid0")), *map(disk, names))
    for last, says in ((1.0, OK), (0.5, LOST)):
        yield f"twenty stripes, {last}", many, received({**dict.fromkeys(names, 1.0), "sdt": last}, 0.05), says
    for kind, level in (("md", "raid0"), ("dm-stripe", None), ("dm-linear", None)):
        read = readings(level=level) if level else ()
        top = block("md0", kind, "sda", "sdb", readings=read, write_cache="write back", fua=kind == "md")
        for other, says in ((2.0, OK), (1.0, OK), (0.9, LOST), (0.0, LOST)):  # Linux 6.12: 1.00 and 2.00
            done = two((2.0, other), (1.5, 1.5))
            yield f"super block of btrfs on one of two, {kind}, {other}", over(top, kind="btrfs"), done, says
    md = block("top", "md", "sda", "sdb", write_cache="write back", fua=True, readings=readings(level="raid0"))
    journal = {"data": "journal", "journal": "yes", "barrier": "barrier"}
    for each, says in (((2.4, 2.6), OK), ((2.4, 0.0), LOST)):  # Linux 6.12: 488 and 512 for 200 O_DSYNC writes
        yield f"FUA write through data=journal, {each}", over(md, **journal), two(each, (2, 2), **FORCED), says
    for kind, each, says in (  # Linux 6.12: 500 and 700 for 200 syncs on dm-stripe, 500 and 500 on md
        ("dm-stripe", (2.5, 3.5), OK), ("dm-stripe", (2.5, 0.0), LOST), ("md", (2.5, 3.5), UNKNOWN),
        ("dm-stripe", (2.5, 5.0), UNKNOWN),
    ):  # fmt: skip
        top = block("top", kind, "sda", "sdb", write_cache="write back", fua=False, readings=readings(level="raid0"))
        yield f"{kind} flushes a device again for a commit, {each}", over(top, **journal), two(each, (2, 2)), says
    linear = over(block("dm-0", "dm-linear", "sda", write_cache="write back"), disk())
    for flushes, says in ((1.0, OK), (1.5, UNKNOWN), (0.0, LOST)):
        yield f"an overwrite is no commit, {flushes}", linear, step(flushes=flushes), says


def mirrors() -> Iterator[Row]:
    mirror = array("md", "raid1")
    yield "each member of a mirror is flushed", mirror, two((1, 1), (1, 1)), OK
    yield "one member lacks flushes", mirror, two((2, 0), (1, 1)), LOST
    yield "one member lacks bytes", mirror, two((1, 1), (1, 0.5)), LOST
    yield "neighbour on a mirror", mirror, two((1.5, 1.5), (1, 1)), UNKNOWN
    yield "failed member", mirror, two((1, 0), (1, 0)), OK
    silent = over(
        block("md0", "md", "sda", "sdb", readings=readings(level="raid1")), disk(), disk("sdb", counted=False)
    )
    lacking = step(flushes={"sda": 0.4, "sdb": None}, share={"sda": 1, "sdb": None})
    yield "member that does not count next to one that lacks flushes", silent, lacking, LOST
    fua = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"), write_cache="write back", fua=True)
    for other, says in ((2.0, OK), (1.0, LOST)):
        yield f"super block of btrfs on both members, {other}", over(fua, kind="btrfs"), two((2, other), (3, 3)), says
    names = ("sda", "sdb", "sdc", "sdd")
    raid10 = over(block("md0", "md", *names, fua=True, readings=readings(level="raid10")), *map(disk, names))
    yield "raid10", raid10, received(dict.fromkeys(names, 1.0), 0.5), OK
    for each, says in ((0.5, OK), (0.4, LOST)):  # two of four members hold the block
        yield f"FUA write to a raid10, {each}", raid10, received(dict.fromkeys(names, each), 0.5, **FORCED), says
    btrfs = on_disk(filesystem("btrfs", below=("sda", "sdb")), *BOTH)
    for other, says in ((2, OK), (1, LOST)):  # Linux 6.18: 400 flushes at each for 200 syncs, in every profile
        yield f"btrfs flushes every member, {other}", btrfs, two((2, other), (3, 3)), says


def caches() -> Iterator[Row]:
    fast, slow = disk(readings=readings(role="cache")), disk("sdb", readings=readings(role="origin"))
    cache = over(block("top", "dm-writecache", "sda", "sdb"), fast, slow)
    yield "dm-writecache", cache, two((1, 0), (1, 0)), OK
    yield "dm-writecache with unknown roles", array("dm-writecache"), two((1, 0), (1, 0)), UNKNOWN
    for kind, read, written in (("dm-snapshot", "origin", "cow"), ("dm-thin", "origin", "pool")):
        # LVM puts a snapshot's store on the disk of its origin (Linux 6.12: 60 flushes for 60 syncs)
        top = block("dm-3", kind, "dm-1", "dm-2", below_roles={"dm-1": read, "dm-2": written})
        stack = over(top, block("dm-1", "dm-linear", "sda"), block("dm-2", "dm-linear", "sda"), disk())
        for flushes, says in ((1, OK), (0.5, LOST)):
            yield f"{kind} and its origin on one disk, {flushes}", stack, step(flushes=flushes), says


def journals() -> Iterator[Row]:
    names = ("sda", "sdb", "sdc", "sdd", "sde")
    roles = {"sdb": "journal", **dict.fromkeys(names[2:], "stripe")}
    raid5 = block("md0", "md", *names[1:], readings=readings(level="raid5"), below_roles=roles)
    share = {"sda": 0.5, "sdb": 0.5, "sdc": 0.3, "sdd": 0.3, "sde": 0.3}
    half = received({"sda": 1, "sdb": 0.5, "sdc": 0, "sdd": 0, "sde": 0}, share)
    yield "journal of an array that gets every write", over(raid5, *map(disk, names[1:])), half, LOST
    log = disk("sda", readings=readings(role="log"))
    xfs = target(filesystem("xfs", below=("md0", "sda")), raid5, log, *map(disk, names[1:]))
    yield "journal of an array next to an external log", xfs, half, LOST
    for kind, role in (("ext4", "journal"), ("xfs", "log")):
        for fua, says in ((True, UNKNOWN), (False, LOST)):  # the data's own disk decides whether a FUA write is sent
            other = disk("sdb", fua=not fua, readings=readings(role=role))
            top = filesystem(kind, below=("sda1", "sdb"))
            stack = target(top, block("sda1", "partition", "sda"), other, disk(fua=fua))
            yield f"FUA write, external {role}, {fua}", stack, two((0, 0), (1, 0), **FORCED), says
    for takes_fua, flushes, says in ((False, 0, LOST), (False, 1, OK), (True, 0, UNKNOWN)):
        served = disk("sda", below=("vda",), lowest=False, fua=True)
        stack = target(filesystem(), served, disk("vda", fua=takes_fua))
        done = received({"sda": 0, "vda": flushes}, **FORCED)
        yield f"FUA write above a disk with FUA {takes_fua}, {flushes}", stack, done, says


def external_journal(**values: str) -> Target:
    """ext4 on sda with its journal on sdb."""
    top = replace(filesystem(below=("sda", "sdb"), **values), below_roles={"sdb": "journal"})
    return target(top, *BOTH)


def external_journals() -> Iterator[Row]:
    yield "only the data is flushed", external_journal(), two((1, 0), (1, 0)), OK
    # Linux 6.18: 50 fdatasyncs sent 100 flushes to the journal, and 50 to the data for checkpoints
    for name, flushes, share, says in (
        ("with its checkpoints", (1, 2), (1, 1.7), OK),
        ("checkpoints come later", (0, 2), (0, 1.7), OK),
        ("the journal is not flushed", (1, 0), (1, 1.7), LOST),
    ):
        yield f"data=journal, {name}", external_journal(data="journal"), two(flushes, share), says


def pools() -> Iterator[Row]:
    """ZFS flushes the devices with its intent log."""
    stripe = on_pool(*BOTH)
    for flushes, share, says in (
        ((0.5, 0.5), (2, 2), OK), ((0, 1), (0, 2), OK), ((0.4, 0.4), (2, 2), LOST), ((0, 0), (0, 0), LOST)
    ):  # fmt: skip
        yield f"ZFS, {flushes}", stripe, two(flushes, share), says
    log = Node(id="vdev:tank/mirror-0", layer="pool", kind="mirror", name="mirror-0", below=("sda", "sdb"))
    for other, says in ((1, OK), (0.4, LOST)):
        yield f"both members of the log's mirror, {other}", on_pool(log, *BOTH), two((1, other), (2, 2)), says


def files() -> Iterator[Row]:
    """A loop device, its backing file, and the disk below."""
    striped = filesystem(below=("dm-0",)), block("dm-0", "dm-stripe", "loop0", "sdb")
    mixed = target(*striped, *on_loop().stack[1:], disk("sdb"))
    for at_sda, says in ((1, OK), (0, LOST)):
        done = received({"loop0": 1, "sda": at_sda, "sdb": 1}, 0.5)
        yield f"stripe on a file, next to a disk, {at_sda}", mixed, done, says
    for kind, at_loop, says in (("dm-thin", 1, LOST), ("dm-cache", 1, UNKNOWN), ("dm-thin", None, UNKNOWN)):
        stack = target(filesystem(below=("dm-0",)), block("dm-0", kind, "loop0"), *on_loop().stack[1:])
        yield f"file below {kind}, {at_loop}", stack, step(flushes={"loop0": at_loop, "sda": 0.3}), says
    vdo = filesystem(below=("dm-0",)), block("dm-0", "dm-vdo", "loop0")
    raid10 = filesystem(name="/", below=("md0",)), block("md0", "md", "sda", "sdb", readings=readings(level="raid10"))
    reduced = target(*vdo, *on_loop().stack[1:3], *raid10, *BOTH)
    partly = received(dict.fromkeys(("loop0", "sda", "sdb"), 1), {"loop0": 0.5, "sda": 0.5, "sdb": 0})
    yield "file below a layer that may deduplicate", reduced, partly, UNKNOWN
    for kind in ("dm-vdo", "dm"):
        yield f"{kind} may deduplicate", over(block("dm-0", kind, "sda"), disk()), step(share=0.5), UNKNOWN
    for flushes, says in ((0, LOST), (1, OK)):
        done = received({"loop0": 1, "sda": flushes})
        yield f"file on a disk with FUA, {flushes}", on_loop(below=disk(fua=True)), done, says
    ext4, journaled, btrfs = filesystem(name="/"), filesystem(name="/", data="journal"), filesystem("btrfs", "/")
    for backing, flushes in ((ext4, 1), (ext4, 2), (journaled, 3), (btrfs, 4)):
        done = received({"loop0": 1, "sda": flushes}, {"loop0": 1, "sda": 6 if flushes > 2 else 1})
        yield f"file on {backing.kind}, {flushes} flushes", on_loop(backing), done, OK
    mirror = two_loops("raid1", filesystem(name="/", below=("sda",)), disk())
    both = received({"loop0": 1, "loop1": 1, "sda": 3.5}, {"loop0": 1, "loop1": 1, "sda": 2})
    yield "mirror of two files", mirror, both, OK
    device = disk("loop0", kind="loop", lowest=False, below=("sda",))
    yield "loop on a block device", over(device, disk()), received({"loop0": 1, "sda": 1}), OK


def bytes_and_mounts() -> Iterator[Row]:
    yield "mount that forbids DAX", on_disk(filesystem(dax="never")), step(flushes=0), LOST
    xfs = on_disk(filesystem("xfs"))
    large = replace(xfs, space=Space(total_bytes=1 << 40, free_bytes=1 << 40, block_bytes=65536))
    yield "XFS with small blocks", xfs, step(share=4), UNKNOWN
    yield "XFS with blocks of 64 KiB writes whole blocks", large, step(share=4), OK
    yield "more than whole blocks", large, step(share=5), UNKNOWN


PARTS = paths, stripes, mirrors, caches, journals, external_journals, pools, files, bytes_and_mounts
ROWS = [row for part in PARTS for row in part()]


@pytest.mark.parametrize(("name", "where", "done", "says"), ROWS, ids=[row[0] for row in ROWS])
def test_flushes_and_bytes_decide(name: str, where: Target, done: Step, says: str) -> None:
    assert verdict(where, done, idle=quiet(*(each.device for each in done.counters))).verdict == says


def test_journal_of_an_array_below_a_stripe_gets_half() -> None:
    names = ("sda", "sdb", "sdc", "sdd", "sde")
    roles = {"sdb": "journal", **dict.fromkeys(names[2:], "stripe")}
    raid5 = block("md0", "md", *names[1:], readings=readings(level="raid5"), below_roles=roles)
    stripe = block("md1", "md", "sda", "md0", readings=readings(level="raid0"))
    share = {"sda": 0.5, "sdb": 0.5, "sdc": 0.3, "sdd": 0.3, "sde": 0.3}
    done = received({"sda": 1, "sdb": 0.5, "sdc": 0, "sdd": 0, "sde": 0}, share)
    assert verdict(over(stripe, raid5, *map(disk, names)), done, idle=quiet(*names)).verdict != LOST


def test_flushes_of_a_server_on_this_host_are_not_known() -> None:
    served = disk("sdb", lowest=False, below=("mount:/",), readings=readings(store="a file"))
    where = target(filesystem(below=("sdb",)), served, filesystem(name="/"), disk())
    done = received({"sdb": 1, "sda": 0})
    assert "flushes-missing" not in rules(verdict(where, done, idle=quiet("sda", "sdb")))


def test_writes_without_a_sync_need_not_arrive() -> None:
    case = Case(evidence(None, step(sync="none", flushes=0, share=0)))
    (done,) = case.steps.measured
    (account,) = case.flushes.accounts(done)
    assert (account.expected_bytes.low, account.lacks_bytes) == (0, False)


def test_synced_writes_also_write_their_timestamps() -> None:
    """XFS with ``chattr +S`` or ``-o sync`` writes twice the bytes without another process."""
    twice = step(flushes=2, share=2)
    for top in (filesystem("xfs", sync_flag="S"), filesystem("xfs", sync_option="sync")):
        assert "other-writers" not in rules(verdict(on_disk(top), twice))
    assert "other-writers" in rules(verdict(on_disk(filesystem("xfs")), twice))


def test_device_that_counts_no_flush_is_not_named() -> None:
    """A copy in memory next to the disk: zram counts no flushes and gets none."""
    cache = block("top", "dm-cache", "sda", "zram0", readings=readings(cache_mode="passthrough"))
    fast = disk("zram0", kind="zram", write_cache="write through", counted=False, readings=readings(role="cache"))
    judgement = verdict(over(cache, disk(readings=readings(role="origin")), fast), step())
    assert finding(judgement, "flushes-arrive").title == "1.00 flushes per sync at sda"


def test_layers_that_may_change_a_flush_are_named() -> None:
    cache = block("dm-1", "dm-cache", "dm-0", "sdb")  # only root can read which device is the cache
    stack = over(cache, block("dm-0", "dm-linear", "sda"), *BOTH)
    assert "whether dm-1 (dm-cache) and dm-0 (dm-linear) pass flushes on" in verdict(stack, step()).sentence
