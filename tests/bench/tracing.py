"""The effect of the kernel's trace: one probe's operations with and without the trace, alternately.

While the probe runs without a pause, the trace of a run is started, kept for a while, and stopped. The same time
without a trace comes before or after. So both halves of a pair are from one process, one file and nearly the same
moment. Starting and stopping are excluded: in a run they happen between steps. Needs root. Budget: rate at least 0.98,
p99 at most 1.05, for the median and the whole interval.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fstui.runs.machine.local import LocalMachine
from tests.bench.pairs import arguments, rotated, row
from tests.measure.probes.driving import RunningProbe

METHODS: dict[str, dict[str, Any]] = {
    "fdatasync": {"sync": "fdatasync"},
    "fsync": {"sync": "fsync"},
    "O_DIRECT+O_DSYNC": {"sync": "none", "open_flags": ("direct", "dsync")},
}
TRACED, UNTRACED = "traced", "untraced"
EVERY = 5
"""Rounds that are printed together."""
LONGEST_S = 75.0
"""Time per sync method; on a busy host the trace starts slowly, so there are fewer rounds."""
FEWEST = 100
"""Operations that a p99 needs."""


class Window(NamedTuple):
    from_ns: int
    until_ns: int


class Seen(NamedTuple):
    """The operations of the probe in a window."""

    rate_per_s: float
    p99_ns: float


class Ratios(NamedTuple):
    """The ratio traced / untraced of each pair."""

    rates: list[float]
    tails: list[float]


def main(argv: list[str]) -> int:
    """Print the ratios as they arrive, then their intervals. Return 1 if a budget is missed."""
    options = arguments(argv, "perturbation --trace", rounds=20, directory=tempfile.gettempdir())
    print(f"{options.rounds} pairs of {options.seconds:g} s for each way to sync, in {options.dir}", flush=True)
    shared = (options.dir, options.rounds, options.seconds)
    every = [measured(name, settings, *shared) for name, settings in METHODS.items()]
    print(f"{'':<44} median  95 % interval of the paired ratio")
    for name, (rates, tails) in zip(METHODS, every, strict=True):
        row(f"rate, {name}", rates, 0.98, 1e9)
        row(f"p99, {name}", tails, 0.0, 1.05)
    kept = row("rate, traced / untraced", [ratio for rates, _ in every for ratio in rates], 0.98, 1e9)
    kept &= row("p99, traced / untraced", [ratio for _, tails in every for ratio in tails], 0.0, 1.05)
    return 0 if kept else 1


def measured(name: str, settings: Mapping[str, Any], directory: str, rounds: int, seconds: float) -> Ratios:
    with (
        tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=directory) as place,
        RunningProbe(Path(place), seconds=3600.0, max_bytes_per_s=1 << 40, **settings) as probe,
    ):
        probe.until("ready")
        probe.say("go")
        windows = asyncio.run(in_turn(name, probe, place, rounds, seconds))
    return ratios(windows, operations(probe))


async def in_turn(name: str, probe: RunningProbe, place: str, rounds: int, seconds: float) -> list[dict[str, Window]]:
    """Return the windows of each round, and end the probe afterwards."""
    hearing = asyncio.create_task(asyncio.to_thread(probe.until, "done"))
    windows: list[dict[str, Window]] = []
    until = time.monotonic() + LONGEST_S
    try:
        for turn in range(rounds):
            windows.append(
                {who: await one_window(who, probe, place, seconds) for who in rotated([TRACED, UNTRACED], turn)}
            )
            over = turn + 1 == rounds or time.monotonic() > until
            if (turn + 1) % EVERY == 0 or over:
                rates, tails = ratios(windows[-EVERY:], operations(probe))
                medians = f"rate {statistics.median(rates):.3f}, p99 {statistics.median(tails):.3f}"
                print(f"  {name}: {turn + 1} of {rounds}, the last {len(rates)}: {medians}", flush=True)
            if over:
                break
    finally:  # a refused trace ends the bench, not only its rounds
        probe.say("stop")
    await hearing
    return windows


async def one_window(who: str, probe: RunningProbe, place: str, seconds: float) -> Window:
    if who == UNTRACED:
        return await watched(seconds)
    async with traced(place, probe.process.pid):
        return await watched(seconds)


async def watched(seconds: float) -> Window:
    from_ns = time.monotonic_ns()
    await asyncio.sleep(seconds)
    return Window(from_ns, time.monotonic_ns())


@asynccontextmanager
async def traced(place: str, pid: int) -> AsyncIterator[None]:
    """Run the trace of a run for a step of that probe."""
    machine = LocalMachine()
    trace = await machine.trace("bench", machine.target(place).stack)
    if trace.untraced:
        sys.exit(f"not traced: {trace.untraced}")
    try:
        trace.begin(time.monotonic_ns(), (pid,))
        yield
        seen = await trace.end(time.monotonic_ns())
        if not seen or not any(each.requested_by_us for each in seen):
            sys.exit(f"the trace saw nothing: {seen}")
    finally:
        await trace.stop()


def operations(probe: RunningProbe) -> list[tuple[int, int]]:
    """Return the end and the duration of each operation, in ns."""
    found = []
    for samples in list(probe.samples):
        found += [(end, end - begin) for begin, end in zip(samples.begins_ns, samples.ends_ns, strict=True)]
    return found


def ratios(windows: list[dict[str, Window]], done: list[tuple[int, int]]) -> Ratios:
    pairs = [{who: seen(window, done) for who, window in pair.items()} for pair in windows]
    return Ratios(
        [pair[TRACED].rate_per_s / pair[UNTRACED].rate_per_s for pair in pairs],
        [pair[TRACED].p99_ns / pair[UNTRACED].p99_ns for pair in pairs],
    )


def seen(window: Window, done: list[tuple[int, int]]) -> Seen:
    """Return the operations that ended in the window."""
    first, behind = bisect_left(done, (window.from_ns, 0)), bisect_left(done, (window.until_ns, 0))
    latencies = sorted(latency for _, latency in done[first:behind])
    if len(latencies) < FEWEST:
        sys.exit(f"{len(latencies)} operations in a window are too few for a p99: give it more --seconds")
    rate_per_s = len(latencies) / (window.until_ns - window.from_ns) * 1e9
    return Seen(rate_per_s, latencies[len(latencies) * 99 // 100])
