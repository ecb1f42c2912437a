import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest

from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure
from fstui.runs.cpu_meter import CpuMeter
from fstui.runs.machine.base import StepServer
from fstui.runs.serving import DatabaseServers
from fstui.state import ledger
from tests.databases import servers
from tests.factories.directories import held


class SlowToEnd:
    """A server that ends only when it is allowed to."""

    def __init__(self) -> None:
        self.stopping, self.may_end = asyncio.Event(), asyncio.Event()
        self.struck_out = False

    async def stop(self) -> str:
        self.stopping.set()
        await self.may_end.wait()
        self.struck_out = True
        return "something is left"


STEP = PlannedStep(name="next", settings=Sysbench(server="mariadb"))


@pytest.fixture
def serving(tmp_path: Path) -> DatabaseServers:
    return DatabaseServers("run", held(tmp_path))


async def test_a_missing_tool_fails_its_step_only(serving: DatabaseServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    failure = await serving.serve(STEP, asyncio.Event(), 0.0)
    assert isinstance(failure, Failure) and failure.message.startswith("sysbench is not installed")


async def test_a_stop_waits_until_the_previous_server_has_ended(serving: DatabaseServers) -> None:
    before, stop = SlowToEnd(), asyncio.Event()
    serving._server = before  # type: ignore[assignment]
    served = asyncio.ensure_future(serving.serve(STEP, stop, 0.0))
    await before.stopping.wait()
    stop.set()
    for _ in range(5):  # the stop was noticed by now
        await asyncio.sleep(0)
    before.may_end.set()
    assert await served is None
    assert before.struck_out and serving.left_behind == ["something is left"]


async def test_a_stop_waits_for_a_server_that_is_starting(serving: DatabaseServers, tmp_path: Path) -> None:
    stop = asyncio.Event()
    served = asyncio.ensure_future(serving.serve(STEP, stop, 0.0))
    for _ in range(5):  # its processes are being started
        await asyncio.sleep(0)
    stop.set()
    assert await served is None
    first = asyncio.current_task()
    assert not [task for task in asyncio.all_tasks() if task is not first and not task.cancelling()]
    await serving.stop()
    assert (ledger.entries(), list(tmp_path.iterdir())) == ([], [])


async def test_the_ledger_names_a_server_while_it_exists(serving: DatabaseServers, tmp_path: Path) -> None:
    servers.require("mariadb")
    assert isinstance(await serving.serve(STEP, asyncio.Event(), 0.0), StepServer)
    (entry,) = ledger.entries()
    assert (entry.kind, entry.what) == ("server", f"{tmp_path}/server-1")
    assert (tmp_path / "server-1").is_dir()
    await serving.stop()
    assert (ledger.entries(), list(tmp_path.glob("server-1"))) == ([], [])


AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
BURN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def used_s(command: str) -> float:
    """Return the figures of a shell that runs this script. The test takes the place of the probe."""
    before = os.times()
    subprocess.run(["sh", "-c", command], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_descendants_of_the_server_count_alive_or_ended() -> None:
    own_s = used_s(BURN)
    shell = """read x; sh -c "$BURN; echo ended"; sh -c 'sh -c "$BURN; echo burnt; read x"; :'; :"""
    with subprocess.Popen(
        ["sh", "-c", shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "BURN": BURN}
    ) as server:
        assert server.stdin and server.stdout
        seen = CpuMeter(server.pid, os.getpid())
        began = time.monotonic()
        server.stdin.write(b"\n")
        server.stdin.flush()
        assert [server.stdout.readline(), server.stdout.readline()] == [b"ended\n", b"burnt\n"]
        elapsed_s = time.monotonic() - began
        found = seen.figures(elapsed_s, clients=1)
        server.stdin.write(b"\n")
    assert found["cpu_s"] > 1.3 * own_s
    assert found["cpu_share"] == pytest.approx(found["cpu_s"] / elapsed_s, rel=0.01)
    assert 0 < found["box_cpu_share"] <= 1
    assert 0 <= found["others_cpu_share"] <= found["box_cpu_share"]


def test_clients_count_after_they_ended() -> None:
    seen = CpuMeter(os.getppid(), os.getpid())
    client_s = used_s(BURN)
    one, many = seen.figures(1.0, clients=1), seen.figures(1.0, clients=10_000)
    assert one["cpu_s"] >= 0.9 * client_s
    assert many["cpu_share"] <= one["cpu_share"]


def test_a_remote_or_ended_server_has_no_share() -> None:
    of_the_box = {"box_cpu_share", "autogroup"} if AUTOGROUP.exists() else {"box_cpu_share"}
    assert set(CpuMeter(None, os.getpid()).figures(1.0, 1)) == of_the_box
    with subprocess.Popen(["sh", "-c", "read x"], stdin=subprocess.PIPE) as server:
        seen = CpuMeter(server.pid, os.getpid())
    assert set(seen.figures(1.0, 1)) == of_the_box
