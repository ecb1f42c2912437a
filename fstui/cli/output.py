"""Write data to stdout and progress to stderr. Text is made safe for a terminal before it is written."""

import os
import re
import select
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, TextIO

from rich.cells import set_cell_size

from fstui.report.characters import escape_controls, escape_lines, is_ascii_only, printable
from fstui.report.text import WIDTH, wrap

_READER_TIMEOUT_S = 1.0
_BAD, _WARNING, _GOOD = "1;31", "1;33", "1;32"  # red, yellow, green
_COLOURS = {
    "lost": _BAD, "not-durable": _BAD, "stalls": _BAD, "suspicious": _WARNING, "slow": _WARNING,
    "consistent": _GOOD, "kept": _GOOD, "not-slow": _GOOD,
}  # fmt: skip
_VERDICT = rf"(?i)[✗!✓▲] +({'|'.join(_COLOURS)})\b".replace("-", "[- ]")
_SIGNS = {"✗": _BAD, "!": _WARNING, "✓": _GOOD}
_ROW = r"(?m)^([✗!✓])(?=  \S)"
"""The sign of a verdict at the beginning of a row."""
_ERASE_LINE = "\r\x1b[K"


STDOUT = "standard output"
"""The name of stdout in messages, so that users do not confuse a full disk there with the storage that is measured."""


class ReaderGone(Exception):  # noqa: N818  no error: the reader needs no more output
    """The reader closed its end of the pipe (``| head``)."""


def write_stdout(document: str | bytes, timeout_s: float | None = None) -> None:
    """Write to stdout and flush. Raises ReaderGone, OSError.

    ``timeout_s``: after this time without progress, the reader counts as gone. None: wait without a limit.
    """
    if sys.stdout is None:  # closed before fstui started
        raise ReaderGone
    try:
        sys.stdout.flush()
        data = bytearray(document if isinstance(document, bytes) else _encode(_prepared(document), sys.stdout))
        # not through sys.stdout: with PYTHONUNBUFFERED, its write() drops the data that does not fit into a full pipe
        write_available(sys.stdout.fileno(), data, timeout_s)
        if data:
            raise BrokenPipeError
    except BrokenPipeError:
        silence_stdout()
        raise ReaderGone from None
    except KeyboardInterrupt:
        silence_stdout()  # at exit, the interpreter would otherwise write the rest
        raise
    except OSError as error:
        silence_stdout()
        error.filename = STDOUT  # write(2) fails without a file name
        raise


def _prepared(document: str) -> str:
    text = escape_lines(document)
    return colour_verdicts(text) if width() and uses_colours() else text


def _encode(text: str, stream: TextIO) -> bytes:
    encoding = "ascii" if is_terminal(stream) and is_ascii_only() else stream.encoding
    return printable(text, encoding).encode(encoding)


def write_available(stream_fd: int, data: bytearray, timeout_s: float | None) -> None:
    """Write ``data`` and remove the written bytes from it. Raises OSError.

    Stop when ``data`` is empty, or when the reader takes nothing for ``timeout_s``.
    """
    while data and select.select([], [stream_fd], [], timeout_s)[1]:
        # a pipe that select(2) reports as writable has room for PIPE_BUF bytes (pipe(7))
        del data[: os.write(stream_fd, data[: select.PIPE_BUF])]


def silence_stdout() -> None:
    """Redirect stdout to /dev/null, so that the interpreter does not fail again when it flushes stdout at exit."""
    with suppress(OSError, ValueError):
        null_fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_fd, sys.stdout.fileno())
        os.close(null_fd)


def say(sentence: str) -> None:
    """Write a line to stderr, unless stderr is closed or no process reads it. Erase the status line first."""
    clear_status()
    columns = _columns(sys.stderr)  # a long word stays whole, so that it can be copied
    text = "\n".join(wrap(sentence, columns)) if columns else escape_controls(sentence)
    _write_stderr(f"{text}\n")


_status_is_drawn = False


def draw_status(text: str) -> None:
    """Draw a line on the terminal that is stderr, in place of the one that was drawn before."""
    global _status_is_drawn  # noqa: PLW0603  each process has one stderr
    columns = _columns(sys.stderr) or WIDTH
    _write_stderr(_ERASE_LINE + set_cell_size(escape_controls(text), columns - 1).rstrip())
    _status_is_drawn = True


def clear_status() -> None:
    global _status_is_drawn  # noqa: PLW0603
    if _status_is_drawn:
        _status_is_drawn = False
        _write_stderr(_ERASE_LINE)


def can_redraw() -> bool:
    """Return whether stderr is a terminal on which a line can be drawn again."""
    return is_terminal(sys.stderr) and _can_move_cursor(os.environ)


def _can_move_cursor(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "dumb") not in ("dumb", "unknown")


def _write_stderr(text: str) -> None:
    """Write to stderr, but drop the text while the terminal is stopped (Ctrl-S)."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None and is_writable(sys.stderr.fileno()):
            # not print: a signal handler may call this function while print runs, which is not reentrant
            os.write(sys.stderr.fileno(), _encode(text, sys.stderr))


def is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()  # None: closed before fstui started


def width() -> int | None:
    """Return the columns of the terminal that is stdout; None if it is not a terminal."""
    return _columns(sys.stdout)


def _columns(stream: IO[str] | None) -> int | None:
    try:
        return (stream is not None and os.get_terminal_size(stream.fileno()).columns) or None
    except (OSError, ValueError, AttributeError):  # a pipe, a file, closed
        return None


_blocked_streams: set[int] = set()
"""Streams that were still full after _READER_TIMEOUT_S. fstui does not wait for them again."""


def is_writable(stream_fd: int) -> bool:
    """Wait up to _READER_TIMEOUT_S, and return whether a line can be written without blocking."""
    writable = bool(select.select([], [stream_fd], [], 0 if stream_fd in _blocked_streams else _READER_TIMEOUT_S)[1])
    if writable:
        _blocked_streams.discard(stream_fd)
    else:
        _blocked_streams.add(stream_fd)
    return writable


def uses_colours(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal supports colours and NO_COLOR is not set (no-color.org)."""
    return not environ.get("NO_COLOR") and _can_move_cursor(environ)


def colour_verdicts(text: str) -> str:
    """Add colours to the verdicts in a text without control characters (ECMA-48, 8.3.117)."""
    text = re.sub(_VERDICT, lambda match: _colour(_COLOURS[match[1].lower().replace(" ", "-")], match[0]), text)
    return re.sub(_ROW, lambda match: _colour(_SIGNS[match[1]], match[1]), text)


def _colour(colour: str, text: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
