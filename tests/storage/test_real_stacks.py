import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fstui.measure.helpers.tool_output import run
from fstui.model.counters import difference
from fstui.model.storage import Target
from fstui.storage.counters import read_counters
from fstui.storage.hotplug import Watch
from fstui.storage.survey import commands, survey, target_of
from fstui.storage.tool_output import ToolOutput, ToolOutputs, command_line
from tests.factories.looking import read, roles
from tests.real import disks

pytestmark = pytest.mark.root


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def loops(opened: ExitStack, tmp_path: Path) -> list[str]:
    return [opened.enter_context(disks.loop(tmp_path / f"{number}.img")) for number in range(3)]


def mounted(opened: ExitStack, source: str, tmp_path: Path, fstype: str, options: str = "") -> Target:
    point = opened.enter_context(disks.mounted(source, tmp_path / "mnt", fstype, options))
    return target_of(str(point), survey())


def test_xfs_with_external_log(opened: ExitStack, loops: list[str], tmp_path: Path) -> None:
    disks.require_kernel("xfs")
    data, log, _ = loops
    disks.sh(disks.tool("mkfs.xfs"), "-q", "-f", "-l", f"logdev=/dev/{log},size=64m", f"/dev/{data}")
    found = mounted(opened, f"/dev/{data}", tmp_path, "xfs", f"logdev=/dev/{log}")
    assert found.stack[0].below == (data, log)
    assert roles(found) == {log: "log"}
    before = read_counters(found.stack)
    with open(f"{found.mount_point}/file", "wb") as file:
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())
    moved = {device.device: device for device in difference(before, read_counters(found.stack))}
    assert (moved[log].written_bytes or 0) > 0


def test_xfs_with_realtime_device(opened: ExitStack, loops: list[str], tmp_path: Path) -> None:
    disks.require_kernel("xfs")
    data, _, realtime = loops
    disks.sh(disks.tool("mkfs.xfs"), "-q", "-f", "-r", f"rtdev=/dev/{realtime}", f"/dev/{data}")
    try:
        found = mounted(opened, f"/dev/{data}", tmp_path, "xfs", f"rtdev=/dev/{realtime}")
    except AssertionError as refused:
        pytest.skip(f"this kernel mounts no XFS with a real-time device (CONFIG_XFS_RT): {refused}")
    assert roles(found) == {realtime: "realtime"}


def test_ext4_with_external_journal(opened: ExitStack, loops: list[str], tmp_path: Path) -> None:
    data, journal, _ = loops
    disks.sh(disks.tool("mkfs.ext4"), "-q", "-F", "-b", "4096", "-O", "journal_dev", f"/dev/{journal}")
    disks.sh(disks.tool("mkfs.ext4"), "-q", "-F", "-b", "4096", "-J", f"device=/dev/{journal}", f"/dev/{data}")
    found = mounted(opened, f"/dev/{data}", tmp_path, "ext4")
    assert found.stack[0].below == (data, journal)
    assert roles(found) == {journal: "journal"}
    assert read(found.stack[0], "journal")[0] == "yes"


def test_bind_mount_and_subvolume_share_the_device(opened: ExitStack, loops: list[str], tmp_path: Path) -> None:
    disks.require_kernel("btrfs")
    disks.sh(disks.tool("mkfs.btrfs"), "-q", "-f", f"/dev/{loops[0]}")
    whole = mounted(opened, f"/dev/{loops[0]}", tmp_path, "btrfs")
    disks.sh("btrfs", "subvolume", "create", f"{whole.mount_point}/@data")
    place = opened.enter_context(disks.mounted(f"/dev/{loops[0]}", tmp_path / "sub", "btrfs", "subvol=@data"))
    found = target_of(str(place), survey())
    assert read(found.stack[0], "root")[0] == "/@data"
    assert found.stack[1:] == whole.stack[1:]


@contextmanager
def overlay_in_memory(place: Path, merged: Path) -> Iterator[Path]:
    """Return an overlay with its upper directory on a tmpfs at that path, which may be unmounted or covered later."""
    place.mkdir()
    disks.sh("mount", "-t", "tmpfs", "fstui-tests", place)
    try:
        for layer in ("lower", "upper", "work"):
            (place / layer).mkdir()
        stated = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
        with disks.mounted("overlay", merged, "overlay", stated) as point:
            yield point
    finally:
        subprocess.run(["umount", "--lazy", "--recursive", place], check=False, stderr=subprocess.DEVNULL)


def test_overlay_on_unmounted_filesystem_is_not_followed(opened: ExitStack, tmp_path: Path) -> None:
    held = tmp_path / "held"
    point = opened.enter_context(overlay_in_memory(held, tmp_path / "merged"))
    disks.sh("umount", "--lazy", held)
    found = target_of(str(point), survey(tool_outputs=real_path_outputs()))
    assert [node.kind for node in found.stack] == ["overlay"]
    assert read(found.stack[0], "missing")[0] == f"{held}/upper: nothing is there"


def test_overlay_mounted_through_a_symbolic_link(opened: ExitStack, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "held")
    opened.enter_context(overlay_in_memory(tmp_path / "held", tmp_path / "other"))
    for layer in ("upper2", "work2"):
        (link / layer).mkdir()
    options = f"lowerdir={link}/lower,upperdir={link}/upper2,workdir={link}/work2"
    point = opened.enter_context(disks.mounted("overlay", tmp_path / "merged", "overlay", options))
    found = target_of(str(point), survey(tool_outputs=real_path_outputs()))
    assert [node.kind for node in found.stack] == ["overlay", "tmpfs", "tmpfs"]


def real_path_outputs() -> ToolOutputs:
    real_path_commands = [command for command in commands(survey()) if command[0] == "realpath"]
    return {command_line(command): ToolOutput(**run(list(command))) for command in real_path_commands}


def test_reused_mount_number_over_upperdir(opened: ExitStack, tmp_path: Path) -> None:
    gone, held = tmp_path / "gone", tmp_path / "held"
    with disks.mounted("fstui-tests", gone, "tmpfs"):
        point = opened.enter_context(overlay_in_memory(held, tmp_path / "merged"))
    disks.sh("mount", "-t", "tmpfs", "fstui-tests", held)
    opened.callback(lambda: subprocess.run(["umount", held], check=False))
    found = target_of(str(point), survey())
    assert [node.kind for node in found.stack] == ["overlay"]
    assert "was mounted over it" in read(found.stack[0], "missing")[0]


def test_zram_is_memory_and_can_be_removed(opened: ExitStack, tmp_path: Path) -> None:
    watch = Watch()
    opened.callback(watch.close)
    with disks.zram(tmp_path) as storage:
        assert watch.has_changed()
        (lowest,) = target_of(str(storage.directory), survey()).lowest
        assert (lowest.id, lowest.sync) == (storage.device, "stops")
        assert lowest.medium is not None
        assert lowest.medium.class_ == "memory"
    assert watch.has_changed()
    names = {node.id for target in survey().filesystems for node in target.stack}
    assert storage.device not in names


def test_every_reading_names_an_existing_path(opened: ExitStack, loops: list[str], tmp_path: Path) -> None:
    disks.sh(disks.tool("mkfs.ext4"), "-q", "-F", f"/dev/{loops[0]}")
    found = mounted(opened, f"/dev/{loops[0]}", tmp_path, "ext4")
    paths = {reading.path for node in found.stack for reading in node.readings if reading.path.startswith("/")}
    assert paths
    assert all(os.path.exists(path) for path in paths)
