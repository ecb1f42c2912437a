"""The first screen: what is here, what it does now, and what already breaks durability."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui.model.activity import HostActivity
from fstui.model.errors import Refused
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.storage import Node, Target
from fstui.runs.writable_directories import usual_directories
from fstui.tui.commands import COPY, HELP, HISTORY, LIST, QUIT, Command, bindings
from fstui.tui.drawing import storage
from fstui.tui.drawing.cells import line
from fstui.tui.rates import Activity
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import DOUBT

if TYPE_CHECKING:
    from fstui.tui.beneath import Beneath

COUNTERS_S = 1.0
SURVEY_S = 5.0
SPACE_S = 15.0
RUNS_LOOKED_THROUGH = 200
"""The newest."""
COPIED_WIDTH = 200
"""Nothing is cut short on a clipboard."""


class StorageScreen(BaseScreen):
    """Filesystems above, the selected one's stack and flags below."""

    KEYS = (
        Command("storage.run", "enter", "run_here", "run here", "Choose a scenario for this filesystem."),
        Command("storage.watch", "t", "watch", "watch", "See who waits for the files of this filesystem."),
        Command("storage.filter", "slash", "filter", "filter", "Show only the rows that hold these words."),
        HISTORY,
        Command("storage.all", "a", "toggle_pseudo", "all", "Show or hide filesystems that cannot hold files."),
        Command("storage.sort", "o", "sort", "sort", "Sort by flag, by mount point, by writes per second."),
        COPY,
        HELP,
        QUIT,
        Command("storage.clean", "c", "clean", "", "Remove what a killed run has left behind."),
        Command("storage.unfilter", "escape", "unfilter", "", "Drop the filter."),
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "Every mounted filesystem that can hold files, worst first. W/S and FL/S: writes and flushes that its lowest "
        "devices complete per second now; MS/FL: how long one flush takes. A dash: not counted there. Below stands "
        "the selected one's stack, from the mount down, with what each layer does to a flush, and every flag with "
        "the path and value it was read from, and where there is room what its devices did in the last minutes. "
        "Nothing has been written."
    )

    def __init__(self) -> None:
        super().__init__()
        self.inventory = Inventory()
        self.flags: dict[str, Judgement] | None = None
        """None until the second frame: the first comes before the judge."""
        self.activity = Activity()
        self.rows: list[storage.Entry] = []
        self.selected = 0
        self.pseudo = False
        self.words = ""
        self.sort = storage.SORTS[0]
        self.at_work = HostActivity()
        self.beneath: Beneath | None = None
        """From the second look on."""
        self._surveyed = self._spaced = float("-inf")

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("table", self._draw_table, lines=lambda: storage.table_lines(self.rows))
        yield self.lines("detail", self._draw_detail, classes="rest")
        yield self.lines("hint", self._draw_hint, classes="line")
        yield self.footer_lines()

    def on_mount(self) -> None:
        with self.fstui.guarded():
            self.inventory = self.fstui.session.seen()
            self.refresh_rows()
        self.call_after_refresh(self.survey)
        self.set_interval(COUNTERS_S, self.tick)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.tick)
        self.call_after_refresh(self.fstui.look_back)
        self.call_after_refresh(self.see_who_works)
        self.call_after_refresh(self.see_saved_runs)

    def on_screen_suspend(self) -> None:
        """What is measured meanwhile is not disturbed by looking round."""
        self.workers.cancel_group(self, "at work")

    @work(exclusive=True, group="at work")
    async def see_who_works(self) -> None:
        """Who writes, and which databases run, as long as this screen is in front."""
        if not self.is_active:  # another one came before the first refresh
            return
        with self.fstui.guarded(), suppress(OSError):
            async with aclosing(self.fstui.session.at_work()) as looks:
                async for self.at_work in looks:
                    self.part("detail").redraw()

    @work(exclusive=True, group="saved runs")
    async def see_saved_runs(self) -> None:
        """What was measured here before; a home that cannot be read is told of elsewhere."""
        from fstui.runs import history  # noqa: PLC0415  the first frame comes without
        from fstui.tui.beneath import Beneath  # noqa: PLC0415

        self.beneath = self.beneath or Beneath(self.inventory.host.hostname)
        with suppress(OSError, Refused):
            self.beneath.runs = await history.listed(RUNS_LOOKED_THROUGH)
        self.redraw()  # whatever is left of it, where the app has ended meanwhile

    def tick(self) -> None:
        """Read the counters; now and then look again at what is mounted. Not while another screen is in front.

        (``is_current`` is true for the screen beneath as well.)
        """
        if not self.is_active:
            return
        with self.fstui.guarded():
            if self.fstui.session.changed() or time.monotonic() - self._surveyed >= SURVEY_S:
                self.survey()
            else:
                self.read_counters()
                if self.line_is_free():
                    self.refresh_rows()

    def survey(self) -> None:
        """Look at what is here; /proc and /sys only, so it cannot hang."""
        began = time.monotonic()
        known = {target.mount_point: target for target in self.inventory.filesystems}
        with self.fstui.guarded():
            found, self.flags = self.fstui.session.survey()
            # a large box takes its time: never more than a tenth of ours
            self._surveyed = time.monotonic() + 9 * (time.monotonic() - began)
            self.inventory = _with_known_space(found, known)
            self.read_counters()
            self.refresh_rows()
            if time.monotonic() - self._spaced >= SPACE_S or {t.mount_point for t in found.filesystems} - known.keys():
                self._spaced = time.monotonic()
                self.call_after_refresh(self.measure_space, found)  # the judged frame comes before any child

    @work(exclusive=True, group="space")
    async def measure_space(self, inventory: Inventory) -> None:
        """statvfs can hang on a dead server: the machine does it in a child that can be abandoned."""
        with self.fstui.guarded():
            self.inventory, self.flags = await self.fstui.session.with_space(inventory)
            self.refresh_rows()

    def read_counters(self) -> None:
        nodes: dict[str, Node] = {node.id: node for target in self.inventory.filesystems for node in target.lowest}
        nodes |= {node.id: node for node in self.inventory.unused}
        if self.row and self.row.target:
            nodes |= {node.id: node for node in self.row.target.stack if node.counted}
        counters = self.fstui.session.counters(nodes.values())
        self.activity.add(counters)
        if self.beneath:
            self.beneath.add(counters)

    def refresh_rows(self) -> None:
        """Order the rows anew; the cursor stays with its filesystem."""
        key = self.rows[self.selected].key if self.row else None
        self.rows = storage.entries(
            self.inventory, self.flags, self.activity.rates, pseudo=self.pseudo, words=self.words, sort=self.sort
        )
        keys = [row.key for row in self.rows]
        if key in keys and self._moved:
            self.selected = keys.index(key)
        else:
            self.selected = (
                min(self.selected, max(len(keys) - 1, 0))
                if self._moved
                else storage.begin(self.rows, self.fstui.directory)
            )
        self.redraw()

    _moved = False
    """Until the cursor is moved, it stays on the worst row, whichever that is."""

    @property
    def row(self) -> storage.Entry | None:
        return self.rows[self.selected] if self.selected < len(self.rows) else None

    def action_move(self, by: int) -> None:
        self._moved = True
        self.selected = max(0, min(self.selected + by, len(self.rows) - 1))
        self.part("detail").to_top()
        self.redraw()

    def action_scroll(self, by: int) -> None:
        self.part("detail").scroll_lines(by)

    def action_run_here(self) -> None:
        self.run_here()

    def run_here(self, scenario: str = "") -> None:
        """Plan a run on the selected filesystem, of that scenario first."""
        if self.row is None:
            return
        if self.row.target is None:
            self.say("No filesystem is mounted from it: mount one, then run there. fstui never writes to a device.")
        elif self.row.target.silent_s is not None:
            self.say("It does not answer: a run there would hang.")
        elif self.row.target.pseudo:
            self.say("It cannot hold files.")
        else:
            mount_point = self.row.target.mount_point
            mounts = [target.mount_point for target in self.inventory.filesystems]
            self.fstui.open_plan(
                self.row.target.path or mount_point, usual_directories(mount_point, mounts), self._busy, scenario
            )

    @property
    def _busy(self) -> str:
        """A device beneath the selected row that has little time left, in words."""
        from fstui.runs import caution  # noqa: PLC0415  the first frame comes without

        target = self.row.target if self.row else None
        return caution.busy_words(target, self.activity.busy) if target else ""

    def action_watch(self) -> None:
        if self.row is not None and self.row.target is None:
            self.say("No filesystem is mounted from it: nobody syncs there.")
        elif self.row is not None and self.row.target is not None:
            self.fstui.open_watch(self.row.target)

    def action_toggle_pseudo(self) -> None:
        self.pseudo = not self.pseudo
        self.refresh_rows()

    def action_sort(self) -> None:
        self.sort = storage.SORTS[(storage.SORTS.index(self.sort) + 1) % len(storage.SORTS)]
        self.refresh_rows()

    async def action_filter(self) -> None:
        await self.ask_for("words of a mount point, type, source or device", value=self.words, typed=self.filter_by)

    def filter_by(self, words: str) -> None:
        self.words = words
        self.refresh_rows()

    async def action_unfilter(self) -> None:
        await self.query("Input").remove()
        self.filter_by("")

    @work(exclusive=True, group="clean")
    async def action_clean(self) -> None:
        if self.fstui.left_behind:
            self.say(await self.fstui.clean())
            self.fstui.look_back()

    def action_copy(self) -> None:
        text = "\n".join(text.plain.rstrip() for text in self._draw_detail(COPIED_WIDTH, 0))
        self.copy(text)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [storage.title(self.inventory, self.rows, self.fstui.session.simulated, width)]

    def _draw_table(self, width: int, height: int) -> list[Text]:
        return storage.table(self.rows, self.activity.rates, self.selected, width, height)

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        if self.beneath is None:
            return storage.detail(self.row, self.activity.rates, self.at_work, width)
        return self.beneath.draw(self.row, self.activity.rates, self.at_work, (width, height))

    def _draw_hint(self, width: int, height: int) -> list[Text]:
        if count := len(self.fstui.left_behind):
            words = f" ! a killed run has left {count} thing{'s' if count > 1 else ''} behind: c removes them"
            return [line((words, DOUBT))]
        return [line(storage.hint(self.inventory, self.pseudo, self.sort, self.words))]


def _with_known_space(found: Inventory, known: Mapping[str, Target]) -> Inventory:
    """Room is measured seldom; until then the last known stands."""

    def filled(target: Target) -> Target:
        before = known.get(target.mount_point)
        if before is None or target.space is not None or before.source != target.source:
            return target
        return msgspec.structs.replace(target, space=before.space, silent_s=before.silent_s)

    return msgspec.structs.replace(found, filesystems=tuple(map(filled, found.filesystems)))
