"""``--output FILE``: the user's own path, written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fstui.model.errors import Refused
from fstui.report.characters import escape_lines
from fstui.session.files import write_atomically


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
    data = escape_lines(document).encode() if isinstance(document, str) else document
    real = path.resolve()  # the file that a link leads to is replaced, not the link
    if not real.exists():
        write_atomically(real, data, mode=0o666 & ~_umask())
    elif stat.S_ISREG(real.stat().st_mode) and os.access(real.parent, os.W_OK):
        write_atomically(real, data, mode=stat.S_IMODE(real.stat().st_mode))
    else:
        real.write_bytes(data)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
