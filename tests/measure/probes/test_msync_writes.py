"""Blocks written through a mapping are measured and judged like any other step."""

import errno
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.msync_writes import MsyncWrites
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.model.settings import Amounts
from fstui.model.steps import Step
from fstui.runs import scenarios
from tests.factories import steps
from tests.factories.evidence import finding, verdict
from tests.measure.probes.driving import measure_step

SCENARIO = """
name = "mine"
title = "Mine"
question = "How long?"
[[steps]]
name = "msync"
probe = "msync_writes"
"""


def msync(directory: Path, **settings: object) -> Step:
    return measure_step(directory, MsyncWrites(**{"seconds": 0.1, "file_bytes": 1 << 20, **settings}))  # type: ignore[arg-type]


@pytest.mark.parametrize("offsets", ["random", "same"])
@pytest.mark.parametrize("block_bytes", [512, 4096, 10_000, 16384])
def test_every_operation_is_a_write_and_a_sync(tmp_path: Path, offsets: str, block_bytes: int) -> None:
    step = msync(tmp_path, offsets=offsets, block_bytes=block_bytes)
    assert (step.status, step.error) == ("finished", None)
    assert step.ops == step.syncs > 0
    assert step.bytes == step.ops * block_bytes
    assert step.write_ns and step.sync_ns and step.latency_ns
    assert list(tmp_path.iterdir()) == []


def test_step_ends_after_the_planned_bytes(tmp_path: Path) -> None:
    step = msync(tmp_path, seconds=64.0, max_bytes_per_s=20 * 4096 // 64, block_bytes=4096)
    assert (step.status, step.ops) == ("finished", 20)


def test_file_that_cannot_be_made_fails_the_step(tmp_path: Path) -> None:
    (tmp_path / "data-1").write_text("another's")
    step = msync(tmp_path)
    assert step.status == "failed" and step.error
    assert (step.error.call, step.error.errno) == ("open", errno.EEXIST)


def planned(file: Path, more: str = "") -> PlannedStep:
    file.write_text(SCENARIO + more)
    return scenarios.expand(scenarios.load(str(file)), {})[1][0]


def test_scenario_may_contain_msync_writes(tmp_path: Path) -> None:
    step = planned(tmp_path / "mine.toml", 'block_bytes = 16384\noffsets = "same"\n')
    assert step.settings == MsyncWrites(seconds=1, block_bytes=16384, offsets="same")
    assert step.settings.rewrites_one_block
    assert step.settings.amounts() == Amounts(written=(64 << 20) + (256 << 20), peak=64 << 20)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("seconds = 0\n", "seconds must be more than 0"),
        ("file_bytes = 2147483648\n", "file_bytes must be between block_bytes and 1073741824"),
        ("file_bytes = 1024\n", "file_bytes must be between block_bytes"),
        ("block_bytes = 0\n", "block_bytes must be between 1 byte and 8 MiB"),
        ('offsets = "append"\n', "It takes random, same"),
        ("writers = 2\n", "there is no key `writers`"),
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(Refused) as refusal:
        planned(tmp_path / "mine.toml", more)
    assert said in str(refusal.value)


def msyncs(flushes: float) -> Step:
    """Return 2 000 operations on a made-up disk, with this many flushes per operation."""
    return replace(steps.step("msync", flushes=flushes), settings=MsyncWrites(block_bytes=16384, file_bytes=1 << 20))


def test_each_msync_expects_a_flush() -> None:
    assert finding(verdict(None, msyncs(1.0)), "flushes-arrive").steps == ("msync",)
    lost = verdict(None, msyncs(0.0))
    assert lost.verdict == "not-durable"
    assert finding(lost, "flushes-missing").steps == ("msync",)
