"""Pages of a trace buffer: recorded pages, and functions that make other pages."""

import re
import struct
from pathlib import Path
from typing import NamedTuple

from fstui.trace.reader.events import EventFormat, PageLayout, parse_format, parse_page_layout

RECORDED = Path(__file__).parent / "recorded"
KERNELS = sorted(place.name for place in RECORDED.iterdir())
LAYOUT = parse_page_layout((RECORDED / "6.18" / "header_page").read_text())
PAGE = 4096
PRINTED = re.compile(r"-(?P<pid>\d+) +\[(?P<cpu>\d+)\] \S+ +(?P<s>\d+)\.(?P<us>\d{6}): (?P<event>\w+): (?P<rest>.*)")


class Printed(NamedTuple):
    """An event as the kernel printed it."""

    cpu: int
    event: str
    time_us: int
    pid: int
    rest: str


def printed(kernel: str) -> list[Printed]:
    """Return the recorded pages as the kernel printed them."""
    found = map(PRINTED.search, (RECORDED / kernel / "trace.txt").read_text().splitlines())
    return [
        Printed(int(m["cpu"]), m["event"], int(m["s"] + m["us"]), int(m["pid"]), m["rest"])
        for m in found
        if m is not None
    ]


def layout_of(kernel: str) -> PageLayout:
    return parse_page_layout((RECORDED / kernel / "header_page").read_text())


def format_of(kernel: str, event: str) -> EventFormat:
    return parse_format(event, (RECORDED / kernel / event.replace("/", ".")).read_text())


def pages_of(kernel: str) -> dict[int, list[bytes]]:
    """Return the recorded pages of each CPU."""
    found = {}
    for file in (RECORDED / kernel).glob("cpu*"):
        data = file.read_bytes()
        found[int(file.name[3:])] = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    return found


def page(*events: bytes, time_ns: int = 1_000_000, flags: int = 0) -> bytes:
    """Make a page of these events."""
    data = b"".join(events)
    return (struct.pack("=QQ", time_ns, len(data) | flags) + data).ljust(PAGE, b"\0")


def event(number: int, pid: int, *, delta_ns: int = 10, extra: bytes = b"") -> bytes:
    """Make an event with the common fields."""
    data = struct.pack("=HBBi", number, 0, 0, pid) + extra
    data += b"\0" * (-len(data) % 4)
    return struct.pack("=I", delta_ns << 5 | len(data) // 4) + data


def long_event(number: int, pid: int, extra: bytes, *, delta_ns: int = 10) -> bytes:
    """Make an event whose length is in a separate word."""
    data = struct.pack("=HBBi", number, 0, 0, pid) + extra
    return struct.pack("=II", delta_ns << 5, len(data) + 4) + data


def discarded(size: int, *, delta_ns: int = 1) -> bytes:
    """Make an event that the kernel discarded."""
    return struct.pack("=II", delta_ns << 5 | 29, size) + b"\xff" * (size - 4)


def time_extend(delta_ns: int) -> bytes:
    """Make a time extension, for a delta that does not fit into an event."""
    return struct.pack("=II", (delta_ns & (1 << 27) - 1) << 5 | 30, delta_ns >> 27)


def absolute(time_ns: int) -> bytes:
    """Make an absolute time stamp, which lacks the five highest bits."""
    low = time_ns & (1 << 59) - 1
    return struct.pack("=II", (low & (1 << 27) - 1) << 5 | 31, low >> 27)


END = struct.pack("=I", 29)
"""The marker after which a page is empty."""
