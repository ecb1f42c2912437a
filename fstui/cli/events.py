"""``--format events``: one JSON event per line, each flushed, to stdout or to a file.

Nothing here waits for a reader: what he has not taken yet waits in memory, and progress is passed over.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from pathlib import Path

from fstui.cli.output import pour, silence_stdout
from fstui.model.events import Event, StepProgressed
from fstui.model.watch import WatchEvent
from fstui.report import json

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC


class EventLines:
    """Writes them while somebody reads."""

    def __init__(self, output: Path | None) -> None:
        self.reader_gone = False
        """The reader closed its end of the pipe (``| head``)."""
        self._output = output
        self._fd: int | None = None
        self._waiting = bytearray()

    def write(self, event: Event | WatchEvent) -> None:
        """One line. A reader that falls behind misses progress, nothing else. Raises OSError where a disk is full."""
        self.reader_gone |= self._output is None and sys.stdout is None  # closed before we started
        if self.reader_gone:
            return
        if self._fd is None:  # only now: a run that is refused leaves an older file as it was
            self._fd = self._opened(os.O_NONBLOCK)
        self._pour(0)
        if not isinstance(event, StepProgressed) or (not self._waiting and self._has_room()):
            self._waiting += json.line(event)
            self._pour(0)

    def close(self, patience_s: float | None = None) -> None:
        """Write what waits, and close the file, if it is one. Raises OSError.

        ``patience_s``: so long a reader is waited for who takes nothing; None: for ever.
        """
        if self._waiting and not self.reader_gone:
            if self._fd is None:
                self._fd = self._opened(os.O_NONBLOCK if patience_s is not None else 0)
            self._pour(patience_s)
        if self._fd is not None and self._output is not None:
            os.close(self._fd)

    def _pour(self, patience_s: float | None) -> None:
        try:
            if self._fd is not None:
                pour(self._fd, self._waiting, patience_s)
        except BrokenPipeError:
            self.reader_gone = True
            if self._output is None:
                silence_stdout()

    def _has_room(self) -> bool:
        return self._fd is not None and bool(select.select([], [self._fd], [], 0)[1])

    def _opened(self, nonblock: int) -> int | None:
        """None: a pipe that nobody reads yet (fifo(7))."""
        if self._output is None:
            return sys.stdout.fileno()
        try:
            return os.open(self._output, _WRITE & ~os.O_NONBLOCK | nonblock, 0o666)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return None
