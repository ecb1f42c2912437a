import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.model.storage import Reading
from fstui.storage.process import WriteCount, read_process, read_process_of, read_write_counts, writers
from tests.factories.box import Box

MAPS = """\
7f1c40000000-7f1c40001000 r--p 00000000 fe:00 131 /usr/lib/x86_64-linux-gnu/libc.so.6
7f1c40002000-7f1c40003000 r-xp 00000000 fe:00 132 /usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0
7f1c40003000-7f1c40004000 rw-p 00001000 fe:00 132 /usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0
7ffd4e9d0000-7ffd4e9f1000 rw-p 00000000 00:00 0 [stack]"""


def test_stubbing_library_is_found_in_every_place(box: Box) -> None:
    box.write("/proc/self/maps", MAPS)
    box.write("/proc/self/environ", b"HOME=/root\0LD_PRELOAD=libjemalloc.so libeatmydata.so\0")
    box.write("/etc/ld.so.preload", "/usr/lib/nosync/nosync.so")
    assert read_process(box.root).preloads == (
        Reading(what="preload", value="/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0", path="/proc/self/maps"),
        Reading(what="preload", value="libeatmydata.so", path="/proc/self/environ"),
        Reading(what="preload", value="/usr/lib/nosync/nosync.so", path="/etc/ld.so.preload"),
    )


def test_other_preloads_are_no_stubs(box: Box) -> None:
    box.write("/proc/self/maps", "7f00-7f01 r-xp 00000000 fe:00 1 /home/eatmydata/lib/libjemalloc.so.2")
    box.write("/proc/self/environ", b"LD_PRELOAD=/usr/lib/libjemalloc.so.2:/usr/lib/libasync.so\0")
    assert read_process(box.root).preloads == ()


def test_cgroup_is_that_of_the_io_limits(box: Box) -> None:
    box.write("/proc/self/cgroup", "9:name=systemd:/a\n7:blkio:/slow\n0::/u")
    assert read_process(box.root).cgroup == "/slow"
    box.write("/proc/self/cgroup", "0::/user.slice/shell:1")
    assert read_process(box.root).cgroup == "/user.slice/shell:1"


def test_another_process_has_limits_preloads_and_filter(box: Box) -> None:
    box.write("/proc/77/comm", "mysqld")
    box.write("/proc/77/maps", MAPS)
    box.write("/proc/77/status", "Name:\tmysqld\nSeccomp:\t2\nSeccomp_filters:\t1")
    box.write("/proc/77/cgroup", "0::/db.slice/mysql")
    box.write("/etc/ld.so.preload", "/usr/lib/nosync.so")
    box.mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    box.write("/sys/fs/cgroup/db.slice/mysql/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=100")
    box.write("/sys/fs/cgroup/db.slice/io.max", "8:0 wiops=500\n8:16 wbps=max")
    found = read_process_of(77, box.root)
    assert (found.pid, found.name, found.cgroup, found.seccomp) == (77, "mysqld", "/db.slice/mysql", "filter")
    assert [(reading.value, reading.path) for reading in found.preloads] == [
        ("/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0", "/proc/77/maps"),
    ]
    inner, outer = "/sys/fs/cgroup/db.slice/mysql/io.max", "/sys/fs/cgroup/db.slice/io.max"
    assert found.io_limits == (
        Reading(what="8:0 wbps", value="1048576", path=inner),
        Reading(what="8:0 wiops", value="100", path=inner),
        Reading(what="8:0 wiops", value="500", path=outer),
    )


def test_limits_of_cgroup_v1(box: Box) -> None:
    box.write("/proc/self/cgroup", "7:blkio:/slow\n1:name=systemd:/x\n0::/y")
    box.mount("cgroup", "/sys/fs/cgroup/blkio", "cgroup", super_options="rw,blkio")
    box.mount("cgroup", "/sys/fs/cgroup/systemd", "cgroup", super_options="rw,name=systemd")
    path = "/sys/fs/cgroup/blkio/slow/blkio.throttle.write_iops_device"
    box.write(path, "7:0 100")
    root = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device"
    box.write(root, "7:0 500")
    assert read_process(box.root).io_limits == (
        Reading(what="7:0 write_iops", value="100", path=path),
        Reading(what="7:0 write_iops", value="500", path=root),
    )


def test_limits_of_the_root_cgroup_apply(box: Box) -> None:
    """With a cgroup namespace, the root is the cgroup of a container."""
    box.write("/proc/self/cgroup", "7:blkio:/\n0::/")
    box.mount("cgroup", "/sys/fs/cgroup/blkio", "cgroup", super_options="rw,blkio")
    box.mount("cgroup2", "/sys/fs/cgroup/unified", "cgroup2")
    box.write("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "7:0 10")
    box.write("/sys/fs/cgroup/unified/io.max", "8:0 wiops=100")
    found = [(reading.what, reading.value) for reading in read_process(box.root).io_limits]
    assert found == [("7:0 write_iops", "10"), ("8:0 wiops", "100")]


def test_missing_or_foreign_process_is_refused(box: Box) -> None:
    with pytest.raises(Refused, match="there is no process 5"):
        read_process_of(5, box.root)
    box.write("/proc/6/comm", "secret")
    with pytest.raises(Refused, match=r"memory map of process 6 \(secret\) is not readable"):
        read_process_of(6, box.root)


def test_own_process_by_pid() -> None:
    found = read_process_of(os.getpid())
    assert (found.pid, found.cgroup) == (os.getpid(), read_process().cgroup)
    assert found.seccomp is not None
    assert found.preloads == ()


LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
WRITER = (
    "import os, sys\n"
    "file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
    "for line in sys.stdin:\n"
    "    os.write(file, bytes(int(line)))\n"
    "    os.fsync(file)\n"
    "    print('written', flush=True)\n"
)


class Other:
    """A process that writes as many bytes as it reads from its input."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def write(self, count: int) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "written\n"


@contextmanager
def another(file: Path) -> Iterator[Other]:
    call = [sys.executable, "-S", "-c", WRITER, str(file)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Other(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, check=True, text=True).stdout
    if kind.strip() == "tmpfs":
        pytest.skip("what is written into memory is written to no disk")
    return tmp_path


def test_writers_and_their_bytes(disk: Path) -> None:
    with another(disk / "one") as one, another(disk / "two") as two:
        for process in (one, two):  # so that both have made their files
            process.write(4096)
        before = read_write_counts()
        one.write(1 << 20)
        with another(disk / "new") as new:
            new.write(8192)
            after = read_write_counts()
    found = {writer.pid: writer.written_bytes for writer in writers(before, after)}
    assert found[one.pid] >= 1 << 20 and found[one.pid] < (1 << 20) + 65536
    assert 8192 <= found[new.pid] < 8192 + 65536  # it counts from zero, because it began in between
    assert two.pid not in found
    assert one.pid not in {writer.pid for writer in writers(before, after, own_pids=frozenset({one.pid}))}


def test_largest_writer_comes_first() -> None:
    after = {(7, 100): WriteCount("me", 10), (3, 50): WriteCount("parent", 20)}
    assert [writer.name for writer in writers({}, after)] == ["parent", "me"]


@pytest.mark.root
def test_reused_pid_is_another_process(disk: Path) -> None:
    with another(disk / "old") as old:
        old.write(1 << 20)
        before = read_write_counts()
    for _ in range(50):  # another process may get the next pid
        LAST_PID.write_text(str(old.pid - 1))
        with another(disk / "new") as new:
            if new.pid == old.pid:
                new.write(8192)
                (found,) = (each for each in writers(before, read_write_counts()) if each.pid == new.pid)
                assert 8192 <= found.written_bytes < 65536
                return
    pytest.skip("no process would take that pid")
