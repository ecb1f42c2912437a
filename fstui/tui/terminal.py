"""The terminal: its driver, filters for every line, and whether it has a mouse."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition
from textual.filter import LineFilter
from textual.message import Message

from fstui.report.characters import ASCII, CONTROL

_REPORT_PRESSES, _DECIMAL_POSITIONS = 1000, 1006
"""Mouse modes of xterm: report presses, releases and the wheel; report positions as decimal numbers."""
_REPORT_CURSOR = "\x1b[6n"
"""Device status report (ECMA-48, 8.3.35). The terminal replies after it has processed all earlier output."""
_REPLY_TIMEOUT_S = 20.0
_POLL_S = 0.01
_RESTORE_TIMEOUT_S = 4.0
"""Longest wait for an outstanding reply before the terminal is restored."""

_ASCII = ASCII | {0x2800 + dots: "..::++##"[dots.bit_count() - 1] for dots in range(1, 256)}
"""A braille character is replaced according to its number of dots."""


class SlowLineDriver(LinuxDriver):
    """A variant of Textual's Linux driver for slow connections.

    Textual makes the terminal report every mouse movement (xterm's mode 1003); this driver requests only presses. On a
    slow connection, output waits in buffers. The terminal's replies show how much of it has arrived.
    """

    _requested_at: float | None = None
    """Monotonic time of the outstanding request, if any."""
    _has_replied: bool | None = None
    """Whether the terminal replied to the last request. None: not known yet."""

    @property
    def is_behind(self) -> bool:
        """Whether output before the last request has not arrived yet."""
        return bool(self._has_replied) and self._is_awaiting_reply

    @property
    def _is_awaiting_reply(self) -> bool:
        return self._requested_at is not None and time.monotonic() - self._requested_at < _REPLY_TIMEOUT_S

    def request_reply(self) -> None:
        """Request a cursor report, unless a reply is outstanding.

        If a reply was lost, `is_behind` stays false until the next reply arrives.
        """
        if self._is_awaiting_reply:
            return
        if self._requested_at is not None:
            self._has_replied = False
        self._requested_at = time.monotonic()
        self.write(_REPORT_CURSOR)
        self.flush()

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._requested_at = None
        self.request_reply()

    def process_message(self, message: Message) -> None:
        """Handle cursor reports here instead of passing them to Textual."""
        if isinstance(message, CursorPosition):
            self._requested_at, self._has_replied = None, True
        else:
            super().process_message(message)

    def disable_input(self) -> None:
        """First wait for an outstanding reply, because it would otherwise appear at the shell's prompt."""
        self._await_reply()
        super().disable_input()

    def _await_reply(self) -> None:
        """Wait while the thread that reads input may still receive the reply."""
        deadline = time.monotonic() + _RESTORE_TIMEOUT_S
        while self._requested_at is not None and self._has_replied is not False and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _enable_mouse_support(self) -> None:
        self._set_mouse_modes("h")

    def _disable_mouse_support(self) -> None:
        self._set_mouse_modes("l")

    def _set_mouse_modes(self, on_or_off: str) -> None:
        if self._mouse:
            self.write(f"\x1b[?{_REPORT_PRESSES}{on_or_off}\x1b[?{_DECIMAL_POSITIONS}{on_or_off}")
            self.flush()


class ControlFilter(LineFilter):
    """Replace each control character with one ``?`` per cell that it occupies, so that columns stay aligned.

    fstui escapes its own lines, but Textual's Input shows its value unchanged, for example the name of a directory.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if not any(CONTROL.search(text) for text, _, _ in segments):
            return segments
        return [
            Segment(CONTROL.sub(lambda control: "?" * cell_len(control[0]), text), style, control)
            for text, style, control in segments
        ]


class AsciiFilter(LineFilter):
    """Replace each non-ASCII character, also in Textual's own widgets."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


def to_ascii(text: str) -> str:
    """Replace each non-ASCII character by one ASCII character, so that columns stay aligned."""
    return text if text.isascii() else "".join(c if c.isascii() else "?" for c in text.translate(_ASCII))


def is_mouse_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether to enable the mouse. With FSTUI_MOUSE=0 the terminal's own selection works without Shift."""
    return environ.get("FSTUI_MOUSE") != "0" and environ.get("TERM") != "linux"
