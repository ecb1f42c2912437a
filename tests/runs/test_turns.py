"""A step in intervals: which operations lie wholly between two readings, and what was counted there."""

from __future__ import annotations

from fstui.model.counters import Counters
from fstui.runs.recorder import MOST, SHORTEST_NS, Intervals
from tests.factories.runs import START_NS, counted

MS = 1_000_000


def read(intervals: Intervals, at_ms: int, ops: int, *, took_ms: int = 2, last: bool = False) -> None:
    since_ns = START_NS + at_ms * MS
    devices = (counted(ops, ops),)
    intervals.read(Counters(monotonic_ns=since_ns, until_ns=since_ns + took_ms * MS, devices=devices), last=last)


def add(intervals: Intervals, *marks_ms: int) -> None:
    marks = [START_NS + mark * MS for mark in marks_ms]
    intervals.add(marks[:-1], marks[1:])


def test_an_operation_on_the_edge_belongs_to_no_turn() -> None:
    intervals = Intervals()
    read(intervals, 0, 0)
    add(intervals, 2, 50, 100)
    read(intervals, 110, 3)
    add(intervals, 100, 111, 112, 150, 200)
    read(intervals, 220, 7, last=True)
    add(intervals, 200, 230)
    first, second = intervals.turns()
    assert (first.ops, second.ops) == (2, 2)  # not those that end at 111 and 112, nor that which ends at 230
    assert [turn.flushes["sda"] for turn in (first, second)] == [3, 4]
    assert (first.elapsed_s, second.elapsed_s) == (0.108, 0.108)


def test_what_is_told_of_late_counts_where_it_happened() -> None:
    late, prompt = Intervals(), Intervals()
    for intervals in (late, prompt):
        read(intervals, 0, 0)
    add(prompt, 10, 40, 80, 120, 160)
    read(prompt, 200, 4)
    read(late, 200, 4)
    add(late, 10, 40, 80, 120, 160)
    add(late, 160, 240, 280)
    assert [turn.ops for turn in late.turns()] == [turn.ops for turn in prompt.turns()] == [4]


def test_a_turn_is_no_shorter_than_it_has_to_be_but_for_the_last() -> None:
    intervals = Intervals()
    read(intervals, 0, 0)
    add(intervals, 2, 20, 40)
    read(intervals, 50, 2)
    add(intervals, 40, 90, 105)
    read(intervals, 110, 4)
    add(intervals, 112, 118)
    read(intervals, 120, 5, last=True)
    assert [turn.ops for turn in intervals.turns()] == [4, 1]


def test_of_a_long_step_neighbours_become_one() -> None:
    intervals = Intervals()
    for number in range(200):
        read(intervals, number * 100, number)
        add(intervals, number * 100 + 10, number * 100 + 50)
    found = intervals.turns()
    assert MOST <= len(found) <= 2 * MOST
    assert intervals.shortest_ns >= 4 * SHORTEST_NS
    assert sum(turn.ops for turn in found) > 190
    assert all(turn.ops == turn.flushes["sda"] for turn in found)


def test_where_it_is_not_known_how_long_a_reading_took_there_are_none() -> None:
    intervals = Intervals()
    intervals.read(Counters(monotonic_ns=START_NS, devices=(counted(0, 0),)))
    add(intervals, 2, 20)
    intervals.read(Counters(monotonic_ns=START_NS + 300 * MS, devices=(counted(1, 1),)), last=True)
    assert intervals.turns() == ()
