"""stdout is data, stderr is narration. No escape sequence of anybody else's leaves here.

What is printed is text made safe, on a terminal with our colours, or JSON."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import IO

from fstui.report.characters import escape_controls, escape_lines, printable
from fstui.report.text import wrap

_READER_S = 1.0
_BAD, _DOUBT, _GOOD = "1;31", "1;33", "1;32"
_OF = {
    "lost": _BAD, "not-durable": _BAD, "stalls": _BAD, "suspicious": _DOUBT, "slow": _DOUBT,
    "consistent": _GOOD, "kept": _GOOD, "normal": _GOOD,
}  # fmt: skip
_VERDICT = re.compile(rf"[✗!✓▲] +({'|'.join(_OF)})\b", re.IGNORECASE)
_SIGNS = {"✗": _BAD, "!": _DOUBT, "✓": _GOOD}
_ROW = re.compile(r"^([✗!✓])(?=  \S)", re.MULTILINE)
"""The sign that a row of a list begins with."""


class ReaderGone(Exception):  # noqa: N818  no error: the reader has seen enough
    """The reader closed its end of the pipe (``| head``)."""


def put(document: str | bytes, patience_s: float | None = None) -> None:
    """Print to stdout and flush; text made safe, in characters that its encoding has. Raises ReaderGone, OSError.

    ``patience_s``: a reader that takes nothing for so long has gone as well; None: wait for him.
    """
    if sys.stdout is None:  # closed before we started
        raise ReaderGone
    try:
        sys.stdout.flush()
        data = bytearray(document if isinstance(document, bytes) else _encoded(document, sys.stdout.encoding))
        pour(sys.stdout.fileno(), data, patience_s)  # with PYTHONUNBUFFERED a stream of Python's leaves the rest out
        if data:
            raise BrokenPipeError
    except BrokenPipeError:
        silence_stdout()
        raise ReaderGone from None
    except (OSError, KeyboardInterrupt):  # or the interpreter would go on with it at its end
        silence_stdout()
        raise


def _encoded(document: str, encoding: str) -> bytes:
    text = escape_lines(document)
    return printable(coloured(text) if width() and colours_wanted() else text, encoding).encode(encoding)


def pour(stream_fd: int, data: bytearray, patience_s: float | None) -> None:
    """Write and take away what goes in; a reader is waited for so long. Raises OSError.

    A pipe that has room at all takes PIPE_BUF bytes (pipe(7)).
    """
    while data and select.select([], [stream_fd], [], patience_s)[1]:
        del data[: os.write(stream_fd, data[: select.PIPE_BUF])]


def silence_stdout() -> None:
    """Else the interpreter complains once more when it flushes stdout at its end."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def say(sentence: str) -> None:
    """Print a line to stderr. Where that is closed, or nobody reads it, nobody listens, and that is no error."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None and is_read(sys.stderr.fileno()):
            print(printable(_folded(sentence), sys.stderr.encoding), file=sys.stderr, flush=True)


def _folded(sentence: str) -> str:
    """Safe, and on a terminal broken between words; a longer word stays whole, so that a path can be copied."""
    columns = _columns(sys.stderr)
    return "\n".join(wrap(sentence, columns)) if columns else escape_controls(sentence)


def width() -> int | None:
    """Columns of the terminal that stdout is; None where it is none: there, a line is as long as it must be."""
    return _columns(sys.stdout)


def _columns(stream: IO[str] | None) -> int | None:
    try:
        return (stream is not None and os.get_terminal_size(stream.fileno()).columns) or None
    except (OSError, ValueError, AttributeError):  # a pipe, a file, closed
        return None


_silent: set[int] = set()
"""Streams whose reader was waited for once, in vain."""


def is_read(stream_fd: int) -> bool:
    """A line would go in; it is waited for ``_READER_S`` once."""
    found = bool(select.select([], [stream_fd], [], 0 if stream_fd in _silent else _READER_S)[1])
    (_silent.discard if found else _silent.add)(stream_fd)
    return found


def colours_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Of a terminal; unless NO_COLOR says otherwise (no-color.org), or it has none."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("dumb", "unknown")


def coloured(text: str) -> str:
    """Safe text, its verdicts in their colours (ECMA-48, 8.3.117)."""
    text = _VERDICT.sub(lambda found: _in(_OF[found[1].lower()], found[0]), text)
    return _ROW.sub(lambda found: _in(_SIGNS[found[1]], found[1]), text)


def _in(colour: str, text: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
