"""Which connection brings what is read from a device: a file stands for it, and made-up counters for the kernel's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fstui.measure.helpers.nbd_connection import connection, received

MIB = 1 << 20
LINE = "ESTAB 0 0           127.0.0.1:{port}   127.0.0.1:10809 cubic bytes_sent:27 bytes_received:{bytes} segs_out:13"


def looks(*steps: tuple[int, int]) -> Iterator[str]:
    """What two connections have brought at each look."""
    for one, two in steps:
        yield f"{LINE.format(port=49846, bytes=one)}\n{LINE.format(port=33612, bytes=two)} \n"


@pytest.fixture
def device(tmp_path: Path) -> str:
    path = tmp_path / "device"
    path.write_bytes(bytes(2 * MIB))
    return str(path)


def test_the_one_that_grows_with_what_is_read(device: str) -> None:
    told = looks((70, 70), (70, 70 + MIB + 128), (200, 2 * MIB), (200, 2 * MIB + (3 << 18) + 64))
    assert connection(device, lambda: next(told)) == "127.0.0.1:33612 127.0.0.1:10809"


@pytest.mark.parametrize("steps", [
    ((0, 0), (MIB, MIB), (MIB, MIB), (2 * MIB, 2 * MIB)),
    ((0, 0), (5 * MIB, 0), (5 * MIB, 0), (9 * MIB, 0)),
    ((0, 0), (MIB, 0), (MIB, 0), (MIB, 3 << 18)),
    ((0, 0), (0, 0), (0, 0), (0, 0)),
], ids=["neighbours that read as much", "one that is busy", "each once", "none that is seen"])  # fmt: skip
def test_where_none_stands_out_nothing_is_told(device: str, steps: tuple[tuple[int, int], ...]) -> None:
    told = looks(*steps)
    with pytest.raises(OSError, match="stands out"):
        connection(device, lambda: next(told))


def test_other_lines_tell_nothing() -> None:
    assert received("LISTEN 0 1 0.0.0.0:22 0.0.0.0:*\n\nESTAB 0 0 [::1]:5 [::1]:6 cubic\n") == {}
