"""A row a box while they are asked, on a terminal; elsewhere a line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fstui.cli.output import is_read, say
from fstui.fleet.campaign import Campaign, Phase
from fstui.model.quantities import duration_ns, rate, seconds
from fstui.report.characters import escape_controls
from fstui.report.glyphs import GLYPHS
from fstui.report.text import NONE

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

LINE_S = 10.0
_ORDER: tuple[Phase, ...] = ("trouble", "running", "copying", "looking", "done", "waiting")
_ABOVE_AND_BELOW = 4


class Screen:
    """Drawn when a moment has passed, by whoever waits: no thread beside the boxes."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._last = time.monotonic()
        self._drawn: object = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            from rich.console import Console  # noqa: PLC0415  not needed without a terminal
            from rich.live import Live  # noqa: PLC0415

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def draw(self, campaign: Campaign) -> None:
        """Where the boxes are. What nobody reads, as on a terminal that was stopped, is passed over."""
        phases = Counter(state.phase for state in campaign.states.values())
        if self._live is None:
            if time.monotonic() - self._last >= LINE_S:
                self._last = time.monotonic()
                say(_line(phases, campaign.elapsed_s))
            return
        if is_read(sys.stderr.fileno()) and self._drawn != (seen := (tuple(phases.items()), int(campaign.elapsed_s))):
            self._drawn = seen
            self._live.update(_table(campaign, phases, os.get_terminal_size(2).lines - _ABOVE_AND_BELOW), refresh=True)


def _line(phases: Counter[Phase], elapsed_s: float) -> str:
    return f"{seconds(elapsed_s)}: " + ", ".join(f"{phases[each]} {each}" for each in _ORDER if phases[each])


def _table(campaign: Campaign, phases: Counter[Phase], lines: int) -> Table:
    """Who is in trouble first, then who is at work; as many as there is room for."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415  no cell is markup

    table = Table(box=None, pad_edge=False, title=_line(phases, campaign.elapsed_s), title_justify="left")
    for name in ("", "BOX", "", "VERDICT", "COMMITS/S", "P99"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("COMMITS/S", "P99") else "left")
    boxes = {box.node: box for box in campaign.boxes}
    now = time.monotonic()
    ranked = sorted(campaign.states.items(), key=lambda item: _ORDER.index(item[1].phase))
    for node, state in ranked[: max(lines, 3)]:
        box = boxes.get(node)
        first = box.commits if box else None
        doing = state.words or (
            f"{state.phase} {seconds(now - state.since)}" if state.phase not in ("done", "waiting") else state.phase
        )
        cells = (
            GLYPHS[box.verdict] if box and box.verdict else "?" if state.phase == "trouble" else "",
            node,
            doing,
            (box.verdict or box.sentence) if box else "",
            rate(first.per_s) if first else NONE,
            duration_ns(first.p99_ns) if first and first.p99_ns is not None else NONE,
        )
        table.add_row(*(Text(escape_controls(cell)) for cell in cells))
    return table
