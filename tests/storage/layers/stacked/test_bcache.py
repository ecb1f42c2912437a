import pytest

from tests.factories.box import Box
from tests.factories.evidence import rules, verdict
from tests.factories.looking import look, read, roles
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target


def test_bcache_roles(box: Box) -> None:
    box.disks("sda", "nvme0n1")
    box.partition("nvme0n1", 1)
    box.write("/sys/class/block/sda/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.write("/sys/class/block/nvme0n1p1/bcache/cache_replacement_policy", "[lru] fifo random")
    path = box.device("bcache0", slaves=("sda", "nvme0n1p1"))
    box.write(f"{path}/bcache/cache_mode", "writethrough [writeback] writearound none")
    box.mount("/dev/bcache0", "/srv", "ext4")
    found = look(box)
    assert roles(found) == {"sda": "origin", "nvme0n1p1": "cache"}
    cached = found.node("bcache0")
    assert (cached.kind, cached.counted) == ("bcache", False)
    assert read(cached, "cache_mode") == ("writeback", "/sys/block/bcache0/bcache/cache_mode")


@pytest.mark.parametrize(("written", "mode", "said"), [
    ("0", "[writeback]", True), ("0", "[writethrough]", False), ("1", "[writeback]", False),
])  # fmt: skip
def test_asynchronous_writeback_cache_is_not_durable(box: Box, written: str, mode: str, said: bool) -> None:
    box.disks("sda", "sdb")
    box.write("/sys/class/block/sda/bcache/cache_mode", mode)
    box.write("/sys/class/block/sdb/bcache/cache_replacement_policy", "[lru] fifo random")
    path = box.device("bcache0", slaves=("sda", "sdb"))
    box.write(f"{path}/bcache/cache_mode", mode)
    box.write(f"{path}/bcache/cache/synchronous", written)
    box.mount("/dev/bcache0", "/srv", "ext4")
    judgement = verdict(look(box))
    assert ("syncs-not-sent" in rules(judgement)) is said


@pytest.mark.parametrize(("synchronous", "said"), [("0", "consistent"), ("1", "not-durable")])
def test_asynchronous_copies_need_no_flush(synchronous: str, said: str) -> None:
    told = readings(cache_mode="writethrough", synchronous=synchronous)
    below = (disk(readings=readings(role="origin")), disk("sdb", readings=readings(role="cache")))
    stack = target(filesystem(below=("bcache0",)), block("bcache0", "bcache", "sda", "sdb", readings=told), *below)
    measured = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 1, "sdb": 1})
    assert verdict(stack, measured).verdict == said
