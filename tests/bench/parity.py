"""fstui's rates and latencies compared with fio's for the same work, in interleaved rounds.

Rows: fio compared with itself, as a measure of noise; as root by default, with the kernel's trace; and without it.
Both are compared with the mean of the two measurements by fio in the same round. The trace runs in fstui's traced steps
only, because it also slows other programs down.
Budget: the 95 % interval of the median ratio overlaps 0.97–1.03, and the median is not beyond it on the slower side.
If fio / fio is outside 0.9–1.1, or its interval outside 0.8–1.25, the host is too busy and nothing is proved.
Storage: memory, ext4 on a loop device, and the same with a limit of writes per second. Latencies are compared on the
loop device only: in memory they are those of the programs, and the limit delays requests in bursts.
The latency is that of the sync alone, because fio has none of write and sync together.
``--all``: every way to sync on each of them. ``--fit``: the operations of fstui fit. ``--tools``: ioping and
pg_test_fsync instead of fio, for the methods that they share with fstui. Needs root.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.runs.machine.base import NoTrace
from fstui.runs.machine.local import LocalMachine
from tests.bench.pairs import median_interval, parser, rotated
from tests.bench.work import (
    SMALL,
    WORKS,
    Measured,
    Work,
    by_fio,
    by_ioping,
    by_pg_test_fsync,
    fit_works,
    measured,
    need_fio,
    scratch,
    step_of,
)
from tests.real import disks
from tests.real.processes import program

LOW, HIGH = 0.97, 1.03
QUIET_LOW, QUIET_HIGH = 0.9, 1.1
"""Limits for the median of fio / fio."""
CALM_LOW, CALM_HIGH = 0.8, 1.25
"""Limits for the interval of fio / fio."""
LIMIT_PER_S = 200
"""A sync is a write and a flush, and both count."""
MAX_S = 340.0
"""All rows together, except with ``--all``. On a busy host there are fewer rounds."""
FEWEST = 5
SETTLE_S = 0.3
"""Time between the start or the stop of a trace and a measurement. In a run, it is one second."""
TRACED, UNTRACED, FIO = "fstui", "fstui, no trace", "fio"
MEMORY = "memory"
FIGURES = Measured._fields
KEPT, NO_PROOF = "kept", "no proof: too noisy"
PG_TEST_FSYNC = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync"))
Contestant = Callable[[], Measured]


class Bench(NamedTuple):
    """A storage, and how fstui measures it."""

    name: str
    directory: str
    machine: LocalMachine
    stack: tuple[Node, ...]
    within: tuple[str, ...]
    """The prefix of a command that runs in the same cgroup."""
    runner: asyncio.Runner

    def fstui(self, settings: SyncWrites, *, traced: bool) -> Contestant:
        return lambda: measured(self.runner.run(self._step(settings, traced)))

    async def _step(self, settings: SyncWrites, traced: bool) -> Step:
        """Measure a step. If ``traced``, start the trace before it and stop the trace after it."""
        trace = await self.machine.trace(f"parity{os.getpid()}", self.stack) if traced else NoTrace()
        try:
            if traced and trace.untraced:
                sys.exit(f"not traced: {trace.untraced}")
            await asyncio.sleep(SETTLE_S)
            return await step_of(settings, self.directory, self.machine, self.stack, trace)
        finally:
            await trace.stop()
            await asyncio.sleep(SETTLE_S)

    def contestants(self, work: Work, seconds: float) -> dict[str, Contestant]:
        """Return fio twice, and fstui with the trace and without."""
        settings = replace(work.settings, seconds=seconds)
        fio = partial(by_fio, work, self.directory, seconds, self.within)
        found: dict[str, Contestant] = {
            UNTRACED: self.fstui(settings, traced=False), FIO: fio, f"{FIO} again": fio,
        }  # fmt: skip
        if self.name != MEMORY:
            found[TRACED] = self.fstui(settings, traced=True)
        return found


def main(argv: list[str]) -> int:
    """Print the ratios of each storage and each way to sync. Return 1 if a budget is missed, or nothing is proved."""
    options = parser("parity", rounds=20, directory="/var/tmp", seconds=0.5)
    options.add_argument("--all", action="store_true", help="every way to sync on each storage; takes 15 minutes")
    options.add_argument("--fit", action="store_true", help="the operations of fstui fit instead")
    options.add_argument("--tools", action="store_true", help="compare with ioping and pg_test_fsync instead")
    chosen = options.parse_args(argv)
    need_fio()
    size = "" if chosen.fit else " 4 KiB,"
    print(f"at most {chosen.rounds} interleaved rounds of {chosen.seconds:g} s,{size} one writer; {_load()}")
    print(f"{'':<26}{'rate':<34}{'p50':<34}p99: median of the paired ratios [95 % interval]")
    with asyncio.Runner() as runner:
        bench = _tools if chosen.tools else _fit if chosen.fit else _parity
        good = bench(chosen, runner)
    print(_load())
    return 0 if good else 1


def _parity(chosen: argparse.Namespace, runner: asyncio.Runner) -> bool:
    rounds, seconds, everything = chosen.rounds, chosen.seconds, chosen.all
    plan = {
        MEMORY: (WORKS if everything else (WORKS[0], WORKS[3]), seconds),
        "loop": (WORKS, seconds),
        # the limit lets requests pass in bursts: after one second, the rate is still up to 4 % off
        f"{LIMIT_PER_S} requests/s": (WORKS if everything else WORKS[:1], 4.0),
    }
    rows_left = sum(len(works) for works, _ in plan.values())
    until = time.monotonic() + (float("inf") if everything else MAX_S)
    good = True
    for name, (works, each_s) in plan.items():
        with _storage(name, chosen.dir, runner) as bench:
            for work in works:
                row_until = time.monotonic() + (until - time.monotonic()) / rows_left
                rows_left -= 1
                seen = interleaved(bench.contestants(work, each_s), rounds, row_until)
                good &= print_rows(f"{bench.name}, {work.name}", seen, FIO, FIGURES if name == "loop" else FIGURES[:1])
    return good


def _fit(chosen: argparse.Namespace, runner: asyncio.Runner) -> bool:
    with _storage("loop", chosen.dir, runner) as bench:
        results = []
        for work in fit_works():
            contestants = bench.contestants(work, chosen.seconds)
            results.append(print_rows(work.name, interleaved(contestants, chosen.rounds, float("inf")), FIO))
        return all(results)


def _tools(chosen: argparse.Namespace, runner: asyncio.Runner) -> bool:
    """Compare with the tools that measure the same. pg_test_fsync takes 5 s a round."""
    with _storage("loop", chosen.dir, runner) as bench:
        direct = bench.fstui(replace(WORKS[2].settings, seconds=chosen.seconds), traced=True)
        ping = lambda: by_ioping(bench.directory, chosen.seconds)  # noqa: E731
        good = True
        if shutil.which("ioping"):
            seen = interleaved({TRACED: direct, "ioping": ping, "ioping again": ping}, chosen.rounds, float("inf"))
            good = print_rows(WORKS[2].name, seen, "ioping")
        if PG_TEST_FSYNC:
            good &= _pg_test_fsync(bench, chosen.rounds)
    return good


def _pg_test_fsync(bench: Bench, rounds: int) -> bool:
    ways = {
        "fdatasync": replace(SMALL, block_bytes=8192, offsets="same", sync="fdatasync"),
        "open_datasync": replace(SMALL, block_bytes=8192, offsets="same", sync="none", open_flags=("direct", "dsync")),
    }
    seen: dict[str, list[dict[str, Measured]]] = {way: [] for way in ways}
    for turn in range(rounds):
        tables: dict[str, Mapping[str, Measured]] = {}
        for who in rotated([TRACED, "pg_test_fsync", "pg_test_fsync again"], turn):
            if who == TRACED:
                tables[who] = {way: bench.fstui(settings, traced=True)() for way, settings in ways.items()}
            else:
                tables[who] = by_pg_test_fsync(str(PG_TEST_FSYNC[-1]), bench.directory)
        for way in ways:
            seen[way].append({who: table[way] for who, table in tables.items()})
    results = [print_rows(f"{way}, one block of 8 KiB", found, "pg_test_fsync") for way, found in seen.items()]
    return all(results)


def interleaved(contestants: Mapping[str, Contestant], rounds: int, until: float) -> list[dict[str, Measured]]:
    """Return the figures of each contestant in each round. Stop early if the time has expired."""
    seen: list[dict[str, Measured]] = []
    while len(seen) < rounds and (len(seen) < FEWEST or time.monotonic() < until):
        seen.append({who: contestants[who]() for who in rotated(list(contestants), len(seen))})
    return seen


def print_rows(name: str, seen: Sequence[Mapping[str, Measured]], other: str, figures: Sequence[str] = FIGURES) -> bool:
    """Print a row for the noise, and rows for fstui with and without trace. Return whether all budgets are kept."""
    per_s = statistics.median(each[other].rate_per_s for each in seen)
    print(f"{name}: {per_s:,.0f}/s by {other}, n={len(seen)}")
    again = f"{other} again"
    noise = {figure: ratios for figure in figures if (ratios := _ratios(seen, again, (other,), figure))}
    _print_row(again, noise, {})
    good = True
    for who in (TRACED, UNTRACED):
        found = {figure: ratios for figure in noise if (ratios := _ratios(seen, who, (other, again), figure))}
        results = {figure: _result(figure, ratios, noise[figure]) for figure, ratios in found.items()}
        _print_row(who, found, results)
        good &= set(results.values()) <= {KEPT}
    return good


def _print_row(who: str, found: Mapping[str, Sequence[float]], results: Mapping[str, str]) -> None:
    cells = [_cell(found.get(figure, ()), results.get(figure, "")) for figure in FIGURES]
    if any(cells):
        print(f"  {who:<24}" + "".join(f"{cell:<34}" for cell in cells).rstrip(), flush=True)


def _cell(ratios: Sequence[float], result: str) -> str:
    if not ratios or result == NO_PROOF:
        return result
    first, last = median_interval(ratios)
    return f"{statistics.median(ratios):.3f} [{first:.3f}, {last:.3f}] {result}"


def _result(figure: str, ratios: Sequence[float], noise: Sequence[float]) -> str:
    first, last = median_interval(noise)
    if not (QUIET_LOW <= statistics.median(noise) <= QUIET_HIGH and first >= CALM_LOW and last <= CALM_HIGH):
        return NO_PROOF
    return KEPT if within_budget(ratios, is_rate=figure == "rate_per_s") else "MISSED"


def within_budget(ratios: Sequence[float], *, is_rate: bool) -> bool:
    """Return whether the interval overlaps the budget, and the median is not beyond it on the slower side."""
    first, last = median_interval(ratios)
    middle = statistics.median(ratios)
    return first <= HIGH and last >= LOW and (middle >= LOW if is_rate else middle <= HIGH)


def _ratios(seen: Sequence[Mapping[str, Measured]], who: str, others: Sequence[str], figure: str) -> list[float]:
    """Return the ratio to the geometric mean of the others in each round in which all have the figure."""
    rounds = ([getattr(each[name], figure) for name in (who, *others)] for each in seen if who in each)
    return [values[0] / statistics.geometric_mean(values[1:]) for values in rounds if all(values)]


def _load() -> str:
    return f"load average {', '.join(f'{load:.2f}' for load in os.getloadavg())} on {os.cpu_count()} CPUs"


def _fill(directory: Path) -> None:
    """Write to all free space once, so that the sparse file below the loop device has no holes.

    The filesystem places each new file elsewhere. A write into a hole takes several times as long as another write.
    """
    file = directory / "fill"
    free_bytes = shutil.disk_usage(directory).free
    with file.open("xb", buffering=0) as filled:
        for _ in range(free_bytes // disks.MIB - 1):
            filled.write(os.urandom(disks.MIB))
        os.fsync(filled.fileno())
    file.unlink()
    os.sync()


@contextmanager
def _storage(name: str, directory: str, runner: asyncio.Runner) -> Iterator[Bench]:
    with ExitStack() as opened:
        workshop = Path(opened.enter_context(scratch("/dev/shm" if name == MEMORY else directory)))
        within: tuple[str, ...] = ()
        like = None
        place = workshop
        if name != MEMORY:
            storage = opened.enter_context(disks.on_loop(workshop, mkfs=("-b", "4096")))
            place = storage.directory
            assert storage.device
            _fill(place)
            if name != "loop":
                within = opened.enter_context(disks.write_limit(storage.device, LIMIT_PER_S))
                like = opened.enter_context(program("print(flush=True); input()", within=within)).pid
        machine = LocalMachine(cgroup_of_pid=like)
        machine.survey()
        stack = machine.target(str(place)).stack
        yield Bench(name, str(place), machine, stack, within, runner)
