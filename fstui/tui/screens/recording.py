"""The recording of ``fstui record``: move through time and see what storage and programs did at each moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import ceil

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from fstui.model.errors import Refused, sentence_of
from fstui.report.what_happened import CHARTS
from fstui.runs import recordings
from fstui.tui.commands import BACK, COPY, HELP, PAGE_DOWN, PAGE_UP, QUIT, Command
from fstui.tui.drawing import recording as drawing
from fstui.tui.drawing.cells import paragraph, rule, title_line
from fstui.tui.drawing.recording import ZOOMS, RecordingView
from fstui.tui.screens.base_screen import BaseScreen


class RecordingScreen(BaseScreen):
    """Charts over time, and the programs and devices of the chosen moment."""

    KEYS = (
        Command("recording.next", "n", "incident(1)", "next incident", "Go to the next incident."),
        Command("recording.earlier", "left", "move(-1)", "move", "Go one column back in time.", shown_as="←→"),
        Command("recording.later", "right", "move(1)", "", "Go one column forward in time."),
        Command("recording.in", "up,plus", "zoom(-1)", "zoom", "Zoom in: show a shorter period.", shown_as="↑↓"),
        Command("recording.out", "down,minus", "zoom(1)", "", "Zoom out: show a longer period."),
        Command("recording.previous", "p", "incident(-1)", "", "Go to the previous incident."),
        Command("recording.first", "home", "move(-10000000)", "", "Go to the beginning of the recording."),
        Command("recording.last", "end", "move(10000000)", "", "Go to the end of the recording."),
        COPY,
        HELP,
        BACK,
        QUIT,
        PAGE_UP,
        PAGE_DOWN,
    )
    HELP_TEXT = (
        "What 'fstui record' has recorded. The line below the title describes an incident at the chosen moment. Each "
        "chart shows a figure over time: the longest wait of a program for a sync, the mean time of a write, the "
        "bytes written per second, the dirty memory, and the share of the time in which processes waited for CPU, I/O "
        "and memory. ▲ marks the chosen column; the title shows its time. Its figures are on the right, for the "
        "device of the incident, or else the slowest one. Columns of this incident have a colour of their own. The "
        "tables show the programs that waited in this column, the processes that wrote and read most, and the "
        "devices. ≥: this program synced so often that it was not traced all the time. WAITED is the sum of all "
        "threads; a wait counts from its start, even before the column. CPU WAIT ≤ is the part of WAITED that may "
        "have been a wait for a CPU; it is not known for the kernel's threads and short processes. I/O LIMIT is the "
        "limit of the program's cgroup for writes. A process writes into memory first, and the kernel counts whole "
        "pages, so a process is shown with at most what its devices wrote. On the command line: fstui what-happened."
    )

    def __init__(self) -> None:
        super().__init__()
        self.view: RecordingView | None = None
        self.seconds_view: RecordingView | None = None
        """The seconds around the chosen moment, if they fit on the screen."""
        self._empty_text = "Reading the recording …"

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("sentence", partial(self._draw, drawing.sentence))
        with Container(id="both"):
            yield self.lines("timeline", self._draw_timeline, classes="rest", frame=True)
            with Container(id="moment"):
                yield self.lines("incidents", self._draw_incidents, frame=True)
                for draw in (drawing.waits, drawing.devices):
                    yield self.lines(draw.__name__, partial(self._draw, draw), frame=True)
                yield self.lines("seconds", self._draw_seconds, frame=True)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.open_recording()

    def on_resize(self) -> None:
        if self.view is not None:
            self.call_after_refresh(self.action_zoom, 0)

    @work
    async def open_recording(self) -> None:
        """Read the recording and choose its worst moment, or the last one."""
        try:
            what_happened = await recordings.read_what_happened(None)
        except (OSError, Refused) as trouble:
            self._empty_text = sentence_of(trouble)
            self.redraw()
            return
        await self.wait_for_refresh()  # before the first refresh, the timeline has no width
        worst = what_happened.incidents[0] if what_happened.incidents else None
        time = worst.middle if worst else what_happened.end - 2 * ZOOMS[0]
        self.view = RecordingView(what_happened, time, 0.0)
        self.go_to(time)

    @work(exclusive=True, group="read")
    async def go_to(self, time: float) -> None:
        """Choose this moment, then read its records, and the charts if they do not contain it."""
        assert self.view is not None
        begin, end = self.view.what_happened.start, self.view.what_happened.end
        view = replace(self.view, time=min(max(time, begin), end - 1), second=None, window=None, is_read=False)
        device = view.incident.device if view.incident else ""
        if device != view.device:
            view = replace(view, device=device, buckets={})
        number, _ = drawing.columns(view, self._width("timeline"))
        if not view.start or not 0 <= view.cell < number:
            cell_s = view.cell_s
            earliest, latest = begin // cell_s * cell_s, (ceil(end / cell_s) - number) * cell_s
            start = max(min(view.time // cell_s * cell_s - number // 2 * cell_s, latest), earliest)
            view = replace(view, start=start, buckets={})
        self.view = view
        self.redraw()
        with self.fstui.reporting():
            if not view.buckets:
                view = await _with_buckets(view, number)
            second, window = await recordings.read_moment(*view.column)
            self.view = view = replace(view, second=second, window=window)
            if self.part("seconds").display:
                seconds_view = replace(view, cell_s=1)
                number, _ = drawing.columns(seconds_view, self._width("seconds"))
                seconds_view = replace(seconds_view, start=view.time // 1 - number // 2)
                self.seconds_view = await _with_buckets(seconds_view, number)
        self.view = replace(self.view, is_read=True)
        self.redraw()

    def _width(self, part: str) -> int:
        return self.part(part).size.width - 2 * self.part(part).has_frame

    def action_move(self, offset: int) -> None:
        if self.view is not None:
            self.go_to(self.view.time + offset * self.view.cell_s)

    def action_zoom(self, offset: int) -> None:
        if self.view is not None:
            zooms = drawing.zooms(self.view, self._width("timeline"))
            index = ZOOMS.index(self.view.cell_s) + offset
            self.view = replace(self.view, cell_s=zooms[min(max(index, 0), len(zooms) - 1)], start=0.0, buckets={})
            self.go_to(self.view.time)

    def action_incident(self, offset: int) -> None:
        if self.view is None:
            return
        middles = [incident.middle for incident in self.view.incidents]
        ahead = [time for time in middles if (time - self.view.time) * offset > 1]
        if ahead:
            self.go_to(min(ahead) if offset > 0 else max(ahead))
        else:
            self.say("There is no further incident.")

    def action_choose_row(self, part: str, row: int) -> None:
        """Go to the clicked incident."""
        if self.view is not None:
            self.go_to(self.view.incidents[row].middle)

    def action_copy(self) -> None:
        if self.view is not None:
            day = f"{datetime.fromtimestamp(self.view.time):%Y-%m-%d}"
            self.copy(f"{self.view.what_happened.host}, {day} {drawing.sentence_text(self.view)}")

    def action_scroll(self, lines: int) -> None:
        for part in ("waits", "devices"):
            self.part(part).scroll_lines(lines)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.view, width) if self.view else title_line("recording", "", "", width)]

    def _draw_timeline(self, width: int, height: int) -> list[Text]:
        if self.view is None:
            return [rule(width), *paragraph(self._empty_text, width, " ")]
        return drawing.timeline(self.view, width, height)

    def _draw_incidents(self, width: int, height: int) -> list[Text]:
        return drawing.incidents(self.view, width, height) if self.view else []

    def _draw_seconds(self, width: int, height: int) -> list[Text]:
        view = self.seconds_view
        return drawing.timeline(view, width, height, CHARTS[1:]) if view and view.buckets else []

    def _draw(self, draw: Callable[[RecordingView, int], list[Text]], width: int, height: int) -> list[Text]:
        return draw(self.view, width) if self.view else []


async def _with_buckets(view: RecordingView, number: int) -> RecordingView:
    buckets = await recordings.read_overview(view.start, view.start + number * view.cell_s, view.cell_s, view.device)
    return replace(view, buckets=drawing.buckets_by_cell(buckets, view.start, view.cell_s))
