"""Flushes after growing amounts of writes."""

import errno
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fstui.measure.probes.dirty_flush import FlushMeasurement
from fstui.measure.wire.flush_growth import Point
from fstui.measure.wire.stdio import CallError


@pytest.fixture
def flushes(tmp_path: Path) -> Iterator[FlushMeasurement]:
    """Limit the file to half a block (RLIMIT_FSIZE), without the signal."""
    path = tmp_path / "data"
    path.touch()
    try:
        made = FlushMeasurement({"file_bytes": 1 << 20, "seconds": 0.1, "path": str(path)})
    except CallError:
        pytest.skip("no O_DIRECT here")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    yield made
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)
    os.close(made.fd)


def test_short_first_write_is_refused_before_the_clock_starts(flushes: FlushMeasurement) -> None:
    with pytest.raises(CallError) as failed:
        flushes.try_direct()
    assert (failed.value.call, failed.value.errno) == ("pwrite", errno.EFBIG)


def test_amount_that_was_cut_short_is_not_timed(flushes: FlushMeasurement) -> None:
    with pytest.raises(CallError) as failed:
        flushes.measure_once("sequential", Point(1 << 20))
    assert (failed.value.call, failed.value.errno) == ("pwrite", errno.EFBIG)
