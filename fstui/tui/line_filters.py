"""Filters of every line before it reaches the terminal, whichever widget drew it.

The lines of fstui come with their control characters escaped. A field of Textual shows its value as it is, and a
directory may have any name.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from fstui.report.characters import CONTROL
from fstui.tui.glyphs import in_ascii


class ControlFilter(LineFilter):
    """Of a control character that takes a cell, ``?`` is left; of one that takes none, nothing: no column moves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(CONTROL.sub(_masked, text), style, control) for text, style, control in segments]


class AsciiFilter(LineFilter):
    """Replace each character that is not ASCII, cell by cell: also those that Textual's own widgets draw."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(in_ascii(text), style, control) for text, style, control in segments]


def _masked(match: re.Match[str]) -> str:
    return "?" * cell_len(match.group())
