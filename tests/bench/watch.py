"""The cost of ``fstui watch`` next to a program that syncs 20 000 times per second: CPU, memory, lost events.

The program syncs a clean file on an ext4 without barriers, on a loop device, which is the fastest real sync. Needs
root. Budget: 15 % of a core, less than 2 MiB more memory from the second quarter of the time to the last, nothing lost.
A process that waits for a CPU reads more events at once, so memory needs a quiet host.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import msgspec
import psutil

from fstui.model.watch import WatchCounts, WatchReport
from tests.bench.pairs import arguments
from tests.real import disks
from tests.real.disks import MIB
from tests.real.processes import program

FSTUI = str(Path(sys.executable).parent / "fstui")
PER_S = 20_000
BUDGET = 0.15
GROWTH_BYTES = 2 << 20
PROGRAM = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
began, done, per_s = time.monotonic(), 0, int(sys.argv[2])
print("syncing", flush=True)
while True:
    for _ in range(min(per_s // 10, int((time.monotonic() - began) * per_s) - done)):
        os.fdatasync(fd)
        done += 1
    time.sleep(0.001)
"""


def main(argv: list[str]) -> int:
    """Print CPU and memory for each second. Return 1 if a budget is missed."""
    options = arguments(argv, "watch", rounds=60, directory=tempfile.gettempdir())
    print(
        f"fstui watch next to {PER_S} fdatasync a second, {options.rounds} seconds: CPU and memory, its child included"
    )
    with (
        tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=options.dir) as place,
        disks.on_loop(Path(place), options="barrier=0") as storage,
        syncing(storage.directory / "file", PER_S),
        watching() as watch,
    ):
        seconds = [told(second(watch)) for _ in range(options.rounds)]
    share, seen_per_s = mean(each.share for each in seconds), mean(each.seen_per_s for each in seconds)
    quarter = max(1, len(seconds) // 4)
    first, last = (
        median(each.resident_bytes for each in some) for some in (seconds[quarter : 2 * quarter], seconds[-quarter:])
    )
    grown = last - first
    kept = share <= BUDGET and grown < GROWTH_BYTES and not any(each.lost for each in seconds)
    print(
        f"{share:.1%} of a core at {seen_per_s:.0f} syncs/s (budget {BUDGET:.0%}), {grown / MIB:+.2f} MiB of memory "
        f"(budget {GROWTH_BYTES / MIB:g}), nothing to be lost: {'kept' if kept else 'MISSED'}"
    )
    return 0 if kept else 1


class Second(NamedTuple):
    """What a watch saw in one second, and its cost."""

    seen_per_s: float
    lost: int
    share: float
    """The share of a core."""
    resident_bytes: int


def told(second: Second) -> Second:
    print(
        f"  {second.seen_per_s:8.0f} seen/s  {second.lost} lost  {second.share:5.1%}  "
        f"{second.resident_bytes / MIB:.2f} MiB",
        flush=True,
    )
    return second


def syncing(file: Path, per_s: int) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run the program that syncs this many times per second."""
    return program(PROGRAM, file, per_s)


@contextmanager
def watching(*options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a watch and return in its second second; the first one resolves names."""
    process = subprocess.Popen([FSTUI, "watch", *options, "--format", "events"], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        began = json.loads(process.stdout.readline())
        if began["untraced"]:
            sys.exit(f"not traced: {began['untraced']}")
        process.stdout.readline()
        yield process
    finally:
        process.terminate()
        process.communicate()


def report_of(watch: subprocess.Popen[bytes]) -> WatchReport:
    """Read all events of the watch, so that it never has to wait. Return the report in the last one."""
    assert watch.stdout
    told = deque(watch.stdout, maxlen=1)
    return msgspec.convert(json.loads(told.pop())["report"], WatchReport, strict=False)


def second(watch: subprocess.Popen[bytes]) -> Second:
    """Return the next event of the watch, with its cost."""
    share, event = shared(watch)
    seen = msgspec.convert(event["second"], WatchCounts, strict=False)
    resident = sum(process.memory_info().rss for process in family(watch))
    return Second(sum(row.syncs for row in seen.waits) / seen.elapsed_s, seen.lost, share, resident)


def shared(watch: subprocess.Popen[bytes]) -> tuple[float, dict[str, Any]]:
    """Return the share of a core that a watch uses up to its next event, and the event."""
    both = family(watch)
    before, since = sum(map(cpu_s, both)), time.monotonic()
    assert watch.stdout
    line = watch.stdout.readline()
    share = (sum(map(cpu_s, both)) - before) / (time.monotonic() - since)
    if not line:
        sys.exit("the watch has ended")
    return share, json.loads(line)


def family(watch: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the watch and its child."""
    return [psutil.Process(watch.pid), *psutil.Process(watch.pid).children()]


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
