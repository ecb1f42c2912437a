"""Find the losses in files that were damaged on purpose."""

import json
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fstui.measure.children import command
from fstui.measure.wire.own_directory import POWER_CUT_PREFIX
from fstui.powercut.output import RecordDatabase, fill_database
from fstui.powercut.readback import WriterComparison
from fstui.powercut.records import END_REASON_FILE, LOSS_KINDS, Stream, WriteMethod
from tests.factories.directories import held
from tests.powercut.honest import BLOCK, RUN, at, replace, stream, write_files


def request(directory: Path, streams: list[Stream], last: dict[int, int], copies: Path) -> dict[str, Any]:
    copies_settings = held(copies).as_settings
    return {
        "directory": str(directory),
        "run": RUN,
        "streams": streams,
        "last": last,
        "servers": {},
        "copies": copies_settings,
    }


def read_back(directory: Path, streams: list[Stream], last: dict[int, int]) -> list[dict[str, Any]]:
    copies = Path(tempfile.mkdtemp(dir=directory.parent if directory.parent.exists() else None))
    settings = json.dumps(request(directory, streams, last, copies)).encode()
    done = subprocess.run(command("powercut.readback"), input=settings + b"\n", capture_output=True, check=True)
    assert done.stderr == b""
    copies.rmdir()  # it is empty
    return [json.loads(line) for line in done.stdout.splitlines()]


def compared(directory: Path, of: Stream, last: int) -> tuple[dict[str, Any], dict[int, str]]:
    """Return the counts and the losses of the only writer."""
    head, counts = read_back(directory, [of], {of.writer: last})
    assert head["found"]
    comparison = WriterComparison(str(directory), RUN, of, last, {})
    comparison.compare()
    assert counts["oldest"] == min(comparison.lost, default=None)
    assert sum(counts[kind] for kind in LOSS_KINDS) == len(comparison.lost)
    return counts, comparison.lost


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / f"{POWER_CUT_PREFIX}{RUN}"


WAYS = ["overwrite", "append", "create", "create-no-dirsync", "rename"]


@pytest.mark.parametrize("writes", WAYS)
@pytest.mark.parametrize("last", [8, 9, 15, 16, 17, 40])
def test_durable_disk_has_every_record(directory: Path, writes: WriteMethod, last: int) -> None:
    of = stream(writes)
    write_files(directory, of, last)
    sums, lost = compared(directory, of, last)
    assert lost == {}
    assert sums["present"] == sums["checked"] > 0
    assert sums["in_flight"] == sums["unpromised"] == sums["newer"] == 0


@pytest.mark.parametrize("writes", WAYS)
@pytest.mark.parametrize("ahead", [1, 5, 30])
def test_unacknowledged_newer_record_is_no_loss(directory: Path, writes: WriteMethod, ahead: int) -> None:
    of = stream(writes)
    write_files(directory, of, 20 + ahead)
    sums, lost = compared(directory, of, 20)
    assert lost == {}
    assert sums["newer"] == (min(ahead, 8) if writes == "overwrite" else 0)


def test_older_record_in_its_place_is_stale(directory: Path) -> None:
    of = stream()
    home = write_files(directory, of, 20)
    replace(home, of, 18, of.pack(RUN, 10))
    sums, lost = compared(directory, of, 20)
    assert lost == {18: "stale"}
    assert (sums["checked"], sums["present"], sums["reordered"]) == (8, 7, 1)


def test_losing_the_newest_records_is_not_reordering(directory: Path) -> None:
    of = stream()
    home = write_files(directory, of, 20)
    for sequence in (19, 20):
        replace(home, of, sequence, of.pack(RUN, sequence - 8))
    sums, lost = compared(directory, of, 20)
    assert lost == {19: "stale", 20: "stale"}
    assert sums["reordered"] == 0


@pytest.mark.parametrize("writes", ["overwrite", "append", "create"])
@pytest.mark.parametrize(("intact_bytes", "kind"), [(512, "torn"), (0, "missing")])
def test_damaged_record_is_a_loss(directory: Path, writes: WriteMethod, intact_bytes: int, kind: str) -> None:
    of = stream(writes)
    home = write_files(directory, of, 20)
    old = of.pack(RUN, 10) if intact_bytes else bytes(BLOCK)
    replace(home, of, 18, of.pack(RUN, 18)[:intact_bytes] + old[intact_bytes:])
    assert compared(directory, of, 20)[1] == {18: kind}


def test_truncated_file_misses_its_last_records(directory: Path) -> None:
    of = stream("append")
    home = write_files(directory, of, 20)
    name, offset = at(of, 19)
    with (home / name).open("r+b") as file:
        file.truncate(offset + 100)
    assert compared(directory, of, 20)[1] == {19: "torn", 20: "missing"}


def test_missing_file_counts_only_if_its_directory_was_synced(directory: Path) -> None:
    synced, unsynced = stream("create", writer=0), stream("create-no-dirsync", writer=1)
    for of in (synced, unsynced):
        (write_files(directory, of, 20) / "19").unlink()
    assert compared(directory, synced, 20)[1] == {19: "missing"}
    sums, lost = compared(directory, unsynced, 20)
    assert lost == {}
    assert sums["unpromised"] == 1


def test_unsynced_directory_does_not_excuse_damage(directory: Path) -> None:
    of = stream("create-no-dirsync")
    replace(write_files(directory, of, 20), of, 19, bytes(BLOCK))
    assert compared(directory, of, 20)[1] == {19: "missing"}


def test_record_of_another_place_is_misplaced(directory: Path) -> None:
    of, other = stream(), stream(writer=1)
    home = write_files(directory, of, 20)
    replace(home, of, 15, of.pack(RUN, 14))
    replace(home, of, 16, other.pack(RUN, 16))
    replace(home, of, 17, of.pack(RUN[::-1], 17))
    assert compared(directory, of, 20)[1] == {15: "misplaced", 16: "misplaced", 17: "misplaced"}


def test_place_in_flight_may_be_torn(directory: Path) -> None:
    of = stream()
    home = write_files(directory, of, 20)
    replace(home, of, 13, of.pack(RUN, 21)[:2048] + of.pack(RUN, 13)[2048:])  # the place of record 21
    sums, lost = compared(directory, of, 20)
    assert lost == {}
    assert (sums["in_flight"], sums["checked"]) == (1, 7)


def test_place_in_flight_follows_the_newest_record(directory: Path) -> None:
    of = stream()
    home = write_files(directory, of, 22)
    replace(home, of, 15, of.pack(RUN, 23)[:2048] + of.pack(RUN, 15)[2048:])
    assert compared(directory, of, 20)[1] == {}
    replace(home, of, 16, b"x" * BLOCK)
    assert compared(directory, of, 20)[1] == {16: "torn"}


def test_place_in_flight_may_not_be_stale_or_empty(directory: Path) -> None:
    of = stream()
    home = write_files(directory, of, 20)
    replace(home, of, 13, bytes(BLOCK))
    assert compared(directory, of, 20)[1] == {13: "missing"}
    replace(home, of, 13, of.pack(RUN, 5))
    assert compared(directory, of, 20)[1] == {13: "stale"}


@pytest.mark.parametrize("writes", ["overwrite", "append", "create"])
def test_missing_writer_directory_loses_everything(directory: Path, writes: WriteMethod) -> None:
    of = stream(writes)
    directory.mkdir()
    sums, lost = compared(directory, of, 20)
    assert sums["present"] == 0
    assert set(lost.values()) == {"missing"}
    assert len(lost) == sums["checked"] >= 5


def test_reappearing_removed_files_are_ignored(directory: Path) -> None:
    of = stream("append")
    home = write_files(directory, of, 40)
    assert not (home / "2").exists()
    (home / "2").write_bytes(b"".join(of.pack(RUN, sequence) for sequence in range(16, 24)))
    assert compared(directory, of, 40)[1] == {}


def test_symbolic_link_is_not_followed(directory: Path, tmp_path: Path) -> None:
    of = stream("create")
    home = write_files(directory, of, 20)
    (tmp_path / "elsewhere").write_bytes((home / "19").read_bytes())
    (home / "19").unlink()
    (home / "19").symlink_to(tmp_path / "elsewhere")
    assert compared(directory, of, 20)[1] == {19: "unreadable"}


def test_missing_directory_is_reported(directory: Path) -> None:
    assert read_back(directory, [stream()], {0: 20}) == [{"found": False, "ended": None}]


def test_unreadable_directory_is_reported(tmp_path: Path) -> None:
    (line,) = read_back(tmp_path / "none" / f"{POWER_CUT_PREFIX}{RUN}", [stream()], {0: 20})
    assert "No such file" in line["error"]


def test_writers_end_is_reported(directory: Path) -> None:
    write_files(directory, stream(), 20)
    (directory / END_REASON_FILE).write_text("stopped by SIGTERM")
    assert read_back(directory, [stream()], {0: 20})[0]["ended"] == "stopped by SIGTERM"


def test_writer_without_acknowledgements_is_skipped(directory: Path) -> None:
    write_files(directory, stream(), 20)
    assert len(read_back(directory, [stream(), stream(writer=1)], {0: 20})) == 2


@pytest.fixture
def database(directory: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Stream]:
    """The file of a database whose newest records are in its write-ahead log only, as after a power cut."""
    of = stream("sqlite")
    home = directory / "w0"
    home.mkdir(parents=True)
    monkeypatch.chdir(directory)
    fill_database(of, "w0", RUN)
    writer = RecordDatabase(RUN, of)
    for sequence in range(of.first_sequence, 13):
        writer.put(sequence)
    for file in ("0", "0-wal"):
        shutil.copy(home / file, home / f"copy-{file}")
    writer.connection.close()
    for file in ("0", "0-wal"):
        (home / f"copy-{file}").replace(home / file)
    return home / "0", of


def test_records_in_the_log_of_a_database_are_found(database: tuple[Path, Stream], directory: Path) -> None:
    file, of = database
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    sums, lost = compared(directory, of, 12)
    assert lost == {} and sums["checked"] == 5
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before


def test_lost_log_of_a_database_makes_its_records_stale(database: tuple[Path, Stream], directory: Path) -> None:
    file, of = database
    file.with_name("0-wal").unlink()
    assert compared(directory, of, 12)[1] == dict.fromkeys(range(8, 13), "stale")


@pytest.mark.parametrize(("damage", "kind"), [(b"", "missing"), (b"x" * 9000, "unreadable")])
def test_damaged_database_is_a_loss(database: tuple[Path, Stream], directory: Path, damage: bytes, kind: str) -> None:
    file, of = database
    file.with_name("0-wal").unlink()
    file.write_bytes(damage)
    if not damage:
        file.unlink()
    assert set(compared(directory, of, 12)[1].values()) == {kind}


def test_database_that_cannot_be_copied_is_no_loss(database: tuple[Path, Stream], directory: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    settings = json.dumps(request(directory, [database[1]], {0: 12}, copies=directory))
    done = subprocess.run(
        command("powercut.readback"), input=settings.encode() + b"\n", capture_output=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1])),
    )  # fmt: skip
    assert b"File too large" in done.stdout and b"missing" not in done.stdout
