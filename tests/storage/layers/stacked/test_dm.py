import pytest

from fstui.storage.layers.stacked import dm, dm_tables
from fstui.storage.survey import commands, survey
from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import edges, look, read, roles, with_table

LVM = "LVM-" + "a" * 64


def on_dm(box: Box, label: str, uuid: str, slaves: tuple[str, ...]) -> None:
    box.dm("dm-9", label, uuid, slaves)
    box.mount(f"/dev/mapper/{label}", "/srv", "ext4", device=box.number_of["dm-9"])


def test_lvm_on_luks_on_nvme(box: Box) -> None:
    box.disk("nvme0n1", "pci0000:00/nvme/nvme0")
    box.partition("nvme0n1", 3)
    box.dm("dm-0", "luks-5f", "CRYPT-LUKS2-5f-luks-5f", ("nvme0n1p3",))
    box.dm("dm-1", "data-my--queue", "LVM-" + "a" * 64, ("dm-0",))
    box.mount("/dev/mapper/data-my--queue", "/srv", "xfs", device=box.number_of["dm-1"])
    found = look(box)
    assert list(edges(found)) == ["mount:/srv", "dm-1", "dm-0", "nvme0n1p3", "nvme0n1"]
    assert (found.node("dm-1").kind, found.node("dm-1").name) == ("dm-linear", "data/my-queue")
    assert (found.node("dm-0").kind, found.node("dm-0").name) == ("dm-crypt", "luks-5f")
    assert read(found.node("dm-0"), "target") == ("crypt", "/sys/block/dm-0/dm/uuid")
    assert found.lowest[0].link == "nvme"


@pytest.mark.parametrize(("label", "uuid", "slave", "kind"), [
    ("vg-thin", "LVM-x", "vg-pool-tpool", "dm-thin"), ("vg-raid", "LVM-x", "vg-raid_rimage_0", "dm-raid"),
    ("vg-fast", "LVM-x", "vg-fast_wcorig", "dm-writecache"), ("vg-snap", "LVM-x", "vg-snap-cow", "dm-snapshot"),
    ("mpatha", "mpath-3600", "", "dm-multipath"), ("mpatha1", "part1-mpath-3600", "mpatha", "dm-linear"),
    ("verity", "CRYPT-VERITY-1", "", "dm-verity"), ("home", "", "", "dm"),
    # not supported: they must not pass for dm-crypt or dm-linear
    ("integ", "CRYPT-INTEGRITY-1", "", "dm-integrity"), ("vg-i", "LVM-x", "vg-i_imeta", "dm-integrity"),
    ("vg-v", "LVM-x", "vg-vpool0_vdata", "dm-vdo"), ("vg-v", "LVM-x-vpool", "", "dm-vdo"),
])  # fmt: skip
def test_device_mapper_kinds(box: Box, label: str, uuid: str, slave: str, kind: str) -> None:
    box.dm("dm-0", slave or "x", "", ())
    box.dm("dm-1", label, uuid, ("dm-0",))
    box.mount(f"/dev/mapper/{label}", "/srv", "ext4", device=box.number_of["dm-1"])
    assert look(box).node("dm-1").kind == kind


@pytest.mark.parametrize(("table", "kind", "expected", "reading"), [
    ("x: 0 8 writecache s {0} {1} 4096 0", "dm-writecache", {"sda": "origin", "sdb": "cache"},
     ("target", "writecache")),
    ("x: 0 8 thin-pool {0} {1} 128 32768 1 skip_block_zeroing", "dm-thin-pool", {"sda": "metadata", "sdb": "data"},
     ("target", "thin-pool")),
    ("x: 0 8 snapshot {0} {1} P 8", "dm-snapshot", {"sda": "origin", "sdb": "cow"}, ("persistent", "yes")),
    ("x: 0 8 snapshot {0} {1} N 8", "dm-snapshot", {"sda": "origin", "sdb": "cow"}, ("persistent", "no")),
    ("x: 0 8 striped 2 128 {0} 0 {1} 0", "dm-stripe", {"sda": "stripe", "sdb": "stripe"}, ("target", "striped")),
    ("x: 0 8 raid raid1 3 0 region_size 4096 2 - {0} - {1}", "dm-raid", {"sda": "mirror leg", "sdb": "mirror leg"},
     ("level", "raid1")),
    ("x: 0 8 raid raid5_ls 3 128 journal_dev {1} 1 - {0}", "dm-raid", {"sda": "stripe", "sdb": "journal"},
     ("level", "raid5")),
    ("x: 0 8 raid raid5_ls 1 128 1 {0} {1}", "dm-raid", {"sda": "metadata", "sdb": "stripe"}, ("level", "raid5")),
    ("x: 0 8 mirror disk 2 {0} 1024 1 {1} 0", "dm-mirror", {"sda": "log", "sdb": "mirror leg"}, ("target", "mirror")),
    ("x: 0 8 multipath 0 0 2 1 service-time 0 1 2 {0} 1 1 service-time 0 1 2 {1} 1 1", "dm-multipath",
     {"sda": "path", "sdb": "path"}, ("target", "multipath")),
    ("x: 0 8 linear {0} 2048\nx: 8 8 striped 2 128 {0} 0 {1} 0", "dm-stripe", {"sda": "stripe", "sdb": "stripe"},
     ("target", "linear, striped")),
    ("x: 0 8 striped 2 128 {0} 0 {1} 0\nx: 8 8 linear {0} 8\nx: 16 8 flakey {1} 0 0 60 1 drop_writes",
     "dm-stripe+flakey", {"sda": "stripe", "sdb": "stripe"}, ("target", "striped, linear, flakey")),
])  # fmt: skip
def test_table_of_each_target_gives_roles(
    box: Box, table: str, kind: str, expected: dict[str, str], reading: tuple[str, str]
) -> None:
    numbers = box.disks("sda", "sdb")
    on_dm(box, "x", "", ("sda", "sdb"))
    found = with_table(box, table.format(*numbers))
    assert found.node("dm-9").kind == kind
    assert roles(found) == expected
    assert read(found.node("dm-9"), reading[0])[0] == reading[1]


def test_name_with_blanks_and_quotes_has_a_table(box: Box) -> None:
    """The kernel has the name as udev encodes it."""
    (number,) = box.disks("sda")
    on_dm(box, "a\\x20b\\x22c", "", ("sda",))
    found = with_table(box, f'a b"c: 0 8 striped 1 128 {number} 0\n')
    assert found.node("dm-9").kind == "dm-stripe"


def test_encryption_key_is_not_kept(box: Box) -> None:
    (number,) = box.disks("sda")
    on_dm(box, "luks", "CRYPT-LUKS2-1-luks", ("sda",))
    found = with_table(box, f"luks: 0 8 crypt aes-xts-plain64 00c0ffee00 0 {number} 32768")
    assert found.node("dm-9").kind == "dm-crypt"
    assert "c0ffee" not in repr(found)


@pytest.mark.parametrize("table", [
    "x", "x: 0 8 cache", "x: 0 8 raid", "x: 0 8 raid raid1 999999 0", "x: 0 8 raid raid1 -5 0", "x: 0 8 mirror core",
    "x: 0 8 cache 99:1 99:2 99:3 512", ": : :", "x: 0 8 writecache",
])  # fmt: skip
def test_invalid_table_gives_no_roles(box: Box, table: str) -> None:
    box.disks("sda")
    on_dm(box, "x", "", ("sda",))
    assert roles(with_table(box, table)) == {}


@pytest.mark.parametrize("below", [
    {"fast_cdata": "cache", "fast_cmeta": "metadata", "data_corig": "origin"},
    {"fast_cvol": "cache", "data_wcorig": "origin"},
])  # fmt: skip
def test_lvm_names_give_roles_without_a_table(box: Box, below: dict[str, str]) -> None:
    box.disks("sda")
    for number, name in enumerate(below):
        box.dm(f"dm-{number}", f"vg-{name}", f"{LVM}-{name.partition('_')[2].replace('wcorig', 'real')}", ("sda",))
    on_dm(box, "vg-data", LVM, tuple(f"dm-{number}" for number in range(len(below))))
    found = look(box)
    assert list(roles(found).values()) == list(below.values())
    assert read(found.node("dm-9"), "missing") == (
        "the device-mapper table: root only, or not read yet", "dmsetup table",
    )  # fmt: skip


def test_roles_by_name_also_apply_with_a_table(box: Box) -> None:
    box.disks("sda")
    box.dm("dm-0", "vg-data-real", LVM + "-real", ("sda",))
    on_dm(box, "vg-data", LVM, ("dm-0",))
    named, asked = look(box), with_table(box, f"vg-data: 0 8 snapshot-origin {box.number_of['dm-0']}")
    assert roles(named) == roles(asked) == {"dm-0": "origin"}
    other = with_table(box, f"vg-data: 0 8 linear {box.number_of['dm-0']} 0")
    assert roles(other) == {}


def test_multipath_device_has_paths(box: Box) -> None:
    box.disks("sda", "sdb")
    on_dm(box, "mpatha", "mpath-3600", ("sda", "sdb"))
    assert roles(look(box)) == {"sda": "path", "sdb": "path"}


@pytest.mark.parametrize(("uuid", "sends"), [
    ("mpath-3600", True), ("mpath-3600", False), ("", True), ("CRYPT-LUKS2-5f-x", None),
])  # fmt: skip
def test_request_based_device_has_hardware_queues(box: Box, uuid: str, *, sends: bool | None) -> None:
    box.disks("sda", "sdb")
    on_dm(box, "x", uuid, ("sda", "sdb"))
    if sends:
        box.write("/sys/block/dm-9/mq/0/nr_tags", "64")
    assert dm.is_request_based(look(box).node("dm-9")) is sends


def test_tables_are_requested_only_with_device_mapper(box: Box) -> None:
    box.disks("sda")
    assert dm_tables.COMMAND not in commands(survey(box.root), as_root=True)


@pytest.mark.parametrize(("mode", "said"), [
    ("cleaner", "cannot-tell"), ("metadata_only", "cannot-tell"), ("", "not-durable"),
])  # fmt: skip
def test_writecache_in_memory_is_not_judged_if_it_may_hold_nothing(box: Box, mode: str, said: str) -> None:
    box.disk("sda")
    box.disk("zram0", "virtual")
    on_dm(box, "x", "", ("sda", "zram0"))
    origin, cache = box.number_of["sda"], box.number_of["zram0"]
    assert verdict(with_table(box, f"x: 0 819200 writecache s {origin} {cache} 4096 1 {mode}")).verdict == said


def test_each_target_repeats_the_flush_of_a_commit() -> None:
    assert [kind.name for kind in dm.KINDS if not kind.repeats_commits] == []
