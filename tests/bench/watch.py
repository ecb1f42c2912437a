"""What ``fstui watch`` costs beside a program that syncs 20 000 times a second: its own CPU, and whether all was seen.

The program syncs a clean file on an ext4 without barriers, on a loop: the quickest sync that is one. Needs root.
Budget: 15 % of a core, and nothing lost.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

from fstui.model.watch import Watched
from tests.bench.pairs import arguments
from tests.storage import disks

FSTUI = str(Path(sys.executable).parent / "fstui")
PER_S = 20_000
BUDGET = 0.15
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
    """Print the share of a core, second by second; 1 where the budget is missed."""
    options = arguments(argv, "watch", rounds=10, directory=tempfile.gettempdir())
    with (
        tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=options.dir) as place,
        disks.on_loop(Path(place), options="barrier=0") as storage,
        syncing(storage.directory / "file"),
        watching() as watch,
    ):
        shares = [second(watch) for _ in range(options.rounds)]
    print(f"fstui watch beside {PER_S} fdatasync a second, {options.rounds} seconds: CPU of it and its child")
    for seen, share in shares:
        print(f"  {sum(row.syncs for row in seen.waits) / seen.elapsed_s:8.0f} seen/s  {seen.lost} lost  {share:.1%}")
    mean = sum(share for _, share in shares) / len(shares)
    kept = mean <= BUDGET and not any(seen.lost for seen, _ in shares)
    print(f"{mean:.1%} of a core, budget {BUDGET:.0%} and nothing lost: {'kept' if kept else 'MISSED'}")
    return 0 if kept else 1


@contextmanager
def syncing(file: Path) -> Iterator[None]:
    """The program, until it is ended."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, file, str(PER_S)], stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


@contextmanager
def watching() -> Iterator[subprocess.Popen[bytes]]:
    """A watch in its second second: the first one names what it sees."""
    process = subprocess.Popen([FSTUI, "watch", "--format", "events"], stdout=subprocess.PIPE)
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


def second(watch: subprocess.Popen[bytes]) -> tuple[Watched, float]:
    """What it saw in its next second, and the share of a core that it took meanwhile."""
    family = [psutil.Process(watch.pid), *psutil.Process(watch.pid).children()]
    before, since = sum(map(cpu_s, family)), time.monotonic()
    assert watch.stdout
    seen = msgspec.convert(json.loads(watch.stdout.readline())["second"], Watched, strict=False)
    return seen, (sum(map(cpu_s, family)) - before) / (time.monotonic() - since)


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
