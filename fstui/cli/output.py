"""stdout is data, stderr is narration. No escape sequence leaves here: what is printed is plain text or a document."""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress
from pathlib import Path

from fstui.model import Refused
from fstui.quantities import plain
from fstui.report.text import printable
from fstui.state.files import write_atomically


class ReaderGone(Exception):  # noqa: N818  no error: the reader has seen enough
    """The reader closed its end of the pipe (``| head``)."""


def put(document: str | bytes) -> None:
    """Print to stdout and flush; text in characters that its encoding has. Raises ReaderGone, OSError."""
    try:
        if isinstance(document, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(document)
        else:
            sys.stdout.write(printable(document, sys.stdout.encoding))
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
            print(printable(sentence, sys.stderr.encoding), file=sys.stderr, flush=True)


def check_file(path: Path) -> None:
    """See that the file can be written before anything else is done. Raises Refused."""
    shown = plain(str(path))
    if path.is_dir():
        raise Refused(f"--output {shown} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise Refused(f"--output {shown}: there is no directory {plain(str(path.parent))}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Refused(f"--output {shown} is not writable for this user")


def put_file(path: Path, document: str | bytes) -> None:
    """Write the document to the file, whole or not at all; a pipe or a device is written to. Raises OSError."""
    data = document.encode(errors="backslashreplace") if isinstance(document, str) else document
    real = path.resolve()  # the file that a link leads to is replaced, not the link
    if real.exists() and not stat.S_ISREG(real.stat().st_mode):
        real.write_bytes(data)
        return
    write_atomically(real, data, mode=real.stat().st_mode & 0o777 if real.exists() else 0o666 & ~_umask())


def has_room(stream_fd: int) -> bool:
    """The reader keeps up: a write would not block now."""
    return bool(select.select([], [stream_fd], [], 0)[1])


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
