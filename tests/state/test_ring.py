"""The ring on disk: its limit, kills, a full disk."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fstui.state import ring
from fstui.state.ring import Ring
from tests.real import disks


def records(directory: Path) -> list[object]:
    """Return what was recorded as ``at``."""
    return [json.loads(line)["at"] for path in ring.files(directory) for line in ring.lines(path)]


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def fill(made: Ring, number: int) -> None:
    for at in range(number):
        made.write({"at": at, "noise": os.urandom(500).hex()})


def test_records_are_read_in_the_order_of_writing(tmp_path: Path) -> None:
    for first in (0, 2):
        made = Ring(tmp_path)
        made.write({"at": first})
        made.write({"at": first + 1})
    assert records(tmp_path) == [0, 1, 2, 3]
    assert [ring.start_time_s(path) for path in ring.files(tmp_path)] == [0, 2]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_the_ring_never_exceeds_its_limit(tmp_path: Path) -> None:
    made = Ring(tmp_path, ring.MIN_BYTES)
    sizes = []
    for _ in range(40):
        fill(made, 100)
        sizes.append(size(tmp_path))
    assert max(sizes) <= ring.MIN_BYTES
    assert sizes[-1] > ring.MIN_BYTES / 2
    assert len(records(tmp_path)) > 500


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (lambda data: data, [0, 1, 2]),  # as after kill -9: the end of the stream is missing
        (lambda data: data[:-9], [0, 1]),
        (lambda data: b"no gzip", []),
        (lambda data: b"", []),
    ],
)
def test_a_torn_file_costs_only_its_last_records(
    tmp_path: Path, damage: Callable[[bytes], bytes], kept: list[int]
) -> None:
    made = Ring(tmp_path)
    for at in range(3):
        made.write({"at": at})
    (path,) = ring.files(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    Ring(tmp_path).write({"at": 3})
    assert records(tmp_path) == [*kept, 3]


def test_a_damaged_place_costs_the_rest_of_its_file(tmp_path: Path) -> None:
    made = Ring(tmp_path)
    fill(made, 100)
    (path,) = ring.files(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(512) + data[len(data) // 2 + 512 :])
    Ring(tmp_path).write({"at": 100})
    kept = records(tmp_path)
    assert 45 <= len(kept) < 60 and kept[-1] == 100


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    names = ("lock", "notes.gz", "00000001-1.gz.bak")
    for name in names:
        (tmp_path / name).write_text("mine")
    fill(Ring(tmp_path, ring.MIN_BYTES), 3000)
    assert all((tmp_path / name).read_text() == "mine" for name in names)


@pytest.mark.root
def test_a_full_disk_costs_old_records_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring, "MIN_FREE_BYTES", 0)
    with disks.mounted("fstui-tests", tmp_path / "full", "tmpfs", "size=2M") as directory:
        made = Ring(directory)
        made.write({"at": -1})
        made.close()
        with (directory / "others").open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                os.write(file.fileno(), bytes(4096))
        fill(made, 100)
        assert -1 not in records(directory)
        assert made.dropped_records and made.trouble == "No space left on device"
        (directory / "others").unlink()
        made.write({"at": 0})
        assert b'"dropped":' in list(ring.lines(ring.files(directory)[-1]))[-1]
    assert made.dropped_records == 0


def test_room_for_others_is_left_on_a_nearly_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [ring.MIN_FREE_BYTES]
    monkeypatch.setattr(ring, "free_bytes", lambda _: free[0])
    made = Ring(tmp_path)
    made.write({"at": 1})
    free[0] -= 1
    made.write({"at": 2})
    assert (records(tmp_path), made.dropped_records) == ([], 1)
    free[0] += 1
    made.write({"at": 3})
    (line,) = ring.lines(*ring.files(tmp_path))
    assert json.loads(line) == {"at": 3, "dropped": 1, "trouble": "less than 64 MiB is free"}
