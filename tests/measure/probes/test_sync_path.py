"""Does a sync leave this process as a system call?"""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fstui.judge.facts.configuration import stub_signs
from fstui.measure.children import command
from fstui.measure.probes import sync_path
from fstui.measure.probes.sync_path import count_left_dirty, dirty_check, dirty_kb
from fstui.model.host import Process
from tests.factories import dropping

PROGRAM = (
    "import json, sys\n"
    "sys.path.insert(0, sys.argv[1])\n"
    "from fstui.measure.probes import sync_path\n"
    "sync_path.TRIES_TIMEOUT_S = sync_path.SEARCH_TIMEOUT_S = 60\n"
    "print(json.dumps(sync_path.facts(sys.argv[2])))\n"
)
CHECKOUT = command("")[-2]


def facts(directory: Path, **environment: str) -> dict[str, Any]:
    """Return the facts of a process in that environment."""
    call = [sys.executable, "-I", "-S", "-c", PROGRAM, CHECKOUT, str(directory)]
    done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, check=True)
    assert list(directory.iterdir()) == []
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_clean_process_passes_its_syncs_on(tmp_path: Path) -> None:
    found = facts(tmp_path)
    assert (found["pipe_fsync_fails"], found["dsync_flag_kept"], found["preloads"]) == (True, True, [])
    assert found["cgroup"] is None or found["cgroup"].startswith("/")


def test_libeatmydata_shows_all_signs(tmp_path: Path) -> None:
    library = next(Path("/usr/lib").glob("*/libeatmydata.so"), None)
    if library is None:
        pytest.skip("libeatmydata is not installed (apt-get install libeatmydata1)")
    found = facts(tmp_path, LD_PRELOAD=str(library))
    assert (found["pipe_fsync_fails"], found["dsync_flag_kept"]) == (False, False)
    (preload,) = found["preloads"]
    assert (preload["what"], preload["path"]) == ("preload", "/proc/self/maps")
    assert "libeatmydata" in preload["value"]


@pytest.mark.parametrize("way", dropping.NOT_DROPPING)
def test_library_that_syncs_more_is_no_stub(tmp_path: Path, way: str) -> None:
    """It succeeds on a pipe like a stub, but leaves no page dirty, and its flushes are counted."""
    (tmp_path / "work").mkdir()
    found = facts(tmp_path / "work", **dropping.environment(tmp_path, way))
    skip_without_dirty_pages(found)
    assert found["pipe_fsync_fails"] is False
    assert list(stub_signs(msgspec.convert(found, Process))) == []


def skip_without_dirty_pages(found: dict[str, Any]) -> None:
    if not found["left_dirty"]:
        pytest.skip("the page cache does not tell: the directory is on FUSE, or in memory")


def test_a_sync_leaves_nothing_dirty(tmp_path: Path) -> None:
    found = facts(tmp_path)
    skip_without_dirty_pages(found)
    assert {"fsync", "fdatasync"} == set(found["left_dirty"])
    assert not any(left for _, left in found["left_dirty"].values())


def test_every_known_library_is_found(tmp_path: Path) -> None:
    """The name is enough: this library is a copy of libm."""
    library = tmp_path / "libfsync-off.so"
    innocent = re.search(r"/\S+/libm\.so\S*", Path("/proc/self/maps").read_text())
    assert innocent
    library.write_bytes(Path(innocent[0]).read_bytes())
    (tmp_path / "work").mkdir()
    (preload,) = facts(tmp_path / "work", LD_PRELOAD=str(library))["preloads"]
    assert preload["value"] == str(library)


def test_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_path.facts(str(tmp_path / "gone"))


def test_dirty_pages_need_the_number_of_the_system_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_path, "FDATASYNC", {})
    assert sync_path.facts(str(tmp_path))["left_dirty"] == {}


@pytest.mark.parametrize("way", dropping.DROPPING)
def test_stub_library_leaves_pages_dirty(tmp_path: Path, way: str) -> None:
    (tmp_path / "work").mkdir()
    found = facts(tmp_path / "work", **dropping.environment(tmp_path, way))
    skip_without_dirty_pages(found)
    assert any("dirty in memory" in line for line in stub_signs(msgspec.convert(found, Process)))


@pytest.mark.parametrize("raw", [None, lambda fd: None], ids=["unknown", "leaves pages dirty"])
def test_nothing_is_a_sign_without_a_raw_call_that_syncs(tmp_path: Path, raw: Any) -> None:
    assert count_left_dirty(str(tmp_path / "file"), {"fsync": lambda fd: None}, raw) == {}
    assert list(tmp_path.iterdir()) == []


def left_by(directory: Path, call: Any, raw: Any = os.fdatasync) -> int:
    """Return how many syncs left their page dirty, with this call in place of fsync."""
    skip_without_dirty_pages(facts(directory))
    seen = count_left_dirty(str(directory / "file"), {"fsync": call}, raw)
    return seen.get("fsync", (0, 0))[1]


def test_call_is_no_stub_if_the_raw_call_cleans_by_chance(tmp_path: Path) -> None:
    """Another process may clean what ext4 with data=journal leaves dirty."""
    alternating = cycle([True, False])
    assert left_by(tmp_path, lambda fd: None, lambda fd: os.fdatasync(fd) if next(alternating) else None) == 0


def test_second_dirty_page_is_searched_after_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_path, "TRIES_TIMEOUT_S", 60.0)  # this process has far more mappings than a probe
    monkeypatch.setattr(sync_path, "SEARCH_TIMEOUT_S", 60.0)
    dropped = [True]
    assert left_by(tmp_path, lambda fd: os.fsync(fd) if not dropped else dropped.clear()) == 1
    calls = count(1)
    assert left_by(tmp_path, lambda fd: os.fsync(fd) if next(calls) % 20 else None) == 2


def test_stuck_call_is_named() -> None:
    """A process that writes into a full pipe is blocked in write(2)."""
    program = "import os\nwhile True: os.write(1, bytes(4096))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as stuck:
        until = time.monotonic() + 60
        while (call := sync_path.blocking_call(stuck.pid)) != "write" and time.monotonic() < until:
            os.sched_yield()
        stuck.kill()
    assert call == "write"


def test_ended_process_is_in_no_call() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    assert sync_path.blocking_call(gone.pid) is None


def test_only_the_worker_of_the_same_loop_device_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pid, loop in ((31, 8), (32, 70), (33, 0)):
        (tmp_path / f"{pid}").mkdir()
        (tmp_path / f"{pid}" / "comm").write_text(f"kworker/u4:{pid}+loop{loop}\n")
        (tmp_path / f"{pid}" / "wchan").write_text("percpu_rwsem_wait" if loop else "0")
    monkeypatch.setattr(sync_path, "_PROC", os.open(tmp_path, os.O_PATH))
    frozen = {loop for loop in (0, 7, 8, 70) if sync_path.is_frozen_below_loop(os.makedev(7, loop))}
    assert frozen == {8, 70} and not sync_path.is_frozen_below_loop(os.makedev(8, 8))


SMAPS = """\
7f0000000000-7f0000001000 r--s 00000000 00:2f 12                         /mnt/work/sync-path
Size:                  4 kB
Shared_Dirty:          0 kB
Private_Dirty:         4 kB
7f0000001000-7f0000002000 r--s 00000000 00:2f 13                         /mnt/work/sync-path-beside
Shared_Dirty:          0 kB
Private_Dirty:         0 kB
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
Private_Dirty:        64 kB
"""


def test_only_mappings_of_that_file_are_counted() -> None:
    assert dirty_kb(SMAPS, "sync-path") == 4
    assert dirty_kb(SMAPS, "sync-path-beside") == dirty_kb(SMAPS, "else") == dirty_kb("", "sync-path") == 0


def test_dirty_page_is_reported_as_clean_after_a_sync(tmp_path: Path) -> None:
    with ExitStack() as closing:
        fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        closing.callback(os.close, fd)
        is_dirty = dirty_check(closing, fd, "file")
        os.pwrite(fd, b"x", 0)
        if not is_dirty():
            pytest.skip("the page cache does not report it: the directory is in memory")
        os.fsync(fd)
        assert not is_dirty()
