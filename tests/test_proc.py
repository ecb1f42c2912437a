"""/proc with names that are meant to confuse a parser."""

import os
import subprocess
import sys

import pytest

from fstui import proc

NAMER = "import sys; open('/proc/self/comm', 'wb').write(b'a) R 1 (\\xff'); print('named', flush=True); input()"


def test_process_is_read_whatever_its_name() -> None:
    with subprocess.Popen([sys.executable, "-c", NAMER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
        assert named.stdin and named.stdout
        assert named.stdout.readline() == b"named\n"
        found = proc.stat(named.pid)
        assert found and found.name == os.fsdecode(b"a) R 1 (\xff")
        assert found.parent == os.getpid() and found.start > 0 and found.state in "RSD"
        assert named.pid in proc.pids()
        named.stdin.close()


def test_missing_process_has_nothing() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    assert proc.stat(gone.pid) is None
    assert proc.written_bytes(gone.pid) is None


@pytest.mark.parametrize(("field", "name"), [
    (b"/mnt/a\\040b", "/mnt/a b"), (b"/mnt/\\134040", "/mnt/\\040"), (b"/mnt/\xff", os.fsdecode(b"/mnt/\xff")),
    (b"/mnt/a\\012b\\011c", "/mnt/a\nb\tc"), (b"/mnt/\\999", "/mnt/\\999"), ("/mnt/é".encode(), "/mnt/é"),
    (b"/mnt/[bold]\x1b[2J", "/mnt/[bold]\x1b[2J"),
])  # fmt: skip
def test_mount_point_is_unescaped_once(field: bytes, name: str) -> None:
    line = b"36 35 8:1 / " + field + b" rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue"
    (mount,) = proc.parse_mounts(b"no mount\n" + line + b"\n")
    assert (mount.mount_point, mount.device, mount.line) == (name, "8:1", 0)
    assert mount.option("errors") == "continue" and "noatime" in mount.all_options


def test_own_mounts_are_those_of_other_processes() -> None:
    assert [mount.number for mount in proc.mounts()] == [mount.number for mount in proc.mounts(os.getpid())] != []


@pytest.mark.parametrize(("path", "stubs"), [
    ("/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0", True), ("libeatmydata.so", True), ("/opt/libnosync.so", True),
    ("libnofsync.so.1", True), ("libfakesync.so", True), ("libfsyncstub.so", True), ("libfsync-off.so", True),
    ("/x/Disable-FSync.so", True), ("/home/eatmydata/lib/libjemalloc.so.2", False), ("libsyncthing.so", False),
    ("/lib/libc.so.6", False), ("", False),
])  # fmt: skip
def test_name_of_a_library_that_stubs_syncs(path: str, stubs: bool) -> None:
    assert proc.stubs_syncs(path) is stubs


@pytest.mark.parametrize(("running", "waits"), [(1, False), (3, False), (4, True)])
def test_threads_wait_if_more_others_run_than_cpus_exist(running: int, waits: bool) -> None:
    cpus = "cpu  90 0 30 900\ncpu0 45 0 15 450\ncpu1 45 0 15 450\n"
    assert proc.threads_wait_for_cpu(f"{cpus}intr 7 1\nprocs_running {running}\nprocs_blocked 0\n") is waits
    assert not proc.threads_wait_for_cpu("")
