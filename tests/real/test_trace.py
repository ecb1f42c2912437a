import os
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fstui.measure.kinds.documents import decode_run
from fstui.model.counters import DeviceTrace
from fstui.trace.child import RunTrace
from fstui.trace.reader import flush_counter as flush_counter_module
from fstui.trace.reader.flush_counter import FlushCounter, find_device
from tests.real import disks, headless
from tests.real.disks import Storage
from tests.real.neighbours import neighbours
from tests.real.processes import nobody

SYNCS = 400
BLOCK = bytes(4096)


@asynccontextmanager
async def traced(run_id: str, device: str | None) -> AsyncIterator[RunTrace]:
    assert device
    trace = await RunTrace.start(run_id, [device])
    try:
        yield trace
    finally:
        assert await trace.stop() is None


async def during(trace: RunTrace, work: Callable[[], None]) -> DeviceTrace:
    """Return the traced flushes of the device during a block of code."""
    trace.begin(time.monotonic_ns(), pids=())
    work()
    answer = await trace.end(time.monotonic_ns())
    assert answer is not None
    (device,) = answer
    return device


async def rewritten(storage: Storage, count: int = SYNCS, device: str | None = None) -> DeviceTrace:
    """Rewrite and sync a file. Return the traced flushes at ``device``, by default at that of the storage."""
    with written_file(storage.directory) as fd:
        async with traced("rewritten", device or storage.device) as trace:
            return await during(trace, lambda: rewrite(fd, count))


@contextmanager
def written_file(directory: Path) -> Iterator[int]:
    with (directory / "ours").open("w+b") as file:
        file.write(64 * BLOCK)
        file.flush()
        os.fsync(file.fileno())
        yield file.fileno()


def rewrite(fd: int, count: int = SYNCS) -> None:
    for number in range(count):
        os.pwrite(fd, BLOCK, number % 64 * len(BLOCK))
        os.fdatasync(fd)


async def test_each_own_sync_is_one_own_flush_next_to_four_neighbours(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, neighbours(storage.directory, 4):
        seen = await rewritten(storage)
    assert (seen.device, seen.lost, seen.requested_by_us) == (storage.device, 0, SYNCS)
    assert seen.requested_by_others


async def test_few_requests_are_counted_and_timed(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        seen = await rewritten(storage, 10)
    assert seen.requested_by_us == 10
    assert seen.requests
    assert seen.device_flush_ns and seen.device_write_ns
    assert 0 < seen.device_flush_ns.p50 <= seen.device_flush_ns.max


def test_of_many_requests_only_flushes_are_recorded(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording every request would slow the step down."""
    with disks.on_loop(workshop) as storage, written_file(storage.directory) as fd:
        device = find_device(str(storage.device))
        assert device
        witness = FlushCounter("fstui-many", [os.getpid()], [device])
        try:
            monkeypatch.setattr(flush_counter_module, "MAX_BYTES_PER_S", 0)
            many = during_two_reads(witness, lambda: rewrite(fd, 10))
            monkeypatch.undo()
            few = during_two_reads(witness, lambda: rewrite(fd, 10))
        finally:
            witness.remove()
    assert (many["asked_by_us"], many["requests"], many["device_flush_ns"]) == (20, None, None)
    assert few["asked_by_us"] == 20
    assert few["requests"] and few["device_flush_ns"]


def during_two_reads(witness: FlushCounter, work: Callable[[], None]) -> dict[str, Any]:
    """Return the counts of the device in a step that does the work before and after the buffers are read."""
    witness.begin(time.monotonic_ns())
    work()
    witness.empty_buffers()
    work()
    (counts,) = witness.end(time.monotonic_ns())
    return counts


async def test_mount_without_barriers_requests_no_flush(workshop: Path) -> None:
    with disks.on_loop(workshop, options="barrier=0", direct_io=False) as storage, neighbours(storage.directory, 4):
        seen = await rewritten(storage)
    assert (seen.lost, seen.requested_by_us, seen.fua_writes_by_us) == (0, 0, 0)
    assert not seen.requests


async def test_device_without_cache_receives_no_flush_request(workshop: Path) -> None:
    with disks.write_through(workshop) as storage:
        seen = await rewritten(storage, 50)
    assert (seen.requested_by_us, seen.requests, seen.lost) == (0, 0, 0)


async def test_nothing_is_counted_between_a_pause_and_the_next_step(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, written_file(storage.directory) as fd:
        async with traced("pause", storage.device) as trace:
            trace.begin(time.monotonic_ns(), pids=())
            rewrite(fd, 30)
            until_ns = time.monotonic_ns()
            assert trace.pause()
            rewrite(fd, 1000)
            answer = await trace.end(until_ns)
            following = await during(trace, lambda: rewrite(fd, 20))
    assert answer
    assert [seen.requested_by_us for seen in (*answer, following)] == [30, 20]
    assert following.requests


async def test_flushes_of_threads_and_children_count_as_own(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, written_file(storage.directory) as fd:
        async with traced("family", storage.device) as trace:
            first = await during(trace, lambda: in_a_thread_of_a_child(lambda: rewrite(fd, 30)))
            rewrite(fd, 10)
            second = await during(trace, lambda: rewrite(fd, 20))
            nothing = await during(trace, lambda: None)
    assert [seen.requested_by_us for seen in (first, second, nothing)] == [30, 20, 0]
    assert nothing.device_flush_ns is None


def in_a_thread_of_a_child(work: Callable[[], None]) -> None:
    pid = os.fork()
    if not pid:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


async def test_flushes_of_a_layers_threads_are_separate(workshop: Path) -> None:
    """Below a loop device its worker requests flushes, and their origin is unknown."""
    number = workshop.stat().st_dev
    backing = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
    if backing not in os.listdir("/sys/class/block"):
        pytest.skip("the tests' own directory is on no block device")
    with disks.on_loop(workshop) as storage:
        seen = await rewritten(storage, 100, backing)
    assert seen.requested_by_us == 0
    assert seen.requested_by_kernel_threads is not None and seen.requested_by_kernel_threads >= 100


def test_run_next_to_four_neighbours_attributes_flushes(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, neighbours(storage.directory, 4):
        run = headless.measure("fsync-rate", storage)
    assert run.untraced is None
    flushes_of_others = 0
    for name in ("fdatasync", "O_DIRECT+fdatasync", "O_DIRECT+O_DSYNC", "16 writers, fdatasync"):
        step = headless.step_named(run, name)
        (seen,) = (device for device in step.trace or () if device.device == storage.device)
        assert seen.lost == 0
        # the process that waits for space in a full journal checkpoints it, and that flush counts as its own, too:
        # jbd2_log_do_checkpoint() in fs/jbd2/checkpoint.c
        syncs = step.traced_part.syncs if step.traced_part else step.syncs
        assert syncs <= (seen.requested_by_us or 0) <= syncs * 1.02 + step.writers, name
        flushes_of_others += seen.requested_by_others or 0
    assert flushes_of_others


def test_run_without_a_trace_reports_the_reason(workshop: Path) -> None:
    place = workshop / "nobody's"
    place.mkdir()
    shutil.chown(place, "nobody")
    words = ("run", headless.scenario_file(workshop), place, "--format", "json")
    done = headless.call(*words, within=nobody("dac_override"))
    assert done.returncode == 0, done.stderr.decode()
    assert "not traced by the kernel: only root may trace the kernel" in done.stderr.decode()
    run = decode_run(done.stdout)
    assert run.untraced == "only root may trace the kernel"
    assert [step.trace for step in run.steps] == [None]


def test_run_with_trace_off_is_not_traced(workshop: Path) -> None:
    done = headless.call("run", headless.scenario_file(workshop), workshop, "--format", "json", "--trace", "off")
    run = decode_run(done.stdout)
    assert run.untraced is None
    assert [step.trace for step in run.steps] == [None]
