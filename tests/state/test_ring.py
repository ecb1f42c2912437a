"""The ring on disk: its limit, kills, a full disk."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fstui.state import ring
from fstui.state.ring import Ring
from tests.real import disks


def records(directory: Path) -> list[bytes | None]:
    return [data for path in ring.files(directory) for data in ring.objects(path)]


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
    assert records(tmp_path) == [b'{"at":0}', b'{"at":1}', b'{"at":2}', b'{"at":3}']


def test_the_ring_never_exceeds_its_limit(tmp_path: Path) -> None:
    made = Ring(tmp_path, ring.MIN_BYTES)
    sizes = []
    for _ in range(40):
        fill(made, 100)
        sizes.append(size(tmp_path))
    assert max(sizes) <= ring.MIN_BYTES
    assert sizes[-1] > ring.MIN_BYTES / 2
    kept = records(tmp_path)
    assert None not in kept and len(kept) > 500


def test_a_torn_record_costs_only_itself(tmp_path: Path) -> None:
    made = Ring(tmp_path)
    made.write({"at": 1})
    (path,) = ring.files(tmp_path)
    with path.open("ab") as file:
        file.write(ring.encode({"at": 2})[:-5])
    Ring(tmp_path).write({"at": 3})
    assert records(tmp_path) == [b'{"at":1}', None, b'{"at":3}']


def test_a_copy_that_a_power_cut_left_empty_is_not_used(tmp_path: Path) -> None:
    made = Ring(tmp_path)
    made.write({"at": 1})
    made.close()
    (path,) = ring.files(tmp_path)
    ring.copy_of(path).write_bytes(b"")
    Ring(tmp_path)
    assert records(tmp_path) == [b'{"at":1}']


def test_a_finished_file_is_compressed_and_later_removed(tmp_path: Path) -> None:
    made = Ring(tmp_path)
    for at in range(3):
        made.write({"at": at})
        made.close()
    assert [path.suffix for path in ring.files(tmp_path)] == [".gz", ".gz", ".log"]
    assert records(tmp_path) == [b'{"at":0}', b'{"at":1}', b'{"at":2}']
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"no gzip", lambda data: b""])
def test_a_damaged_copy_costs_only_its_records(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    (tmp_path / "00000001.log.gz").write_bytes(damage(gzip.compress(ring.encode({"at": 1}) * 50)))
    (tmp_path / "00000002.log").write_bytes(ring.encode({"at": 2}))
    assert records(tmp_path)[-1] == b'{"at":2}'


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    for name in ("lock", "notes.log", "00000001.log.gz.bak"):
        (tmp_path / name).write_text("mine")
    fill(Ring(tmp_path, ring.MIN_BYTES), 3000)
    assert all((tmp_path / name).read_text() == "mine" for name in ("lock", "notes.log", "00000001.log.gz.bak"))


@pytest.mark.root
def test_a_full_disk_costs_old_records_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring, "FREE_BYTES", 0)
    with disks.mounted("fstui-tests", tmp_path / "full", "tmpfs", "size=2M") as directory:
        made = Ring(directory)
        made.write({"at": "old"})
        made.close()
        with (directory / "others").open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                os.write(file.fileno(), bytes(4096))
        fill(made, 100)
        assert b'{"at":"old"}' not in records(directory)
        assert made.dropped and made.trouble == "No space left on device"
        (directory / "others").unlink()
        made.write({"at": "after"})
        assert b'"dropped":' in (records(directory)[-1] or b"")
    assert made.dropped == 0


def test_room_for_others_is_left_on_a_nearly_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [ring.FREE_BYTES]
    monkeypatch.setattr(ring, "free_bytes", lambda _: free[0])
    made = Ring(tmp_path)
    made.write({"at": 1})
    made.close()
    free[0] -= 1
    made = Ring(tmp_path)
    made.write({"at": 2})
    assert (records(tmp_path), made.dropped) == ([], 1)
    free[0] += 1
    made._checked_s -= 10
    made.write({"at": 3})
    assert records(tmp_path) == [b'{"at":3,"dropped":1,"trouble":"less than 64 MiB are free"}']


def test_a_line_with_a_wrong_checksum_is_damaged() -> None:
    line: Any = ring.encode({"at": 1})
    assert ring.decode(line) == b'{"at":1}'
    assert ring.decode(line.replace(b"1", b"2")) is None
    assert ring.decode(b"\n") is None
