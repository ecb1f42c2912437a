"""The document and events of ``fstui watch --at-risk``: what each program would lose if the power failed now."""

import msgspec

from fstui.model.base import Amount, Base, Count
from fstui.model.host import Host
from fstui.model.judgement import Verdict
from fstui.model.quantities import count, seconds
from fstui.model.watch import WatchEvent

SCHEMA = "fstui.at-risk/1"


class BytesAtRisk(Base, frozen=True, kw_only=True):
    """The bytes at risk of a program or a file, their age, and its syncs. All numbers of bytes are upper bounds."""

    dirty_bytes: Count
    """In the page cache and not yet written. The kernel counts whole folios of up to 2 MiB, so the true amount may be
    smaller."""
    cached_bytes: Count
    """Written to a disk, but possibly still in the disk's volatile cache."""
    oldest_s: Amount | None
    """Age of the oldest of these bytes; None if there are none."""
    may_be_older: bool = msgspec.field(name="at_least")
    """The oldest bytes were there when fstui first looked at their file, so they may be older than ``oldest_s``."""
    most_bytes: Count
    """The most bytes at risk at one time since the watch started."""
    longest_s: Amount
    """The greatest age of bytes at risk since the watch started."""
    syncs: Count | None
    """Syncs since the watch started; None without the kernel's trace."""
    sync_every_s: Amount | None
    """The mean time between syncs; None for fewer than two."""

    @property
    def bytes(self) -> int:
        return self.dirty_bytes + self.cached_bytes

    @property
    def age_text(self) -> str:
        """The age of the oldest bytes: ``≥ 4.2 s``; empty if there are none."""
        return "" if self.oldest_s is None else f"{'≥ ' if self.may_be_older else ''}{seconds(self.oldest_s)}"


class ProgramAtRisk(BytesAtRisk, frozen=True, kw_only=True):
    """A process and its descendants with the same name, such as the processes of one server."""

    program: str
    pid: int
    files: int
    """Files with bytes at risk."""
    shared_files: int
    """How many of these files other programs also have open for writing. Their bytes count for each program."""
    log: str | None = None
    """The file that the program syncs most. For a database this is the write-ahead log, from which it recovers its
    other files."""
    log_bytes: Count = 0
    """Bytes at risk in that file."""
    direct_files: int = 0
    """Files that the program has open with O_DIRECT. Their bytes are not counted."""
    direct_bytes: Count = 0
    """The most bytes that the disks of these files may hold in their caches. Any program may have written them."""
    names: int
    """Files that were created or renamed and whose directory entry is not yet durable."""
    oldest_name_s: Amount | None

    @property
    def program_label(self) -> str:
        return f"{self.program or 'a program that has ended'} ({self.pid})"


class FileAtRisk(BytesAtRisk, frozen=True, kw_only=True):
    programs: tuple[str, ...]
    path: str
    """The path in the program's namespace."""
    device: str | None
    direct: bool
    """A program opened the file with O_DIRECT. Such writes are not counted."""
    closed: bool
    """No program has the file open any more. Its bytes were counted when the file was closed."""

    @property
    def file_label(self) -> str:
        return self.path + (" (O_DIRECT)" if self.direct else "") + (" (closed)" if self.closed else "")


class NamesAtRisk(Base, frozen=True, kw_only=True):
    """New names in a directory that was not synced."""

    program: str
    directory: str | None
    """None for directories whose paths are not known."""
    directories: int
    device: str | None
    count: int
    oldest_s: Amount

    @property
    def directory_label(self) -> str:
        directories = "a directory" if self.directories == 1 else f"{count(self.directories)} directories"
        return self.directory or f"{directories} on {self.device or '?'}"


class WriteCacheAtRisk(Base, frozen=True, kw_only=True):
    device: str
    volatile: bool
    """False if the kernel reports that the device has no volatile write cache."""
    not_flushed_bytes: Count
    """Written by all programs since its last flush."""


class AtRisk(Base, frozen=True, kw_only=True):
    """The state at one moment."""

    elapsed_s: Amount = 0.0
    programs: tuple[ProgramAtRisk, ...] = ()
    """Sorted by bytes at risk, largest first."""
    files: tuple[FileAtRisk, ...] = ()
    names: tuple[NamesAtRisk, ...] = ()
    devices: tuple[WriteCacheAtRisk, ...] = ()
    rest_bytes: Count | None = None
    """Dirty bytes of files that no program has open, of mapped files, and of the filesystems themselves. None if fstui
    does not see all programs."""
    unsupported: str | None = None
    """Why bytes in the page cache cannot be counted."""
    lost: Count = 0
    """Events that did not fit into the kernel's buffers."""
    not_covered: dict[str, int] = {}
    """By filesystem type: how many descriptors are open for writing on such filesystems and were not examined."""
    unreadable: int = 0
    """Processes that fstui is not permitted to examine."""
    seconds_per_round: Amount = 1.0
    """Time in which every file is examined once."""
    names_recorded: bool = False


class UnsafeMount(Base, frozen=True, kw_only=True):
    """A filesystem whose configuration can lose even synced data. Its synced data is not counted."""

    mount_point: str
    verdict: Verdict
    sentence: str


class AtRiskReport(Base, frozen=True, kw_only=True):
    schema: str = SCHEMA
    started_at: str
    version: str
    host: Host
    pid: int | None = None
    mount_point: str | None = None
    untraced: str | None = None
    """Why there is no trace, as a sentence."""
    last: AtRisk = msgspec.field(name="whole")
    """The state at the end, with the largest amounts and ages of the watch."""
    sentences: tuple[str, ...]
    limits: tuple[str, ...]
    """What fstui could not see."""
    unsafe: tuple[UnsafeMount, ...] = ()


class AtRiskStarted(WatchEvent, frozen=True, kw_only=True, tag=True):
    host: Host
    untraced: str | None = None


class AtRiskSecond(WatchEvent, frozen=True, kw_only=True, tag=True):
    second: AtRisk
    sentences: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    unsafe: tuple[UnsafeMount, ...] = ()


class AtRiskFinished(WatchEvent, frozen=True, kw_only=True, tag=True):
    report: AtRiskReport
