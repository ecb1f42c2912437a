"""The terminal, with a mouse that says where it was pressed and turned, and never where it moves.

Textual's driver asks for every movement (xterm's mode 1003): up a bad line that is a stream of bytes for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.drivers.linux_driver import LinuxDriver

_PRESSES, _SGR = 1000, 1006
"""xterm's modes, "Mouse Tracking": presses, releases and the wheel; in decimal numbers, however wide the terminal."""


class PressDriver(LinuxDriver):
    """Textual's, with those two modes alone."""

    def _enable_mouse_support(self) -> None:
        self._ask_for("h")

    def _disable_mouse_support(self) -> None:
        self._ask_for("l")

    def _ask_for(self, on_or_off: str) -> None:
        if self._mouse:
            self.write(f"\x1b[?{_PRESSES}{on_or_off}\x1b[?{_SGR}{on_or_off}")
            self.flush()


def mouse_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Unless FSTUI_MOUSE=0: then the terminal's own selection needs no Shift. The Linux console has none to ask."""
    return environ.get("FSTUI_MOUSE") != "0" and environ.get("TERM") != "linux"
