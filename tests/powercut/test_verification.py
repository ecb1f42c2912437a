"""A whole verification on this host, with prepared records and the boot id of another boot."""

import asyncio
import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from fstui.judge import judge
from fstui.measure import children
from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.errors import Refused
from fstui.model.judgement import Speed
from fstui.model.run import Run
from fstui.powercut import power_cuts
from fstui.powercut.records import END_REASON_FILE, Stream
from fstui.powercut.verification import CutDeclaration
from fstui.powercut.writing import PreparedCut
from fstui.runs import power_cut
from fstui.runs.machine.local import LocalMachine
from fstui.runs.session import Session
from fstui.state import ledger, workspace
from tests import prefork
from tests.powercut.honest import BLOCK, directory_of, log_of, replace, write_files
from tests.real.headless import FSTUI
from tests.real.processes import PATIENCE_S, eventually

BEFORE = "00000000-0000-0000-0000-000000000000"
SETTINGS = {"file": "131072", "writes": "overwrite,append"}
LAST = {0: 100, 1: 80}
pytestmark = pytest.mark.usefixtures("without_children")


class Box:
    """This host after a cut."""

    def __init__(self, target: Path, cut: PreparedCut) -> None:
        self.target = target
        self.cut = cut
        self.boot = BEFORE
        self.last = LAST

    @property
    def streams(self) -> tuple[Stream, ...]:
        return self.cut.header.streams

    @property
    def directory(self) -> Path:
        return directory_of(self.cut)

    def write_files(self) -> None:
        for of in self.streams:
            write_files(self.directory, of, self.last[of.writer], self.cut.header.run)

    def spoil(self, sequence: int, block: bytes = bytes(BLOCK), writer: int = 0) -> None:
        replace(self.directory / f"w{writer}", self.streams[writer], sequence, block)

    def log(self) -> bytes:
        return log_of(self.cut, self.last, boot=self.boot)

    async def check(self, log: bytes | None = None, **declared: Any) -> Run:
        data = self.log() if log is None else log
        return (await power_cut.verify(Session(LocalMachine()), str(self.target), data, CutDeclaration(**declared))).run

    async def check_and_save(self) -> Run:
        session = Session(LocalMachine())
        verified = await power_cut.verify(session, str(self.target), self.log(), CutDeclaration())
        assert (await power_cut.save(session, verified))[1] is None
        return verified.run


async def a_box(target: Path, **settings: str) -> Box:
    target.mkdir(exist_ok=True)
    return Box(target, await power_cut.prepare_cut(Session(LocalMachine()), str(target), {**SETTINGS, **settings}))


@pytest.fixture
async def box(tmp_path: Path) -> Box:
    """Write every acknowledged record."""
    box = await a_box(tmp_path / "target")
    box.write_files()
    return box


def figures(run: Run) -> PowerCutFigures:
    found = power_cuts.figures_of(run)
    assert found is not None
    return found


async def test_all_records_present_after_a_cut_is_kept(box: Box) -> None:
    run = await box.check()
    assert run.verdict == "kept"
    assert run.findings[0].title == "survived 1 cut"
    found = figures(run)
    assert (found.acknowledged, found.checked, found.present, found.lost) == (69 + 81, 32 + 49, 32 + 49, 0)
    assert found.rebooted


async def test_saved_verification_is_judged_alike_again(box: Box) -> None:
    run = await box.check()
    (step,) = run.steps
    assert (step.settings.probe, step.ops, step.elapsed_s) == ("powercut", 150, 0.81)
    assert run.with_judgement(judge(decode_run(msgspec.json.encode(run)))) == run
    assert run.speed == Speed()  # a power cut has no speed


async def test_one_lost_record_is_lost(box: Box) -> None:
    box.spoil(95, box.streams[0].pack(box.cut.header.run, 63))
    run = await box.check()
    assert (run.verdict, run.confidence) == ("lost", "high")
    assert run.findings[0].title == "1 of 81 acknowledged records lost"
    assert "1 replaced by an older one" in run.sentence
    assert figures(run).by_claim["fdatasync, overwrite"] == {"acknowledged": 69, "checked": 32, "lost": 1}
    assert figures(run).by_claim["fdatasync, append"]["lost"] == 0


async def test_age_of_a_loss_counts_from_the_last_acknowledgement(box: Box) -> None:
    box.spoil(70)  # acknowledged 390 ms after the header, the last record after 810 ms
    box.spoil(99)
    run = await box.check()
    assert figures(run).oldest_lost_s == pytest.approx(0.42)
    assert "0.4 s before the last record" in run.sentence


async def test_each_kind_of_loss_is_counted_separately(box: Box) -> None:
    run_id, of = box.cut.header.run, box.streams[0]
    box.spoil(95, of.pack(run_id, 63))
    box.spoil(96, of.pack(run_id, 96)[:512] + of.pack(run_id, 64)[512:])
    box.spoil(97)
    box.spoil(98, of.pack(run_id, 97))
    box.spoil(80, writer=1)
    found = figures(await box.check())
    assert (found.stale, found.torn, found.missing, found.misplaced, found.lost) == (1, 1, 2, 1, 5)
    assert found.reordered == 4


async def test_nothing_is_proven_without_a_new_boot(box: Box) -> None:
    box.boot = box.cut.header.boot
    run = await box.check()
    assert run.verdict == "cannot-tell"
    assert "has not rebooted since" in run.sentence


async def test_record_lost_without_a_cut_is_lost(box: Box) -> None:
    box.boot = box.cut.header.boot
    box.spoil(95)
    run = await box.check()
    assert run.verdict == "lost"
    assert "This host noticed no power cut" in run.sentence


async def test_user_may_declare_that_only_the_storage_was_cut(box: Box) -> None:
    box.boot = box.cut.header.boot
    run = await box.check(storage_was_cut=True)
    assert run.verdict == "kept"
    assert any("declared by you" in line for line in run.findings[0].evidence)


@pytest.mark.parametrize("where", ["in the log", "on the disk"])
async def test_stopped_writer_proves_nothing(box: Box, where: str) -> None:
    log = box.log()
    if where == "in the log":
        log += b"end 900 stopped by SIGTERM\n"
    else:  # a regular shutdown after the network failed
        (box.directory / END_REASON_FILE).write_text("stopped by SIGTERM")
    run = await box.check(log)
    assert run.verdict == "cannot-tell"
    assert "stopped by SIGTERM" in run.sentence


async def test_storage_error_counts_as_a_cut_if_declared(box: Box) -> None:
    """A disk that alone loses its power returns errors, and these end the writer."""
    log = box.log() + b"end 900 failed: writer 0 (fdatasync, overwrite): fdatasync: [Errno 5] Input/output error\n"
    assert (await box.check(log)).verdict == "cannot-tell"
    assert (await box.check(log, storage_was_cut=True)).verdict == "kept"
    assert (await box.check(box.log() + b"end 900 stopped\n", storage_was_cut=True)).verdict == "cannot-tell"


async def test_directory_missing_after_a_cut_is_lost(tmp_path: Path) -> None:
    run = await (await a_box(tmp_path / "target")).check()
    assert run.verdict == "lost"
    assert "all 150 acknowledged records are gone" in run.findings[0].title


async def test_other_directory_of_the_filesystem_is_no_loss(tmp_path: Path) -> None:
    """As when the filesystem of the records is not mounted, and another part of it is reached at the same path."""
    box = await a_box(tmp_path / "target")
    box.target = tmp_path
    with pytest.raises(Refused, match="does not contain the records, which were written to"):
        await box.check()


async def test_filesystem_that_replaced_a_newer_one_is_a_loss(tmp_path: Path) -> None:
    """The disk has lost the mkfs, and shows the filesystem that it had before."""
    box = await a_box(tmp_path / "target")
    assert (await box.check(changed(box, fsid=1))).verdict == "lost"


@pytest.mark.parametrize(("kind", "words"), [("reset", "The disk kept its power"), ("host-stop", "The host below")])
async def test_reset_is_no_power_cut(box: Box, kind: str, words: str) -> None:
    run = await box.check(cut_kind=kind)
    assert (run.verdict, run.confidence) == ("plausible", "low") and words in run.sentence
    assert not run.steps[0].figures.survived_power_cut  # type: ignore[union-attr]
    box.spoil(95)
    assert (await box.check(cut_kind=kind)).verdict == "lost"


async def test_directory_missing_without_a_cut_proves_nothing(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    box.boot = box.cut.header.boot
    run = await box.check()
    assert run.verdict == "cannot-tell"
    assert "directory was removed" in run.sentence


async def test_unmountable_filesystem_is_lost(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    box.target = tmp_path / "not there"
    with pytest.raises(Refused, match="--mount-fails"):
        await box.check()
    run = await box.check(unmountable=True)
    assert run.verdict == "lost"
    assert "You report that the filesystem cannot be mounted" in run.sentence


async def test_mounted_filesystem_is_not_unmountable(box: Box) -> None:
    with pytest.raises(Refused, match="contains the records"):
        await box.check(unmountable=True)


async def test_killed_reader_is_no_unmountable_filesystem(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "command", lambda *_: ["sh", "-c", "kill -9 $$"])
    with pytest.raises(Refused, match="may contain the records"):
        await box.check(unmountable=True)


async def test_uninspected_directory_is_not_unmountable(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed(*_: object, **_named: object) -> None:
        raise ChildProcessError(errno.ECHILD, "the child process was killed")

    monkeypatch.setattr(workspace, "call_helper", killed)
    with pytest.raises(Refused, match="the child process was killed"):
        await box.check(unmountable=True)


def changed(box: Box, **fields: Any) -> bytes:
    """Return the log with another header."""
    header, _, rest = box.log().partition(b"\n")
    fields_of_header = msgspec.json.decode(header)
    for name, value in fields.items():
        place = fields_of_header
        *above, last = name.split("__")
        for part in above:
            place = place[part]
        place[last] = value
    return msgspec.json.encode(fields_of_header) + b"\n" + rest


async def test_log_of_another_host_is_refused(box: Box) -> None:
    with pytest.raises(Refused, match="the log is from db9"):
        await box.check(changed(box, host__hostname="db9"))


async def test_log_of_another_filesystem_is_refused(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    log = changed(box, target__identity="0", fsid=1, target__source="/dev/sdz9", target__mount_point="/data")
    with pytest.raises(Refused, match=r"the log is from \S+ /dev/sdz9 on /data.*Mount the filesystem of the log"):
        await box.check(log)


async def test_changed_mount_option_does_not_hide_a_loss(tmp_path: Path) -> None:
    box = await a_box(tmp_path / "target")
    assert (await box.check(changed(box, target__identity="0"))).verdict == "lost"


async def test_verified_cut_with_removed_records_is_no_loss(box: Box) -> None:
    first = await box.check_and_save()
    for path in sorted(box.directory.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    box.directory.rmdir()
    assert await box.check_and_save() == first
    assert len(list(power_cuts.verified_cuts())) == 1


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda log: log.partition(b"\n")[0] + b"\n", "contains no acknowledgement"),
        (lambda log: log.replace(b"ack 0 32 90\n", b"").replace(b"ack 0 32 10\n", b""), "lines are missing"),
        (lambda log: log + b"ack 9 0 900\n", "does not list writer 9"),
        (lambda log: b'{"fstui":"powercut/1"}\n' + log.partition(b"\n")[2], "not the header"),
        (lambda log: log + b"ack 0 101 -1\n", "is not a line of a power-cut test"),
    ],
)
async def test_invalid_log_is_refused_and_nothing_is_saved(box: Box, damage: Any, why: str) -> None:
    log = damage(box.log())
    assert log != box.log()
    with pytest.raises(Refused, match=why):
        await box.check(log)
    assert list(power_cuts.verified_cuts()) == []


async def test_incomplete_last_line_is_ignored(box: Box) -> None:
    run = await box.check(box.log()[:-3])
    assert run.verdict == "kept"
    assert figures(run).log_cut_off
    assert figures(run).acknowledged == 149


async def test_cuts_of_a_target_add_up_once_each(tmp_path: Path) -> None:
    for expected in ("survived 1 cut", "survived 2 cuts", "survived 3 cuts"):
        box = await a_box(tmp_path / "target")
        box.write_files()
        assert (await box.check_and_save()).findings[0].title == expected
        assert (await box.check_and_save()).findings[0].title == expected


async def test_changed_identity_restarts_the_count(tmp_path: Path) -> None:
    for _ in range(2):
        box = await a_box(tmp_path / "target")
        box.write_files()
        await box.check_and_save()
    assert (await box.check(changed(box, target__identity="another"))).findings[0].title == "survived 1 cut"


async def test_loss_restarts_the_count(tmp_path: Path) -> None:
    for spoilt in (False, True, False):
        box = await a_box(tmp_path / "target")
        box.write_files()
        if spoilt:
            box.spoil(95)
        run = await box.check_and_save()
        # the history orders runs by their second, so give them different ones
        saved = next(iter(power_cuts.verified_cuts())).path
        saved.rename(saved.with_name(f"20261120-00000{len(list(power_cuts.verified_cuts()))}-{run.id}.json"))
    assert run.findings[0].title == "survived 1 cut"


async def test_reading_back_writes_nothing(box: Box) -> None:
    def everything() -> dict[str, tuple[int, int]]:
        return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in box.target.rglob("*")}

    before = everything()
    await box.check()
    assert everything() == before


async def test_reader_that_was_killed_proves_nothing(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "command", lambda *_: ["false"])
    with pytest.raises(Refused, match="the records cannot be read: the program that reads the records has ended"):
        await box.check()


@pytest.mark.parametrize("keeper_too", [False, True])
def test_killed_verification_leaves_no_copy(keeper_too: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, copies = tmp_path / "programs", tmp_path / "copies"
    for directory in (programs, copies):
        directory.mkdir()
    for name, words in {"postgres": "(PostgreSQL) 99.1", "sysbench": "1.0.20", "initdb": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\n[ "$1" != --version ] && exec sleep 60\necho {name} {words}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(copies))
    box = asyncio.run(a_box(tmp_path / "target", writes="postgresql"))
    (box.directory / "w0").mkdir(parents=True)
    (box.directory / "w0/PG_VERSION").write_text("99")
    log = tmp_path / "log"
    log.write_bytes(log_of(box.cut, {0: 100}, boot=BEFORE))
    with log.open("rb") as given:
        process = subprocess.Popen([FSTUI, "powercut", "verify", box.target], stdin=given)
    assert eventually(lambda: bool(list(copies.glob(".fstui-*/copy/PG_VERSION"))))
    started = psutil.Process(process.pid).children(recursive=True)
    for each in (psutil.Process(process.pid), *(started if keeper_too else [])):
        each.kill()
    process.wait()
    if keeper_too:
        assert prefork.run("clean").returncode == 0
    assert eventually(lambda: not list(copies.iterdir()) and not ledger.entries())
    assert not psutil.wait_procs(started, timeout=PATIENCE_S)[1]


async def test_interrupted_verification_changes_nothing(box: Box) -> None:
    checking = asyncio.ensure_future(box.check_and_save())
    await asyncio.wait({checking}, timeout=0)  # it has started
    checking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await checking
    assert list(power_cuts.verified_cuts()) == []
    assert (await box.check_and_save()).findings[0].title == "survived 1 cut"
