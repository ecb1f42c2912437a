"""A btrfs on two loop devices, one of them forgets: only data with a checksummed copy on the other survives."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real import disks, headless
from tests.real.disks import Storage


@contextmanager
def of_two(first: Path, second: Path, metadata: str) -> Iterator[tuple[Storage, str]]:
    """Make the filesystem. Yield it with the kernel name of its second member, whose file is in ``second``."""
    disks.require_kernel("btrfs")
    with disks.loop(first / "one.img") as good, disks.loop(second / "two.img", direct_io=False) as other:
        devices = f"/dev/{good}", f"/dev/{other}"
        maker, *quiet = disks.MKFS["btrfs"]
        disks.sh(disks.tool(maker), *quiet, "-d", "raid1", "-m", metadata, *devices)
        disks.sh("btrfs", "device", "scan", *devices)
        try:
            with disks.mounted(devices[0], first / "mnt", "btrfs") as point:
                yield Storage(point, good), other
        finally:
            disks.sh("btrfs", "device", "scan", "--forget", *devices)


def test_member_without_flushes_is_named_and_loses_nothing(workshop: Path) -> None:
    with of_two(workshop, workshop, "raid1") as (storage, other):
        disks.cache_file(other).write_text("write through")
        run = headless.measure("check", storage)
    assert headless.rules_against(run) == set(), run.sentence
    (found,) = (finding for finding in run.findings if finding.rule == "write-through-override")
    assert other in found.title


def test_member_in_memory_loses_metadata_without_a_copy(workshop: Path) -> None:
    with disks.tmpfs(workshop) as memory, of_two(workshop, memory.directory, "single") as (storage, _):
        run = headless.measure("check", storage)
    assert headless.rules_against(run) == {"in-memory"}, run.sentence
