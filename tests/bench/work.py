"""The same work done by fstui's probe and by other programs."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.events import Event
from fstui.model.plan import PlannedStep
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.runs import scenarios
from fstui.runs.machine.base import NoTrace, StepTracing
from fstui.runs.machine.local import LocalMachine
from fstui.runs.stepping import StepRunner
from tests.factories.directories import held

FILE_BYTES = 4 << 20
OVERWRITE = ("--rw=randwrite", "--norandommap", "--randrepeat=0", "--overwrite=1", f"--size={FILE_BYTES}")
APPEND = ("--rw=write", "--fill_device=1", "--fallocate=none")


class Work(NamedTuple):
    """A kind of work, with the settings of fstui and the options of fio."""

    name: str
    settings: SyncWrites
    fio: tuple[str, ...]


class Measured(NamedTuple):
    """Operations per second, and the latency of the sync, or of the write if that waits for the storage itself.

    fio has no latency of both together."""

    rate_per_s: float
    p50_ns: float | None = None
    p99_ns: float | None = None


SMALL = SyncWrites(file_bytes=FILE_BYTES)
WORKS = (
    Work("write + fdatasync", replace(SMALL, sync="fdatasync"), (*OVERWRITE, "--fdatasync=1")),
    Work(
        "O_DIRECT|O_DSYNC",
        replace(SMALL, sync="none", open_flags=("direct", "dsync")),
        (*OVERWRITE, "--direct=1", "--sync=dsync"),
    ),
    Work(
        "O_DIRECT + fdatasync",
        replace(SMALL, sync="fdatasync", open_flags=("direct",)),
        (*OVERWRITE, "--direct=1", "--fdatasync=1"),
    ),
    Work(
        "append + fdatasync",
        replace(SMALL, sync="fdatasync", offsets="append", prefill="none"),
        (*APPEND, "--fdatasync=1"),
    ),
)
FIT = {
    "log, 2300 B, fdatasync": ("--rw=write", "--bs=2300", "--size=64m", "--fallocate=posix", "--fdatasync=1"),
    "append 4 KiB, fdatasync": (*APPEND, "--fdatasync=1"),
    "append 4 KiB, fsync": (*APPEND, "--fsync=1"),
    "overwrite 8 KiB, fdatasync": (*OVERWRITE, "--bs=8k", "--size=8k", "--io_size=1t", "--fdatasync=1"),
    "O_DIRECT+fdatasync 4 KiB": (*OVERWRITE, "--size=16m", "--direct=1", "--fdatasync=1"),
}
"""fio's options for each step of the scenario fit. The last of two equal options counts."""


def fit_works() -> list[Work]:
    """Return the steps that `fstui fit` measures, with the options of fio."""
    _, steps = scenarios.expand(scenarios.load("fit"), {})
    settings = ((planned.name, planned.settings) for planned in steps)
    return [Work(name, each, FIT[name]) for name, each in settings if isinstance(each, SyncWrites)]


def need_fio() -> None:
    if not shutil.which("fio"):
        sys.exit("fio is not installed: apt-get install fio")


def scratch(directory: str | Path) -> tempfile.TemporaryDirectory[str]:
    """Return a directory that is removed with the bench."""
    return tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=directory)


def by_fstui(work: Work, directory: str, seconds: float) -> Step:
    """Measure the step like the engine, with a new file."""
    settings = replace(work.settings, seconds=seconds)
    return asyncio.run(step_of(settings, directory, LocalMachine()))


async def step_of(
    settings: SyncWrites,
    directory: str,
    machine: LocalMachine,
    stack: tuple[Node, ...] = (),
    trace: StepTracing | None = None,
) -> Step:
    """Measure the step like the engine, with a new file. ``stack``: layers whose counters are read."""
    settings = replace(settings, max_bytes_per_s=1 << 40)
    planned = PlannedStep(name="bench", settings=settings)
    runner = StepRunner(0, planned, machine, stack, _ignore, trace=trace or NoTrace())
    step = await runner.run(held(Path(directory)), report_facts=False)
    if step.status not in ("finished", "disturbed"):  # delays on a busy host show in its wall time
        sys.exit(f"{settings}: the step {step.status}: {step.error}")
    return step


def measured(step: Step) -> Measured:
    latency = step.sync_ns or step.latency_ns
    return Measured(step.rate_per_s, latency.p50 if latency else None, latency.p99 if latency else None)


def by_fio(work: Work, directory: str, seconds: float, within: Sequence[str] = ()) -> Measured:
    """Measure with fio's psync engine, with a new file. ``within``: the prefix of a command in a cgroup."""
    file = Path(directory) / "fio.dat"
    _write_file(file, work.settings.file_bytes if "--overwrite=1" in work.fio else 0)
    command = [
        *within, "fio", "--name=t", f"--filename={file}", "--ioengine=psync", "--bs=4k", "--time_based",
        f"--runtime={round(seconds * 1000)}ms", "--output-format=json", *work.fio,
    ]  # fmt: skip
    try:
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        file.unlink()
    (job,) = json.loads(output[output.index("{") :])["jobs"]
    write = job["write"]
    latency = job["sync"].get("lat_ns", {}).get("percentile") or write["clat_ns"]["percentile"]
    return Measured(write["total_ios"] / (write["runtime"] / 1000), latency["50.000000"], latency["99.000000"])


def _write_file(file: Path, size: int) -> None:
    fd = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        if size:
            os.pwrite(fd, os.urandom(size), 0)
        os.fsync(fd)
        # as fstui does: in a file that is cached in large folios, a small overwrite takes four times as long to sync
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def by_ioping(directory: str, seconds: float) -> Measured:
    """Measure random O_DIRECT writes of 4 KiB with ioping, which calls fdatasync after each, also with O_DSYNC."""
    words = ["ioping", "-B", "-q", "-W", "-D", "-s", "4k", "-S", str(FILE_BYTES), "-i", "0"]
    output = subprocess.run(
        [*words, "-w", f"{round(seconds * 1000)}ms", directory], check=True, capture_output=True, text=True
    ).stdout
    count, spent_ns = map(int, output.split()[:2])
    return Measured(count / spent_ns * 1e9)


def by_pg_test_fsync(program: str, directory: str) -> dict[str, Measured]:
    """Return the rate of each method that rewrites one block of 8 KiB, of 1 s each, by its name in the table."""
    file = Path(directory) / "pg_test_fsync.out"
    found: dict[str, Measured] = {}
    command = [program, "--secs-per-test=1", f"--filename={file}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        for line in running.stdout:
            if "two 8kB writes" in line:
                break
            if row := re.match(r"\s+(\w+)\s+([\d.]+) ops/sec", line):
                found[row[1]] = Measured(float(row[2]))
        running.terminate()
    file.unlink(missing_ok=True)
    return found


def _ignore(event: Event) -> None:
    """Discard events."""
