"""The real sysbench fileio as a probe."""

import shutil
from pathlib import Path

import pytest

from fstui.measure.kinds.sysbench_fileio import SysbenchFileio, SysbenchFileioFigures
from fstui.measure.probes.sysbench_fileio import parse_totals
from tests.measure.probes.driving import measure_step

SAYS = """
File operations:
    reads/s:                      0.00
    writes/s:                     2126.05
    fsyncs/s:                     2126.54

General statistics:
    total time:                          2.0038s
    total number of events:              8532

Latency (ms):
         min:                                    0.00
         avg:                                    0.23
         max:                                   53.67
         95th percentile:                        1.23
"""


def test_totals_are_read_without_rounding() -> None:
    found = parse_totals(SAYS.splitlines())
    assert found is not None
    assert (found["writes_per_s"], found["fsyncs_per_s"], found["total_time_s"]) == (2126.05, 2126.54, 2.0038)
    assert found["events"] == 8532
    assert found["latency_ms"] == {"min": 0.0, "avg": 0.23, "max": 53.67, "p95": 1.23}


def test_output_without_a_report_has_no_figures() -> None:
    assert parse_totals(["FATAL: no space"]) is None


needs_sysbench = pytest.mark.skipif(not shutil.which("sysbench"), reason="apt-get install sysbench")


@needs_sysbench
def test_fileio_reports_its_rate_and_leaves_nothing(tmp_path: Path) -> None:
    step = measure_step(tmp_path, SysbenchFileio(seconds=1))
    assert (step.status, step.error) == ("finished", None)
    assert isinstance(step.figures, SysbenchFileioFigures)
    assert step.rate_per_s == pytest.approx(step.figures.writes_per_s, rel=0.01)
    assert step.bytes == step.ops * 16384
    assert list(tmp_path.iterdir()) == []


@needs_sysbench
def test_refusal_of_sysbench_fails_the_step(tmp_path: Path) -> None:
    step = measure_step(tmp_path, SysbenchFileio(seconds=1, fsync_every=-5))
    assert step.status == "failed"
    assert step.error is not None and step.error.call == "sysbench"


@pytest.mark.parametrize("number", ["1.2.3", ".", "9" * 400, "", "-1"])
def test_malformed_number_is_no_figure(number: str) -> None:
    assert parse_totals(SAYS.replace("2126.05", number).splitlines()) is None
    events = parse_totals(SAYS.replace("8532", number).splitlines())
    assert events and events["events"] == 0
