"""The entries of the command palette (Ctrl-P)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace
from rich.console import RenderableType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Input

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.report.characters import escape_controls
from fstui.report.stack import in_memory
from fstui.report.text import moment
from fstui.tui.commands import GLOSSARY, HELP, RECORDING, TREND, WATCH, key_name
from fstui.tui.drawing.cells import drawn_width, fit, fit_middle
from fstui.tui.screens.base_screen import BaseScreen, grey_below
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import DEFAULT_THEME, THEMES

if TYPE_CHECKING:
    from fstui.runs.history import Summary
    from fstui.tui.app import FstuiApp

SAVED_RUNS_TIMEOUT_S = 0.5
_MIN_WIDTH, _KIND_WIDTH, _NAME_WIDTH, _WIDE_NAME_WIDTH = 92, 8, 24, 44
_WIDE_SCREEN = 160
_BLANKS = 9
"""Cells of the frame, the scroll bar and the gaps between kind, name and help."""


class Palette(CommandPalette):
    CSS_PATH = "css/palette.tcss"

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    def render(self) -> RenderableType:
        return grey_below(super().render(), self.app)


class PaletteEntry(NamedTuple):
    kind: str
    """``mount``, ``lesson``, …, or a key."""
    name: str
    help: str
    run: Callable[[], object]

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


class EntryProvider(Provider):
    """Finds keys, screens, mounts, scenarios, settings, lessons, rules, themes, terms and runs.

    Before a word is typed, it lists the keys, and without a run in progress also scenarios, mounts and lessons.
    """

    saved_runs_task: asyncio.Task[tuple[Summary, ...]] | None = None

    async def startup(self) -> None:
        # Do not await the saved runs here: the next letter cancels a search, and a cancelled startup leaves the
        # palette empty.
        self.saved_runs_task = asyncio.create_task(_saved_runs())

    async def shutdown(self) -> None:
        if self.saved_runs_task is not None:
            self.saved_runs_task.cancel()

    async def discover(self) -> Hits:
        groups = [[*self._keys()]]
        if not self._fstui.run_in_progress:
            groups = [[*self._keys(), *self._scenarios()], [*self._mounts(), *self._lessons()]]
        for entries in groups:
            for entry, drawn in zip(entries, self._lines(entries), strict=True):
                yield DiscoveryHit(drawn, entry.run)

    async def search(self, query: str) -> Hits:
        words, runs = [re.escape(word) for word in query.split()], await self._runs()
        starts = [rf"(?<!\w){word}" for word in words]
        entries = (
            *self._keys(),
            *self._mounts(),
            *self._scenarios(),
            *self._lessons(),
            *self._other_screens(),
            *self._rules_and_themes(),
            *self._terms(),
            *runs,
        )
        # Each word must occur in the name, or begin a word of the help: letters within a sentence match too much.
        hits = [
            entry
            for entry in entries
            if all(
                re.search(word, entry.title, re.IGNORECASE) or re.search(start, entry.help, re.IGNORECASE)
                for word, start in zip(words, starts, strict=True)
            )
        ]
        for entry, drawn in zip(hits, self._lines(hits, "|".join(words), "|".join(starts)), strict=True):
            at_start = sum(bool(re.search(start, entry.title, re.IGNORECASE)) for start in starts)
            yield Hit(1 + at_start, drawn, entry.run)

    async def _runs(self) -> list[PaletteEntry]:
        """Return the saved runs, or none if reading them takes too long: the palette stays empty while it waits."""
        if self.saved_runs_task is None:
            return []
        done, _ = await asyncio.wait((self.saved_runs_task,), timeout=SAVED_RUNS_TIMEOUT_S)
        return [
            PaletteEntry(
                "run",
                f"{run.id}: {run.scenario}",
                f"{run.verdict}, {moment(run.started_at)}, on {run.target}",
                partial(self._open, run.path),
            )
            for run in (self.saved_runs_task.result() if done else ())
        ]

    @property
    def _fstui(self) -> FstuiApp:
        return cast("FstuiApp", self.app)  # the app imports this module, so it cannot be imported here

    def _keys(self) -> Iterator[PaletteEntry]:
        """Yield a harmless key first: Enter without a choice must not start a run."""
        own = sorted(getattr(self.screen, "KEYS", ()), key=lambda command: command.id != HELP.id)
        commands = {command.id: command for command in (*own, replace(GLOSSARY, label="glossary"))}
        for command in commands.values():
            if command.label:
                run = partial(self.app.run_action, command.action, default_namespace=self.screen)
                key = key_name(command, self._fstui.keymap)
                yield PaletteEntry(key, command.label, command.help.partition(". ")[0].rstrip(".") + ".", run)
        if self._fstui.run_in_progress is None:
            yield PaletteEntry("screen", "recording", RECORDING.help, self._fstui.action_recording)

    def _targets(self) -> Iterator[Target]:
        first = self.app.screen_stack[0]
        for target in sorted(first.inventory.filesystems, key=in_memory) if isinstance(first, StorageScreen) else ():
            if not target.pseudo and target.silent_s is None:
                yield target

    def _mounts(self) -> Iterator[PaletteEntry]:
        for target in self._targets():
            run = partial(self._fstui.open_plan, target.path)
            yield PaletteEntry("mount", target.mount_point, f"Choose a scenario ({target.fstype}).", run)

    def _other_screens(self) -> Iterator[PaletteEntry]:
        """Yield the screens that another screen opens with a key, but not during a run: a watch would disturb it."""
        from fstui.tui.screens.history import TrendScreen  # noqa: PLC0415  the first frame does not need these
        from fstui.tui.screens.watch import WatchScreen  # noqa: PLC0415

        if self._fstui.run_in_progress is None:
            trend = partial(self._push, TrendScreen, "")
            yield PaletteEntry("screen", "trend", TREND.help, trend)
            for target in self._targets():
                run = partial(self._push, WatchScreen, target)
                yield PaletteEntry("watch", target.mount_point, WATCH.help, run)

    def _scenarios(self) -> Iterator[PaletteEntry]:
        from fstui.powercut import plan as power_cut  # noqa: PLC0415  the first frame does not need these
        from fstui.runs import scenarios  # noqa: PLC0415
        from fstui.tui import offers  # noqa: PLC0415
        from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415
        from fstui.tui.screens.plan import PlanScreen  # noqa: PLC0415

        screen = self.screen
        if isinstance(screen, PlanScreen):
            for index, offer in enumerate(screen.offers.all):
                choose = partial(screen.choose_scenario, index)
                yield PaletteEntry("scenario", offer.name, offer.form.question, choose)
            if screen.offer:
                form = screen.offer.form
                for index, name in enumerate(offers.row_names(form)):
                    choose = partial(screen.choose_setting, index)
                    yield PaletteEntry("setting", name, offers.meaning(form, name), choose)
        elif isinstance(screen, StorageScreen):
            run = partial(self._push, LessonsScreen)
            yield PaletteEntry("screen", "lessons", "Learn on simulated disks what makes data durable.", run)
            for name, form in (*scenarios.load_shipped(), (power_cut.NAME, power_cut.FORM)):
                yield PaletteEntry("scenario", name, form.question, partial(screen.action_run_here, name))

    def _lessons(self) -> Iterator[PaletteEntry]:
        """Return the lessons, but not during a run: their simulation would disturb it."""
        from fstui.report import glossary  # noqa: PLC0415  the first frame does not need it
        from fstui.runs.lessons import lessons  # noqa: PLC0415
        from fstui.tui.screens.lessons import LessonScreen  # noqa: PLC0415

        if self._fstui.run_in_progress is None and not isinstance(self.screen, LessonScreen):
            for lesson in lessons():
                terms = ", ".join(map(glossary.spelling, lesson.words[:3]))
                run = partial(self._push, LessonScreen, lesson)
                yield PaletteEntry("lesson", f"{lesson.number:2} {lesson.title}", terms, run)

    def _rules_and_themes(self) -> Iterator[PaletteEntry]:
        from fstui.runs.rules import questions  # noqa: PLC0415
        from fstui.tui.screens.page_screen import explain_screen  # noqa: PLC0415

        for name, first_sentence in (rule for rules in questions().values() for rule in rules):
            yield PaletteEntry("rule", name, first_sentence, partial(self._push, explain_screen, name))
        current = self.app.theme if self.app.theme in THEMES else DEFAULT_THEME
        for name, description in THEMES.items():
            marked = f"Current. {description}" if name == current else description
            yield PaletteEntry("theme", name, marked, partial(self._fstui.choose_theme, name))
        picture = self._fstui.save_picture
        yield PaletteEntry(
            "screen", "picture of the screen", "Write it as an SVG file to the current directory.", picture
        )

    def _terms(self) -> Iterator[PaletteEntry]:
        from fstui.report import glossary  # noqa: PLC0415  the first frame does not need it
        from fstui.tui.screens.page_screen import term_screen  # noqa: PLC0415

        for name, term in glossary.entries().items():
            names = ", ".join(dict.fromkeys((glossary.spelling(name), *term.also)))
            meaning = glossary.first_sentence(name)
            yield PaletteEntry("term", names, meaning, partial(self._push, term_screen, name))

    def _lines(
        self, entries: Sequence[PaletteEntry], in_title: str = "(?!)", in_help: str = "(?!)"
    ) -> Iterator[Content]:
        """Yield one line for each entry: kind, name and help. The help gets more room on a narrow screen."""
        room = min(self.app.size.width, max(_MIN_WIDTH, self.app.size.width * 3 // 5)) - _KIND_WIDTH - _BLANKS
        longest_name = max((drawn_width(entry.name) for entry in entries), default=0)
        free = room - max((drawn_width(entry.help) for entry in entries), default=0)
        most = _WIDE_NAME_WIDTH if self.app.size.width >= _WIDE_SCREEN else _NAME_WIDTH
        width = max(min(longest_name, most), min(free, most))
        for kind, name, help_text, _ in entries:
            fitted = (fit_middle if "/" in name else fit)(name, width)  # paths differ at their ends
            # no colours, because they would be hard to read on the background of the selected row
            start = Content.assemble(f"{kind:{_KIND_WIDTH}}  ", (fitted, "bold"), "  ")
            yield Content.assemble(
                start.highlight_regex(f"(?i){in_title}", style="underline"),
                Content(escape_controls(help_text)).highlight_regex(f"(?i){in_help}", style="underline"),
            )

    def _push(self, make: Callable[..., BaseScreen], *arguments: object) -> None:
        self.app.push_screen(make(*arguments))

    async def _open(self, path: str) -> None:
        from fstui.runs import history  # noqa: PLC0415

        with self._fstui.reporting():
            saved = await history.find(path)
            self._fstui.open_saved(saved)


async def _saved_runs() -> tuple[Summary, ...]:
    """Read the saved runs. Return none if they cannot be read, for example because the disk hangs."""
    from fstui.runs import history  # noqa: PLC0415

    try:
        return tuple(run for run in await history.summaries() if not run.unreadable)
    except (OSError, Refused):
        return ()
