"""A run with two layers and two findings, for printing."""

from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import DeviceCounters
from fstui.model.host import Host
from fstui.model.judgement import Finding
from fstui.model.run import Run, ScenarioRef
from fstui.model.steps import Failure, Latency, Step
from fstui.model.storage import Medium, Node, Target

DISK = Node(
    id="sda", layer="block", kind="disk", name="sda", model="VBOX HARDDISK", lowest=True, counted=True,
    write_cache="write back", fua=False, medium=Medium(class_="hdd-7200", declared=True),
)  # fmt: skip
PARTITION = Node(id="sda1", layer="block", kind="partition", name="sda1", below=("sda",))
FILESYSTEM = Node(id="mount:/srv", layer="filesystem", kind="ext4", name="/srv", below=("sda1",))
TARGET = Target(
    path="/srv/data", mount_point="/srv", fstype="ext4", source="/dev/sda1", stack=(FILESYSTEM, PARTITION, DISK)
)
LATENCY = Latency(
    min=900_000, mean=1_230_000, p50=1_200_000, p90=2_000_000, p95=3_000_000, p99=5_900_000, p99_9=None, max=28_000_000
)
SYNCED = Step(
    name="fdatasync", settings=SyncWrites(block_bytes=16384), ops=1680, syncs=1680, bytes=1680 * 16384, elapsed_s=2.0,
    rate_per_s=840.0, latency_ns=LATENCY, sync_ns=LATENCY, histogram=((1_200_000, 1680),),
    counters=(
        DeviceCounters(device="sda1", writes=1690, written_bytes=1680 * 16384),
        DeviceCounters(device="sda", writes=1690, written_bytes=1680 * 16384, flushes=1680),
    ),
)  # fmt: skip
UNSYNCED = Step(
    name="write, no sync", settings=SyncWrites(), ops=422_804, bytes=1000, rate_per_s=211_402.0, latency_ns=LATENCY,
    counters=(DeviceCounters(device="sda", writes=0, written_bytes=0, flushes=0),),
)  # fmt: skip
FAILED = Step(
    name="O_DIRECT", settings=SyncWrites(), status="failed", ops=0,
    error=Failure(call="pwrite", errno=5, message="Input/output error"),
)  # fmt: skip
ROTATION = Finding(
    rule="same-block-rotation", verdict="suspicious", confidence="high", scope="storage",
    title="840/s, 7200 rpm allows 120",
    evidence=("same block, fdatasync: 840/s, limit 120/s", "sda: 1\xa0680 flushes for 1\xa0680 syncs"),
    next=("VirtualBox: set IgnoreFlush to 0 for this disk, then run again.",),
)  # fmt: skip
NOTE = Finding(
    rule="odirect-alone", verdict=None, confidence="high", scope="step", title="0 flushes: not durable by itself"
)
RUN = Run(
    id="k3f9a1", started_at="2026-11-20T03:12:44+01:00", elapsed_s=14.6, version="0.1.0",
    host=Host(hostname="db7", kernel="6.8.0-45"), target=TARGET,
    scenario=ScenarioRef(name="odirect-truth", title="O_DIRECT"),
    steps=(UNSYNCED, SYNCED), findings=(NOTE, ROTATION), verdict="suspicious", confidence="high",
    sentence="One 16 KiB block was rewritten and synced 840 times a second. A 7200 rpm disk turns 120 times a second.",
)  # fmt: skip
FAILED_RUN = replace(RUN, id="x7b2c9", status="failed", steps=(SYNCED, FAILED), verdict="cannot-tell", findings=())
