"""What stands beneath the list of filesystems: the selected one, its last minutes, and what was measured there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from fstui.model.at_work import AtWork
from fstui.model.counters import Counters
from fstui.runs.history import Summary
from fstui.tui.drawing import earlier, storage
from fstui.tui.drawing.charts import LEAST_LINES
from fstui.tui.drawing.recent import Charts
from fstui.tui.drawing.storage import Entry
from fstui.tui.rates import Rate
from fstui.tui.recent import Recent


class Beneath:
    """Kept from look to look; the first frame comes without."""

    def __init__(self, hostname: str) -> None:
        self._recent = Recent()
        self._charts = Charts(self._recent)
        self.runs: Sequence[Summary] = ()
        """The saved ones."""
        self._hostname = hostname

    def add(self, now: Counters) -> None:
        """The newest reading."""
        self._recent.add(now)

    def draw(
        self, entry: Entry | None, rates: Mapping[str, Rate], at_work: AtWork, size: tuple[int, int]
    ) -> list[Text]:
        """The numbers stand on the edges of the stack, and the last minutes below it, where there is room."""
        width, height = size
        target = entry.target if entry else None
        runs = earlier.lines(earlier.of_target(self.runs, target, self._hostname), width) if target else []
        compact = storage.detail(entry, rates, at_work, width, before=runs)
        if entry is None:
            return compact
        whole = storage.detail(entry, rates, at_work, width, before=runs, edges=True)
        lines = whole if height - len(whole) >= LEAST_LINES + 1 else compact
        devices = {node.id for node in entry.devices if node.id in rates}
        return [*lines, *self._charts.draw(devices, width, height - len(lines))]
