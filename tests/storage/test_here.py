"""The host that runs the tests: the survey agrees with what the kernel reports in other ways."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fstui.model.counters import difference
from fstui.storage.counters import read_counters
from fstui.storage.survey import survey, target_of
from tests.real.disks import unmount

NOBODY = 65534
TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")


@pytest.fixture
def loop_mount(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Return name and mount point of ext4 on a loop device with direct I/O on a file."""
    if os.geteuid() != 0 or not all(map(shutil.which, TOOLS)):
        pytest.skip(f"needs root and {', '.join(TOOLS)}, to make a loop device")
    image, place = tmp_path / "disk [1].img", tmp_path / "mount\nhere"
    image.touch()
    os.truncate(image, 64 << 20)
    place.mkdir()
    command = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    loop = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", loop], check=True)
        subprocess.run(["mount", loop, str(place)], check=True)
        try:
            yield loop.removeprefix("/dev/"), place
        finally:
            unmount(place)
    finally:
        subprocess.run(["losetup", "--detach", loop], check=True)


def test_directory_is_on_the_filesystem_of_statfs(tmp_path: Path) -> None:
    target = target_of(str(tmp_path), survey())
    assert os.stat(target.mount_point).st_dev == os.stat(tmp_path).st_dev


@pytest.mark.root
def test_real_loop_device_is_followed_to_the_disk(loop_mount: tuple[str, Path]) -> None:
    loop, place = loop_mount
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
def test_sync_is_counted_at_the_loop_device(loop_mount: tuple[str, Path]) -> None:
    loop, place = loop_mount
    node = target_of(str(place), survey()).node(loop)
    with open(place / "file", "wb", buffering=0) as file:
        file.write(bytes(4096))
        os.fsync(file.fileno())
        before = read_counters([node])
        os.pwrite(file.fileno(), b"x" * 4096, 0)
        os.fdatasync(file.fileno())
        (moved,) = difference(before, read_counters([node]))
    assert node.counted
    assert moved.flushes is not None
    assert moved.flushes >= 1
    assert moved.written_bytes is not None
    assert moved.written_bytes >= 4096


@pytest.mark.root
def test_ordinary_user_sees_the_same_layers_as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to look once with its rights and once without")
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
