"""Which configurations are defects: one row for each stack, with the outcomes that the rule has there."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fstui.judge import Case, judge
from fstui.model.counters import DeviceCounters
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target

PLP = Medium(class_="ssd-plp", write_cache="plp")
OFF = filesystem(barrier="nobarrier")
CHECKED = {"level": "raid1", "metadata_level": "raid1"}
TMPFS = filesystem("tmpfs", "/", below=("memory:tmpfs",))
MEMORY = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
RAM, RAM1 = (
    disk(name, kind="ram", write_cache=None, counted=False, medium=Medium(class_="memory", write_cache="none"))
    for name in ("ram0", "ram1")
)
THROUGH_BY_HAND = {"write_cache": "write through", "readings": readings(drive_cache="on")}
NO_FLUSH = readings(F_FLUSH="no")
GONE = "/srv/a.img (deleted)"


def configured(write_cache: str | None = "write through", name: str = "sda", **read: str) -> Node:
    return disk(name, write_cache=write_cache, readings=readings(**read))


def over(top: Node, *below: Node) -> Target:
    """ext4 on one layer."""
    return target(filesystem(below=(top.id,)), top, *below)


def overridden_loop(below: Node, dio: str = "1") -> Target:
    """ext4 on a loop device whose file is on another filesystem."""
    return on_loop(device=loop(dio=dio, write_cache="write through"), below=below)


def pool(*below: str, **more: object) -> Node:
    return Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=below or ("sda",), **more)  # type: ignore[arg-type]


def dataset(device: Node | None = None, **values: str) -> Target:
    return target(filesystem("zfs", "/tank", below=("pool:tank",), **values), pool(), device or disk())


def zvol(**values: str) -> Target:
    volume = block("zd0", "zvol", "pool:tank", write_cache="write back", readings=readings(**values))
    return target(filesystem(barrier="nobarrier", below=("zd0",)), volume, pool(), disk())


def mirror_with_image(metadata: str) -> Target:
    """btrfs mirrors a disk and a loop device whose file is on a filesystem without barriers."""
    top = filesystem("btrfs", below=("loop0", "sdb"), level="raid1", metadata_level=metadata)
    image = disk("loop0", kind="loop", lowest=False, below=("mount:/images",), readings=readings(dio="1"))
    return target(top, image, disk("sdb"), filesystem(name="/images", barrier="nobarrier"), disk())


def barriers_off() -> Iterator[tuple[str, Target, list[str]]]:
    lost, safe, unknown = ["volatile_cache"], ["protected_cache"], ["unknown_controller"]
    contradicted, no_effect = ["contradicted_cache"], ["without_effect"]
    yield "write cache", on_disk(OFF), lost
    yield "flushed again", on_disk(filesystem()), []
    for medium in (PLP, Medium(class_="raid-cache")):
        yield medium.class_, on_disk(OFF, disk(medium=medium)), safe
    for name, read, expected in (
        ("unknown volume", {}, unknown),
        ("known controller without a cache", {"grade": "raid"}, lost),
        ("drive passed through", {"form_factor": "2"}, lost),
        ("drive that answered udev", {"ID_ATA_WRITE_CACHE_ENABLED": "1"}, lost),
        ("HBA", {"controller": "mpt3sas"}, lost),
        ("Areca may answer for a drive", {"controller": "arcmsr", "form_factor": "2", "grade": "consumer"}, unknown),
        ("Areca's volume", {"controller": "arcmsr", "grade": "raid"}, lost),
    ):
        volume = disk(link="scsi", model="Inspur PM8222", readings=readings(**{"controller": "smartpqi", **read}))
        yield name, on_disk(OFF, volume), expected
        declared = replace(volume, medium=Medium(class_="hdd-7200", declared=True))
        yield f"{name}, declared", on_disk(OFF, declared), lost
    for read, expected in (({}, unknown), ({"grade": "array"}, safe), ({"form_factor": "3"}, lost)):
        yield f"fibre channel {read}", on_disk(OFF, disk(link="fc", readings=readings(**read))), expected
    yield "virtual volume", on_disk(OFF, disk(link="fc", readings=readings(grade="virtual"))), lost
    for controller, cache, expected in (
        ("mpt3sas", "write back", lost), ("megaraid_sas", "write back", unknown), ("megaraid_sas", "none", no_effect),
    ):  # fmt: skip
        read = {"controller": controller, "cache_type": cache}
        volume = replace(configured(**read), link="scsi")
        yield f"write through by the kernel, {controller}, {cache}", on_disk(OFF, volume), expected
    array = block("md0", "md", "sda", "sdb", write_cache="write back", readings=readings(level="raid1"))
    both = target(filesystem(barrier="nobarrier", below=("md0",)), array, configured(), configured(name="sdb"))
    yield "md claims a cache, its disks have none", both, no_effect
    for second, expected in (
        (configured("write back", drive_cache="off"), contradicted), (configured(), ["unknown_cache"]),
        (disk(), lost), (disk(medium=PLP), safe),
    ):  # fmt: skip
        members = disk("sdb", medium=PLP), second
        mixed = target(filesystem(barrier="nobarrier", below=("md0",)), array, *members)
        yield f"protected disk and {second.write_cache} {second.medium}", mixed, expected
    yield "backing file", on_loop(filesystem(name="/", barrier="nobarrier")), lost
    yield "cache not stated", on_disk(OFF, configured(None)), ["unknown_cache"]
    for read in ({"drive_cache": "off"}, {"vwc": "present", "drive_cache": "off"}, {"vwc": "absent"}):
        contradictory = configured("write back", **read)
        for link in ("sata", "sas", "nvme", "usb", "virtio", "scsi"):
            yield (
                f"{link}, the kernel contradicts {read}",
                on_disk(OFF, replace(contradictory, link=link)),
                contradicted,
            )
        yield f"protected, contradicted {read}", on_disk(OFF, replace(contradictory, medium=PLP)), safe
    yield "NVMe cache, perhaps off", on_disk(OFF, configured(vwc="present")), no_effect
    yield "no device is seen", target(filesystem(barrier="nobarrier", below=())), ["unknown_cache"]
    yield "host without flushes", on_disk(OFF, replace(configured(F_FLUSH="no"), link="virtio")), no_effect
    yield "host with flushes", on_disk(OFF, replace(configured(F_FLUSH="yes"), link="virtio")), no_effect
    for cache, expected in (("write back", lost), ("write through", no_effect), ("none", no_effect)):
        yield f"Linux 3.10, {cache}", on_disk(OFF, configured(None, cache_type=cache)), expected
    for kind in ("rbd", "nbd"):
        yield f"write back by {kind}", on_disk(OFF, replace(configured("write back"), kind=kind)), ["unknown_cache"]
    for name, device, expected in (
        ("cache", disk(), lost), ("protected", disk(medium=PLP), safe), ("no cache", configured(), no_effect)
    ):  # fmt: skip
        yield f"ZFS parameter, {name}", dataset(device, barrier="nobarrier"), expected
    for barrier, expected in (("nobarrier", lost), ("barrier", [])):
        image = Node(id="file:/a", layer="file", kind="backing-file", name="/a", below=("mount:/images",))
        below = filesystem(name="/images", barrier=barrier)
        zfs = filesystem("zfs", "/tank", below=("pool:tank",))
        yield f"file of a pool, {barrier}", target(zfs, pool(image.id), image, below, disk()), expected
    for name, values, expected in (
        ("each write kept", {"sync": "always"}, ["unknown_cache"]),
        ("kept by flushes", {"sync": "standard"}, lost),
        ("log not read again", {"sync": "always", "zil_replay_disable": "1"}, lost),
        ("pool not flushed", {"sync": "always", "barrier": "nobarrier"}, [*lost, *lost]),
    ):
        yield f"ZFS volume, {name}", zvol(**values), expected
    yield "member of a checked mirror", mirror_with_image("raid1"), ["copied"]
    yield "member of a mirror with single metadata", mirror_with_image("single"), lost


def overridden() -> Iterator[tuple[str, Target | Evidence, list[str]]]:
    lost, through = ["lost"], configured(cache_type="write back")
    for cache in ("write back", "write back, no read (daft)", "temporary write back"):
        yield cache, on_disk(None, configured(cache_type=cache)), lost
    told_through = configured(vwc="present")
    perhaps = replace(through, medium=Medium(class_="ssd", write_cache="volatile"))
    yield "perhaps with a capacitor", on_disk(None, perhaps), ["perhaps_protected"]
    yield "NVMe cache, perhaps off", on_disk(None, told_through), ["unread_setting"]
    both = over(block("md0", "md", "sda", "sdb", write_cache="write back"), told_through, configured(name="sdb"))
    yield "NVMe cache, perhaps off, and a drive without one", both, ["unread_setting"]
    for name, read, hit in (
        ("drive on", {"drive_cache": "on"}, True),
        ("drive off", {"drive_cache": "off", "cache_type": "write back"}, False),
        ("NVMe cache on", {"vwc": "present", "drive_cache": "on"}, True),
        ("NVMe cache off", {"vwc": "present", "drive_cache": "off"}, False),
        ("NVMe without cache", {"vwc": "absent", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
        ("driver contradicts udev", {"cache_type": "write through", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
        ("udev", {"ID_ATA_WRITE_CACHE_ENABLED": "1"}, True),
        ("writable", {"ro": "0", "cache_type": "write back"}, True),
    ):
        yield name, on_disk(None, configured(**read)), lost if hit else []
    yield "protected drive", on_disk(None, replace(through, medium=PLP)), []
    linear = block("dm-0", "dm-linear", "sda", write_cache="write through")
    for name, below, hit in (
        ("array", configured("write back", grade="array"), False),
        ("protected", disk(medium=PLP), False),
        ("disk", disk(), True),
        ("write through as well", configured(), False),
        ("drive off, unknown to the kernel", configured("write back", drive_cache="off"), False),
    ):
        yield f"dm above {name}", over(linear, below), lost if hit else []
    yield "dm computes its setting from the disk's", over(linear, through), lost
    yield "md always claims a cache", over(block("md0", "md", "sda", write_cache="write back"), configured()), []
    virtio = disk("vda", link="virtio", write_cache="write through", readings=readings(cache_type="write through"))
    yield "virtio without a cache", over(virtio), []
    served = replace(configured("write back"), kind="rbd")
    yield "dm above rbd", over(linear, served), ["unknown_server"]
    yield "dm above nbd", over(linear, replace(served, kind="nbd")), ["unknown_server"]
    yield "dm above rbd and a disk", over(replace(linear, below=("sda", "sdb")), served, disk("sdb")), lost
    volume = disk(link="scsi", readings=readings(cache_type="write back", controller="stex"))
    yield "unknown volume", over(replace(volume, write_cache="write through")), ["unknown_controller"]
    yield "dm above an unknown volume", over(linear, volume), ["unknown_controller"]
    yield "and a disk", over(replace(linear, below=("sda", "sdb")), volume, disk("sdb")), lost
    yield "loop", overridden_loop(disk()), lost
    yield "loop with a page cache", overridden_loop(configured(), "0"), lost
    yield "direct loop above write through", overridden_loop(configured()), []
    read_only = replace(loop(write_cache="write through"), readings=(*loop().readings, *readings(ro="1")))
    yield "read-only loop", on_loop(device=read_only), []
    elsewhere = step(flushes={"loop0": 0, "sda": 0}, share={"loop0": 0, "sda": 1})
    yield "read-only loop, others write elsewhere", evidence(on_loop(device=read_only), elsewhere), []
    top, *rest = on_loop(device=read_only).stack
    set_later = target(replace(top, below=("dm-0",)), block("dm-0", "dm-linear", "loop0"), *rest)
    # blockdev --setro below a writable dm device stops no writes
    yield "read-only loop that is written", evidence(set_later, step(flushes={"loop0": 0, "sda": 0})), lost
    yield "memory", on_disk(None, replace(through, medium=Medium(class_="memory"))), []
    buffered = loop(dio="0", write_cache="write through")
    yield "loop in tmpfs", target(*on_loop(TMPFS, device=buffered).stack[:4], MEMORY), []


def overridden_copies() -> Iterator[tuple[str, Target | Evidence, list[str]]]:
    lost = ["lost"]
    linear = block("dm-0", "dm-linear", "sda", write_cache="write through")
    drive, second = configured(name="sdb", drive_cache="on"), configured(name="sdc", drive_cache="on")
    yield "checked mirror", target(filesystem("btrfs", below=("sda", "sdb"), **CHECKED), disk(), drive), ["copied"]
    three = filesystem("btrfs", below=("sda", "sdb", "sdc"), level="raid1c3", metadata_level="raid1c3")
    yield "two of three members", target(three, disk(), drive, second), ["copied", "copied"]
    for more in ({"level": "raid0"}, {"metadata_level": "single"}, {"checksums": "off"}, {"nocow_flag": "C"}):
        top = filesystem("btrfs", below=("sda", "sdb"), **{**CHECKED, **more})
        yield f"btrfs {more}", target(top, disk(), drive), lost
    both = filesystem("btrfs", below=("sdb", "sdc"), **CHECKED)
    yield "both members", target(both, drive, second), [*lost, *lost]
    md = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    yield "md may read the stale copy", over(md, disk(), drive), lost
    named = block("md0", "md", "sda", "dm-0", readings=readings(level="raid1"), write_cache="write back")
    yield "dm below md", over(named, disk(), replace(linear, below=("sdb",)), disk("sdb")), lost
    roles = {"sda": "origin", "sdb": "cache"}
    cached = block("dm-0", "dm-cache", "sda", "sdb", readings=readings(cache_mode="writethrough"), below_roles=roles)
    yield "stale blocks of a cache may be read", over(cached, disk(), drive), lost
    for kind in ("dm-multipath", "dm"):  # only root may read the target
        for requests, head, hit in (
            ("yes", "write back", False), ("yes", "write through", True), ("no", "write back", True)
        ):  # fmt: skip
            paths = configured(cache_type="write back"), configured(name="sdb", cache_type="write back")
            multipath = disk(
                "dm-0", kind=kind, below=("sda", "sdb"), lowest=False, write_cache=head,
                readings=readings(request_based=requests),
            )  # fmt: skip
            yield f"{kind}, requests {requests}, {head}", over(multipath, *paths), [*lost, *lost] if hit else []
    for role, hit in (("origin", False), ("cow", True)):
        roles = {"sda": role, "sdb": "origin" if role == "cow" else "cow"}
        snapshot = block("dm-0", "dm-snapshot", "sda", "sdb", below_roles=roles)
        yield f"snapshot, {role}", over(snapshot, configured(drive_cache="on"), disk("sdb")), lost if hit else []
    for members, hit in ((("sda",), False), (("sda", "vda2"), True)):
        stripes = block("md0", "md", *members, readings=readings(level="raid0"), write_cache="write through")
        served = disk("sda", below=("vda",), lowest=False, write_cache="write through")
        nodes = served, block("vda2", "partition", "vda"), disk("vda")
        yield f"earlier document, {len(members)} members", over(stripes, *nodes), lost if hit else []
    moved = step(status="disturbed", changes={"changed": ("dm-0: stands on sda → sdb",)})
    yield "overridden before it moved", evidence(over(linear, disk()), moved), lost


def in_memory() -> Iterator[tuple[str, Target, list[str]]]:
    lost = ["lost"]
    zram = disk("zram0", kind="zram", write_cache="write through", counted=False)
    yield "tmpfs", target(TMPFS, MEMORY), lost
    yield "ramfs", target(filesystem("ramfs", below=())), lost
    yield "zram", over(zram), lost
    yield "brd", over(RAM), lost
    yield "loop in tmpfs", target(*on_loop(TMPFS).stack[:4], MEMORY), lost
    yield "overlay on tmpfs", target(filesystem("overlay", below=("mount:/",)), TMPFS, MEMORY), lost
    yield "dm on zram", over(block("dm-0", "dm-linear", "zram0"), zram), lost
    yield "declared", on_disk(None, disk(medium=Medium(class_="memory", declared=True))), lost
    journal = block("dm-0", "dm-linear", "zram0")
    for kind in ("ext4", "xfs"):
        yield f"log of {kind}", target(with_log(kind, "sda", "dm-0"), disk(), journal, zram), ["journal_lost"]
        yield f"{kind}, its log on a disk", target(with_log(kind, "zram0", "sda"), zram, disk()), lost
        yield f"{kind} and its log", target(with_log(kind, "zram0", "ram0"), zram, RAM), lost


def with_log(kind: str, data: str, log: str) -> Node:
    """Return a filesystem with a journal or log on a device of its own."""
    role = "journal" if kind == "ext4" else "log"
    return replace(filesystem(kind, below=(data, log)), below_roles={log: role})


def array(kind: str, *below: str, roles: dict[str, str] | None = None, **facts: str) -> Target:
    top = block("top", kind, *below, readings=readings(**facts), below_roles=roles or {})
    return over(top, *({"ram0": RAM, "ram1": RAM1}.get(name) or disk(name) for name in below))


def arrays_in_memory() -> Iterator[tuple[str, Target, list[str]]]:
    lost, copied = ["lost"], ["copied"]

    cache, metadata = {"sda": "origin", "ram0": "cache"}, {"sda": "origin", "sdb": "cache", "ram0": "metadata"}
    image = {"sda": "stripe", "sdb": "stripe", "ram0": "stripe", "ram1": "metadata"}
    yield "raid1", array("md", "sda", "ram0", level="raid1"), copied
    yield "raid10", array("md", "sda", "sdb", "sdc", "ram0", level="raid10"), copied
    yield "raid5", array("md", "sda", "sdb", "ram0", level="raid5"), copied
    yield "mirror", array("dm-mirror", "sda", "ram0"), copied
    yield "spare", array("md", "sda", "ram0", level="raid0", roles={"ram0": "spare"}), copied
    for kind in ("dm-cache", "bcache"):
        yield f"{kind} writethrough", array(kind, "sda", "ram0", cache_mode="writethrough", roles=cache), copied
    yield "its metadata", array("dm-cache", "sda", "sdb", "ram0", cache_mode="writethrough", roles=metadata), copied
    yield "member and metadata", array("dm-raid", "sda", "sdb", "ram0", "ram1", level="raid5", roles=image), copied
    yield "mirror's log", array("dm-mirror", "sda", "ram0", roles={"sda": "mirror leg", "ram0": "log"}), copied
    yield "written behind", array("md", "sda", "ram0", level="raid1", written_behind="256"), []
    yield "stripe", array("md", "sda", "ram0", level="raid0"), lost
    yield "segment", array("dm-linear", "sda", "ram0"), lost
    yield "write-back cache", array("dm-cache", "sda", "ram0", cache_mode="writeback", roles=cache), lost
    yield "metadata of it", array("dm-cache", "sda", "sdb", "ram0", cache_mode="writeback", roles=metadata), lost
    yield "thin pool", array("dm-thin-pool", "sda", "ram0", roles={"sda": "data", "ram0": "metadata"}), lost
    yield "encrypted", array("dm-crypt", "ram0"), lost
    yield "both members", array("md", "ram0", "ram1", level="raid1"), [*lost]
    log = {"sda": "log", "ram0": "mirror leg", "ram1": "mirror leg"}
    yield "a log is no member", array("dm-mirror", "sda", "ram0", "ram1", roles=log), lost
    journal = {"sda": "stripe", "sdb": "stripe", "sdc": "stripe", "ram0": "journal"}
    yield "array's journal", array("md", "sda", "sdb", "sdc", "ram0", level="raid5", roles=journal), ["journal_lost"]


def degraded_in_memory() -> Iterator[tuple[str, Target, list[str]]]:
    lost, copied = ["lost"], ["copied"]
    for level, degraded, expected in (
        ("raid5", "1", lost), ("raid5", "0", copied), ("raid1", "1", copied), ("raid6", "1", copied),
        ("raid6", "2", lost),
    ):  # fmt: skip
        state = readings(degraded=degraded) if degraded != "0" else ()
        md = block("md0", "md", "sda", "sdb", "ram0", readings=readings(level=level), state=state)
        yield f"{level}, {degraded} missing", over(md, disk(), disk("sdb"), RAM), expected
    yield "last member of a raid10", array("md", "ram0", level="raid10"), lost
    yield "two members of a raid10", array("md", "ram0", "sda", level="raid10"), copied
    yield "dm-raid lacks a member", array("dm-raid", "sda", "ram0", level="raid5", missing_members="1"), lost
    yield "dm-raid", array("dm-raid", "sda", "ram0", level="raid5"), copied
    l2arc = pool("sda", "ram0", below_roles={"ram0": "l2arc"})
    yield "read cache of ZFS", target(filesystem("zfs", "/tank", below=("pool:tank",)), l2arc, disk(), RAM), copied
    for data, meta, expected in (("raid1", "raid1", copied), ("single", "single", lost), ("raid1", "single", lost)):
        top = filesystem("btrfs", below=("sda", "ram0"), level=data, metadata_level=meta)
        yield f"btrfs {data}, metadata {meta}", target(top, disk(), RAM), expected
    last = filesystem("btrfs", below=("ram0",), **CHECKED)
    yield "last copy of btrfs", target(replace(last, state=readings(missing="1")), RAM), lost
    raid10 = array("md", "sda", "sdb", "ram0", "ram1", level="raid10")
    yield "two of four members of a raid10", raid10, lost


def committed(commits: int | None, **changes: object) -> Step:
    counters = (DeviceCounters(device="mount:/tank", commits=commits),)
    return step(changes={"counters": counters}, **changes)  # type: ignore[arg-type]


def zfs_sync_off() -> Iterator[tuple[str, Target | Evidence, list[str]]]:
    for value, expected in (("disabled", ["disabled"]), ("standard", []), ("always", [])):
        yield value, dataset(sync=value), expected
        volume = Node(
            id="zd0", layer="block", kind="zvol", name="tank/data", lowest=True, readings=readings(sync=value)
        )
        yield f"{value} volume", over(volume), expected
    yield "said once", evidence(dataset(sync="disabled"), committed(0)), ["disabled"]
    yield "option of another filesystem", on_disk(filesystem(sync="disabled")), []
    for commits, hit in ((0, True), (100, True), (101, False), (2000, False), (None, False)):
        yield f"{commits} commits", evidence(dataset(), committed(commits)), ["uncommitted"] if hit else []
    yield "no syncs", evidence(dataset(), committed(0, sync="none")), []
    yield "stubbed process", evidence(dataset(), committed(0), process=Process(pipe_fsync_fails=False)), []
    overlay = filesystem("overlay", "/merged", below=("mount:/tank",), volatile="volatile")
    yield "volatile overlay above", evidence(target(overlay, *dataset().stack), committed(0)), []


def by_one_reading() -> Iterator[tuple[str, str, Target, list[str]]]:
    """Rules without a condition in code: the rule, then as above."""
    for kind, value, hit in (("overlay", "fsync=volatile", True), ("overlay", "no", False), ("xfs", "volatile", False)):
        overlay = target(filesystem(kind, volatile=value, below=()))
        yield "overlay-volatile", f"{kind}, {value}", overlay, ["volatile"] if hit else []
    yield "overlay-volatile", "no option", target(filesystem("overlay", below=())), []
    for kind, value, hit in (("zfs", "1", True), ("zfs", "0", False), ("xfs", "1", False)):
        top = filesystem(kind, "/tank", zil_replay_disable=value)
        yield "zfs-log-ignored", f"{kind}, {value}", target(top, disk()), ["ignored"] if hit else []
    for read, hit in (({"persistent": "no"}, True), ({"persistent": "yes"}, False), ({}, False)):
        snapshot = block("dm-0", "dm-snapshot", "sda", readings=readings(**read))
        yield "transient-snapshot", str(read), over(snapshot, disk()), ["forgotten"] if hit else []


def deleted_file() -> Iterator[tuple[str, Target, list[str]]]:
    for name, file, more, hit in (
        ("deleted", GONE, {}, True),
        ("never named", "/srv/#12 (deleted)", {}, True),
        ("earlier document", GONE, {"links": "0"}, True),
        ("there", "/srv/a.img", {}, False),
    ):
        device = block("loop0", "loop", readings=readings(backing_file=file, **more))
        yield name, over(device), ["perhaps_deleted"] if hit else []
        mirror = block("md0", "md", "sda", "loop0", readings=readings(level="raid1"))
        yield f"{name}, mirrored", over(mirror, disk(), device), []


def syncs_not_sent() -> Iterator[tuple[str, Target, list[str]]]:
    for kind, options in (("cifs", {"strict_sync": "no"}), ("cifs", {}), ("nfs4", {}), ("fuse.sshfs", {})):
        server = Node(id="remote://nas/x", layer="remote", kind=kind, name="//nas/x", lowest=True)
        share = target(filesystem(kind, below=(server.id,), **options), server)
        yield f"{kind} {options}", share, ["skipped"] if options else []
    for level, expected in (("raid1", []), ("raid0", ["late"])):
        array = disk("sdb", kind="md", readings=readings(consistency_policy="ppl"))
        top = filesystem("btrfs", below=("sda", "sdb"), level=level, metadata_level=level)
        yield f"md with a partial parity log, {level}", target(top, disk(), array), expected
    for name, changes, outcome in (
        ("volatile caches", {}, "late"),
        ("no caches", {"write_cache": "write through"}, "late_but_safe"),
        ("no caches, as the kernel was told", {**THROUGH_BY_HAND}, "late"),
        ("caches that may be on", {"write_cache": "write through", "readings": readings(vwc="present")}, "late"),
        ("disks of a host without flushes", {"write_cache": "write through", "readings": NO_FLUSH}, "late"),
        ("contradictory caches", {"readings": readings(drive_cache="off")}, "late"),
        ("protected caches", {"medium": PLP}, "late_but_safe"),
    ):
        parity = block("md0", "md", "sda", "sdb", readings=readings(level="raid5", consistency_policy="ppl"))
        members = disk("sda", **changes), disk("sdb", **changes)
        yield f"md with a partial parity log over {name}", over(parity, *members), [outcome]


ROWS = [
    (rule, name, seen, expected)
    for rule, rows in (
        ("barriers-off", barriers_off()),
        ("write-through-override", (*overridden(), *overridden_copies())),
        ("in-memory", (*in_memory(), *arrays_in_memory(), *degraded_in_memory())),
        ("zfs-sync-off", zfs_sync_off()),
        ("deleted-file", deleted_file()),
        ("syncs-not-sent", syncs_not_sent()),
    )
    for name, seen, expected in rows
]
ROWS += by_one_reading()


@pytest.mark.parametrize(("rule", "name", "seen", "expected"), ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_condition_has_these_outcomes(rule: str, name: str, seen: Target | Evidence, expected: list[str]) -> None:
    found = evidence(seen) if isinstance(seen, Target) else seen
    case, verdict = Case(found), judge(found).verdict
    assert [hit.outcome for defect, hit in case.configuration.defects if defect.name == rule] == expected
    if set(expected) & {
        "unknown_server", "unknown_controller", "unknown_cache", "contradicted_cache", "perhaps_deleted",
    }:  # fmt: skip
        assert verdict == "cannot-tell"
    elif set(expected) & {
        "volatile_cache", "lost", "journal_lost", "perhaps_protected", "disabled", "uncommitted",
        "skipped", "late",
    }:  # fmt: skip
        assert verdict == "not-durable"
        assert case.configuration.breaks_sync
