"""Finding tracefs, missing events, and instances that do not disturb other tracing."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.trace.reader import tracefs, watch
from fstui.trace.reader.recording import EventRecording, TracedEvent
from fstui.trace.reader.tracefs import TracefsError
from fstui.trace.reader.watch import WatchSession

pytestmark = pytest.mark.root
ROOT = Path(__file__).parents[3]
FORK = "sched/sched_process_fork"
FIND = """
import os
from fstui.trace.reader.tracefs import find_tracefs
root = find_tracefs()
print(root)
os.listdir(f"{root}/instances")
"""
UNMOUNTED = "awk '/ - tracefs /{print $5}' /proc/self/mountinfo | tac | xargs -r umount --lazy"


def found_after(script: str) -> str:
    """Return where tracefs is found in a mount namespace in which this script ran."""
    words = ["unshare", "--mount", "sh", "-ec", f'{script}\nexec "$0" -c "$1"', sys.executable, FIND]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def test_tracefs_is_used_without_being_mounted() -> None:
    assert found_after(UNMOUNTED).startswith("/proc/self/fd/")


def test_tracefs_is_used_if_proc_does_not_list_filesystems() -> None:
    """As in a service with ProcSubset=pid (systemd.exec(5))."""
    assert found_after(f"{UNMOUNTED}; mount -t proc -o subset=pid proc /proc").startswith("/proc/self/fd/")


def test_a_mount_point_with_a_space_is_found(tmp_path: Path) -> None:
    place = tmp_path / "trace fs"
    place.mkdir()
    assert found_after(f"{UNMOUNTED}\nmount -t tracefs none '{place}'") == str(place)


@contextmanager
def recording(name: str) -> Iterator[EventRecording]:
    made = EventRecording(f"fstui-{name}-{os.getpid()}")
    try:
        yield made
    finally:
        made.remove()


def test_a_missing_event_is_named() -> None:
    with (
        recording("missing") as made,
        pytest.raises(TracefsError, match="this kernel has no event block/no_such_event"),
    ):
        made.handle(TracedEvent("block/no_such_event", ("dev",)), print)


def test_a_watch_works_without_a_missing_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "COMMIT_BEGAN", TracedEvent("jbd2/no_such_event", ("dev",)))
    made = WatchSession(f"fstui-without-{os.getpid()}", pid=None, device=None, calls=True)
    try:
        made.read()
    finally:
        made.remove()


def test_the_second_after_a_pause_is_recorded(tmp_path: Path) -> None:
    """A second with too many requests is followed by one with few, which is recorded as a whole."""
    made = WatchSession(f"fstui-paused-{os.getpid()}", pid=None, device=None, calls=True)
    try:
        made.pause_devices()
        made.begin_second()
        with (tmp_path / "file").open("wb") as file:
            file.write(b"x")
            os.fsync(file.fileno())
        devices = made.end_second()["devices"]
        if not devices:
            pytest.skip("the temporary directory is not on a block device")
        assert any(device["flush_ns"] or device["write_ns"] for device in devices)
    finally:
        made.remove()


def test_a_watch_drops_a_sync_whose_end_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    made = WatchSession(f"fstui-lost-{os.getpid()}", pid=None, device=None, calls=True)
    monkeypatch.setattr(made._devices, "lost", lambda: 0)  # a busy disk may fill the buffer of its requests
    try:
        own_rows = []
        for lost in (0, 1):
            made.waits.begin_call(time.monotonic_ns(), threading.get_native_id(), 3)
            monkeypatch.setattr(made, "lost", lambda lost=lost: lost)
            second = made.end_second()
            own_rows.append([row["in_flight_ns"] is not None for row in second["waits"] if row["pid"] == os.getpid()])
        assert own_rows == [[True], []] and second["lost"] == 1
    finally:
        made.remove()


def test_a_watch_that_cannot_start_leaves_no_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.trace.reader.devices.SYNC_REQUEST_FILTER", "no filter")
    with pytest.raises(TracefsError):
        WatchSession(f"fstui-broken-{os.getpid()}", pid=None, device=None, calls=True)
    instances = Path(tracefs.find_tracefs(), "instances")
    assert not list(instances.glob(f"fstui-broken-{os.getpid()}*"))


def test_two_instances_do_not_disturb_each_other() -> None:
    """Each instance has its own buffer, filters and switches, as perf and trace-cmd have."""
    fields = ("parent_pid", "child_pid")
    with recording("other") as other:
        of_init: list[int] = []
        other.handle(TracedEvent(FORK, fields, "parent_pid == 1"), lambda _, parent, child: of_init.append(parent))
        with recording("own") as own:
            of_thread: list[int] = []
            own_forks = TracedEvent(FORK, fields, f"parent_pid == {own.thread}")
            own.handle(own_forks, lambda _, parent, child: of_thread.append(parent))
            subprocess.run(["true"], check=True)
            own.read()
            other.read()
            assert set(of_thread) == {own.thread}
            assert own.thread not in of_init
        assert other.instance.read(f"events/{FORK}/enable").strip() == "1"
        assert other.instance.read(f"events/{FORK}/filter").strip() == "parent_pid == 1"


def test_a_kernel_without_tracefs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracefs, "mount_point", lambda: None)
    monkeypatch.setattr("fstui.proc.read_text", lambda path: "nodev\tsysfs\n\text4\n")
    with pytest.raises(TracefsError, match="this kernel has no tracefs"):
        tracefs.find_tracefs()


def test_a_reason_contains_no_error_number() -> None:
    error = OSError(24, "Too many open files", "/sys/kernel/tracing")
    assert tracefs.reason_of(error) == "/sys/kernel/tracing: Too many open files"
    assert tracefs.reason_of(OSError(24, "Too many open files")) == "Too many open files"
    assert tracefs.reason_of(tracefs.TracefsError("only root may trace")) == "only root may trace"
