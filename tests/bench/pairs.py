"""Paired rounds: the ratio of each pair, its median, and the 95 % interval of that median."""

import argparse
import random
import statistics
from collections.abc import Sequence
from math import comb


def arguments(argv: list[str], name: str, rounds: int, directory: str, *, seconds: float = 1.0) -> argparse.Namespace:
    """Return the arguments of a bench that has only those of every bench."""
    return parser(name, rounds, directory, seconds=seconds).parse_args(argv)


def parser(name: str, rounds: int, directory: str, *, seconds: float = 1.0) -> argparse.ArgumentParser:
    """Return the parser that every bench uses: ``--rounds``, ``--dir`` and ``--seconds``."""
    options = argparse.ArgumentParser(prog=f"python -m tests.bench {name}")
    options.add_argument("--rounds", type=int, default=rounds, help="paired rounds (%(default)s)")
    options.add_argument("--dir", default=directory, help="where the files are made (%(default)s)")
    options.add_argument("--seconds", type=float, default=seconds, help="measured time per round (%(default)s)")
    return options


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median by order statistics, without assumptions about the distribution."""
    ordered = sorted(values)
    n = len(ordered)
    tail, rank = 0.0, 0
    while rank < n // 2 and tail + comb(n, rank) / 2**n <= 0.025:
        tail += comb(n, rank) / 2**n
        rank += 1
    lowest = max(0, rank - 1)
    return ordered[lowest], ordered[n - 1 - lowest]


def row(name: str, ratios: Sequence[float], low: float, high: float) -> bool:
    """Print one row. Return whether the interval overlaps the budget. ``kept throughout``: it is within the budget."""
    first, last = median_interval(ratios)
    kept = last >= low and first <= high
    throughout = " throughout" if low <= first and last <= high else ""
    print(
        f"{name:<44} {statistics.median(ratios):6.3f}  {first:6.3f} – {last:6.3f}   n={len(ratios):<3} "
        f"budget {low:g}–{high:g}  {f'kept{throughout}' if kept else 'MISSED'}"
    )
    return kept


def rotated(items: Sequence[str], turn: int) -> list[str]:
    """Return the items in a different order each round, so that none is always first."""
    order = list(items)
    random.Random(turn).shuffle(order)
    return order
