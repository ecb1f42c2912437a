import pytest

from fstui.storage.survey import survey
from tests.factories.box import Box, vpd_page_b1
from tests.factories.looking import edges, look, only_device, only_medium, read, target, trouble

SAS = "pci0000:00/0000:03:00.0/host2/port-2:0/end_device-2:0/target2:0:0/2:0:0:0"


def test_partition_is_on_its_disk(box: Box) -> None:
    box.disk("sda", files={"device/model": "ST4000NM0035-1V4", "device/vendor": "ATA     "})
    box.partition("sda", 1)
    box.mount("/dev/sda1", "/srv", "ext4")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("sda1",), "sda1": ("sda",), "sda": ()}
    assert [(node.layer, node.kind) for node in found.stack] == [
        ("filesystem", "ext4"), ("block", "partition"), ("block", "disk"),
    ]  # fmt: skip
    assert [node.id for node in found.lowest] == ["sda"]
    assert (found.node("sda").model, found.node("sda").link) == ("ST4000NM0035-1V4", "sata")
    assert found.node("sda").counted
    assert not found.node("sda1").counted


def test_nvme_and_mmc_partitions(box: Box) -> None:
    for name in ("nvme0n1", "mmcblk0"):
        box.disk(name, f"pci0000:00/{name}")
        box.mount(f"/dev/{box.partition(name, 2)}", f"/{name}", "xfs")
    inventory = survey(box.root)
    assert edges(target(inventory, "/nvme0n1")) == {
        "mount:/nvme0n1": ("nvme0n1p2",), "nvme0n1p2": ("nvme0n1",), "nvme0n1": (),
    }  # fmt: skip
    assert target(inventory, "/mmcblk0").lowest[0].id == "mmcblk0"


@pytest.mark.parametrize(("model", "shown"), [("WDC WD20EZRX-00D", ("0A80",)), ("WDC WD40EZRX-00D", ())])
def test_firmware_is_read_where_a_fault_was_published(box: Box, model: str, shown: tuple[str, ...]) -> None:
    box.disk("sda", files={"device/vendor": "ATA", "device/model": model, "device/rev": "0A80"})
    box.mount("/dev/sda", "/srv", "ext4")
    readings = look(box).node("sda").readings
    assert tuple(each.value for each in readings if each.what == "firmware") == shown


def test_scsi_disk_that_is_not_running(box: Box) -> None:
    box.disk("sda", files={"device/state": "offline"})
    box.disk("sdb", files={"device/state": "running"})
    found = {node.id: trouble(node) for node in survey(box.root).unused}
    assert found == {"sda": [("state", "offline")], "sdb": []}


@pytest.mark.parametrize(("rate", "class_"), [
    (5400, "hdd-5400"), (5900, "hdd-5400"), (7200, "hdd-7200"), (10000, "hdd-10000"), (10520, "hdd-10000"),
    (15000, "hdd-15000"),
])  # fmt: skip
def test_vpd_page_b1_rotation_rate(box: Box, rate: int, class_: str) -> None:
    files: dict[str, str | bytes] = {
        "device/vpd_pgb1": vpd_page_b1(rate),
        "device/vendor": "SEAGATE ",
        "device/model": "ST9300653SS     ",
    }
    box.disk("sda", SAS, rotational=1, files=files)
    node, medium = only_device(box), only_medium(box)
    assert (medium.class_, medium.rpm) == (class_, rate)
    assert (node.link, node.model) == ("sas", "SEAGATE ST9300653SS")
    reading = node.reading("rpm")
    assert reading is not None
    assert (reading.value, reading.path) == (str(rate), "/sys/block/sda/device/vpd_pgb1")


@pytest.mark.parametrize(("byte", "told"), [(0x02, ["2"]), (0xA3, ["3"]), (0x00, []), (0xF0, [])])
def test_vpd_page_b1_form_factor(box: Box, byte: int, told: list[str]) -> None:
    """The upper half of that byte is about writes after erasure."""
    page = vpd_page_b1(7200)
    box.disk("sda", SAS, files={"device/vpd_pgb1": page[:7] + bytes([byte]) + page[8:]})
    node = only_device(box)
    assert [each.value for each in node.readings if each.what == "form_factor"] == told


def test_vpd_page_b1_non_rotating_medium(box: Box) -> None:
    box.disk("sda", SAS, rotational=1, files={"device/vpd_pgb1": vpd_page_b1(1)})
    assert only_medium(box).class_ == "ssd"


@pytest.mark.parametrize(
    "page", [b"", b"\0\xb1\0", bytes(64), vpd_page_b1(0), vpd_page_b1(0xFFFF), b"\0\xb0\0\x3c\x1c\x20"]
)
def test_empty_vpd_page_gives_no_rate(box: Box, page: bytes) -> None:
    box.disk("sda", SAS, rotational=1, files={"device/vpd_pgb1": page})
    medium = only_medium(box)
    assert (medium.class_, medium.rpm) == ("unknown", None)
    assert "rotates" in medium.reason


@pytest.mark.parametrize("rate", ["1", "2", "1024", "65535", "-1", "x"])
def test_impossible_rate_of_udev_is_ignored(box: Box, rate: str) -> None:
    box.disk("sda", rotational=1)
    box.write(f"/run/udev/data/b{box.number_of['sda']}", f"E:ID_ATA_ROTATION_RATE_RPM={rate}")
    assert only_medium(box).rpm is None


def test_udev_rate_and_cache_of_a_sata_disk(box: Box) -> None:
    box.disk("sda", rotational=1, write_cache="write through")
    box.write(
        f"/run/udev/data/b{box.number_of['sda']}",
        "S:disk/by-id/x\nE:ID_ATA_ROTATION_RATE_RPM=7200\nE:ID_ATA_WRITE_CACHE_ENABLED=1\nE:ID_MODEL=ST1000_DM",
    )
    node, medium = only_device(box), only_medium(box)
    assert (medium.class_, medium.rpm, medium.write_cache) == ("hdd-7200", 7200, "volatile")
    assert node.model == "ST1000 DM"
    assert node.sync == "stops"
    assert survey(box.root).host.udev


@pytest.mark.parametrize(("cache_type", "udev", "sync"), [
    ("write back", "0", "stops"), ("temporary write back", None, "stops"), ("write through", "1", "unknown"),
    (None, "1", "stops"), (None, "0", "unknown"), ("none", None, "unknown"),
])  # fmt: skip
def test_driver_overrides_udev(box: Box, cache_type: str | None, udev: str | None, sync: str) -> None:
    path = box.disk("sda", write_cache="write through")
    if cache_type is not None:
        box.write(f"{path}/device/scsi_disk/0:0:0:0/cache_type", cache_type)
    if udev is not None:
        box.write(f"/run/udev/data/b{box.number_of['sda']}", f"E:ID_ATA_WRITE_CACHE_ENABLED={udev}")
    node, medium = only_device(box), only_medium(box)
    assert node.sync == sync
    assert medium.write_cache == ("volatile" if sync == "stops" else "none")


def test_shingled_disk_is_zoned(box: Box) -> None:
    box.disk("sda", rotational=1, files={"queue/zoned": "host-aware"})
    box.disk("sdb", rotational=1, files={"queue/zoned": "none"})
    zoned = [node.reading("zoned") for node in survey(box.root).unused]
    assert [reading and reading.value for reading in zoned] == ["host-aware", None]


@pytest.mark.parametrize(("bits", "flush", "wce"), [
    ("0010001001100", "yes", "no"), ("0010001001010", "yes", "yes"), ("0010001000100", "no", "no"),
])  # fmt: skip
def test_virtio_flush_feature(box: Box, bits: str, flush: str, wce: str) -> None:
    """Bits 9 and 11 of virtio-blk; bit 10 is the topology."""
    box.disk("vda", "pci0000:00/virtio1", files={"device/features": bits + "0" * 51})
    node = only_device(box)
    path = "/sys/block/vda/device/features"
    assert (read(node, "F_FLUSH"), read(node, "CONFIG_WCE")) == ((flush, path), (wce, path))


def test_virtio_disk_without_flush_has_a_reason(box: Box) -> None:
    box.disk("vda", "pci0000:00/virtio1", write_cache="write through", files={"device/features": "0" * 64})
    node = only_device(box)
    assert (node.sync, "offers no flush" in node.reason) == ("unknown", True)


@pytest.mark.parametrize("bits", ["", "0101", "not bits at all", "2" * 64])
def test_invalid_virtio_features_are_ignored(box: Box, bits: str) -> None:
    box.disk("vda", "pci0000:00/virtio1", files={"device/features": bits})
    assert only_device(box).reading("F_FLUSH") is None
