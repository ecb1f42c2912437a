import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from fstui.runs import scenarios
from fstui.state import paths
from tests.factories import saved_runs
from tests.real.disks import unmount
from tests.terminal.pty_app import COMMAND, ROOT, PtyApp
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.skipif(not Tmux.here(), reason="tmux is not installed")

FSTUI = f"cd {ROOT} && {shlex.join(COMMAND)}"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def terminal(tmp_path: Path, state: Path) -> Iterator[Tmux]:
    with Tmux({"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(tmp_path / "config")}) as tmux:
        yield tmux


@pytest.fixture
def memory(target: Path) -> Iterator[Path]:
    """Make a filesystem, so that the first screen has a row for it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "fstui-test", str(target)], check=True)
    yield target
    unmount(target)


@pytest.fixture
def freezable(tmp_path: Path, target: Path) -> Iterator[Path]:
    """Make an ext4 on a loop device, which fsfreeze(8) can halt."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(1 << 30)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(target)], check=True)
    yield target
    subprocess.run(["fsfreeze", "-u", str(target)], check=False, stderr=subprocess.DEVNULL)
    try:
        _wait(lambda: not any(path.name.startswith(".fstui-") for path in target.iterdir()) or _cleaned())
    finally:
        unmount(target)


def is_clean(terminal: Tmux) -> bool:
    """Check that the terminal is restored: no alternate screen, a visible cursor, no mouse reports, line editing."""
    terminal.run("clear; stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)' | tr '\\n' '/'")
    terminal.wait_for("isig/")
    states = [terminal.ask(name) for name in ("alternate_on", "cursor_flag", "mouse_any_flag")]
    return states == ["0", "1", "0"] and "isig/icanon/echo/" in terminal.shown()


def short(terminal: Tmux) -> None:
    terminal.press("Tab", "e")
    terminal.wait_for("seconds: a value")
    terminal.type("0.2")
    terminal.press("Enter")
    terminal.wait_for("0.2 s")
    terminal.wait_for("seconds=0.2")  # in the command, which is planned again
    terminal.press("Tab")


def begun(terminal: Tmux, target: Path) -> None:
    """Start a run on the target, up to its first steps."""
    terminal.run(f"{FSTUI} {target}")
    terminal.wait_for("$ fstui run")
    terminal.press("Down", "Down")
    terminal.wait_for("$ fstui run fsync-rate")
    terminal.press("Enter")
    terminal.wait_for("▸ O_DIRECT")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_from_the_first_screen_to_the_verdict_and_out(terminal: Tmux, memory: Path) -> None:
    terminal.run(FSTUI)
    terminal.wait_for("F_AWAIT")
    terminal.press("/")
    terminal.wait_for("words in the mount point")
    terminal.type(memory.name)
    terminal.press("Enter")
    terminal.wait_for(f"filter: {memory.name}")
    terminal.press("Enter")
    terminal.wait_for("$ fstui run")
    short(terminal)
    terminal.press("Enter")
    terminal.wait_for("LAYER")
    pane = terminal.wait_for("FINDING")
    assert "NOT DURABLE" in pane and "NOT DURABLE after" not in pane
    assert "saved " in pane
    terminal.press("q")
    after = terminal.wait_for_prompt()
    assert str(paths.runs_dir()) in after.replace("\n", "")
    assert is_clean(terminal)
    assert list(memory.iterdir()) == []
    assert saved_runs.load("last").verdict == "not-durable"


def test_run_on_this_disk_is_judged_and_can_be_read_again(terminal: Tmux, target: Path) -> None:
    terminal.run(f"{FSTUI} {target}")
    terminal.wait_for("$ fstui run")
    short(terminal)
    terminal.press("Enter")
    terminal.wait_for("FINDING")
    terminal.press("h")
    terminal.wait_for("1 saved run")
    terminal.press("Enter")
    terminal.wait_for("FINDING")
    terminal.press("q")
    terminal.wait_for_prompt()
    assert is_clean(terminal)
    assert list(target.iterdir()) == []
    run = saved_runs.load("last")
    assert run.status == "finished"
    assert len(run.steps) == len(scenarios.load("check").steps)


def sigterm(terminal: Tmux) -> None:
    _app_of(terminal).send_signal(signal.SIGTERM)


def ctrl_c(terminal: Tmux) -> None:
    terminal.press("C-c")


@pytest.mark.parametrize(("stop", "code"), [(sigterm, 143), (ctrl_c, 130)])
def test_stopped_run_is_cleaned_up_and_saved(
    terminal: Tmux, target: Path, stop: Callable[[Tmux], None], code: int
) -> None:
    begun(terminal, target)
    assert [path.name[:7] for path in target.iterdir()] == [".fstui-"]
    stop(terminal)
    terminal.wait_for_prompt()
    terminal.run("echo code $?")
    terminal.wait_for(f"code {code}")
    assert is_clean(terminal)
    assert list(target.iterdir()) == []
    run = saved_runs.load("last")
    assert run.status == "stopped" and run.steps


def test_ctrl_z_suspends_and_fg_resumes(terminal: Tmux, target: Path) -> None:
    terminal.run(f"{FSTUI} {target}")
    terminal.wait_for("$ fstui run")
    terminal.press("C-z")
    terminal.wait_for_prompt()
    assert is_clean(terminal)
    terminal.run("fg")
    terminal.wait_for("$ fstui run")
    terminal.press("q")
    terminal.wait_for_prompt()
    assert is_clean(terminal)


def test_lost_terminal_loses_no_result(tmp_path: Path, state: Path, target: Path) -> None:
    with Tmux({"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(tmp_path / "config")}) as terminal:
        begun(terminal, target)
        app = _app_of(terminal)
    assert not psutil.wait_procs([app], timeout=60)[1]
    assert list(target.iterdir()) == []
    assert saved_runs.load("last").status == "stopped"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_hanging_disk_is_displayed_and_the_app_can_be_left(terminal: Tmux, freezable: Path) -> None:
    begun(terminal, freezable)
    subprocess.run(["fsfreeze", "-f", str(freezable)], check=True)
    terminal.wait_for("has not returned for", "no answer for")
    terminal.press("q")
    terminal.wait_for_prompt()
    assert is_clean(terminal)
    run = saved_runs.load("last")
    assert run.status in ("stopped", "failed")
    assert run.left_behind


def test_the_tests_leave_no_socket_of_tmux() -> None:
    with Tmux({}) as terminal:
        socket = Path(terminal.ask("socket_path"))
        assert socket.exists()
    assert not socket.exists()


def test_linux_console_gets_ascii(tmp_path: Path, state: Path) -> None:
    with Tmux({"FSTUI_ASCII": "1", "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(tmp_path)}) as terminal:
        terminal.run(FSTUI)
        pane = terminal.wait_for("F_AWAIT")
        assert pane.isascii()
        terminal.press("q")
        terminal.wait_for_prompt()


def _app_of(terminal: Tmux) -> psutil.Process:
    return psutil.Process(int(terminal.ask("pane_pid"))).children()[-1]


def _cleaned() -> bool:
    """Run ``fstui clean`` for what the abandoned helper has not removed yet."""
    return subprocess.run([*COMMAND, "clean"], cwd=ROOT, check=False, capture_output=True).returncode == 0


def _wait(until: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not until():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def test_first_painted_frame_is_not_empty(state: Path) -> None:
    with PtyApp(state=state) as app:
        app.read_until("F_AWAIT", 60)
        first_line = app.output.partition(b"\x1b[1;1H")[2][:40]
    assert b"fstui" in first_line


def test_terminal_without_cursor_movement_gets_a_sentence(state: Path) -> None:
    with PtyApp(state=state, environment={"TERM": "dumb"}) as app:
        app.read_until("'fstui run SCENARIO DIR'", 60)
        assert b"\x1b" not in app.output
