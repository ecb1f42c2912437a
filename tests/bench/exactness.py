"""Is the number of traced flushes exact next to four programs that sync?

On durable storage, each sync of fstui is exactly one flush of fstui's own. Lies must be found by counting alone: each
run is judged twice, as it is, and without anything about its configuration. Makes loop devices, so it needs root.
"""

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
"""Readings that would reveal a lie by themselves."""


class Case(NamedTuple):
    """Storage, or a process on it, and whether it is durable."""

    make: Callable[[Path], AbstractContextManager[Storage]]
    honest: bool
    within: tuple[str, ...] = ()


def cases() -> dict[str, Case]:
    """Kinds by their names in the table."""
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
    """Print the result of each round. Return 1 if one of them is wrong."""
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
    """Run one short step next to the neighbours."""
    workshop = Path(tempfile.mkdtemp(prefix="fstui-bench-", dir=directory))
    state = {**os.environ, "XDG_STATE_HOME": str(workshop / "state"), "XDG_CONFIG_HOME": str(workshop / "state")}
    try:
        with case.make(workshop) as storage, neighbours(storage.directory, NEIGHBOURS):
            scenario = headless.scenario_file(workshop)
            return headless.measure(scenario, storage, within=case.within, environment=state)
    finally:
        shutil.rmtree(workshop)


def ours_per_sync(run: Run) -> float:
    """Return fstui's own flushes at the device below the filesystem; further down, workers request them."""
    (step,) = run.steps
    syncs = step.traced_part.syncs if step.traced_part else step.syncs
    return max(seen.requested_by_us or 0 for seen in step.trace or ()) / syncs


def as_it_must_be(judged: Run | Judgement, case: Case) -> bool:
    """Return whether durable storage is reported as durable as possible, and a lie is found."""
    if case.honest:
        return judged.verdict == "consistent"
    return (judged.verdict, judged.confidence) == ("not-durable", "high")


def judged_blind(run: Run) -> Judgement:
    """Judge the run without anything that its configuration reveals."""
    assert run.target
    stack = tuple(map(_unconfigured, run.target.stack))
    target = msgspec.structs.replace(run.target, stack=stack)
    return judge(msgspec.structs.replace(run, target=target, process=Process()))


def _unconfigured(node: Node) -> Node:
    readings = tuple(reading for reading in node.readings if reading.what not in CONFIGURED)
    cache = "write back" if node.write_cache else None
    return msgspec.structs.replace(node, readings=readings, write_cache=cache)
