"""bcache: both devices, and its mode."""

from __future__ import annotations

from tests.factories.box import Box
from tests.factories.looking import look, read, roles


def test_bcache_shows_both_devices_and_its_mode(box: Box) -> None:
    box.disk("sda", rotational=1)
    box.disk("nvme0n1")
    path = box.device("bcache0", slaves=("sda", "nvme0n1"))
    box.write(f"{path}/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.mount("/dev/bcache0", "/srv", "ext4")
    cached = look(box).node("bcache0")
    assert (cached.kind, set(cached.below), cached.counted) == ("bcache", {"sda", "nvme0n1"}, False)
    assert read(cached, "cache_mode") == ("writeback", "/sys/block/bcache0/bcache/cache_mode")


def test_bcache_tells_the_fast_device_from_the_slow_one(box: Box) -> None:
    box.disks("sda", "nvme0n1")
    box.partition("nvme0n1", 1)
    box.write("/sys/class/block/sda/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.write("/sys/class/block/nvme0n1p1/bcache/cache_replacement_policy", "[lru] fifo random")
    path = box.device("bcache0", slaves=("sda", "nvme0n1p1"))
    box.write(f"{path}/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.write(f"{path}/bcache/state", "dirty")
    box.mount("/dev/bcache0", "/srv", "ext4")
    found = look(box)
    assert roles(found) == {"sda": "origin", "nvme0n1p1": "cache"}
    assert read(found.node("bcache0"), "bcache_state")[0] == "dirty"
