"""The trace of a run: started if possible, refused in one sentence if not, and always removed."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fstui.databases.leftovers import remove
from fstui.measure.children import command
from fstui.state import ledger
from fstui.trace import child as tracing
from fstui.trace.child import RunTrace, Untraceable
from fstui.trace.reader import flush_counter, tracefs
from fstui.trace.reader.flush_counter import FlushCounter, find_device
from tests.trace.instances import is_there

ROOT = Path(__file__).parents[2]


def any_disk() -> str:
    """A block device that makes requests."""
    for disk in sorted(Path("/sys/class/block").iterdir()):
        if (disk / "mq").exists():
            return disk.name
    pytest.skip("no block device here")


@contextmanager
def recording(name: str, *before: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """Yield the child program and its first answer. ``before``: a command line that runs it."""
    words = [*before, *command("trace.reader.flush_counter")]
    settings = {"name": name, "own": [os.getpid()], "devices": [any_disk()], "entry": None}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
        yield process, json.loads(process.stdout.readline())
    finally:
        process.communicate(timeout=20)


def refusal(*before: str) -> str:
    """The sentence with which it ends."""
    with recording("refused", *before) as (_, answer):
        return str(answer["error"])


@pytest.mark.root
async def test_an_instance_is_in_the_ledger_until_it_is_removed(own_user: Path) -> None:
    trace = await RunTrace.start("one", [any_disk()])
    assert is_there(tracing.instance_path("one"))
    (entry,) = ledger.entries()
    assert (entry.kind, entry.what) == ("trace", "/sys/kernel/tracing/instances/fstui-one")
    problem = await remove(entry)
    assert problem == f"{entry.what}: not removed: another process uses it"
    assert tracefs.Instance(tracefs.find_tracefs(), "fstui-one").read("tracing_on") == "1\n", "it still records"
    assert await trace.stop() is None
    assert ledger.entries() == []
    assert not is_there(tracing.instance_path("one"))


RUN = """
import asyncio, sys
from fstui.trace.child import RunTrace, Untraceable
async def main():
    trace = await RunTrace.start("killed", sys.argv[1:])
    print(trace._child.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def kill_a_run_and_its_child() -> None:
    owner = subprocess.Popen([sys.executable, "-c", RUN, any_disk()], stdout=subprocess.PIPE, cwd=ROOT)
    assert owner.stdout
    child = int(owner.stdout.readline())
    os.kill(child, signal.SIGKILL)
    owner.kill()
    owner.communicate()


@pytest.mark.root
async def test_instances_left_by_kill_9_are_removed_by_the_ledger(own_user: Path) -> None:
    kill_a_run_and_its_child()
    (entry,) = ledger.stale_entries()
    assert is_there(entry.what)
    while (problem := await remove(entry)) is not None:  # until the kernel has let go of the killed child's files
        assert problem.endswith("another process uses it")
    assert not is_there(entry.what)
    assert ledger.stale_entries() == []


@pytest.mark.root
def test_an_instance_is_removed_when_its_run_is_killed(tmp_path: Path) -> None:
    with recording("orphan") as (process, answer):
        assert answer == {"ready": True}
        process.send_signal(signal.SIGTERM)  # ignored: it ends when stdin closes
        assert process.stdin
        process.stdin.close()
        assert process.wait(20) == 0
        process.stdin = None
    assert "fstui-orphan" not in os.listdir(f"{tracefs.find_tracefs()}/instances")


@pytest.mark.root
def test_without_root_it_is_refused() -> None:
    # the capability lets the user read the checkout
    become = (
        "setpriv",
        f"--reuid={pwd.getpwnam('nobody').pw_uid}",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
    )
    assert refusal(*become) == "only root may trace the kernel"


@pytest.mark.root
def test_root_without_the_right_to_mount_is_told_why() -> None:
    if tracefs.mount_point():
        pytest.skip("tracefs is mounted here")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is missing: apt-get install util-linux")
    drop = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    assert refusal(*drop).startswith("tracefs cannot be mounted: Operation not permitted (")


@pytest.mark.root
def test_an_existing_name_is_refused_and_stays() -> None:
    with recording("taken") as (_, first):
        assert first == {"ready": True}
        with recording("taken") as (_, second):
            assert "File exists" in second["error"]
        assert "fstui-taken" in os.listdir(f"{tracefs.find_tracefs()}/instances")


@pytest.mark.root
async def test_without_a_block_device_tracing_is_refused() -> None:
    with pytest.raises(Untraceable, match="no block device"):
        await RunTrace.start("none", [])


@pytest.mark.root
def test_tracing_in_a_pid_namespace_is_refused() -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is missing: apt-get install util-linux")
    assert refusal("unshare", "--pid", "--fork", "--mount-proc").startswith("in a container, process ids differ")


@pytest.mark.root
def test_a_buffer_that_overflows_makes_counts_unknown(tmp_path: Path) -> None:
    device = find_device(any_disk())
    assert device
    witness = FlushCounter("fstui-small", [os.getpid()], [device])
    try:
        witness.instance.write("buffer_size_kb", "4")
        witness.begin(time.monotonic_ns())
        for _ in range(600):
            subprocess.run(["true"], check=True)  # each fork is an event
        (seen,) = witness.end(time.monotonic_ns())
        witness.begin(time.monotonic_ns())
        (after,) = witness.end(time.monotonic_ns())
    finally:
        witness.remove()
    assert seen["lost"] > 0
    assert seen["asked_by_us"] is None
    assert after["lost"] == 0


@pytest.mark.parametrize(
    ("cpus", "available_gib", "kib"), [(2, 24, 16384), (64, 512, 4096), (2, 0.25, 4096), (256, 1, 256), (1, 0, 256)]
)
def test_the_buffers_are_a_small_part_of_the_memory(cpus: int, available_gib: float, kib: int) -> None:
    assert tracefs.bytes_per_cpu(cpus, int(available_gib * (1 << 30))) == kib << 10


def test_every_kind_of_loss_is_counted() -> None:
    stats = "entries: 7\noverrun: 1\ncommit overrun: 2\nbytes: 9\nnow ts:  2.5\ndropped events: 4\nread events: 8\n"
    assert tracefs.lost_events(stats) == 7


def test_removal_says_the_kernels_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_counter, "find_tracefs", lambda: str(tmp_path))
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        flush_counter.remove("fstui-1")
