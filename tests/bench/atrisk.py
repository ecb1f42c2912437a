"""The cost of ``fstui watch --at-risk``, and its effect on the programs that it watches.

First its CPU time next to a program that syncs 5 000 times per second and one that has 2 000 files open for writing and
writes to 200 of them every second. Then the writes per second of programs with and without it, in pairs of windows.
All on an ext4 on a loop device. Needs root. Budgets: 3 % of a core, and a rate of at least 0.98.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.bench.pairs import parser, rotated, row
from tests.bench.watch import cpu_s, shared, syncing, watching
from tests.real import disks
from tests.real.processes import program

SYNCS_PER_S, FILES = 5_000, 2_000
BUDGET, RATE = 0.03, 0.98
HOLDER = """
import os, sys, time
files = [os.open(f"{sys.argv[1]}/{number}", os.O_RDWR | os.O_CREAT) for number in range(int(sys.argv[2]))]
print("open", flush=True)
while True:
    for fd in files[:200]:
        os.pwrite(fd, b"x" * 4096, 0)
    time.sleep(1)
"""
WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
block = os.urandom(4096)
print("writing", flush=True)
number = 0
while True:
    os.pwrite(fd, block, number % 1024 * 4096)
    if sys.argv[2] == "fdatasync":
        os.fdatasync(fd)
    number += 1
"""
WATCHED, ALONE = "watched", "alone"


def main(argv: list[str]) -> int:
    """Print each second and each pair. Return 1 if a budget is missed."""
    options = parser("atrisk", rounds=20, directory=tempfile.gettempdir(), seconds=3.0).parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=options.dir) as place:
        with disks.on_loop(Path(place), options="barrier=0") as storage:
            kept = cost(storage.directory, options.rounds)
        with disks.on_loop(Path(place)) as storage:
            for how in ("fdatasync", "none"):
                kept &= effect(storage.directory / how, how, options.rounds, options.seconds)
    return 0 if kept else 1


def cost(directory: Path, rounds: int) -> bool:
    shares, syncs = [], []
    with (
        syncing(directory / "synced", SYNCS_PER_S),
        program(HOLDER, directory, FILES),
        watching("--at-risk") as watch,
    ):
        for _ in range(rounds):
            share, event = shared(watch)
            shares.append(share)
            syncs.append(sum(each["syncs"] for each in event["second"]["programs"]))
            print(f"  {shares[-1]:5.1%}  {syncs[-1] - syncs[max(0, len(syncs) - 2)]} syncs", flush=True)
    kept = statistics.mean(shares) <= BUDGET
    print(
        f"{statistics.mean(shares):.1%} of a core next to {(syncs[-1] - syncs[0]) / (rounds - 1):.0f} syncs/s, {FILES} "
        f"open files (budget {BUDGET:.0%} for {SYNCS_PER_S} syncs/s): {'kept' if kept else 'MISSED'}"
    )
    return kept


def effect(file: Path, how: str, rounds: int, seconds: float) -> bool:
    rates, costs = [], []
    with program(WRITER, file, how) as writer:
        for turn in range(rounds):
            seen = {who: window(who, writer.pid, seconds) for who in rotated([WATCHED, ALONE], turn)}
            rates.append(seen[WATCHED].per_s / seen[ALONE].per_s)
            costs.append(seen[WATCHED].cpu_s / seen[ALONE].cpu_s)
            print(
                f"  {how}: {seen[ALONE].per_s:.0f}/s, watched {rates[-1]:.3f}, CPU per write {costs[-1]:.3f}",
                flush=True,
            )
    row(f"CPU time per write, sync {how}, watched / alone", costs, 0.0, 1 / RATE)
    return row(f"writes/s, sync {how}, watched / alone", rates, RATE, 1e9)


class Seen(NamedTuple):
    """The writes of a program per second, and its CPU time for each, which depends less on other programs."""

    per_s: float
    cpu_s: float


def window(who: str, pid: int, seconds: float) -> Seen:
    if who == ALONE:
        return seen_in(pid, seconds)
    with watching("--at-risk"):
        return seen_in(pid, seconds)


def seen_in(pid: int, seconds: float) -> Seen:
    writer = psutil.Process(pid)
    writes, cpu, since = writer.io_counters().write_count, cpu_s(writer), time.monotonic()
    time.sleep(seconds)
    done = writer.io_counters().write_count - writes
    return Seen(done / (time.monotonic() - since), (cpu_s(writer) - cpu) / done)
