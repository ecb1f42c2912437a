"""The same work done by fstui's probe and by fio."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.events import Event
from fstui.model.plan import PlannedStep
from fstui.model.steps import Step
from fstui.runs.machine.local import LocalMachine
from fstui.runs.stepping import StepRunner
from fstui.state.workspace import HeldDirectory


class Work(NamedTuple):
    """A kind of work, with the settings of fstui and the options of fio."""

    name: str
    settings: SyncWrites
    fio: tuple[str, ...]


WORKS = (
    Work("A write + fdatasync", SyncWrites(sync="fdatasync"), ("--fdatasync=1",)),
    Work("B write + fsync", SyncWrites(sync="fsync"), ("--fsync=1",)),
    Work(
        "D O_DIRECT|O_DSYNC",
        SyncWrites(sync="none", open_flags=("direct", "dsync")),
        ("--direct=1", "--sync=dsync"),
    ),
    Work(
        "E O_DIRECT + fdatasync", SyncWrites(sync="fdatasync", open_flags=("direct",)), ("--direct=1", "--fdatasync=1")
    ),
)


def need_fio() -> None:
    """Exit if fio is missing."""
    if not shutil.which("fio"):
        sys.exit("fio is not installed: apt-get install fio")


def scratch(directory: str) -> tempfile.TemporaryDirectory[str]:
    """Return a directory that is removed with the bench."""
    return tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=directory)


def by_fstui(work: Work, directory: str, seconds: float) -> Step:
    """Measure the step like the engine, with a new file."""
    settings = replace(work.settings, seconds=seconds, max_bytes_per_s=1 << 40)
    planned = PlannedStep(name=work.name, settings=settings)
    runner = StepRunner(0, planned, LocalMachine(), (), _ignore)
    step = asyncio.run(runner.run(HeldDirectory.of(Path(directory)), facts=False))
    if step.status not in ("finished", "disturbed"):  # delays on a busy host show in its wall time
        sys.exit(f"{work.name}: the step {step.status}: {step.error}")
    return step


def by_fio(work: Work, directory: str, seconds: float) -> float:
    """Return operations per second of fio's psync engine on one fully written file of the same size."""
    file = Path(directory) / "fio.dat"
    if not file.exists():
        subprocess.run(
            ["dd", "if=/dev/urandom", f"of={file}", "bs=1M", "count=64", "conv=fsync", "status=none"], check=True
        )
    command = [
        "fio", "--name=t", f"--filename={file}", "--size=64m", "--overwrite=1", "--ioengine=psync", "--rw=randwrite",
        "--norandommap", "--randrepeat=0", "--bs=4k", "--time_based", f"--runtime={seconds}s", "--output-format=json",
        *work.fio,
    ]  # fmt: skip
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    write = json.loads(output[output.index("{") :])["jobs"][0]["write"]
    return float(write["total_ios"] / (write["runtime"] / 1000))


def _ignore(event: Event) -> None:
    """Discard events."""
