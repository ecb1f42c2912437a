"""Lines of text, each sent to the terminal only as far as it changed.

Every changed cell costs bytes on a bad line, so the widget compares what it drew with what it draws now and refreshes
the span up to the last changed column of each line, no more (the compositor cuts on the right only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.style import Style
from rich.text import Span, Text
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from fstui.tui.drawing.cells import ACTION, ROW
from fstui.tui.styles import FAINT

Draw = Callable[[int, int], Sequence[Text]]
"""Lines for a width and a height."""
UNBOUNDED = 10_000
_TURN = 3
"""Lines by one notch of the wheel."""


class Lines(Widget):
    """Draws what a function returns for the room there is. ``redraw()`` after the function would say something else.

    A function that returns more lines than fit is scrolled with ``scroll_lines``; the last line says how many follow.
    """

    class RowChosen(Message):
        """A row was clicked on: its number in that part."""

        def __init__(self, part: Lines, row: int) -> None:
            super().__init__()
            self.part, self.row = part, row

    class Turned(Message):
        """The wheel was turned over rows, by so many of them."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    DEFAULT_CSS = "Lines { height: auto; }"

    def __init__(
        self,
        draw: Draw,
        *,
        lines: Callable[[], int] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """``lines``: how many there are where there is room for all, where that is known without drawing them."""
        super().__init__(id=id)
        self._draw = draw
        self._known_lines = lines
        self._painter = Painter(self)
        self._offset = 0
        self._height_drawn = 0
        self._size_drawn = Size(0, 0)
        self._marks: list[list[tuple[Span, dict[str, Any]]]] = []

    def redraw(self) -> None:
        """Draw again and refresh what changed.

        Not beneath another screen: textual would repaint the whole terminal for it. Draw when the screen resumes.
        """
        width, height = self.size
        if not width or not height or not self.screen.is_active:
            return
        if self.styles.is_auto_height and self._lines_wanted(width) != self._height_drawn:
            self.refresh(layout=True)
        before = self._painter.strips
        self._draw_now()
        regions = [
            Region(0, y, changed[-1] + 1, 1)
            for y in range(height)
            if (changed := changes(at(before, y), at(self._painter.strips, y), width))
        ]
        if regions:
            self.refresh(*regions)

    def scroll_lines(self, by: int) -> None:
        self._offset = max(self._offset + by, 0)
        self.redraw()

    def to_top(self) -> None:
        """Show the first line again, as after another choice."""
        self._offset = 0

    async def on_click(self, event: Click) -> None:
        """A row is selected wherever it is clicked on; a key of the footer does what it says."""
        for span, found in self._marks[event.y] if event.y < len(self._marks) else ():
            if (row := found.get(ROW)) is not None:
                self.post_message(self.RowChosen(self, row))
            elif span.start <= event.x < span.end:
                await self.app.run_action(found[ACTION], default_namespace=self.screen)

    def on_mouse_scroll_down(self) -> None:
        self._turned(_TURN)

    def on_mouse_scroll_up(self) -> None:
        self._turned(-_TURN)

    def _turned(self, by: int) -> None:
        """By the wheel: the selection moves where there is one, else what is longer than its room."""
        if any(ROW in found for marks in self._marks for _, found in marks):
            self.post_message(self.Turned(by))
        else:
            self.scroll_lines(by)

    def render_line(self, y: int) -> Strip:
        self._draw_where_resized()
        return at(self._painter.strips, y) or Strip.blank(self.size.width, self._painter.ground)

    def repaint(self) -> None:
        """Draw all of it anew, as in other colours."""
        self._size_drawn = Size(0, 0)
        self._painter.forget()
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._height_drawn = self._lines_wanted(width)
        return self._height_drawn

    def _draw_where_resized(self) -> None:
        """Textual paints what has another size by itself, the first time too."""
        if self._size_drawn != self.size:
            self._draw_now()

    def _draw_now(self) -> None:
        self._size_drawn = self.size
        width, height = self.size
        texts = self._visible(width, height) if width and height else []
        self._marks = [list(_marks(text)) for text in texts]
        self._painter.paint([_unmarked(text) for text in texts], width)

    def _lines_wanted(self, width: int) -> int:
        return self._known_lines() if self._known_lines else len(self._draw(width, UNBOUNDED))

    def _visible(self, width: int, height: int) -> list[Text]:
        texts = list(self._draw(width, height))
        self._offset = min(self._offset, max(len(texts) - height, 0))
        part = texts[self._offset : self._offset + height]
        left = len(texts) - self._offset - height
        if left > 0:
            part[-1] = Text(f"   … {left + 1} more (PgDn)", style=FAINT, end="")
        return part


def _marks(text: Text) -> Iterator[tuple[Span, dict[str, Any]]]:
    """What a click finds on the text, and where."""
    return ((span, span.style.meta) for span in text.spans if isinstance(span.style, Style) and span.style.meta)


def _unmarked(text: Text) -> Text:
    """As it is shown: marks would only cut it into more pieces."""
    marks = [span for span, _ in _marks(text)]
    text.spans = [span for span in text.spans if span not in marks] if marks else text.spans
    return text


class Painter:
    """Paints for one widget, and keeps what it painted last."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._painted_on: object = None
        self.texts: list[Text] = []
        self.strips: list[Strip] = []

    @property
    def ground(self) -> Style:
        """What lies beneath the text: nothing where the terminal has its own colours."""
        return Style.null() if self._widget.app.native_ansi_color else self._widget.rich_style

    def forget(self) -> None:
        """Render all of it the next time, as in other colours."""
        self._painted_on = None

    def paint(self, texts: Sequence[Text], width: int) -> None:
        paints_on, old = (width, ground := self.ground), dict(enumerate(zip(self.texts, self.strips, strict=True)))
        if paints_on != self._painted_on:
            self._painted_on, old = paints_on, {}
        self.strips = [
            old[y][1] if y in old and _alike(old[y][0], text) else self._strip(text, width, ground)
            for y, text in enumerate(texts)
        ]
        self.texts = list(texts)

    def _strip(self, text: Text, width: int, ground: Style) -> Strip:
        strip = Strip(text.render(self._widget.app.console)).simplify().adjust_cell_length(width)
        return strip.apply_style(ground) if ground else strip


def changes(old: Strip | None, new: Strip | None, width: int) -> Sequence[int]:
    """The cells that differ, ascending."""
    if old is new or old == new:
        return ()
    if old is None or new is None:
        return range(width)
    before, after = list(_cells(old)), list(_cells(new))
    if len(before) != len(after):
        return range(width)
    return [x for x, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]


def at(strips: Sequence[Strip], y: int) -> Strip | None:
    """That line, where there is one."""
    return strips[y] if y < len(strips) else None


def _alike(old: Text, new: Text) -> bool:
    return old == new and old.style == new.style


def _cells(strip: Strip) -> Iterator[tuple[str, object]]:
    return ((c, segment.style) for segment in strip for c in segment.text)
