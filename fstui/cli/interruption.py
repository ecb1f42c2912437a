"""Handle SIGINT, SIGTERM and SIGHUP: stop the work, let it clean up, and return the exit status of the signal."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

from fstui.cli.execution import interrupt_on_signals
from fstui.cli.output import say

REPORT_S = 1.5
"""A stop that takes longer than this is reported. A second signal counts only after the report."""
READER_S = 1.0
"""After a signal, output waits for this long for a process that reads nothing from the pipe."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Listens for signals. The first stops the work; a second ends the process if the stop takes a long time."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._stop: Callable[[], object] | None = None
        self._delay_reason = ""
        self._reported = False

    async def run_until_signal(self, work: Awaitable[int], message: str = "") -> int:
        """Return the exit status of ``work``. If a signal cancels it, print ``message`` and return ``exit_code``."""
        task = asyncio.current_task()
        assert task is not None
        self.listen(task.cancel)
        try:
            return await work
        except asyncio.CancelledError:
            if (code := self.exit_code) is None:
                raise
            if message:
                say(message)
            return code

    def listen(self, stop: Callable[[], object], delay_reason: str = "") -> None:
        """Call ``stop`` at the first signal that is not ignored, or now if it has already arrived.

        ``delay_reason``: why a stop may take a long time.
        """
        loop = asyncio.get_running_loop()
        self._stop, self._delay_reason = stop, delay_reason
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._handle_signal, number)
        if self.signal is not None:
            stop()

    def release(self) -> None:
        """Let signals end the process again, at a prompt or if only printing is left, which a stalled reader blocks."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        interrupt_on_signals()

    @property
    def exit_code(self) -> int | None:
        """130, 143 or 129, as a shell reports the signal; None without a signal."""
        return None if self.signal is None else 128 + self.signal

    @property
    def timeout_s(self) -> float | None:
        """For how long output waits for a reader that reads nothing. None (no limit) until a signal arrives."""
        return None if self.signal is None else READER_S

    def _handle_signal(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            asyncio.get_running_loop().call_later(REPORT_S, self._report)
            if self._stop is not None:
                self._stop()
        elif self._reported:
            self._leave()

    def _report(self) -> None:
        self._reported = True
        reason = self._delay_reason or "a request has not been answered yet"
        say(f"fstui: stopping: {reason}. A second signal ends fstui at once")

    def _leave(self) -> NoReturn:
        """End the process. The child that holds the target's files removes them when the disk answers."""
        say("fstui: ended at once. Files that remain are removed when their disk answers, or by 'fstui clean'")
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(self.exit_code or 1)
