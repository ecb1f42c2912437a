"""``fstui watch --at-risk`` compared with what a power cut takes from files that are written in known ways.

The disk is a loop device on a file whose server keeps every write in a volatile cache until a flush. A copy of what
that server has made durable is the disk after a power cut.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.model.at_risk import AtRisk
from tests.real import disks, forgetful_fuse
from tests.real.disks import MIB
from tests.real.processes import program, say
from tests.real.test_at_risk import watch

SIZE_BYTES = 320 * MIB
PAGE = 4096
WRITE = """
import ctypes, mmap, os, sys
directory, MIB, PAGE = sys.argv[1], 1 << 20, 4096
OLD, NEW = b"o" * PAGE, b"n" * PAGE
block = mmap.mmap(-1, MIB)
block.write(NEW * 256)
def opened(name, flags=0):
    path = f"{directory}/{name}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    for _ in range(8):
        os.write(fd, OLD * 256)
    os.fsync(fd)
    os.close(fd)
    return os.open(path, os.O_RDWR | flags)
def write(fd, mib):
    for _ in range(mib):
        os.writev(fd, [block])
names = ("synced", "overwritten", "mapped", "written_back", "scattered", "before")
fds = {name: opened(name) for name in names} | {"direct": opened("direct", os.O_DIRECT)}
fds["appended"] = os.open(f"{directory}/appended", os.O_RDWR | os.O_CREAT)
write(fds["synced"], 8)
write(fds["overwritten"], 4)
for fd in (fds["synced"], fds["overwritten"], fds["appended"], os.open(directory, os.O_RDONLY)):
    os.fsync(fd)
print("prepared", flush=True)
sys.stdin.readline()
write(fds["appended"], 8)
write(fds["overwritten"], 3)
memory = mmap.mmap(fds["mapped"], 2 * MIB)
for page in range(0, 2 * MIB, PAGE):
    memory[page : page + PAGE] = NEW
for number in range(100):
    os.pwrite(fds["scattered"], NEW, number * 20 * PAGE)
os.rename(f"{directory}/before", f"{directory}/after")
write(fds["written_back"], 5)
print("written", flush=True)
sys.stdin.readline()
ctypes.CDLL(None).sync_file_range(fds["written_back"], ctypes.c_long(0), ctypes.c_long(0), 7)
write(fds["direct"], 4)
print("in the cache", flush=True)
sys.stdin.readline()
"""
READ = """
import json, os, sys
names = os.listdir(sys.argv[1])
files = {name: open(f"{sys.argv[1]}/{name}", "rb").read() for name in names if name != "lost+found"}
print(json.dumps({name: data.count(b"n") for name, data in files.items()}))
"""
NEW_BYTES = {
    "synced": 8 * MIB, "overwritten": 7 * MIB, "mapped": 2 * MIB, "written_back": 5 * MIB, "scattered": 100 * PAGE,
    "direct": 4 * MIB, "appended": 8 * MIB,
}  # fmt: skip
UPPER_BOUNDS = {"scattered"}
"""The kernel counts an overwritten page with its whole folio."""


@contextmanager
def forgetful(point: Path, medium: Path) -> Iterator[Path]:
    """Mount the server and yield its file."""
    disks.require_kernel("fuse")
    point.mkdir()
    environment = {**os.environ, "FUSE_LIBRARY_NAME": "fuse3"}
    server = subprocess.Popen(
        [sys.executable, forgetful_fuse.__file__, point, medium], stdout=subprocess.PIPE, env=environment
    )
    try:
        assert server.stdout and server.stdout.readline() == b"mounted\n"
        yield point / "disk.img"
    finally:
        disks.unmount(point)
        server.communicate()


@contextmanager
def attached(file: Path) -> Iterator[str]:
    device = disks.sh(disks.tool("losetup"), "--find", "--show", "--direct-io=on", file)
    try:
        disks.cache_file(Path(device).name).write_text("write back")
        yield device
    finally:
        disks.sh("losetup", "--detach", device)


@pytest.mark.parametrize(("fstype", "options"), [("ext4", "commit=300"), ("xfs", "")])
def test_a_power_cut_takes_what_is_reported(workshop: Path, fstype: str, options: str) -> None:
    disks.require_kernel(fstype)
    medium, copy = workshop / "medium", workshop / "after the cut"
    with medium.open("wb") as file:
        file.truncate(SIZE_BYTES)
    with (
        forgetful(workshop / "fuse", medium) as disk,
        attached(disk) as device,
    ):
        maker, *quiet = disks.MKFS[fstype]
        disks.sh(disks.tool(maker), *quiet, device)
        with (
            disks.mounted(device, workshop / "mnt", fstype, options) as point,
            program(WRITE, point) as writer,
            watch("--mount", point) as watching,
        ):
            for words in ("written", "in the cache"):
                assert say(writer) == words
                watching.second()
                state = watching.second()
            shutil.copy(medium, copy)
    with attached(copy) as device, disks.mounted(device, workshop / "mnt", fstype) as point:
        survived = json.loads(disks.sh(sys.executable, "-c", READ, point))
    compare(state, survived)


def compare(state: AtRisk, survived: dict[str, int]) -> None:
    """Compare what was reported just before a power cut with the new bytes of each file that survived it."""
    reported = {Path(row.path).name: row.bytes for row in state.files}
    reported["direct"] = sum(disk.not_flushed_bytes for disk in state.devices)  # of no single file
    for name, written in NEW_BYTES.items():
        lost = written - survived.get(name, 0)
        print(f"{name}: reported {reported.get(name, 0) / MIB:.2f} MiB, lost {lost / MIB:.2f} MiB")
        assert reported.get(name, 0) >= lost, name
        if name not in {*UPPER_BOUNDS, "direct"}:
            assert reported.get(name, 0) <= lost + MIB // 4, name
    assert any(program.direct_files == 1 for program in state.programs)
    assert ("after" in survived) or bool(state.names), "a lost rename was reported"
    assert "before" in survived or "after" in survived
