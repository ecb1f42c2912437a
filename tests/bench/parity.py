"""fstui's rate compared with fio's for the same work, in paired rounds, with fio against fio as a measure of noise.

Budget: the 95 % interval of the paired ratio overlaps 0.97–1.03.
"""

from __future__ import annotations

from tests.bench.pairs import arguments, rotated, row
from tests.bench.work import WORKS, Work, by_fio, by_fstui, need_fio, scratch


def main(argv: list[str]) -> int:
    """Print one row per kind of work, and fio against fio below it. Return 1 if a budget is missed."""
    options = arguments(argv, "parity", rounds=20, directory=".")
    need_fio()
    kept = True
    print(f"{options.rounds} paired rounds of {options.seconds:g} s, 4 KiB, 64 MiB file, one writer, in {options.dir}")
    print(f"{'':<44} median  95 % interval of the paired ratio")
    with scratch(options.dir) as directory:
        for work in WORKS:
            rates = [_round(work, directory, turn, options.seconds) for turn in range(options.rounds)]
            kept &= row(f"{work.name}: fstui / fio", [r["fstui"] / r["fio"] for r in rates], 0.97, 1.03)
            row(f"{work.name}: fio / fio", [r["fio again"] / r["fio"] for r in rates], 0.97, 1.03)
    return 0 if kept else 1


def _round(work: Work, directory: str, turn: int, seconds: float) -> dict[str, float]:
    return {
        who: by_fstui(work, directory, seconds).rate_per_s if who == "fstui" else by_fio(work, directory, seconds)
        for who in rotated(["fstui", "fio", "fio again"], turn)
    }
