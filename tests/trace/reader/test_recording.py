"""Events of many CPUs in the order of time."""

import random
import struct
import tracemalloc
from collections import deque

from fstui.trace.reader.recording import PAGES_AT_ONCE, PageStore
from tests.trace.reader import made
from tests.trace.reader.made import LAYOUT

FORK = 7
CPUS = 64
STEP_NS = 10


def filled() -> PageStore:
    """Return more pages than are decoded at once, of 64 CPUs whose events are interleaved at random."""
    chance, times = random.Random(64), iter(range(1, 1_000_000))
    of_cpus: list[list[bytes]] = [[] for _ in range(CPUS)]
    for _ in range(3 * PAGES_AT_ONCE):
        begins = [next(times) for _ in range(CPUS)]
        chance.shuffle(begins)
        for cpu, begin in enumerate(begins):
            of_cpus[cpu].append(made.page(made.event(FORK, begin, delta_ns=0), time_ns=begin * STEP_NS))
    store = PageStore(LAYOUT, {FORK: struct.Struct("=4xi")})
    for page in (page for pages in of_cpus for page in pages):  # one CPU after the other, as they are read
        store.add(page)
    return store


def test_events_of_64_cpus_come_in_the_order_of_time() -> None:
    found = [(time_ns, pid) for time_ns, _, (pid,) in filled().events(10**9)]
    assert found == [(number * STEP_NS, number) for number in range(1, 3 * PAGES_AT_ONCE * CPUS + 1)]


def test_later_events_are_kept_and_returned_once() -> None:
    store = filled()
    half = 3 * PAGES_AT_ONCE * CPUS // 2
    first = [pid for _, _, (pid,) in store.events(half * STEP_NS)]
    rest = [pid for _, _, (pid,) in store.events(10**9)]
    assert first == list(range(1, half + 1))
    assert first + rest == list(range(1, 2 * half + 1))
    assert store.bytes == 0


def test_decoding_needs_less_memory_than_the_pages() -> None:
    events = b"".join(made.event(FORK, 1, delta_ns=1) for _ in range(60))
    store = PageStore(LAYOUT, {FORK: struct.Struct("=4xi")})
    for number in range(2000):
        store.add(made.page(events, time_ns=number * 1000))
    kept = store.bytes
    tracemalloc.start()
    try:
        deque(store.events(10**9), maxlen=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < kept
