"""Imports take time, so commands import no more than they need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.pty_app import PtyApp

HEAVY = ("textual", "rich", "click", "msgspec", "psutil", "pyudev", "sh", "asyncio")


def modules_after(*arguments: str) -> set[str]:
    program = (
        "import atexit, json, os, sys\n"
        "sys.argv[0] = 'fstui'\n"
        "atexit.register(lambda: os.write(2, json.dumps([m.partition('.')[0] for m in sys.modules]).encode()))\n"
        "from fstui.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=False)
    return set(json.loads(done.stderr.rpartition(b"\n")[2]))


def test_python_m_fstui_works() -> None:
    done = subprocess.run([sys.executable, "-m", "fstui", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fstui ")


def test_the_version_needs_no_heavy_import() -> None:
    assert modules_after("--version").isdisjoint(HEAVY)


def test_help_imports_no_command() -> None:
    assert modules_after("--help").isdisjoint({"textual", "psutil", "pyudev", "sh", "asyncio"})


@pytest.mark.parametrize("arguments", [("list",), ("scenarios",), ("history",), ("schema",), ("clean",)])
def test_commands_load_neither_textual_nor_psutil(arguments: tuple[str, ...]) -> None:
    assert modules_after(*arguments).isdisjoint({"textual", "psutil", "sh"})


def test_the_first_screen_needs_no_psutil() -> None:
    program = (
        "import asyncio, sys\n"
        "from fstui.runs.session import Session\n"
        "from fstui.tui.app import FstuiApp\n"
        "async def first_screen():\n"
        "    async with FstuiApp(Session.local()).run_test() as pilot:\n"
        "        await pilot.pause()\n"
        "        looks = (w.wait() for w in pilot.app.workers if w.group == 'space')\n"
        "        await asyncio.gather(*looks, return_exceptions=True)\n"  # a new mount starts another one
        "        await pilot.pause()\n"
        "asyncio.run(first_screen())\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert "textual" in done.stdout.split() and {"psutil", "sh", "html.entities"}.isdisjoint(done.stdout.split())


def test_the_app_does_not_load_openssl(tmp_path: Path) -> None:
    with PtyApp(str(tmp_path), state=tmp_path) as app:
        app.read_until("fsync-rate", 60)
        maps = Path(f"/proc/{app.process.pid}/maps").read_text()
    assert maps and "libcrypto" not in maps


def test_the_first_screen_needs_no_rules() -> None:
    program = (
        "import asyncio, sys\n"
        "from fstui.runs.session import Session\n"
        "from fstui.tui.app import FstuiApp\n"
        "from fstui.tui.screens.storage import StorageScreen\n"
        "StorageScreen.survey = lambda screen: print(len(screen.rows), *sys.modules)\n"
        "async def first_frame():\n"
        "    async with FstuiApp(Session.local()).run_test() as pilot:\n"
        "        await pilot.pause()\n"
        "asyncio.run(first_frame())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    rows, *loaded = done.stdout.splitlines()[0].split()
    later = {"fstui.judge", "fstui.model.run", "fstui.runs.site", "fstui.runs.startup", "ctypes"}
    assert int(rows) > 0 and later.isdisjoint(loaded)


def test_the_app_starts_without_click(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from fstui.cli import execution\n"
        "execution.start = lambda *directory: print(*directory, *sys.modules)\n"
        "execution.execute(sys.argv[1:])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, check=True, text=True)
    directory, *loaded = done.stdout.split()
    assert directory == str(tmp_path) and "click" not in loaded


@pytest.mark.slow
def test_a_headless_run_loads_no_textual(scenario: str, target: object) -> None:
    loaded = modules_after("run", scenario, str(target))
    assert {"textual", "sh"}.isdisjoint(loaded)
    assert "asyncio" in loaded
