"""The programs that wait for syncs on one filesystem, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import ItemGrid

from fstui.model.errors import Refused, sentence_of
from fstui.model.quantities import clock, size
from fstui.model.storage import Target
from fstui.model.watch import WatchCounts, WatchedSecond, WatchEvent, WatchFinished, WatchStarted
from fstui.report import watch
from fstui.report.text import origin
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT, RECORDING, Command
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import (
    Column,
    colour_cell,
    colour_meters,
    headline,
    line,
    paragraph,
    plain_meter,
    relative,
    rule,
    table,
    title_line,
    used_columns,
)
from fstui.tui.iostats import IoStats, RecentSamples, stats_of_second, total
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import FAINT, WARNING

if TYPE_CHECKING:
    from fstui.runs.watch import WatchInProgress

_BAR_CELLS = 8
WAITS = (
    Column("PROGRAM", 28, gap=0),
    Column("SYNCS/S", 7, right=True),
    Column("P50", 7, right=True, gap=2),
    Column("P99", 7, right=True, gap=2, from_width=96),
    Column("MAX", 7, right=True, gap=2, from_width=76),
    Column("DEVICE MEAN", 11, right=True, gap=2, from_width=86),
    Column("CPU WAIT ≤", 10, right=True, gap=2, from_width=100),
    Column("WAITING", 7, right=True, gap=2, from_width=60),
    Column("", _BAR_CELLS, from_width=150),
    Column("FILE", gap=2, from_width=60, cut="left"),
)
COLUMNS_KEPT_S = 30
"""A column whose values have gone stays for at most this time, so that nothing moves every second."""
_WIDE_SCREEN = 104
_CELL_S = 4  # of the charts; their last column is the last second
_MIN_SAMPLE_S = 0.5  # a shorter second, after a late one, is charted with the next: its rates are not exact
_WAITING = [column.title for column in WAITS].index("WAITING")
_LONG_WAIT_SHARE = 0.2
"""A program that waits for at least this share of the time has the warning colour."""
DEVICES = (
    Column("DEVICE", 13, gap=0),
    Column("WRITES/S", 8, right=True, gap=2),
    Column("BYTES/S", 10, right=True, gap=2, from_width=60),
    Column("WRITE P50", 9, right=True, gap=2, from_width=66),
    Column("FLUSHES/S", 9, right=True, gap=2),
    Column("FLUSH P50", 9, right=True, gap=2),
    Column("FLUSH P99", 9, right=True, gap=2, from_width=79),
    Column("FUA", 6, right=True, gap=2, from_width=87),
)
WRITERS = (Column("PROGRAM", gap=0), Column("WRITTEN/S", 10, right=True))


class LiveWatchScreen(BaseScreen):
    """A screen that shows the events of a watch. Esc ends the watch."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: WatchInProgress | None = None
        self._has_ended = False
        self._leaves_at_once = False
        """Whether Esc leaves without stopping the watch first."""

    async def start(self) -> WatchInProgress:
        """Start the watch. Raises Refused, OSError."""
        raise NotImplementedError

    def apply(self, event: WatchEvent) -> None:
        """Show an event. Subclasses override this method."""

    def conclusion(self) -> str:
        return ""

    def on_mount(self) -> None:
        self.follow()

    @work(exit_on_error=False)
    async def follow(self) -> None:
        try:
            self._watching = await self.start()
            async for event in self._watching.events():
                self.apply(event)
        except (Refused, OSError) as trouble:
            self._leaves_at_once = True
            self.say(sentence_of(trouble) or "The watch has ended.")
        else:
            self._has_ended = True
            self.call_later(self._leave)  # the last event has arrived, so the child process has ended

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self._has_ended:  # while another screen was in front
            self.call_later(self._leave)

    async def go_back(self) -> None:
        """Stop the child and wait for its last report. A second key press leaves at once."""
        if self._watching is None or self._leaves_at_once:
            self._leave()
        else:
            self._leaves_at_once = True
            self._watching.stop()
            self.say("Removing the kernel's trace …")

    def _leave(self) -> None:
        if self.is_active:
            self.app.pop_screen()
            self.app.call_later(self.fstui.tell, self.conclusion())


class WatchScreen(LiveWatchScreen):
    """The conclusion, the programs, and the devices below. Esc ends the watch and shows the conclusion."""

    SCROLLED_PART = "waits"
    KEYS = (
        replace(BACK, label="end"),
        Command("watch.at_risk", "r", "at_risk", "at risk", "Show what programs would lose if the power failed now."),
        RECORDING,
        HELP,
        QUIT,
        PAGE_UP,
        PAGE_DOWN,
    )
    HELP_TEXT = (
        "The table shows the programs that wait for a sync on this filesystem in this second. Syncs are fsync and "
        "similar calls, O_DSYNC writes, and syncs through io_uring. P50, P99 and MAX are the times of a whole sync. "
        "DEVICE MEAN is the part that the devices take, on average. A request does not name its program, so this is "
        "the mean of all programs, but at most that of the row's own syncs. CPU WAIT ≤ is the part that may have been "
        "a wait for a CPU; both parts may overlap. WAITING is the share of the time in which a program waits, coloured "
        "from 20 % on. The first lines name the cause, from the means of the last five seconds. FILE is "
        "relative to the mount point. Then come all devices of this filesystem with their own times. The charts show "
        "all programs together and the devices that the title names; each column is the highest of its seconds. fstui "
        "writes no test data. Without root, the screen shows only what /proc reports: the devices' counters and the "
        "processes that write. A narrow terminal leaves out some columns."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target
        self.elapsed_s = 0.0
        self._has_started = False
        self._untraced: str | None = None
        """Why the kernel's trace is missing."""
        self._second = WatchCounts()
        self._sentence = ""
        self._recent = RecentSamples[IoStats]()
        self._now: IoStats | None = None
        self._short: list[IoStats] = []
        self._charted_devices = tuple(node.id for node in target.devices)
        self._used_columns: dict[str, int] = {}

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("sentence", lambda width, _: headline(self._sentence, width, ": "), shrinks_late=True)
        with ItemGrid(id="both"):
            yield self.lines("waits", self._draw_waits, frame=True, shrinks_late=True)
            yield self.lines("devices", self._draw_devices, frame=True, shrinks_late=True)
        yield self.lines("minutes", self._draw_minutes, classes="rest", frame=True)
        yield self.footer_lines()

    async def start(self) -> WatchInProgress:
        return await self.fstui.session.watch(directory=self.target.path)

    def apply(self, event: WatchEvent) -> None:
        match event:
            case WatchStarted(untraced=untraced):
                self._untraced, self._has_started = untraced, True
            case WatchedSecond(second=second, sentence=sentence):
                self._second = second.only_of({node.id for node in self.target.stack})
                self._sentence = sentence
                charted = second.only_of(self._charted_devices)
                self.elapsed_s += second.elapsed_s
                if not round(self.elapsed_s) % COLUMNS_KEPT_S:
                    self._used_columns = {}
                self._now = stats_of_second(charted, traced=self._untraced is None)
                stats = total([*self._short, self._now])
                self._short = [stats] if stats.elapsed_s < _MIN_SAMPLE_S else []
                if not self._short:
                    self._recent.add(stats.elapsed_s, stats)
            case WatchFinished(report=report):
                self._sentence = watch.conclusion(report)
        self.redraw()

    def conclusion(self) -> str:
        return self._sentence

    def action_at_risk(self) -> None:
        from fstui.tui.screens.at_risk import AtRiskScreen  # noqa: PLC0415

        self.app.push_screen(AtRiskScreen(self.target))

    def _draw_title(self, width: int, height: int) -> list[Text]:
        badge = origin(self.fstui.session.simulated).partition(" ")[0]
        return [title_line("watch", io_path.path(self.target), f"watched for {clock(self.elapsed_s)}", width, badge)]

    def _draw_minutes(self, width: int, height: int) -> Sequence[Text]:
        name = " · ".join(("all programs", " + ".join(self._charted_devices)))
        return charts.last_minutes(
            name, charts.SYNC_FIGURES, self._recent, width=width, height=height, cell_s=_CELL_S, now=self._now
        )

    def _draw_waits(self, width: int, height: int) -> list[Text]:
        mean = "DEVICE MEAN: of all programs, at most the row's own mean · " if width >= _WIDE_SCREEN else ""
        return [rule(width, "programs that wait", f"{mean}the last second"), *self._waits(width)]

    def _waits(self, width: int) -> list[Text]:
        """Draw the programs that waited, longest first. Without the kernel's trace, draw those that wrote most."""
        second, per_s = self._second, max(self._second.elapsed_s, 1e-9)
        if self._untraced:
            reason = paragraph(f"not traced by the kernel: {self._untraced}", width, style=FAINT)
            writers = [(f"{row.name} ({row.pid})", size(row.written_bytes / per_s)) for row in second.writers]
            return [*reason, *table(WRITERS, writers, width)]
        bars = [plain_meter(wait.waited_ns / 1e9 / per_s, _BAR_CELLS) for wait in second.waits]
        waits = zip((watch.waiting_cells(wait, per_s) for wait in second.waits), bars, strict=True)
        cells = [(*figures, bar, relative(where, self.target.mount_point)) for (*figures, where), bar in waits]
        rows = table(used_columns(WAITS, cells, self._used_columns), cells, width)
        colour_meters(rows)
        for text, wait, values in zip(rows[1:], second.waits, cells, strict=True):
            if wait.waited_ns / 1e9 / per_s >= _LONG_WAIT_SHARE:
                colour_cell(text, values[0], WARNING)
                colour_cell(text, values[_WAITING], WARNING)
        state = "no program waits for a sync" if self._has_started else "setting up the kernel's trace"
        return rows if second.waits else [*rows, line((f"   {state}", FAINT))]

    def _draw_devices(self, width: int, height: int) -> list[Text]:
        second, per_s = self._second, max(self._second.elapsed_s, 1e-9)
        journals = [line(f"   {watch.journal(commits, per_s)}") for commits in second.commits]
        rows = [watch.device_cells(device, per_s) for device in second.devices]
        columns = used_columns(DEVICES, rows, self._used_columns)
        return [rule(width, "devices", "the last second"), *table(columns, rows, width), *journals]
