"""The terminal: a mouse that says where it was pressed and never where it moves, and a line that may be slow.

Textual's driver asks for every movement (xterm's mode 1003): up a bad line that is a stream of bytes for nothing. Down
it, what is drawn queues up in buffers that nobody sees; the terminal's own answer tells what has arrived.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition
from textual.message import Message

_PRESSES, _SGR = 1000, 1006
"""xterm's modes, "Mouse Tracking": presses, releases and the wheel; in decimal numbers, however wide the terminal."""


_WHERE_IS_THE_CURSOR = "\x1b[6n"
"""Device status report (ECMA-48, 8.3.35): answered by every terminal, once it has drawn what came before."""
_PATIENCE_S = 20.0
"""An answer that takes longer was lost."""
_POLL_S = 0.01
_LAST_S = 4.0
"""The longest that leaving waits for an answer that is on its way."""


class PressDriver(LinuxDriver):
    """Textual's, with those two modes alone, and asking whether what was sent has arrived."""

    _asked_at: float | None = None
    _answers: bool | None = None
    """The last question that it had time for: not every terminal does, a bad line loses one. None: not known yet."""

    @property
    def is_behind(self) -> bool:
        """What was sent before the last question has not arrived yet."""
        return bool(self._answers) and self._asked_at is not None and time.monotonic() - self._asked_at < _PATIENCE_S

    def ask_whether_arrived(self) -> None:
        """Ask, unless an answer is still awaited. Where one was lost, none is waited for until the next has come."""
        if self._asked_at is not None and time.monotonic() - self._asked_at < _PATIENCE_S:
            return
        if self._asked_at is not None:
            self._answers = False
        self._asked_at = time.monotonic()
        self.write(_WHERE_IS_THE_CURSOR)
        self.flush()

    def start_application_mode(self) -> None:
        """Learn at once whether this terminal answers."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._asked_at = None
        self.ask_whether_arrived()

    def process_message(self, message: Message) -> None:
        """The answer is for us alone."""
        if isinstance(message, CursorPosition):
            self._asked_at, self._answers = None, True
        else:
            super().process_message(message)

    def disable_input(self) -> None:
        """An answer that is on its way must not end at the shell's prompt."""
        self._await_answer()
        super().disable_input()

    def _await_answer(self) -> None:
        """The reader's thread takes it. A terminal that is not known to leave questions open has its time."""
        deadline = time.monotonic() + _LAST_S
        while self._asked_at is not None and self._answers is not False and time.monotonic() < deadline:
            time.sleep(_POLL_S)

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
