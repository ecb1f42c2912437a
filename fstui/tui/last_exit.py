"""The last exit before the terminal: every cell passes here, whichever widget drew it.

Our own lines come with their control characters escaped. A field of Textual's shows its value as it is, and a directory
may be called anything.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from fstui.report.characters import CONTROL


class ControlFilter(LineFilter):
    """Of a control character that takes a cell, ``?`` is left; of one that takes none, nothing: no column moves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(CONTROL.sub(_masked, text), style, control) for text, style, control in segments]


def _masked(match: re.Match[str]) -> str:
    return "?" * cell_len(match.group())
