"""Which time a user means, and what the answer says about the recording itself."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.model.errors import Refused
from fstui.model.recording import Header, Record, WhatHappened
from fstui.runs import recordings
from fstui.state import recording, ring
from fstui.state.recording import Recording
from tests.factories import recorded
from tests.factories.recorded import (
    BEGIN,
    ETCD,
    LENGTH_S,
    RSYNC,
    at,
    between,
    calm,
    disk,
    header,
    on_disk,
    second,
    stalled,
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The clocks go back at 03:00 on 25 October 2026, and forward at 02:00 on 29 March."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def utc(*fields: int) -> float:
    return datetime(*fields, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


NOW = utc(2026, 11, 26, 9, 0)


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("03:12", utc(2026, 11, 26, 2, 7), utc(2026, 11, 26, 2, 17)),
        ("3:12:00", utc(2026, 11, 26, 2, 7), utc(2026, 11, 26, 2, 17)),
        ("23:00", utc(2026, 11, 25, 21, 55), utc(2026, 11, 25, 22, 5)),
        ("yesterday 03:00..03:30", utc(2026, 11, 25, 2, 0), utc(2026, 11, 25, 2, 30)),
        ("03:00..03:30", utc(2026, 11, 26, 2, 0), utc(2026, 11, 26, 2, 30)),
        ("23:50..00:10", utc(2026, 11, 25, 22, 50), utc(2026, 11, 25, 23, 10)),
        ("09:30..now", utc(2026, 11, 26, 8, 30), NOW),
        ("yesterday", utc(2026, 11, 24, 23, 0), utc(2026, 11, 25, 23, 0)),
        ("2026-11-25", utc(2026, 11, 24, 23, 0), utc(2026, 11, 25, 23, 0)),
        ("2026-11-25T03:12:00Z", utc(2026, 11, 25, 3, 7), utc(2026, 11, 25, 3, 17)),
        ("2026-11-25 03:12..2026-11-25 04:00", utc(2026, 11, 25, 2, 12), utc(2026, 11, 25, 3, 0)),
        ("last 2h", NOW - 7200, NOW),
        ("08:59", utc(2026, 11, 26, 7, 54), utc(2026, 11, 26, 8, 4)),
        ("09:59", utc(2026, 11, 26, 8, 54), NOW),
        ("today", utc(2026, 11, 25, 23, 0), NOW),
        ("last 30m", NOW - 1800, NOW),
    ],
)
def test_a_time_means_what_a_person_means(words: str, start: float, end: float) -> None:
    assert recordings.period_of(words.split(" "), NOW) == (start, end)


def test_without_words_there_is_no_period() -> None:
    assert recordings.period_of([], NOW) is None


@pytest.mark.parametrize(
    "words", ["noon", "25:00", "last", "last week-end", "03:12..x", "..", "03:00..", "last 5 parsecs", "[red]", "1e9"]
)
def test_anything_else_is_refused_with_examples(words: str) -> None:
    with pytest.raises(Refused, match=r"is not a time\. Examples"):
        recordings.period_of([words], NOW)


@pytest.mark.parametrize(
    "words", ["2026-12-24 03:12", "2026-11-25 04:00..2026-11-25 03:00", "03:12..03:11", "03:12..03:12"]
)
def test_a_period_that_cannot_be_is_refused(words: str) -> None:
    with pytest.raises(Refused, match=r"in the future|ends before it begins|is empty"):
        recordings.period_of([words], NOW)


def answer(records: Sequence[Record], period: tuple[float, float] | None = None) -> WhatHappened:
    return recordings.what_happened(Recording(Path("/x"), list(records)), period)


def test_the_answer_begins_with_the_time_and_the_program() -> None:
    slow = between(596, 608, disk(900.0, writes=20, written_kib=310_000))
    found = answer(calm(slow, at((600,), stalled(), processes=(RSYNC,))))
    assert found.sentence.startswith("2025-11-26 14:43:14–14:43:18: etcd (pid 812) waited 4.0 s in fdatasync of ")
    assert (found.host, found.gaps, found.notes) == ("db1", (), ())


def test_a_calm_time_has_its_longest_wait() -> None:
    found = answer(calm(), (BEGIN + 300, BEGIN + 600))
    assert found.sentence == (
        "No unusual wait for a sync in 2025-11-26 14:38:20–14:43:20: the longest wait for a sync was 12.0 ms "
        "(2025-11-26 14:38:20–14:38:30, etcd (pid 812), /var/lib/etcd/wal/0.wal)."
    )
    assert found.incidents == ()


def test_a_wait_outside_a_calm_time_is_not_its_longest() -> None:
    records = calm(windows=at((600,), stalled(ms=2000)))  # the sync took from 596 s to 598 s
    before = answer(records, (BEGIN + 560, BEGIN + 593))
    assert "was 12.0 ms (2025-11-26 14:42:40–14:42:50, etcd (pid 812), /var/lib/etcd/wal/0.wal)" in before.sentence
    assert [bucket.longest_ms for bucket in before.buckets] == [12, 12, 12, None]
    only_its_window = answer(records, (BEGIN + 590, BEGIN + 593))
    assert only_its_window.sentence.endswith(": no program waited long for a sync.")


def test_the_longest_wait_has_its_time_or_that_of_its_window() -> None:
    found = answer(calm(), (BEGIN + 595, BEGIN + 598))
    assert "was 12.0 ms (2025-11-26 14:43:10–14:43:20, etcd (pid 812)," in found.sentence
    found = answer(calm(windows=at((600,), stalled(ms=200, p50_us=2000))), (BEGIN + 590, BEGIN + 610))
    assert "was 200 ms (2025-11-26 14:43:17–14:43:18, etcd (pid 812)," in found.sentence


def test_only_the_recorded_part_of_a_period_is_called_calm() -> None:
    found = answer(calm(), (BEGIN - 300, BEGIN + 300))
    assert found.sentence.startswith(
        "No unusual wait for a sync in the 5 m 0 s recorded (2025-11-26 14:33:20–14:38:20)"
    )
    off_the_grid = answer(calm(), (BEGIN - 296, BEGIN + 300))
    assert off_the_grid.buckets[0].start == BEGIN, "a row begins when the recording does"


def test_the_sentence_and_the_table_have_the_same_range() -> None:
    records = calm(windows=at((600,), stalled(ms=200, p50_us=2000)))  # the sync took until 598 s
    source = Recording(Path("made-up"), records, (BEGIN + 599, BEGIN + LENGTH_S))
    found = recordings.what_happened(source, (BEGIN + 500, BEGIN + 603))
    assert "the longest wait for a sync was 12.0 ms" in found.sentence
    assert max(bucket.longest_ms or 0 for bucket in found.buckets) == 12


def test_without_a_trace_only_devices_are_called_calm() -> None:
    found = answer([header(), *(second(at_s) for at_s in range(1, LENGTH_S))])
    assert found.sentence.startswith("No device became slow in ")
    assert found.sentence.endswith("; the recording does not show which programs waited.")


def test_a_calm_time_on_a_busy_host_says_so() -> None:
    found = answer(calm(between(1, LENGTH_S, disk(), pressure_ms=(900, 20, 10, 0, 0))))
    assert found.sentence.endswith("Some process waited for a CPU for 90\xa0% of the time.")


def test_a_time_that_was_not_recorded_is_not_called_calm() -> None:
    found = answer(calm(), (BEGIN + 5000, BEGIN + 5600))
    assert found.sentence.startswith("Nothing was recorded in")
    assert found.sentence.endswith("For what is slow now: 'fstui watch'.")


def test_without_root_the_answer_says_what_is_missing() -> None:
    found = answer(calm(untraced="only root may trace the kernel"))
    assert "the recording does not show which programs waited" in found.sentence
    assert found.notes == ("The recording does not show which programs waited: only root may trace the kernel.",)


def cut(first_s: int, last_s: int) -> list[Record]:
    return [one for one in calm() if not first_s < one.at - BEGIN < last_s]


def reasons(records: Sequence[Record]) -> list[str]:
    return [gap.reason for gap in answer(records).gaps]


def test_a_pause_of_the_recorder_is_a_gap() -> None:
    records = cut(300, 400)
    assert reasons(records) == ["the host was suspended, or records are missing"]
    restart = next(number for number, one in enumerate(records) if one.at >= BEGIN + 400)
    again = [*records[:restart], replace(header(BEGIN + 399), boot_s=5399.0), *records[restart:]]
    assert reasons(again) == ["the recorder did not run"]
    booted = [*records[:restart], replace(header(BEGIN + 399), boot="b2", boot_s=20.0), *records[restart:]]
    assert reasons(booted)[0] == "the host was restarted"


def test_dropped_records_are_reported_with_the_reason() -> None:
    records = cut(300, 400)
    number = next(number for number, one in enumerate(records) if one.at >= BEGIN + 400)
    records[number] = replace(records[number], dropped=99, trouble="No space left on device")
    assert reasons(records) == ["99 records could not be written: No space left on device"]


def test_a_clock_that_was_set_is_reported_and_is_no_gap() -> None:
    records = [replace(one, at=one.at + 3600) if one.at > BEGIN + 450 else one for one in calm()]
    found = answer(records)
    assert any("The clock was set forward by 1 h 0 m" in note for note in found.notes)
    back = [replace(one, at=one.at - 3600) if one.at > BEGIN + 450 else one for one in calm()]
    assert any("The clock was set back by 1 h 0 m" in note for note in answer(back, (BEGIN - 7200, BEGIN + 900)).notes)


def test_a_starved_recorder_makes_no_gap() -> None:
    records: list[Record] = [header(), second(1), replace(second(9), elapsed_s=8.0), second(10)]
    assert answer(records).gaps == ()


def test_a_partly_traced_recording_says_so() -> None:
    notes = answer(calm(windows=at(range(10, 900, 10), ETCD, traced_s=2.0, lost=3))).notes
    assert notes[0].startswith("Some programs were traced for only 20\xa0% of the time")
    assert "lost 267 events" in notes[1]


async def test_a_moment_is_the_sum_of_its_records() -> None:
    syncs = at((310, 320), replace(ETCD, syncs=7, waited_ms=900, longest_ms=300, in_flight_ms=50))
    on_disk(calm(between(301, 320, disk(3.0, writes=4, in_flight=2)), syncs))
    second_, window = await recordings.read_moment(BEGIN + 300, BEGIN + 320)
    assert second_ is not None and window is not None
    (device,) = second_.devices
    assert (second_.elapsed_s, device.writes, device.ms_per_write, device.in_flight) == (20.0, 80, 3.0, 2)
    assert second_.pressure_ms == (1000, 400, 200, 0, 0)
    (row,) = window.waits
    assert (window.elapsed_s, window.traced_s) == (20.0, 20.0)
    assert (row.syncs, row.waited_ms, row.longest_ms, row.in_flight_ms, row.p50_us) == (14, 1800, 300, 50, 0)
    assert await recordings.read_moment(BEGIN - 100, BEGIN - 90) == (None, None)


async def test_a_gap_is_not_part_of_the_time_of_a_moment() -> None:
    records = calm(between(301, 320, disk(3.0, writes=4)))
    on_disk([record for record in records if not 305 < record.at - BEGIN <= 315])
    second_, _ = await recordings.read_moment(BEGIN + 300, BEGIN + 320)
    assert second_ is not None and (second_.elapsed_s, second_.devices[0].writes) == (10.0, 40)


def test_a_name_that_is_not_utf_8_is_read() -> None:
    records: list[Record] = [header(), recorded.window(600, stalled(program="\udcff"))]
    on_disk(records)
    assert recording.read().records == records


async def test_a_time_outside_the_recording_says_what_is_recorded() -> None:
    on_disk(calm())
    for at_s in (-100_000, 100_000):
        found = await recordings.read_what_happened((BEGIN + at_s, BEGIN + at_s + 60))
        assert found.sentence.startswith("Nothing was recorded in")
        assert found.recorded == (BEGIN, BEGIN + LENGTH_S - 1)


@pytest.mark.parametrize("period", [None, (BEGIN, BEGIN + 60)])
async def test_without_a_recording_the_question_is_refused(period: tuple[float, float] | None) -> None:
    with pytest.raises(Refused, match=r"Nothing is recorded.* For what is slow now: 'fstui watch'"):
        await recordings.read_what_happened(period)


async def test_an_overview_has_a_row_for_each_cell() -> None:
    on_disk(calm())
    rows = await recordings.read_overview(BEGIN + 300, BEGIN + 400, 10)
    assert [row.start - BEGIN for row in rows] == [300 + 10 * at for at in range(10)]


def test_only_the_files_of_a_period_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk(calm())
    whole = recording.read().records
    assert whole == calm()
    read: list[Path] = []
    lines = ring.lines

    def noted(path: Path) -> Iterator[bytes]:
        read.append(path)
        return lines(path)

    monkeypatch.setattr(ring, "lines", noted)
    found = recording.read(BEGIN + 300, BEGIN + 310)
    assert [one for one in found.records if not isinstance(one, Header)] == [
        one for one in whole if BEGIN + 300 <= one.at <= BEGIN + 310
    ]
    assert found.extent == (BEGIN, BEGIN + LENGTH_S - 1)
    assert len(read) < len(ring.files(recording.directory())) / 2


@pytest.mark.parametrize("text", ["1", "0M", "900K", "lots", "-5M", "9999999T", "1e3M"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="from 1M to 1T"):
        recordings.parse_size(text)
    assert recordings.parse_size("24M") == ring.MAX_BYTES


@pytest.mark.parametrize(
    ("argv0", "words"),
    [
        ("/opt/a b/fstui", 'ExecStart="/opt/a b/fstui" record'),
        ("/opt/100%/$x/fstui", "ExecStart=/opt/100%%/$$x/fstui record"),
    ],
)
def test_the_unit_starts_this_program(monkeypatch: pytest.MonkeyPatch, argv0: str, words: str) -> None:
    monkeypatch.setattr("sys.argv", [argv0])
    assert words in recordings.systemd_unit().splitlines()


def test_the_unit_prefers_the_name_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed, link = tmp_path / "venv" / "fstui", tmp_path / "bin" / "fstui"
    for path in (installed, link):
        path.parent.mkdir()
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    link.symlink_to(installed)
    monkeypatch.setenv("PATH", str(link.parent))
    monkeypatch.setattr("sys.argv", [str(installed)])
    assert f"ExecStart={link} record" in recordings.systemd_unit().splitlines()
