"""How exactly the kernel's trace tells our flushes from others': short runs beside four programs that sync.

On honest storage each of our syncs is one flush of ours, no more and no fewer. Storage and processes that lie are
caught by what was counted: each run is judged twice, as it is, and with all that its configuration says taken out of
it. Makes loop devices, so it needs root.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from fstui.judge import judge
from fstui.model.host import Process
from fstui.model.judgement import Judgement
from fstui.model.run import Run
from fstui.model.storage import Node
from tests.bench.pairs import arguments
from tests.real import disks, headless, without_calls
from tests.real.disks import Storage
from tests.real.neighbours import neighbours

NEIGHBOURS = 4
CONFIGURED = {"barrier", "data", "journal"}
"""Readings that would tell by themselves."""


class Case(NamedTuple):
    """Storage, or a process on it, and whether it keeps its word."""

    make: Callable[[Path], AbstractContextManager[Storage]]
    honest: bool
    within: tuple[str, ...] = ()


def cases() -> dict[str, Case]:
    """By what they are called in the table."""
    libraries = sorted(Path("/usr/lib").glob("*/libeatmydata.so*"))[:1]
    filtered = (sys.executable, without_calls.__file__, "fdatasync")
    found = {
        "ext4": Case(disks.on_loop, True),
        "XFS": Case(partial(disks.on_loop, fstype="xfs"), True),
        "ext4 on a partition": Case(disks.on_partition, True),
        "ext4 barrier=0": Case(partial(disks.on_loop, options="barrier=0"), False),
        "“write through” by hand": Case(disks.write_through, False),
        "a filter that swallows fdatasync": Case(disks.on_loop, False, filtered),
    }
    for library in libraries:
        found["libeatmydata"] = Case(disks.on_loop, False, ("env", f"LD_PRELOAD={library}"))
    return found


def main(argv: list[str]) -> int:
    """Print what each round came to; 1 where one of them is not as it must be."""
    options = arguments(argv, "exactness", rounds=20, directory=tempfile.gettempdir())
    print(f"{options.rounds} rounds beside {NEIGHBOURS} programs that fsync the same filesystem, in {options.dir}")
    print(f"{'':<34} flushes by fstui / syncs   as they must be: judged   judged blind")
    good = [_row(name, case, options.rounds, options.dir) for name, case in cases().items()]
    return 0 if all(good) else 1


def _row(name: str, case: Case, rounds: int, directory: str) -> bool:
    runs = [measured(case, directory) for _ in range(rounds)]
    shares = sorted(map(ours_per_sync, runs))
    exact = all(share == case.honest for share in shares)
    judged, blind = (sum(as_it_must_be(each, case) for each in some) for some in (runs, map(judged_blind, runs)))
    print(f"  {name:<32} {shares[0]:>10.2f} to {shares[-1]:<10.2f} {judged:>12} of {rounds} {blind:>10} of {rounds}")
    return exact and judged == blind == rounds


def measured(case: Case, directory: str) -> Run:
    """One short run beside the neighbours."""
    workshop = Path(tempfile.mkdtemp(prefix="fstui-bench-", dir=directory))
    state = {**os.environ, "XDG_STATE_HOME": str(workshop / "state"), "XDG_CONFIG_HOME": str(workshop / "state")}
    try:
        with case.make(workshop) as storage, neighbours(storage.directory, NEIGHBOURS):
            scenario = headless.scenario_file(workshop)
            return headless.measure(scenario, storage, within=case.within, environment=state)
    finally:
        shutil.rmtree(workshop)


def ours_per_sync(run: Run) -> float:
    """What the trace saw us ask the device for that the filesystem stands on; beneath it workers ask for us."""
    (step,) = run.steps
    return max(seen.asked_by_us or 0 for seen in step.trace or ()) / step.syncs


def as_it_must_be(judged: Run | Judgement, case: Case) -> bool:
    """Honest storage is believed, as far as that goes; a liar is caught."""
    if case.honest:
        return judged.verdict == "consistent"
    return (judged.verdict, judged.confidence) == ("not-durable", "high")


def judged_blind(run: Run) -> Judgement:
    """Judged with nothing in it by which its configuration would tell."""
    assert run.target
    stack = tuple(map(_unconfigured, run.target.stack))
    target = msgspec.structs.replace(run.target, stack=stack)
    return judge(msgspec.structs.replace(run, target=target, process=Process()))


def _unconfigured(node: Node) -> Node:
    readings = tuple(reading for reading in node.readings if reading.what not in CONFIGURED)
    cache = "write back" if node.write_cache else None
    return msgspec.structs.replace(node, readings=readings, write_cache=cache)
