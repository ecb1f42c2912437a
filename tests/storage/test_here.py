"""The host that runs the tests: the survey agrees with what the kernel reports in other ways."""

import os
from pathlib import Path

import msgspec
import pytest

from fstui.storage.survey import survey, target_of
from tests.real import disks

NOBODY = 65534


def test_directory_is_on_the_filesystem_of_statfs(tmp_path: Path) -> None:
    target = target_of(str(tmp_path), survey())
    assert os.stat(target.mount_point).st_dev == os.stat(tmp_path).st_dev


@pytest.mark.root
def test_real_loop_device_is_followed_to_the_disk(tmp_path: Path) -> None:
    with disks.loop(tmp_path / "disk [1].img") as loop:
        disks.sh(disks.tool("mkfs.ext4"), "-q", f"/dev/{loop}")
        with disks.mounted(f"/dev/{loop}", tmp_path / "mount\nhere", "ext4") as place:
            inventory = survey()
    target = target_of(str(place), inventory)
    outer = target_of(str(place.parent), inventory)
    file = f"file:{place.parent}/disk [1].img"
    assert target.mount_point == str(place)
    assert [node.id for node in target.stack[:3]] == [f"mount:{place}", loop, file]
    assert target.stack[3:] == outer.stack
    assert target.lowest == outer.lowest
    readings = {reading.what: reading.value for node in target.stack[:2] for reading in node.readings}
    assert (readings["barrier"], readings["data"], readings["journal"], readings["dio"]) == (
        "barrier", "ordered", "yes", "1",
    )  # fmt: skip


@pytest.mark.root
def test_ordinary_user_sees_the_same_layers_as_root() -> None:
    as_root = layers()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may run in this process: it must not raise or return
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            with os.fdopen(write_end, "wb") as pipe:
                pipe.write(layers().encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        as_user = pipe.read().decode()
    os.waitpid(child, 0)
    assert as_user == as_root


def layers() -> str:
    """Return every layer of every stack, without the reasons of media: only root can read some hypervisors."""
    stacks = {target.mount_point: target.stack for target in survey().filesystems}
    return repr({
        place: [msgspec.structs.replace(node, medium=None) for node in stack] for place, stack in stacks.items()
    })  # fmt: skip
