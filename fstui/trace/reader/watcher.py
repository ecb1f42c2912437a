"""The events of calls, filesystems and journals in an instance of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fstui.trace.reader import waits
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.lineage import Lineage, family
from fstui.trace.reader.recording import Recording, Wanted
from fstui.trace.reader.tracefs import Untraceable
from fstui.trace.reader.waits import Waits

COMMIT_BEGAN = Wanted("jbd2/jbd2_start_commit", ("dev",))
COMMIT_ENDED = Wanted("jbd2/jbd2_end_commit", ("dev",))
ERROR_SET = Wanted("filemap/filemap_set_wb_err", ("i_ino", "s_dev", "errseq"))
ERROR_TOLD = Wanted("filemap/file_check_and_advance_wb_err", ("i_ino", "s_dev"))
FORK = Wanted("sched/sched_process_fork", ("parent_pid", "child_pid"))
ERRNO = 0xFFF
"""The errno in an errseq (kernel: lib/errseq.c)."""


class LostWrite(NamedTuple):
    """A write that failed behind a program's back: an fsync is to say so, once to each that has the file open."""

    errno: int
    told: int


class Watcher:
    """Everything that programs wait in."""

    def __init__(self, name: str, *, pid: int | None = None, device: int | None = None, calls: bool = True) -> None:
        """``device``: only the filesystem on it, where the kernel can tell. ``calls``: fsync and fdatasync themselves.

        ``pid``: whose family is asked for. Raises Untraceable.
        """
        self._family: Lineage | None = None
        self.waits = Waits()
        self.commits: dict[int, Durations] = {}
        self.errors: dict[tuple[int, int], LostWrite] = {}
        """By device and inode."""
        self.recording = Recording(name)
        self._committing: dict[int, int] = {}
        self._handlers: dict[int, Callable[..., None]] = {}
        try:
            if pid is not None:
                self._follow(pid)
            self._enable(f"dev == {device}" if device is not None else "", () if calls else waits.FREQUENT)
        except BaseException:
            self.recording.remove()
            raise

    def _enable(self, only: str, without: tuple[str, ...]) -> None:
        for handler, events in waits.EVENTS.items():
            for name, fields in events.items():
                if name in without:
                    continue
                kind = waits.FUA_ALONE if name.startswith("block/") else only if "dev" in fields else ""
                self._try(Wanted(name, fields, kind), getattr(self.waits, handler))
        if not self._handlers:
            raise Untraceable("this kernel has no event of a system call or a filesystem that syncs")
        self._try(COMMIT_BEGAN, self._commit_began)
        self._try(COMMIT_ENDED, self._commit_ended)
        self._try(ERROR_SET, self._error_set)
        self._try(ERROR_TOLD, self._error_told)

    def _follow(self, pid: int) -> None:
        """Learn of every process that it starts, however soon that ends."""
        self._family = family_tree = Lineage()
        self._handlers[self.recording.enable(FORK)] = lambda _, parent, child: family_tree.forked(parent, child)
        family_tree.add("us", family([pid]))

    def is_of_family(self, thread: int) -> bool:
        """Whether a thread is of the process that was asked for, or of those that it has started."""
        return self._family is None or self._family.asker(thread) == "us"

    def _try(self, event: Wanted, handler: Callable[..., None]) -> None:
        """Not every kernel has every event."""
        try:
            number = self.recording.enable(event)
        except Untraceable:
            return
        self._handlers[number] = handler

    def look(self) -> None:
        """Read what has happened so far."""
        until_ns = self.recording.collect()
        handlers = self._handlers
        for time_ns, number, fields in self.recording.events(until_ns):
            if number in handlers:
                handlers[number](time_ns, *fields)

    def take_commits(self) -> dict[int, Durations]:
        """The journals' commits since the last look."""
        taken, self.commits = self.commits, {}
        return taken

    def _commit_began(self, time_ns: int, device: int) -> None:
        self._committing[device] = time_ns

    def _commit_ended(self, time_ns: int, device: int) -> None:
        since_ns = self._committing.pop(device, None)
        if since_ns is not None:
            self.commits.setdefault(device, Durations()).add(time_ns - since_ns)

    def _error_set(self, _: int, inode: int, device: int, errseq: int) -> None:
        self.errors[device, inode] = LostWrite(errseq & ERRNO, 0)

    def _error_told(self, _: int, inode: int, device: int) -> None:
        known = self.errors.get((device, inode))
        if known is not None:
            self.errors[device, inode] = known._replace(told=known.told + 1)
