"""Operations that failed or did not return."""

import errno
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.steps import Failure, PendingOperation, Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import counted, latency, step


def failed(call: str, number: int, **settings: object) -> Step:
    error = Failure(call=call, errno=number, message=errno.errorcode[number])
    return step(status="failed", changes={"error": error}, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "msync"])
def test_io_error_on_a_sync_is_not_durable(call: str) -> None:
    judgement = verdict(None, failed(call, errno.EIO))
    found = finding(judgement, "sync-error")
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
    assert judgement.verdict == "not-durable"
    assert f"{call} failed with EIO" in judgement.sentence
    assert "the data is gone" in judgement.sentence


def test_io_error_on_a_synced_write_is_not_durable() -> None:
    synced = failed("pwrite", errno.EIO, sync="none", open_flags=("direct", "dsync"))
    assert verdict(None, synced).verdict == "not-durable"


def test_io_error_on_a_plain_write_is_a_note() -> None:
    found = finding(verdict(None, failed("pwrite", errno.EIO, sync="none")), "sync-error")
    assert (found.verdict, found.scope) == (None, "step")


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "msync"])
def test_refused_sync_gives_cannot_tell(call: str) -> None:
    assert verdict(None, step()).verdict == "consistent"
    judgement = verdict(None, step(), failed(call, errno.EPERM, name="refused"))
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "high")
    assert f"{call} failed with EPERM" in judgement.sentence


@pytest.mark.parametrize(
    ("number", "cause"), [(errno.ENOSPC, "The disk was full"), (errno.EDQUOT, "A quota was reached")]
)
def test_full_disk_is_a_note(number: int, cause: str) -> None:
    found = finding(verdict(None, failed("fdatasync", number)), "sync-error")
    assert found.verdict is None
    assert f"{cause}, so accepted writes are lost" in found.sentence
    assert "nothing was acknowledged as durable" in found.sentence
    written = finding(verdict(None, failed("pwrite", number)), "sync-error")
    assert written.verdict is None and "accepted" not in written.sentence
    assert f"{cause}. " in written.sentence


@pytest.mark.parametrize(("call", "number"), [("open", errno.EINVAL), ("commit", errno.EIO), ("mmap", errno.ENODEV)])
def test_error_of_another_call_has_no_finding(call: str, number: int) -> None:
    """SQLite also reports EIO for a lock or for memory. ENODEV of mmap: the filesystem has no mappings."""
    assert rules(verdict(None, failed(call, number))) == set()


def test_io_error_without_a_known_cause_is_a_failed_step() -> None:
    judgement = verdict(None, step(), failed("commit", errno.EIO, name="next"))
    assert judgement.sentence.startswith("1 of 2 steps failed, and only the others are judged. ")


@pytest.mark.parametrize(("socket", "rule"), [("", "sync-error"), ("/run/mysql.sock", "steps-failed")])
def test_io_error_of_a_server_counts_if_it_writes_to_the_target(socket: str, rule: str) -> None:
    """An existing server may store its data elsewhere."""
    error = Failure(call="sysbench", errno=errno.EIO, message="Can't sync file './binlog.000001' to disk (Errcode: 5)")
    settings = Sysbench(server="mariadb", workload="oltp_read_write", socket=socket)
    database = replace(step("oltp", status="failed", changes={"error": error}), settings=settings)
    judgement = verdict(None, step(), database)
    assert rules(judgement) & {"sync-error", "steps-failed"} == {rule}
    assert judgement.verdict == ("consistent" if socket else "cannot-tell")


@pytest.mark.parametrize("call", ["chdir", "open", "pwrite"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EUCLEAN, errno.EROFS, errno.ENOTCONN, errno.ENODEV])
def test_filesystem_that_stops_gives_cannot_tell(call: str, number: int) -> None:
    """XFS shuts down, ext4 becomes read-only, and a FUSE server ends: earlier syncs prove nothing any more."""
    judgement = verdict(None, step(), failed(call, number, name="next", sync="none"))
    found = finding(judgement, "sync-error")
    assert (found.verdict, found.scope, judgement.verdict) == ("cannot-tell", "storage", "cannot-tell")
    assert judgement.sentence.startswith(f"In step next, {call} failed with {errno.errorcode[number]}: the filesystem ")
    assert "dmesg" in found.next[0] and "steps-failed" not in rules(judgement)


def test_first_step_on_a_device_that_disappears_says_what_failed() -> None:
    """Without an earlier sync, the changed stack alone would decide, and its advice is to run again."""
    gone = Failure(call="open", errno=errno.ENODEV, message="No such device")
    changes = {"error": gone, "changed": ("sda: gone",)}
    judgement = verdict(None, step("first", ops=0, status="failed", changes=changes))
    assert judgement.verdict == "cannot-tell" and "Earlier syncs" not in judgement.sentence
    assert judgement.sentence.startswith("In step first, open failed with ENODEV: the filesystem has shut down, or ")


def test_short_write_is_a_note() -> None:
    short = Failure(call="pwrite", errno=None, message="the kernel wrote only 4096 of 16384 bytes")
    found = finding(verdict(None, step(status="failed", changes={"error": short})), "sync-error")
    assert "pwrite wrote only a part after" in found.sentence
    assert "error" not in found.title


def failed_step(name: str, call: str = "chdir", number: int = errno.ENOENT) -> Step:
    error = Failure(call=call, errno=number, message="it was moved or removed: '/srv/.fstui-1'")
    return step(name, ops=0, status="failed", changes={"error": error})


def test_failed_steps_come_first_in_the_sentence() -> None:
    judgement = verdict(None, step(), failed_step("fsync"), failed_step("O_DIRECT"))
    assert judgement.verdict == "consistent"
    assert judgement.sentence.startswith(
        "2 of 3 steps failed, and only the others are judged. First error, in fsync: chdir: it was moved or removed: "
        "'/srv/.fstui-1'. "
    )
    found = finding(judgement, "steps-failed")
    assert (found.verdict, found.steps, len(found.evidence)) == (None, ("fsync", "O_DIRECT"), 2)


def test_failed_steps_with_the_same_name_all_count() -> None:
    """Rounds repeat the steps."""
    found = finding(verdict(None, step(), *[failed_step("fsync")] * 2), "steps-failed")
    assert (found.title, len(found.evidence)) == ("2 of 3 steps failed, the first in chdir", 2)


def test_advice_after_a_full_disk_is_to_free_space() -> None:
    found = finding(verdict(None, step(), failed_step("oltp", "sysbench", errno.ENOSPC)), "steps-failed")
    assert found.next == ("Free some space, then run again.",)


def test_steps_that_failed_with_other_errors_also_count() -> None:
    """A disk that is removed makes ext4 read-only, and later steps fail because a file was left."""
    failures = (failed_step("write", "open", errno.EROFS), failed_step("fsync", "open", errno.EEXIST))
    assert "steps-failed" not in rules(verdict(None, *failures)), "no other step is judged"
    assert finding(verdict(None, step(), *failures), "steps-failed").title.startswith("2 of 3 steps failed")


@pytest.mark.parametrize("steps", [
    (step(),), (failed_step("fsync"),), (step(), failed_step("fsync", "fdatasync")),
    (step(), failed_step("fsync", "pwrite")),
    (step(), failed_step("O_DIRECT", "open", errno.EINVAL)),
], ids=["none", "all", "a sync", "a write", "unsupported"])  # fmt: skip
def test_failed_steps_note_needs_some_other_failures(steps: tuple[Step, ...]) -> None:
    assert "steps-failed" not in rules(verdict(None, *steps))


MARIADB = Sysbench(server="mariadb")
NEVER = PendingOperation(call="fdatasync", elapsed_s=13.0)


def held(longest_s: float, elapsed_s: float, p50_s: float = 0.002, ops: int = 40, **changes: Any) -> Step:
    return step(
        "commits",
        ops=ops,
        changes={"latency_ns": latency(p50_s * 1e9, longest_ns=longest_s * 1e9), "elapsed_s": elapsed_s, **changes},
    )


FROZEN = held(13.0, 15.0, unanswered=NEVER, status="stopped")


def test_operation_that_never_returned_gives_cannot_tell() -> None:
    judged = verdict(None, step(), FROZEN)
    found = finding(judged, "stood-still")
    assert (judged.verdict, judged.confidence, found.verdict) == ("cannot-tell", "high", "cannot-tell")
    assert judged.sentence == found.sentence
    assert found.sentence == (
        "All I/O of commits stopped for 13.0 s of 15.0 s: fdatasync had not finished when fstui stopped waiting."
    )
    assert verdict(None, step(flushes=0.0), FROZEN).verdict == "not-durable"  # missing flushes outweigh it


@pytest.mark.parametrize("changes", [
    {"settings": SqliteCommits()}, {"settings": SyncWrites(sync="none"), "syncs": 0},
], ids=["SQLite", "page cache"])  # fmt: skip
@pytest.mark.parametrize("writers", [1, 4])
def test_long_operation_that_is_no_stall_comes_first(changes: dict[str, Any], writers: int) -> None:
    thawed = replace(held(10.0, 13.0, writers=writers), **changes)
    judged = verdict(None, step(), thawed)
    assert (judged.verdict, judged.speed.answer) == ("consistent", verdict(None, step()).speed.answer)
    assert judged.sentence.startswith("One operation of commits took 10.0 s of the 13.0 s of this step.")
    assert ("checkpoint" in judged.sentence) == (changes["settings"] == SqliteCommits())
    assert finding(judged, "stood-still").verdict is None


@pytest.mark.parametrize("limit", [UNLIMITED, RateLimit(idle=True)], ids=["unlimited", "limited"])
def test_long_sync_is_said_once_as_a_stall_or_in_a_note(limit: RateLimit) -> None:
    judged = verdict(None, step(), held(10.0, 13.0), rate_limit=limit)
    assert ("stood-still" in rules(judged)) is bool(limit)
    assert (judged.speed.answer == "stalls") is not bool(limit)


@pytest.mark.parametrize(
    ("done", "named"),
    [
        (replace(FROZEN, ops=1, counters=(counted("sda", 725, 0),)), True),
        # MariaDB sends several flushes for each transaction
        (replace(step(ops=131, flushes=3.6, status="stopped"), unanswered=NEVER, settings=MARIADB), False),
    ],
    ids=["one sync", "transactions"],
)
def test_work_of_the_device_for_others_is_named(done: Step, named: bool) -> None:
    evidence = finding(verdict(None, step(), done), "stood-still").evidence
    assert ("sda counted 725 flushes in that time, most for other processes" in evidence) is named
    assert any("most for other processes" in line for line in evidence) is named


@pytest.mark.parametrize(
    "fine",
    [
        held(10.0, 13.0),
        held(0.9, 1.0, settings=SqliteCommits()),
        held(1.5, 10.0, settings=SqliteCommits()),
        held(2.1, 4.0, p50_s=2.0, ops=3, settings=SqliteCommits()),
        held(2.0, 3.0, stolen_ns=1_900_000_000, settings=SqliteCommits()),
        held(10.0, 13.0, settings=DirtyFlush()),
        held(0.02, 1.0, unanswered=PendingOperation(call="fdatasync", elapsed_s=0.6), status="stopped"),
        held(2.5, 90.0, p50_s=2.0, unanswered=PendingOperation(call="fdatasync", elapsed_s=1.9), status="stopped"),
    ],
    ids=["a stall", "short", "a part", "slow", "without a cpu", "growing amounts", "a moment", "slow, and stopped"],
)
def test_slow_or_short_operations_did_not_stop_io(fine: Step) -> None:
    assert "stood-still" not in rules(verdict(None, step(), fine))
