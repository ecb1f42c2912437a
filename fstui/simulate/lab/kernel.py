"""Mounts, loop devices and served disks of one directory: made, found again in the kernel's own tables, taken away.

All that stands for it lies in that directory, so that what a killed process left is found without its word.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fstui.measure.children import command
from fstui.model.errors import Refused
from fstui.state import ledger
from fstui.storage.layers.sources import mounts
from fstui.storage.layers.sources.files import Tree

WRITE_BACK, WRITE_THROUGH = "write back", "write through"
BUSY_S = 3.0
"""Who surveys the box looks at a mount for a moment: umount(2) says EBUSY meanwhile."""
_LOOK_S = 0.05
_CACHED = ("fuse.fstui-lab", "tmpfs")
"""What lies below the loop devices, and goes after them."""


def run(*words: str | Path) -> str:
    """A tool of the box; its stdout. Raises Refused with what it said."""
    try:
        done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise Refused(f"{words[0]} is missing: apt-get install e2fsprogs util-linux mount") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise Refused(f"{' '.join(map(str, words))}: {said or f'exit {done.returncode}'}")
    return done.stdout.decode().strip()


def has(need: str) -> bool:
    """A path that is there, or a filesystem that the kernel knows or has as a module."""
    if need.startswith("/"):
        return Path(need).exists()
    known = (line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines())
    with suppress(FileNotFoundError):
        return need in known or not subprocess.run(["modprobe", "-q", need], check=False).returncode
    return False


def make_image(file: Path, size_bytes: int) -> None:
    """A sparse file with an ext4, of which nothing is left for the kernel to initialise."""
    with file.open("xb") as image:
        image.truncate(size_bytes)
    quiet = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-E", quiet, file)


def attach(file: Path, *, direct_io: bool) -> str:
    """A loop device over it, with its cache on; its kernel name."""
    path = run("losetup", "--find", "--show", f"--direct-io={'on' if direct_io else 'off'}", file)
    device = path.removeprefix("/dev/")
    set_cache(device, WRITE_BACK)  # what another set of this device outlives that one's file
    return device


def set_cache(device: str, word: str) -> None:
    """What the kernel takes the device's cache for."""
    Path(f"/sys/block/{device}/queue/write_cache").write_text(word)


def mount(source: str, point: Path, fstype: str, options: str = "") -> None:
    """Raises Refused."""
    run("mount", "-t", fstype, *(["-o", options] if options else []), source, point)


def serve(point: Path, platter: Path, hold_s: float, writes_per_s: float) -> int:
    """A disk served by a process of its own, as a file; its pid. It lives on when this process has ended."""
    point.touch()
    words = command("measure.helpers.served_disk", str(point), str(platter), str(hold_s), str(writes_per_s))
    server = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert server.stdout
    with server.stdout:
        said = server.stdout.readline().decode(errors="replace").strip()
    if said != "mounted":
        server.wait()
        raise Refused(f"a disk cannot be served: {said or 'its process ended'}")
    return server.pid


def pull_plug(pid: int, started: int) -> None:
    """The process that is a disk ends at once, with all that its memory held."""
    if pid and ledger.start_time(pid) == started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _until(lambda: ledger.start_time(pid) != started)


def take_away(directory: str) -> None:
    """All that is mounted in the directory, and every loop device over a file there. Raises Refused: it is in use."""
    for mounted in _mounted_in(directory):
        if mounted.fstype not in _CACHED:
            unmount(mounted.mount_point)
    for device in loops_in(directory):
        set_cache(device, WRITE_BACK)
        detach(device)
    for mounted in _mounted_in(directory):
        unmount(mounted.mount_point, lazily=True)


def unmount(point: str, *, lazily: bool = False) -> None:
    """``lazily``: it goes as soon as the last one leaves it. Raises Refused."""
    words = ["umount", point]
    if _until(lambda: not subprocess.run(words, capture_output=True, check=False).returncode):
        return
    if not lazily:
        raise Refused(f"{point} is in use: end what works there, leave it with every shell, and try again")
    run("umount", "--lazy", point)


def detach(device: str) -> None:
    """One that somebody still looks at goes when he is done (losetup(8))."""
    run("losetup", "--detach", f"/dev/{device}")
    _until(lambda: not Path(f"/sys/block/{device}/loop").exists())


def loops_in(directory: str) -> list[str]:
    """Loop devices over files there."""
    found = []
    for file in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        with suppress(OSError):
            if file.read_text().startswith(f"{directory}/"):
                found.append(file.parts[3])
    return found


def is_mounted(point: str) -> bool:
    """By the kernel's table: a disk without power answers no question about itself."""
    return any(each.mount_point == point for each in mounts.read_mounts(Tree(Path("/"))))


def _mounted_in(directory: str) -> list[mounts.Mount]:
    """The newest first."""
    found = [each for each in mounts.read_mounts(Tree(Path("/"))) if each.mount_point.startswith(f"{directory}/")]
    return sorted(found, key=lambda each: -each.place)


def _until(done: Callable[[], bool]) -> bool:
    """Asked again and again, for a while."""
    until = time.monotonic() + BUSY_S
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_S)
    return True
