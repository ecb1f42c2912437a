"""Time to survey a made-up host with many block devices and mounts, and how it grows.

Budget: 1 000 devices and mounts in at most 0.5 s, with linear growth. Half of them are devices: disks with a partition
and a volume each, and an array of two on every tenth. The mounts are on them, on NFS and ZFS, and in memory.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from fstui.storage.counters import read_counters
from fstui.storage.hotplug import Watch
from fstui.storage.survey import survey
from fstui.storage.tool_output import ToolOutputs
from tests.factories.box import Box
from tests.factories.crowd import crowd

BUDGET_S = 0.5
SIZES = (250, 500, 1000, 2000)
LINEAR = 1.25
"""Tolerated factor beyond linear growth, for noise."""


def main(argv: list[str]) -> int:
    """Print seconds by size and the growth. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench inventory")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(argv)
    medians: dict[int, float] = {}
    print(f"{options.rounds} surveys of each made-up box, in rotating order")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        boxes = {size: crowd(Path(directory) / str(size), size) for size in SIZES}
        times: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(options.rounds):
            for size, (box, tool_outputs) in boxes.items():
                times[size].append(timed(box.root, tool_outputs))
        for size, (box, tool_outputs) in boxes.items():
            medians[size] = statistics.median(times[size])
            low, high = min(times[size]), max(times[size])
            print(
                f"{size:5} devices and mounts  {medians[size]:.3f} s  ({low:.3f} – {high:.3f})  "
                f"{counted(box, tool_outputs)}"
            )
    return verdict(medians)


def verdict(medians: dict[int, float]) -> int:
    fits = medians[1000] <= BUDGET_S
    growth = medians[2000] / medians[1000] / 2
    linear = growth <= LINEAR
    print(f"{'✓' if fits else '✗'} 1 000 in {medians[1000]:.3f} s, budget {BUDGET_S:.1f} s")
    print(f"{'✓' if linear else '✗'} from 1 000 to 2 000 per device × {growth:.2f}, linear up to × {LINEAR}")
    return 0 if fits and linear else 1


def timed(root: Path, tool_outputs: ToolOutputs) -> float:
    began = time.perf_counter()
    survey(root, tool_outputs)
    return time.perf_counter() - began


def counted(box: Box, tool_outputs: ToolOutputs) -> str:
    """Time what else is read while the app runs: the counters of every device, and whether anything changed."""
    inventory = survey(box.root, tool_outputs)
    nodes = [node for target in inventory.filesystems for node in target.stack]
    began = time.perf_counter()
    read_counters(nodes, box.root)
    middle = time.perf_counter()
    Watch(box.root).has_changed()
    ms = [1000 * seconds for seconds in (middle - began, time.perf_counter() - middle)]
    return f"counters {ms[0]:.1f} ms, watch {ms[1]:.1f} ms"
