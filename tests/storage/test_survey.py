import pytest

from fstui.storage import tool_output
from fstui.storage.survey import commands, survey
from tests.factories.box import Box
from tests.factories.looking import look, only_device, with_table


def identity(box: Box) -> str:
    return look(box).identity


def test_unused_devices_are_listed_except_idle_ram_disks(box: Box) -> None:
    box.disk("sda")
    box.partition("sda", 1)
    box.partition("sda", 2)
    box.disk("sdb")
    box.partition("sdb", 1)
    box.device("loop7", request_based=True)
    box.device("zram0", sectors=0)
    box.device("zram1", sectors=8192)
    box.device("ram0")
    box.device("sr0", sectors=0)
    box.mount("/dev/sda1", "/", "ext4")
    assert [node.id for node in survey(box.root).unused] == ["sda2", "sdb", "zram1"]


def test_device_under_a_hidden_mount_is_in_use(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.mount("tmpfs", "/srv", "tmpfs")
    assert survey(box.root).unused == ()


def test_identity_depends_on_serial_cache_and_options(box: Box) -> None:
    path = box.disk("sda", files={"device/wwid": "naa.5000c500a1b2c3d4"})
    box.mount("/dev/sda", "/srv", "ext4")
    first = identity(box)
    box.write(f"{path}/stat", "9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9")
    assert identity(box) == first
    box.write(f"{path}/queue/write_cache", "write through")
    second = identity(box)
    box.write(f"{path}/device/wwid", "naa.5000c500ffffffff")
    third = identity(box)
    box.write("/proc/self/mountinfo", f"30 1 {box.number_of['sda']} / /srv rw - ext4 /dev/sda rw,sync")
    assert len({first, second, third, identity(box)}) == 4


def test_document_has_no_serial_number(box: Box) -> None:
    box.disk("sda", files={"device/wwid": "naa.5000c500a1b2c3d4"})
    box.mount("/dev/sda", "/srv", "ext4")
    assert "5000c500" not in repr(survey(box.root))


def test_shared_device_has_a_role_for_each_layer_above(box: Box) -> None:
    meta, one, other = box.disks("sda", "sdb", "sdc")
    for number, name in enumerate(("a", "b")):
        box.dm(f"dm-{number}", name, "", ("sda", "sdb", "sdc"))
        box.mount(f"/dev/mapper/{name}", f"/{name}", "ext4", device=box.number_of[f"dm-{number}"])
    table = f"a: 0 8 cache {meta} {one} {other} 512 0 smq 0\nb: 0 8 thin-pool {meta} {one} 128 1"
    for mount_point, role in (("/a", "cache"), ("/b", "data")):
        found = with_table(box, table, mount_point)
        assert found.node(found.stack[0].below[0]).below_roles["sdb"] == role


@pytest.mark.parametrize(("fields", "iostats", "request_based", "counted"), [
    (17, 1, True, True), (15, 1, True, False), (17, 0, True, False), (17, 1, False, False),
])  # fmt: skip
def test_flushes_are_counted_only_where_the_kernel_does(
    box: Box, fields: int, iostats: int, request_based: bool, counted: bool
) -> None:
    stat = " ".join(["1"] * fields)
    box.device("sda", "pci0000:00/ata1", stat=stat, iostats=iostats, request_based=request_based)
    assert only_device(box).counted is counted


DRIVES = {
    f"{tool} /dev/{disk}"
    for tool in ("hdparm -W", "smartctl -n standby -g wcache", "smartctl -n standby --json=c -a")
    for disk in ("sda", "sdb", "sdc")
}


def test_commands_depend_on_devices_and_user(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb", "pci0000:00/end_device-2:0/host2/target2:0:0/2:0:0:0")
    box.disk("sdc", "pci0000:00/usb1/1-1/1-1:1.0/host6/target6:0:0/6:0:0:0")
    box.disk("vda", "pci0000:00/virtio1")
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    box.disk("nvme0c3n1", "pci0000:00/nvme/nvme3")
    box.dm("dm-0", "vg-lv", "LVM-x", ("vda",))
    box.mount("/dev/nvme0n1", "/", "ext4")
    box.mount("tank/db", "/db", "zfs")
    inventory = survey(box.root)
    for_root = {tool_output.command_line(asked) for asked in commands(inventory, as_root=True)}
    for_users = {tool_output.command_line(asked) for asked in commands(inventory, as_root=False)}
    pools = {
        "zpool status -L -P tank",
        "zpool get -H -p -o name,property,value,source ashift tank",
        "zfs get -H -p -o name,property,value,source sync,logbias,recordsize,compression,primarycache,atime tank/db",
    }
    assert for_users == pools
    assert for_root - pools == {
        *DRIVES, "dmsetup table",
        "nvme id-ctrl /dev/nvme3 -o json", "nvme get-feature /dev/nvme3 -f 6",
        "nvme smart-log /dev/nvme3 -o json",
    }  # fmt: skip
