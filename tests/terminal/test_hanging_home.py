import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.hanging import unresponsive_mount
from tests.terminal.pty_app import COMMAND, ROOT
from tests.terminal.tmux import PROMPT, Tmux

pytestmark = [pytest.mark.root, pytest.mark.skipif(not Tmux.here(), reason="tmux is not installed")]
SAID = "did not answer within"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    with unresponsive_mount(tmp_path) as (home, within), Tmux({}) as tmux:
        start = shlex.join([*within, "env", f"HOME={home}", *COMMAND])
        tmux.run(f'cd {ROOT}; unset XDG_STATE_HOME XDG_CONFIG_HOME; fstui() {{ {start} "$@"; }}; clear')
        tmux.wait_for_prompt()
        yield tmux


def test_first_screen_appears_and_can_be_left_at_once(terminal: Tmux) -> None:
    terminal.run("fstui")
    terminal.wait_for("F_AWAIT")
    terminal.press("a")  # keys work although the home is silent
    terminal.press("o")
    terminal.wait_for("sorted by mount")
    terminal.wait_for(SAID)
    terminal.press("q")
    terminal.wait_for_prompt()
    assert "Traceback" not in terminal.shown() and "closed" not in terminal.shown()


def test_plan_is_made_run_refused_and_history_reports_why(terminal: Tmux, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    terminal.run(f"fstui {target}")
    terminal.wait_for("odirect-truth")
    terminal.press("Down", "Down")  # keys work although the home is silent
    terminal.wait_for("── fsync-rate")
    terminal.press("Enter")
    terminal.wait_for("ledger did not answer within")
    assert list(target.iterdir()) == []
    terminal.press("Escape", "Escape")
    terminal.wait_for_prompt()
    terminal.run("fstui")
    terminal.wait_for("F_AWAIT")
    terminal.press("h")
    terminal.wait_for("Reading the saved runs")
    terminal.wait_for("The saved runs could not be read.")
    terminal.wait_for(SAID)
    terminal.press("q")
    terminal.wait_for_prompt()


@pytest.mark.parametrize("screen", ["h", "Enter"])
def test_app_can_be_left_while_the_home_is_read(terminal: Tmux, screen: str) -> None:
    terminal.run("fstui")
    terminal.wait_for("F_AWAIT")
    terminal.press(screen)
    terminal.wait_for("Reading the saved runs", "SCENARIO")
    terminal.press("q")
    terminal.wait_for(PROMPT, timeout_s=5.0)
