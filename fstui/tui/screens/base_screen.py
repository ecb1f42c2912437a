"""The base class of all screens: parts drawn by functions, a footer with keys and notices, a prompt, and clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.color import Color
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen

from fstui.tui import commands
from fstui.tui.commands import PALETTE, PALETTE_KEYS, Command
from fstui.tui.drawing.cells import paragraph
from fstui.tui.styles import HEAD
from fstui.tui.terminal import SlowLineDriver
from fstui.tui.widgets.lines import DrawnLines, DrawnText, Footer

if TYPE_CHECKING:
    from textual.await_remove import AwaitRemove
    from textual.events import Click
    from textual.widgets import Input

    from fstui.tui.app import FstuiApp
    from fstui.tui.widgets.table import DrawnTable


class _GreyScreen(BackgroundScreen):
    """Draws the screen below in grey, except its last line with the keys of the palette."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        drawn, grey = list(segments), Style(color="bright_black")
        last = max((index for index, segment in enumerate(drawn[:-1]) if segment.text == "\n"), default=0)
        return [*(Segment(segment.text, grey) for segment in drawn[:last]), *drawn[last:]]


def grey_below(background: RenderableType, app: App[int]) -> RenderableType:
    """Draw the screen below a dialog in grey. Textual cannot dim a screen in the terminal's own colours."""
    if isinstance(background, BackgroundScreen) and app.native_ansi_color:
        return _GreyScreen(background.screen, background.color)
    return background


class BaseScreen(Screen[None]):
    """A screen of fstui. Its bindings, footer, help and palette entries are generated from ``KEYS``."""

    CSS_PATH: ClassVar[Path | None] = Path(__file__).parents[1] / "css" / "others.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide"), (150, "-huge")]  # noqa: RUF012  Textual's own type
    BLANK = True  # the parts draw everything
    KEYS: ClassVar[tuple[Command, ...]] = ()
    HELP_TEXT: ClassVar[str] = ""

    SCROLLED_PART: ClassVar[str] = ""
    """The part that PgUp and PgDn scroll."""
    DOUBLE_CLICK_ACTION: ClassVar[str] = ""
    SHOWS_RUN: ClassVar[bool] = False
    """Whether the next run, or the result of this run, replaces the screen."""

    table: DrawnTable
    """The table of a screen that has one. Its cursor is moved by the keys of the screen."""

    _notice = ""
    _just_closed = ""
    """The notice that the last key press closed. If it was a question, the same key press may answer it."""
    _question = ""
    """The last notice that asked for a second key press."""
    _is_below_palette = False
    _submit_callback: Callable[[str], object] | None = None
    _change_callback: Callable[[str], object] | None = None

    def __init_subclass__(cls) -> None:
        if "BINDINGS" not in cls.__dict__:
            cls.BINDINGS = commands.bindings(cls.KEYS)
        super().__init_subclass__()

    @property
    def fstui(self) -> FstuiApp:
        return cast("FstuiApp", self.app)  # the app imports the screens, so they cannot import it

    lines = DrawnLines
    """Makes a part of the screen."""

    def footer_lines(self) -> DrawnLines:
        return Footer("footer", self._draw_footer)

    def part(self, id: str) -> DrawnLines:  # noqa: A002
        return self.query_one(f"#{id}", DrawnLines)

    def redraw(self) -> None:
        """Draw every part again. Only changed cells are sent to the terminal."""
        for part in self.parts():
            part.redraw()

    def parts(self) -> list[DrawnText]:
        return list(self.query(DrawnText))

    def shown_text(self) -> str:
        return "\n".join(strip.text for strip in self._compositor.render_strips(self.size))

    def remove(self) -> AwaitRemove:
        """Cancel the workers first, because a worker that looks for a removed part would end the app."""
        self.workers.cancel_node(self)
        return super().remove()

    def terminal_is_ready(self) -> bool:
        """Return whether the terminal has received the last frame. If not, the caller skips the next frame."""
        driver = self.app._driver
        if isinstance(driver, SlowLineDriver):
            if driver.is_behind:
                return False
            self.call_after_refresh(driver.request_reply)
        return True

    def show_palette_keys(self) -> None:
        """Show the keys of the palette in the footer until the palette is closed."""
        self._is_below_palette = True
        self.part("footer").redraw()

    def on_screen_resume(self) -> None:
        self._is_below_palette = False
        self.redraw()  # parts are not drawn while another screen is in front

    def render(self) -> RenderableType:
        """Draw the screen below a dialog or a panel in grey."""
        return grey_below(super().render(), self.app)

    def say(self, notice: str) -> None:
        """Show a notice above the keys until the next key."""
        self._notice = notice
        self.part("footer").redraw()

    def key_of(self, action: str) -> str:
        """Return the name of the key that runs this action of the screen."""
        command = next(command for command in self.KEYS if command.action == action)
        return commands.key_name(command, self.fstui.keymap)

    def ask(self, question: str) -> None:
        self._question = question
        self.say(question)

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.say("Copied, if your terminal supports OSC 52.")

    async def open_prompt(
        self,
        hint: str,
        submit: Callable[[str], object] | None = None,
        value: str = "",
        change: Callable[[str], object] | None = None,
    ) -> None:
        """Open a prompt at the bottom. ``submit`` gets the text on Enter, ``change`` after every change."""
        from textual.widgets import Input  # noqa: PLC0415  not needed for the first frame

        await self.query("Input").remove()
        self._submit_callback, self._change_callback = submit, change
        prompt = Input(value, placeholder=hint)
        await self.mount(prompt)
        prompt.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        if self._change_callback:
            self._change_callback(message.value)

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        await message.input.remove()
        if self._submit_callback:
            self._submit_callback(message.value.strip())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Ignore a key that arrives before the parts of the screen exist: the action would end the app."""
        return self.is_mounted

    async def action_back(self) -> None:
        if prompt := self.query("Input"):
            await prompt.remove()
        elif not self._just_closed or self._just_closed != self._question:  # else this key only closes the question
            await self.go_back()

    async def go_back(self) -> None:
        await self.fstui.action_back()

    def on_key(self) -> None:
        self._just_closed, self._notice = self._notice, ""
        if self._just_closed:
            self.part("footer").redraw()

    async def on_click(self, event: Click) -> None:
        """Close the notice, as a key press does, then run the clicked action, which may show a notice of its own."""
        if self.selections:  # text was selected by dragging
            return
        part, _ = self.get_widget_at(event.screen_x, event.screen_y)
        action = part.action_of(event) if isinstance(part, DrawnLines) else ""
        self.on_key()  # after action_of, because closing a notice moves the lines
        if action:
            await self.run_action(action)

    def action_move(self, offset: int) -> None:
        self.table.move(offset)

    def show_row(self) -> None:
        """Show the selected row of the table. Not an event handler: Textual would call it after a subclass's own."""
        self.part(self.SCROLLED_PART).scroll_to_top()
        self.redraw()

    async def action_open_row(self) -> None:
        if self.DOUBLE_CLICK_ACTION:
            await self.run_action(self.DOUBLE_CLICK_ACTION)

    def action_choose_row(self, part: str, row: int) -> None:
        """Select a row of a part. This method is for screens with one list."""
        if (selected := getattr(self, "selected", None)) is not None:
            self.call_later(self.run_action, f"move({row - selected})")

    def action_scroll(self, lines: int) -> None:
        part = self.query_one(f"#{self.SCROLLED_PART}")
        if isinstance(part, DrawnLines):
            part.scroll_lines(lines)
        else:
            part.scroll_relative(y=lines, animate=False)

    def footer_commands(self) -> Iterable[Command]:
        return (*self.KEYS, PALETTE)

    def _draw_footer(self, width: int, height: int) -> list[Text]:
        if self._is_below_palette:
            return [commands.footer(PALETTE_KEYS, {}, width)]
        notice = paragraph(self._notice, width, " ", HEAD) if self._notice else []
        return [*notice, commands.footer(self.footer_commands(), self.fstui.keymap, width)]
