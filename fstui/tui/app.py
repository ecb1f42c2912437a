"""The terminal app: its screens share one machine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import App
from textual.events import Key
from textual.screen import Screen

from fstui.model import Inventory, Judgement, Plan, Refused, Run, Target
from fstui.quantities import plain
from fstui.tui import keymap as keys
from fstui.tui.commands import INTERRUPT, QUIT, SUSPEND, bindings
from fstui.tui.palette import CommandEntries
from fstui.tui.screens.face import Face
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.surroundings import ascii_only as terminal_is_ascii

if TYPE_CHECKING:
    from textual.widgets import Input

    from fstui.engine.machine import Machine
    from fstui.state.ledger import Entry
    from fstui.tui.screens.run import Running

STOP_S = 20.0
"""A run that is stopped removes its files; a disk that hangs is not waited for any longer."""


class FstuiApp(App[int]):
    """Storage → plan → run → result, on one machine. It ends with the exit code."""

    CSS_PATH = Path(__file__).parent / "css" / "fstui.tcss"
    TITLE = "fstui"
    COMMANDS: ClassVar = {CommandEntries}
    BINDINGS = bindings((QUIT, INTERRUPT, SUSPEND))

    def __init__(self, machine: Machine, directory: str | None = None, *, ascii_only: bool | None = None) -> None:
        super().__init__()
        # said here too: textual may have been imported, and its settings read, before us
        self.theme = os.environ.get("TEXTUAL_THEME", "ansi-dark")
        self.machine = machine
        self.directory = directory
        self.ascii_only = terminal_is_ascii() if ascii_only is None else ascii_only
        self.keymap: dict[str, str] = {}
        self.running: Running | None = None
        self.result: tuple[Run, str | None] | None = None
        """The last run and where it is saved: printed in plain text after the screen is gone."""
        self.fault: Exception | None = None
        self._quitting = False
        self._run_over = asyncio.Event()

    def on_mount(self) -> None:
        trouble = ""
        try:
            self.keymap = keys.load()
        except Refused as refusal:
            trouble = str(refusal)
        self.set_keymap(self.keymap)
        if not self.is_headless:
            self._take_signals()
        if self.directory is not None:
            self.open_plan(self.directory)
        elif trouble:
            self.call_after_refresh(self._say, trouble)

    def get_default_screen(self) -> Screen[None]:
        """The one beneath all others."""
        return StorageScreen()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A fault of ours within ends the app with 1 and a sentence instead of a traceback."""
        try:
            yield
        except Exception as error:  # whatever it is, the terminal is given back first
            self.fault = error
            self.exit(1)

    def _say(self, words: str) -> None:
        if isinstance(self.screen, Face):
            self.screen.say(words)

    def _take_signals(self) -> None:
        """Without these, SIGTERM and SIGHUP end the app with the terminal still in its hands."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self.leave, 128 + number)

    def leave(self, code: int) -> None:
        """Stop what runs, wait until it has cleaned up, then end. A second time: end at once."""
        if self._quitting:
            self.exit(code)
            return
        self._quitting = True
        self.run_worker(self._leave(code), group="leave", exit_on_error=False)

    async def _leave(self, code: int) -> None:
        if self.running is not None:
            self.running.stop()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._run_over.wait(), STOP_S)
        self.exit(code)

    async def action_quit(self) -> None:
        self.leave(0)

    def action_interrupt(self) -> None:
        self.leave(128 + signal.SIGINT)

    def on_key(self, event: Key) -> None:
        """A letter that was on its way while a prompt opened (a paste, a slow line) belongs into the prompt."""
        prompt = self.screen.query("Input")
        if prompt and event.is_printable and event.character:
            event.prevent_default().stop()
            cast("Input", prompt.first()).insert_text_at_cursor(event.character)

    async def action_back(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()

    def action_help(self) -> None:
        from fstui.tui.screens.reading import help_screen  # noqa: PLC0415

        if isinstance(self.screen, Face):
            self.push_screen(help_screen(self.screen, self.keymap))

    def action_history(self) -> None:
        from fstui.tui.screens.history import HistoryScreen  # noqa: PLC0415

        self.push_screen(HistoryScreen())

    def flags(self, inventory: Inventory) -> dict[str, Judgement]:
        """What the configuration alone decides, per mount point."""
        from fstui.engine.flags import flags  # noqa: PLC0415

        return flags(inventory)

    def left_behind(self) -> list[Entry]:
        """What killed runs have left."""
        from fstui.state import cuts  # noqa: PLC0415

        try:
            return cuts.left_behind()
        except (OSError, Refused):
            return []

    async def clean(self) -> str:
        """Remove it; the sentence says what became of it."""
        from fstui.databases.leftovers import remove  # noqa: PLC0415

        left = self.left_behind()
        failures = [sentence for entry in left if (sentence := await remove(entry))]
        return "; ".join(failures) or f"Removed {len(left)}: nothing is left behind."

    def open_plan(self, directory: str, others: Sequence[str] = ()) -> None:
        """Choose a scenario for that directory, or where it is refused for another on the same mount."""
        from fstui.tui.screens.plan import PlanScreen  # noqa: PLC0415

        self.push_screen(PlanScreen(directory, others))

    def open_run(self, running: Running, plan: Plan, target: Target) -> None:
        """Watch it run, in the place of the result of the run before."""
        from fstui.tui.screens.result import ResultScreen  # noqa: PLC0415
        from fstui.tui.screens.run import RunScreen  # noqa: PLC0415

        self.running = running
        self._run_over.clear()
        screen = RunScreen(running, plan, target)
        if isinstance(self.screen, ResultScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def open_power_cut(self, directory: str, target: Target, settings: Mapping[str, str]) -> None:
        """Lead through the one check that no runner can do."""
        from fstui.tui.screens.powercut import PowerCutScreen  # noqa: PLC0415

        self.push_screen(PowerCutScreen(directory, target, settings))

    async def run_again(self, run: Run, directory: str | None) -> str:
        """The same scenario with the same settings and declarations. Returns why it cannot be, or nothing."""
        from fstui import scenario  # noqa: PLC0415
        from fstui.engine import runner  # noqa: PLC0415

        if run.scenario is None or directory is None:
            return "The saved run does not say what was run, or where."
        declared = next((node.medium for node in run.target.lowest if node.medium), None) if run.target else None
        said = declared if declared and declared.declared else None
        try:
            usual = scenario.load(run.scenario.name).settings
            settings = {
                key: ",".join(map(str, value)) if isinstance(value, list) else str(value)
                for key, value in run.scenario.settings.items()
                if key not in usual or value != usual[key].value
            }
            target, plan = await runner.make_plan(
                run.scenario.name,
                directory,
                self.machine,
                settings,
                medium=said.class_ if said else None,
                write_cache=said.write_cache if said else None,
            )
        except Refused as refusal:
            return str(refusal)
        if plan.by_hand:
            self.open_power_cut(target.path, target, settings)
            return ""
        self.open_run(runner.Running(plan, target, self.machine), plan, target)
        return ""

    def run_ended(self, run: Run | None, saved_to: str | None) -> None:
        """The run has cleaned up after itself."""
        self.running = None
        if run is not None:
            self.result = (run, saved_to)
        self._run_over.set()

    def open_result(self, run: Run, saved_to: str | None, directory: str | None, save_error: str | None = None) -> None:
        """Show the verdict, in the place of the run that led to it."""
        from fstui.tui.screens.result import ResultScreen  # noqa: PLC0415
        from fstui.tui.screens.run import RunScreen  # noqa: PLC0415

        screen = ResultScreen(run, saved_to, directory, save_error)
        if isinstance(self.screen, RunScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)


def run_app(machine: Machine, directory: str | None) -> int:
    """Run the app; returns the exit code: 0, or 128 + the signal that ended it. Then says the last result in plain."""
    app = FstuiApp(machine, directory)
    # without the mouse the terminal's own selection works, and no movement travels up a bad line
    code = app.run(mouse=False)
    with suppress(OSError):  # the terminal may be gone
        _print_result(app)
    if app.fault is not None and os.environ.get("FSTUI_DEBUG"):
        raise app.fault
    if app.fault is not None:
        said = f"{type(app.fault).__name__}: {plain(str(app.fault))}"
        print(f"fstui: a fault in fstui itself: {said}. FSTUI_DEBUG=1 shows where.", file=sys.stderr)
    return 0 if code is None else code


def _print_result(app: FstuiApp) -> None:
    if app.result is None:
        return
    from fstui.report import plain as report  # noqa: PLC0415
    from fstui.tui.glyphs import in_ascii  # noqa: PLC0415

    text = report.render(*app.result)
    print(in_ascii(text) if app.ascii_only else text, end="")
    sys.stdout.flush()
    if app.result[1] is None:
        print("The run could not be saved.", file=sys.stderr)
