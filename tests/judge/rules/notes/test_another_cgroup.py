"""``--like PID``: what is said of the process whose io cgroup the probes ran in."""

from __future__ import annotations

from fstui.judge import judge
from fstui.model.host import Process
from fstui.model.judgement import Finding
from fstui.model.run import Evidence
from fstui.model.storage import Reading

LIMIT = Reading(what="254:0 write_iops", value="100", path="/sys/fs/cgroup/blkio/db/blkio.throttle.write_iops_device")
STUB = Reading(what="preload", value="/usr/lib/libeatmydata.so", path="/proc/812/maps")


def findings(like: Process | None) -> list[Finding]:
    return list(judge(Evidence(like=like)).findings)


def test_without_it_nothing_is_said() -> None:
    assert findings(None) == []


def test_its_limits_are_named_with_their_file() -> None:
    (note,) = findings(Process(pid=812, name="mysqld", cgroup="/db", io_limits=(LIMIT,), seccomp="off"))
    assert (note.rule, note.verdict) == ("another-cgroup", None)
    assert "mysqld (812)" in note.title
    assert any("254:0 write_iops 100" in line and LIMIT.path in line for line in note.because)


def test_a_seccomp_filter_before_its_calls_is_a_note_and_no_verdict() -> None:
    (note,) = findings(Process(pid=812, name="mysqld", seccomp="filter"))
    assert note.verdict is None
    assert "seccomp filter" in note.sentence


def test_a_library_that_stubs_its_syncs_is_not_durable_whatever_the_disk_does() -> None:
    judgement = judge(Evidence(like=Process(pid=812, name="mysqld", preloads=(STUB,))))
    assert judgement.verdict == "not-durable"
    assert judgement.findings[0].rule == "sync-stubbed"
    assert "mysqld (812)" in judgement.sentence
