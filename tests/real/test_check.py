import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from fstui.measure.kinds.documents import decode_run
from fstui.measure.probes.sync_path import blocking_call
from fstui.measure.probes.sysbench import is_frozen
from fstui.model.run import Run
from fstui.proc import ON_FROZEN
from tests.real import disks, headless, processes
from tests.real.hanging import unresponsive_mount


def runs_of(printed: bytes) -> list[Run]:
    return [decode_run(json.dumps(document)) for document in json.loads(printed)["runs"]]


def room(workshop: Path, name: str) -> Path:
    made = workshop / name
    made.mkdir(mode=0o755)
    return made


def test_durable_lying_in_memory_and_full_filesystems(workshop: Path) -> None:
    with ExitStack() as made:
        honest = made.enter_context(disks.on_loop(room(workshop, "honest")))
        lying = made.enter_context(disks.on_loop(room(workshop, "lying"), options="barrier=0"))
        memory = made.enter_context(disks.tmpfs(room(workshop, "memory")))
        full = made.enter_context(disks.on_loop(room(workshop, "full"), size_bytes=64 << 20))
        disks.fill(full.directory, 1 << 20)
        places = [storage.directory for storage in (honest, lying, memory, full)]
        done = headless.call("check", *places, "--yes", "--format", "json", "--fail-on", "suspicious")
        left = [path for place in places for path in place.glob(".fstui-*")]
    assert done.returncode == 3
    first, second, third = runs_of(done.stdout)
    assert first.verdict == "consistent" and not headless.rules_against(first), first.sentence
    assert (second.verdict, third.verdict) == ("not-durable", "not-durable")
    assert b"too full" in done.stderr and left == []
    for run in (first, second, third):
        longest_s = sum(step.latency_ns.max / 1e9 for step in run.steps if step.latency_ns)
        assert sum(step.elapsed_s for step in run.steps) <= 2.0 + longest_s
        assert run.written_bytes <= 7_000_000


def test_read_only_filesystem_is_refused_by_name(workshop: Path) -> None:
    with disks.on_loop(workshop, options="ro") as storage:
        done = headless.call("check", storage.directory)
    assert done.returncode == 2
    assert b"read-only" in done.stderr


def test_silent_and_duplicate_mounts_are_left_out_and_named(workshop: Path) -> None:
    twin = room(workshop, "twin")
    with disks.on_loop(workshop, size_bytes=64 << 20) as storage, unresponsive_mount(workshop) as (silent, within):
        bind = ("sh", "-c", f'mount --bind {storage.directory} {twin} && exec "$@"', "sh")
        done = headless.call("check", "--yes", within=(*within, *bind))
    said = done.stdout.decode()
    assert done.returncode == 1, done.stderr.decode()
    assert "hangs: statvfs has not returned for" in said and str(silent) in said
    assert "the same filesystem as" in said
    assert "consistent" in said


def test_frozen_filesystem_stalls_and_is_not_reported_as_lying(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        scenario = headless.scenario_file(workshop)
        with headless.started_run(scenario, storage.directory, "--set", "seconds=1") as process:
            with disks.frozen(storage.directory):
                assert process.stdout
                for line in process.stdout:
                    event = json.loads(line)
                    if event["event"] == "StepProgressed" and event["snapshot"]["stall"]:
                        break
            _, run, _ = headless.finish(process)
    assert run.speed.answer == "stalls", run.speed
    assert not headless.rules_against(run)


def test_file_creation_on_a_frozen_filesystem_is_named(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        with disks.frozen(storage.directory):
            program = subprocess.Popen([sys.executable, "-c", f"open('{storage.directory}/new', 'x')"])
            assert processes.eventually(lambda: blocking_call(program.pid) == f"openat{ON_FROZEN}")
            assert is_frozen(os.getpid())  # because a child is
        assert program.wait() == 0
    assert not is_frozen(os.getpid())


def test_io_limit_is_named_and_the_disk_is_not_blamed(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        assert storage.device
        with disks.write_limit(storage.device, 20) as within:
            run = headless.measure(headless.scenario_file(workshop), storage, "--medium", "ssd", within=within)
    assert run.speed.answer in {"slow", "stalls"}, run.speed
    assert "I/O limit" in run.speed.title
    assert "he disk may not be the cause: " in run.speed.sentence
