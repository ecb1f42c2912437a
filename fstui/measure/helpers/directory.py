"""Program: everything about a directory that may block on storage, in a process that can be abandoned.

``space``     stdin: a line per mount point; stdout: an empty object when it begins, then a JSON line per answer, in the
              order in which they come
``inspect``   stdin: one path; stdout: one JSON line: what it really is and whether a run may write there
``keep``      stdin: one path; makes it (0700, it must not exist) and holds it, says ``ready`` and its ``identity``
              (device and inode), removes it when stdin closes, and then the ledger's entry of it (an argument),
              because the app that would strike it out may be dead
``remove``    stdin: one path that an earlier run left behind; where it is gone, also the inode of what it was in
``dismantle`` the same of a directory that its user has named: only one that holds fstui's mark
``moved``     stdin: the inode of what it was in, and that path: removes it where its directory was renamed to
Paths travel as JSON strings with surrogate escapes, so that a name that is not UTF-8 survives.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
import sys
import threading
import time
from typing import Any

from fstui import proc
from fstui.measure.helpers import holding
from fstui.measure.wire.held import MARK, NotOurs, make

PREFIX = ".fstui-"
COVERED = "lies beneath what was mounted over it, and no path leads to it"
ELSEWHERE = (
    "leads to what is not mounted here: in another mount namespace (nsenter -m -t PID runs fstui there), or unmounted"
)
REMOVE_S = 8.0
STATX_DIOALIGN = 0x2000
GETFLAGS, GETFLAGS_POWERPC = 0x80086601, 0x40086601
FLAGS = {"S": 0x8, "C": 0x800000, "N": 0x10000000}
"""FS_SYNC_FL, which a file inherits of its directory: every write is synced. FS_INLINE_DATA_FL: ext4 keeps it in its
inode. FS_NOCOW_FL, also of its directory: btrfs overwrites it in place, without checksums."""
STATX = {"x86_64": 332, "aarch64": 291, "riscv64": 291, "ppc64le": 383, "s390x": 379}
"""System call numbers of statx, from the kernel's syscall tables."""


def say(**fields: Any) -> None:
    with contextlib.suppress(BrokenPipeError):  # the app was killed: what is to be done is done all the same
        os.write(1, json.dumps(fields).encode() + b"\n")


def failure(error: OSError) -> dict[str, Any]:
    return {"errno": error.errno, "error": error.strerror or "".join(map(str, error.args))}


def space(mount_points: list[str]) -> None:
    """statvfs each mount point in a thread of its own: a dead server delays nothing but its own answer."""

    def ask(mount_point: str) -> None:
        try:
            found = os.statvfs(mount_point)
        except OSError as error:
            say(mount_point=mount_point, **failure(error))
        else:
            unit = found.f_frsize
            say(mount_point=mount_point, total_bytes=found.f_blocks * unit, free_bytes=found.f_bavail * unit)

    threads = [threading.Thread(target=ask, args=(point,), daemon=True) for point in mount_points]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def inspect(path: str) -> None:
    """Where the path leads, what is there, whether it can be written, how much room there is, what O_DIRECT wants."""
    try:
        real = os.path.realpath(path, strict=True)
        # /proc/PID/root, /proc/PID/cwd and the directory that we are in may be where no path of ours leads
        if not os.path.samestat(os.stat(path), os.stat(real)):
            raise OSError(errno.EXDEV, COVERED if is_mounted(path) else ELSEWHERE)
        mode = os.stat(real).st_mode
        found = os.statvfs(real)
        renamers = holding.renamers(real) if os.geteuid() == 0 else None
    except OSError as error:
        say(**failure(error))
        return
    say(
        path=real,
        renamers=renamers,
        directory=stat.S_ISDIR(mode),
        writable=os.access(real, os.W_OK | os.X_OK),
        read_only=bool(found.f_flag & os.ST_RDONLY),
        total_bytes=found.f_blocks * found.f_frsize,
        free_bytes=found.f_bavail * found.f_frsize,
        block_bytes=found.f_frsize,
        fsid=found.f_fsid,
    )


def is_mounted(path: str) -> bool:
    """Its mount is one of this namespace's (proc_pid_fdinfo(5), proc_pid_mountinfo(5))."""
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{fd}") as told:
            number = next(int(line.split()[1]) for line in told if line.startswith("mnt_id:"))
        return any(mount.number == number for mount in proc.mounts())
    finally:
        os.close(fd)


def statx(directory: int, name: str) -> bytes:
    """statx(2) of a file, what O_DIRECT wants of it included; zeros where it cannot be asked."""
    import ctypes  # noqa: PLC0415  late: only this question needs it

    answer = ctypes.create_string_buffer(256)
    if number := STATX.get(os.uname().machine):
        ctypes.CDLL(None).syscall(number, directory, os.fsencode(name), 0, STATX_DIOALIGN, answer)
    return answer.raw


def dio_alignment(answer: bytes) -> int | None:
    """What O_DIRECT wants offsets aligned to, by statx(2) STATX_DIOALIGN; 0: no O_DIRECT here; None: unknown.

    Asked of a file, before Linux 6.1 and on many filesystems the kernel does not say.
    """
    mask = int.from_bytes(answer[0:4], sys.byteorder)
    return int.from_bytes(answer[0x9C:0xA0], sys.byteorder) if mask & STATX_DIOALIGN else None


def keep(path: str, entry: str | None) -> None:
    """Make the directory, hold it until stdin closes, remove it with all that is in it, and strike it out."""
    try:
        held = make(path)
    except OSError as error:
        say(**failure(error))
        return
    found = os.fstat(held)
    say(ready=True, identity=[found.st_dev, found.st_ino], **told_of_a_file(held, MARK))
    while os.read(0, 4096):
        pass
    if child := os.fork():  # it is left behind where the disk hangs, and goes on when the disk does
        os.waitpid(child, 0)
        return
    answer = removed(held)
    say(**answer)
    if "removed" in answer and entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def told_of_a_file(directory: int, name: str) -> dict[str, Any]:
    """What the kernel tells of a file that was written to: what O_DIRECT wants of it, and its flags."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.write(fd, b"\n")
            return {"dio_alignment": dio_alignment(statx(directory, name)), "file_flags": file_flags(fd)}
        finally:
            os.close(fd)
    except OSError:
        return {"dio_alignment": None, "file_flags": ""}


def file_flags(fd: int) -> str:
    """Those of FLAGS that it has, by the letters of lsattr(1) (ioctl_iflags(2))."""
    flags = bytearray(8)
    try:
        fcntl.ioctl(fd, GETFLAGS_POWERPC if os.uname().machine.startswith("ppc") else GETFLAGS, flags)
    except OSError:
        return ""
    found = int.from_bytes(flags[:4], sys.byteorder)
    return "".join(letter for letter, bit in FLAGS.items() if found & bit)


def removed(held: int) -> dict[str, Any]:
    """Remove a directory of ours. A probe or a server that is still ending may add files, or remove its own: try for a
    few seconds."""
    until = time.monotonic() + REMOVE_S
    while True:
        try:
            holding.remove(held)
        except NotOurs as error:
            return failure(error)
        except OSError as error:
            if time.monotonic() > until:
                return failure(error)
            time.sleep(0.05)
        else:
            return {"removed": True}


def remove(path: str) -> None:
    """Remove what an earlier run left: only a real directory of our own naming and ours by ownership."""
    if not os.path.basename(path).startswith(PREFIX):
        say(errno=None, error=f"its name does not begin with {PREFIX}")
        return
    dismantle(path)


def dismantle(path: str) -> None:
    """Remove a directory that holds fstui's mark, whatever its name."""
    try:
        held = holding.hold(path)
    except FileNotFoundError:
        say(removed=True, absent=True, above=inode(os.path.dirname(path)), fsid=fsid(os.path.dirname(path)))
    except OSError as error:
        say(**failure(error))
    else:
        say(**removed(held))


def moved(question: str) -> None:
    """Remove it from its directory under the name that this has now, beside the old one."""
    number, _, path = question.partition(" ")
    above, name = os.path.split(path)
    beside = os.path.dirname(above)
    try:
        named = [os.path.join(beside, other) for other in os.listdir(beside)]
    except OSError:
        named = []
    for other in named:
        if inode(other) == int(number) and os.path.lexists(os.path.join(other, name)):
            remove(os.path.join(other, name))
            return
    say(errno=None, error=f"{above} was moved or removed since")


def inode(path: str) -> int:
    """Of the directory; 0 where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_ino if stat.S_ISDIR(found.st_mode) else 0


def fsid(path: str) -> int:
    """Return f_fsid of the filesystem that holds the path, or would hold it; 0 if that cannot be read."""
    try:
        return os.statvfs(path).f_fsid
    except FileNotFoundError:
        return fsid(os.path.dirname(path))
    except OSError:
        return 0


def main() -> None:
    # a SIGHUP or Ctrl-C is for the app: it closes our stdin
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    action = sys.argv[1]
    if action == "space":
        say()
        space([json.loads(line) for line in sys.stdin])
        return
    path: str = json.loads(read_line())
    if action == "keep":
        keep(path, sys.argv[2] if len(sys.argv) > 2 else None)
    else:
        {"inspect": inspect, "remove": remove, "dismantle": dismantle, "moved": moved}[action](path)


def read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    return line


if __name__ == "__main__":
    main()
