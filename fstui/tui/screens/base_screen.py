"""What every screen of ours has: its keys, a footer that names them, and help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.screen import Screen

from fstui.tui import commands
from fstui.tui.commands import PALETTE, Command
from fstui.tui.drawing.cells import line, wrapped
from fstui.tui.driver import PressDriver
from fstui.tui.glyphs import HEAD
from fstui.tui.widgets.lines import Draw, Lines
from fstui.tui.widgets.slices import Slices

if TYPE_CHECKING:
    from fstui.tui.app import FstuiApp


class BaseScreen(Screen[None]):
    """A screen whose parts are lines drawn by functions."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide"), (150, "-huge")]  # noqa: RUF012  as textual has it
    """From so many columns on, panes stand side by side."""
    KEYS: ClassVar[tuple[Command, ...]] = ()
    HELP_TEXT: ClassVar[str] = ""
    """What this screen shows, for the help."""

    @property
    def fstui(self) -> FstuiApp:
        return cast("FstuiApp", self.app)  # the app imports the screens, not they the app

    def lines(
        self,
        id: str,  # noqa: A002
        draw: Draw,
        *,
        classes: str = "",
        lines: Callable[[], int] | None = None,
    ) -> Lines:
        """A part of the screen; ``lines``: how many it has, where that is known without drawing them."""
        part = Lines(draw, lines=lines, id=id)
        part.set_classes(classes)
        return part

    def footer_lines(self) -> Lines:
        """The last line: what the keys do here."""
        return self.lines("footer", self._draw_footer)

    def part(self, id: str) -> Lines:  # noqa: A002
        return self.query_one(f"#{id}", Lines)

    def redraw(self) -> None:
        """Draw every part again; only what changed is sent."""
        for part in self.parts():
            part.redraw()

    def parts(self) -> list[Lines | Slices]:
        """All that is drawn by functions."""
        return [*self.query(Lines), *self.query(Slices)]

    def shown_text(self) -> str:
        """Return what stands on the terminal now."""
        return "\n".join(strip.text for strip in self._compositor.render_strips(self.size))

    def line_is_free(self) -> bool:
        """What was drawn before has arrived: more may be drawn now. A slow line gets the newest instead of all."""
        driver = self.app._driver
        if isinstance(driver, PressDriver):
            if driver.is_behind:
                return False
            self.call_after_refresh(driver.ask_whether_arrived)
        return True

    def on_screen_resume(self) -> None:
        """What changed while another screen stood in front is drawn now."""
        self.redraw()

    _notice = ""
    _answered = ""
    """The notice that stood when the last key was pressed: a question, which that key may answer."""

    def say(self, words: str) -> None:
        """Show the sentence in the footer's place, until the next key."""
        self._notice = words
        self.part("footer").redraw()

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.say("Copied, if your terminal takes OSC 52.")

    async def ask_for(self, what: str, words: str, value: str = "") -> None:
        """A line to type into, at the bottom; ``what``: its name when it is submitted."""
        from textual.widgets import Input  # noqa: PLC0415  kept off the first frame

        await self.query("Input").remove()
        entry = Input(value, placeholder=words, id=what)
        await self.mount(entry)
        entry.focus()

    def on_key(self) -> None:
        """A key has been pressed: the notice has been read."""
        self._answered, self._notice = self._notice, ""
        if self._answered:
            self.part("footer").redraw()

    def on_click(self) -> None:
        self.on_key()

    def on_lines_row_chosen(self, chosen: Lines.RowChosen) -> None:
        self.choose_row(chosen.part.id or "", chosen.row)

    async def on_lines_turned(self, turned: Lines.Turned) -> None:
        """The wheel moves the selection as the keys do."""
        await self.run_action(f"move({turned.by})")

    def choose_row(self, part: str, row: int) -> None:
        """Select that row of a part: by default there is one list."""
        if (selected := getattr(self, "selected", None)) is not None:
            self.call_later(self.run_action, f"move({row - selected})")

    def footer_commands(self) -> Iterable[Command]:
        return (*self.KEYS, PALETTE)

    def _draw_footer(self, width: int, height: int) -> list[Text]:
        if self._notice:
            return [line((part, HEAD)) for part in wrapped(self._notice, width - 1, indent=" ")]
        return [commands.footer(self.footer_commands(), self.fstui.keymap, width)]
