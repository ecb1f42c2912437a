"""The words every room shares, as frozen structs.

The run document is ``msgspec.json.encode(Run)``: there is no second set of classes. Units stand in the names. A value
that could not be read is ``None``; it is never replaced by a guess.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = "fstui.run/1"

MediumClass = Literal[
    "hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000", "ssd", "ssd-plp", "optane",
    "raid-cache", "network", "memory", "unknown",
]  # fmt: skip
MediumCache = Literal["none", "volatile", "plp", "unknown"]
Layer = Literal["filesystem", "file", "block", "pool", "remote", "memory"]
SyncPath = Literal["passes", "stops", "unknown"]
Verdict = Literal["lost", "not-durable", "suspicious", "cannot-tell", "plausible", "consistent", "kept"]
Confidence = Literal["low", "medium", "high"]
Scope = Literal["storage", "process", "step"]
StepStatus = Literal["finished", "failed", "skipped", "stopped", "disturbed"]
RunStatus = Literal["finished", "stopped", "failed"]

MEDIA: tuple[MediumClass, ...] = (
    "hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000", "ssd", "ssd-plp", "optane",
    "raid-cache", "network", "memory", "unknown",
)  # fmt: skip
CACHES: tuple[MediumCache, ...] = ("none", "volatile", "plp", "unknown")
VERDICTS: tuple[Verdict, ...] = (
    "lost", "not-durable", "suspicious", "cannot-tell", "plausible", "consistent", "kept",
)  # fmt: skip
"""Worst first."""


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """Frozen, keyword-only: what was seen does not change."""


class Reading(Base, frozen=True, kw_only=True):
    """One fact and where it was read: ``what`` it is, the ``value`` found, the ``path`` it stood in."""

    what: str
    value: str
    path: str


class Medium(Base, frozen=True, kw_only=True):
    """What a lowest device really is, or what the user declared it to be."""

    class_: MediumClass = msgspec.field(default="unknown", name="class")
    rpm: int | None = None
    write_cache: MediumCache = "unknown"
    ephemeral: bool | None = None
    """The data dies with the instance. A separate axis from honesty."""
    declared: bool = False
    because: str = ""


class Node(Base, frozen=True, kw_only=True):
    """One layer of a stack. ``below`` names the ids of the layers that it stands on.

    What the rules rest on stands in ``readings``, under these names; a path that is a command line was run by a child.

    any layer: ``role``, what it is to the layer above: cache | origin | metadata | data | cow | log | realtime |
    journal | mirror leg | stripe | path | slog | special | l2arc | spare (``cache`` is the fast device of a dm-cache,
    dm-writecache or bcache, ``origin`` the slow one; a ZFS read cache is ``l2arc``); ``missing``, what could not be
    read, and why.
    filesystem: ``barrier`` (barrier | nobarrier), ``data`` (ordered | journal | writeback), ``journal`` (yes | no),
    ``volatile`` (overlay), ``upperdir``, ``compress``, ``dax``, ``level`` (btrfs), ``logdev``, ``rtdev`` (XFS),
    ``root`` (of a bind mount or subvolume).
    ZFS dataset: ``sync``, ``logbias``, ``recordsize``, ``compression``, ``primarycache``, ``atime`` (the path ends in
    where it comes from: "(inherited from tank)"), ``zil_commit_count``.
    any filesystem: ``sync_option`` (sync; of a remote one also async).
    remote (on the filesystem): ``strict_sync`` (no: CIFS nostrictsync), ``vers``,
    ``hard`` (hard | soft), ``cache`` (CIFS and 9p), ``trans`` (9p), ``commit_count`` (NFS COMMIT calls so far).
    pool: ``ashift``, ``zfs_nocacheflush``, ``zil_nocacheflush`` (0 | 1); vdevs are pools too, of kind mirror, raidz …
    loop: ``backing_file``, ``dio`` (1 | 0).
    block: ``write_cache`` (write back | write through, the kernel's view), ``cache_type`` (the driver's; "temporary"
    never shows there), ``ID_ATA_WRITE_CACHE_ENABLED`` (udev's, when the drive was found), ``drive_cache`` (on | off,
    the drive's own word now, asked by root), ``vwc`` (present | absent, NVMe), ``iostats``, ``fua``, ``rotational``,
    ``rpm``, ``zoned``, ``F_FLUSH``, ``CONFIG_WCE`` (yes | no, virtio-blk), ``transport`` (NVMe: pcie, tcp, rdma, fc),
    ``ana_state``, ``iopolicy`` (NVMe multipath), ``link_rate`` ("6.0 Gbps", "8.0 GT/s × 4"), ``payload_mb_s`` (what
    that rate can carry at the most), ``usb_bridge``, ``usb_driver``, ``grade`` (consumer | data centre | cloud | raid |
    virtual, by the model table).
    md: ``level``, ``raid_disks``, ``journal_mode``, ``consistency_policy``, ``bitmap``; bcache: ``cache_mode``,
    ``bcache_state``; dm: ``target``, and from its table (root) ``cache_mode`` (dm-cache), ``level`` (dm-raid),
    ``writecache_type`` (ssd | pmem), ``integrity_mode``.
    """

    id: str
    """Kernel name of a block device (``sda1``), else ``kind:name``: ``mount:/srv``, ``file:/x.img``."""
    layer: Layer
    kind: str
    """disk, partition, loop, dm-linear, dm-crypt, md, bcache, zram, ext4, xfs, btrfs, overlay, tmpfs, nfs4, …"""
    name: str
    """What a person calls it: ``data/queue`` for an LVM volume, the mount point for a filesystem."""
    below: tuple[str, ...] = ()
    lowest: bool = False
    model: str | None = None
    link: str | None = None
    rotational: bool | None = None
    write_cache: Literal["write back", "write through"] | None = None
    """The kernel's view, /sys/block/X/queue/write_cache."""
    fua: bool | None = None
    counted: bool = False
    """This layer counts flushes (whole disks with iostats=1; not partitions, dm, md, zram)."""
    sync: SyncPath = "unknown"
    because: str = ""
    medium: Medium | None = None
    state: tuple[Reading, ...] = ()
    """What is wrong with this layer now: degraded, resyncing, errors_count, forced read-only, offline."""
    readings: tuple[Reading, ...] = ()
    """What the rules rest on: barrier, data, journal, cache_type, volatile, upperdir, backing_file, dio …"""
    size_bytes: int | None = None

    def reading(self, what: str) -> Reading | None:
        """The first reading of that name, or None where nothing was read."""
        return next((reading for reading in self.readings if reading.what == what), None)


class Space(Base, frozen=True, kw_only=True):
    """Room on a filesystem, from statvfs(3): what an ordinary user may still take."""

    total_bytes: int
    free_bytes: int


class Target(Base, frozen=True, kw_only=True):
    """A directory on a mounted filesystem and the graph from there down to the lowest devices."""

    path: str
    mount_point: str
    fstype: str
    source: str
    mount_options: tuple[str, ...] = ()
    identity: str = ""
    """Hash of serials, stack kinds, cache settings and mount options: survived power cuts count per identity."""
    stack: tuple[Node, ...] = ()
    """Topmost first; ``stack[0]`` is the filesystem itself."""
    space: Space | None = None
    silent_s: float | None = None
    """The filesystem has not answered statvfs for so long: its server or disk hangs."""
    pseudo: bool = False
    """It cannot hold files (proc, sysfs, cgroup …)."""

    def node(self, node_id: str) -> Node:
        """The layer of that id. Raises KeyError where there is none."""
        for node in self.stack:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    @property
    def lowest(self) -> tuple[Node, ...]:
        """The devices at the bottom of the graph."""
        return tuple(node for node in self.stack if node.lowest)


class Host(Base, frozen=True, kw_only=True):
    """The box."""

    hostname: str = ""
    kernel: str = ""
    virtualization: str | None = None
    """kvm, virtualbox, vmware, microsoft, xen, firecracker, container kinds …; None where it is real hardware."""
    cloud: str | None = None
    cpus: int = 0
    memory_bytes: int = 0
    udev: bool = False
    """A udev database was there to enrich what /sys says."""


class Process(Base, frozen=True, kw_only=True):
    """The sync path of the process that measures: does its libc pass the sync on?"""

    pipe_fsync_fails: bool | None = None
    """fsync(2) of a pipe must fail with EINVAL; a stub lets it succeed."""
    dsync_flag_kept: bool | None = None
    """F_GETFL of an O_DSYNC open still has O_DSYNC; libeatmydata takes it away."""
    libc_sync_ns: int | None = None
    raw_sync_ns: int | None = None
    preloads: tuple[Reading, ...] = ()
    """Libraries that stub syncs, with where they were seen: /proc/self/maps, LD_PRELOAD, /etc/ld.so.preload."""
    cgroup: str | None = None
    io_limits: tuple[Reading, ...] = ()
    """Limits of that cgroup and of those above it: ``what`` is major:minor and the limit, ``path`` the file."""
    seccomp: Literal["off", "strict", "filter"] | None = None
    """A filter can answer syncs without running them (seccomp(2), SECCOMP_RET_ERRNO with 0)."""
    pid: int | None = None
    """Another process than the one that measures."""
    name: str | None = None
    """Its command name."""


class DeviceCounters(Base, frozen=True, kw_only=True):
    """What one layer counted. ``None``: it does not count this; ``0``: it counts, and saw none.

    From /sys/block/X/stat (Documentation/block/stat.rst); flushes are field 16, FUA writes are not counted there.
    """

    device: str
    reads: int | None = None
    read_bytes: int | None = None
    read_ms: int | None = None
    writes: int | None = None
    written_bytes: int | None = None
    write_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    discards: int | None = None
    in_flight: int | None = None
    """Now, not a difference."""
    commits: int | None = None
    """ZIL commits of a ZFS dataset (of the whole box before OpenZFS 2.2), COMMIT calls of an NFS mount."""


class Counters(Base, frozen=True, kw_only=True):
    """Every layer's counters, read at one monotonic time."""

    monotonic_ns: int
    devices: tuple[DeviceCounters, ...] = ()

    def device(self, device: str) -> DeviceCounters | None:
        """That device's counters, or None where they were not read."""
        return next((counters for counters in self.devices if counters.device == device), None)


class Writer(Base, frozen=True, kw_only=True):
    """Another process that wrote to disks meanwhile, from /proc/PID/io."""

    pid: int
    name: str
    written_bytes: int


class Idle(Base, frozen=True, kw_only=True):
    """What the devices did while fstui did nothing: 1 s before the run and the pauses between steps, added up."""

    elapsed_s: float = 0.0
    counters: tuple[DeviceCounters, ...] = ()
    writers: tuple[Writer, ...] = ()


class Failure(Base, frozen=True, kw_only=True):
    """The call that failed, its errno and what the kernel says about it."""

    call: str
    errno: int | None
    message: str


class Latency(Base, frozen=True, kw_only=True):
    """Percentiles in ns. p99 is None below 100 samples, p99_9 below 1 000."""

    min: int
    mean: int
    p50: int
    p90: int
    p95: int
    p99: int | None
    p99_9: int | None
    max: int


class Stalls(Base, frozen=True, kw_only=True):
    """Operations much slower than the rest, and the time lost in them."""

    count: int = 0
    lost_s: float = 0.0


class TimelinePoint(Base, frozen=True, kw_only=True):
    """One stretch of a step. The counters are those of the lowest devices, where they were read in that stretch."""

    t_s: float
    ops: int
    p50_ns: int | None = None
    p99_ns: int | None = None
    max_ns: int | None = None
    writes: int | None = None
    written_bytes: int | None = None
    flushes: int | None = None


class SyncWrites(Base, frozen=True, kw_only=True):
    """Settings of the probe ``sync_writes`` (DESIGN section 4, scenario files)."""

    seconds: float = 1.0
    block_bytes: int = 4096
    file_bytes: int = 67108864
    offsets: Literal["random", "same", "sequential", "append"] = "random"
    open_flags: tuple[Literal["direct", "dsync", "sync"], ...] = ()
    sync: Literal["none", "fsync", "fdatasync"] = "fdatasync"
    sync_every: int = 1
    writers: int = 1
    ops_per_s: float = 0.0
    prefill: Literal["written", "fallocate", "none"] = "written"
    max_bytes_per_s: int = 268435456
    """The step ends early once it has written this × its seconds: the bound that the plan shows."""


class SqliteCommits(Base, frozen=True, kw_only=True):
    """Settings of the probe ``sqlite_commits``: one row of a table is rewritten per transaction."""

    seconds: float = 1.0
    journal_mode: Literal["DELETE", "TRUNCATE", "PERSIST", "WAL"] = "DELETE"
    synchronous: Literal["OFF", "NORMAL", "FULL", "EXTRA"] = "FULL"
    rows: int = 10_000
    row_bytes: int = 100
    max_bytes_per_s: int = 268435456
    """The step ends early once it has written this × its seconds."""


class DirtyFlush(Base, frozen=True, kw_only=True):
    """Settings of the probe ``dirty_flush``: flush times after growing amounts of unsynced O_DIRECT writes.

    Its figures: ``sequential`` and ``scattered``, each with ``slope_ns_per_mib``, ``intercept_ns`` and ``points``
    (``bytes``, ``sync_ns``, ``arrived_share``, ``flush_ms`` of each lowest device that was flushed, ``rounds``), and
    ``written_bytes``.
    """

    seconds: float = 2.0
    file_bytes: int = 33554432


class Sysbench(Base, frozen=True, kw_only=True):
    """Settings of the probe ``sysbench``: one of its OLTP scripts against a database server.

    Its figures: ``queries`` (read, write, other, total), ``transactions``, ``tps``, ``qps``, ``ignored_errors``,
    ``reconnects``, ``latency_ms`` (min, avg, max, p95), as sysbench prints them; ``intervals`` (t_s, tps, qps, p95_ms);
    ``server`` (kind, title, where, variables, …); ``cpu_share``, the processor time of server and clients against what
    so many clients can use, and ``box_cpu_share``, that of all processors by whatever.
    """

    seconds: float = 10.0
    workload: Literal[
        "oltp_read_write", "oltp_update_index", "oltp_read_only", "oltp_insert", "oltp_write_only",
        "oltp_update_non_index", "oltp_point_select", "oltp_delete",
    ] = "oltp_read_write"  # fmt: skip
    threads: int = 1
    tables: int = 1
    rows: int = 10_000
    """Per table."""
    server: Literal["mariadb", "mysql", "postgresql"]
    pool_bytes: int = 67108864
    """The server's buffer pool: innodb_buffer_pool_size, shared_buffers."""
    options: dict[str, bool | int | float | str] = {}
    """Of the server, besides."""
    host: str = ""
    """Any of host, port and socket: an existing server; its options are read, never changed."""
    port: int = 0
    socket: str = ""
    user: str = ""


class SysbenchFileio(Base, frozen=True, kw_only=True):
    """Settings of the probe ``sysbench_fileio``: random writes to one file by the real ``sysbench fileio``.

    Its figures, as sysbench prints them: ``writes_per_s``, ``fsyncs_per_s``, ``total_time_s``, ``events``,
    ``latency_ms`` (min, avg, max, p95); and ``times``, what that latency is the latency of.
    """

    seconds: float = 10.0
    block_bytes: int = 16384
    file_bytes: int = 1048576
    fsync_every: int = 1
    direct: bool = False


class PowerCut(Base, frozen=True, kw_only=True):
    """Settings of the probe ``powercut``: the records that a witness on another machine sees acknowledged."""

    seconds: float = 0.0
    """0: until the power goes."""
    sync: Literal["fsync", "fdatasync", "O_DSYNC", "O_DIRECT+O_DSYNC"] = "fdatasync"
    writes: Literal["overwrite", "append", "create", "create-no-dirsync"] = "overwrite"
    """``create``: one new file per record, and an fsync of the directory; ``create-no-dirsync``: without it."""
    block_bytes: int = 4096
    file_bytes: int = 4194304
    """What is overwritten; how long a log grows before the next file is begun; how many new files are kept."""
    writers: int = 1
    ops_per_s: float = 1000.0
    """Per writer, at the most; 0: as fast as it goes."""


class PowerCutFigures(Base, frozen=True, kw_only=True):
    """Figures of the one step of a power-cut run: what the witness saw acknowledged against what was read back."""

    cut: str
    """The writer's run id: one cut, however often it is verified."""
    identity: str
    """Of the target when it was written to: survived cuts add up per identity."""
    cuts_before: int = 0
    """Cuts that this identity survived before this one, since its last loss."""
    rebooted: bool = False
    """The box that wrote has booted again since: its boot id is another one."""
    storage_was_cut: bool = False
    """The user says that the storage lost its power, and not the box."""
    unmountable: bool = False
    """The user says that the filesystem cannot be mounted any more."""
    gone: bool = False
    """The filesystem is there, and the run's directory is not."""
    ended: str | None = None
    """Why the writer stopped in good order, before any power was cut."""
    read_only: bool = False
    """The filesystem is mounted read-only now."""
    log_cut_off: bool = False
    """The log ended within a line, which was left out."""
    acknowledged: int = 0
    checked: int = 0
    """Of these, the records that no newer one has replaced since: they must be there."""
    present: int = 0
    newer: int = 0
    """Of those present: places that hold a newer record, whose acknowledgement the witness did not see."""
    missing: int = 0
    stale: int = 0
    """The place holds an older record."""
    torn: int = 0
    """The record is damaged."""
    misplaced: int = 0
    """The place holds another place's record."""
    unreadable: int = 0
    reordered: int = 0
    """Of those lost: a record that the same writer acknowledged later is there."""
    in_flight: int = 0
    """Damaged places whose next record was being written when the power went: no loss."""
    unpromised: int = 0
    """New files that are gone whose directory nobody synced: no loss by POSIX."""
    oldest_lost_s: float = 0.0
    """How long before the last acknowledgement the oldest lost record was acknowledged."""
    by_claim: dict[str, dict[str, int]] = {}
    """``"fdatasync, append"`` → ``acknowledged``, ``checked``, ``lost``."""

    @property
    def lost(self) -> int:
        """Acknowledged records that are not there as they were acknowledged."""
        return self.missing + self.stale + self.torn + self.misplaced + self.unreadable

    @property
    def cut_seen(self) -> bool:
        """The power went while it wrote, as far as can be told."""
        return (self.rebooted or self.storage_was_cut or self.unmountable) and self.ended is None

    @property
    def any_lost(self) -> bool:
        """Something that was acknowledged is gone: records, or, after a cut, all there was."""
        return self.lost > 0 or (self.acknowledged > 0 and self.cut_seen and (self.gone or self.unmountable))

    @property
    def kept(self) -> bool:
        """A cut that took nothing."""
        return self.cut_seen and not self.any_lost and self.checked > 0


class Step(Base, frozen=True, kw_only=True):
    """One measured step: what was asked, how long it took, what the kernel counted meanwhile."""

    name: str
    probe: str
    settings: dict[str, Any] = {}
    status: StepStatus = "finished"
    error: Failure | None = None
    reason: str | None = None
    """Why it was skipped, or why it ran shorter or longer than its time."""
    ops: int = 0
    syncs: int = 0
    bytes: int = 0
    writers: int = 1
    prepare_s: float = 0.0
    elapsed_s: float = 0.0
    held_ns: int = 0
    rate_per_s: float = 0.0
    latency_ns: Latency | None = None
    write_ns: Latency | None = None
    sync_ns: Latency | None = None
    histogram: tuple[tuple[int, int], ...] = ()
    """(upper edge in ns, count), whole operations."""
    stalls: Stalls = Stalls()
    timeline: tuple[TimelinePoint, ...] = ()
    counters: tuple[DeviceCounters, ...] = ()
    """Differences between ``ready`` and ``done``, one entry per layer that counts anything, lowest included."""
    figures: dict[str, Any] = {}

    def device(self, device: str) -> DeviceCounters | None:
        """That layer's counters of this step, or None."""
        return next((counters for counters in self.counters if counters.device == device), None)


class Finding(Base, frozen=True, kw_only=True):
    """What a rule makes of the evidence. A finding without a verdict is a note."""

    rule: str
    verdict: Verdict | None
    confidence: Confidence
    scope: Scope
    title: str
    """Short, with its number: "812/s, 7200 rpm allows 120"."""
    sentence: str = ""
    """One or two full sentences with their numbers."""
    steps: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    """Lines of "label: evidence"."""
    next: tuple[str, ...] = ()


class Judgement(Base, frozen=True, kw_only=True):
    """What the findings come to. ``sentence`` is the one a person reads first."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    findings: tuple[Finding, ...] = ()


class ScenarioRef(Base, frozen=True, kw_only=True):
    """The scenario as it was run."""

    name: str
    title: str
    settings: dict[str, Any] = {}


class Evidence(Base, frozen=True, kw_only=True):
    """All that was seen, no opinion. A Run is evidence too, so a saved run can be judged again."""

    host: Host = Host()
    process: Process = Process()
    like: Process | None = None
    """The process in whose io cgroup the probes ran (``--like PID``), as it was then."""
    target: Target | None = None
    scenario: ScenarioRef | None = None
    idle: Idle | None = None
    steps: tuple[Step, ...] = ()


class Run(Evidence, frozen=True, kw_only=True):
    """Evidence, findings and verdict: the document that is saved and printed."""

    schema: str = SCHEMA
    id: str
    started_at: str
    """ISO 8601 with the offset from UTC."""
    elapsed_s: float = 0.0
    version: str = ""
    status: RunStatus = "finished"
    simulated: str | None = None
    written_bytes: int = 0
    left_behind: tuple[str, ...] = ()
    """Paths that could not be removed."""
    findings: tuple[Finding, ...] = ()
    verdict: Verdict = "cannot-tell"
    confidence: Confidence = "low"
    sentence: str = ""


class PlannedStep(Base, frozen=True, kw_only=True):
    """One step with all its settings filled in."""

    name: str
    probe: str
    settings: dict[str, Any]
    skip: str | None = None
    """An impossible combination: the sentence that says so."""
    limit_ns: int | None = None
    """What physics allows one operation at the least (one turn of the disk), for the line on the strip."""

    @property
    def by_hand(self) -> bool:
        """A person has to cut the power in the middle of it: no runner can. All such steps run at the same time."""
        return self.probe == "powercut"


class Plan(Base, frozen=True, kw_only=True):
    """What a run will do, before the first byte is written."""

    scenario: ScenarioRef
    question: str
    help: str
    steps: tuple[PlannedStep, ...]
    seconds: float | None
    """Estimated duration; None where it runs until it is stopped."""
    max_bytes: int
    """Written at most, all steps together."""
    room_bytes: int
    """Taken at most at one time."""
    bytes_per_s: int | None = None
    """What it writes each second, where it runs until it is stopped."""
    command: str
    """The same run as a command line."""

    @property
    def by_hand(self) -> bool:
        """It is led through, not run; what it writes stays until it is verified."""
        return any(step.by_hand for step in self.steps)


class Inventory(Base, frozen=True, kw_only=True):
    """What is here: every filesystem with its stack, and the devices that no mounted filesystem stands on."""

    host: Host = Host()
    process: Process = Process()
    filesystems: tuple[Target, ...] = ()
    """Those that can hold files first, in the order of mountinfo; pseudo ones have ``pseudo`` set."""
    unused: tuple[Node, ...] = ()
    """Block devices without a mounted filesystem."""


class Stall(Base, frozen=True, kw_only=True):
    """An operation that has not returned yet."""

    call: str
    elapsed_s: float
    writer: int = 0


class Snapshot(Base, frozen=True, kw_only=True):
    """An immutable view of a running step. ``counters`` are differences since the step's start."""

    index: int
    name: str
    elapsed_s: float
    length_s: float | None
    ops: int
    syncs: int
    bytes: int
    rate_per_s: float
    latency_ns: Latency | None = None
    sync_ns: Latency | None = None
    timeline: tuple[TimelinePoint, ...] = ()
    counters: tuple[DeviceCounters, ...] = ()
    stall: Stall | None = None
    figures: dict[str, Any] = {}


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What the runner tells any face, in order."""


class RunStarted(Event, frozen=True, kw_only=True, tag=True):
    id: str
    target: Target
    plan: Plan
    host: Host


class IdleMeasured(Event, frozen=True, kw_only=True, tag=True):
    idle: Idle


class StepPreparing(Event, frozen=True, kw_only=True, tag=True):
    index: int
    name: str
    done: int
    total: int


class StepStarted(Event, frozen=True, kw_only=True, tag=True):
    index: int
    name: str


class StepProgressed(Event, frozen=True, kw_only=True, tag=True):
    snapshot: Snapshot


class StepFinished(Event, frozen=True, kw_only=True, tag=True):
    index: int
    step: Step


class FindingsChanged(Event, frozen=True, kw_only=True, tag=True):
    judgement: Judgement


class RunFinished(Event, frozen=True, kw_only=True, tag=True):
    run: Run
    saved_to: str | None = None
    save_error: str | None = None


def encode(document: msgspec.Struct) -> bytes:
    """The document as JSON. Undecodable bytes in names become visible ``\\xNN``, which JSON can hold."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(document)))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


class Refused(Exception):  # noqa: N818  said to the user as it is: nothing was written, exit 2
    """The run cannot begin; the message says what, where and what to do."""
