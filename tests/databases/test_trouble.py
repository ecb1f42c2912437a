"""Errors: one clear sentence, finished steps are kept, and nothing is left behind."""

import asyncio
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.sysbench import Sysbench
from fstui.measure.probes.sysbench import explain_full_disk
from fstui.measure.wire.stdio import ProgramError
from fstui.model.events import RunFinished, StepPreparing
from fstui.model.plan import PlannedStep
from fstui.model.run import Run
from fstui.model.steps import Failure
from fstui.runs.machine.base import StepServer
from fstui.runs.serving import DatabaseServers
from fstui.runs.session import Session
from fstui.state import ledger
from tests.databases import servers
from tests.databases.servers import GIB, left_in, processes_of
from tests.real import disks, headless
from tests.real.disks import Storage

ONE = ("server=mariadb", "durability=high", "workload=oltp_update_index")
WAIT_S = 60
FULL = re.compile("full|no space left", re.IGNORECASE)


def begun(
    directory: Path, event: str, *settings: str, one: tuple[str, ...] = ONE
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Start a run and read its events up to the first of that kind in its first step."""
    words = headless.set_options(*one, "warmup=0", *settings)
    return headless.started_run(servers.without_disk_steps(directory), directory, *words, event=event)


def silent(process: subprocess.Popen[bytes]) -> None:
    """Read events until the server has not answered for a while."""
    assert process.stdout
    for line in process.stdout:
        if (json.loads(line).get("snapshot") or {}).get("stall"):
            return


@contextmanager
def roomy(workshop: Path) -> Iterator[Storage]:
    servers.require("mariadb")
    with disks.on_loop(workshop, size_bytes=8 * GIB) as storage:
        yield storage


def is_gone(directory: Path) -> bool:
    return not left_in(directory) and not processes_of(directory)


@pytest.mark.parametrize(
    ("event", "number"),
    [("RunStarted", signal.SIGTERM), ("StepPreparing", signal.SIGINT), ("StepProgressed", signal.SIGHUP)],
)
def test_stop_at_any_moment_leaves_nothing(workshop: Path, event: str, number: int) -> None:
    with roomy(workshop) as storage:
        with begun(storage.directory, event, "seconds=30") as process:
            process.send_signal(number)
            code, run, _ = headless.finish(process)
        assert code == 128 + number
        assert [step.status for step in run.steps] == ["stopped"] * (event != "RunStarted")
        assert is_gone(storage.directory)
        assert ledger.entries() == []


@pytest.mark.parametrize("event", ["RunStarted", "StepPreparing", "StepProgressed"])
def test_clean_removes_what_kill_9_left(workshop: Path, event: str) -> None:
    with roomy(workshop) as storage:
        with begun(storage.directory, event, "seconds=30") as process:
            kinds = {entry.kind for entry in ledger.entries()}
            assert kinds >= ({"directory", "server"} if event == "StepProgressed" else {"directory"})
            process.kill()
            process.wait()
        settle(lambda: is_gone(storage.directory))
        done = headless.call("clean")
        assert done.returncode == 0, done.stderr.decode()
        assert ledger.entries() == []


def test_shared_memory_of_a_server_ends_with_it(workshop: Path) -> None:
    servers.require("postgresql")
    with disks.on_loop(workshop, size_bytes=8 * GIB) as storage:
        one = ("server=postgresql", "workload=oltp_update_index")
        with begun(storage.directory, "StepProgressed", "seconds=30", one=one):
            (file,) = storage.directory.glob(".fstui-*/server-*/postmaster.pid")
            server = Path("/proc", file.read_text().splitlines()[0])
            shared = server / "root/dev/shm"
            assert list(shared.glob("PostgreSQL.*")) and shared.stat().st_dev != Path("/dev/shm").stat().st_dev
            assert (server / "ns/ipc").readlink() != Path("/proc/self/ns/ipc").readlink()
        settle(lambda: is_gone(storage.directory))


def settle(condition: Any) -> None:
    """Wait for the condition: orphans notice a closed pipe when they are next scheduled."""
    with subprocess.Popen(["sleep", str(WAIT_S)]) as limit:
        while not condition():
            assert limit.poll() is None, f"not within {WAIT_S} s"
        limit.kill()


def test_server_on_a_frozen_filesystem_has_no_verdict(workshop: Path) -> None:
    with roomy(workshop) as storage:
        with begun(storage.directory, "StepProgressed", "seconds=30") as process:
            with disks.frozen(storage.directory):
                silent(process)
                process.send_signal(signal.SIGINT)
                code, run, _ = headless.finish(process)
            settle(lambda: is_gone(storage.directory))
        (step,) = run.steps
        assert step.unanswered and step.unanswered.call == "a transaction" and step.stalls.count == 1
        assert (code, run.verdict, run.speed.answer) == (130, "cannot-tell", "stalls")


def test_killed_server_is_reported_and_replaced(workshop: Path) -> None:
    with roomy(workshop) as storage:
        words = ("seconds=3", "workload=oltp_update_index,oltp_insert")
        with begun(storage.directory, "StepProgressed", *words) as process:
            pid = server_pid(storage.directory)
            gives_nothing_away(pid, storage.directory)
            os.kill(pid, signal.SIGKILL)
            code, run, _ = headless.finish(process)
        assert code == 1 and run.status == "failed"
        assert [step.status for step in run.steps] == ["failed", "finished"]
        error = run.steps[0].error
        assert error and "ended by itself (signal 9)" in error.message, error
        assert is_gone(storage.directory)


@pytest.mark.parametrize(("session", "shared"), [("own", False), ("shared", True)])
def test_sessions_of_server_and_clients_are_a_setting(workshop: Path, session: str, shared: bool) -> None:
    with roomy(workshop) as storage:
        with begun(storage.directory, "StepProgressed", "seconds=30", f"session={session}") as process:
            settle(lambda: {"mariadbd", "sysbench"} <= set(sessions(process.pid)))
            found = sessions(process.pid)
            process.send_signal(signal.SIGTERM)
            headless.finish(process)
        own_session = os.getsid(0)
        assert [found[name] == own_session for name in ("mariadbd", "sysbench")] == [shared, shared]
        assert is_gone(storage.directory)


def sessions(pid: int) -> dict[str, int]:
    """Return the session of each descendant, by the name of its program."""
    found = {}
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            found[child.name()] = os.getsid(child.pid)
    return found


def gives_nothing_away(pid: int, directory: Path) -> None:
    """The server has no password, but no other user reaches it, and it has no rights and no secrets of root."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    assert "0" not in status["Uid"].split()
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    given = {entry.partition("=")[0] for entry in (process / "environ").read_text().split("\0") if entry}
    assert given <= {"PATH", "LC_ALL", "TZ", "LD_LIBRARY_PATH"}
    (socket,) = directory.glob(".fstui-*/server-*/socket")
    assert [path.stat().st_mode & 0o077 for path in (socket.parent, socket.parent.parent)] == [0, 0]


def server_pid(directory: Path) -> int:
    (file,) = directory.glob(".fstui-*/server-*/server.pid")
    return int(file.read_text())


@pytest.mark.parametrize("event", ["StepPreparing", "StepProgressed"])
def test_full_disk_ends_the_step_soon_with_the_reason(workshop: Path, event: str) -> None:
    with roomy(workshop) as storage:
        with begun(storage.directory, event, "seconds=60", "workload=oltp_insert,oltp_update_index") as process:
            filled = fill(storage.directory)
            began = time.monotonic()
            code, run, _ = headless.finish(process)
            assert time.monotonic() - began < 45
            filled.unlink()
        assert (code, len(run.steps)) == (1, 2)
        for step in run.steps:
            assert step.status == "failed" and step.error
            assert step.error.errno == errno.ENOSPC or FULL.search(step.error.message)
        assert is_gone(storage.directory)


def test_failure_on_a_full_disk_names_the_full_disk(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disks.sh("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(workshop))
    try:
        with monkeypatch.context() as there, pytest.raises(ProgramError, match="signal 11; no space left"):
            there.chdir(workshop)
            with explain_full_disk():
                raise ProgramError("sysbench was ended by signal 11")
    finally:
        disks.sh("umount", str(workshop))


def fill(directory: Path) -> Path:
    filler = directory / "filler"
    found = os.statvfs(directory)
    with filler.open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize // 100 * 99)
        file.seek(0, os.SEEK_END)
        with suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(4096))
    return filler


def test_deep_directory_without_access_for_the_server_works(workshop: Path) -> None:
    with roomy(workshop) as storage:
        deep = storage.directory / ("d" * 100)
        deep.mkdir(mode=0o700)
        run = servers.measure(deep, *ONE, scenario=servers.without_disk_steps(storage.directory))
        assert run.status == "finished"
        assert left_in(deep) == []
        assert ledger.entries() == []


def test_two_runs_at_once_do_not_interfere(workshop: Path) -> None:
    with roomy(workshop) as storage:
        scenario = servers.without_disk_steps(storage.directory)
        words = ["run", scenario, str(storage.directory), "--format", "json", *headless.set_options(*ONE, "seconds=1")]
        both = [headless.start(*words) for _ in range(2)]
        runs = [decode_run(process.communicate()[0]) for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert len({run.id for run in runs}) == 2 and all(run.status == "finished" for run in runs)
        assert is_gone(storage.directory)


def test_unreachable_server_is_refused_in_one_sentence(workshop: Path) -> None:
    servers.require("mariadb")
    sentence = servers.refusal(workshop, "server=mariadb", "host=127.0.0.1", "port=1")
    assert sentence.startswith("127.0.0.1:1: 2002: Can't connect to server on '127.0.0.1'")
    assert left_in(workshop) == []


def without(tmp_path: Path, *tools: str) -> dict[str, str]:
    """Return an environment whose PATH contains only these tools."""
    for tool in tools:
        found = subprocess.run(["which", tool], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / tool).symlink_to(found)
    return {**os.environ, "PATH": str(tmp_path)}


def test_missing_sysbench_is_named_with_its_package(workshop: Path, tmp_path: Path) -> None:
    said = servers.refusal(workshop, environment=without(tmp_path))
    assert said == "sysbench is not installed: apt-get install sysbench"


def test_server_that_does_not_start_reports_why(workshop: Path) -> None:
    with roomy(workshop) as storage:
        scenario = workshop / "wrong.toml"
        scenario.write_text(WRONG_OPTION)
        done = headless.call("run", str(scenario), storage.directory, "--format", "json")
        run = decode_run(done.stdout)
        (step,) = run.steps
        assert (done.returncode, step.status) == (1, "failed")
        assert step.error and "did not start" in step.error.message and "no-such-option" in step.error.message
        assert is_gone(storage.directory)


WRONG_OPTION = """
name = "wrong"
title = "Wrong"
question = "Does it start?"

[server]
kind = "mariadb"
options = { no_such_option = 1 }

[[steps]]
name = "read"
probe = "sysbench"
"""


def test_server_without_its_options_is_not_measured(workshop: Path) -> None:
    with roomy(workshop) as storage:
        scenario = workshop / "clamped.toml"
        scenario.write_text(WRONG_OPTION.replace("no_such_option = 1", "innodb_flush_log_at_trx_commit = 9"))
        done = headless.call("run", str(scenario), storage.directory, "--format", "json")
        (step,) = decode_run(done.stdout).steps
        assert (done.returncode, step.status, step.ops) == (1, "failed", 0)
        assert step.error and "innodb_flush_log_at_trx_commit = 9 was requested, 3 is in force" in step.error.message
        assert is_gone(storage.directory)


def test_server_without_access_to_the_directory_names_its_user(workshop: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is missing: apt-get install util-linux")
    with roomy(workshop) as storage:
        closed = storage.directory / "closed"
        closed.mkdir(mode=0o700)
        without_capability = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
        settings = headless.set_options(*ONE, "seconds=1")
        words = ["run", servers.without_disk_steps(storage.directory), str(closed), "--format", "json", *settings]
        done = headless.call(*words, within=without_capability)
        step = decode_run(done.stdout).steps[-1]
        assert (done.returncode, step.status) == (1, "failed")
        assert step.error and "choose a directory that this user can reach" in step.error.message
        assert is_gone(closed)


async def skipped(directory: Path, at: int) -> Run:
    """Two steps use one server. The first is skipped at this message of its preparation."""
    session = Session.local()
    workloads = "oltp_update_index,oltp_write_only"
    settings = {"server": "mariadb", "durability": "high", "workload": workloads, "seconds": "1"}
    site, plan = await session.plan_by_name("sysbench-oltp", str(directory), settings)
    steps = tuple(step for step in plan.steps if isinstance(step.settings, Sysbench))
    running = session.start(msgspec.structs.replace(plan, steps=steps), site)
    heard = 0
    async for event in running.events():
        if isinstance(event, StepPreparing) and not event.server_s:
            heard += 1
            if heard == at:
                running.skip_step()
        if isinstance(event, RunFinished):
            return event.run
    raise AssertionError("the run did not finish")


@pytest.mark.parametrize(
    ("at", "fills"), [(1, [True]), (2, [True, True])], ids=["while its server starts", "while its tables are filled"]
)
def test_step_after_a_skipped_step_fills_its_tables(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, at: int, fills: list[bool]
) -> None:
    serve, filled = DatabaseServers.serve, []

    async def watched(
        self: DatabaseServers, planned: PlannedStep, ending: asyncio.Event, sync_s: float
    ) -> StepServer | Failure | None:
        served = await serve(self, planned, ending, sync_s)
        filled.extend([served.probe_settings["fill"]] if isinstance(served, StepServer) else [])
        return served

    monkeypatch.setattr(DatabaseServers, "serve", watched)
    with roomy(workshop) as storage:
        run = asyncio.run(skipped(storage.directory, at))
        assert [(step.status, step.ops > 0) for step in run.steps] == [("stopped", False), ("finished", True)]
        assert filled == fills  # otherwise half a table would be measured
        assert is_gone(storage.directory)
