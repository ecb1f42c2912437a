"""Lines in narrow pieces side by side: where a few columns change, only those are sent.

The compositor cuts what it sends at the edges of widgets. Of a map of 56 columns that grows by one, whole lines are
six times as much.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal

from fstui.tui.widgets.lines import Draw, Lines

PIECES = 14


class Slices(Horizontal):
    """What a function draws for the room there is. ``redraw()`` after it would draw something else."""

    DEFAULT_CSS = "Slices > Piece { width: 1fr; height: 1fr; }"

    def __init__(self, draw: Draw, *, ascii_only: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._draw = draw
        self._ascii_only = ascii_only
        self._texts: Sequence[Text] = ()
        self._drawn_for: object = None

    def compose(self) -> ComposeResult:
        for _ in range(PIECES):
            yield Piece(self, ascii_only=self._ascii_only)

    def redraw(self) -> None:
        """Draw again and send the pieces that changed."""
        self._drawn_for = None
        for piece in self.query(Piece):
            piece.redraw()
        self._drawn_for = self.size

    def part(self, first: int, width: int) -> list[Text]:
        """These columns of all lines, drawn once for all pieces."""
        if self._drawn_for != self.size:
            self._drawn_for = self.size
            self._texts = self._draw(*self.size)
        return [text[first : first + width] for text in self._texts]


class Piece(Lines):
    """Some columns."""

    def __init__(self, whole: Slices, *, ascii_only: bool) -> None:
        super().__init__(self._of_whole, ascii_only=ascii_only)
        self._whole = whole

    def _of_whole(self, width: int, height: int) -> list[Text]:
        return self._whole.part(self.region.x - self._whole.region.x, width)
