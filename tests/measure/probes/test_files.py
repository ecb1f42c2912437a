"""The file that a probe makes."""

import errno
import os
from pathlib import Path

import pytest

from fstui.measure.probes.files import create_file, give_up_if_slow
from fstui.measure.wire.stdio import CallError

MIB, S = 1 << 20, 1_000_000_000


@pytest.mark.parametrize(
    ("done", "elapsed_s"), [(0, 29), (40, 31), (63, 90), (12, 15)], ids=["at first", "a card", "nearly done", "begun"]
)
def test_slow_storage_is_given_time(done: int, elapsed_s: int) -> None:
    give_up_if_slow(done * MIB, 64 * MIB, elapsed_s * S)


@pytest.mark.parametrize(("done", "size"), [(0, 64), (15, 64), (15, 10_000)])
def test_storage_that_would_take_minutes_is_given_up(done: int, size: int) -> None:
    with pytest.raises(CallError, match="too slow for a file of that size") as given_up:
        give_up_if_slow(done * MIB, size * MIB, 32 * S)
    assert (given_up.value.call, given_up.value.errno) == ("pwrite", errno.ETIMEDOUT)


@pytest.mark.parametrize("refusal", [errno.EINVAL, errno.EIO])
def test_filesystem_without_fsync_for_directories_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    """HFS has none. A failing fsync is an error."""
    fsync = os.fsync

    def refused(fd: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(refusal, os.strerror(refusal))
        fsync(fd)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", refused)
    settings = {"path": "data", "file_bytes": 4096, "offsets": "append", "prefill": "none"}
    if refusal == errno.EINVAL:
        create_file(settings)
        assert Path("data").exists()
    else:
        with pytest.raises(CallError, match=os.strerror(refusal)):
            create_file(settings)
        assert not Path("data").exists()
