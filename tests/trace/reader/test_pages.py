"""The ring buffer's pages: those of a kernel as that kernel prints them, and those that no kernel would write."""

import struct
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.trace.reader import pages
from tests.trace.reader import made
from tests.trace.reader.made import LAYOUT

FORK, OTHER = 7, 8
READERS = {FORK: struct.Struct("=4xi")}


def read(page: bytes) -> list[tuple[int, int]]:
    """Time and pid of each event."""
    return [(time_ns, pid) for time_ns, _, (pid,) in pages.events(page, LAYOUT, READERS)]


@pytest.mark.parametrize("kernel", made.KERNELS)
def test_recorded_pages_say_what_the_kernel_prints(kernel: str) -> None:
    bio = made.format_of(kernel, "block/block_bio_queue")
    reader = {bio.id: bio.reader("common_pid", "dev", "nr_sector", "rwbs", "comm")}
    seen = [
        (cpu, (time_ns + 500) // 1000, fields)
        for cpu, of_cpu in made.pages_of(kernel).items()
        for page in of_cpu
        for time_ns, _, fields in pages.events(page, made.layout_of(kernel), reader)
    ]
    shown = [
        (cpu, time_us, f"{pid} {dev >> 20},{dev & 0xFFFFF} {_text(rwbs)} + {sectors} [{_text(comm)}]")
        for cpu, time_us, (pid, dev, sectors, rwbs, comm) in sorted(seen, key=itemgetter(1))
    ]
    expected = [one for one in made.printed(kernel) if one.event == "block_bio_queue"]
    assert len(expected) > 10
    assert [one[:2] for one in shown] == [(one.cpu, one.time_us) for one in expected]
    for (_, _, ours), theirs in zip(shown, expected, strict=True):
        device, rwbs, _, plus, sectors, comm = theirs.rest.split()
        assert ours == f"{theirs.pid} {device} {rwbs} {plus} {sectors} {comm}"


def test_times_add_up() -> None:
    page = made.page(made.event(FORK, 1, delta_ns=0), made.event(OTHER, 2), made.event(FORK, 3), time_ns=500)
    assert read(page) == [(500, 1), (520, 3)]


def test_a_time_extension_is_added() -> None:
    assert read(made.page(made.time_extend(1 << 30), made.event(FORK, 1), time_ns=7)) == [(7 + (1 << 30) + 10, 1)]


def test_an_absolute_time_replaces_the_time_but_its_highest_bits() -> None:
    high = 3 << 59
    page = made.page(made.absolute(high + 5_000_000), made.event(FORK, 1), time_ns=high + 4)
    assert read(page) == [(high + 5_000_010, 1)]


def test_a_discarded_event_is_passed_over() -> None:
    assert read(made.page(made.discarded(40), made.event(FORK, 1), time_ns=0)) == [(11, 1)]


def test_a_long_event_is_read() -> None:
    page = made.page(made.long_event(FORK, 4, b"x" * 200), made.event(FORK, 5), time_ns=0)
    assert read(page) == [(10, 4), (20, 5)]


def test_nothing_is_read_behind_the_end() -> None:
    assert read(made.page(made.event(FORK, 1, delta_ns=0), made.END, made.event(FORK, 2), time_ns=9)) == [(9, 1)]


def test_flags_that_say_that_events_were_lost_are_no_length() -> None:
    assert len(read(made.page(made.event(FORK, 1), flags=0xC000_0000))) == 1


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(made.page(made.event(FORK, 1))[:20], id="cut off"),
        pytest.param(struct.pack("=QQ", 0, 8000).ljust(4096, b"\0"), id="longer than a page"),
        pytest.param(made.page(struct.pack("=II", 0, 0)), id="an event of no length"),
        pytest.param(made.page(struct.pack("=II", 0, 400)), id="an event longer than the page"),
        pytest.param(made.page(struct.pack("=IHH", 1, FORK, 0)), id="an event shorter than its format"),
        pytest.param(made.page(struct.pack("=I", 30)), id="half a time"),
    ],
)
def test_a_page_that_contradicts_itself_is_refused(page: bytes) -> None:
    with pytest.raises(pages.Garbled):
        read(page)


@given(st.binary(max_size=5000))
def test_any_bytes_are_events_or_refused(data: bytes) -> None:
    check(data)


@given(st.data())
def test_a_damaged_page_gives_events_or_is_refused(data: st.DataObject) -> None:
    page = bytearray(data.draw(st.sampled_from(made.pages_of("6.18")[0])))
    for _ in range(data.draw(st.integers(1, 8))):
        page[data.draw(st.integers(0, len(page) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(page))


def check(page: bytes) -> None:
    try:
        found = read(page)
    except pages.Garbled:
        return
    assert len(found) <= len(page) // 4


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode()
