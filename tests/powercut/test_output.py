"""The files of one writer: a partly written record does not count."""

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fstui.measure.wire.stdio import CallError
from fstui.powercut.output import WriterFiles, fill_file
from fstui.powercut.records import Stream

RUN = "00" * 8
HALF_A_SECOND_BLOCK = 6144
OVERWRITES = Stream.make(0, "fdatasync", "overwrite", 4096, 8192)


@contextmanager
def small_files(most_bytes: int) -> Iterator[None]:
    """Limit the size of files, only here: pytest may print into one. A write fails instead of killing the process."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_short_write_while_filling_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "w0").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError) as failed, small_files(HALF_A_SECOND_BLOCK):
        fill_file(OVERWRITES, "w0", RUN)
    assert (failed.value.call, failed.value.errno) == ("pwrite", errno.EFBIG)


def test_short_write_is_never_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "w0").mkdir()
    (tmp_path / "w0" / "0").touch()
    monkeypatch.chdir(tmp_path)
    output = WriterFiles(RUN, OVERWRITES)
    with pytest.raises(CallError) as failed, small_files(HALF_A_SECOND_BLOCK):
        output.put(1)
    assert (failed.value.call, failed.value.errno) == ("pwrite", errno.EFBIG)
    os.close(output.fd)
    os.close(output.directory_fd)
