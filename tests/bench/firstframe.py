"""Time from the start of ``fstui`` to its first screen, compared with an empty Textual app, in pairs."""

import statistics
import sys
import tempfile
import time

from tests.bench.pairs import arguments, rotated, row
from tests.terminal.pty_app import COMMAND, PtyApp

BUDGET = 1.25
_EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("F_AWAIT")
Empty().run(mouse=False)
"""
_COMMANDS = {"fstui": COMMAND, "empty app": (sys.executable, "-c", _EMPTY)}


def main(argv: list[str]) -> int:
    """Print each pair and the median ratio with its interval. Return 1 if the budget is missed."""
    options = arguments(argv, "firstframe", rounds=10, directory=tempfile.gettempdir())
    for name in _COMMANDS:
        _once(name)  # the first start reads from disk, later ones from memory
    ratios = []
    for turn in range(options.rounds):
        took = {name: _once(name) for name in rotated(list(_COMMANDS), turn)}
        ratios.append(took["fstui"] / took["empty app"])
        print(f"round {turn + 1}: " + "  ".join(f"{name} {1e3 * took[name]:.0f} ms" for name in _COMMANDS))
    print(f"median {statistics.median(ratios):.2f}")
    return 0 if row("first frame / empty Textual app", ratios, 0.0, BUDGET) else 1


def _once(name: str) -> float:
    with tempfile.TemporaryDirectory() as state:
        compiled = {"PYTHONDONTWRITEBYTECODE": ""}  # as an installed fstui is, and Textual
        began = time.monotonic()
        with PtyApp(state=state, environment=compiled, command=_COMMANDS[name]) as app:
            return app.read_until("F_AWAIT", 30) - began
