"""Child processes: started isolated, ended by a closed stdin, abandoned when they hang."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from itertools import count
from pathlib import Path

import pytest

import fstui
from fstui.measure import children
from fstui.measure.children import Child, NoReply, ShutdownDeadline, call_helper, call_in_child
from fstui.model.errors import Refused
from fstui.state import runs

INSPECT = "measure.helpers.directory.inspect"


async def keeper(path: Path) -> Child:
    """Return a child that holds a directory until its stdin closes."""
    child = await Child.start("measure.helpers.directory", "keep")
    child.send(json.dumps(str(path)))
    assert json.loads(await child.read_line())["ready"]
    return child


async def test_silent_child_is_abandoned() -> None:
    with pytest.raises(NoReply, match=r"X did not answer within .*: its disk or server may hang"):
        await call_helper(INSPECT, "/", timeout_s=0, where="X")


async def test_closed_stdin_ends_a_child(tmp_path: Path) -> None:
    child = await keeper(tmp_path / ".fstui-1")
    assert await child.reap(60) == 0
    assert list(tmp_path.iterdir()) == []
    child.send("anything")  # nothing happens: the child has ended
    child.hang_up()


async def test_child_that_does_not_end_in_time_is_abandoned(tmp_path: Path) -> None:
    child = await keeper(tmp_path / ".fstui-1")
    os.kill(child.pid, signal.SIGSTOP)
    assert await child.reap(0.01) is None
    assert await child.reap(60) == -signal.SIGKILL
    child.abandon()  # twice is no error


async def test_ctrl_c_does_not_reach_a_child(tmp_path: Path) -> None:
    child = await keeper(tmp_path / ".fstui-1")
    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    assert await child.reap(60) == 0


async def test_other_output_than_frames_is_an_error(tmp_path: Path) -> None:
    child = await keeper(tmp_path / ".fstui-1")
    child.hang_up()
    with pytest.raises(ValueError, match="not a frame"):
        [frame async for frame in child.read_frames()]
    await child.reap(60)


async def test_child_is_isolated_from_its_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the directory that it is started in nor PYTHON… variables reach a child."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('customised')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert (await call_helper(INSPECT, ".", timeout_s=60, where="X"))["path"] == str(tmp_path)


def test_child_starts_from_a_zip(tmp_path: Path) -> None:
    package = Path(fstui.__file__).parent
    archive = tmp_path / "fstui.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in package.rglob("*.py"):
            packed.write(path, path.relative_to(package.parent))
    program = (
        "import asyncio, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from fstui.measure import children\n"
        "assert children.__file__.startswith(sys.argv[1])\n"
        "print(asyncio.run(children.call_helper('measure.helpers.directory.inspect', '/', timeout_s=60))['path'])\n"
    )
    call = [sys.executable, "-c", program, str(archive)]
    assert subprocess.run(call, cwd=tmp_path, check=True, capture_output=True).stdout == b"/\n"


async def test_parallel_calls_do_not_mix_their_results(tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(8)]
    for place in places:
        place.mkdir()
    found = await asyncio.gather(*(call_helper(INSPECT, str(place), timeout_s=60, where="X") for place in places))
    assert [one["path"] for one in found] == [str(place) for place in places]


async def test_result_and_exception_of_a_call_are_returned(tmp_path: Path) -> None:
    assert await call_in_child(os.getppid) == os.getpid()
    assert await call_in_child(sorted, [3, 1, 2]) == [1, 2, 3]
    with pytest.raises(FileNotFoundError):
        await call_in_child(os.stat, tmp_path / "nothing")
    with pytest.raises(Refused, match="no saved run"):
        await call_in_child(runs.find, "no such run")


async def test_call_that_hangs_is_abandoned() -> None:
    with pytest.raises(NoReply):
        await call_in_child(time.sleep, 60, timeout_s=0.5)


async def test_idle_disk_is_not_waited_for_after_a_stop() -> None:
    deadline = ShutdownDeadline(lambda: True, lambda disk: 7, hung_disks=set())
    children.SHUTDOWN_DEADLINE.set(deadline)
    async with asyncio.timeout(60) as limit:
        with pytest.raises(NoReply):
            await call_in_child(time.sleep, 300, timeout_s=300)
    assert not limit.expired()
    assert deadline.timeout_s("home") < deadline.timeout_s("target")  # less patience after the first failure


async def test_child_is_waited_for_while_its_disk_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STOPPING_TIMEOUT_S", 0.2)
    completed, asked = count(), []

    def disk_progress(disk: children.DiskRole) -> int:
        asked.append(disk)
        return next(completed)

    children.SHUTDOWN_DEADLINE.set(ShutdownDeadline(lambda: True, disk_progress, hung_disks=set()))
    await call_in_child(time.sleep, 1.0)
    assert set(asked) == {"home"}


async def test_child_that_dies_during_a_call_is_an_error() -> None:
    with pytest.raises(OSError, match="child process was killed"):
        await call_in_child(os._exit, 3)


def test_cancelled_call_prints_nothing() -> None:
    program = "import asyncio, time\nfrom fstui.measure.children import call_in_child\n"
    program += "async def ask(): await asyncio.wait_for(call_in_child(time.sleep, 60), 1)\n"
    program += "try: asyncio.run(ask())\nexcept TimeoutError: print('left')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("left\n", "", 0)


async def test_program_that_starts_slowly_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = ["sh", "-c", 'until [ -e "$0" ]; do :; done; exec "$@"', str(tmp_path / "go")]
    start = children.command
    monkeypatch.setattr(children, "command", lambda *words: [*busy, *start(*words)])
    asked = asyncio.ensure_future(call_helper(INSPECT, str(tmp_path), timeout_s=0.5, where="X"))
    await asyncio.wait([asked], timeout=0.8)
    (tmp_path / "go").touch()
    assert (await asked)["path"] == str(tmp_path)


async def test_child_cancelled_while_starting_is_not_waited_for() -> None:
    for turns in range(12):
        starting = asyncio.ensure_future(Child.start("measure.helpers.directory", "keep"))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        done, _ = await asyncio.wait({starting}, timeout=60)
        assert done, f"cancelled after {turns} turns of the loop"
        if not starting.cancelled():
            starting.result().abandon()


ENDING = """
import asyncio, sys
from fstui.measure.children import Child

async def end_after(turns):
    starting = asyncio.ensure_future(Child.start("measure.helpers.directory", "keep"))
    for _ in range(turns):
        await asyncio.sleep(0)
    return starting

for turns in range(12):
    asyncio.run(end_after(turns))
"""


def test_loop_ends_while_a_child_is_being_started() -> None:
    """At its end all tasks are cancelled at once, the start itself among them."""
    subprocess.run([sys.executable, "-c", ENDING], cwd=Path(fstui.__file__).parents[1], check=True, timeout=60)


async def test_cancellation_at_the_exit_of_a_child_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python 3.11, asyncio.wait_for returns the result instead, and the caller goes on."""
    child = await Child.start("measure.helpers.call")

    async def exit_while_cancelled() -> int:
        calling.cancel()
        return 0

    async def call() -> None:
        await child.reap(60.0)
        await asyncio.sleep(0)

    monkeypatch.setattr(child, "_wait_for_exit", exit_while_cancelled)
    calling = asyncio.ensure_future(call())
    with pytest.raises(asyncio.CancelledError):
        await calling
    child.abandon()
