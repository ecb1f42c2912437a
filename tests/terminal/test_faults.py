"""A defect in fstui leaves a sentence on the terminal, and a traceback only on request."""

import sys
from pathlib import Path

import pytest

from tests.terminal.pty_app import PtyApp

_BROKEN = """
from fstui.cli import main
from fstui.runs.machine.local import LocalMachine
def survey(self):
    raise KeyError("sda")
LocalMachine.survey = survey
main()
"""

_FAILING_WORKER = """
from fstui.cli import main
from fstui.tui.screens.storage import StorageScreen
from textual import work
@work
async def read(self):
    self.part("missing")
StorageScreen.read_saved_runs = read
main()
"""

_WAITING = """
import threading
from fstui.cli import main
from fstui.tui import app
def run_app(session, directory):
    threading.Thread(target=threading.Event().wait).start()
    print("waits")
    return 129
app.run_app = run_app
main()
"""


@pytest.mark.parametrize(("debug", "last"), [("", "FSTUI_DEBUG=1 shows where."), ("1", "KeyError: 'sda'")])
def test_fault_in_the_survey(tmp_path: Path, debug: str, last: str) -> None:
    with PtyApp(state=tmp_path, environment={"FSTUI_DEBUG": debug}, command=(sys.executable, "-c", _BROKEN)) as app:
        app.read_until(last, 30)
        assert (b"Traceback" in app.output) == bool(debug)
        assert app.process.wait(30) == 1


def test_failing_worker_gives_exit_status_1(tmp_path: Path) -> None:
    with PtyApp(state=tmp_path, command=(sys.executable, "-c", _FAILING_WORKER)) as app:
        app.read_until("NoMatches: ", 30)
        assert app.process.wait(30) == 1


def test_endless_thread_does_not_delay_the_end(tmp_path: Path) -> None:
    with PtyApp(state=tmp_path, command=(sys.executable, "-c", _WAITING)) as app:
        app.read_until("waits", 30)
        assert app.process.wait(30) == 129
