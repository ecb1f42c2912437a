"""Comparisons with etcd's requirements, another sync call and another program."""

from typing import Any

import pytest

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import ReportedLatency
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio, SysbenchFileioFigures
from fstui.model.host import Process
from fstui.model.judgement import Finding
from fstui.model.run import Evidence
from fstui.model.steps import Step
from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import disk, filesystem, on_disk


def by_fsync(rate: float = 42, flushes: float | None = 2.0, **settings: Any) -> Step:
    return step("fsync", rate=rate, ops=round(rate), sync="fsync", flushes=flushes, **settings)


def by_fdatasync(rate: float = 84, flushes: float | None = 1.0, **settings: Any) -> Step:
    return step("fdatasync", rate=rate, ops=round(rate), flushes=flushes, **settings)


def test_expensive_fsync_is_a_note_with_both_rates() -> None:
    judgement = verdict(None, by_fsync(), by_fdatasync())
    found = finding(judgement, "fsync-dearer")
    assert (found.verdict, found.scope, found.steps) == (None, "step", ("fsync", "fdatasync"))
    assert found.title == "16 KiB: fsync 42.0/s, fdatasync 84.0/s"
    assert "2.0 × as fast, since fsync also commits the timestamps" in found.sentence
    assert found.evidence == ("fsync: 42.0/s, 2.00 flushes each", "fdatasync: 84.0/s, 1.00 flushes each")
    assert judgement.verdict == "consistent"


@pytest.mark.parametrize(("rate", "hit"), [(63, True), (62, False)])
def test_fsync_must_take_one_and_a_half_times_as_long(rate: float, hit: bool) -> None:
    assert ("fsync-dearer" in rules(verdict(None, by_fsync(), by_fdatasync(rate)))) is hit


THROUGH, UNCOUNTED = (
    on_disk(filesystem(), disk(**how)) for how in ({"write_cache": "write through"}, {"counted": False})
)


@pytest.mark.parametrize(
    ("where", "fsync", "fdatasync", "fields"),
    [
        (None, by_fsync(flushes=1.0), by_fdatasync(), {}),
        (None, by_fsync(flushes=1.19), by_fdatasync(), {}),
        (None, by_fsync(flushes=None), by_fdatasync(), {}),
        (THROUGH, by_fsync(flushes=0), by_fdatasync(flushes=0), {}),
        (UNCOUNTED, by_fsync(flushes=None), by_fdatasync(flushes=None), {}),
        (None, by_fsync(), by_fdatasync(flushes=None), {}),
        (None, by_fsync(changes={"rate_per_s": 0.0}), by_fdatasync(), {}),
        (None, by_fsync(), by_fdatasync(), {"process": Process(pipe_fsync_fails=False)}),
        # fio committed the journal as well: 2.83 flushes for each fsync, 1.77 for each fdatasync
        (None, by_fsync(114, 2.83), by_fdatasync(827, 1.77), {"idle": busy("sda", 548, "fio")}),
    ],
)
def test_fsync_must_send_more_flushes(where: Any, fsync: Step, fdatasync: Step, fields: dict[str, Any]) -> None:
    assert "fsync-dearer" not in rules(verdict(where, fsync, fdatasync, **fields))


@pytest.mark.parametrize(
    "settings",
    [{"open_flags": ("direct",)}, {"offsets": "same"}, {"writers": 4}, {"sync_every": 10}, {"status": "disturbed"}],
    ids=str,
)
def test_compared_steps_differ_only_in_the_call(settings: dict[str, Any]) -> None:
    assert "fsync-dearer" not in rules(verdict(None, by_fsync(), by_fdatasync(**settings)))
    both = {name: value for name, value in settings.items() if name in {"open_flags", "offsets"}}
    assert not both or "fsync-dearer" in rules(verdict(None, by_fsync(**both), by_fdatasync(**both)))


OWN = latency(480_000, 500_000)
FSTUI = Step(
    name="fstui", settings=SyncWrites(), elapsed_s=2.0, ops=2000, rate_per_s=1000.0, latency_ns=OWN, sync_ns=OWN
)
SYSBENCH = Step(
    name="sysbench",
    settings=SysbenchFileio(),
    elapsed_s=2.0,
    rate_per_s=500.0,
    figures=SysbenchFileioFigures(events=2000, fsyncs_per_s=500.0, latency_ms=ReportedLatency(avg=0.23)),
)


def notes(*steps: Step) -> list[Finding]:
    return [finding for finding in judge(Evidence(steps=steps)).findings if finding.rule == "sysbench-latency"]


def test_sysbench_note_has_both_rates_and_what_is_timed() -> None:
    (note,) = notes(SYSBENCH, FSTUI)
    assert note.verdict is None
    assert note.title == "sysbench 500/s, fstui 1\xa0000/s"
    assert "230 µs counts each write and each fsync as one event (2\xa0000 events)" in note.sentence
    assert "p50 of 480 µs is for a write with its sync" in note.sentence
