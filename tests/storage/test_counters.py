from fstui.model.counters import Counters, DeviceCounters, difference, sum_counters
from fstui.model.storage import Node
from fstui.storage.counters import read_counters
from fstui.storage.survey import survey
from tests.factories.box import STAT, Box

EVERYTHING = DeviceCounters(
    device="sda", reads=100, read_bytes=800 * 512, read_ms=10, writes=200, written_bytes=4000 * 512, write_ms=40,
    flushes=20, flush_ms=9, discards=7, busy_ms=50, in_flight=3,
)  # fmt: skip


def every_node(box: Box) -> list[Node]:
    inventory = survey(box.root)
    return [node for target in inventory.filesystems for node in target.stack] + list(inventory.unused)


def counters_of(box: Box) -> dict[str, DeviceCounters]:
    return {device.device: device for device in read_counters(every_node(box), box.root).devices}


def test_partition_counts_no_flushes(box: Box) -> None:
    box.disk("sda")
    box.partition("sda", 1)
    box.mount("/dev/sda1", "/", "ext4")
    found = counters_of(box)
    assert found["sda"] == EVERYTHING
    assert (found["sda1"].writes, found["sda1"].flushes, found["sda1"].flush_ms) == (200, None, None)


def test_bio_based_layers_count_no_flushes(box: Box) -> None:
    box.disk("sda")
    box.dm("dm-0", "x", "LVM-x", ("sda",))
    box.md("md0", "raid1", ("sda",))
    box.device("zram0", iostats=0)
    box.device("bcache0", slaves=("sda",))
    found = counters_of(box)
    assert {name: (device.writes, device.flushes) for name, device in found.items()} == {
        "sda": (200, 20), "dm-0": (200, None), "md0": (200, None), "zram0": (200, None), "bcache0": (200, None),
    }  # fmt: skip


def test_without_iostats_nothing_is_counted(box: Box) -> None:
    box.disk("sda", iostats=0)
    box.partition("sda", 1)
    box.mount("/dev/sda1", "/", "ext4")
    assert counters_of(box) == {"sda": DeviceCounters(device="sda"), "sda1": DeviceCounters(device="sda1")}


def test_old_kernels_count_no_discards_or_flushes(box: Box) -> None:
    box.disk("sda", stat="100 1 800 10 200 2 4000 40 3 50 60")
    found = counters_of(box)["sda"]
    assert (found.writes, found.discards, found.flushes) == (200, None, None)


def test_layer_without_stat_file_has_no_entry(box: Box) -> None:
    box.mount("tmpfs", "/", "tmpfs")
    assert counters_of(box) == {}


def test_vanished_device_is_left_out(box: Box) -> None:
    path = box.disk("sda")
    nodes = every_node(box)
    before = read_counters(nodes, box.root)
    (box.root / path.removeprefix("/") / "stat").unlink()
    assert difference(before, read_counters(nodes, box.root)) == ()


def test_differences_keep_the_newer_in_flight(box: Box) -> None:
    path = box.disk("sda")
    nodes = every_node(box)
    before = read_counters(nodes, box.root)
    box.write(f"{path}/stat", "100 1 800 10 205 2 4080 45 1 50 60 7 0 56 1 25 11")
    after = read_counters(nodes, box.root)
    assert after.monotonic_ns >= before.monotonic_ns
    assert difference(before, after) == (
        DeviceCounters(
            device="sda", reads=0, read_bytes=0, read_ms=0, writes=5, written_bytes=80 * 512, write_ms=5, flushes=5,
            flush_ms=2, discards=0, busy_ms=0, in_flight=1,
        ),
    )  # fmt: skip


def test_counter_that_went_backwards_is_unknown(box: Box) -> None:
    before = Counters(monotonic_ns=0, devices=(DeviceCounters(device="sda", writes=9, reads=3),))
    after = Counters(monotonic_ns=1, devices=(DeviceCounters(device="sda", writes=2, reads=4),))
    assert difference(before, after) == (DeviceCounters(device="sda", writes=None, reads=1),)


def test_differences_add_up() -> None:
    first = (DeviceCounters(device="sda", writes=2, flushes=1), DeviceCounters(device="dm-0", writes=2))
    second = (DeviceCounters(device="sda", writes=3, flushes=4), DeviceCounters(device="dm-0", writes=None))
    assert sum_counters([first, second]) == (
        DeviceCounters(device="sda", writes=5, flushes=5), DeviceCounters(device="dm-0"),
    )  # fmt: skip


def test_device_under_many_mounts_is_read_once(box: Box) -> None:
    box.disk("sda", stat=STAT)
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sda", "/srv", "ext4", root="/srv")
    assert len(read_counters(every_node(box), box.root).devices) == 1
