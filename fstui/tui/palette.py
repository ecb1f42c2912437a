"""What Ctrl-P finds: the keys of the screen in front, mounts, scenarios, settings, rules, saved runs and themes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.fuzzy import Matcher

from fstui.model.errors import Refused
from fstui.tui.commands import key_name
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import THEMES

if TYPE_CHECKING:
    from fstui.runs.history import Summary
    from fstui.tui.app import FstuiApp


PATIENCE_S = 0.5


class Entry(NamedTuple):
    name: str
    help: str
    run: Callable[[], object]


class Entries(Provider):
    """All of them. Before a letter is typed, only what the footer names."""

    reading: asyncio.Task[tuple[Summary, ...]] | None = None
    """Of the saved runs."""

    async def startup(self) -> None:
        """Have the saved runs read meanwhile. Nothing is awaited: the letter after cancels what a letter began, and a
        start that is cancelled leaves the palette empty."""
        self.reading = asyncio.create_task(_saved_runs())

    async def shutdown(self) -> None:
        if self.reading is not None:
            self.reading.cancel()

    async def discover(self) -> Hits:
        for entry in self._keys():
            yield DiscoveryHit(entry.name, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for entry in self._at_hand():
            if hit := _hit(matcher, entry):
                yield hit
        for one in await self._read_by_now():
            if hit := _hit(matcher, self._saved(one)):
                yield hit

    async def _read_by_now(self) -> tuple[Summary, ...]:
        """The saved runs; none from a disk that takes long, as nothing found is shown before the search ends."""
        if self.reading is None:
            return ()
        done, _ = await asyncio.wait((self.reading,), timeout=PATIENCE_S)
        return self.reading.result() if done else ()

    @property
    def _fstui(self) -> FstuiApp:
        return cast("FstuiApp", self.app)  # the app imports this, not the other way round

    def _at_hand(self) -> Iterator[Entry]:
        yield from self._keys()
        yield from self._mounts()
        yield from self._scenarios()
        yield from self._rules()
        yield from self._themes()
        yield Entry("picture of this screen", "An SVG file in the current directory.", self._fstui.save_picture)

    def _keys(self) -> Iterator[Entry]:
        for command in getattr(self.screen, "KEYS", ()):
            if command.label:
                name = f"{command.label} ({key_name(command, self._fstui.keymap)})"
                yield Entry(name, command.help, self._acting(command.action))

    def _acting(self, action: str) -> Callable[[], object]:
        async def run() -> None:
            await self.app.run_action(action, default_namespace=self.screen)

        return run

    def _mounts(self) -> Iterator[Entry]:
        first = self.app.screen_stack[0]
        for target in first.inventory.filesystems if isinstance(first, StorageScreen) else ():
            if not target.pseudo and target.silent_s is None:
                yield Entry(
                    f"mount {target.mount_point}", f"What can be run there ({target.fstype}).", self._plan(target.path)
                )

    def _plan(self, path: str) -> Callable[[], object]:
        return lambda: self._fstui.open_plan(path)

    def _scenarios(self) -> Iterator[Entry]:
        from fstui.runs import scenarios  # noqa: PLC0415  kept off the first frame
        from fstui.tui import offers  # noqa: PLC0415
        from fstui.tui.screens.plan import PlanScreen  # noqa: PLC0415

        screen = self.screen
        if isinstance(screen, PlanScreen):
            for at, offer in enumerate(screen.offers.every):
                yield Entry(f"scenario {offer.name}", offer.form.question, partial(screen.choose_scenario, at))
            if screen.offer:
                form = screen.offer.form
                for at, name in enumerate(offers.rows(form)):
                    yield Entry(f"setting {name}", offers.meaning(form, name), partial(screen.choose_setting, at))
        elif isinstance(screen, StorageScreen):
            for name, scenario in scenarios.shipped_ones():
                yield Entry(f"scenario {name}", scenario.question, partial(screen.run_here, name))

    def _rules(self) -> Iterator[Entry]:
        from fstui.runs.rules import rule_names  # noqa: PLC0415

        for name in rule_names():
            yield Entry(f"rule {name}", "What it looks at, and what it proves.", self._explaining(name))

    def _explaining(self, name: str) -> Callable[[], object]:
        def run() -> None:
            from fstui.tui.screens.page_screen import explain_screen  # noqa: PLC0415

            self.app.push_screen(explain_screen(name))

        return run

    def _themes(self) -> Iterator[Entry]:
        for name, help_ in THEMES.items():
            yield Entry(f"theme {name}", help_, self._painting(name))

    def _painting(self, name: str) -> Callable[[], object]:
        return lambda: self._fstui.keep_theme(name)

    def _saved(self, one: Summary) -> Entry:
        name = f"run {one.id}: {one.scenario} on {one.target}"
        return Entry(name, f"{one.verdict}, {one.started_at}", self._opening(one.path))

    def _opening(self, path: str) -> Callable[[], object]:
        async def run() -> None:
            from fstui.runs import history  # noqa: PLC0415

            try:
                saved = await history.find(path)
            except (OSError, Refused) as trouble:
                self._fstui.tell(str(trouble))
                return
            self._fstui.open_result(saved.run, saved.path, saved.run.target.path if saved.run.target else None)

        return run


async def _saved_runs() -> tuple[Summary, ...]:
    """From a disk that may hang: none where it does."""
    from fstui.runs import history  # noqa: PLC0415

    try:
        return tuple(one for one in await history.listed() if not one.unreadable)
    except (OSError, Refused):
        return ()


def _hit(matcher: Matcher, entry: Entry) -> Hit | None:
    score = matcher.match(f"{entry.name} {entry.help}")
    return Hit(score, matcher.highlight(entry.name), entry.run, help=entry.help) if score > 0 else None
