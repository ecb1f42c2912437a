"""The terminal app: it opens the screens, which share one session, and ends with the exit status."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.cells import cached_cell_len
from rich.segment import Segment
from textual import constants, work
from textual.app import App
from textual.events import Key
from textual.filter import LineFilter
from textual.geometry import Region
from textual.screen import Screen

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused, sentence_of
from fstui.model.quantities import counted
from fstui.model.storage import Target
from fstui.report.characters import escape_controls, escape_lines, is_ascii_only
from fstui.runs.session import Session
from fstui.tui.commands import EVERYWHERE, PALETTE, bindings
from fstui.tui.drawing.cells import MIN_FRAME_WIDTH
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import THEMES, set_theme
from fstui.tui.terminal import AsciiFilter, ControlFilter, SlowLineDriver, is_mouse_enabled, to_ascii

if TYPE_CHECKING:
    from textual.widgets import Input

    from fstui.model.run import Run
    from fstui.runs.history import SavedRun
    from fstui.runs.runner import RunInProgress
    from fstui.runs.site import Site
    from fstui.runs.startup import LedgerEntry

STOP_TIMEOUT_S = 20.0
"""How long to wait for a stopped run to remove its files, in case its disk hangs."""
CLEAR_CACHES_S = 15.0
NOT_ENDED = "The last run had not ended, so it has no result. 'fstui clean' removes what it may have left behind."


class FstuiApp(App[int]):
    """Storage → plan → run → result. Screens are imported when they are opened, to show the first one early."""

    CSS_PATH = Path(__file__).parent / "css" / "fstui.tcss"
    TITLE = "fstui"
    BINDINGS = bindings(EVERYWHERE)

    def __init__(
        self,
        session: Session,
        directory: str | None = None,
        *,
        ascii_only: bool | None = None,
        push_first_screens: Callable[[FstuiApp], object] | None = None,
        returns_to_storage: bool = False,
    ) -> None:
        """``directory``: show its plan first. ``push_first_screens``: show other screens first.

        ``returns_to_storage``: whether Esc at the first of these screens opens the storage screen, and not leaves.
        """
        # textual-serve names its own driver in the environment
        super().__init__(driver_class=None if constants.DRIVER else SlowLineDriver)
        # set again here because Textual may have been imported before fstui.tui
        self.theme = os.environ.get("TEXTUAL_THEME", "ansi-dark")
        self.session = session
        self._directory = directory
        self.ascii_only = is_ascii_only() if ascii_only is None else ascii_only
        self.keymap: dict[str, str] = {}
        """Keys that the user has changed, by the command's name."""
        self.left_behind: list[LedgerEntry] = []
        self.run_in_progress: RunInProgress | None = None
        self.result: tuple[Run, str | None] | None = None
        """The last run and its file, printed as text when the app has ended."""
        self.save_error: str | None = None
        self.run_trouble: str | None = None
        """Why the last run has no result, printed when the app has ended."""
        self.repeated_run: Run | None = None
        self.fault: Exception | None = None
        self._push_first_screens = push_first_screens
        self._opens_at_screen = (directory or push_first_screens) is not None and not returns_to_storage
        self._is_quitting = False
        self._theme_chosen = False
        """Whether the user has chosen a theme since the start. Then the saved theme is not shown."""
        self._run_ended = asyncio.Event()
        self._last_filters = [ControlFilter(), *([AsciiFilter()] if self.ascii_only else [])]

    def on_mount(self) -> None:
        if not self.is_headless:
            # without handlers these signals would leave the terminal in raw mode
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.leave, 128 + number)
        if self._directory is not None:
            self.open_plan(self._directory)
        if self._push_first_screens is not None:
            self._push_first_screens(self)
        self.set_interval(CLEAR_CACHES_S, clear_caches)
        self.call_after_refresh(_resume_garbage_collection)

    def action_command_palette(self) -> None:
        if isinstance(self.screen, BaseScreen):  # and not the palette itself
            from fstui.tui.palette import EntryProvider, Palette  # noqa: PLC0415  the first frame does not need it

            self.screen.show_palette_keys()
            self.push_screen(Palette({EntryProvider}, placeholder=PALETTE.help, id="--command-palette"))

    @work(exclusive=True, group="state")
    async def read_state(self) -> None:
        """Read the keys, the theme and the ledger entries of killed runs. The disk of these files may hang."""
        saved = None
        with self.reporting():
            saved = await self.session.read_saved()
        if saved is None or not self.screen_stack:  # without a screen, the user has quit
            return
        self.left_behind, self.keymap = saved.left_behind, saved.keys
        self.set_keymap(self.keymap)
        if saved.theme and not self._theme_chosen:
            self.show_theme(saved.theme)
        if isinstance(self.screen, BaseScreen):
            self.screen.redraw()
        if saved.problem:
            self.tell(saved.problem)
        elif saved.keys:
            from fstui.tui.commands import unknown_commands_message  # noqa: PLC0415  it imports all screens

            self.tell(unknown_commands_message(saved.keys))

    def get_default_screen(self) -> Screen[None]:
        return StorageScreen("-narrow" if self.size.width < MIN_FRAME_WIDTH else "")  # set later, all is laid out twice

    def get_line_filters(self) -> list[LineFilter]:
        return [*super().get_line_filters(), *self._last_filters]

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text without control characters, which a shell would execute when it is pasted."""
        super().copy_to_clipboard(escape_lines(text))

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """End the app with exit status 1 and a sentence instead of a traceback if fstui itself fails."""
        try:
            yield
        except Exception as error:  # any exception: the terminal must be restored first
            self.fault = error
            self.exit(1)

    @contextmanager
    def reporting(self, failure: str = "") -> Iterator[None]:
        """Show an expected error as a notice instead of raising it. ``failure``: a sentence that says what failed."""
        try:
            yield
        except (OSError, Refused) as error:
            self.tell(f"{failure}: {sentence_of(error)}" if failure else sentence_of(error))

    def tell(self, notice: str) -> None:
        if notice and self.screen_stack and isinstance(self.screen, BaseScreen):
            self.screen.say(notice)

    @work(group="remember")
    async def save_declaration(self, site: Site, declaration: Declaration) -> None:
        with self.reporting("The declaration could not be saved"):
            await self.session.save_declaration(site, declaration)

    def leave(self, code: int) -> None:
        """Stop the run, wait until it has cleaned up, then exit. The second call exits at once."""
        if self._is_quitting:
            self.exit(code)
            return
        self._is_quitting = True
        self.run_worker(self._leave(code), group="leave", exit_on_error=False)

    async def _leave(self, code: int) -> None:
        if self.run_in_progress is not None:
            self.run_in_progress.stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await self._run_ended.wait()
        self.exit(code)

    async def action_quit(self) -> None:
        self.leave(0)

    def action_interrupt(self) -> None:
        """Copy the text that is selected with the mouse, as every Textual app does. Without a selection, quit."""
        if isinstance(self.screen, BaseScreen) and (selected := self.screen.get_selected_text()) is not None:
            self.screen.clear_selection()
            self.screen.copy(selected)
            return
        self.leave(128 + signal.SIGINT)

    def on_key(self, event: Key) -> None:
        """Insert letters that arrived before the prompt had the focus, for example from a paste."""
        prompt = self.screen.query("Input")
        if prompt and event.is_printable and event.character:
            event.prevent_default().stop()
            cast("Input", prompt.first()).insert_text_at_cursor(event.character)

    async def action_back(self) -> None:
        """Return to the previous screen. At the screen that the command opened, leave the app."""
        if len(self.screen_stack) > 1 + self._opens_at_screen:
            self.pop_screen()
        elif self._opens_at_screen:
            self.leave(0)

    def action_help(self) -> None:
        from fstui.tui.screens.page_screen import help_screen  # noqa: PLC0415

        if isinstance(self.screen, BaseScreen):
            self.push_screen(help_screen(self.screen, self.keymap))

    def action_glossary(self) -> None:
        from fstui.tui.screens.page_screen import GlossaryScreen, HelpScreen  # noqa: PLC0415

        screen = self.screen_stack[-2] if isinstance(self.screen, HelpScreen) else self.screen
        if isinstance(screen, BaseScreen):
            self.push_screen(GlossaryScreen(screen))

    def action_history(self) -> None:
        from fstui.tui.screens.history import HistoryScreen  # noqa: PLC0415

        self.push_screen(HistoryScreen())

    def action_recording(self) -> None:
        from fstui.tui.screens.recording import RecordingScreen  # noqa: PLC0415

        self.push_screen(RecordingScreen())

    def save_picture(self) -> None:
        name = f"fstui-screen-{datetime.now():%Y%m%d-%H%M%S}.svg"
        self.save_files({name: self.export_screenshot().encode()})

    @property
    def cwd(self) -> str:
        """The current directory from the environment, because getcwd(2) hangs if the disk of the directory hangs."""
        return os.environ.get("PWD", ".")

    @work(group="export")
    async def save_files(self, files: Mapping[str, bytes]) -> None:
        """Let a child write files into the current directory, or into the home directory if that fails."""
        from fstui.runs.files import write  # noqa: PLC0415

        problem = ""
        for directory in (self.cwd, os.environ.get("HOME", "/")):
            results = [await write(f"{directory}/{name}", data) for name, data in files.items()]
            problem = next(filter(None, results), "")
            if not problem:
                first, *others = files
                self.tell(f"Exported {directory}/{first}" + "".join(f", {Path(name).suffix}" for name in others))
                return
        self.tell(f"Not exported: {problem}")

    def show_theme(self, name: str) -> None:
        if name not in THEMES:
            self.tell(f"theme.toml: there is no theme '{name}'. Choose one of: {', '.join(THEMES)}.")
            return
        set_theme(self, name)
        self._repaint()

    def _repaint(self) -> None:
        for screen in self.screen_stack:
            for part in screen.parts() if isinstance(screen, BaseScreen) else ():
                part.forget()
            for widget in screen.query():
                widget.refresh()

    @work(group="remember")
    async def choose_theme(self, name: str) -> None:
        from fstui.runs import startup  # noqa: PLC0415

        self._theme_chosen = True
        self.show_theme(name)
        with self.reporting("The theme could not be saved"):
            await startup.save_theme(name)

    async def clean(self) -> str:
        """Remove what killed runs have left behind. Return a sentence about the outcome."""
        from fstui.runs.startup import remove  # noqa: PLC0415

        failures = [sentence for entry in self.left_behind if (sentence := await remove(entry))]
        return "; ".join(failures) or f"Removed {counted(len(self.left_behind), 'leftover')}."

    def open_plan(self, directory: str, alternatives: Sequence[str] = (), scenario: str = "") -> None:
        """Show the plan for a directory. ``alternatives``: directories on the same mount, tried if it is refused."""
        from fstui.tui.offers import Offers  # noqa: PLC0415
        from fstui.tui.screens.plan import PlanScreen  # noqa: PLC0415

        first = self.screen_stack[0]
        # after a run, the samples of the first screen contain its I/O
        activity = first.activity.copy() if isinstance(first, StorageScreen) and not self.result else None
        self.push_screen(PlanScreen(Offers(self.session, directory, alternatives), scenario, activity))

    def open_run(self, running: RunInProgress) -> None:
        from fstui.tui.screens.run import RunScreen  # noqa: PLC0415

        self.run_in_progress = running
        self._run_ended.clear()
        self._repaint()  # the run will be in front for a long time
        _free_garbage()
        self._open(RunScreen(running))

    def open_result(self, run: Run, saved_to: str | None, directory: str | None, save_error: str | None = None) -> None:
        from fstui.tui.screens.result import ResultScreen  # noqa: PLC0415
        from fstui.tui.screens.run import RunScreen  # noqa: PLC0415

        repeated_run = None
        if isinstance(self.screen, RunScreen):
            repeated_run, self.repeated_run = self.repeated_run, None
        self._open(ResultScreen(run, saved_to, directory, save_error, repeated_run))

    def open_saved(self, saved: SavedRun) -> None:
        from fstui.tui.screens.result import ResultScreen  # noqa: PLC0415

        directory = saved.run.target.path if saved.run.target else None
        self.push_screen(ResultScreen(saved.run, saved.path, directory, from_history=True))

    def _open(self, screen: BaseScreen) -> None:
        if isinstance(self.screen, BaseScreen) and self.screen.SHOWS_RUN:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def open_power_cut(self, directory: str, target: Target, settings: Mapping[str, str]) -> None:
        from fstui.tui.screens.powercut import PowerCutScreen  # noqa: PLC0415

        self.push_screen(PowerCutScreen(directory, target, settings))

    async def run_again(self, run: Run, directory: str | None) -> str:
        """Start the scenario again with the same settings and declarations. Return why it cannot be started, or ''."""
        from fstui.model.forms import changed_values  # noqa: PLC0415
        from fstui.powercut import plan as power_cut  # noqa: PLC0415
        from fstui.runs import caution  # noqa: PLC0415

        if run.scenario is None or directory is None:
            return "The saved run does not say which scenario was run, or where."
        try:
            if run.scenario.name == power_cut.NAME:
                site = await self.session.look_up(directory)
                changed = changed_values(power_cut.FORM, run.scenario.settings)
                self.open_power_cut(site.raw_target.path, site.target, changed)
                return ""
            site, plan = await self.session.plan_again(run, directory)
        except Refused as refusal:
            return str(refusal)
        idle, concerns = await caution.check(self.session, site, plan.peak_bytes, plan.max_bytes)
        if concerns:
            return f"Not started: {', '.join(concerns)}. Open the plan of the directory to run it anyway."
        self.open_run(self.session.start(plan, site, idle))
        self.repeated_run = run
        return ""

    def run_ended(
        self, run: Run | None, saved_to: str | None, save_error: str | None, trouble: str | None = None
    ) -> None:
        self.run_in_progress, self.run_trouble = None, trouble
        if run is not None:
            self.result, self.save_error = (run, saved_to), save_error
        self._run_ended.set()


def run_app(
    session: Session, directory: str | None, push_first_screens: Callable[[FstuiApp], object] | None = None
) -> int:
    """Run the app, then print the last result, or why there is none.

    Return 0, 1 after an internal error, or 128 + the number of a signal.
    """
    app = FstuiApp(session, directory, push_first_screens=push_first_screens)
    code = app.run(mouse=is_mouse_enabled())
    with suppress(OSError):  # the terminal may be gone
        print_result(app)
    if app.fault is not None and os.environ.get("FSTUI_DEBUG"):
        raise app.fault
    if app.fault is not None:
        fault = f"{type(app.fault).__name__}: {app.fault}"
        print(escape_controls(f"fstui: an internal error: {fault}. FSTUI_DEBUG=1 shows where."), file=sys.stderr)
    return (app.return_code or 0) if code is None else code  # without a code, Textual itself ended the app


def clear_caches() -> None:
    """Empty caches of Rich and Textual, which would fill with texts and regions that are never drawn again."""
    cached_cell_len.cache_clear()
    Region.intersection.cache_clear()
    Region.translate.cache_clear()
    Segment._split_cells.cache_clear()


def _resume_garbage_collection() -> None:
    """Enable garbage collection, except of objects that were created for the first frame: they stay until the end."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _free_garbage() -> None:
    """Free the objects of earlier screens, and exclude the others from collection: it must be short during a run."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def print_result(app: FstuiApp) -> None:
    """Print the last result: briefly, with its path, if its file contains the rest. Say why the last run has none."""
    if app.result is not None:
        _print_run(app, *app.result)
    problems = [app.save_error, NOT_ENDED if app.run_in_progress else app.run_trouble]
    for problem in filter(None, problems):
        print(escape_controls(f"fstui: {problem}"), file=sys.stderr)


def _print_run(app: FstuiApp, run: Run, saved_to: str | None) -> None:
    from fstui.report import formats  # noqa: PLC0415
    from fstui.report.text import WIDTH, wrap  # noqa: PLC0415

    if saved_to and not run.left_behind:
        brief = str(formats.render("brief", run)).splitlines()
        lines = [part for text_line in brief for part in wrap(text_line, WIDTH)]
        text = "\n".join([*lines, escape_controls(f"saved {saved_to}"), ""])
    else:
        text = str(formats.render(formats.PLAIN, run, saved_to))
    print(to_ascii(text) if app.ascii_only else text, end="")
    sys.stdout.flush()
