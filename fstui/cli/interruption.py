"""SIGINT, SIGTERM and SIGHUP: the run is stopped and cleans up, and the exit code says which of them it was."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable


class Interruption:
    """Listens while a run is prepared, runs and cleans up. The first signal counts."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._stop: Callable[[], object] | None = None

    def listen(self, stop: Callable[[], object]) -> None:
        """Call ``stop`` at the first signal. A signal that was ignored before (nohup) stays ignored."""
        loop = asyncio.get_running_loop()
        self._stop = stop
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._arrived, number)

    def instead(self, stop: Callable[[], object]) -> None:
        """From now on a signal calls this; at once where one has come already."""
        self._stop = stop
        if self.signal is not None:
            stop()

    @property
    def exit_code(self) -> int | None:
        """130, 143 or 129, as a shell reports it; None without a signal."""
        return None if self.signal is None else 128 + self.signal

    def _arrived(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            if self._stop is not None:
                self._stop()
