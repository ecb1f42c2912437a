"""The programs that wait for syncs on one filesystem, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.model.watch import WatchedSecond, WatchEvent, WatchFinished, WatchStarted
from fstui.report import watch
from fstui.tui.commands import BACK, HELP, PAGE_DOWN, PAGE_UP, QUIT, RECORDING, Command
from fstui.tui.drawing import watch as drawing
from fstui.tui.drawing.cells import line, rule
from fstui.tui.iostats import IoStats, Recent, of_second
from fstui.tui.screens.base_screen import BaseScreen

if TYPE_CHECKING:
    from fstui.runs.at_risk import WatchingRisk
    from fstui.runs.watch import Watching


class FollowingScreen(BaseScreen):
    """Follows a watch until its end. Esc ends it."""

    SCROLLED: ClassVar[str]
    """The part that the keys scroll."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: Watching | WatchingRisk | None = None
        self._ended = False

    async def start(self) -> Watching | WatchingRisk:
        """Start the watch. Raises Refused, OSError."""
        raise NotImplementedError

    def apply(self, event: WatchEvent) -> None:
        """Show an event."""

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
            self._ended = True
            self.say(str(trouble) or "The watch has ended.")
        else:
            self.call_later(self._leave)  # the child process has ended by then

    async def go_back(self) -> None:
        """Let the child remove its trace instances and report. A second key press does not wait."""
        if self._watching is None or self._ended:
            self._leave()
        else:
            self._ended = True
            self._watching.stop()
            self.say("Removing the kernel's trace …")

    def _leave(self) -> None:
        if self.is_active:
            self.app.pop_screen()
            self.app.call_later(self.fstui.tell, self.conclusion())

    def action_scroll(self, by: int) -> None:
        self.part(self.SCROLLED).scroll_lines(by)


class WatchScreen(FollowingScreen):
    """Programs above, devices below, the conclusion last. Esc ends the watch and shows the conclusion."""

    SCROLLED = "waits"
    KEYS = (
        replace(BACK, label="end"),
        Command("watch.at_risk", "r", "at_risk", "at risk", "What programs would lose if the power failed now."),
        RECORDING,
        HELP,
        QUIT,
        PAGE_UP,
        PAGE_DOWN,
    )
    HELP_TEXT = (
        "The programs that wait for a sync on this filesystem in this second: fsync and similar calls, O_DSYNC writes, "
        "and io_uring. P50, P99 and MAX are the times of a whole sync. DEVICE MEAN is the part that the devices take, "
        "on average; CPU WAIT ≤ is the part that can have been a wait for a CPU. WAITING is the share of the time in "
        "which a program waits. Charts show the last minutes of all programs together. Below are the devices with "
        "their own times. fstui writes nothing. Without root, the screen shows only what /proc reports: the devices' "
        "counters and the processes that write."
    )

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.view = drawing.WatchView(target)
        self._recent = Recent[IoStats]()

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("waits", self._draw_waits, classes="rest", frame=True)
        yield self.lines("devices", lambda width, _: drawing.devices(self.view, width), frame=True)
        yield self.lines("sentence", self._draw_sentence)
        yield self.footer_lines()

    async def start(self) -> Watching:
        return await self.fstui.session.watch(directory=self.view.target.path)

    def apply(self, event: WatchEvent) -> None:
        match event:
            case WatchStarted(untraced=untraced):
                self.view = replace(self.view, untraced=untraced, begun=True)
            case WatchedSecond(second=second, sentence=sentence):
                elapsed_s = self.view.elapsed_s + second.elapsed_s
                self.view = replace(self.view, second=second, sentence=sentence, elapsed_s=elapsed_s)
                self._recent.add(second.elapsed_s, of_second(second, traced=self.view.untraced is None))
            case WatchFinished(report=report):
                self.view = replace(self.view, sentence=watch.closing(report))
        self.redraw()

    def conclusion(self) -> str:
        return self.view.sentence

    def action_at_risk(self) -> None:
        from fstui.tui.screens.at_risk import AtRiskScreen  # noqa: PLC0415

        self.app.push_screen(AtRiskScreen(self.view.target))

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.view, self.fstui.session.simulated, width)]

    def _draw_waits(self, width: int, height: int) -> list[Text]:
        top = [rule(width, "programs that wait")] if self.part("waits").has_frame else []
        rows = [*top, *drawing.waits(self.view, width)]
        minutes = drawing.minutes(self._recent, width, height - len(rows) - 1)
        return [*rows, line(), *minutes] if minutes else rows

    def _draw_sentence(self, width: int, height: int) -> list[Text]:
        return drawing.sentence(self.view, width)
