"""What block events show of a device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.trace.reader.devices import FLUSH_FIRST, FUA, WRITE, Requests, request_flags
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.flush_counter import DeviceSums, TracedDevice

DISK = TracedDevice("sda", 8 << 20, receives_requests=True)


@pytest.mark.parametrize(
    ("rwbs", "flags"),
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
def test_letters_of_rwbs(rwbs: str, flags: int) -> None:
    assert request_flags(rwbs.encode().ljust(10, b"\0")) == flags


@given(st.binary(max_size=12))
def test_any_bytes_are_accepted_as_letters(rwbs: bytes) -> None:
    assert request_flags(rwbs) in range(8)


def test_flushes_are_counted_by_owner_and_timed() -> None:
    sums = DeviceSums(DISK)
    sums.add_bio(b"FWS", "own")
    sums.add_bio(b"FWFSM", "kernel_threads")
    sums.add_bio(b"WFS", "own")
    sums.add_bio(b"WS", "others")
    sums.requests.add_issued(100, 0, b"FF")
    sums.requests.add_issued(150, 0, b"FF")
    sums.requests.add_completed(300, 0, b"FF")
    sums.requests.add_issued(400, 88, b"WS")
    sums.requests.add_completed(450, 88, b"WS")
    sums.requests.add_completed(460, 88, b"WS")
    assert sums.as_dict(lost_events=0, requests_known=True) == {
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


def test_a_lost_event_makes_all_counts_unknown() -> None:
    sums = DeviceSums(DISK)
    sums.add_bio(b"FWS", "own")
    sums.requests.add_issued(1, 0, b"FF")
    sums.requests.add_completed(2, 0, b"FF")
    found = sums.as_dict(lost_events=3, requests_known=True)
    assert (found.pop("device"), found.pop("lost")) == ("sda", 3)
    assert set(found.values()) == {None}


def test_devices_that_pass_bios_on_have_no_requests() -> None:
    sums = DeviceSums(TracedDevice("dm-0", 253 << 20, receives_requests=False))
    assert sums.as_dict(lost_events=0, requests_known=True)["requests"] is None


def test_a_completion_without_a_request_is_ignored() -> None:
    sums = DeviceSums(DISK)
    sums.requests.add_completed(5, 0, b"FF")
    sums.requests.add_completed(5, 8, b"WS")
    assert sums.as_dict(lost_events=0, requests_known=True)["device_flush_ns"] is None


def test_a_requeued_request_is_timed_from_its_last_issue() -> None:
    requests = Requests()
    requests.add_requeued(50, 0, b"FF")  # before it was issued
    requests.add_requeued(50, 8, b"WFS")
    for _ in range(3):  # the driver's queue is full
        requests.add_issued(100, 0, b"FF")
        requests.add_requeued(101, 0, b"FF")
        requests.add_issued(100, 8, b"WFS")
        requests.add_requeued(101, 8, b"WFS")
    for at in (1000, 2000, 3000):
        requests.add_issued(at, 0, b"FF")
        requests.add_issued(at, 8, b"WFS")
        requests.add_completed(at + 40, 0, b"FF")
        requests.add_completed(at + 50, 8, b"WFS")
    assert requests.flushes.as_dict() == {"p50": 40, "p99": None, "max": 40}
    assert requests.writes.as_dict() == {"p50": 50, "p99": None, "max": 50}
    assert (requests.flushes_issued, requests.fua_issued) == (3, 3)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300))
def test_percentiles_are_exact_to_one_part_in_64(values: list[int]) -> None:
    durations = Durations()
    for value in values:
        durations.add(value)
    found = durations.as_dict()
    assert found is not None
    ordered = sorted(values)
    median = ordered[-(-len(ordered) // 2) - 1]
    assert found["p50"] is not None and found["p50"] <= median * 65 / 64 and median <= found["p50"] * 65 / 64
    assert found["max"] == ordered[-1]
    assert (found["p99"] is None) == (len(values) < 100)
    if len(set(values)) == 1:
        assert found["p50"] == found["max"]
