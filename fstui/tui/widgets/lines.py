"""Widgets that draw lines of text and send only changed cells to the terminal, because every cell costs bytes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.style import Style
from rich.text import Span, Text
from textual.events import Click
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from fstui.tui.drawing.cells import ACTION, MIN_FRAME_WIDTH, ROW, draw_frame
from fstui.tui.styles import FAINT

Draw = Callable[[int, int], Sequence[Text]]
"""A function that returns the lines for a width and a height."""
UNBOUNDED = 10_000  # a height for all lines
_WHEEL_LINES = 3
_KEPT_HEIGHTS = 10
"""About ten seconds on a screen that is drawn every second."""
_PIECES = 14
_EDGES = "(?m)^[╭│├╰]|[ ─╮│┤╯]+$"
"""Frames and blanks at both ends of lines, which are not copied."""


class DrawnText(Widget):
    """A widget that draws the lines a function returns. Call ``redraw()`` when the function returns new lines."""

    def __init__(self, id: str | None, draw: Draw, *, classes: str = "") -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._draw = draw
        self._texts: Sequence[Text] = ()
        self._strips: list[Strip] = []
        self._size_drawn = Size(0, 0)
        self._cache_key: object = None

    @property
    def strips(self) -> list[Strip]:
        """The drawn lines, for the current size. Textual repaints a resized widget without calling ``redraw``."""
        if self._size_drawn != self.size:
            self._draw_now()
        return self._strips

    def redraw(self) -> None:
        """Refresh the changed cells, unless another screen covers this one: Textual would then repaint everything."""
        width, height = self.size
        if not self.screen.is_active:
            return
        if not width or not height:
            self.forget()  # at its next appearance, the widget may have the size that was drawn last
            return
        earlier = self._strips
        self._draw_now()
        changed = {y: _changed_cells(_line(earlier, y), _line(self._strips, y), width) for y in range(height)}
        self.refresh_cells({y: cells for y, cells in changed.items() if cells})

    def refresh_cells(self, changed: Mapping[int, Sequence[int]]) -> None:
        """Refresh each line up to its last changed cell. The compositor can omit only the right end of a line."""
        if changed:
            self.refresh(*(Region(0, y, cells[-1] + 1, 1) for y, cells in changed.items()))

    def forget(self) -> None:
        """Forget what is drawn. The next refresh draws it again when the screen is in front."""
        self._texts, self._strips, self._size_drawn, self._cache_key = (), [], Size(0, 0), None

    def render_line(self, y: int) -> Strip:
        strip = _line(self.strips, y) or Strip.blank(self.size.width, self._background)
        if not self.allow_select:
            return strip
        span = selection.get_span(y) if (selection := self.text_selection) else None
        if span and y < len(self._texts):
            text, (start, end) = self._texts[y].copy(), span
            style = self.screen.get_component_rich_style("screen--selection")
            text.stylize(style, start, end if end >= 0 else len(text))
            strip = self._strip_of(text)
        return strip.apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if selection.start and selection.start.y >= len(self._texts):
            return None
        return re.sub(_EDGES, "", selection.extract("".join(f"{text.plain}\n" for text in self._texts))), "\n"

    def draw_texts(self, width: int, height: int) -> Sequence[Text]:
        return self._draw(width, height)

    @property
    def _background(self) -> Style:
        """The style behind the text; null if the terminal's own colours are used."""
        return Style.null() if self.app.native_ansi_color else self.rich_style

    def _draw_now(self) -> None:
        self._size_drawn = self.size
        width, height = self.size
        texts = self.draw_texts(width, height) if width and height else ()
        background, memo = self._background, dict(enumerate(zip(self._texts, self._strips, strict=True)))
        if self._cache_key != (width, background):
            self._cache_key, memo = (width, background), {}
        # Rendering is slow, so a line with the same text keeps its strip.
        self._strips = [
            memo[y][1] if y in memo and memo[y][0] == text and memo[y][0].style == text.style else self._strip_of(text)
            for y, text in enumerate(texts)
        ]
        self._texts = texts

    def _strip_of(self, text: Text) -> Strip:
        strip = Strip(text.render(self.app.console)).adjust_cell_length(self.size.width).simplify()
        return strip.apply_style(background) if (background := self._background) else strip


class DrawnLines(DrawnText):
    """Lines that can be clicked and scrolled. If some do not fit, the last line says how many follow."""

    DEFAULT_CSS = "DrawnLines { height: auto; }"

    def __init__(
        self,
        id: str | None,  # noqa: A002
        draw: Draw,
        *,
        classes: str = "",
        full_height: Callable[[], int] | None = None,
        frame: bool = False,
        shrinks_late: bool = False,
    ) -> None:
        """``full_height``: set if the height is known without drawing. ``frame``: draw a frame on a wide screen.

        ``shrinks_late``: keep the largest of the last heights, because each change of a height repaints the screen.
        """
        super().__init__(id, draw, classes=classes)
        self._full_height = full_height
        self._frame = frame
        self._last_heights: deque[tuple[int, int]] = deque(maxlen=_KEPT_HEIGHTS if shrinks_late else 1)
        """Each with the width for which it was calculated."""
        self._offset = 0
        self._height_drawn = 0
        self._clickable_spans: list[list[tuple[Span, dict[str, Any]]]] = []
        self._has_rows = False

    def redraw(self) -> None:
        width = self.size.width
        visible = width and self.screen.is_active
        if visible and self.styles.is_auto_height and self._height_for(width) != self._height_drawn:
            self.refresh(layout=True)
        super().redraw()

    def draw_texts(self, width: int, height: int) -> Sequence[Text]:
        frame = self.has_frame and width > 2
        inner_height = height - (frame and height > 1)  # a widget of one line shows only the top edge of its frame
        texts = self._draw(width - 2 * frame, inner_height)
        self._offset = min(self._offset, max(len(texts) - inner_height, 0))
        visible = list(texts[self._offset : self._offset + inner_height])
        if self._offset and texts[0].plain.startswith("──"):
            visible[0] = texts[0]  # the title stays while the lines below it scroll
        hidden = len(texts) - self._offset - inner_height
        if hidden > 0:
            if len(visible) > 2 and visible[-2].plain.startswith("──"):  # a title without a line below it
                visible[-2], hidden = Text(end=""), hidden + 1
            visible[-1] = Text(f"   … {hidden + 1} more (PgDn)", style=FAINT, end="")
        visible = draw_frame(visible, width, max(height, 2))[:height] if frame else visible
        self._clickable_spans = [list(_clickable_spans(text)) for text in visible]
        self._has_rows = any(ROW in meta for spans in self._clickable_spans for _, meta in spans)
        return [_without_clickable_spans(text) for text in visible]

    @property
    def allow_select(self) -> bool:
        """Allow the mouse to select text, as in Textual's own widgets, unless a click selects a row."""
        return super().allow_select and not self._has_rows

    @property
    def has_frame(self) -> bool:
        return self._frame and self.screen.size.width >= MIN_FRAME_WIDTH

    def scroll_lines(self, lines: int) -> None:
        self.screen.clear_selection()
        self._offset = max(self._offset + lines, 0)
        self.redraw()

    def scroll_to_top(self) -> None:
        self._offset = 0

    def action_of(self, event: Click) -> str:
        """Return the action of the clicked row, footer key or column title; an empty string for anything else."""
        for span, meta in self._clickable_spans[event.y] if event.y < len(self._clickable_spans) else ():
            if (row := meta.get(ROW)) is not None:
                return f"choose_row('{self.id}', {row})" if event.chain == 1 else "open_row"
            if span.start <= event.x < span.end:
                return str(meta[ACTION])
        return ""

    async def on_mouse_scroll_down(self) -> None:
        await self._scroll_or_move(_WHEEL_LINES)

    async def on_mouse_scroll_up(self) -> None:
        await self._scroll_or_move(-_WHEEL_LINES)

    async def _scroll_or_move(self, lines: int) -> None:
        """Move the selection, as the keys do, if the lines are rows that can be selected. Otherwise, scroll."""
        if self._has_rows:
            await self.app.run_action(f"move({lines})", default_namespace=self.screen)
        else:
            self.scroll_lines(lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._height_drawn = self._height_for(width)
        return self._height_drawn

    def _height_for(self, width: int) -> int:
        frame = self.has_frame
        lines = self._full_height() if self._full_height else len(self._draw(width - 2 * frame, UNBOUNDED))
        height = lines + frame if lines else 0
        self._last_heights.append((width, height))
        return max(last for at_width, last in self._last_heights if at_width == width)


class Footer(DrawnLines):
    ALLOW_SELECT = False


class Slices(DrawnText):
    """Lines in narrow pieces side by side, for a map in which few columns change.

    The compositor sends lines from the left edge of a widget, so narrow widgets reduce what is sent. For a map of 56
    columns that grows by one column, sending whole lines would take six times as many bytes.
    """

    DEFAULT_CSS = """
    Slices { layout: horizontal; height: 1fr; }
    Slices > Piece { width: 1fr; height: 1fr; }
    """

    async def on_show(self) -> None:
        if not self.children:  # a small screen hides the second map, and needs no pieces for it
            await self.mount(*(Piece(self) for _ in range(_PIECES)))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the frame, if there is one. The pieces cover everything else, so one blank line is enough."""
        blank = [Strip.blank(crop.width, self._background)] * crop.height
        return super().render_lines(crop) if self.gutter else blank

    def render_line(self, y: int) -> Strip:
        return Strip.blank(self.size.width, self._background)

    def _strip_of(self, text: Text) -> Strip:
        """Render a line with the filters of the app, which Textual would apply to each piece."""
        strip, background = super()._strip_of(text), self.background_colors[1]
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        return strip

    def refresh_cells(self, changed: Mapping[int, Sequence[int]]) -> None:
        for piece in self.query(Piece):
            piece.refresh_cells(changed)


class Piece(Widget):
    ALLOW_SELECT = False

    def __init__(self, slices: Slices) -> None:
        super().__init__()
        self._slices = slices

    @property
    def _left_edge(self) -> int:
        return self.region.x - self._slices.content_region.x

    def refresh_cells(self, changed: Mapping[int, Sequence[int]]) -> None:
        """Refresh each line up to its last changed cell. Cells are counted from the left edge of the map."""
        left, width = self._left_edge, self.size.width
        own_cells = {y: [x for x in cells if left <= x < left + width] for y, cells in changed.items()}
        regions = [Region(0, y, cells[-1] + 1 - left, 1) for y, cells in own_cells.items() if cells]
        if regions:
            self.refresh(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Cut the piece out of the map's lines. Textual would copy each part, filter the copy, and keep both."""
        left, strips = self._left_edge + crop.x, self._slices.strips
        blank = Strip.blank(left + crop.width, self.rich_style)
        return [(_line(strips, y) or blank).crop(left, left + crop.width) for y in crop.line_range]


def _clickable_spans(text: Text) -> Iterator[tuple[Span, dict[str, Any]]]:
    return ((span, span.style.meta) for span in text.spans if isinstance(span.style, Style) and span.style.meta)


def _without_clickable_spans(text: Text) -> Text:
    """Remove the spans that react to a click, because each would split the text into more segments to send."""
    clickable = [span for span, _ in _clickable_spans(text)]
    text.spans = [span for span in text.spans if span not in clickable] if clickable else text.spans
    return text


def _changed_cells(old: Strip | None, new: Strip | None, width: int) -> Sequence[int]:
    if old is new or old == new:
        return ()
    if old is None or new is None:
        return range(width)
    old_cells, new_cells = list(_cells(old)), list(_cells(new))
    if len(old_cells) != len(new_cells):
        return range(width)
    return [x for x, (a, b) in enumerate(zip(old_cells, new_cells, strict=True)) if a != b]


def _line(strips: Sequence[Strip], y: int) -> Strip | None:
    return strips[y] if y < len(strips) else None


def _cells(strip: Strip) -> Iterator[tuple[str, object]]:
    return ((c, segment.style) for segment in strip for c in segment.text)
