"""SIGINT, SIGTERM and SIGHUP: the run is stopped and cleans up, and the exit code says which of them it was."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn

from fstui.cli.output import say

WORD_S = 1.5
"""A stop that takes longer is told of. Only who has read that is so impatient that nothing is waited for any more."""
READER_S = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHOW_CURSOR = b"\x1b[?25h\n"


class Interruption:
    """Listens while a run is prepared, runs and cleans up. The first signal counts; a second one, where the stop takes
    long, ends everything at once."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._stop: Callable[[], object] | None = None
        self._waits_for = ""
        self._told = False

    async def ending(self, work: Awaitable[int], stopped: str = "") -> int:
        """Await the work and return its exit code; a signal cancels it, and its own exit code is returned.

        ``stopped``: what to say then.
        """
        task = asyncio.current_task()
        assert task is not None
        self.listen(task.cancel)
        try:
            return await work
        except asyncio.CancelledError:
            if (code := self.exit_code) is None:
                raise
            if stopped:
                say(stopped)
            return code

    def listen(self, stop: Callable[[], object], waits_for: str = "") -> None:
        """Call ``stop`` at the first signal. A signal that was ignored before (nohup) stays ignored.

        ``waits_for``: what a stop that takes long waits for.
        """
        loop = asyncio.get_running_loop()
        self._stop, self._waits_for = stop, waits_for
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._arrived, number)

    def instead(self, stop: Callable[[], object], waits_for: str = "") -> None:
        """From now on a signal calls this; at once where one has come already."""
        self._stop, self._waits_for = stop, waits_for
        if self.signal is not None:
            stop()

    def let_go(self) -> None:
        """From now on a signal ends the process as it ends others: what is left to do is to print, and a reader who
        does not read must not make it deaf."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    @property
    def exit_code(self) -> int | None:
        """130, 143 or 129, as a shell reports it; None without a signal."""
        return None if self.signal is None else 128 + self.signal

    @property
    def patience_s(self) -> float | None:
        """So long a reader is waited for who takes nothing; None: as long as he likes, until a signal."""
        return None if self.signal is None else READER_S

    def _arrived(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            asyncio.get_running_loop().call_later(WORD_S, self._tell)
            if self._stop is not None:
                self._stop()
        elif self._told:
            self._leave()

    def _tell(self) -> None:
        self._told = True
        slow = self._waits_for or "what was asked has not answered yet"
        say(f"fstui: stopping: {slow}; a second signal ends it at once")

    def _leave(self) -> NoReturn:
        """What is on the target is removed by the child that holds it, when its disk answers."""
        with suppress(OSError):
            if os.isatty(2):
                os.write(2, _SHOW_CURSOR)
        say("fstui: ended at once: what is not removed goes when its disk answers, or by `fstui clean`")
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(self.exit_code or 1)
