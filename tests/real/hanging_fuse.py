"""A FUSE mount that passes every call to a directory, until it is set to hang at a kind of call.

``unshare --mount python hanging_fuse.py MOUNT_POINT DIRECTORY COMMAND_FILE``: hangs at the calls that COMMAND_FILE
names, until it is empty again; ``all``: at every call. With ``direct`` it refuses writes with O_DIRECT. Prints
``mounted`` and stays until it is killed; then all waiting calls fail.
"""

import errno
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mfusepy

CALLS = ("getattr", "open", "read", "write", "fsync", "unlink")
KIND = {
    "create": "open", "opendir": "open", "readdir": "read", "truncate": "write", "mkdir": "write", "rename": "write",
    "fsyncdir": "fsync", "rmdir": "unlink", "statfs": "getattr",
}  # fmt: skip
"""Calls that belong to the same kind."""
OPTIONS = {"attr_timeout": 0, "entry_timeout": 0, "use_ino": True, "hard_remove": True, "max_threads": 200}
POLL_INTERVAL_S = 0.02


def hang_on_request(command: Path, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a call so that it waits while the command file contains its kind."""

    @functools.wraps(call)
    def call_when_released(*arguments: Any) -> Any:
        while command.read_text().strip() in ("all", KIND.get(name, name)):
            time.sleep(POLL_INTERVAL_S)
        return call(*arguments)

    return call_when_released


class PassThrough(mfusepy.Operations):  # type: ignore[misc]
    """Passes each call to the same name in another directory."""

    use_ns = True

    def __init__(self, directory: str, command: Path) -> None:
        self._directory = directory
        self._command = command
        self._direct: set[int] = set()
        for name in (*CALLS, *KIND):
            setattr(self, name, hang_on_request(command, name, getattr(self, name)))

    def _real(self, path: str) -> str:
        return self._directory + path

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        found = os.lstat(self._real(path)) if fh is None else os.fstat(fh)
        fields = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        return {**fields, **{f"st_{what}time": fields[f"st_{what}time_ns"] for what in "amc"}}

    def open(self, path: str, flags: int) -> int:
        opened = os.open(self._real(path), flags & ~os.O_DIRECT)
        if flags & os.O_DIRECT:
            self._direct.add(opened)
        return opened

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self._real(path), os.O_CREAT | os.O_RDWR, mode)

    def opendir(self, path: str) -> int:
        return 0

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        names = [".", "..", *os.listdir(self._real(path))]
        return [(name, {"st_ino": os.lstat(f"{self._real(path)}/{name}").st_ino}, 0) for name in names]

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        if fh in self._direct and self._command.read_text().strip() == "direct":
            raise OSError(errno.EINVAL, "refused")
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self._real(path), length)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        os.fsync(fh)
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        return 0

    def release(self, path: str, fh: int) -> int:
        self._direct.discard(fh)
        os.close(fh)
        return 0

    def unlink(self, path: str) -> int:
        os.unlink(self._real(path))
        return 0

    def rmdir(self, path: str) -> int:
        os.rmdir(self._real(path))
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self._real(path), mode)
        return 0

    def rename(self, old: str, new: str) -> int:
        os.rename(self._real(old), self._real(new))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        os.chmod(self._real(path), mode)
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._real(path))
        return {name: getattr(found, name) for name in dir(found) if name.startswith("f_")}


def say_when_mounted(point: str) -> None:
    while not os.path.ismount(point):
        time.sleep(POLL_INTERVAL_S)
    print("mounted", flush=True)


if __name__ == "__main__":
    mount_point, directory, command_file = sys.argv[1:]
    threading.Thread(target=say_when_mounted, args=(mount_point,), daemon=True).start()
    mfusepy.FUSE(PassThrough(directory, Path(command_file)), mount_point, foreground=True, **OPTIONS)
