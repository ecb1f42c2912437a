"""The first screen: every filesystem, what it does now, and whether its configuration is durable."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from fstui.model.quantities import counted
from fstui.model.storage import Node, Target
from fstui.tui.commands import COPY, HELP, HISTORY, LIST, QUIT, WATCH, Command
from fstui.tui.drawing import filesystem, storage
from fstui.tui.drawing.cells import line, rule
from fstui.tui.iostats import DeviceActivity
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import WARNING

if TYPE_CHECKING:
    from fstui.runs.history import Summary

COUNTERS_INTERVAL_S = 1.0
SURVEY_INTERVAL_S = 5.0
SPACE_INTERVAL_S = 15.0
MAX_SAVED_RUNS = 200
COPIED_WIDTH = 200
"""Wide enough that nothing is cut in the clipboard."""


class StorageScreen(BaseScreen):
    """The list of filesystems above; the I/O path and the findings of the selected one below."""

    KEYS = (
        WATCH,
        Command("storage.run", "enter", "run_here", "run here", "Choose a scenario for this filesystem."),
        Command("storage.filter", "slash", "filter", "filter", "Show only rows that contain the words you type."),
        HISTORY,
        Command("storage.all", "a", "toggle_pseudo", "all", "Show or hide pseudo filesystems such as /proc."),
        Command("storage.sort", "o", "sort", "sort", "Sort by the next column. To choose one, click on its title."),
        COPY,
        HELP,
        QUIT,
        Command("storage.clean", "c", "clean", "", "Remove what earlier runs left behind."),
        Command("storage.unfilter", "escape", "unfilter", "", "Remove the filter."),
        *LIST,
    )
    CSS_PATH = None
    """This screen needs only the app's style sheet, and reading another one would delay the first frame."""
    DOUBLE_CLICK_ACTION = "run_here"
    SCROLLED_PART = "detail"
    HELP_TEXT = (
        "All mounted filesystems that can hold files, the worst first. A flag marks a fault in the configuration, or a "
        "filesystem that is full or read-only. Below the table are the reason, and the I/O path of the selected "
        "filesystem: what each layer receives, and whether it passes flushes on. The numbers are those of its disk or "
        "loop device now. If several filesystems share a device, only the first row shows its numbers. A virtual "
        "machine has a row of its own: it shows what each of its disks does with a flush. To test the storage itself, "
        "run a scenario."
    )

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self.inventory = Inventory()
        self.judgements: dict[str, Judgement] | None = None
        """None in the first frame, which is drawn before the judge is loaded."""
        self.activity = DeviceActivity()
        self.rows: list[storage.StorageEntry] = []
        self.selected = 0
        self.shows_pseudo = False
        self.filter_text = ""
        self.sort = next(iter(storage.SORTS))
        self.host_activity = HostActivity()
        self.saved_runs: Sequence[Summary] | None = None
        self._next_survey_s = self._space_measured_s = float("-inf")
        self._cursor_was_moved = False
        """Whether the user has moved the cursor. Until then, it is on the initial row, even if that changes."""
        self._was_away = False
        """Whether another screen was in front since the last reading of the counters."""

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("table", self._draw_table, full_height=self._table_height, frame=True)
        yield self.lines("detail", self._draw_detail, classes="rest", frame=True)
        yield self.lines("hint", self._draw_hint, classes="line")
        yield self.footer_lines()

    def on_mount(self) -> None:
        with self.fstui.guarded():
            self.inventory = self.fstui.session.filesystems()
            self.refresh_rows()
        self.call_after_refresh(self.survey)
        self.set_interval(COUNTERS_INTERVAL_S, self.tick)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.tick)
        self.call_after_refresh(self.fstui.read_state)
        self.call_after_refresh(self.follow_activity)
        self.call_after_refresh(self.read_saved_runs)

    def on_screen_suspend(self) -> None:
        self._was_away = True
        # Looking for processes must not disturb a measurement on another screen.
        self.workers.cancel_group(self, "activity")

    @work(exclusive=True, group="activity")
    async def follow_activity(self) -> None:
        """Look for databases and for processes that write, while this screen is in front."""
        if not self.is_active:  # another screen was opened before the first refresh
            return
        with self.fstui.guarded(), suppress(OSError, Refused):
            async with aclosing(self.fstui.session.machine.activity()) as samples:
                async for self.host_activity in samples:
                    self.refresh_rows()

    @work(exclusive=True, group="saved runs")
    async def read_saved_runs(self) -> None:
        """Read the saved runs. ``read_state`` of the app reports a state directory that cannot be read."""
        from fstui.runs import history  # noqa: PLC0415  the first frame does not need it

        self.saved_runs = self.saved_runs or ()
        with suppress(OSError, Refused):
            self.saved_runs = await history.summaries(MAX_SAVED_RUNS)
        self.redraw()

    def tick(self) -> None:
        """Read the counters, and sometimes the mounts, unless another screen is in front."""
        if not self.is_active:  # is_current is also true for the screen below another one
            return
        with self.fstui.guarded():
            if self.fstui.session.machine.has_changed() or time.monotonic() >= self._next_survey_s:
                self.survey()
            else:
                self.read_counters()
                if self.terminal_is_ready():
                    self.refresh_rows()

    def survey(self) -> None:
        began = time.monotonic()
        targets = {target.mount_point: target for target in self.inventory.filesystems}
        with self.fstui.guarded():
            inventory, self.judgements = self.fstui.session.judged_filesystems()
            # On a host with many devices a survey takes a long time: spend at most a tenth of the time on it.
            self._next_survey_s = time.monotonic() + SURVEY_INTERVAL_S + 9 * (time.monotonic() - began)
            self.inventory = _with_earlier_space(inventory, targets)
            self.read_counters()
            self.refresh_rows()
            new_mounts = {target.mount_point for target in inventory.filesystems} - targets.keys()
            if new_mounts or time.monotonic() - self._space_measured_s >= SPACE_INTERVAL_S:
                self._space_measured_s = time.monotonic()
                self.call_after_refresh(self.measure_space, inventory)  # draw the verdicts before starting a child

    @work(exclusive=True, group="space")
    async def measure_space(self, inventory: Inventory) -> None:
        """Call statvfs in a child process that can be abandoned, because it hangs if a server does not answer."""
        with self.fstui.guarded():
            self.inventory, self.judgements = await self.fstui.session.with_space(inventory)
            self.refresh_rows()

    def read_counters(self) -> None:
        nodes: dict[str, Node] = {node.id: node for target in self.inventory.filesystems for node in target.devices}
        nodes |= {node.id: node for node in self.inventory.unused}
        if self.row and self.row.target:
            nodes |= {node.id: node for node in self.row.target.stack if node.counted}
        self.activity.add(self.fstui.session.machine.counters(nodes.values()), after_pause=self._was_away)
        self._was_away = not self.is_active  # the first survey may end after another screen was opened

    def refresh_rows(self) -> None:
        key, stats = self.rows[self.selected].key if self.row else None, self.activity.stats
        self.rows = storage.entries(
            self.inventory, self.judgements, stats, pseudo=self.shows_pseudo, text=self.filter_text, sort=self.sort
        )
        keys = [row.key for row in self.rows]
        if not self._cursor_was_moved:
            self.selected = storage.initial_row(self.rows, self.host_activity.databases)
        elif key in keys:
            self.selected = keys.index(key)
        else:
            self.selected = min(self.selected, max(len(keys) - 1, 0))
        self.redraw()

    @property
    def row(self) -> storage.StorageEntry | None:
        return self.rows[self.selected] if self.selected < len(self.rows) else None

    def action_move(self, offset: int) -> None:
        self._cursor_was_moved = True
        self.selected = max(0, min(self.selected + offset, len(self.rows) - 1))
        self.part("detail").scroll_to_top()
        self.redraw()

    def action_run_here(self, scenario: str = "") -> None:
        if self.row is None:
            return
        if self.row.guest:
            self.say("This is a virtual machine. Run fstui inside it, or here on the filesystem that holds its image.")
        elif self.row.target is None:
            self.say("No filesystem is mounted here from this device. Mount one first: fstui never writes to a device.")
        elif self.row.target.silent_s is not None:
            self.say("This filesystem does not answer: a run there would hang.")
        elif self.row.target.pseudo:
            self.say("This filesystem cannot hold files.")
        else:
            from fstui.runs.site import usual_directories  # noqa: PLC0415  the first frame does not need it

            mount_point = self.row.target.mount_point
            mounts = [target.mount_point for target in self.inventory.filesystems]
            directory = self.row.target.path or mount_point
            self.fstui.open_plan(directory, usual_directories(mount_point, mounts), scenario)

    def action_watch(self) -> None:
        if self.row is not None and self.row.guest:
            self.say("This is a virtual machine. Watch the filesystem that holds its image, or run fstui inside it.")
        elif self.row is not None and self.row.target is None:
            self.say("No filesystem is mounted here from this device, so there is nothing to watch.")
        elif self.row is not None and self.row.target is not None:
            from fstui.tui.screens.watch import WatchScreen  # noqa: PLC0415

            self.app.push_screen(WatchScreen(self.row.target))

    def action_toggle_pseudo(self) -> None:
        self.shows_pseudo = not self.shows_pseudo
        self.refresh_rows()

    def action_sort(self) -> None:
        sorts = list(storage.SORTS)
        self.action_sort_by(sorts[(sorts.index(self.sort) + 1) % len(sorts)])

    def action_sort_by(self, sort: str) -> None:
        self.sort = sort
        self.refresh_rows()

    async def action_filter(self) -> None:
        hint = "words in the mount point, type, device, I/O path or flag"
        await self.open_prompt(hint, value=self.filter_text, change=self.filter_by)

    def filter_by(self, text: str) -> None:
        self.filter_text = text
        self.refresh_rows()

    async def action_unfilter(self) -> None:
        await self.query("Input").remove()
        self.filter_by("")

    @work(exclusive=True, group="clean")
    async def action_clean(self) -> None:
        if self.fstui.left_behind:
            self.say(await self.fstui.clean())
            self.fstui.read_state()

    def action_copy(self) -> None:
        self.copy("\n".join(text.plain.rstrip() for text in self._draw_detail(COPIED_WIDTH, 0)))

    def _draw_title(self, width: int, height: int) -> list[Text]:
        rows = self.rows
        if self.filter_text:  # the title also counts the rows that the filter hides
            rows = storage.entries(self.inventory, self.judgements, self.activity.stats, pseudo=self.shows_pseudo)
        return [storage.title(self.inventory, rows, self.fstui.session.simulated, width)]

    def _table_height(self) -> int:
        return len(self.rows) + 1 + self.part("table").has_frame

    def _draw_table(self, width: int, height: int) -> list[Text]:
        top = [rule(width, "filesystems", f"sorted by {self.sort}")] if self.part("table").has_frame else []
        table_height, is_real = height - len(top), self.fstui.session.simulated is None
        rows = storage.table(
            self.rows, self.activity, self.selected, width=width, height=table_height, has_counters=is_real
        )
        return [*top, *rows]

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        row, stats, runs = self.row, self.activity.stats, self.saved_runs or ()
        lines = filesystem.detail(row, stats, self.host_activity, width, height, runs=runs, inventory=self.inventory)
        if row is None or self.saved_runs is None:
            return lines
        if simulated := getattr(self.fstui.session.machine, "parameters", None):
            return [*lines, line(), *filesystem.disk(simulated, width)]
        return [*lines, *filesystem.last_minutes(row, self.activity, width, height - len(lines))]

    def _draw_hint(self, width: int, height: int) -> list[Text]:
        if count := len(self.fstui.left_behind):
            notice = f" ! A killed run left {counted(count, 'thing')} behind. Press c to clean up."
            return [line((notice, WARNING))]
        return [line(storage.hint(self.inventory, self.shows_pseudo, self.sort, self.filter_text, width))]


def _with_earlier_space(inventory: Inventory, targets: Mapping[str, Target]) -> Inventory:
    """Copy the free space from earlier targets, because it is measured less often than mounts are read."""

    def with_space(target: Target) -> Target:
        earlier = targets.get(target.mount_point)
        if earlier is None or target.space is not None or earlier.source != target.source:
            return target
        return msgspec.structs.replace(target, space=earlier.space, silent_s=earlier.silent_s)

    return msgspec.structs.replace(inventory, filesystems=tuple(map(with_space, inventory.filesystems)))
