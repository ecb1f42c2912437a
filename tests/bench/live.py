"""CPU time of the app while it shows a run at 80×24: engine and screen in one process, without the probe.

Three steps: two with a rate limit, on an ext4 without barriers on a loop device in memory (root; otherwise on DIR), so
that counters change; one without, on DIR, a tmpfs. The CPU time is read every second, except for the first second,
which paints the whole screen. The trace is off: its helper is a separate process.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fstui.measure.kinds.documents import decode_run
from tests.bench.pairs import arguments
from tests.real import disks
from tests.terminal.pty_app import PtyApp


class Watched(NamedTuple):
    """A step, and the share of a core that watching it may use."""

    name: str
    per_s: int
    """Operations per second; 0: unlimited."""
    sync_every: int
    budget: float


STEPS = (
    Watched("2 600/s, each synced", 2_600, 1, 0.12),
    Watched("10 000/s, each fourth synced", 10_000, 4, 0.12),
    Watched("as fast as it goes, in memory", 0, 1, 0.25),
)
_SCENARIO = """
name = "live"
title = "A step that is watched"
question = "What does watching cost?"
[settings.seconds]
value = {seconds}
[[steps]]
name = "fdatasync"
probe = "sync_writes"
sync_every = {sync_every}
file_bytes = 16777216
ops_per_s = {per_s}
max_bytes_per_s = 1099511627776
"""
_APP = """
import asyncio, sys
from fstui.runs.session import Session
from fstui.tui.app import run_app
session = Session.local(trace=False)
site, plan = asyncio.run(session.plan_by_name(*sys.argv[1:]))
sys.exit(run_app(session, None, lambda app: app.open_run(session.start(plan, site))))
"""


def main(argv: list[str]) -> int:
    """Print the share of a core for each second and step. Return 1 if a budget is missed."""
    options = arguments(argv, "live", rounds=10, directory="/dev/shm")
    print(f"engine and screen, % of a core, {options.rounds} seconds of each step")
    with tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=options.dir) as place, _storage(Path(place)) as loop:
        kept = [_told(step, loop if step.per_s else Path(place), options.rounds) for step in STEPS]
    return 0 if all(kept) else 1


def _told(step: Watched, target: Path, seconds: int) -> bool:
    shares, rate = _watched(step, target, seconds)
    middle = median(shares)
    kept = middle <= step.budget
    each = " ".join(f"{100 * share:.1f}" for share in shares)
    print(
        f"{step.name:<30} {rate:8.0f}/s  {each}   median {100 * middle:.1f} %   budget {100 * step.budget:g} %  "
        f"{'kept' if kept else 'MISSED'}",
        flush=True,
    )
    return kept


@contextmanager
def _storage(place: Path) -> Iterator[Path]:
    if os.geteuid():
        yield place
    else:
        with disks.on_loop(place, options="barrier=0", direct_io=False) as storage:
            yield storage.directory


def _watched(step: Watched, target: Path, seconds: int) -> tuple[list[float], float]:
    """Return the share of each second, and the rate of the step."""
    planned_s = seconds + 10  # stopped after everything was seen
    with tempfile.TemporaryDirectory() as state:
        scenario = Path(state) / "live.toml"
        scenario.write_text(_SCENARIO.format(per_s=step.per_s, sync_every=step.sync_every, seconds=planned_s))
        command = [sys.executable, "-c", _APP, str(scenario), str(target)]
        with PtyApp(command=command, state=state) as app:
            app.read_until(f" of {planned_s} s", 60)
            app.read_for(1)
            shares = [_share(app) for _ in range(seconds)]
            app.press("s")
            app.read_until(" FINDING ", 30)
        (saved,) = (Path(state) / "fstui" / "runs").glob("*.json")
        return shares, decode_run(saved.read_bytes()).steps[0].rate_per_s


def _share(app: PtyApp) -> float:
    before, since = _cpu_ns(app.process.pid), time.monotonic_ns()
    app.read_for(1)
    return (_cpu_ns(app.process.pid) - before) / (time.monotonic_ns() - since)


def _cpu_ns(pid: int) -> int:
    """Return the CPU time of all threads, the first number of schedstat (Linux,
    Documentation/scheduler/sched-stats.rst)."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
