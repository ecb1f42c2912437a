"""Where tracefs is, and instances that disturb nobody's: what this kernel has, what it has not, who else traces."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.trace.reader import tracefs, watcher
from fstui.trace.reader.recording import Recording, Wanted
from fstui.trace.reader.tracefs import Untraceable
from fstui.trace.reader.watcher import Watcher

pytestmark = pytest.mark.root
OURS = Path(__file__).parents[3]
FORK = "sched/sched_process_fork"
FIND = """
import os
from fstui.trace.reader.tracefs import find
root = find()
print(root)
os.listdir(f"{root}/instances")
"""
UNMOUNTED = "awk '/ - tracefs /{print $5}' /proc/self/mountinfo | tac | xargs -r umount --lazy"


def found_after(script: str) -> str:
    """Where it is found in a mount namespace in which that was done."""
    words = ["unshare", "--mount", "sh", "-ec", f'{script}\nexec "$0" -c "$1"', sys.executable, FIND]
    done = subprocess.run(words, capture_output=True, text=True, cwd=OURS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def test_where_it_is_not_mounted_it_is_had_all_the_same() -> None:
    assert found_after(UNMOUNTED).startswith("/proc/self/fd/")


def test_a_place_with_a_blank_in_its_name_is_found(tmp_path: Path) -> None:
    place = tmp_path / "trace fs"
    place.mkdir()
    assert found_after(f"{UNMOUNTED}\nmount -t tracefs none '{place}'") == str(place)


@contextmanager
def recording(name: str) -> Iterator[Recording]:
    made = Recording(f"fstui-{name}-{os.getpid()}")
    try:
        yield made
    finally:
        made.remove()


def test_an_event_that_this_kernel_does_not_have_is_named() -> None:
    with recording("missing") as made, pytest.raises(Untraceable, match="this kernel has no event block/no_such_event"):
        made.enable(Wanted("block/no_such_event", ("dev",)))


def test_a_watch_goes_on_without_an_event_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "COMMIT_BEGAN", Wanted("jbd2/no_such_event", ("dev",)))
    made = Watcher(f"fstui-without-{os.getpid()}")
    try:
        made.look()
    finally:
        made.recording.remove()


def pids_of_forks(made: Recording) -> list[int]:
    made.collect()
    return [parent for _, _, (parent, _) in made.events(time.monotonic_ns())]


def test_who_else_traces_keeps_what_they_enabled_and_ours_is_ours() -> None:
    """Each instance has its own buffer, filters and switches: perf's and trace-cmd's are theirs."""
    fields = ("parent_pid", "child_pid")
    with recording("theirs") as theirs:
        theirs.enable(Wanted(FORK, fields, "parent_pid == 1"))
        with recording("ours") as ours:
            ours.enable(Wanted(FORK, fields, f"parent_pid == {ours.thread}"))
            subprocess.run(["true"], check=True)
            assert set(pids_of_forks(ours)) == {ours.thread}
            assert ours.thread not in pids_of_forks(theirs)
        assert theirs.instance.read(f"events/{FORK}/enable").strip() == "1"
        assert theirs.instance.read(f"events/{FORK}/filter").strip() == "parent_pid == 1"


def test_a_kernel_without_tracefs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracefs, "mount_point", lambda: None)
    monkeypatch.setattr(tracefs, "words_of", lambda path: ["nodev", "sysfs", "ext4"])
    with pytest.raises(Untraceable, match="this kernel has no tracefs"):
        tracefs.find()
