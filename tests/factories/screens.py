"""A made-up host, run and result for screens, always the same."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, Literal

import msgspec

from fstui.measure.kinds.dirty_flush import DirtyFlush, DirtyFlushFigures, Growth
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Interval, Sysbench, SysbenchFigures
from fstui.measure.latency import Histogram
from fstui.model.activity import HostActivity
from fstui.model.counters import Counters, DeviceCounters, Idle
from fstui.model.events import (
    Event,
    FindingsChanged,
    IdleMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepProgressed,
    StepStarted,
)
from fstui.model.host import Host, Inventory, Process
from fstui.model.judgement import Finding, Judgement
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Run, ScenarioRef
from fstui.model.settings import OpenFlag
from fstui.model.steps import Latency, PendingOperation, Snapshot, Step, TimelinePoint
from fstui.model.storage import Medium, Node, Space, Target
from fstui.runs.runner import RunInProgress
from tests.factories import storage

G = 1 << 30
HOST = Host(hostname="db7", kernel="6.8.0-45", virtualization="KVM", cpus=8, memory_bytes=32 * G)


def target(
    mount: str,
    fstype: str,
    *nodes: Node,
    free: int | None = None,
    options: str = "rw,relatime",
    silent_s: float | None = None,
    pseudo: bool = False,
    stops: str = "",
) -> Target:
    barrier = "nobarrier" if stops else "barrier"
    top = storage.filesystem(fstype, mount, below=tuple(node.id for node in nodes[:1]), barrier=barrier)
    top = msgspec.structs.replace(top, sync="stops" if stops else "passes", reason=stops)
    return msgspec.structs.replace(
        storage.target(top, *nodes),
        source=nodes[-1].name if nodes else fstype,
        mount_options=tuple(options.split(",")),
        identity=f"made-up {mount}",
        space=None if free is None else Space(total_bytes=4 * free, free_bytes=free),
        silent_s=silent_s,
        pseudo=pseudo,
    )


def disk(name: str, **fields: Any) -> Node:
    return storage.disk(name, **{"link": "virtio", "sync": "passes", **fields})


SDB = disk(
    "sdb",
    model="ST4000NM0035",
    link="SATA 6 Gb/s",
    rotational=True,
    medium=Medium(class_="hdd-7200", rpm=7200, write_cache="volatile"),
)
QUEUE = target(
    "/srv/queue",
    "ext4",
    Node(id="dm-2", layer="block", kind="dm-linear", name="LVM data/queue", below=("sdb",), sync="passes"),
    SDB,
    free=212 * G,
    options="rw,relatime,nobarrier",
    stops="nobarrier",
)
SHM = target(
    "/dev/shm",
    "tmpfs",
    Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="tmpfs", lowest=True, sync="stops", reason="memory"),
    free=int(7.8 * G),
)
FILER = target(
    "/mnt/filer",
    "nfs4",
    Node(id="remote:filer", layer="remote", kind="nfs4", name="filer:/vol1", lowest=True),
    silent_s=41.0,
)
ROOT = target("/", "ext4", disk("vda"), free=18 * G)
BOOT = target("/boot", "ext4", disk("vda"), free=610 << 20)
PROC = target("/proc", "proc", pseudo=True)

INVENTORY = Inventory(
    host=HOST,
    filesystems=(ROOT, BOOT, PROC, QUEUE, SHM, FILER),
    unused=(disk("sdc", size_bytes=512 * G),),
)

BARRIERS_OFF = Finding(
    rule="barriers-off",
    verdict="not-durable",
    confidence="high",
    scope="storage",
    title="ext4 sends no flushes to sdb",
    sentence="ext4 sends no flushes (barriers off) to sdb, whose write cache is on: an fsync here returns before the "
    "data is on the platter.",
    evidence=("/proc/fs/ext4/dm-2/options: nobarrier", "/sys/block/sdb/queue/write_cache: write back"),
    next=("mount -o remount,barrier=1 /srv/queue, then run fsync-rate here",),
)
IN_MEMORY = Finding(
    rule="in-memory",
    verdict="not-durable",
    confidence="high",
    scope="storage",
    title="tmpfs keeps everything in memory",
    sentence="/dev/shm is tmpfs: it keeps everything in memory, and a sync there does nothing.",
    evidence=("/proc/self/mountinfo: tmpfs",),
)
FLAGS = {
    "/srv/queue": Judgement(verdict="not-durable", confidence="high", sentence="", findings=(BARRIERS_OFF,)),
    "/dev/shm": Judgement(verdict="not-durable", confidence="high", sentence="", findings=(IN_MEMORY,)),
}

SDA = disk(
    "sda",
    model="VBOX HARDDISK",
    link="SATA",
    rotational=True,
    medium=Medium(class_="hdd-7200", rpm=7200, write_cache="none", declared=True, reason="declared by you"),
)
DATA = target(
    "/srv/data",
    "ext4",
    Node(id="sda1", layer="block", kind="partition", name="sda1", below=("sda",), sync="passes"),
    SDA,
    free=31 * G,
)

_STEPS: tuple[tuple[str, int, int, int, int, float | None], ...] = (
    ("write, no sync", 211402, 4_100, 9_800, 1_900_000, None),
    ("O_DIRECT", 884, 1_100_000, 5_300_000, 260_000_000, None),
    ("O_DIRECT+O_DSYNC", 861, 1_100_000, 5_600_000, 31_000_000, 1.0),
    ("fdatasync", 840, 1_200_000, 5_900_000, 28_000_000, 1.0),
    ("fsync", 797, 1_200_000, 6_400_000, 44_000_000, 1.03),
    ("same block, fdatasync", 812, 1_200_000, 4_800_000, 19_000_000, 1.0),
    ("O_DIRECT+fdatasync", 823, 1_200_000, 4_700_000, 22_000_000, 1.0),
)


def latency(p50: int, p99: int, longest: int) -> Latency:
    return Latency(min=p50 // 2, mean=p50, p50=p50, p90=(p50 + p99) // 2, p95=p99, p99=p99, p99_9=longest, max=longest)


def spread(p50: int, longest: int, ops: int) -> tuple[tuple[int, int], ...]:
    """Return cells as a recorder does: most operations are near p50, a few take up to ``longest``."""
    counted = Histogram()
    counted.add([p50 * (90 + at % 21) // 100 for at in range(max(ops - ops // 10 - 1, 1))])
    counted.add([p50 * (11 + at) // 10 for at in range(ops // 10) if p50 * (11 + at) // 10 < longest])
    counted.add([longest])
    return counted.spread()


def timeline(p50: int, longest: int, ops: int, until: float = 2.0) -> tuple[TimelinePoint, ...]:
    """Return the first ``until`` seconds, in intervals of 33 ms; every seventeenth contains a slow operation."""
    return tuple(
        TimelinePoint(
            t_s=round(at / 30, 3),
            ops=(at + 1) * ops // 60 - at * ops // 60,
            p50_ns=p50 + p50 * (at % 5) // 3,
            max_ns=longest if at % 17 == 4 else p50 * 2,
            spread=spread(p50 + p50 * (at % 5) // 3, longest if at % 17 == 4 else p50 * 2, ops // 60),
        )
        for at in range(int(until * 30))
    )


def counters(ops: int, flushes: float | None, share: float = 1.0) -> tuple[DeviceCounters, ...]:
    syncs = int(ops * share)
    written = syncs * 16384 if flushes is not None else 0
    return (
        DeviceCounters(device="sda1", writes=syncs, written_bytes=written),
        DeviceCounters(
            device="sda",
            writes=syncs,
            written_bytes=written,
            flushes=int(syncs * (flushes or 0)),
            flush_ms=syncs,
            in_flight=0,
        ),
    )


OPEN_FLAGS: tuple[OpenFlag, ...] = ("direct", "dsync")
CALLS: tuple[Literal["fdatasync", "fsync"], ...] = ("fdatasync", "fsync")


def step(row: tuple[str, int, int, int, int, float | None]) -> Step:
    name, rate, p50, p99, longest, flushes = row
    return Step(
        name=name,
        settings=SyncWrites(
            seconds=2,
            block_bytes=16384,
            offsets="same" if name.startswith("same") else "random",
            open_flags=tuple(flag for flag in OPEN_FLAGS if flag in name.lower()),
            sync=next((call for call in CALLS if call in name), "none"),
        ),
        ops=2 * rate,
        syncs=0 if flushes is None else 2 * rate,
        bytes=2 * rate * 16384,
        elapsed_s=2.0,
        rate_per_s=float(rate),
        latency_ns=latency(p50, p99, longest),
        sync_ns=None if flushes is None or "DSYNC" in name else latency(p50 * 9 // 10, p99, longest),
        histogram=((p50, 2 * rate - rate // 20 - 4), (p99, rate // 20), (longest, 4)),
        timeline=timeline(p50, longest, 2 * rate),
        counters=counters(2 * rate, flushes),
    )


STEPS = tuple(step(row) for row in _STEPS)
FLUSHING = msgspec.structs.replace(
    STEPS[3],
    name="flush of unsynced writes",
    settings=DirtyFlush(),
    figures=DirtyFlushFigures(sequential=Growth(slope_ns_per_mib=400_000, intercept_ns=124_000)),
)
IDLE = Idle(
    elapsed_s=1.0, counters=(DeviceCounters(device="sda", writes=12, written_bytes=98304, flushes=3, flush_ms=3),)
)
TOO_FAST = Finding(
    rule="same-block-rotation",
    verdict="suspicious",
    confidence="high",
    scope="storage",
    title="812/s, 7200 rpm allows 120",
    sentence="One 16 KiB block was rewritten and synced 812 times a second.",
    steps=("same block, fdatasync",),
    evidence=(
        "same block, fdatasync: 812/s, limit 120/s; p50 1.2 ms, turn 8.3 ms",
        "sda: 1\xa0622 flushes for 1\xa0624 syncs",
        "sda: medium hdd-7200, write cache none (declared by you)",
    ),
    next=(
        "VirtualBox: set IgnoreFlush to 0 for this disk, then r (run again).",
        "To prove it: the power-cut check with a witness on another box.",
    ),
)
FINDINGS = (
    TOO_FAST,
    Finding(
        rule="odirect-no-cache",
        verdict="suspicious",
        confidence="medium",
        scope="storage",
        title="O_DIRECT 884/s on a disk with no cache",
        steps=("O_DIRECT",),
    ),
    Finding(
        rule="flushes-arrive",
        verdict=None,
        confidence="high",
        scope="storage",
        title="0.99 to 1.03 flushes per sync at sda",
    ),
    Finding(
        rule="other-writers",
        verdict=None,
        confidence="low",
        scope="storage",
        title="3 flushes/s by others while idle",
    ),
)
SENTENCE = (
    "One 16 KiB block was rewritten and synced 812 times a second. A 7200 rpm disk turns 120 times a second: 6.8 × "
    "what it can do. Each sync reached sda as a flush (1.00), so the early answer comes from sda or from the host "
    "behind it."
)
SCENARIO = ScenarioRef(name="odirect-truth", title="Acknowledged too early?", settings={"seconds": 2})
RUN = Run(
    id="k3f9a1",
    started_at="2026-11-20T03:12:44+00:00",
    elapsed_s=14.6,
    version="0.1.0",
    host=HOST,
    process=Process(pipe_fsync_fails=True, dsync_flag_kept=True),
    target=DATA,
    scenario=SCENARIO,
    idle=IDLE,
    steps=STEPS,
    findings=FINDINGS,
    verdict="suspicious",
    confidence="high",
    sentence=SENTENCE,
    written_bytes=300 << 20,
)
PLAN = Plan(
    scenario=SCENARIO,
    question="Does this disk acknowledge writes too early?",
    help="Rewrites one file in seven ways.",
    steps=tuple(
        PlannedStep(
            name=row.name,
            settings=row.settings,
            limit_ns=8_333_333 if row.name.startswith("same") else None,
        )
        for row in STEPS
    ),
    seconds=15.0,
    max_bytes=int(1.1 * G),
    peak_bytes=1 << 20,
    command="fstui run odirect-truth /srv/data --medium hdd-7200 --write-cache none",
)


def snapshot(index: int, elapsed_s: float, stall: PendingOperation | None = None) -> Snapshot:
    done = STEPS[index]
    share = elapsed_s / 2
    return Snapshot(
        index=index,
        name=done.name,
        elapsed_s=elapsed_s,
        length_s=2.0,
        ops=int(done.ops * share),
        syncs=int(done.syncs * share),
        bytes=int(done.bytes * share),
        rate_per_s=done.rate_per_s,
        latency_ns=done.latency_ns,
        timeline=timeline(1_200_000, 19_000_000, done.ops, elapsed_s),
        counters=counters(done.ops, 1.0, share),
        stall=stall,
    )


def events(until: int | None = None, stall: PendingOperation | None = None) -> list[Event]:
    """Return the events of the run. ``until``: end 1.5 s after this step has started."""
    told: list[Event] = [RunStarted(id=RUN.id, target=DATA, plan=PLAN, host=HOST), IdleMeasured(idle=IDLE)]
    for index, done in enumerate(STEPS):
        told.append(StepStarted(index=index, name=done.name))
        if index == until:
            judgement = Judgement(verdict="suspicious", confidence="high", sentence=SENTENCE, findings=(TOO_FAST,))
            told += [FindingsChanged(judgement=judgement), StepProgressed(snapshot=snapshot(index, 1.5, stall))]
            return told
        told.append(StepFinished(index=index, step=done))
    return [*told, RunFinished(run=RUN, saved_to="/home/me/.local/state/fstui/runs/20261120-031244-k3f9a1.json")]


def database(told: Iterable[tuple[float, float, float]]) -> list[Event]:
    """Return a run whose only step runs sysbench. ``told``: tps, qps and p95 in ms of each second."""
    name = "oltp_update_index mariadb high"
    intervals = tuple(
        Interval(t_s=at, tps=tps, qps=qps, p95_ms=p95_ms) for at, (tps, qps, p95_ms) in enumerate(told, 1)
    )
    planned = PlannedStep(name=name, settings=Sysbench(server="mariadb", seconds=5))
    figures = SysbenchFigures(intervals=intervals)
    return _only_step(planned, length_s=5.0, latency_ns=None, timeline=(), figures=figures)


def flushing(measured: DirtyFlushFigures | None) -> list[Event]:
    """Return a run whose only step measures flushes, 1.5 s after its start."""
    return _only_step(PlannedStep(name=FLUSHING.name, settings=FLUSHING.settings), figures=measured)


def _only_step(planned: PlannedStep, **changes: Any) -> list[Event]:
    replace = msgspec.structs.replace
    now = replace(snapshot(3, 1.5), index=0, name=planned.name, **changes)
    return [
        RunStarted(id=RUN.id, target=DATA, plan=replace(PLAN, steps=(planned,)), host=HOST),
        StepStarted(index=0, name=planned.name),
        StepProgressed(snapshot=now),
    ]


class PreparedRun(RunInProgress):
    """A run that yields prepared events, and counts the requests to stop."""

    def __init__(self, told: Iterable[Event], plan: Plan | None = None, target: Target | None = None) -> None:
        self.plan, self._target = plan or PLAN, target or DATA
        self.told = list(told)
        self.stopped = 0
        self.skipped = 0

    async def events(self) -> AsyncIterator[Event]:
        for event in self.told:
            yield event

    def stop(self) -> None:
        self.stopped += 1

    def skip_step(self) -> None:
        self.skipped += 1


LAST_READING = 400
"""More seconds than the charts of the last minutes show."""


class PreparedMachine:
    """A quiet host. Each reading of the counters is one second later, up to LAST_READING."""

    simulated: str | None = None

    def __init__(self, inventory: Inventory = INVENTORY) -> None:
        self.inventory = inventory
        self.readings = 0
        self.seen = HostActivity()
        """Processes that write, and running databases."""

    def survey(self) -> Inventory:
        return self.inventory

    def has_changed(self) -> bool:
        return False

    async def with_space(self, inventory: Inventory) -> Inventory:
        return inventory

    async def activity(self) -> AsyncGenerator[HostActivity]:
        yield self.seen

    def counters(self, stack: Iterable[Node]) -> Counters:
        at = self.readings = min(self.readings + 1, LAST_READING)
        return Counters(
            monotonic_ns=at * 1_000_000_000,
            devices=tuple(
                DeviceCounters(
                    device=node.id,
                    reads=0,
                    writes=41 * at,
                    written_bytes=41 * at * 4096,
                    write_ms=41 * at,
                    flushes=12 * at,
                    flush_ms=11 * at,
                    in_flight=0,
                )
                if node.id == "vda"
                else DeviceCounters(device=node.id, writes=0, written_bytes=0, flushes=0, flush_ms=0, in_flight=0)
                for node in {node.id: node for node in stack if node.counted}.values()
            ),
        )


def named(mount: str) -> Inventory:
    return msgspec.structs.replace(INVENTORY, filesystems=(target(mount, "ext4", disk("vda"), free=G),))
