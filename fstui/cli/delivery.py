"""Write reports and events to stdout, or to the ``--output`` file."""

import asyncio
import errno
import os
import select
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from fstui.cli.options import report_options
from fstui.cli.output import STDOUT, silence_stdout, width, write_available, write_stdout
from fstui.model.events import Event, StepProgressed
from fstui.model.watch import WatchEvent
from fstui.report import formats
from fstui.report.characters import escape_lines
from fstui.report.formats import json
from fstui.report.sections import Report
from fstui.runs import files

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


async def deliver(path: Path | None, document: str | bytes, timeout_s: float | None = None) -> None:
    """Write to the file, or to stdout if ``path`` is None. Raises OSError, ReaderGone, or Refused if the disk hangs.

    A regular file is written completely or not at all, by a child process, because its disk may hang.
    """
    if path is None:
        write_stdout(document, timeout_s)
        return
    if await files.is_stream(path):
        _write_to_stream(path, _bytes_of(document), timeout_s)
    else:
        await files.write_output(path, _bytes_of(document))


async def print_report(
    report: Report, format_: str, output: Path | None = None, timeout_s: float | None = None
) -> None:
    """Write the report to the file, or to stdout at the width of the terminal. Raises as ``deliver`` does."""
    await deliver(output, formats.render_report(format_, report, width() if output is None else None), timeout_s)


def print_last_report(report: Report, format_: str, output: Path | None = None) -> None:
    deliver_last(output, formats.render_report(format_, report, width() if output is None else None))


def deliver_last(path: Path | None, document: str | bytes) -> None:
    """Deliver the last output of a command. A signal ends this, even if no process reads the pipe.

    In a task, the first signal would only cancel the task, which has no effect while it waits in open(2) or select(2).
    """
    if path is None:
        write_stdout(document)
    elif asyncio.run(files.is_stream(path)):
        _write_to_stream(path, _bytes_of(document), None)
    else:
        asyncio.run(files.write_output(path, _bytes_of(document)))


def report_command(command: Callable[..., Report | None]) -> Any:
    """Add ``--format`` and ``--output`` to a command, and print the report that it returns."""

    @report_options()
    @wraps(command)
    def print_returned_report(*arguments: Any, format_: str, output: Path | None, **options: Any) -> None:
        report = command(*arguments, **options)
        if report is not None:
            print_last_report(report, format_, output)

    return print_returned_report


def _bytes_of(document: str | bytes) -> bytes:
    return escape_lines(document).encode() if isinstance(document, str) else document


def _write_to_stream(path: Path, data: bytes, timeout_s: float | None) -> None:
    """Write to a pipe or a device. Raises OSError, including if a pipe has no reader (fifo(7), ENXIO)."""
    stream = files.open_user_file(path, os.O_WRONLY | os.O_CLOEXEC | (0 if timeout_s is None else os.O_NONBLOCK))
    try:
        unsent = bytearray(data)
        write_available(stream, unsent, timeout_s)
        if unsent:
            raise OSError(errno.ETIMEDOUT, f"its reader took {len(data) - len(unsent)} of {len(data)} bytes", str(path))
    finally:
        os.close(stream)


class EventLines:
    """``--format events``: one JSON event per line, to stdout or to a file, while there is a reader.

    ``write`` never waits. Events that the reader has not read stay in memory. A slow reader gets fewer progress events.
    """

    def __init__(self, output: Path | None) -> None:
        self.reader_gone = False
        """Whether the reader closed its end of the pipe (``| head``)."""
        self._output = output
        self._fd: int | None = None
        self._unsent = bytearray()

    def write(self, event: Event | WatchEvent) -> None:
        """Write one line, or skip a progress event if the reader is behind. Raises OSError if a disk is full."""
        self.reader_gone |= self._output is None and sys.stdout is None  # closed before fstui started
        if self.reader_gone:
            return
        if self._fd is None:  # opened late, so that a refused run does not truncate an older file
            self._fd = self._open(os.O_NONBLOCK)
        self._write_available(0)
        reader_keeps_up = not self._unsent and self._fd is not None and select.select([], [self._fd], [], 0)[1]
        if reader_keeps_up or not isinstance(event, StepProgressed):
            self._unsent += json.line(event)
            self._write_available(0)

    def close(self, timeout_s: float | None = None) -> None:
        """Write the rest and close the file. ``timeout_s``: how long to wait for a stalled reader. Raises OSError."""
        if self._unsent and not self.reader_gone:
            if self._fd is None:
                self._fd = self._open(os.O_NONBLOCK if timeout_s is not None else 0)
            self._write_available(timeout_s)
        if self._fd is not None and self._output is not None:
            os.close(self._fd)

    def _write_available(self, timeout_s: float | None) -> None:
        try:
            if self._fd is not None:
                write_available(self._fd, self._unsent, timeout_s)
        except BrokenPipeError:
            self.reader_gone = True
            if self._output is None:
                silence_stdout()
        except OSError as error:  # write(2) fails without a file name
            error.filename = str(self._output or STDOUT)
            raise

    def _open(self, nonblock: int) -> int | None:
        """Return the file descriptor; None for a pipe without a reader (fifo(7))."""
        if self._output is None:
            return sys.stdout.fileno()
        try:
            return files.open_user_file(self._output, _OPEN | nonblock)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return None
