"""What block events say of a device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.trace.reader.durations import Durations
from fstui.trace.reader.flushes import FLUSH_FIRST, FUA, WRITE, Device, DeviceSums, meaning

DISK = Device("sda", 8 << 20, makes_requests=True)


@pytest.mark.parametrize(
    ("rwbs", "means"),
    [
        ("FWS", FLUSH_FIRST | WRITE),
        ("FWFS", FLUSH_FIRST | WRITE | FUA),
        ("FWFSM", FLUSH_FIRST | WRITE | FUA),
        ("WFS", WRITE | FUA),
        ("WSM", WRITE),
        ("W", WRITE),
        ("FF", FLUSH_FIRST),
        ("F", FLUSH_FIRST),
        ("R", 0),
        ("RFA", 0),
        ("D", 0),
        ("N", 0),
        ("", 0),
        ("WS\0FWS", WRITE),
    ],
)
def test_the_letters(rwbs: str, means: int) -> None:
    assert meaning(rwbs.encode().ljust(10, b"\0")) == means


@given(st.binary(max_size=12))
def test_any_letters_mean_something_or_nothing(rwbs: bytes) -> None:
    assert meaning(rwbs) in range(8)


def test_asked_is_told_by_asker_and_answered_with_times() -> None:
    sums = DeviceSums(DISK)
    sums.queued(b"FWS", "us")
    sums.queued(b"FWFSM", "kernel_threads")
    sums.queued(b"WFS", "us")
    sums.queued(b"WS", "others")
    sums.requests.issued(100, 0, b"FF")
    sums.requests.issued(150, 0, b"FF")
    sums.requests.completed(300, 0, b"FF")
    sums.requests.issued(400, 88, b"WS")
    sums.requests.completed(450, 88, b"WS")
    sums.requests.completed(460, 88, b"WS")
    assert sums.told(lost=0, kernel_threads_known=True) == {
        "device": "sda",
        "asked_by_us": 1,
        "asked_by_kernel_threads": 1,
        "asked_by_others": 0,
        "fua_writes": 2,
        "fua_writes_by_us": 1,
        "requests": 2,
        "device_flush_ns": {"p50": 200, "p99": None, "max": 200},
        "device_write_ns": {"p50": 50, "p99": None, "max": 50},
        "lost": 0,
    }


def test_a_lost_event_leaves_no_count() -> None:
    sums = DeviceSums(DISK)
    sums.queued(b"FWS", "us")
    sums.requests.issued(1, 0, b"FF")
    sums.requests.completed(2, 0, b"FF")
    told = sums.told(lost=3, kernel_threads_known=True)
    assert (told.pop("device"), told.pop("lost")) == ("sda", 3)
    assert set(told.values()) == {None}


def test_what_hands_bios_on_has_no_requests() -> None:
    sums = DeviceSums(Device("dm-0", 253 << 20, makes_requests=False))
    assert sums.told(lost=0, kernel_threads_known=False)["requests"] is None
    assert sums.told(lost=0, kernel_threads_known=False)["asked_by_kernel_threads"] is None


def test_an_answer_without_a_question_counts_nothing() -> None:
    sums = DeviceSums(DISK)
    sums.requests.completed(5, 0, b"FF")
    sums.requests.completed(5, 8, b"WS")
    assert sums.told(lost=0, kernel_threads_known=True)["device_flush_ns"] is None


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300))
def test_percentiles_are_right_to_a_sixtyfourth(values: list[int]) -> None:
    durations = Durations()
    for value in values:
        durations.add(value)
    told = durations.told()
    assert told is not None
    ordered = sorted(values)
    median = ordered[-(-len(ordered) // 2) - 1]
    assert told["p50"] is not None and told["p50"] <= median <= told["p50"] * 65 / 64
    assert told["max"] == ordered[-1]
    assert (told["p99"] is None) == (len(values) < 100)
