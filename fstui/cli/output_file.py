"""``--output FILE``: the user's own path, written whole or not at all, by a child: its disk may hang."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from fstui.cli.output import pour, put
from fstui.model.errors import Refused
from fstui.report.characters import escape_lines
from fstui.runs import kept
from fstui.runs.files import write_atomically

_WRITE_S = 10.0


async def check_output(path: Path) -> None:
    """See that the file can be written before anything else is done. Raises Refused."""
    await kept.ask(check_file, path, where=str(path))


async def deliver(path: Path, document: str | bytes, patience_s: float | None = None) -> None:
    """Write the document there. Raises OSError, Refused where its disk gives no answer.

    ``patience_s``: so long the reader of a pipe is waited for who takes nothing; None: for ever.
    """
    if await kept.ask(_is_stream, path, where=str(path)):
        _pour(path, _bytes_of(document), patience_s)
    else:
        await kept.ask(put_file, path, document, where=str(path), patience_s=_WRITE_S)


async def hand_over(document: str | bytes, path: Path | None) -> None:
    """To the file, or to stdout where none was named. Raises OSError, Refused, ReaderGone."""
    if path is None:
        put(document)
    else:
        await deliver(path, document)


def check_file(path: Path) -> None:
    """See that the file can be written before anything else is done. Raises Refused."""
    if path.is_dir():
        raise Refused(f"--output {path} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise Refused(f"--output {path}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Refused(f"--output {path} is not writable for this user")


def put_file(path: Path, document: str | bytes) -> None:
    """Write the document to the file, whole or not at all. Raises OSError.

    A pipe or a device is written to as it is, and so is a file in a directory that takes no new ones.
    """
    data = _bytes_of(document)
    real = path.resolve()  # the file that a link leads to is replaced, not the link
    if not real.exists():
        write_atomically(real, data, mode=0o666 & ~_umask())
    elif stat.S_ISREG(real.stat().st_mode) and os.access(real.parent, os.W_OK):
        write_atomically(real, data, mode=stat.S_IMODE(real.stat().st_mode))
    else:
        real.write_bytes(data)


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


def _is_stream(path: Path) -> bool:
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
