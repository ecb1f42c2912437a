"""Handle SIGINT, SIGTERM and SIGHUP: stop the work, let it clean up, and return the exit status of the signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from fstui.cli.execution import interrupt_on_signals
from fstui.cli.output import ReaderGone, say
from fstui.model.errors import sentence_of

if TYPE_CHECKING:
    from types import FrameType

REPORT_S = 1.5
"""A stop that takes longer than this is reported. A second signal counts only after the report."""
READER_S = 1.0
"""After a signal, output waits for this long for a process that reads nothing from the pipe."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Listens for signals. The first stops the work; a second ends the process if the stop takes a long time.

    loop.add_signal_handler is not used: a signal between the last turn of the loop and ``release`` would be lost.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._stop: Callable[[], object] = lambda: None
        self._delay_reason = ""
        self._is_stopping = self._is_reported = False

    async def run_until_signal(self, work: Awaitable[int], message: str = "") -> int:
        """Return the exit status of ``work``. If a signal cancels it, print ``message`` and return ``exit_code``.

        After a signal, output that fails does not change the exit status: a pipe may have no reader.
        """
        task = asyncio.current_task()
        assert task is not None
        self.listen(task.cancel)
        try:
            return await work
        except (asyncio.CancelledError, ReaderGone, OSError) as end:
            if (code := self.exit_code) is None:
                raise
            if isinstance(end, OSError):
                say(f"fstui: {sentence_of(end)}")
            elif message and isinstance(end, asyncio.CancelledError):
                say(message)
            return code
        finally:
            self.release()

    def listen(self, stop: Callable[[], object], delay_reason: str = "") -> None:
        """Call ``stop`` at the first signal that is not ignored, or now if it has already arrived.

        ``delay_reason``: why a stop may take a long time.
        """
        self._loop = asyncio.get_running_loop()
        self._stop, self._delay_reason = stop, delay_reason
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        if self._is_stopping:
            stop()

    def release(self) -> None:
        """Let signals end the process again, at a prompt or if only printing is left, which a stalled reader blocks."""
        self._stop = lambda: None  # a signal that has just arrived may not stop what follows
        for number in SIGNALS:
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        interrupt_on_signals()

    @property
    def exit_code(self) -> int | None:
        """130, 143 or 129, as a shell reports the signal; None without a signal."""
        return None if self.signal is None else 128 + self.signal

    @property
    def timeout_s(self) -> float | None:
        """For how long output waits for a reader that reads nothing. None (no limit) until a signal arrives."""
        return None if self.signal is None else READER_S

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        is_first = self.signal is None
        self.signal = self.signal or signal.Signals(number)
        self._loop.call_soon_threadsafe(self._stop_work if is_first else self._leave_if_reported)

    def _stop_work(self) -> None:
        self._is_stopping = True
        self._loop.call_later(REPORT_S, self._report)
        self._stop()

    def _report(self) -> None:
        self._is_reported = True
        reason = self._delay_reason or "a request has not been answered yet"
        say(f"fstui: stopping: {reason}. A second signal ends fstui at once")

    def _leave_if_reported(self) -> None:
        """End the process. The child that holds the target's files removes them when the disk answers."""
        if not self._is_reported:
            return
        say("fstui: ended at once. Files that remain are removed when their disk answers, or by 'fstui clean'")
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(self.exit_code or 1)
