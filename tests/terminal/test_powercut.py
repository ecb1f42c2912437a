"""A person follows the power-cut test in the app, from the first screen to the verdict.

Instead of cutting the power, the filesystem is shut down and mounted again (tests/real/test_powercut.py).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fstui.runs import scenarios
from fstui.state import runs
from tests.real.conftest import workshop
from tests.real.disks import Storage, on_loop
from tests.real.test_powercut import libeatmydata, writing
from tests.terminal.test_tmux import FSTUI, is_clean
from tests.terminal.tmux import Tmux

pytestmark = [pytest.mark.skipif(not Tmux.here(), reason="tmux is not installed"), pytest.mark.root]
__all__ = ["workshop"]


@pytest.fixture
def storage(workshop: Path) -> Iterator[Storage]:
    with on_loop(workshop) as made:
        yield made


@pytest.mark.parametrize(
    ("environment", "word"), [(lambda: None, "KEPT"), (libeatmydata, "LOST")], ids=["honest", "no sync leaves"]
)
def test_power_cut_from_the_first_screen_to_the_verdict(
    storage: Storage, tmp_path: Path, own_user: Path, environment: Callable[[], dict[str, str] | None], word: str
) -> None:
    log = tmp_path / "acks.log"
    with Tmux({"HOME": str(own_user)}) as terminal:
        terminal.run(FSTUI)
        terminal.wait_for("F_AWAIT")
        terminal.press("/")
        terminal.wait_for("words of a mount point")
        terminal.type(str(storage.directory))
        terminal.press("Enter")
        terminal.wait_for("filter: ")
        terminal.press("Enter")
        terminal.wait_for("$ fstui run")
        for name in [*scenarios.names()[1:], "power-cut"]:
            terminal.press("Down")
            terminal.wait_for(f"── {name}")
        terminal.wait_for("$ fstui powercut write")
        terminal.press("Enter")
        pane = " ".join(terminal.wait_for("fstui powercut witness acks.log").split())
        assert "Pull the wall plug" in pane
        terminal.wait_for("0 cuts survived")

        # the command that the page shows for the other machine
        with writing(storage, "file=131072", environment=environment()) as writer:
            writer.until(20)
            log.write_bytes(writer.cut())

        terminal.press("s")
        terminal.wait_for("[x] s")
        terminal.press("v")
        terminal.wait_for("the witness's log on this host")
        terminal.type(str(log))
        terminal.press("Enter")
        pane = terminal.wait_for(word)
        assert "1 finding" in pane and "saved " in pane
        terminal.press("q")
        terminal.wait_for_prompt()
        assert is_clean(terminal)
    assert runs.load("last").verdict == word.lower()
