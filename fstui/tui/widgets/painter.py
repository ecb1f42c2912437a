"""Lines of text → strips of cells. What says the same as the time before is not rendered again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget


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
        """These lines, as wide as that."""
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
