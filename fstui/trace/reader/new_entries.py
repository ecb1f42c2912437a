"""New directory entries that a power cut may undo, because neither the directory nor the journal was written yet."""

import contextlib
import glob
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.files import block_device
from fstui.trace.reader.syncs import FileNumber

_MIN_COMMIT_AGE_S = 1.5
"""A journal commit that ends at least this long after a change contains the change. A commit that ends earlier may have
begun before the change."""
_COMMIT_INTERVAL_S = 5.0
"""Time until ext4 commits its journal, unless the mount option ``commit`` sets another time."""


class Journal(NamedTuple):
    """An ext4 journal (jbd2)."""

    file: str
    """The file in /proc with the statistics of the journal."""
    interval_s: float
    """The longest time between two commits."""

    def commits(self) -> int:
        """Return the number of commits since the mount."""
        match = re.match(r"\d+", proc.read_text(self.file))
        return int(match[0]) if match else 0


class NewEntries:
    """The names that a program created in a directory in one second."""

    def __init__(self, directory: FileNumber, path: str | None, count: int, created_at: float) -> None:
        self.directory, self.path, self.count, self.created_at = directory, path, count, created_at
        self.journal = journal_of(directory[0])
        self._commits = self.journal.commits() if self.journal else 0
        self._first_commit_s: float | None = None
        """Age of the names when fstui first saw a later commit."""

    def is_committed(self, now: float, commits: Mapping[Journal, int]) -> bool:
        """Return whether a commit of the journal has made the names durable.

        Without a journal, return whether the kernel has written the directory back. ``commits``: the number of commits
        of each journal so far.
        """
        age_s = now - self.created_at
        if self.journal is None:
            return age_s > writeback_age_s()
        new_commits = commits[self.journal] - self._commits
        if new_commits and self._first_commit_s is None:
            self._first_commit_s = age_s
        is_contained = new_commits >= 2 or (self._first_commit_s or 0) > _MIN_COMMIT_AGE_S
        return is_contained or age_s > self.journal.interval_s + _COMMIT_INTERVAL_S


def find_directory(pid: int, inode: int, candidates: Iterable[str]) -> str | None:
    """Return the path of a directory if it is the process's working directory or one of ``candidates``, else None."""
    with contextlib.suppress(OSError):
        candidates = [os.readlink(f"/proc/{pid}/cwd"), *candidates]
    for path in candidates:
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}/root{path}").st_ino == inode:
                return path
    return None


@cache
def journal_of(number: int) -> Journal | None:
    """Return the journal of the ext4 filesystem on a device, or None if there is no journal."""
    device = block_device(number)
    files = glob.glob(f"/proc/fs/jbd2/{glob.escape(device)}-*/info") if device else ()
    mounted = (mount for mount in proc.mounts() if proc.device_number(mount.device) == number)
    option = next((mount.option("commit") for mount in mounted), None)
    interval_s = float(option) if option and option.isdigit() else _COMMIT_INTERVAL_S
    return Journal(files[0], interval_s) if files else None


@cache
def writeback_age_s() -> float:
    """Return the age at which the kernel writes dirty pages back by itself, or infinity if it never does."""
    expire, interval = (
        int(proc.read_text(f"/proc/sys/vm/dirty_{name}_centisecs") or default)
        for name, default in (("expire", 3000), ("writeback", 500))
    )
    return (expire + interval) / 100 if interval else math.inf
