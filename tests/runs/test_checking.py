"""Which filesystems a check takes, and which it leaves out and says."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from fstui.model.storage import Target
from fstui.runs.checking import Checkup, LeftOut, grouped
from fstui.runs.session import Session


def mounted(point: Path | str, fstype: str = "ext4", source: str = "/dev/sda1", **more: object) -> Target:
    return replace(Target(path=str(point), mount_point=str(point), fstype=fstype, source=source), **more)


async def left_out(tmp_path: Path, *others: Target) -> dict[str, str]:
    """Beside the directory of the test, which is taken for the first filesystem."""
    checkup = Checkup(Session.here(trace=False))
    await checkup.choose([mounted(tmp_path), *others])
    assert [subject.name for subject in checkup.subjects] == [str(tmp_path)]
    return {one.name: one.reason for one in checkup.left_out}


async def test_what_holds_no_files_or_takes_none_is_left_out_and_said(tmp_path: Path) -> None:
    found = await left_out(
        tmp_path,
        mounted("/proc", "proc", "proc", pseudo=True),
        mounted("/cd", "iso9660", "/dev/sr0", mount_options=("ro",)),
        mounted("/dev/shm", "tmpfs", "tmpfs"),
        mounted("/filer", "nfs4", "filer:/vol", silent_s=41.0),
        mounted("/var/lib/docker/overlay2/1/merged", "overlay", "overlay"),
    )
    assert found == {
        "/proc": "holds no files",
        "/cd": "read-only",
        "/dev/shm": "in memory (tmpfs): name it to have it checked",
        "/filer": "does not answer: silent for 41.0 s",
        "/var/lib/docker/overlay2/1/merged": "stored in another filesystem, as that of a container: name it to have it "
        "checked",
    }


async def test_a_device_is_checked_once_however_often_it_is_mounted(tmp_path: Path) -> None:
    assert await left_out(tmp_path, mounted("/bind")) == {"/bind": f"the same filesystem as {tmp_path}"}


async def test_what_is_gone_is_said_and_takes_the_others_with_it_not(tmp_path: Path) -> None:
    found = await left_out(tmp_path, mounted(tmp_path / "gone", source="/dev/sdb1"))
    assert "No such file" in found[str(tmp_path / "gone")]


async def test_only_what_does_not_answer_is_trouble(tmp_path: Path) -> None:
    checkup = Checkup(Session.here(trace=False))
    await checkup.choose([mounted("/proc", "proc", "proc", pseudo=True), mounted("/filer", silent_s=2.0)])
    assert [one.trouble for one in checkup.left_out] == [False, True]


def test_reasons_are_said_once() -> None:
    listed = [LeftOut("/a", "read-only"), LeftOut("/b", "silent"), LeftOut("/c", "read-only")]
    assert dict(grouped(listed)) == {"read-only": ["/a", "/c"], "silent": ["/b"]}
