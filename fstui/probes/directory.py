"""Program: everything about a directory that may block on storage, in a process that can be abandoned.

``space``     stdin: a line per mount point; stdout: a JSON line per answer, in the order in which they come
``inspect``   stdin: one path; stdout: one JSON line: what it really is and whether a run may write there
``keep``      stdin: one path; makes it (0700, it must not exist), says ``ready``, removes it when stdin closes, and
              then the ledger's entry of it (an argument), because the app that would strike it out may be dead
``remove``    stdin: one path that an earlier run left behind
Paths travel as JSON strings with surrogate escapes, so that a name that is not UTF-8 survives.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import sys
import threading
import time
from typing import Any

PREFIX = ".fstui-"
REMOVE_S = 8.0
STATX_DIOALIGN = 0x2000
AT_FDCWD = -100
STATX = {"x86_64": 332, "aarch64": 291, "riscv64": 291, "ppc64le": 383, "s390x": 379}
"""System call numbers of statx, from the kernel's syscall tables."""


def say(**fields: Any) -> None:
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
        mode = os.stat(real).st_mode
        found = os.statvfs(real)
    except OSError as error:
        say(**failure(error))
        return
    say(
        path=real,
        directory=stat.S_ISDIR(mode),
        writable=os.access(real, os.W_OK | os.X_OK),
        read_only=bool(found.f_flag & os.ST_RDONLY),
        total_bytes=found.f_blocks * found.f_frsize,
        free_bytes=found.f_bavail * found.f_frsize,
        fsid=found.f_fsid,
    )


def dio_alignment(path: str) -> int | None:
    """What O_DIRECT wants offsets aligned to, by statx(2) STATX_DIOALIGN; 0: no O_DIRECT here; None: unknown.

    Asked of a file, before Linux 6.1 and on many filesystems the kernel does not say.
    """
    number = STATX.get(os.uname().machine)
    if number is None:
        return None
    import ctypes  # noqa: PLC0415  late: only this question needs it

    answer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).syscall(number, AT_FDCWD, os.fsencode(path), 0, STATX_DIOALIGN, answer):
        return None
    mask = int.from_bytes(answer.raw[0:4], sys.byteorder)
    return int.from_bytes(answer.raw[0x9C:0xA0], sys.byteorder) if mask & STATX_DIOALIGN else None


def keep(path: str, entry: str | None) -> None:
    """Make the directory, hold it until stdin closes, remove it with all that is in it, and strike it out."""
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        say(**failure(error))
        return
    say(ready=True, dio_alignment=alignment_in(path))
    while os.read(0, 4096):
        pass
    answer = removed(path)
    with contextlib.suppress(BrokenPipeError):  # the app was killed
        say(**answer)
    if "removed" in answer and entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)


def alignment_in(directory: str) -> int | None:
    path = os.path.join(directory, "alignment")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            return dio_alignment(path)
        finally:
            os.unlink(path)
    except OSError:
        return None


def removed(path: str) -> dict[str, Any]:
    """Remove a directory of ours. A probe or a server that is still ending may add files, or remove its own: try for a
    few seconds."""
    until = time.monotonic() + REMOVE_S
    while True:
        try:
            os.lstat(path)
        except FileNotFoundError:
            return {"removed": True}
        except OSError as error:  # a dead disk: what is there cannot be seen, and is not gone
            return failure(error)
        try:
            shutil.rmtree(path)
        except OSError as error:
            if time.monotonic() > until:
                return failure(error)
            time.sleep(0.05)


def remove(path: str) -> None:
    """Remove what an earlier run left: only a real directory of our own naming and ours by ownership."""
    if not os.path.basename(path).startswith(PREFIX):
        say(errno=None, error=f"its name does not begin with {PREFIX}")
        return
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        say(removed=True)
        return
    except OSError as error:
        say(**failure(error))
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        say(errno=None, error="it is not a directory of this user's")
        return
    say(**removed(path))


def main() -> None:
    # a SIGHUP or Ctrl-C is for the app: it closes our stdin
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    action = sys.argv[1]
    if action == "space":
        space([json.loads(line) for line in sys.stdin])
        return
    path: str = json.loads(read_line())
    if action == "keep":
        keep(path, sys.argv[2] if len(sys.argv) > 2 else None)
    else:
        {"inspect": inspect, "remove": remove}[action](path)


def read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    return line


if __name__ == "__main__":
    main()
