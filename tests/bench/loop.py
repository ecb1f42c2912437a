"""The measuring loop per operation, on tmpfs, where storage costs nothing, compared with fio's psync engine.

Budget: at most 1.0 × fio for write + fdatasync of 4 KiB.
"""

import platform
import statistics
import sys

from tests.bench.pairs import arguments, rotated, row
from tests.bench.work import WORKS, by_fio, by_fstui, need_fio, scratch


def main(argv: list[str]) -> int:
    """Print µs per operation of both and the ratio. Return 1 if the budget is missed."""
    options = arguments(argv, "loop", rounds=20, directory="/dev/shm")
    need_fio()
    work = WORKS[0]
    ours: list[float] = []
    theirs: list[float] = []
    with scratch(options.dir) as directory:
        for turn in range(options.rounds):
            for who in rotated(["fstui", "fio"], turn):
                if who == "fstui":
                    ours.append(1e6 / by_fstui(work, directory, options.seconds).rate_per_s)
                else:
                    theirs.append(1e6 / by_fio(work, directory, options.seconds).rate_per_s)
    python = f"Python {platform.python_version()} in {sys.base_prefix}"  # some Pythons are built without optimisation
    print(f"{options.rounds} paired rounds of {options.seconds:g} s on {options.dir}, {work.name}, 4 KiB, {python}")
    print(f"fstui {statistics.median(ours):.3f} µs per operation ({min(ours):.3f} – {max(ours):.3f})")
    print(f"fio   {statistics.median(theirs):.3f} µs per operation ({min(theirs):.3f} – {max(theirs):.3f})")
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return 0 if row("fstui / fio, time per operation", ratios, 0.0, 1.0) else 1
