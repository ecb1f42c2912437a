"""``--format events``: one JSON event per line, each flushed, to stdout or to a file."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fstui.cli.output import has_room, silence_stdout
from fstui.model.events import Event, StepProgressed
from fstui.report import json


class EventLines:
    """Writes them while somebody reads."""

    def __init__(self, output: Path | None) -> None:
        self.reader_gone = False
        """The reader closed its end of the pipe (``| head``)."""
        self._output = output
        self._file: BinaryIO | None = None

    def write(self, event: Event) -> None:
        """One line. A reader that falls behind misses progress, nothing else. Raises OSError where a disk is full."""
        self.reader_gone |= self._output is None and sys.stdout is None  # closed before we started
        if self.reader_gone:
            return
        file = self._opened()
        if isinstance(event, StepProgressed) and not has_room(file.fileno()):
            return
        try:
            file.write(json.line(event))
            file.flush()
        except BrokenPipeError:
            self.reader_gone = True
            if self._output is None:
                silence_stdout()

    def close(self) -> None:
        """Close the file, if it is one. Raises OSError where a disk is full."""
        if self._file is not None and self._output is not None:
            with suppress(BrokenPipeError):
                self._file.close()

    def _opened(self) -> BinaryIO:
        # only now: a run that is refused leaves an older file as it was
        if self._file is None:
            self._file = sys.stdout.buffer if self._output is None else self._output.open("wb")
        return self._file
