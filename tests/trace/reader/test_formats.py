"""Formats: where this kernel's events have their fields."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fstui.trace.reader import pages
from fstui.trace.reader.formats import parse, parse_page_layout
from fstui.trace.reader.tracefs import Untraceable
from tests.trace.reader import made

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
    older, newer = parse("bio", OLDER), made.format_of("6.18", "block/block_bio_queue")
    assert (older.id, older.fields["comm"].at) == (1201, 36)
    assert newer.fields["comm"].at == 38
    data = bytes(range(64))
    for known, rwbs, comm in ((older, data[28:36], data[36:52]), (newer, data[28:38], data[38:54])):
        assert known.reader("rwbs", "comm").unpack_from(data) == (rwbs, comm)
        assert known.reader("comm").unpack_from(data) == (comm,)


def test_an_event_whose_fields_stand_elsewhere_is_read_by_its_format() -> None:
    shifted = OLDER.replace("offset:28;	size:8;", "offset:40;	size:12;").replace(
        "offset:36;	size:16;", "offset:52;	size:16;"
    )
    for text, before in ((OLDER, 20), (shifted, 32)):
        known = parse("bio", text)
        rwbs, comm = (known.fields[name] for name in ("rwbs", "comm"))
        extra = b"\xee" * before + b"FWS".ljust(rwbs.size, b"\0") + b"probe".ljust(comm.size, b"\0")
        page = made.page(made.event(known.id, 4711, extra=extra))
        ((_, number, fields),) = pages.events(page, made.LAYOUT, {known.id: known.reader("common_pid", "rwbs", "comm")})
        assert (number, fields[0]) == (1201, 4711)
        assert [text.rstrip(b"\0") for text in fields[1:]] == [b"FWS", b"probe"]


def test_a_text_that_stands_elsewhere_is_read_as_its_place() -> None:
    fork = made.format_of("6.18", "sched/sched_process_fork")
    assert not fork.fields["child_comm"].text
    assert fork.fields["child_pid"].signed


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param(OLDER, ("bytes",), id="no such field"),
        pytest.param(OLDER, ("comm", "rwbs"), id="not in their order"),
        pytest.param(OLDER.replace("size:4;	signed:0;", "size:3;	signed:0;"), ("dev",), id="no number"),
        pytest.param(OLDER.replace("offset:8;", f"offset:{'9' * 40};"), ("dev",), id="far away"),
        pytest.param(OLDER.replace("size:4;", f"size:{'9' * 5000};"), ("dev",), id="larger than a number"),
        pytest.param("name: block_bio_queue\nID: 7\n", (), id="no fields"),
        pytest.param(OLDER.replace("ID: ", f"ID: {'9' * 5000}"), (), id="an id larger than a number"),
        pytest.param(OLDER.replace("ID:", "id"), (), id="no number of its own"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, fields: tuple[str, ...]) -> None:
    with pytest.raises(Untraceable, match=r"event bio|a field of"):
        parse("bio", text).reader(*fields)


def test_pages_of_64_kib_and_of_a_32_bit_kernel() -> None:
    text = (made.RECORDED / "6.18" / "header_page").read_text()
    assert parse_page_layout(text).bytes == 4096
    assert parse_page_layout(text.replace("size:4080", "size:65520")).bytes == 65536
    small = text.replace("size:8;	signed:1", "size:4;	signed:1").replace(
        "offset:16;	size:4080", "offset:12;	size:4084"
    )
    assert (parse_page_layout(small).commit.size, parse_page_layout(small).data_at) == (4, 12)


@example("ID: 1\nfield: ;\toffset:0;\tsize:4;")
@given(st.text() | st.text(alphabet="field:offstz ;\n0123456789-char[]ID", max_size=300))
def test_any_text_is_a_format_or_refused(text: str) -> None:
    for parsed in (lambda: parse("any", text).reader("dev"), lambda: parse_page_layout(text)):
        try:
            parsed()
        except Untraceable as problem:
            assert str(problem)
