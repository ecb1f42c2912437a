"""Incidents that are caused at known times, and what ``fstui what-happened`` says about each. Needs root.

A program like etcd appends and syncs on an ext4 on a slow disk. One after the other: a neighbour that syncs, a
backup, an io limit, no CPU, discards; another program writes on a FUSE filesystem that hangs. At the end nothing
happens. It takes about nine minutes. A busy host may add stalls of its own: they are printed, too.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import slow_fuse
from tests.bench.pairs import arguments
from tests.real import disks, hanging
from tests.real.disks import MIB

FSTUI = str(Path(sys.executable).parent / "fstui")
CALM_S, INCIDENT_S = 70, 12
DISK_BYTES = 2048 * MIB
ETCD = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print("ready", flush=True)
while True:
    os.write(fd, bytes(2048))
    os.fdatasync(fd)
    time.sleep(0.02)
"""
SYNCER = """
import os, sys, threading
def work(number):
    fd = os.open(f"{sys.argv[1]}-{number}", os.O_WRONLY | os.O_CREAT)
    while True:
        os.pwrite(fd, bytes(262144), 0)
        os.fsync(fd)
for number in range(16):
    threading.Thread(target=work, args=(number,)).start()
"""
BACKUP = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
block = bytes(1 << 20)
while True:
    for at in range(300):
        os.pwrite(fd, block, at << 20)
"""
HOG = "while True: pass"
DISCARDER = """
import fcntl, os, struct, sys, threading
fd, first, size = os.open(sys.argv[1], os.O_WRONLY), int(sys.argv[2]), int(sys.argv[3])
def work(number):
    at = number << 20
    while True:
        fcntl.ioctl(fd, 0x1277, struct.pack("QQ", first + at % size, 65536))
        at += 65536
for number in range(32):
    threading.Thread(target=work, args=(number,)).start()
"""


class Expected(NamedTuple):
    name: str
    begin: float
    end: float
    causes: tuple[str, ...]
    program: str
    culprit: str = ""
    device: str = ""


def main(argv: list[str]) -> int:
    """Print each incident with the answer. Return 1 if one is wrong."""
    options = arguments(argv, "incidents", rounds=1, directory=tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=options.dir) as place, ExitStack() as stack:
        os.environ["XDG_STATE_HOME"] = os.environ.get("KEEP_STATE") or f"{place}/state"
        expected = replay(Path(place), stack)
        right = [is_right(one) for one in expected]
    return 0 if all(right) else 1


def replay(place: Path, stack: ExitStack) -> list[Expected]:
    storage = stack.enter_context(on_slow_disk(place / "disk"))
    (place / "fuse").mkdir()
    fuse = stack.enter_context(hanging.hanging_mount(place / "fuse"))
    stack.enter_context(running([FSTUI, "record"]))
    etcd = stack.enter_context(program(place, "etcd", ETCD, str(storage.directory / "wal")))
    stack.enter_context(program(place, "app", ETCD, str(fuse.point / "journal"), within=fuse.within))
    found: list[Expected] = []

    @contextmanager
    def incident(name: str, causes: tuple[str, ...], program: str, culprit: str = "") -> Iterator[None]:
        begin = time.time()
        yield
        device = "" if program == "app" else str(storage.device)
        found.append(Expected(name, begin, time.time(), causes, program, culprit, device))
        print(name, flush=True)
        time.sleep(CALM_S)

    time.sleep(CALM_S)
    syncer = program(place, "syncer", SYNCER, str(storage.directory / "neighbour"))
    with incident("neighbour", ("syncs", "writer"), "etcd", "syncer"), syncer:
        time.sleep(INCIDENT_S)
    rsync = program(place, "rsync", BACKUP, str(storage.directory / "copy"))
    with incident("backup", ("writer",), "etcd", "rsync"), rsync:
        time.sleep(INCIDENT_S)
    with incident("io limit", ("io-limit",), "etcd"), limited(etcd.pid, str(storage.device)):
        time.sleep(INCIDENT_S)
    with incident("no CPU", ("cpu",), "etcd"), starved(place, etcd.pid):
        time.sleep(INCIDENT_S)
    with incident("discards", ("discards",), "etcd", "trimmer"):
        half = DISK_BYTES // 2
        with program(place, "trimmer", DISCARDER, f"/dev/{storage.device}", str(half), str(half - 64 * MIB)):
            time.sleep(INCIDENT_S)
    with incident("FUSE", ("filesystem",), "app"):
        fuse.hang("fsync")
        time.sleep(5)
        fuse.hang()
    begin = time.time()
    time.sleep(30)
    return [*found, Expected("nothing", begin, time.time(), (), "")]


def is_right(one: Expected) -> bool:
    """Print and check the answer for the time of an incident."""
    words = [FSTUI, "what-happened", f"{iso(one.begin - 5)}..{iso(one.end + 5)}", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    inside = [each for each in found["incidents"] if each["end"] > one.begin and each["start"] < one.end]
    incidents = [
        each for each in inside if each["program"] in ("etcd", "app")
    ]  # others may have incidents of their own
    right = not incidents if not one.causes else any(matches(one, each) for each in incidents)
    print(f"\n{'right' if right else 'WRONG'}: {one.name}, {one.end - one.begin:.0f} s")
    for each in incidents:
        print(
            f"  {each['start'] - one.begin:+.1f} to {each['end'] - one.end:+.1f} s, {each['cause']}: {each['sentence']}"
        )
    if not incidents:
        print(f"  {found['sentence']}")
    return right


def matches(one: Expected, each: dict[str, Any]) -> bool:
    named = each["program"] == one.program and each["cause"] in one.causes
    return named and one.culprit in ("", each["culprit"]) and one.device in ("", each["device"])


def iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


@contextmanager
def on_slow_disk(place: Path) -> Iterator[disks.Storage]:
    """Make an ext4 on the first half of a slow disk; the other half is for discards."""
    place.mkdir()
    with hanging.hanging_mount(place, slow_fuse.__file__) as fuse:
        image = fuse.behind / "disk.img"
        with image.open("xb") as file:
            file.truncate(DISK_BYTES)
        losetup = ("losetup", "--find", "--show", str(fuse.point / image.name))
        device = Path(disks.sh(*fuse.within, *losetup)).name
        try:
            disks.cache_file(device).write_text("write back")
            disks.sh(*disks.MKFS["ext4"], f"/dev/{device}", f"{DISK_BYTES // 2 // 1024}k")
            with disks.mounted(f"/dev/{device}", place / "mnt", "ext4") as point:
                yield disks.Storage(point, device)
        finally:
            disks.sh("losetup", "--detach", f"/dev/{device}")


@contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def program(
    place: Path, name: str, text: str, *arguments_: str, within: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python program under a name of its own."""
    path = place / name
    with suppress(FileExistsError):
        path.symlink_to(Path(sys.executable).resolve())
    with running([*within, str(path), "-I", "-S", "-c", text, *arguments_]) as process:
        yield process


@contextmanager
def limited(pid: int, device: str) -> Iterator[None]:
    """Move a process into a cgroup that may write twice a second, and back."""
    before = next(
        line for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if "blkio" in line or "::" in line
    )
    with disks.write_limit(device, 2) as words:
        group = Path(words[2].split()[3])
        group.write_text(str(pid))
        try:
            yield
        finally:
            mount = group.parent.parent
            (mount / before.rpartition(":")[2].lstrip("/") / "cgroup.procs").write_text(str(pid))


@contextmanager
def starved(place: Path, pid: int) -> Iterator[None]:
    """Give a process only the CPU time that a real-time program leaves on its CPU, which is 5 %."""
    before = os.sched_getaffinity(pid)
    cpu = {max(before)}
    os.sched_setaffinity(pid, cpu)
    with program(place, "hog", HOG) as hog:
        os.sched_setaffinity(hog.pid, cpu)
        os.sched_setscheduler(hog.pid, os.SCHED_FIFO, os.sched_param(1))
        yield
    os.sched_setaffinity(pid, before)
