"""The survey of a made-up box with many block devices and mounts: how long it takes, and how it grows.

Budget (DESIGN section 8): 1 000 devices and mounts in at most 0.5 s, growing linearly. Half of a box are devices: disks
with a partition and a volume on each, every tenth an array of two. The mounts are theirs, NFS with statistics, ZFS
datasets with counters of their own, and memory.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from fstui.inventory.claims import Answer, Claims
from fstui.inventory.counters import read_counters
from fstui.inventory.survey import survey
from fstui.inventory.watch import fingerprint
from tests.unit.inventory.trees import Box

BUDGET_S = 0.5
SIZES = (250, 500, 1000, 2000)
LINEAR = 1.25
"""Twice as much may take so much more than twice as long: noise is no growth."""


def main(argv: list[str]) -> int:
    """Print seconds by size and the growth; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench inventory")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(argv)
    medians: dict[int, float] = {}
    print(f"{options.rounds} surveys of each made-up box, in rotating order")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        boxes = {size: build(Path(directory) / str(size), size) for size in SIZES}
        times: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(options.rounds):
            for size, (box, claims) in boxes.items():
                times[size].append(timed(box.root, claims))
        for size, (box, claims) in boxes.items():
            medians[size] = statistics.median(times[size])
            low, high = min(times[size]), max(times[size])
            print(
                f"{size:5} devices and mounts  {medians[size]:.3f} s  ({low:.3f} – {high:.3f})  {counted(box, claims)}"
            )
    return verdict(medians)


def verdict(medians: dict[int, float]) -> int:
    """Say whether the budgets hold."""
    fits = medians[1000] <= BUDGET_S
    growth = medians[2000] / medians[1000] / 2
    linear = growth <= LINEAR
    print(f"{'✓' if fits else '✗'} 1 000 in {medians[1000]:.3f} s, budget {BUDGET_S:.1f} s")
    print(f"{'✓' if linear else '✗'} from 1 000 to 2 000 per device × {growth:.2f}, linear up to × {LINEAR}")
    return 0 if fits and linear else 1


def timed(root: Path, claims: Claims) -> float:
    began = time.perf_counter()
    survey(root, claims)
    return time.perf_counter() - began


def counted(box: Box, claims: Claims) -> str:
    """What else is read while the app runs: the counters of every device, and whether anything changed."""
    inventory = survey(box.root, claims)
    nodes = [node for target in inventory.filesystems for node in target.stack]
    began = time.perf_counter()
    read_counters(nodes, box.root)
    middle = time.perf_counter()
    fingerprint(box.root)
    ms = [1000 * seconds for seconds in (middle - began, time.perf_counter() - middle)]
    return f"counters {ms[0]:.1f} ms, watch {ms[1]:.1f} ms"


def build(root: Path, size: int) -> tuple[Box, Claims]:
    """A box of ``size`` devices and mounts, and what the tools say of it."""
    box = Box(root)
    tables = []
    disks = size // 6
    for number in range(disks):
        name = f"sd{number}x"
        home = f"pci0000:00/0000:00:1f.2/ata{number}/host{number}/target{number}:0:0/{number}:0:0:0"
        box.disk(name, home, files={"device/model": "INTEL SSDSC2KB48", "device/vendor": "ATA     ",
                                    "device/wwid": f"naa.{number:016x}"})  # fmt: skip
        box.write(f"/sys/class/ata_link/link{number}/sata_spd", "6.0 Gbps")
        partition = box.partition(name, 1)
        below = partition
        if number % 10 == 1:
            below = f"md{number}"
            box.md(below, "raid1", (partition, f"sd{number - 1}x1"))
        box.dm(f"dm-{number}", f"vg-lv{number}", "LVM-" + "a" * 64, (below,))
        tables.append(f"vg-lv{number}: 0 8 linear {box.number_of[below]} 2048")
        box.mount(f"/dev/mapper/vg-lv{number}", f"/srv/{number}", "ext4", device=box.number_of[f"dm-{number}"])
        box.ext4(f"dm-{number}", "rw barrier data=ordered")
    commands = {"dmsetup table": Answer(output="\n".join(tables))}
    return box, {**commands, **mounts(box, size - 4 * disks - disks // 10, disks)}


def mounts(box: Box, number_of_mounts: int, disks: int) -> Claims:
    """Mounts of many kinds, and what the tools say of the pool."""
    statistics_of_nfs, properties = [], []
    for number in range(number_of_mounts):
        kind, place = number % 4, f"/mnt/{number}"
        if kind == 0:
            box.mount(f"filer:/{number}", place, "nfs4", super_options="rw,vers=4.2,hard")
            head = f"device filer:/{number} mounted on {place} with fstype nfs4 statvers=1.1"
            statistics_of_nfs.append(f"{head}\n\t     WRITE: 1 1\n\t    COMMIT: 1")
        elif kind == 1:
            box.mount("tmpfs", place, "tmpfs")
        elif kind == 2:
            box.mount(f"tank/{number}", place, "zfs")
            kstat = f"dataset_name 7 tank/{number}\nzil_commit_count 4 {number}"
            box.write(f"/proc/spl/kstat/zfs/tank/objset-{number:#x}", kstat)
            properties.append(f"tank/{number}\tsync\tstandard\tdefault")
        else:
            box.mount(f"/dev/sd{number % disks}x1", place, "ext4", root=f"/{number}")
    box.write("/proc/self/mountstats", "\n".join(statistics_of_nfs))
    return {"zfs get sync": Answer(output="\n".join(properties))}
