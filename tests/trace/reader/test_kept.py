"""Events of many CPUs, told in the order of time."""

import random
import struct

from fstui.trace.reader.kept import AT_ONCE, Kept
from tests.trace.reader import made
from tests.trace.reader.made import LAYOUT

FORK = 7
CPUS = 64
STEP_NS = 10


def filled() -> Kept:
    """Of 64 CPUs that took turns by chance, more pages than are made into events at once."""
    chance, times = random.Random(64), iter(range(1, 1_000_000))
    of_cpus: list[list[bytes]] = [[] for _ in range(CPUS)]
    for _ in range(3 * AT_ONCE):
        begins = [next(times) for _ in range(CPUS)]
        chance.shuffle(begins)
        for cpu, begin in enumerate(begins):
            of_cpus[cpu].append(made.page(made.event(FORK, begin, delta_ns=0), time_ns=begin * STEP_NS))
    kept = Kept(LAYOUT, {FORK: struct.Struct("=4xi")})
    for page in (page for pages in of_cpus for page in pages):  # as they are read: one CPU after the other
        kept.add(page)
    return kept


def test_events_of_64_cpus_are_told_in_the_order_of_time() -> None:
    told = [(time_ns, pid) for time_ns, _, (pid,) in filled().events(10**9)]
    assert told == [(number * STEP_NS, number) for number in range(1, 3 * AT_ONCE * CPUS + 1)]


def test_what_happened_later_is_told_later_and_nothing_twice() -> None:
    kept = filled()
    half = 3 * AT_ONCE * CPUS // 2
    first = [pid for _, _, (pid,) in kept.events(half * STEP_NS)]
    rest = [pid for _, _, (pid,) in kept.events(10**9)]
    assert first == list(range(1, half + 1))
    assert first + rest == list(range(1, 2 * half + 1))
    assert kept.bytes == 0
