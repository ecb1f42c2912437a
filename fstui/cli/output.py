"""stdout is data, stderr is narration. No escape sequence leaves here: what is printed is text made safe, or JSON."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

from fstui.report.characters import escape_controls, escape_lines, printable


class ReaderGone(Exception):  # noqa: N818  no error: the reader has seen enough
    """The reader closed its end of the pipe (``| head``)."""


def put(document: str | bytes) -> None:
    """Print to stdout and flush; text made safe, in characters that its encoding has. Raises ReaderGone, OSError."""
    if sys.stdout is None:  # closed before we started
        raise ReaderGone
    try:
        if isinstance(document, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(document)
        else:
            sys.stdout.write(printable(escape_lines(document), sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
        raise ReaderGone from None
    except OSError:
        silence_stdout()
        raise


def silence_stdout() -> None:
    """Else the interpreter complains once more when it flushes stdout at its end."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def say(sentence: str) -> None:
    """Print a line to stderr. Where that is closed, nobody listens, and that is no error."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(printable(escape_controls(sentence), sys.stderr.encoding), file=sys.stderr, flush=True)


def width() -> int | None:
    """Columns of the terminal that stdout is; None where it is none: there, a line is as long as it must be."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):  # a pipe, a file, closed
        return None


def has_room(stream_fd: int) -> bool:
    """The reader keeps up: a write would not block now."""
    return bool(select.select([], [stream_fd], [], 0)[1])
