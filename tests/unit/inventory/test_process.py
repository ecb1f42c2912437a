from __future__ import annotations

from fstui.inventory.process import Written, read_process, read_write_bytes, writers
from fstui.model import Reading, Writer
from tests.unit.inventory.trees import Box

MAPS = """\
7f1c40000000-7f1c40001000 r--p 00000000 fe:00 131 /usr/lib/x86_64-linux-gnu/libc.so.6
7f1c40002000-7f1c40003000 r-xp 00000000 fe:00 132 /usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0
7f1c40003000-7f1c40004000 rw-p 00001000 fe:00 132 /usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0
7ffd4e9d0000-7ffd4e9f1000 rw-p 00000000 00:00 0 [stack]"""


def test_a_stubbing_library_is_found_wherever_it_shows(box: Box) -> None:
    box.write("/proc/self/maps", MAPS)
    box.write("/proc/self/environ", b"HOME=/root\0LD_PRELOAD=libjemalloc.so libeatmydata.so\0")
    box.write("/etc/ld.so.preload", "/usr/lib/nosync/nosync.so")
    assert read_process(box.root).preloads == (
        Reading(what="preload", value="/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0", path="/proc/self/maps"),
        Reading(what="preload", value="libeatmydata.so", path="/proc/self/environ"),
        Reading(what="preload", value="/usr/lib/nosync/nosync.so", path="/etc/ld.so.preload"),
    )


def test_other_preloads_are_not_stubs(box: Box) -> None:
    box.write("/proc/self/maps", "7f00-7f01 r-xp 00000000 fe:00 1 /home/eatmydata/lib/libjemalloc.so.2")
    box.write("/proc/self/environ", b"LD_PRELOAD=/usr/lib/libjemalloc.so.2:/usr/lib/libasync.so\0")
    assert read_process(box.root).preloads == ()


def test_the_cgroup_is_the_one_whose_io_limits_hold(box: Box) -> None:
    box.write("/proc/self/cgroup", "9:name=systemd:/a\n7:blkio:/slow\n0::/u")
    assert read_process(box.root).cgroup == "/slow"
    box.write("/proc/self/cgroup", "0::/user.slice/shell:1")
    assert read_process(box.root).cgroup == "/user.slice/shell:1"


def process(box: Box, pid: int, name: str, written: int) -> None:
    box.write(f"/proc/{pid}/comm", name)
    box.write(f"/proc/{pid}/io", f"rchar: 1\nwrite_bytes: {written}\ncancelled_write_bytes: 0")


def test_who_wrote_meanwhile(box: Box) -> None:
    process(box, 10, "postgres", 1000)
    process(box, 11, "idle", 77)
    process(box, 12, "fstui", 5)
    before = read_write_bytes(box.root)
    process(box, 10, "postgres", 5096)
    process(box, 12, "fstui", 9000)
    process(box, 13, "new[b]", 8192)
    assert writers(before, read_write_bytes(box.root), own=frozenset({12})) == (
        Writer(pid=13, name="new[b]", written_bytes=8192),
        Writer(pid=10, name="postgres", written_bytes=4096),
    )


def test_a_reused_pid_counts_from_zero() -> None:
    assert writers({10: Written("old", 900)}, {10: Written("new", 300)}) == (
        Writer(pid=10, name="new", written_bytes=300),
    )
