"""The words of ``fstui watch --at-risk``."""

import pytest
from msgspec.structs import replace

from fstui.model.at_risk import AtRisk, AtRiskReport
from fstui.model.host import Host
from fstui.report.at_risk import at_risk_report, summary_line, total
from fstui.trace.at_risk import limits, sentences
from tests.factories.at_risk import SECOND, STATE, UNSAFE, program
from tests.printing import as_text, csv_rows


def report(state: AtRisk = STATE) -> AtRiskReport:
    said, missing = sentences(state), tuple(limits(state, None))
    return AtRiskReport(started_at="", version="", host=Host(), last=state, sentences=said, limits=missing)


def text(state: AtRisk = STATE) -> str:
    return as_text(at_risk_report(report(state)), width=200)


def test_the_text_ends_with_a_sentence_for_each_program() -> None:
    assert " ".join(text().split()).endswith(
        "nats-server (812): up to 40.0 MiB not durable, in 2 files; oldest 1 m 58 s; it syncs every 2 m 0 s. "
        "cp (950): up to 8.0 MiB not durable, in 1 file; oldest ≥ 4.2 s; 2 new, renamed or linked names in "
        "directories that are not synced, oldest 3.0 s; no sync in 5 m 0 s. "
        "postgres (700): no counted file is at risk; it syncs 80.0 times per second; O_DIRECT "
        "writes to 2 files are not counted: at most 3.0 MiB in the disk's cache is not flushed."
    )


@pytest.mark.parametrize(
    "words",
    [
        "/backup/[red]dump[/] (closed)",
        "nats-server (812) shared with nats (900)",
        "/var/lib/nats/meta (O_DIRECT)",
        "sda: at most 2.0 MiB written since its last flush",
        "nvme0n1: no volatile write cache, according to the kernel",
        "Not counted: 2 descriptors open for writing on nfs4",
        "Another 12.0 MiB is not written yet",
    ],
)
def test_the_text_names_files_disks_and_limits(words: str) -> None:
    assert words in text()


def test_csv_contains_values() -> None:
    first = csv_rows(as_text(at_risk_report(report()), "csv"))[0]
    assert (first["programs"], first["dirty_bytes"]) == ("nats-server (812)", "40894464")
    assert first["sync_every_s"] == "120.0"


def test_each_second_is_one_line() -> None:
    assert summary_line(STATE) == "nats-server (812) 40.0 MiB in 2 files, oldest 1 m 58 s · 1 other program"
    assert summary_line(AtRisk()) == "nothing at risk"


def test_a_filesystem_without_barriers_is_never_called_safe() -> None:
    state = AtRisk(elapsed_s=9.0, programs=(program("bank", 5, syncs=180, sync_every_s=0.05),))
    said = sentences(state, counts_all=False)
    unsafe_report = replace(report(state), sentences=said, unsafe=(UNSAFE,))
    words = " ".join(as_text(at_risk_report(unsafe_report)).split())
    assert "watched for 9.0 s ✗ NOT DURABLE: even synced data on /srv/queue is at risk. ext4 sends no" in words
    assert "bank (5): nothing unsynced; it syncs 20.0 times per second." in words
    assert "nothing at risk" not in words
    empty = replace(unsafe_report, last=AtRisk(), sentences=())
    assert "No program was seen" not in as_text(at_risk_report(empty))
    assert summary_line(AtRisk(), (UNSAFE,)) == (
        "nothing unsynced · ✗ NOT DURABLE: even synced data on /srv/queue is at risk."
    )
    assert total(AtRisk(), counts_all=False) == ""
    assert total(STATE, counts_all=False).startswith("Not synced: up to 48.0 MiB")
    assert sentences(STATE, counts_all=False)[1].startswith("cp (950): up to 8.0 MiB unsynced, in 1 file;")
    assert next(limits(STATE, None, (UNSAFE,))) == "Not counted: synced bytes on /srv/queue. They may be lost, too."


def test_without_a_trace_the_limits_say_what_is_missing() -> None:
    state = replace(STATE, programs=(program("redis-server", 1, syncs=None, dirty_bytes=1, files=1, oldest_s=1.0),))
    assert sentences(state) == ("redis-server (1): up to 1 B not durable, in 1 file; oldest 1.0 s.",)
    assert "only root may trace the kernel" in next(limits(state, "only root may trace the kernel"))


def test_the_sentence_of_a_database_names_its_log() -> None:
    database = program(
        "postgres", 7, dirty_bytes=26 << 20, files=9, oldest_s=6.0, syncs=1800, log="/srv/pg/pg_wal/0001", log_bytes=0
    )
    (sentence,) = sentences(replace(STATE, programs=(database,)))
    assert (
        "oldest 6.0 s; none of its unsynced bytes are in …/pg_wal/0001, the file that it syncs most often; it"
        in sentence
    )
    (sentence,) = sentences(replace(STATE, programs=(replace(database, log_bytes=1 << 20),)))
    assert "; 1.0 MiB of its unsynced bytes are in …/pg_wal/0001, the file that it syncs most often" in sentence


def test_programs_with_the_same_figures_share_a_sentence() -> None:
    log = {"dirty_bytes": 4096, "files": 1, "shared_files": 1, "oldest_s": 2.0}
    programs = [program(name, pid, **log) for pid, name in enumerate(("bash", "timeout", "tail", "cat", "tee"), 1)]
    cp = program("cp", 9, dirty_bytes=9, files=1, oldest_s=2.0)
    assert sentences(replace(STATE, programs=(*programs, cp))) == (
        "bash (1), timeout (2), tail (3), cat (4), 1 more: up to 4 KiB not durable, in 1 shared file; "
        "oldest 2.0 s; no sync in 5 m 0 s.",
        "cp (9): up to 9 B not durable, in 1 file; oldest 2.0 s; no sync in 5 m 0 s.",
    )


def test_an_old_kernel_shows_syncs_alone() -> None:
    state = AtRisk(unsupported="this kernel has no cachestat, which is in Linux 6.5 and later")
    (limit,) = limits(state, None)
    assert limit.endswith("Only syncs are.")


def test_names_without_a_sync_have_no_limit_sentence() -> None:
    assert not any("New names" in limit for limit in SECOND.limits)


def test_the_total_adds_up_what_is_listed() -> None:
    assert total(STATE) == ("At risk: up to 48.0 MiB in 3 listed files, oldest 1 m 58 s; 2 new names.")
    assert total(replace(STATE, files=STATE.files[3:], names=())) == "No counted file or directory entry is at risk."
    unsupported = replace(STATE, files=(), unsupported="the kernel is too old")
    assert total(unsupported) == "At risk: 2 new names."
    assert total(replace(unsupported, names=())) == ""
