"""The terminal app: its screens share one session."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import constants, work
from textual.app import App
from textual.events import Key
from textual.filter import LineFilter
from textual.screen import Screen

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.plan import Plan
from fstui.model.run import Run
from fstui.model.storage import Target
from fstui.report.characters import escape_controls, escape_lines
from fstui.runs.session import Session
from fstui.tui.commands import GLOSSARY, INTERRUPT, QUIT, SUSPEND, bindings
from fstui.tui.palette import Entries
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import THEMES, set_theme
from fstui.tui.terminal import AsciiFilter, ControlFilter, PressDriver, is_ascii_only, to_ascii, wants_mouse

if TYPE_CHECKING:
    from textual.widgets import Input

    from fstui.runs.leftovers import Entry
    from fstui.runs.runner import RunInProgress
    from fstui.runs.site import Site

STOP_S = 20.0
"""A run that is stopped removes its files; a disk that hangs is not waited for any longer."""


class FstuiApp(App[int]):
    """Storage → plan → run → result, on one box. It ends with the exit code."""

    CSS_PATH = Path(__file__).parent / "css" / "fstui.tcss"
    TITLE = "fstui"
    COMMANDS: ClassVar = {Entries}
    BINDINGS = bindings((QUIT, INTERRUPT, SUSPEND, GLOSSARY))

    def __init__(
        self,
        session: Session,
        directory: str | None = None,
        *,
        ascii_only: bool | None = None,
        opening: Callable[[FstuiApp], object] | None = None,
    ) -> None:
        """``opening``: what opens another first screen than that of the storage."""
        # what serves browsers names another driver in the environment
        super().__init__(driver_class=None if constants.DRIVER else PressDriver)
        self._opening = opening
        # said here too: textual may have been imported, and its settings read, before us
        self.theme = os.environ.get("TEXTUAL_THEME", "ansi-dark")
        self.session = session
        self.directory = directory
        self.ascii_only = is_ascii_only() if ascii_only is None else ascii_only
        self.keymap: dict[str, str] = {}
        self.left_behind: list[Entry] = []
        """What killed runs have left."""
        self.running: RunInProgress | None = None
        self.result: tuple[Run, str | None] | None = None
        """The last run and where it is saved: printed in plain text after the screen is gone."""
        self.repeated: Run | None = None
        """What runs is this one again."""
        self.fault: Exception | None = None
        self._looking_back = False
        self._quitting = False
        self._run_over = asyncio.Event()
        self._last_filters = [ControlFilter(), *([AsciiFilter()] if self.ascii_only else [])]

    def on_mount(self) -> None:
        if not self.is_headless:
            self._take_signals()
        if self.directory is not None:
            self.open_plan(self.directory)
        if self._opening is not None:
            self._opening(self)
        self.call_after_refresh(_collect_garbage_again)
        self.call_after_refresh(self.look_back)  # the first screen comes first

    @work(group="before")
    async def look_back(self) -> None:
        """What other days have left for this one, from a disk that may hang."""
        if self._looking_back:
            return
        self._looking_back = True
        try:
            before = await self.session.from_before()
        except (OSError, Refused) as trouble:
            self.tell(str(trouble))
            return
        finally:
            self._looking_back = False
        if not self.screen_stack:  # quit meanwhile
            return
        self.left_behind, self.keymap = before.left_behind, before.keys
        self.set_keymap(self.keymap)
        if before.theme:
            self.show_theme(before.theme)
        if isinstance(self.screen, BaseScreen):
            self.screen.redraw()
        if before.keys and not before.trouble:
            from fstui.tui.commands import unknown  # noqa: PLC0415  all screens: only for who changes keys

            self.tell(unknown(before.keys))
        if before.trouble:
            self.tell(before.trouble)

    def get_default_screen(self) -> Screen[None]:
        """The one beneath all others."""
        return StorageScreen()

    def get_line_filters(self) -> list[LineFilter]:
        return [*super().get_line_filters(), *self._last_filters]

    def copy_to_clipboard(self, text: str) -> None:
        """What is pasted somewhere must be as safe as what is shown."""
        super().copy_to_clipboard(escape_lines(text))

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A fault of ours within ends the app with 1 and a sentence instead of a traceback."""
        try:
            yield
        except Exception as error:  # whatever it is, the terminal is given back first
            self.fault = error
            self.exit(1)

    def tell(self, words: str) -> None:
        if words and self.screen_stack and isinstance(self.screen, BaseScreen):
            self.screen.say(words)

    @work(group="remember")
    async def remember(self, site: Site, said: Declaration) -> None:
        """Keep what is declared of a storage."""
        try:
            await self.session.remember(site, said)
        except (OSError, Refused) as error:
            self.tell(f"The declaration could not be remembered: {error!s}")

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
        from fstui.tui.screens.page_screen import help_screen  # noqa: PLC0415

        if isinstance(self.screen, BaseScreen):
            self.push_screen(help_screen(self.screen, self.keymap))

    def action_glossary(self) -> None:
        from fstui.tui.screens.page_screen import glossary_screen  # noqa: PLC0415

        if isinstance(self.screen, BaseScreen):
            self.push_screen(glossary_screen(self.screen))

    def action_history(self) -> None:
        from fstui.tui.screens.history import HistoryScreen  # noqa: PLC0415

        self.push_screen(HistoryScreen())

    @work(group="picture")
    async def save_picture(self) -> None:
        from fstui.tui.exports import export_screen  # noqa: PLC0415

        self.tell(await export_screen(self.export_screenshot()))

    def show_theme(self, name: str) -> None:
        """Draw with this theme; report a name that is not a theme."""
        if name in THEMES:
            set_theme(self, name)
            screens = (screen for screen in self.screen_stack if isinstance(screen, BaseScreen))
            for part in (part for screen in screens for part in screen.parts()):
                part.repaint()
        else:
            self.tell(f"theme.toml: there is no theme '{name}'. Choose one of: {', '.join(THEMES)}.")

    @work(group="remember")
    async def keep_theme(self, name: str) -> None:
        from fstui.runs import startup  # noqa: PLC0415

        self.show_theme(name)
        try:
            await startup.keep_theme(name)
        except (OSError, Refused) as error:
            self.tell(f"The theme could not be kept: {error!s}")

    async def clean(self) -> str:
        """Remove what killed runs have left; the sentence says what became of it."""
        from fstui.runs.leftovers import remove  # noqa: PLC0415

        failures = [sentence for entry in self.left_behind if (sentence := await remove(entry))]
        return "; ".join(failures) or f"Removed {len(self.left_behind)}: nothing is left behind."

    def open_plan(self, directory: str, others: Sequence[str] = (), busy: str = "", scenario: str = "") -> None:
        """Choose a scenario for that directory, or where it is refused for another on the same mount.

        ``busy``: a device of its, in words, that somebody else needs. ``scenario``: where the cursor stands.
        """
        from fstui.tui.offers import Offers  # noqa: PLC0415
        from fstui.tui.screens.plan import PlanScreen  # noqa: PLC0415

        self.push_screen(PlanScreen(Offers(self.session, directory, others), busy, scenario))

    def open_run(self, running: RunInProgress, plan: Plan, target: Target) -> None:
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

    def open_watch(self, target: Target) -> None:
        from fstui.tui.screens.watch import WatchScreen  # noqa: PLC0415

        self.push_screen(WatchScreen(target))

    def open_power_cut(self, directory: str, target: Target, settings: Mapping[str, str]) -> None:
        """Lead through the one check that no runner can do."""
        from fstui.tui.screens.powercut import PowerCutScreen  # noqa: PLC0415

        self.push_screen(PowerCutScreen(directory, target, settings))

    async def run_again(self, run: Run, directory: str | None) -> str:
        """The same scenario with the same settings and declarations. Returns why it cannot be, or nothing."""
        from fstui.runs import caution, power_cut  # noqa: PLC0415

        if run.scenario is None or directory is None:
            return "The saved run does not say what was run, or where."
        try:
            if run.scenario.name == power_cut.NAME:
                site = await self.session.look_up(directory)
                changed = power_cut.changed(power_cut.FORM, run.scenario.settings)
                self.open_power_cut(site.read.path, site.target, changed)
                return ""
            site, plan = await self.session.planned_again(run, directory)
        except Refused as refusal:
            return str(refusal)
        idle, concerns = await caution.look(self.session, site, plan.room_bytes)
        if concerns:
            return f"Not now: {', '.join(concerns)}. The plan of that directory runs it all the same."
        self.open_run(self.session.start(plan, site, idle), plan, site.target)
        self.repeated = run
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

        before = self.repeated if isinstance(self.screen, RunScreen) else None
        screen = ResultScreen(run, saved_to, directory, save_error, before)
        if isinstance(self.screen, RunScreen):
            self.repeated = None
            self.switch_screen(screen)
        else:
            self.push_screen(screen)


def run_app(session: Session, directory: str | None, opening: Callable[[FstuiApp], object] | None = None) -> int:
    """Run the app; returns the exit code: 0, or 128 + the signal that ended it. Then says the last result in plain."""
    app = FstuiApp(session, directory, opening=opening)
    code = app.run(mouse=wants_mouse())
    with suppress(OSError):  # the terminal may be gone
        _print_result(app)
    if app.fault is not None and os.environ.get("FSTUI_DEBUG"):
        raise app.fault
    if app.fault is not None:
        said = f"{type(app.fault).__name__}: {app.fault}"
        print(escape_controls(f"fstui: a fault in fstui itself: {said}. FSTUI_DEBUG=1 shows where."), file=sys.stderr)
    return 0 if code is None else code


def _collect_garbage_again() -> None:
    """Where it was put off for the first screen. What was made for that stays: no collection looks through it again."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _print_result(app: FstuiApp) -> None:
    if app.result is None:
        return
    from fstui.report import formats  # noqa: PLC0415

    text = str(formats.render(formats.PLAIN, *app.result))
    print(to_ascii(text) if app.ascii_only else text, end="")
    sys.stdout.flush()
    if app.result[1] is None and not app.session.simulated:
        print("The run could not be saved.", file=sys.stderr)
