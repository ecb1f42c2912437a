"""``python -m tests.trace.reader.record DIRECTORY DEVICE``: record pages of this kernel's trace buffer for the tests.

Writes to ``recorded/RELEASE/`` next to this file: every format, the pages of each CPU, and the same events as the
kernel prints them. Needs root. DEVICE is the block device that DIRECTORY is on.
"""

import os
import sys
import time
from pathlib import Path

from fstui.trace.reader import tracefs

HERE = Path(__file__).parent / "recorded"
EVENTS = ("block/block_bio_queue", "block/block_rq_issue", "block/block_rq_complete", "sched/sched_process_fork")
PAGE = 4096


def main(directory: str, device: str) -> None:
    """Record a few synced writes, an append, and the birth of a process."""
    place = HERE / ".".join(os.uname().release.split(".")[:2])
    place.mkdir(parents=True, exist_ok=True)
    number = tracefs_number(device)
    instance = tracefs.Instance(tracefs.find_tracefs(), "fstui-recorded")
    instance.create()
    try:
        instance.open_buffers()
        (place / "header_page").write_text(instance.read("events/header_page"))
        for event in EVENTS:
            (place / event.replace("/", ".")).write_text(instance.read(f"events/{event}/format"))
            if event.startswith("block"):
                instance.write(f"events/{event}/filter", f"dev == {number}")
            instance.write(f"events/{event}/enable", "1")
        work(Path(directory) / "fstui-recorded")
        instance.write("events/enable", "0")
        (place / "trace.txt").write_text(instance.read("trace"))
        for cpu, buffer in enumerate(instance.cpus):
            (place / f"cpu{cpu}").write_bytes(pages(buffer.fd))
    finally:
        instance.remove()


def tracefs_number(device: str) -> int:
    """Return the device number for the kernel's filter."""
    major, minor = map(int, Path(f"/sys/class/block/{device}/dev").read_text().split(":"))
    return major << 20 | minor


def work(path: Path) -> None:
    """Sync overwrites and an append, pause for longer than an event's delta can hold, and start a process."""
    with path.open("w+b", buffering=0) as file:
        file.write(os.urandom(1 << 16))
        os.fsync(file)
        for number in range(12):
            os.pwrite(file.fileno(), os.urandom(4096), 4096 * number)
            os.fdatasync(file)
            if number == 6:
                time.sleep(0.2)
        os.pwrite(file.fileno(), os.urandom(4096), 1 << 17)
        os.fsync(file)
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    path.unlink()


def pages(fd: int) -> bytes:
    """Read everything in the buffer of a CPU."""
    found = b""
    try:
        while page := os.read(fd, PAGE):
            found += page
    except BlockingIOError:
        return found
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
