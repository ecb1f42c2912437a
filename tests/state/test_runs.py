import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.errors import Refused
from fstui.model.run import Run, ScenarioRef
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.runs import history
from fstui.state import files, ledger, outlines, paths, runs, user_data
from fstui.state.files import write_atomically
from fstui.state.outlines import RunNotFound, TimeLimitExpired, UnreadableRun
from tests.factories import saved_runs
from tests.factories.samples import RUN


def a_run(run_id: str, second: int = 0, path: str = "/srv") -> Run:
    return Run(
        id=run_id,
        started_at=f"2026-11-20T03:12:{second:02d}+01:00",
        verdict="suspicious",
        scenario=ScenarioRef(name="odirect-truth", title="O_DIRECT"),
        target=Target(path=path, mount_point="/srv", fstype="ext4", source="/dev/sda1"),
        steps=(Step(name="fsync", settings=SyncWrites(), histogram=((1000, 3),)),),
    )


def test_a_run_is_saved_by_time_and_id_and_read_back_unchanged() -> None:
    assert runs.history() == []
    run = a_run("k3f9a1", 44)
    path = saved_runs.save(run)
    assert path == paths.runs_dir() / "20261120-031244-k3f9a1.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert saved_runs.load("k3f9a1") == run


@pytest.mark.parametrize(("lost", "both", "word"), [(0, 0, "none lost"), (9, 0, "diverged"), (9, 1, "lost")])
def test_history_knows_what_a_replica_cut_left(lost: int, both: int, word: str) -> None:
    figures = ReplicaCutFigures(on_primary=90, on_replica=99, lost_on_primary=lost, lost_everywhere=both)
    cut = Step(name="kill -9", settings=ReplicaCut(server="mariadb"), figures=figures)
    saved_runs.save(replace(a_run("k3f9a1"), steps=(cut,)))
    saved_runs.save(a_run("m4"))
    assert {one.id: one.survived for one in runs.history()} == {"k3f9a1": word, "m4": None}


def test_saving_again_replaces_the_file() -> None:
    run = a_run("k3f9a1")
    saved_runs.save(run)
    longer = replace(run, steps=(*run.steps, Step(name="fdatasync", settings=SyncWrites())))
    saved_runs.save(longer)
    assert saved_runs.load("k3f9a1") == longer
    assert len(list(paths.runs_dir().iterdir())) == 1


@pytest.mark.parametrize("reference", ["ab", "x7", "20261120-031200-ab.json", "20261120-031200-ab"])
def test_a_run_is_found_by_id_prefix_or_file_name(reference: str) -> None:
    for second, name in enumerate(("ab", "abc", "x7b2c9")):
        saved_runs.save(a_run(name, second))
    assert saved_runs.load(reference).id == ("x7b2c9" if reference == "x7" else "ab")


def test_a_run_is_found_by_path(tmp_path: Path) -> None:
    moved = saved_runs.save(a_run("k3f9a1")).rename(tmp_path / "elsewhere.json")
    assert saved_runs.load(str(moved)).id == "k3f9a1"


def test_last_is_the_run_saved_last_and_never_a_foreign_file() -> None:
    saved_runs.save(a_run("zzz", 10))
    saved_runs.save(a_run("newest", 30))
    (paths.runs_dir() / "zzz.json").write_text("{}")
    assert saved_runs.load("last").id == "newest"


def test_an_ambiguous_prefix_names_the_runs() -> None:
    saved_runs.save(a_run("k3f9a1"))
    saved_runs.save(a_run("k3zzzz", 1))
    with pytest.raises(RunNotFound, match=r"matches 2 saved runs \(k3zzzz, k3f9a1\)"):
        saved_runs.load("k3")


@pytest.mark.parametrize("offset_s", [-10, 3600], ids=["another time zone", "a wrong clock"])
def test_last_is_the_run_that_was_saved_last(offset_s: float) -> None:
    """The name of a file contains the local time of the start, which may be in the future."""
    future = saved_runs.save(replace(RUN, id="future", started_at="2126-11-20T03:12:44+00:00"))
    saved_s = saved_runs.save(a_run("saved")).stat().st_mtime
    os.utime(future, (saved_s, saved_s + offset_s))
    assert saved_runs.load("last").id == "saved"


@pytest.mark.parametrize("reference", ["", "nothing", "last", "k3f9a1.json", "/nowhere/x.json", "~nobody-here/x"])
def test_a_missing_run_is_reported_in_a_sentence(reference: str) -> None:
    if reference != "last":
        saved_runs.save(a_run("k3f9a1"))
    with pytest.raises(RunNotFound) as error:
        saved_runs.load(reference)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"schema": "other/1"}', b'{"schema": "fstui.run/1"}'])
def test_a_broken_file_is_listed_as_unreadable(content: bytes) -> None:
    saved_runs.save(a_run("whole"))
    (paths.runs_dir() / "20261120-040000-broken.json").write_bytes(content)
    with pytest.raises(UnreadableRun, match="is not a run document"):
        saved_runs.load("broken")
    broken, whole = runs.history()
    assert broken.unreadable and not whole.unreadable
    assert (whole.id, whole.verdict, whole.scenario, whole.target) == ("whole", "suspicious", "odirect-truth", "/srv")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (files.create_private_directory, "cannot read"),
        (os.mkfifo, "it is not a regular file"),
        (lambda path: path.open("wb").truncate(1 << 42), "it is larger than any file that fstui writes"),
    ],
    ids=["directory", "pipe", "larger than memory"],
)
def test_another_kind_of_file_is_named_and_not_read(make: Callable[[Path], object], why: str) -> None:
    files.create_private_directory(paths.runs_dir())
    make(path := paths.runs_dir() / "20261120-040000-other.json")
    (listed,) = runs.history()
    assert listed.unreadable and listed.unreadable.startswith(f"cannot read {path}: ") and why in listed.unreadable


def test_a_field_of_a_later_version_is_ignored() -> None:
    path = saved_runs.save(a_run("k3f9a1"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"new_field": {"x": 1}}))
    assert saved_runs.load("k3f9a1") == a_run("k3f9a1")


def test_a_target_whose_name_is_not_utf8_can_be_saved() -> None:
    saved_runs.save(a_run("k3f9a1", path="/srv/\udcff"))
    target = saved_runs.load("k3f9a1").target
    assert target and target.path == "/srv/\\xff"


def test_if_saving_fails_the_older_document_stays() -> None:
    run = a_run("k3f9a1")
    path = saved_runs.save(run)
    path.with_suffix(".d").mkdir()
    with pytest.raises(OSError):
        write_atomically(path.with_suffix(".d"), b"x")
    assert saved_runs.load("k3f9a1") == run
    assert sorted(file.name for file in paths.runs_dir().iterdir()) == sorted([path.name, path.with_suffix(".d").name])


def test_an_error_names_its_file(tmp_path: Path) -> None:
    """The error of write(2) has no file name."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from fstui.state.files import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: write_atomically(Path(sys.argv[1]), bytes(100))\n"
        "except OSError as error: print(error.filename)\n"
    )
    path = tmp_path / "run.json"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True, text=True)
    assert done.stdout == f"{path}\n"
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_its_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as found:
        write_atomically(tmp_path / "gone" / "run.json", b"1")
    assert found.value.filename == str(tmp_path / "gone" / "run.json")


@pytest.mark.parametrize("syncs", [1, 2])
def test_a_failed_fsync_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, syncs: int) -> None:
    """The fsync of the file and of its directory: other permissions would not help."""
    answers = iter([None] * (syncs - 1) + [OSError(errno.EIO, "Input/output error")])

    def fsync(_: int) -> None:
        if trouble := next(answers):
            raise trouble

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / "run.json"
    with pytest.raises(OSError, match="fsync failed: Input/output error") as found:
        write_atomically(path, b"1")
    assert (found.value.errno, found.value.filename) == (errno.EIO, str((path, tmp_path)[syncs - 1]))


def test_delete_removes_a_run_and_its_note_and_nothing_else(tmp_path: Path) -> None:
    gone, stays = saved_runs.save(a_run("k3f9a1")), saved_runs.save(a_run("x7b2c9", 1))
    user_data.save_note("k3f9a1", "bad cable")
    user_data.save_note("x7b2c9", "good cable")
    runs.delete(gone)
    assert [(one.path, one.note) for one in runs.history()] == [(str(stays), "good cable")]
    (elsewhere := tmp_path / "mine.json").write_text("{}")
    with pytest.raises(Refused, match="is not a saved run"):
        runs.delete(elsewhere)
    assert elsewhere.exists() and user_data.notes() == {"x7b2c9": "good cable"}


def test_a_run_that_has_not_ended_is_running() -> None:
    saved_runs.save(replace(a_run("k3f9a1"), status="stopped"))
    entry = ledger.write_entry("k3f9a1", "directory", "/srv/.fstui-k3f9a1")
    assert [one.status for one in runs.history()] == ["running"]
    assert runs.status_now(saved_runs.load("k3f9a1")) == "running"
    ledger.delete_entry(entry)
    assert [one.status for one in runs.history()] == ["stopped"]
    assert runs.status_now(saved_runs.load("k3f9a1")) == "stopped"


def test_the_history_has_the_time_limit_that_ended_a_run() -> None:
    saved_runs.save(replace(a_run("k3f9a1"), status="stopped", time_limit_s=20.0))
    assert [(one.status, one.time_limit_s) for one in runs.history()] == [("stopped", 20.0)]


def test_the_history_shows_the_rate_of_the_first_synced_step() -> None:
    steps = (
        Step(name="write", settings=SyncWrites(), rate_per_s=9000.0),
        Step(name="fsync", settings=SyncWrites(), rate_per_s=120.0, syncs=120),
    )
    saved_runs.save(replace(a_run("k3f9a1"), steps=steps))
    assert [(one.rate_of, one.rate_per_s) for one in runs.history()] == [("fsync", 120.0)]


def test_the_history_shows_no_rate_of_writes_without_syncs() -> None:
    steps = (Step(name="write, no sync", settings=SyncWrites(), rate_per_s=183_384.0),)
    saved_runs.save(replace(a_run("k3f9a1"), status="stopped", steps=steps))
    assert [(one.rate_of, one.rate_per_s) for one in runs.history()] == [("", 0.0)]


def test_the_history_shows_the_transactions_of_a_database() -> None:
    steps = (
        Step(name="fdatasync", settings=SyncWrites(), rate_per_s=3000.0, syncs=3000),
        Step(name="WAL FULL", settings=SqliteCommits(), rate_per_s=400.0),
    )
    saved_runs.save(replace(a_run("k3f9a1"), steps=steps))
    assert [(one.rate_of, one.rate_per_s) for one in runs.history()] == [("WAL FULL", 400.0)]


def many_runs(monkeypatch: pytest.MonkeyPatch, count: int = 3) -> list[Path]:
    monkeypatch.setattr(outlines, "MIN_NEW_OUTLINES", 1)
    saved = [saved_runs.save(a_run(f"run{second}", second)) for second in range(count)]
    assert len(runs.history()) == count
    return saved


def test_the_index_saves_reading_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    many_runs(monkeypatch)
    listed = runs.history()
    monkeypatch.setattr(outlines, "decode", None)
    assert runs.history() == listed
    assert [one.rate_of for one in listed] == [""] * 3


def test_a_changed_file_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = many_runs(monkeypatch)
    saved[0].write_text(saved[0].read_text().replace("suspicious", "consistent"))
    assert [one.verdict for one in runs.history()] == ["suspicious", "suspicious", "consistent"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 0}', b"\xff", b'{"files":' * 100_000])
def test_a_broken_index_is_rebuilt(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    many_runs(monkeypatch)
    (paths.state_dir() / outlines.INDEX).write_bytes(content)
    assert [one.id for one in runs.history()] == ["run2", "run1", "run0"]
    assert outlines._read_index().keys() == {path.name for path in paths.runs_dir().iterdir()}


def test_a_deleted_run_leaves_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = many_runs(monkeypatch)
    saved[0].unlink()
    saved_runs.save(a_run("new", 50))
    assert [one.id for one in runs.history(max_count=1)] == ["new"]
    assert len(outlines._read_index()) == 3


def test_a_long_first_reading_is_kept_when_it_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "WRITE_INTERVAL_S", 0.0)
    saved = [saved_runs.save(a_run(f"run{second}", second)) for second in range(3)]
    with pytest.raises(TimeLimitExpired):
        list(outlines.read_outlines(saved, saved, limit_s=0.0))
    assert outlines._read_index().keys() == {saved[0].name}


async def test_a_history_that_takes_long_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []

    async def unfinished_once(*call: object) -> list[runs.Summary]:
        called.append(call)
        if len(called) == 1:
            raise TimeLimitExpired
        return []

    monkeypatch.setattr(history, "call_in_state_dir", unfinished_once)
    assert await history.summaries() == [] and len(called) == 2
