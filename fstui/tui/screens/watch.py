"""Who waits for the files of one filesystem, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.model.watch import WatchedSecond, WatchEvent, WatchFinished, WatchStarted
from fstui.report import watch
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT, bindings
from fstui.tui.drawing import watch as drawing
from fstui.tui.drawing.cells import line
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.waited import LastMinutes

if TYPE_CHECKING:
    from fstui.runs.watch import Watching


class WatchScreen(BaseScreen):
    """Programs above, devices below, the sentence last. Esc ends the watch, and leads back with what it came to."""

    KEYS = (replace(BACK, label="end"), HELP, QUIT, PAGE_UP, PAGE_DOWN)
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "Who waits for files of this filesystem to be on the disk, in this second: calls of fsync and its kin, O_DSYNC "
        "writes, io_uring. P50 and P99 are of a whole sync, DEVICE is the devices' part; WAITS is the share "
        "of the time. Charts show the last minutes, of all who wait together. Below, what the devices did, and their "
        "own times. Nothing is written. Without root, only what /proc tells: what devices count, and who writes."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.view = drawing.View(target)
        self._last = LastMinutes()
        self._watching: Watching | None = None
        self._ended = False

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("waits", self._draw_waits, classes="rest")
        yield self.lines("devices", lambda width, _: drawing.devices(self.view, width))
        yield self.lines("sentence", self._draw_sentence)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.follow()

    @work(exit_on_error=False)
    async def follow(self) -> None:
        """Take the events until the watch ends, with the screen at the latest."""
        try:
            self._watching = await self.fstui.session.watch(directory=self.view.target.path)
            async for event in self._watching.events():
                self._apply(event)
        except (Refused, OSError) as trouble:
            self._ended = True
            self.say(str(trouble) or "The watch has ended.")
        else:
            self.call_later(self._leave)  # the child has been seen to its end by then

    def _apply(self, event: WatchEvent) -> None:
        match event:
            case WatchStarted(untraced=untraced):
                self.view = replace(self.view, untraced=untraced, begun=True)
            case WatchedSecond(second=second, sentence=sentence):
                elapsed_s = self.view.elapsed_s + second.elapsed_s
                self.view = replace(self.view, second=second, sentence=sentence, elapsed_s=elapsed_s)
                self._last.add(second, traced=self.view.untraced is None)
            case WatchFinished(report=report):
                self.view = replace(self.view, sentence=watch.closing(report))
        self.redraw()

    async def go_back(self) -> None:
        """The child takes its instances down and says what it all came to; who presses twice does not wait for it."""
        if self._watching is None or self._ended:
            self._leave()
        else:
            self._ended = True
            self._watching.stop()
            self.say("Ending: the kernel's trace is taken down.")

    def _leave(self) -> None:
        if self.is_active:
            self.app.pop_screen()
            self.app.call_later(self.fstui.tell, self.view.sentence)

    def action_scroll(self, by: int) -> None:
        self.part("waits").scroll_lines(by)

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.view, self.fstui.session.simulated, width)]

    def _draw_waits(self, width: int, height: int) -> list[Text]:
        """The programs; what they leave shows the minutes before."""
        rows = drawing.waits(self.view, width)
        minutes = drawing.minutes(self._last, width, height - len(rows) - 1)
        return [*rows, line(), *minutes] if minutes else rows

    def _draw_sentence(self, width: int, height: int) -> list[Text]:
        return drawing.sentence(self.view, width)
