"""The live latency strip: a fixed logarithmic axis that stays put while a step lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from fstui.model.steps import TimelinePoint
from fstui.tui.drawing import strip
from fstui.tui.widgets.lines import UNBOUNDED, Lines


class View:
    """What the strip shows of one step."""

    def __init__(
        self,
        key: int | None = None,
        timeline: Sequence[TimelinePoint] = (),
        elapsed_s: float = 0.0,
        length_s: float | None = 1.0,
        limit_ns: int | None = None,
    ) -> None:
        self.key = key
        """Another step has another axis."""
        self.timeline = timeline
        self.elapsed_s = elapsed_s
        self.length_s = length_s
        self.limit_ns = limit_ns


class LatencyStrip(Lines):
    """Asks for the view whenever it is redrawn; needs three lines, uses up to ten."""

    def __init__(self, view: Callable[[], View], *, ascii_only: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(self._draw_strip, ascii_only=ascii_only, id=id)
        self._view = view
        self._axis: tuple[int | None, int, int] | None = None

    def _draw_strip(self, width: int, height: int) -> list[Text]:
        view = self._view()
        rows = max(min(height, 9) - 1, 2) if height != UNBOUNDED else 6
        return strip.draw(
            view.timeline,
            width=width,
            rows=rows,
            bottom=self._bottom(view, rows),
            elapsed_s=view.elapsed_s,
            length_s=view.length_s,
            limit_ns=view.limit_ns,
        )

    def _bottom(self, view: View, rows: int) -> int:
        first = next((point.p50_ns for point in view.timeline if point.p50_ns), None)
        if self._axis is None or self._axis[:2] != (view.key, rows):
            bottom = strip.bottom_decade(first, rows)
            if first is None:
                return bottom  # nothing measured yet: the axis is not settled
            self._axis = view.key, rows, bottom
        return self._axis[2]
