import errno
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.measure.children import Child
from fstui.model.errors import Refused
from fstui.state import ledger, workspace
from fstui.state.workspace import Workspace, inspect, remove_left_behind
from tests.real import disks


async def test_it_is_in_the_ledger_while_it_exists(tmp_path: Path) -> None:
    made = await Workspace.create(str(tmp_path), "k3f9a1")
    assert made.held_directory.path == str(tmp_path / ".fstui-k3f9a1")
    assert [(entry.kind, entry.what) for entry in ledger.entries()] == [("directory", made.held_directory.path)]
    assert ledger.stale_entries() == []
    (Path(made.held_directory.path) / "data-1").write_text("x")
    assert await made.remove() is None
    assert (list(tmp_path.iterdir()), ledger.entries()) == ([], [])


async def test_an_existing_directory_is_not_used(tmp_path: Path) -> None:
    (tmp_path / ".fstui-1").mkdir()
    with pytest.raises(Refused, match=r"Cannot create .*/\.fstui-1: File exists"):
        await Workspace.create(str(tmp_path), "1")
    assert (tmp_path / ".fstui-1").is_dir()
    assert ledger.entries() == []


@pytest.mark.root
async def test_a_filesystem_mounted_after_the_plan_is_refused(tmp_path: Path) -> None:
    planned = await inspect(str(tmp_path))
    disks.sh("mount", "-t", "tmpfs", "fstui-tests", tmp_path)
    try:
        with pytest.raises(Refused, match=r"Cannot create .*: the filesystem changed after the run"):
            await Workspace.create(planned.path, "1", planned.fsid)
        assert (list(tmp_path.iterdir()), ledger.entries()) == ([], [])
    finally:
        disks.unmount(tmp_path)
    made = await Workspace.create(planned.path, "1", planned.fsid)
    assert await made.remove() is None


async def test_a_ledger_that_cannot_be_written_refuses_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(Refused, match=r"/file: File exists\..*Set XDG_STATE_HOME"):
        await Workspace.create(str(tmp_path), "1")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


async def abandoned(directory: Path) -> ledger.LedgerEntry:
    """Return the entry of a directory whose keeper was killed."""
    made = await Workspace.create(str(directory), "k3f9a1")
    (entry,) = ledger.entries()
    os.kill(made._keeper.pid, signal.SIGKILL)
    return entry


async def test_the_directory_of_a_killed_keeper_is_removed(tmp_path: Path) -> None:
    made = await Workspace.create(str(tmp_path), "1")
    (Path(made.held_directory.path) / "data-1").write_text("x")
    os.kill(made._keeper.pid, signal.SIGKILL)
    assert await made.remove() is None
    assert (list(tmp_path.iterdir()), ledger.entries()) == ([], [])


async def test_a_failed_removal_stays_in_the_ledger_with_the_reason(tmp_path: Path) -> None:
    made = await Workspace.create(str(tmp_path), "1")
    os.kill(made._keeper.pid, signal.SIGKILL)
    Path(made.held_directory.path).rename(tmp_path / "moved")
    Path(made.held_directory.path).symlink_to("/")
    assert "not removed" in (await made.remove() or "")
    (entry,) = ledger.entries()
    problem = await remove_left_behind(entry)
    assert problem == f"{made.held_directory.path}: not removed: it is not a directory, or does not belong to this user"
    assert ledger.entries() == [entry]
    Path(made.held_directory.path).unlink()
    assert await remove_left_behind(entry) is None
    assert ledger.entries() == []


async def test_a_directory_is_resolved_and_its_space_reported(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(".")
    place = await inspect(str(tmp_path / "link"))
    assert place.path == str(tmp_path)
    space, stated = place.space, os.statvfs(tmp_path)
    assert space and 0 < space.free_bytes <= space.total_bytes
    assert (space.block_bytes, space.total_bytes) == (stated.f_frsize, stated.f_blocks * stated.f_frsize)


async def test_anything_but_a_directory_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="is not a directory"):
        await inspect(str(tmp_path / "file"))
    with pytest.raises(Refused, match=r"none: No such file or directory\. Name an existing directory"):
        await inspect(str(tmp_path / "none"))


async def test_an_io_error_is_not_reported_as_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped(*_: object, **__: object) -> dict[str, object]:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(workspace, "call_helper", stopped)
    with pytest.raises(Refused, match=r"/srv: Input/output error\. The filesystem has stopped"):
        await inspect("/srv")


async def test_a_disk_that_hangs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "_REPLY_TIMEOUT_S", 0.0)  # so that any disk appears to hang
    with pytest.raises(Refused, match=r"did not answer within .* Nothing was written"):
        await inspect(str(tmp_path))
    with pytest.raises(Refused, match=r"\.fstui-1 did not answer within"):
        await Workspace.create(str(tmp_path), "1")


async def test_an_unmounted_filesystem_does_not_count_as_removed() -> None:
    entry = ledger.write_entry("k3f9a1", kind="directory", what="/mnt/gone/.fstui-k3f9a1", mount_point="/mnt/gone")
    problem = await remove_left_behind(entry)
    assert problem is not None
    assert "nothing is mounted on /mnt/gone" in problem
    assert ledger.entries() == [entry]


@pytest.mark.parametrize("another", ["device", "filesystem on the same device"])
async def test_another_filesystem_at_the_mount_point_is_not_removed(tmp_path: Path, another: str) -> None:
    entry = await abandoned(tmp_path)
    elsewhere = replace(entry, what=str(tmp_path / "none" / ".fstui-k3f9a1"), fsid=entry.fsid + 1)
    if another == "device":
        elsewhere = replace(elsewhere, device="7:99", fsid=0)
    elif workspace._mounts_by_point()[entry.mount_point].fstype not in workspace._FSID_FROM_UUID:
        pytest.skip("the filesystem of the tests has no id of its own")
    assert "another filesystem is mounted on" in (await remove_left_behind(elsewhere) or "")
    assert ledger.entries() == [entry]
    assert await remove_left_behind(entry) is None
    assert ledger.entries() == []


async def test_a_renamed_parent_keeps_the_entry(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    entry = await abandoned(directory)
    directory.rename(tmp_path / "data.old")
    assert f"{directory} has been moved or removed since the run" in (await remove_left_behind(entry) or "")
    directory.mkdir()  # another directory at the same path
    assert "move it back" in (await remove_left_behind(entry) or "")
    assert ledger.entries() == [entry]
    directory.rmdir()
    (tmp_path / "data.old").rename(directory)
    assert await remove_left_behind(entry) is None
    assert (list(directory.iterdir()), ledger.entries()) == ([], [])


async def test_the_keeper_removes_the_entry_of_a_killed_owner(tmp_path: Path) -> None:
    made = await Workspace.create(str(tmp_path), "k3f9a1")
    made._keeper.hang_up()  # which also happens when the owner is killed
    await made._keeper.reap(10)
    assert (list(tmp_path.iterdir()), ledger.entries()) == ([], [])


async def test_a_keeper_killed_while_it_starts_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "Child", KilledKeeper)
    with pytest.raises(Refused, match="its helper process ended"):
        await Workspace.create(str(tmp_path), "1")
    assert (list(tmp_path.iterdir()), ledger.entries()) == ([], [])


class KilledKeeper(Child):
    """A keeper that is killed after it has made the directory."""

    async def read_line(self) -> bytes:
        await super().read_line()
        os.kill(self.pid, signal.SIGKILL)
        return b""
