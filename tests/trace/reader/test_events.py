"""Decoding: the formats that kernels declare, recorded pages, and pages that no kernel would write."""

import struct
from operator import itemgetter

import pytest

from fstui.trace.reader import events
from fstui.trace.reader.events import parse_format, parse_page_layout
from fstui.trace.reader.tracefs import TracefsError
from tests.trace.reader import made
from tests.trace.reader.made import LAYOUT

FORK, OTHER = 7, 8
READERS = {FORK: struct.Struct("=4xi")}
OLDER = """name: block_bio_queue
ID: 1201
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
	field:char rwbs[8];	offset:28;	size:8;	signed:0;
	field:char comm[16];	offset:36;	size:16;	signed:0;

print fmt: "%d,%d %s %llu + %u [%s]", ((unsigned int) ((REC->dev) >> 20)), REC->rwbs, REC->sector, REC->comm
"""
"""Before Linux 6.2 rwbs had 8 bytes."""


def test_offsets_and_sizes_are_those_of_the_kernel() -> None:
    older, newer = parse_format("bio", OLDER), made.format_of("6.18", "block/block_bio_queue")
    assert (older.id, older.fields["comm"].offset) == (1201, 36)
    assert newer.fields["comm"].offset == 38
    data = bytes(range(64))
    for known, rwbs, comm in ((older, data[28:36], data[36:52]), (newer, data[28:38], data[38:54])):
        assert known.reader("rwbs", "comm").unpack_from(data) == (rwbs, comm)
        assert known.reader("comm").unpack_from(data) == (comm,)


def test_fields_at_other_offsets_are_read_by_their_format() -> None:
    shifted = OLDER.replace("offset:28;	size:8;", "offset:40;	size:12;").replace(
        "offset:36;	size:16;", "offset:52;	size:16;"
    )
    for text, before in ((OLDER, 20), (shifted, 32)):
        known = parse_format("bio", text)
        rwbs, comm = (known.fields[name] for name in ("rwbs", "comm"))
        extra = b"\xee" * before + b"FWS".ljust(rwbs.size, b"\0") + b"probe".ljust(comm.size, b"\0")
        page = made.page(made.event(known.id, 4711, extra=extra))
        ((_, number, fields),) = events.decode(page, LAYOUT, {known.id: known.reader("common_pid", "rwbs", "comm")})
        assert (number, fields[0]) == (1201, 4711)
        assert [text.rstrip(b"\0") for text in fields[1:]] == [b"FWS", b"probe"]


def test_text_stored_elsewhere_is_read_as_its_location() -> None:
    fork = made.format_of("6.18", "sched/sched_process_fork")
    assert not fork.fields["child_comm"].is_text
    assert fork.fields["child_pid"].signed


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param(OLDER, ("bytes",), id="no such field"),
        pytest.param(OLDER, ("comm", "rwbs"), id="wrong order"),
        pytest.param(OLDER.replace("size:4;	signed:0;", "size:3;	signed:0;"), ("dev",), id="not a number"),
        pytest.param(OLDER.replace("offset:8;", f"offset:{'9' * 40};"), ("dev",), id="offset too large"),
        pytest.param(OLDER.replace("size:4;", f"size:{'9' * 5000};"), ("dev",), id="size too large"),
        pytest.param("name: block_bio_queue\nID: 7\n", (), id="no fields"),
        pytest.param(OLDER.replace("ID: ", f"ID: {'9' * 5000}"), (), id="id too large"),
        pytest.param(OLDER.replace("ID:", "id"), (), id="no id"),
        pytest.param("ID: 1\nfield: ;\toffset:0;\tsize:4;", (), id="no name"),
    ],
)
def test_unreadable_formats_are_refused_with_the_reason(text: str, fields: tuple[str, ...]) -> None:
    with pytest.raises(TracefsError, match=r"event bio|a field of"):
        parse_format("bio", text).reader(*fields)


def test_pages_of_64_kib_and_of_a_32_bit_kernel() -> None:
    text = (made.RECORDED / "6.18" / "header_page").read_text()
    assert parse_page_layout(text).bytes == 4096
    assert parse_page_layout(text.replace("size:4080", "size:65520")).bytes == 65536
    small = text.replace("size:8;	signed:1", "size:4;	signed:1").replace(
        "offset:16;	size:4080", "offset:12;	size:4084"
    )
    assert (parse_page_layout(small).commit.size, parse_page_layout(small).data_offset) == (4, 12)
    with pytest.raises(TracefsError, match="page header"):
        parse_page_layout(OLDER)


def read(page: bytes) -> list[tuple[int, int]]:
    """Return the time and pid of each event."""
    return [(time_ns, pid) for time_ns, _, (pid,) in events.decode(page, LAYOUT, READERS)]


@pytest.mark.parametrize("kernel", made.KERNELS)
def test_recorded_pages_match_what_the_kernel_prints(kernel: str) -> None:
    bio = made.format_of(kernel, "block/block_bio_queue")
    reader = {bio.id: bio.reader("common_pid", "dev", "nr_sector", "rwbs", "comm")}
    seen = [
        (cpu, (time_ns + 500) // 1000, fields)
        for cpu, of_cpu in made.pages_of(kernel).items()
        for page in of_cpu
        for time_ns, _, fields in events.decode(page, made.layout_of(kernel), reader)
    ]
    shown = [
        (cpu, time_us, f"{pid} {dev >> 20},{dev & 0xFFFFF} {_text(rwbs)} + {sectors} [{_text(comm)}]")
        for cpu, time_us, (pid, dev, sectors, rwbs, comm) in sorted(seen, key=itemgetter(1))
    ]
    expected = [one for one in made.printed(kernel) if one.event == "block_bio_queue"]
    assert len(expected) > 10
    assert [one[:2] for one in shown] == [(one.cpu, one.time_us) for one in expected]
    for (_, _, decoded), printed in zip(shown, expected, strict=True):
        device, rwbs, _, plus, sectors, comm = printed.rest.split()
        assert decoded == f"{printed.pid} {device} {rwbs} {plus} {sectors} {comm}"


def test_times_add_up() -> None:
    page = made.page(made.event(FORK, 1, delta_ns=0), made.event(OTHER, 2), made.event(FORK, 3), time_ns=500)
    assert read(page) == [(500, 1), (520, 3)]


def test_a_time_extension_is_added() -> None:
    assert read(made.page(made.time_extend(1 << 30), made.event(FORK, 1), time_ns=7)) == [(7 + (1 << 30) + 10, 1)]


def test_an_absolute_time_replaces_all_but_the_highest_bits() -> None:
    high = 3 << 59
    page = made.page(made.absolute(high + 5_000_000), made.event(FORK, 1), time_ns=high + 4)
    assert read(page) == [(high + 5_000_010, 1)]


def test_a_discarded_event_is_skipped() -> None:
    assert read(made.page(made.discarded(40), made.event(FORK, 1), time_ns=0)) == [(11, 1)]


def test_a_long_event_is_read() -> None:
    page = made.page(made.long_event(FORK, 4, b"x" * 200), made.event(FORK, 5), time_ns=0)
    assert read(page) == [(10, 4), (20, 5)]


def test_nothing_is_read_after_the_end_marker() -> None:
    assert read(made.page(made.event(FORK, 1, delta_ns=0), made.END, made.event(FORK, 2), time_ns=9)) == [(9, 1)]


def test_flags_for_lost_events_are_not_part_of_the_length() -> None:
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
def test_inconsistent_pages_are_refused(page: bytes) -> None:
    with pytest.raises(events.GarbledPage):
        read(page)


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode()
