"""``--output FILE``: the user's own path, written whole or not at all, by a child: its disk may hang."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fstui.cli.output import pour, put, width
from fstui.report import formats
from fstui.report.characters import escape_lines
from fstui.report.sections import Report
from fstui.runs import files


async def check_output(path: Path) -> None:
    """See that the file can be written before anything else is done. Raises Refused."""
    await files.check(path)


async def deliver(path: Path, document: str | bytes, patience_s: float | None = None) -> None:
    """Write the document there. Raises OSError, Refused where its disk gives no answer.

    ``patience_s``: so long the reader of a pipe is waited for who takes nothing; None: for ever.
    """
    if await files.is_stream(path):
        _pour(path, _bytes_of(document), patience_s)
    else:
        await files.put(path, _bytes_of(document))


async def hand_over(document: str | bytes, path: Path | None) -> None:
    """To the file, or to stdout where none was named. Raises OSError, Refused, ReaderGone."""
    if path is None:
        put(document)
    else:
        await deliver(path, document)


async def print_report(report: Report, format_: str, output: Path | None = None) -> None:
    """Print the report to the file, or to stdout as wide as the terminal. Raises OSError, Refused, ReaderGone."""
    await hand_over(formats.render_report(format_, report, width() if output is None else None), output)


def _bytes_of(document: str | bytes) -> bytes:
    return escape_lines(document).encode() if isinstance(document, str) else document


def _pour(path: Path, data: bytes, patience_s: float | None) -> None:
    """Into a pipe or a device. Raises OSError, also where nobody reads it (fifo(7), ENXIO)."""
    stream = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (0 if patience_s is None else os.O_NONBLOCK))
    try:
        left = bytearray(data)
        pour(stream, left, patience_s)
        if left:
            raise OSError(errno.ETIMEDOUT, f"its reader took {len(data) - len(left)} of {len(data)} bytes", str(path))
    finally:
        os.close(stream)
