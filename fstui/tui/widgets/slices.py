"""Lines in narrow pieces side by side: where a few columns change, only those are sent.

The compositor cuts what it sends at the edges of widgets. Of a map of 56 columns that grows by one, whole lines are
six times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from fstui.tui.widgets.lines import Draw, Painter, at, changes

PIECES = 14


class Slices(Horizontal):
    """What a function draws for the room there is. ``redraw()`` after it would draw something else."""

    DEFAULT_CSS = "Slices > Piece { width: 1fr; height: 1fr; }"

    def __init__(self, draw: Draw, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._draw = draw
        self._painter = Painter(self)
        self._size_drawn = Size(0, 0)

    def compose(self) -> ComposeResult:
        for _ in range(PIECES):
            yield Piece(self)

    @property
    def strips(self) -> list[Strip]:
        """The whole lines, drawn once for all pieces."""
        if self._size_drawn != self.size:
            self._draw_now()
        return self._painter.strips

    def redraw(self) -> None:
        """Draw again and send the pieces that changed. Not beneath another screen, see Lines."""
        width, height = self.size
        if not width or not height or not self.screen.is_active:
            return
        before = self._painter.strips
        self._draw_now()
        changed = {y: changes(at(before, y), at(self._painter.strips, y), width) for y in range(height)}
        for piece in self.query(Piece):
            piece.refresh_changed(changed)

    def repaint(self) -> None:
        """Draw all of it anew, as in other colours."""
        self._size_drawn = Size(0, 0)
        self._painter.forget()
        for piece in self.query(Piece):
            piece.refresh()

    def _draw_now(self) -> None:
        self._size_drawn = self.size
        width, height = self.size
        self._painter.paint(self._draw(width, height) if width and height else (), width)


class Piece(Widget):
    def __init__(self, whole: Slices) -> None:
        super().__init__()
        self._whole = whole

    @property
    def _first(self) -> int:
        return self.region.x - self._whole.region.x

    def refresh_changed(self, changed: Mapping[int, Sequence[int]]) -> None:
        """Up to the last cell of each line that differs, by the whole's columns."""
        first, (width, height) = self._first, self.size
        regions = []
        for y in range(height):
            here = [x for x in changed.get(y, ()) if first <= x < first + width]
            if here:
                regions.append(Region(0, y, here[-1] + 1 - first, 1))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        strip, width = at(self._whole.strips, y), self.size.width
        return strip.crop(self._first, self._first + width) if strip else Strip.blank(width, self.rich_style)
